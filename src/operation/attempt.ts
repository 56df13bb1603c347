/** The journal of effects: what was about to be done, under which key, and what was answered. */
import { hash } from 'node:crypto';
import type { Failure } from './failure.js';
import {
  withoutPage,
  type PaymentReading,
  type RefundReading,
  type ReservationReading,
} from './observation.js';
import { isOfInventory } from './step.js';

export const STEPS = [
  'reserve_inventory',
  'create_payment',
  'update_payment',
  'confirm_payment',
  'capture_payment',
  'cancel_payment',
  'create_refund',
  'commit_inventory',
  'release_inventory',
] as const;
export type StepName = (typeof STEPS)[number];

/** JSON that is stored with the attempt and sent again byte for byte under the same key. */
export type Parameters = Readonly<Record<string, unknown>>;

/** What the answer to one of our own writes showed; it counts as an observation. */
export interface Shown {
  readonly payment?: PaymentReading;
  readonly refund?: RefundReading;
  readonly reservation?: ReservationReading;
}

/**
 * done: the effect was seen in the answer · pending: accepted, the provider is not finished ·
 * declined: a final "no" of the customer's bank or the warehouse · rejected: a final "no" to the request as it
 * stands · not_sent: provably without effect, the key is unused · unknown: neither success nor failure.
 */
export const OUTCOMES = ['done', 'pending', 'declined', 'rejected', 'not_sent', 'unknown'] as const;
export type OutcomeKind = (typeof OUTCOMES)[number];

interface Answer {
  readonly request_id?: string;
  readonly shown?: Shown;
  /** The other side would only replay this answer to the same key, so the key can do no more. */
  readonly key_spent?: boolean;
}
export type Outcome =
  | ({ readonly kind: 'done' | 'pending' } & Answer)
  | ({ readonly kind: 'declined' | 'rejected' | 'not_sent' | 'unknown'; readonly failure: Failure } & Answer);

/** `overtaken`: nothing shows the effect, and as things are now it can no longer happen. */
export const RESOLUTIONS = ['effect_observed', 'no_effect_observed', 'overtaken'] as const;
export type Resolution = (typeof RESOLUTIONS)[number];

/** An answer as the journal keeps it, for ever and for everybody who may read it. */
export const forJournal = <O extends Outcome>(outcome: O): O =>
  outcome.shown?.payment === undefined
    ? outcome
    : { ...outcome, shown: { ...outcome.shown, payment: withoutPage(outcome.shown.payment) } };

/** One recorded try. `outcome` null: no answer is recorded (yet, or its worker died). */
export interface Attempt {
  readonly attempt_id: string;
  readonly step: StepName;
  /** What the step acts on; with the ordinal it makes the effect key. */
  readonly target: string;
  readonly ordinal: number;
  readonly effect_key: string;
  readonly parameters: Parameters;
  /** Spec generation that wanted it. */
  readonly generation: number;
  /** RFC 3339, database clock. */
  readonly started_at: string;
  readonly completed_at: string | null;
  readonly outcome: OutcomeKind | null;
  readonly key_spent: boolean;
  readonly failure: Failure | null;
  /** What the answer showed; kept, because a late answer may be the only place that names a new payment. */
  readonly shown: Shown | null;
  /** What a later reading showed of a try that was never answered, or whose answer said nothing. */
  readonly resolution: Resolution | null;
}

/** Stripe keeps keys for at least 24 hours; an hour is left for clocks and for the time on the wire. */
export const EFFECT_KEY_LIFE_MS = 23 * 60 * 60 * 1000;

/**
 * The idempotency key of one effect: the same for every retry of it, on every worker and after every restart.
 * Hashed, so that it has a fixed length and carries no personal data.
 */
export function effectKey(operationId: string, step: StepName, target: string, ordinal: number): string {
  const identity = JSON.stringify([operationId, step, target, ordinal]);
  return `op_${hash('sha256', identity, 'hex')}`;
}

export type KeyChoice =
  | { readonly kind: 'fresh'; readonly ordinal: number }
  /** Send the recorded bytes again under the recorded key. */
  | { readonly kind: 'resend'; readonly attempt: Attempt }
  /** Another key will be needed, and it is too early for it. */
  | { readonly kind: 'wait'; readonly ms: number };

/**
 * A refund whose answer was an error of the provider may show a little later, and nothing but the list of refunds and the
 * sum on the charge stands between a second key and a second refund. All other effects act on a payment that allows them once.
 */
const REFUND_DOUBT_MS = 10_000;

/**
 * Which key the next try of an effect uses, given that a reading has just shown no effect.
 * The ordinal rises only when the last key can do no more: its answer was final, or its life is over. `first`: the
 * ordinal to begin with; what was tried under earlier ones is another effect, known to have come to nothing.
 */
export function chooseKey(
  attempts: readonly Attempt[],
  step: StepName,
  target: string,
  now: Date,
  first = 1,
): KeyChoice {
  const tries = attempts.filter(
    (attempt) => attempt.step === step && attempt.target === target && attempt.ordinal >= first,
  );
  const last = tries.at(-1);
  if (last === undefined) return { kind: 'fresh', ordinal: first };
  const sent = tries.filter((attempt) => attempt.ordinal === last.ordinal);
  if (!keyIsOver(sent, now)) return { kind: 'resend', attempt: last };
  const doubtful = step === 'create_refund' && sent.some((attempt) => attempt.outcome === 'unknown');
  const lastSent = Math.max(...sent.map((attempt) => Date.parse(attempt.started_at)));
  const ms = doubtful ? REFUND_DOUBT_MS - (now.getTime() - lastSent) : 0;
  return ms > 0 ? { kind: 'wait', ms } : { kind: 'fresh', ordinal: last.ordinal + 1 };
}

/**
 * What happened and can be undone by others: terms that were changed once can be others again (by somebody else, or wanted
 * otherwise by the customer's next try), and a payment that was canceled can be paid after all.
 */
const CAN_BE_UNDONE: ReadonlySet<StepName> = new Set(['update_payment', 'cancel_payment']);

/**
 * Whether the key of these tries can do no more: its answer is final, or its life may be over. Of an effect that was
 * undone, the same key would only get its old answer, for ever.
 */
function keyIsOver(sent: readonly Attempt[], now: Date): boolean {
  const firstSent = Math.min(...sent.map((attempt) => Date.parse(attempt.started_at)));
  const isSpent = ({ key_spent, step, outcome, resolution }: Attempt): boolean =>
    key_spent || (CAN_BE_UNDONE.has(step) && (outcome === 'done' || resolution === 'effect_observed'));
  return sent.some(isSpent) || now.getTime() - firstSent > EFFECT_KEY_LIFE_MS;
}

/**
 * Tries to create the payment whose answer is lost for good: their key cannot tell any more, so the payment has to be
 * looked for before another is made. Empty when there are none.
 */
export function lostCreates(attempts: readonly Attempt[], now: Date): Attempt[] {
  const open = openAttempts(attempts).filter((attempt) => attempt.step === 'create_payment');
  return open.length > 0 && keyIsOver(open, now) ? open : [];
}

/**
 * Whether an answer tells what became of every try under its key. A request that was not sent, or that was turned away
 * at the door (credentials, other parameters under the key), says nothing about an earlier one.
 */
export function isFinal(answer: Pick<Attempt, 'step' | 'outcome' | 'key_spent'>): boolean {
  switch (answer.outcome) {
    case 'done':
    case 'pending':
    case 'declined':
      return true;
    case 'rejected':
      // The warehouse has no keys: its refusal tells how the reservation stands.
      return answer.key_spent || isOfInventory(answer.step);
    case 'not_sent':
    case 'unknown':
    case null:
      return false;
  }
}

/**
 * Tries of which it is not known whether they took effect: not answered, or not so that it says. A final answer to the
 * same key settles them, and so does a later ordinal, since that is begun only when it is proved that they did nothing.
 */
export function openAttempts(attempts: readonly Attempt[]): Attempt[] {
  const inDoubt = (attempt: Attempt): boolean => attempt.outcome === null || attempt.outcome === 'unknown';
  return attempts.filter(
    (attempt, index) =>
      inDoubt(attempt) &&
      attempt.resolution === null &&
      !attempts
        .slice(index + 1)
        .some(
          (later) =>
            (later.effect_key === attempt.effect_key && isFinal(later)) ||
            (later.step === attempt.step &&
              later.target === attempt.target &&
              later.ordinal > attempt.ordinal),
        ),
  );
}
