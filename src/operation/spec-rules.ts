/** Rules across the members of a spec, for a new one and for a changed one. Pure. */
import type { InputProblem } from './pointer.js';
import type { Spec } from './spec.js';

/** What is wrong with a spec whose members are each right; pointers into the spec. */
export function specProblems(spec: Spec): InputProblem[] {
  const { payment, amount } = spec;
  const problems: InputProblem[] = [];
  if (payment.payment_method === null && payment.reference === null) {
    problems.push({
      pointer: '/payment/payment_method',
      detail: 'one of payment_method or reference is required',
    });
  }
  if (payment.capture_amount !== null && payment.capture !== 'manual') {
    problems.push({ pointer: '/payment/capture_amount', detail: 'is possible with capture: manual only' });
  }
  if (payment.capture_amount !== null && payment.capture_amount > amount.value) {
    problems.push({ pointer: '/payment/capture_amount', detail: 'must not be above the amount' });
  }
  return problems;
}

/** Rules for a spec that nothing has happened to yet. */
export function newSpecProblems(spec: Spec): InputProblem[] {
  const early = { pointer: '/refunds', detail: 'must be empty: nothing is captured yet' };
  return [...specProblems(spec), ...(spec.refunds.length > 0 ? [early] : [])];
}
