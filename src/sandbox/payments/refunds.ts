/** Refunds: what may be sent back, and what can still become of a refund afterwards. */
import { type Books, committedRefunds, latestCharge } from './books.js';
import { type Cause, type Charge, type Intent, type Refund } from './model.js';
import { checkPrecision, display } from './money.js';
import { refused } from './refusal.js';

export interface NewRefund {
  /** Absent: all that is left. */
  amount?: number | undefined;
  reason?: string | undefined;
  metadata?: Record<string, string> | undefined;
}

export function refundableCharge(intent: Intent): Charge {
  const charge = latestCharge(intent);
  if (!charge || charge.status === 'failed') {
    throw refused(`This PaymentIntent (${intent.id}) does not have a successful charge to refund.`);
  }
  return charge;
}

export function createRefund(books: Books, charge: Charge, wanted: NewRefund, cause: Cause): Refund {
  const { currency } = charge.intent;
  const amount = refundAmount(charge, wanted.amount, currency);
  const status = charge.paymentMethod.method.refund;
  const refund: Refund = {
    id: books.world.id(charge.id.startsWith('py_') ? 'pyr_1' : 're_3'),
    owner: charge.owner,
    created: books.world.seconds(),
    charge,
    amount,
    status,
    reason: wanted.reason ?? null,
    failureReason: null,
    pendingReason: status === 'pending' ? 'processing' : null,
    metadata: wanted.metadata ?? {},
    balanceTransaction: status === 'requires_action' ? null : books.world.id('txn_3'),
    failureBalanceTransaction: null,
    source: cause.source,
  };
  charge.refunds.push(refund);
  books.refunds.put(refund);
  charge.intent.effects[cause.source].refunds += 1;
  books.announce(
    cause,
    { type: 'refund.created', object: 'refund', record: refund },
    { type: 'charge.refunded', object: 'charge', record: charge },
  );
  return refund;
}

function refundAmount(charge: Charge, wanted: number | undefined, currency: string): number {
  if (charge.status !== 'succeeded' || !charge.captured) {
    throw refused(
      `Charge ${charge.id} is not captured and cannot be refunded; cancel its PaymentIntent instead.`,
      { code: 'charge_not_refundable', chargeId: charge.id },
    );
  }
  if (charge.disputes.some((dispute) => !dispute.refundable)) {
    throw refused(`Charge ${charge.id} has been charged back; cannot issue a refund.`, {
      code: 'charge_disputed',
      chargeId: charge.id,
    });
  }
  const left = charge.amountCaptured - committedRefunds(charge);
  if (left <= 0) {
    throw refused(`Charge ${charge.id} has already been refunded.`, {
      code: 'charge_already_refunded',
      chargeId: charge.id,
    });
  }
  const amount = wanted ?? left;
  if (amount > left) {
    throw refused(
      `Refund amount (${display(amount, currency)}) is greater than unrefunded amount on charge (${display(left, currency)})`,
      { param: 'amount' },
    );
  }
  checkPrecision(amount, currency, 'amount');
  return amount;
}

/** Only a refund that waits for the customer can be called back. */
export function cancelRefund(books: Books, refund: Refund, cause: Cause): Refund {
  if (refund.status !== 'requires_action') {
    throw refused(
      `This refund could not be canceled because it has a status of ${refund.status}. Only a refund with a status of requires_action may be canceled.`,
    );
  }
  refund.status = 'canceled';
  announceChange(books, refund, cause);
  return refund;
}

export function settleRefund(books: Books, refund: Refund, cause: Cause): Refund {
  if (refund.status !== 'pending' && refund.status !== 'requires_action') {
    throw refused(`${refund.id} has a status of ${refund.status}: nothing to settle`);
  }
  refund.status = 'succeeded';
  refund.pendingReason = null;
  refund.balanceTransaction ??= books.world.id('txn_3');
  announceChange(books, refund, cause);
  return refund;
}

/** The bank returned the money, which can happen days after the refund succeeded. */
export function failRefund(books: Books, refund: Refund, reason: string, cause: Cause): Refund {
  if (refund.status === 'failed' || refund.status === 'canceled') {
    throw refused(`${refund.id} has a status of ${refund.status}: it cannot fail any more`);
  }
  refund.status = 'failed';
  refund.failureReason = reason;
  refund.pendingReason = null;
  refund.failureBalanceTransaction = books.world.id('txn_3');
  announceChange(books, refund, cause);
  books.announce(cause, { type: 'refund.failed', object: 'refund', record: refund });
  return refund;
}

function announceChange(books: Books, refund: Refund, cause: Cause): void {
  books.announce(
    cause,
    { type: 'refund.updated', object: 'refund', record: refund },
    { type: 'charge.refund.updated', object: 'refund', record: refund },
  );
}
