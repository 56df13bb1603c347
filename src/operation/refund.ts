/** Sums over refunds: what has gone back, what is on its way, what could still go back. Minor units. */
import type { Operation, RefundFact } from './operation.js';
import type { RefundState } from './observation.js';
import type { RefundRequest } from './spec.js';

/** Failed and canceled refunds left the money with us; all others count as given. */
const GIVEN: ReadonlySet<RefundState> = new Set(['requested', 'pending', 'requires_action', 'succeeded']);
const OPEN: ReadonlySet<RefundState> = new Set(['requested', 'pending', 'requires_action']);

export const isGiven = (refund: RefundFact): boolean => GIVEN.has(refund.state);
export const isOpen = (refund: RefundFact): boolean => OPEN.has(refund.state);

const sum = (refunds: readonly { readonly amount: number }[]): number =>
  refunds.reduce((total, refund) => total + refund.amount, 0);

/** Wanted by the caller and not yet seen at the provider. */
export function unsentRefunds(operation: Operation): RefundRequest[] {
  const seen = new Set(operation.facts.refunds.map((refund) => refund.refund_id));
  return operation.wish.spec.refunds.filter((request) => !seen.has(request.refund_id));
}

/** Seen refunds and, as `requested`, those still to be sent: what a reader sees. */
export function allRefunds(operation: Operation): RefundFact[] {
  const unsent = unsentRefunds(operation).map((request): RefundFact => ({
    refund_id: request.refund_id,
    amount: request.amount,
    state: 'requested',
    source: 'operation',
    provider_reference: null,
    reason: request.reason,
  }));
  return [...operation.facts.refunds, ...unsent];
}

export interface RefundTotals {
  readonly refunded: number;
  readonly pending: number;
  /** Captured and neither given back nor promised. */
  readonly refundable: number;
}

export function refundTotals(operation: Operation): RefundTotals {
  const all = allRefunds(operation);
  const refunded = sum(all.filter((refund) => refund.state === 'succeeded'));
  const pending = sum(all.filter(isOpen));
  return {
    refunded,
    pending,
    refundable: Math.max(0, operation.facts.payment.captured - refunded - pending),
  };
}

/** What the provider still holds: captured minus the refunds that it knows of and that have not failed. */
export const heldAtProvider = (operation: Operation): number =>
  operation.facts.payment.captured - sum(operation.facts.refunds.filter(isGiven));

/** Our own refunds that did not come through; they are never sent again without a person. */
export const brokenRefunds = (operation: Operation): RefundFact[] =>
  operation.facts.refunds.filter((refund) => !isGiven(refund) && refund.source !== 'external');
