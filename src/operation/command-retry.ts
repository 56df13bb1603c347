/** Commands that try again: the missing step, or a refund that failed. Neither makes a new key for the same effect. */
import {
  decide,
  stopped,
  whyAgreed,
  withDecisions,
  withFreshBudget,
  withWish,
  type Asking,
  type Made,
  type Refusal,
  type Why,
} from './command-rule.js';
import { decisionsOf } from './decisions.js';
import { withdrawn } from './dispute.js';
import { formatMoney } from './money.js';
import type { Journaled, Operation } from './operation.js';
import { REASONS } from './reason.js';
import { nextOwnId } from './refund-step.js';
import { brokenRefunds, heldAtProvider } from './refund.js';

/** With a fresh budget; where the brake holds a refund back, with leave for that refund. */
export function tried(operation: Operation, asking: Asking): Operation {
  const renewed = withWish(operation, withFreshBudget(operation.wish));
  if (operation.facts.braked === undefined) return renewed;
  const { braked: _lifted, ...facts } = operation.facts;
  const next = decide({ ...renewed, facts }, asking);
  if (next.kind !== 'step' || next.step.name !== 'create_refund') return renewed;
  const unbraked = [...decisionsOf(operation.wish).unbraked, next.step.target];
  return withWish(renewed, withDecisions(renewed.wish, { unbraked }));
}

export function whyNoRetry(operation: Operation, asking: Asking): Why {
  const why = stopped(operation);
  if (why !== null) return why;
  const now = decide(operation, asking);
  const then = decide(tried(operation, asking), asking);
  switch (then.kind) {
    case 'agreed':
      return whyAgreed(asking, 'Nothing is missing: all is as wanted.');
    case 'wait':
      return `Another try would not help now. ${REASONS[then.reason].meaning}`;
    case 'person':
      return `Another try would not help: ${then.message}`;
    case 'step': {
      const failed = operation.facts.failure !== null || operation.status.attention !== null;
      return now.kind === 'person' || failed ? null : 'Nothing has failed: it goes on by itself.';
    }
  }
}

export function retryRefund(
  { operation, attempts }: Journaled,
  { refund_id }: { readonly refund_id: string },
  { by }: Asking,
): Made | Refusal {
  const { wish, facts } = operation;
  const money = (amount: number): string => formatMoney(amount, wish.spec.amount.currency);
  const broken = brokenRefunds(operation).find((refund) => refund.refund_id === refund_id);
  if (broken?.provider_reference == null) {
    const known = facts.refunds.find((refund) => refund.refund_id === refund_id);
    return {
      why:
        known === undefined
          ? `The provider shows no refund ${refund_id} of this order.`
          : `Refund ${refund_id} is ${known.state}; only one that failed or was canceled is made once more.`,
    };
  }
  const doubt = facts.unresolved;
  if (doubt?.step === 'create_refund')
    return { why: `It is not known yet what became of refund ${doubt.target}.` };
  const held = heldAtProvider(operation);
  if (broken.amount > held)
    return { why: `The refund wants ${money(broken.amount)}, ${money(held)} is left.` };
  if (broken.amount > held - withdrawn(facts.payment)) return { why: REASONS.DisputeOpen.meaning };
  const used = attempts
    .filter(({ step, target }) => step === 'create_refund' && target === refund_id)
    .reduce((last, { ordinal }) => Math.max(last, ordinal), 0);
  const { resent } = decisionsOf(wish);
  const isOwn = broken.source === 'cancellation';
  const instead_of = broken.provider_reference;
  const one = isOwn ? { refund_id, instead_of } : { refund_id, instead_of, ordinal: used + 1 };
  return {
    wish: withDecisions(withFreshBudget(wish), { resent: [...resent, one] }),
    effects: [
      `${money(broken.amount)} are refunded once more${isOwn ? ` as ${nextOwnId(operation)}` : ''}, under a new key, instead of ${instead_of}, which is ${broken.state}.`,
      `Asked for by ${by}; if this one fails as well, a person is asked again.`,
    ],
  };
}
