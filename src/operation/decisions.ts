/**
 * What people decided about one order beyond its spec: a part of the wish, written by commands only. None of it can make
 * a second effect out of one: keys come from the identity of an effect, see attempt.ts.
 */
import type { Attempt, StepName } from './attempt.js';

export interface Decisions {
  /** Fresh budgets that were given, +1 with each. */
  readonly retries: number;
  /** Refunds that are made once more because the one at the provider failed. */
  readonly resent: readonly ResentRefund[];
  /** Ids of refunds that a person lets pass the money-out brake. */
  readonly unbraked: readonly string[];
  /** The last word on each effect in doubt. */
  readonly asserted: readonly Assertion[];
  readonly left: readonly LeftBehind[];
  readonly given_up: GivenUp | null;
  /** The last decision of all. */
  readonly last: Decided | null;
}

export interface Decided {
  readonly by: string;
  readonly reason: string;
  /** RFC 3339. */
  readonly at: string;
}

export interface ResentRefund {
  readonly refund_id: string;
  /** The provider's id of the refund that failed: the new one takes the place of this one only. */
  readonly instead_of: string;
  /** From here on keys are new ones. Absent for a cancellation's own: the next one has another id, and keys of its own. */
  readonly ordinal?: number;
}

export const ASSERTIONS = ['done', 'no_effect'] as const;
/** What a person says became of a call whose outcome could not be read. */
export interface Assertion extends Decided {
  readonly step: StepName;
  readonly target: string;
  readonly outcome: (typeof ASSERTIONS)[number];
  readonly evidence: string;
  /**
   * The newest try that the journal had (attempt_id): it speaks of the tries up to this one. Not of those before a time,
   * since tries are dated by another clock.
   */
  readonly last_attempt: string | null;
}

/** A finalizer that nobody waits for any more. */
export interface LeftBehind extends Decided {
  readonly name: 'payment' | 'inventory';
  readonly left_behind: string;
  /** Money that was in hand then, in minor units: when more appears it is waited for again. */
  readonly covers: number;
}

export const VERDICTS = ['baseline', 'known_deviation', 'escalated'] as const;
export type Verdict = (typeof VERDICTS)[number];
export interface GivenUp extends Decided {
  readonly verdict: Exclude<Verdict, 'baseline'>;
  /** Spec generation that was given up: a newer wish asks a person again. */
  readonly generation: number;
  /** What a person was needed for then; for anything else one is needed again. */
  readonly reason_word: string | null;
  /** Money in hand then, in minor units: more of it asks a person again. */
  readonly covers: number;
}

export const NO_DECISIONS: Decisions = {
  retries: 0,
  resent: [],
  unbraked: [],
  asserted: [],
  left: [],
  given_up: null,
  last: null,
};

/** The part of a wish that this file is about. */
interface Wished {
  readonly decisions?: Decisions;
}

export const decisionsOf = ({ decisions }: Wished): Decisions => decisions ?? NO_DECISIONS;

/** The ordinal that keys of an effect begin with: those before belong to a refund that failed. */
export const firstOrdinal = (wish: Wished, { name, target }: { name: StepName; target: string }): number =>
  name !== 'create_refund'
    ? 1
    : decisionsOf(wish)
        .resent.filter(({ refund_id }) => refund_id === target)
        .reduce((first, { ordinal }) => Math.max(first, ordinal ?? 1), 1);

interface Effect {
  readonly step: StepName;
  readonly target: string;
}
export const isSameEffect = (one: Effect, other: Effect): boolean =>
  one.step === other.step && one.target === other.target;

/** The last that a person said of an effect. */
export const assertionOf = (wish: Wished, effect: Effect): Assertion | undefined =>
  wish.decisions?.asserted.find((assertion) => isSameEffect(assertion, effect));

/** Whether a person said what became of this try. `attempts`: the journal, in its order. */
export function isAsserted(wish: Wished, one: Attempt, attempts: readonly Attempt[]): boolean {
  const assertion = assertionOf(wish, one);
  return assertion !== undefined && knownTo(assertion, attempts).includes(one);
}

const knownTo = ({ last_attempt }: Assertion, attempts: readonly Attempt[]): readonly Attempt[] =>
  attempts.slice(0, attempts.findIndex(({ attempt_id }) => attempt_id === last_attempt) + 1);

/**
 * An effect of which a person said that it did not happen, and which is known to have happened. One that was sent again
 * since then refutes nothing.
 */
export function refutedBy(wish: Wished, attempts: readonly Attempt[]): Assertion | undefined {
  return wish.decisions?.asserted.find((assertion) => {
    if (assertion.outcome !== 'no_effect') return false;
    const ofEffect = (one: Attempt): boolean => isSameEffect(one, assertion);
    const before = knownTo(assertion, attempts).filter(ofEffect);
    return before.length === attempts.filter(ofEffect).length && before.some(tookEffect);
  });
}

const tookEffect = ({ outcome, resolution }: Attempt): boolean =>
  outcome === 'done' || outcome === 'pending' || resolution === 'effect_observed';
