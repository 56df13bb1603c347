/** Whether the customer can act on the payment now. Pure. */
import { givenUp } from './change.js';
import { decisionsOf } from './decisions.js';
import { mismatchOf } from './mismatch.js';
import type { Operation, Policy } from './operation.js';
import type { PaymentState } from './observation.js';

export const NO_PAYMENT = 'There is no payment yet; status.provider_reference tells when there is one.';

const PAST_ACTING: Readonly<Record<PaymentState, string | null>> = {
  created: null,
  awaiting_customer: null,
  // Declined: another try is possible, also by the front end.
  failed: null,
  none: NO_PAYMENT,
  processing: 'The payment is in process at the provider: the customer has done their part.',
  authorized: 'The payment is authorized: the customer has done their part.',
  captured: 'The payment is captured: the customer has done their part.',
  canceled: 'The payment is canceled at the provider.',
  unknown: 'The provider reports a state that is not known here.',
};

/** Why the customer cannot, in words, or null. `operation.facts` as they are at this moment. */
export function whyCustomerCannotAct(operation: Operation, now: Date, policy: Policy): string | null {
  // A payment that is not recorded as this order's may be anybody's.
  if (operation.provider_reference === null) return NO_PAYMENT;
  // Who pays now would pay for what nobody carries out.
  if (decisionsOf(operation.wish).given_up !== null) return 'A person has given this order up.';
  return (
    givenUp(operation, { now, policy }) ??
    mismatchOf(operation)?.why ??
    PAST_ACTING[operation.facts.payment.state]
  );
}
