/** Stripe's refunds in our words. Source: API reference, "The Refund object". */
import type { Failure } from '../../operation/failure.js';
import type { RefundReading } from '../../operation/observation.js';
import { fromProviderAmount } from './money.js';
import { metadataText, notUnderstood, type Understood, type WireCharge, type WireRefund } from './wire.js';

/**
 * `currency`: ISO code in capitals, the payment's; a refund is always in it. Null: the refund itself must say.
 */
export function toRefundReading(refund: WireRefund, currency: string | null): Understood<RefundReading> {
  const own = refund.currency?.toUpperCase() ?? null;
  if (own !== null && currency !== null && own !== currency) {
    return {
      ok: false,
      failure: notUnderstood('currency_mismatch', `${refund.id} is in ${own}, its payment in ${currency}`),
    };
  }
  const known = own ?? currency;
  if (known === null)
    return { ok: false, failure: notUnderstood('unexpected_object', `${refund.id} has no currency`) };
  const amount = fromProviderAmount(refund.amount, known);
  if (!amount.ok) {
    return { ok: false, failure: notUnderstood('amount_not_expressible', `${refund.id}: ${amount.problem}`) };
  }
  return {
    ok: true,
    value: {
      reference: refund.id,
      refund_id: metadataText(refund.metadata, 'refund_id'),
      operation_id: metadataText(refund.metadata, 'operation_id'),
      amount: amount.amount,
      ...stateOf(refund),
    },
  };
}

function stateOf(refund: WireRefund): Pick<RefundReading, 'state' | 'reason'> {
  switch (refund.status) {
    case 'succeeded':
      return { state: 'succeeded', reason: null };
    case 'pending':
    case 'requires_action':
      return { state: refund.status, reason: refund.pending_reason };
    case 'failed':
    case 'canceled':
      return { state: refund.status, reason: refund.failure_reason };
    case null:
    default:
      // A word that this version does not know counts as money on its way: it is neither sent again nor called done.
      return { state: 'pending', reason: refund.status ?? 'no_status' };
  }
}

/**
 * Why this cannot be the whole list, or null: the charge says that more came back. Its sum is the second way of reading
 * that a refund is not there; it may count what was only released of the authorization, and refunds that failed since.
 */
export function whyIncomplete(
  refunds: readonly WireRefund[],
  charge: WireCharge | null,
  captured: number | null,
): Failure | null {
  if (charge === null) return null;
  const released = captured === null ? 0 : Math.max(0, charge.amount - captured);
  const listed = refunds.reduce((sum, { amount }) => sum + amount, 0);
  const { amount_refunded: given } = charge;
  return given === null || given <= listed + released
    ? null
    : notUnderstood('refunds_not_listed', `${charge.id} gave back ${given}; its refunds show ${listed}.`);
}

/** What decides whether a listed refund is no refund: amounts in Stripe's unit. */
export interface Captured {
  readonly authorized: number;
  /** Null where nothing says how much of the authorization was taken. */
  readonly captured: number | null;
}

/**
 * Leaves out the one entry by which old charges, and servers that copy them, book the part of an authorization that
 * was not captured: no money came back to the customer with it. Told by all of: not made by us, succeeded, exactly the
 * part that was released, and either no money movement at all or more refunds than were ever captured.
 */
export function customerRefunds(refunds: readonly WireRefund[], of: Captured): WireRefund[] {
  const released = of.captured === null ? 0 : of.authorized - of.captured;
  if (released <= 0) return [...refunds];
  const given = refunds
    .filter((refund) => refund.status !== 'failed' && refund.status !== 'canceled')
    .reduce((sum, refund) => sum + refund.amount, 0);
  const overdrawn = of.captured !== null && given > of.captured;
  const release = refunds.find(
    (refund) =>
      refund.amount === released &&
      refund.status === 'succeeded' &&
      metadataText(refund.metadata, 'refund_id') === null &&
      metadataText(refund.metadata, 'operation_id') === null &&
      (refund.balance_transaction === null || overdrawn),
  );
  return refunds.filter((refund) => refund !== release);
}
