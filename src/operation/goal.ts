/** Where an operation is heading: towards money and stock as wanted, or towards none of either. */
import type { Operation, Policy } from './operation.js';
import type { PaymentState } from './observation.js';
import type { Reason } from './reason.js';

export type Goal =
  | { readonly kind: 'authorize' | 'fulfil' }
  /** Give back all money and stock; `why` tells a cancellation from an order that never came about. */
  | {
      readonly kind: 'clear';
      readonly why: Extract<Reason, 'Cancelling' | 'OutOfStock' | 'PaymentDeadlinePassed'>;
    };

/** When an unpaid order is given up, as a time stamp in milliseconds. */
export function paymentDeadline(operation: Operation, policy: Policy): number {
  const { payment_deadline } = operation.wish.spec;
  return payment_deadline !== null
    ? Date.parse(payment_deadline)
    : Date.parse(operation.created_at) + policy.payment_deadline_ms;
}

/**
 * The moment at which time alone changes what is to be done, as a time stamp in milliseconds; it may have passed. Null
 * when there is none.
 */
export function deadlineOf(operation: Operation, policy: Policy): number | null {
  const { state, capture_before } = operation.facts.payment;
  if (operation.wish.cancellation !== null) return null;
  if (state === 'authorized') return capture_before === null ? null : Date.parse(capture_before);
  // Canceled elsewhere, it is given up at its deadline like one that was never paid.
  return MONEY_MAY_BE_HERE.has(state) || authorizationLapsed(operation)
    ? null
    : paymentDeadline(operation, policy);
}

/** Whoever decides about a capture gets a day, which has working hours in it; cards hold most authorizations for a week. */
const EXPIRY_WARNING_MS = 24 * 60 * 60 * 1000;

/** When the warning of an authorization's end begins, as a time stamp in milliseconds; null when there is none to come. */
export function expiryWarning(operation: Operation): number | null {
  const { state, capture_before } = operation.facts.payment;
  if (operation.wish.cancellation !== null || state !== 'authorized' || capture_before === null) return null;
  return Date.parse(capture_before) - EXPIRY_WARNING_MS;
}

/** The provider's own words for an authorization that lapsed; both are in use. */
const LAPSED = new Set(['expired', 'automatic']);

/** True when the authorization ended by itself: a new payment needs a person's decision. */
export function authorizationLapsed(operation: Operation): boolean {
  const { state, canceled_because } = operation.facts.payment;
  return state === 'canceled' && canceled_because !== null && LAPSED.has(canceled_because);
}

/** The reservation that the order needs was released, by whomever. */
const isStockGone = ({ wish, facts }: Operation, policy: Policy): boolean =>
  policy.inventory && wish.spec.lines.length > 0 && facts.inventory.state === 'released';

/** Money is here or on its way, so that neither a deadline nor missing stock may overrule it unseen. */
const MONEY_MAY_BE_HERE: ReadonlySet<PaymentState> = new Set(['processing', 'captured', 'unknown']);

/**
 * Only what was observed can turn an order into a rejected one, so a payment that arrives at the last moment
 * turns it back by itself.
 */
export function goalOf(operation: Operation, now: Date, policy: Policy): Goal {
  const { wish, facts } = operation;
  if (wish.cancellation !== null) return { kind: 'clear', why: 'Cancelling' };
  const late = facts.late !== undefined;
  const moneyMayBeHere = !late && MONEY_MAY_BE_HERE.has(facts.payment.state);
  if (facts.inventory.refused_generation === operation.generation && !moneyMayBeHere) {
    return { kind: 'clear', why: 'OutOfStock' };
  }
  const unpaid = !moneyMayBeHere && facts.payment.state !== 'authorized' && !authorizationLapsed(operation);
  if ((unpaid || late) && now.getTime() >= paymentDeadline(operation, policy)) {
    return { kind: 'clear', why: 'PaymentDeadlinePassed' };
  }
  // Given away by the warehouse: under our key it gives nothing a second time.
  if (late || (isStockGone(operation, policy) && !moneyMayBeHere))
    return { kind: 'clear', why: 'OutOfStock' };
  return { kind: wish.spec.desired === 'authorized' ? 'authorize' : 'fulfil' };
}
