/** Why a call did not do what was asked, and what each kind of failure permits. */

export const FAILURE_CLASSES = [
  'transient',
  'throttled',
  'outage',
  'unknown',
  'declined',
  'rejected',
  'authorization',
  'conflict',
  'compatibility',
  'prerequisite',
  'partial',
  'cancelled_by_operator',
] as const;
export type FailureClass = (typeof FAILURE_CLASSES)[number];

/** One failure as seen at a port. Messages are safe to show: no secrets, no card data. */
export interface Failure {
  readonly class: FailureClass;
  /** Stable code: the provider's own where it has one, else ours (snake_case). */
  readonly code: string;
  readonly message: string;
  /** How long the other side asked us to wait, in milliseconds. */
  readonly retry_after_ms?: number;
  readonly request_id?: string;
}

/** What happens next after a failure of a class. */
export interface Posture {
  /** Counts against the operation's own retry budget. */
  readonly spendsBudget: boolean;
  /** `backoff`: try again by itself, later. `customer`: wait for them. `person`: needs attention now. */
  readonly then: 'backoff' | 'customer' | 'person';
}

/** Total over the classes; DESIGN: "anything unrecognised is unknown" is the adapters' default branch. */
export const POSTURES: Readonly<Record<FailureClass, Posture>> = {
  transient: { spendsBudget: true, then: 'backoff' },
  throttled: { spendsBudget: false, then: 'backoff' },
  outage: { spendsBudget: false, then: 'backoff' },
  unknown: { spendsBudget: true, then: 'backoff' },
  declined: { spendsBudget: false, then: 'customer' },
  // A rejected step is planned once more from a fresh reading; the second rejection needs a person.
  rejected: { spendsBudget: true, then: 'backoff' },
  authorization: { spendsBudget: false, then: 'backoff' },
  conflict: { spendsBudget: true, then: 'backoff' },
  compatibility: { spendsBudget: false, then: 'person' },
  prerequisite: { spendsBudget: false, then: 'backoff' },
  partial: { spendsBudget: true, then: 'backoff' },
  cancelled_by_operator: { spendsBudget: false, then: 'backoff' },
};

/** The provider does not know the id of a payment, which proves nothing about the payment. */
export const NOT_FOUND = 'payment_not_found';

/** The provider still works on an earlier request of ours under the same key. */
const IN_FLIGHT = 'idempotency_key_in_use';

/** This process stood still for so long that the call might have outlasted its lease. */
export const TOO_SLOW = 'lease_too_short';

/** Trouble of ours, and none of the order. */
const OURS: ReadonlySet<string> = new Set([IN_FLIGHT, TOO_SLOW]);

/** Codes whose cause stays whatever is read: other parameters under our key; goods that are out of the house. */
const LASTING: ReadonlySet<string> = new Set(['idempotency_mismatch', 'goods_gone']);

/** The answer to an effect that only a person, or a change of what is seen, can overcome. */
export const isLasting = (failure: Failure): boolean =>
  LASTING.has(failure.code) || POSTURES[failure.class].then === 'person';

/** The warehouse is away or ill. It has no breaker, so no order may be blamed for it, however long it lasts. */
const WAREHOUSE_AWAY = /^inventory_(http_5\d\d|timeout|connection_lost|unexpected_body)$/;

/**
 * Whether a failure counts against the operation's own retry budget. Being told to wait for ourselves is none; an id of
 * ours that stays unknown although the account answers others is.
 */
export const spendsBudget = (failure: Failure): boolean =>
  failure.code === NOT_FOUND ||
  (POSTURES[failure.class].spendsBudget && !OURS.has(failure.code) && !WAREHOUSE_AWAY.test(failure.code));
