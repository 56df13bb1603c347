/** Amounts that the provider cannot express exactly are refused, never rounded. */
import type { InputProblem } from '../../operation/pointer.js';
import type { Spec } from '../../operation/spec.js';
import type { AmountProblem } from '../dependencies.js';

/** Every amount of a spec; pointers into the spec. */
export function inexactAmounts(spec: Spec, amountProblem: AmountProblem): InputProblem[] {
  const { amount, payment, refunds } = spec;
  const amounts: [string, number | null][] = [
    ['/amount/value', amount.value],
    ['/payment/capture_amount', payment.capture_amount],
    ...refunds.map((refund, index): [string, number] => [`/refunds/${index}/amount`, refund.amount]),
  ];
  return amounts.flatMap(([pointer, value]) => {
    const detail = value === null ? null : amountProblem(payment.provider, value, amount.currency);
    return detail === null ? [] : [{ pointer, detail }];
  });
}
