/** Whether the payment that was read can be this order's. */
import { knownReference, moneyOf, type Operation } from './operation.js';

export interface Mismatch {
  readonly why: string;
  /** It serves another order and never served this one, so that nothing of it is this order's to give back. */
  readonly foreign: boolean;
}

/**
 * Its payment was read while it could not be this order's, and what kept it from that is gone with a newer wish: the next
 * look takes it. Until then its amounts are not known, since none of them was this order's.
 */
export const isYetToBeTaken = ({ provider_reference, wish, facts }: Operation): boolean =>
  provider_reference === null && wish.spec.payment.reference !== null && facts.payment.state !== 'none';

/** Why the payment that was read cannot be this order's, or null. */
export function mismatchOf(operation: Operation): Mismatch | null {
  const { facts, wish, operation_id } = operation;
  const { payment } = facts;
  if (payment.state === 'none') return null;
  const because = (why: string, foreign = false): Mismatch => ({ why, foreign });
  const foreign = operation.provider_reference === null;
  const money = moneyOf(operation);
  if (payment.taken_by !== undefined) {
    return because(`The payment serves the operation "${payment.taken_by}" already.`, foreign);
  }
  if (knownReference(operation) === null) return because('The payment was seen, and its id is not recorded.');
  if (payment.operation_id !== null && payment.operation_id !== operation_id) {
    return because('The payment belongs to another operation.', foreign);
  }
  if (payment.currency !== null && payment.currency !== wish.spec.amount.currency) {
    return because(`The payment is in ${payment.currency}, wanted is ${wish.spec.amount.currency}.`);
  }
  if (
    operation.provider_reference === null &&
    payment.amount !== null &&
    payment.amount !== wish.spec.amount.value
  ) {
    return because(
      `The payment asks for ${money(payment.amount)}, wanted is ${money(wish.spec.amount.value)}.`,
    );
  }
  return null;
}
