/** A reading of the payment, and of its refunds, as facts of this order. */
import type { PaymentReading, RefundReading } from './observation.js';
import type { Facts, Known, Operation, PaymentFacts, RefundFact } from './operation.js';
import { confirmationOf } from './terms.js';

export function withPayment(operation: Operation, facts: Facts, reading: PaymentReading, at: string): Facts {
  const before = facts.payment;
  const customer = reading.customer === undefined ? before.customer : reading.customer;
  const payment: PaymentFacts = {
    state: reading.state,
    provider_status: reading.provider_status,
    amount: reading.amount,
    currency: reading.currency,
    capture: reading.capture,
    payment_method: reading.payment_method,
    sent_method: before.sent_method,
    ...(customer !== undefined && { customer }),
    authorized: reading.authorized,
    captured: reading.captured,
    disputed: reading.disputed,
    ...disputesAfter(before, reading),
    capture_before: reading.capture_before,
    next_action: reading.next_action,
    last_error: reading.last_error,
    ...(reading.charge !== undefined && { charge: reading.charge }),
    canceled_because: reading.canceled_because,
    operation_id: reading.operation_id,
    ...(before.taken_by !== undefined && { taken_by: before.taken_by }),
    answered_confirmation: answeredAfter(facts, reading),
    observed_at: at,
  };
  return {
    ...facts,
    payment,
    refunds:
      reading.refunds === null ? facts.refunds : listedRefunds(operation, facts.refunds, reading.refunds),
  };
}

/** An answer to a write shows that there was a dispute and not how it stands: then what was listed stays. */
function disputesAfter(
  before: PaymentFacts,
  reading: PaymentReading,
): Pick<PaymentFacts, 'disputes' | 'lost'> {
  const { disputes, lost = 0, disputed } = reading;
  // There is one, and it is shown no more: what was lost before stays lost.
  if (disputes?.length === 0) return { disputes, lost: before.lost };
  if (disputes !== undefined) return { disputes, lost };
  if (!disputed || before.disputes === undefined) return { lost };
  return { disputes: before.disputes, lost: before.lost };
}

/** The last confirmation that a reading proves to have been answered, whatever became of its own answer. */
function answeredAfter({ payment: before, unresolved }: Facts, reading: PaymentReading): number {
  // Any state but `created` proves that one was answered, ours or the front end's; a word that we do not know, nothing.
  const silent = reading.state === 'created' || reading.state === 'unknown';
  const known = silent ? before.answered_confirmation : Math.max(1, before.answered_confirmation);
  // From these states nothing but a confirmation leads away. Awaiting the customer is none: they move it, too.
  const still = before.state === 'created' || before.state === 'failed';
  if (silent || !still || unresolved?.step !== 'confirm_payment') return known;
  const askedAgain = before.charge !== undefined && reading.charge !== before.charge;
  return reading.state !== before.state || askedAgain
    ? Math.max(known, confirmationOf(unresolved.target))
    : known;
}

/** A payment that is not this order's is seen, to say why; its money and its refunds are none of this order's. */
export const withoutMoney = (operation: Operation, facts: Facts): Facts => ({
  ...facts,
  payment: withoutAmounts(facts.payment),
  refunds: operation.facts.refunds,
});

/**
 * The payment that was to become this order's is recorded as that of the operation `other`. `refunds`: as they were known
 * before it was seen.
 */
export function takenPayment({ facts }: Operation, refunds: Facts['refunds'], other: string): Known {
  const { payment } = facts;
  return {
    facts: { ...facts, payment: { ...withoutAmounts(payment), taken_by: other }, refunds },
    provider_reference: null,
  };
}

const withoutAmounts = (payment: PaymentFacts): PaymentFacts => ({
  ...payment,
  authorized: 0,
  captured: 0,
  lost: 0,
  next_action: null,
  capture_before: null,
});

/** A payment of the front end is ours only when everything that can be compared agrees. */
export function adoptable(facts: Facts, operation: Operation, reading: PaymentReading): boolean {
  const { amount, payment } = operation.wish.spec;
  if (facts.payment.state === 'unknown' || facts.payment.taken_by !== undefined) return false;
  if (reading.currency !== amount.currency) return false;
  // Found by what we sent ourselves; the amount that is wanted may have changed since.
  if (payment.reference === null) return reading.operation_id === operation.operation_id;
  return (
    (reading.operation_id === null || reading.operation_id === operation.operation_id) &&
    reading.amount === amount.value
  );
}

function toRefundFact(operation: Operation, reading: RefundReading): RefundFact {
  const ours = reading.refund_id !== null && reading.operation_id === operation.operation_id;
  const refundId = ours && reading.refund_id !== null ? reading.refund_id : reading.reference;
  const asked = operation.wish.spec.refunds.find((request) => request.refund_id === refundId);
  const isOfCancellation = ours && refundId.startsWith('cancellation');
  return {
    refund_id: refundId,
    amount: reading.amount,
    state: reading.state,
    source: asked !== undefined ? 'operation' : isOfCancellation ? 'cancellation' : 'external',
    provider_reference: reading.reference,
    // The provider's word, once it has one.
    reason: reading.reason ?? asked?.reason ?? null,
  };
}

/** A full list replaces what was known, but a refund once seen is kept: lists do not forget, readers do. */
function listedRefunds(
  operation: Operation,
  known: readonly RefundFact[],
  listed: readonly RefundReading[],
): readonly RefundFact[] {
  return listed.reduce((facts, reading) => withRefund(operation, facts, reading), known);
}

export function withRefund(
  operation: Operation,
  known: readonly RefundFact[],
  reading: RefundReading,
): readonly RefundFact[] {
  const fact = toRefundFact(operation, reading);
  const at = known.findIndex((refund) => refund.provider_reference === fact.provider_reference);
  return at < 0 ? [...known, fact] : known.map((refund, index) => (index === at ? fact : refund));
}
