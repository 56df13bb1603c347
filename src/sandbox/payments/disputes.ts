/** Disputes: a chargeback takes the money at once, an inquiry does not; both are decided later. */
import { type Books } from './books.js';
import { type BalanceTransaction, type Cause, type Charge, type Dispute } from './model.js';
import { failRefund } from './refunds.js';
import { refused } from './refusal.js';

/** Fee of a chargeback in the charge's currency; only there so that the records look like real ones. */
const DISPUTE_FEE = 2000;
const EVIDENCE_DAYS = 9;
const DAY_SECONDS = 86_400;

export interface NewDispute {
  /** Absent: all that was captured. */
  amount?: number | undefined;
  reason?: string | undefined;
  inquiry?: boolean | undefined;
}

const CLOSED = new Set(['won', 'lost', 'warning_closed', 'prevented']);

export function openDispute(books: Books, charge: Charge, wanted: NewDispute, cause: Cause): Dispute {
  if (!charge.captured || charge.status !== 'succeeded') {
    throw refused(`${charge.id} holds no captured money to dispute`);
  }
  if (charge.disputes.some((dispute) => !CLOSED.has(dispute.status))) {
    throw refused(`${charge.id} is disputed already`);
  }
  const inquiry = wanted.inquiry ?? false;
  const amount = wanted.amount ?? charge.amountCaptured;
  if (amount > charge.amountCaptured) {
    throw refused(`${charge.id} was captured with ${charge.amountCaptured}, so ${amount} cannot be disputed`);
  }
  const dispute: Dispute = {
    id: books.world.id('du_1'),
    owner: charge.owner,
    created: books.world.seconds(),
    charge,
    amount,
    reason: wanted.reason ?? 'fraudulent',
    status: inquiry ? 'warning_needs_response' : 'needs_response',
    refundable: inquiry,
    dueBy: books.world.seconds() + EVIDENCE_DAYS * DAY_SECONDS,
    balanceTransactions: [],
    metadata: {},
  };
  charge.disputes.push(dispute);
  books.disputes.put(dispute);
  books.announce(cause, { type: 'charge.dispute.created', object: 'dispute', record: dispute });
  if (!inquiry) withdraw(books, dispute, cause);
  return dispute;
}

/** An inquiry becomes a chargeback: now the money goes. */
export function escalateDispute(books: Books, dispute: Dispute, cause: Cause): Dispute {
  if (!dispute.status.startsWith('warning_') || dispute.status === 'warning_closed') {
    throw refused(`${dispute.id} has a status of ${dispute.status}: only an open inquiry can escalate`);
  }
  dispute.status = 'needs_response';
  books.announce(cause, { type: 'charge.dispute.updated', object: 'dispute', record: dispute });
  withdraw(books, dispute, cause);
  return dispute;
}

export type Verdict = 'won' | 'lost' | 'warning_closed';

/** `refundable` says whether the charge can be refunded again; of a won one it happened that it could not. */
export function closeDispute(
  books: Books,
  dispute: Dispute,
  verdict: Verdict,
  refundable: boolean,
  cause: Cause,
): Dispute {
  const inquiry = dispute.status.startsWith('warning_');
  if (CLOSED.has(dispute.status) || inquiry !== (verdict === 'warning_closed')) {
    throw refused(`${dispute.id} has a status of ${dispute.status}: it cannot become ${verdict}`);
  }
  dispute.status = verdict;
  dispute.refundable = refundable;
  if (verdict === 'won') {
    dispute.balanceTransactions.push(transaction(books, dispute, dispute.amount, -DISPUTE_FEE));
    const type = 'charge.dispute.funds_reinstated';
    books.announce(cause, { type, object: 'dispute', record: dispute });
  }
  books.announce(cause, { type: 'charge.dispute.closed', object: 'dispute', record: dispute });
  return dispute;
}

function withdraw(books: Books, dispute: Dispute, cause: Cause): void {
  dispute.refundable = false;
  dispute.balanceTransactions.push(transaction(books, dispute, -dispute.amount, DISPUTE_FEE));
  const type = 'charge.dispute.funds_withdrawn';
  books.announce(cause, { type, object: 'dispute', record: dispute });
  // A refund still on its way is stopped, else the customer would be paid twice.
  for (const refund of dispute.charge.refunds) {
    if (refund.status === 'pending') failRefund(books, refund, 'charge_for_pending_refund_disputed', cause);
  }
}

function transaction(books: Books, dispute: Dispute, amount: number, fee: number): BalanceTransaction {
  return {
    id: books.world.id('txn_1'),
    created: books.world.seconds(),
    amount,
    fee,
    currency: dispute.charge.intent.currency,
    description: `${amount < 0 ? 'Chargeback withdrawal' : 'Chargeback reversal'} for ${dispute.charge.id}`,
  };
}
