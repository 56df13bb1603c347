/** Which refund is missing next, and what refunds wait for. Pure and total. */
import { decisionsOf } from './decisions.js';
import { areDecided, areHidden, withdrawn } from './dispute.js';
import { moneyOf, referenceOf, type Operation } from './operation.js';
import { brokenRefunds, excessRefunds, heldAtProvider, isOpen, unsentRefunds } from './refund.js';
import type { Reason } from './reason.js';
import { person, step, wait, type Decision } from './step.js';

/** More went back than is wanted: whatever made it so may do it again, so no more is sent. Or null. */
export function refundedTwice(operation: Operation): Decision | null {
  const excess = excessRefunds(operation);
  return excess === null ? null : person('RefundedTwice', excess);
}

/** The caller's refunds: the next one to send, or null. */
export function sendRefund(operation: Operation): Decision | null {
  const [next] = unsentRefunds(operation);
  if (next === undefined) return null;
  const held = heldAtProvider(operation);
  if (next.amount > held) {
    const money = moneyOf(operation);
    return person(
      'RefundNotPossible',
      `Refund ${next.refund_id} wants ${money(next.amount)}, ${money(held)} is left.`,
    );
  }
  if (next.amount > held - withdrawn(operation.facts.payment))
    return barredByDispute(operation) ?? wait('DisputeOpen');
  return createRefund(operation, next.refund_id, next.amount, 'Refunding');
}

/** Sent refunds that are not final, or failed: what they wait for, or null. */
export function openRefunds(operation: Operation, reason: Reason): Decision | null {
  const [broken] = brokenRefunds(operation);
  // What has gone back otherwise is owed no more.
  if (broken !== undefined && heldAtProvider(operation) > 0) {
    // A dispute that came up makes refunds fail; until it is decided nobody can send another.
    const barred = barredByDispute(operation);
    if (barred?.kind === 'wait') return barred;
    return person(
      'RefundFailed',
      `Refund ${broken.refund_id} of ${moneyOf(operation)(broken.amount)} is ${broken.state} at the provider.`,
    );
  }
  return operation.facts.refunds.some(isOpen) ? wait(reason) : null;
}

function createRefund(operation: Operation, refundId: string, amount: number, reason: Reason): Decision {
  const { braked } = operation.facts;
  const barred = barredByDispute(operation);
  if (barred !== null) return barred;
  const passes = decisionsOf(operation.wish).unbraked.includes(refundId);
  if (braked !== undefined && !passes) return person('RefundBrake', braked.message);
  return step(reason, {
    name: 'create_refund',
    target: refundId,
    reference: referenceOf(operation),
    operation_id: operation.operation_id,
    refund_id: refundId,
    amount,
    currency: operation.wish.spec.amount.currency,
  });
}

/** Refunding what the bank takes back as well would pay twice. Null: the provider lets the charge be refunded. */
function barredByDispute({ facts: { payment } }: Operation): Decision | null {
  if (!payment.disputed) return null;
  if (areHidden(payment)) {
    return person(
      'NotRefundable',
      'The payment is or was disputed, and the provider does not show how that stands: the key may not list disputes.',
    );
  }
  return areDecided(payment)
    ? person('NotRefundable', 'The dispute is decided, and the provider lets nothing more be refunded.')
    : wait('DisputeOpen');
}

/** All money back: the caller's refunds under their own ids as far as they are still possible, then the rest. */
export function giveBack(operation: Operation): Decision | null {
  const held = heldAtProvider(operation);
  const twice = refundedTwice(operation);
  // Whoever gave it back: nothing is left to send, and only what is on its way can still come to nothing.
  if (held <= 0) return operation.facts.refunds.some(isOpen) ? (twice ?? wait('RefundPending')) : null;
  if (twice !== null) return twice;
  const barred = barredByDispute(operation);
  if (barred !== null) return barred;
  // Of what a chargeback has withdrawn the bank decides; the rest goes back now.
  const undecided = withdrawn(operation.facts.payment);
  const next = unsentRefunds(operation).find(({ amount }) => amount <= held - undecided);
  if (next !== undefined) return createRefund(operation, next.refund_id, next.amount, 'Refunding');
  return (
    refundTheRest(operation, undecided) ??
    (undecided > 0 ? wait('DisputeOpen') : openRefunds(operation, 'RefundPending'))
  );
}

/** What is owed beyond the caller's own refunds; a refund that failed is left to a person. */
function refundTheRest(operation: Operation, undecided: number): Decision | null {
  const broken = brokenRefunds(operation).reduce((total, refund) => total + refund.amount, 0);
  const owed = heldAtProvider(operation) - undecided - broken;
  if (owed <= 0) return null;
  return createRefund(operation, nextOwnId(operation), owed, 'RefundPending');
}

/** Of a refund that no caller asked for. */
export function nextOwnId({ facts }: Operation): string {
  const earlier = facts.refunds.filter((refund) => refund.source === 'cancellation').length;
  return earlier === 0 ? 'cancellation' : `cancellation-${earlier + 1}`;
}
