/** How the money of a payment beside the orders goes back when a person decided so. Pure and total. */
import { EFFECT_KEY_LIFE_MS, openAttempts, type Attempt } from '../operation/attempt.js';
import { formatMoney } from '../operation/money.js';
import type { PaymentReading, RefundReading } from '../operation/observation.js';
import type { PaymentStep } from '../operation/step.js';

/** The one effect that a person decides on: all that is left of what was taken, or the whole authorization. Minor units. */
export interface GiveBack {
  readonly step: 'create_refund' | 'cancel_payment';
  readonly amount: number;
  readonly currency: string;
}
export type Unavailable = { readonly why: string };

/** What there is to give back now, or why there is nothing, or not yet. */
export function giveBackOf(payment: PaymentReading): GiveBack | Unavailable {
  const { currency, provider_status } = payment;
  switch (payment.state) {
    case 'authorized':
      return { step: 'cancel_payment', amount: payment.authorized, currency };
    case 'captured':
      return refundOf(payment);
    case 'processing':
    case 'unknown':
      return { why: `Whether it takes the money is not known yet: the provider says "${provider_status}".` };
    case 'created':
    case 'awaiting_customer':
    case 'failed':
      return { why: 'It has taken no money, so there is none to give back.' };
    case 'canceled':
      return { why: 'It is canceled and holds nothing.' };
  }
}

function refundOf(payment: PaymentReading): GiveBack | Unavailable {
  const { currency, refunds } = payment;
  if (refunds === null)
    return { why: 'The provider did not list its refunds; without them nothing is sent.' };
  if (payment.disputed)
    return { why: 'A dispute stands against refunds: what the bank takes back would be paid twice.' };
  const left = heldBy(payment) - sum((payment.disputes ?? []).filter(({ state }) => state === 'open'));
  if (left > 0) return { step: 'create_refund', amount: left, currency };
  const pending = refunds.filter(({ state }) => state === 'pending' || state === 'requires_action');
  return {
    why:
      pending.length > 0
        ? `All of it is on its way back (${pending.map(({ reference }) => reference).join(', ')}).`
        : 'All of it was given back already.',
  };
}

const sum = (items: readonly { readonly amount: number }[]): number =>
  items.reduce((total, { amount }) => total + amount, 0);
const isGiven = ({ state }: RefundReading): boolean => state !== 'failed' && state !== 'canceled';

/** Taken, not lost to a dispute, and neither given back nor on its way. */
const heldBy = ({ captured, lost, refunds }: PaymentReading): number =>
  captured - (lost ?? 0) - sum((refunds ?? []).filter(isGiven));

/** The effect as it is sent: it is told apart from all other refunds of the payment by `target`. */
export const stepOf = (
  { step, amount, currency }: GiveBack,
  target: string,
  { reference, operation_id }: PaymentReading,
): PaymentStep =>
  step === 'cancel_payment'
    ? { name: step, target, reference }
    : { name: step, target, reference, operation_id, refund_id: target, amount, currency };

export type Next =
  | { readonly kind: 'send' }
  | { readonly kind: 'wait'; readonly why: string }
  /** `given_back`: the decision took effect, as the provider shows. */
  | { readonly kind: 'ended'; readonly given_back: boolean; readonly summary: string };

/**
 * What is next for a decision, after a fresh reading of the payment. `tries`: what was sent for this decision, oldest
 * first. `bar`: why nobody may give it back any more (an order has it), or null. While a try is in doubt the decision is
 * kept: only a reading, or the same key, ends it.
 */
export function nextOf(
  decided: GiveBack,
  target: string,
  payment: PaymentReading,
  tries: readonly Attempt[],
  bar: string | null,
  now: Date,
): Next {
  const shown = shownOf(decided, target, payment, tries);
  if (shown !== null) return shown;
  const last = tries.at(-1);
  const open = openAttempts(tries);
  if (open.length === 0 && last !== undefined && isRefused(last))
    return ended(false, `The provider refused it: ${last.failure?.message ?? ''} Nothing was given back.`);
  if (open.length > 0 && payment.state === 'captured' && payment.refunds === null)
    return { kind: 'wait', why: 'What was sent is in doubt, and the provider did not list its refunds.' };
  const why = bar ?? changeOf(decided, giveBackOf(payment));
  if (why === null) return { kind: 'send' };
  // No refund can exceed what was taken, so one that was sent and does not show can have no effect any more.
  const isOver = payment.state === 'captured' && heldBy(payment) <= 0;
  if (open.length === 0 || isOver || open.every((attempt) => isOutlived(attempt, now)))
    return ended(false, `Nothing was given back by this: ${why}`);
  return { kind: 'wait', why: `What was sent is in doubt, and is not sent again as things are: ${why}` };
}

/**
 * What is next while the provider says that it does not know the payment. That may pass; but once nothing that was sent can
 * take effect any more, the decision is over: the payment is not what the person saw.
 */
export function nextUnseen(decided_at: string, tries: readonly Attempt[], now: Date): Next {
  const isOver = now.getTime() - Date.parse(decided_at) > EFFECT_KEY_LIFE_MS;
  if (!isOver || !openAttempts(tries).every((attempt) => isOutlived(attempt, now)))
    return { kind: 'wait', why: 'The provider does not know this payment now.' };
  return ended(
    false,
    tries.length === 0 ? 'Nothing was sent for this.' : 'What became of what was sent for this is not seen.',
  );
}

const ended = (given_back: boolean, summary: string): Next => ({ kind: 'ended', given_back, summary });

/** What the reading shows of the effect itself, or null. */
function shownOf(
  { step, amount, currency }: GiveBack,
  target: string,
  payment: PaymentReading,
  tries: readonly Attempt[],
): Next | null {
  if (step === 'cancel_payment') {
    if (payment.state !== 'canceled') return null;
    return tries.length > 0
      ? ended(true, `The authorization of ${formatMoney(amount, currency)} is voided.`)
      : ended(false, 'It was canceled meanwhile; nothing was sent.');
  }
  const ours = (payment.refunds ?? []).filter(({ refund_id }) => refund_id === target);
  const given = ours.find(isGiven);
  if (given !== undefined) {
    const money = formatMoney(given.amount, currency);
    return given.state === 'succeeded'
      ? ended(true, `${money} was given back by the refund ${given.reference}.`)
      : ended(true, `${money} is on its way back by the refund ${given.reference} (${given.state}).`);
  }
  const broken = ours.at(-1);
  return broken === undefined
    ? null
    : ended(false, `The refund ${broken.reference} is ${broken.state}: ${broken.reason ?? 'no reason'}.`);
}

/** Refused as it stands; not what the whole account suffers, nor what another try of the same is for. */
const isRefused = ({ outcome, failure, key_spent }: Attempt): boolean =>
  outcome === 'declined' ||
  (outcome === 'rejected' && (key_spent || failure?.class === 'rejected' || failure?.class === 'declined'));

/** What is to be given back now is not what was decided on; null: it is. */
function changeOf(decided: GiveBack, now: GiveBack | Unavailable): string | null {
  if ('why' in now) return now.why;
  if (now.step === decided.step && now.amount === decided.amount && now.currency === decided.currency)
    return null;
  return `Decided was to ${inWords(decided)}; now it would be to ${inWords(now)}.`;
}

const isOutlived = ({ started_at }: Attempt, now: Date): boolean =>
  now.getTime() - Date.parse(started_at) > EFFECT_KEY_LIFE_MS;

export const inWords = ({ step, amount, currency }: GiveBack): string =>
  step === 'create_refund'
    ? `refund ${formatMoney(amount, currency)}`
    : `void the authorization of ${formatMoney(amount, currency)}`;
