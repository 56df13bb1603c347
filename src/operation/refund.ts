/** Sums over refunds: what has gone back, what is on its way, what could still go back. Minor units. */
import { decisionsOf } from './decisions.js';
import { withdrawn } from './dispute.js';
import { moneyOf, type Facts, type FinalizerName, type Operation, type RefundFact } from './operation.js';
import type { RefundState } from './observation.js';
import type { RefundRequest } from './spec.js';

/** Failed and canceled refunds left the money with us; all others count as given. */
const GIVEN: ReadonlySet<RefundState> = new Set(['requested', 'pending', 'requires_action', 'succeeded']);
const OPEN: ReadonlySet<RefundState> = new Set(['requested', 'pending', 'requires_action']);

export const isGiven = (refund: RefundFact): boolean => GIVEN.has(refund.state);
export const isOpen = (refund: RefundFact): boolean => OPEN.has(refund.state);

const sum = (refunds: readonly { readonly amount: number }[]): number =>
  refunds.reduce((total, refund) => total + refund.amount, 0);

/** What went back or is on its way, by refunds that have not failed, whoever made them. */
export const givenBack = ({ refunds }: Pick<Facts, 'refunds'>): number => sum(refunds.filter(isGiven));

/** All but those that failed and that a person asked to make once more. */
export function standingRefunds({ wish, facts }: Pick<Operation, 'wish' | 'facts'>): readonly RefundFact[] {
  const { resent } = decisionsOf(wish);
  if (resent.length === 0) return facts.refunds;
  const replaced = new Set<string | null>(resent.map(({ instead_of }) => instead_of));
  return facts.refunds.filter((refund) => isGiven(refund) || !replaced.has(refund.provider_reference));
}

/** Wanted by the caller and not yet seen at the provider. */
export function unsentRefunds(operation: Operation): RefundRequest[] {
  const seen = new Set(standingRefunds(operation).map((refund) => refund.refund_id));
  return operation.wish.spec.refunds.filter((request) => !seen.has(request.refund_id));
}

/** Seen refunds and, as `requested`, those still to be sent: what a reader sees. */
export function allRefunds(operation: Operation): RefundFact[] {
  const { wish, facts } = operation;
  // Cancellation gives back everything, and so does an order that was rejected before its money came; what has gone back
  // otherwise is not sent any more.
  const moot =
    (wish.cancellation !== null || facts.late !== undefined) &&
    facts.payment.state === 'captured' &&
    (heldAtProvider(operation) <= 0 || isLeft(operation, 'payment'));
  const unsent = unsentRefunds(operation).map((request): RefundFact => ({
    refund_id: request.refund_id,
    amount: request.amount,
    state: moot ? 'canceled' : 'requested',
    source: 'operation',
    provider_reference: null,
    reason: request.reason,
  }));
  return [...operation.facts.refunds, ...unsent];
}

export interface RefundTotals {
  readonly refunded: number;
  readonly pending: number;
  /** Captured, neither given back nor promised, and neither lost to a dispute nor withdrawn by one. */
  readonly refundable: number;
}

export function refundTotals(operation: Operation): RefundTotals {
  const all = allRefunds(operation);
  const { payment } = operation.facts;
  const refunded = sum(all.filter((refund) => refund.state === 'succeeded'));
  const pending = sum(all.filter(isOpen));
  const kept = payment.captured - payment.lost - withdrawn(payment);
  return { refunded, pending, refundable: Math.max(0, kept - refunded - pending) };
}

/** What we still hold: captured, not lost to a dispute, and not given back by a refund that has not failed. */
export function heldAtProvider({ facts }: Operation): number {
  const { captured, lost } = facts.payment;
  return captured - lost - givenBack(facts);
}

/** Nothing of what was captured is held any more, though the caller did not ask for all of it to go back. */
export function isGivenBackByOthers(operation: Operation): boolean {
  const asked = sum(operation.wish.spec.refunds);
  return heldAtProvider(operation) <= 0 && asked < operation.facts.payment.captured;
}

/** Our own refunds that did not come through; they are never sent again without a person. */
export function brokenRefunds(operation: Operation): RefundFact[] {
  const given = new Set(operation.facts.refunds.filter(isGiven).map((refund) => refund.refund_id));
  return standingRefunds(operation).filter(
    (refund) => !isGiven(refund) && refund.source !== 'external' && !given.has(refund.refund_id),
  );
}

/**
 * How more went back by our own refunds than is wanted, in a sentence, or null: one of them exists twice at the provider (a
 * second effect, or somebody who used its id), or is larger than it was asked for. What others gave back is no part of it.
 */
export function excessRefunds(operation: Operation): string | null {
  const { facts, wish } = operation;
  const money = moneyOf(operation);
  const ours = facts.refunds.filter((refund) => refund.source !== 'external' && isGiven(refund));
  for (const id of new Set(ours.map(({ refund_id }) => refund_id))) {
    const same = ours.filter(({ refund_id }) => refund_id === id);
    const names = same.map(({ provider_reference }) => provider_reference).join(', ');
    if (same.length > 1)
      return `Refund ${id} exists ${same.length} times (${names}): ${money(sum(same))} went back.`;
    const asked = sum(wish.spec.refunds.filter(({ refund_id }) => refund_id === id));
    // A cancellation wants all money back, however it is divided; so does money that came after a rejection.
    if (wish.cancellation === null && facts.late === undefined && sum(same) > asked)
      return `Refund ${id} (${names}) gave back ${money(sum(same))}, wanted is ${money(asked)}.`;
  }
  const { captured } = facts.payment;
  return sum(ours) > captured
    ? `${money(sum(ours))} went back of ${money(captured)} that was captured.`
    : null;
}

/** What refunds gave back and a chargeback takes, or took, once more; 0 when there is none. */
export function givenTwice(facts: Facts): number {
  const { payment } = facts;
  // A bank may name more than was captured: what it takes beyond that was never given back by a refund.
  const taken = Math.min(payment.captured, payment.lost + withdrawn(payment));
  return taken <= 0 ? 0 : Math.max(0, givenBack(facts) + taken - payment.captured);
}

/** Money that is, or may come to be, with us: what a person answers for who leaves the rest undone. */
export function atStake(operation: Operation): number {
  const { payment } = operation.facts;
  switch (payment.state) {
    case 'none':
    case 'canceled':
      return 0;
    case 'captured':
      return Math.max(0, heldAtProvider(operation));
    case 'created':
    case 'awaiting_customer':
    case 'processing':
    case 'authorized':
    case 'failed':
    case 'unknown':
      return Math.max(payment.amount ?? operation.wish.spec.amount.value, payment.authorized);
  }
}

/** Money that was taken and is with us: more of it than a person saw who left the rest undone asks a person again. */
export const inHand = (operation: Operation): number =>
  operation.facts.payment.state === 'captured' ? Math.max(0, heldAtProvider(operation)) : 0;

/** A person released this finalizer, and no more money is in hand than they saw. */
export const isLeft = (operation: Operation, name: FinalizerName): boolean =>
  operation.wish.cancellation !== null &&
  decisionsOf(operation.wish).left.some(
    (left) => left.name === name && (name === 'inventory' || inHand(operation) <= left.covers),
  );
