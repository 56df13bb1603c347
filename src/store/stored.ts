/**
 * Documents as Postgres holds them: without the members that are as they are for most orders. A row is rewritten at every
 * moment of a pass, and what is not in it is neither written, sent nor parsed. What is usual can never change: rows rely
 * on it.
 */
import type { Shown } from '../operation/attempt.js';
import type { PaymentReading } from '../operation/observation.js';
import { NO_FACTS, type Condition, type Facts, type Status } from '../operation/operation.js';
import { REASONS, type Reason } from '../operation/reason.js';

/** A document as it is stored: members may be missing. */
export type Stored<T> = { readonly [Name in keyof T]?: unknown };

const isSame = (a: unknown, b: unknown): boolean =>
  a === b || (Array.isArray(a) && Array.isArray(b) && a.length === 0 && b.length === 0);

/** Without the members that are as in `usual`. */
function unusual<T extends object>(document: T, usual: Partial<T>): Stored<T> {
  const kept: Partial<T> = {};
  for (const name in document) {
    if (!isSame(document[name], usual[name])) kept[name] = document[name];
  }
  return kept;
}

const FACTS = { refunds: NO_FACTS.refunds, unresolved: NO_FACTS.unresolved, failure: NO_FACTS.failure };

/** Which members are usual. Another number is of another version, to which something else is. */
const VERSION = 1;

export const storedFacts = (facts: Facts): Stored<Facts> & { readonly version: number } => ({
  version: VERSION,
  ...unusual(facts, FACTS),
  payment: unusual(facts.payment, NO_FACTS.payment),
  inventory: unusual(facts.inventory, NO_FACTS.inventory),
  budget: unusual(facts.budget, NO_FACTS.budget),
});

/**
 * Never throws, since one record must not keep others from being read: of facts that are not understood nothing is left,
 * so that a pass over them breaks off. Nothing is ever taken for usual that was not left out by `storedFacts`.
 */
export function readFacts(stored: Stored<Facts> & { readonly version?: number }): Facts {
  const { version, ...facts } = { ...stored };
  // All of it was stored.
  if (version === undefined) return facts as Facts;
  if (version !== VERSION) return {} as Facts;
  return {
    ...FACTS,
    ...(facts as Facts),
    payment: { ...NO_FACTS.payment, ...(facts.payment as Facts['payment']) },
    inventory: { ...NO_FACTS.inventory, ...(facts.inventory as Facts['inventory']) },
    budget: { ...NO_FACTS.budget, ...(facts.budget as Facts['budget']) },
  };
}

/** Columns are made of the other members: see the migrations. */
const STATUS = {
  finalizers: [],
  cancelled_at: null,
  attention: null,
  settled_at: null,
  deadline_at: null,
} satisfies Partial<Status>;

/** Of a reason that a later version wrote, nothing but its word is known. */
const meaningOf = (reason: Reason): string => (REASONS as Partial<typeof REASONS>)[reason]?.meaning ?? reason;

export const storedStatus = (status: Status): Stored<Status> => ({
  ...unusual(status, STATUS),
  conditions: status.conditions.map((condition) =>
    unusual(condition, { message: meaningOf(condition.reason) }),
  ),
});

export const readStatus = (stored: Stored<Status>): Status => ({
  ...STATUS,
  ...(stored as Status),
  conditions: ((stored.conditions ?? []) as Condition[]).map((condition) => ({
    type: condition.type,
    status: condition.status,
    reason: condition.reason,
    message: (condition as Partial<Condition>).message ?? meaningOf(condition.reason),
    since: condition.since,
    observed_version: condition.observed_version,
  })),
});

const PAYMENT = {
  capture: null,
  payment_method: null,
  authorized: 0,
  captured: 0,
  refunds: null,
  disputed: false,
  capture_before: null,
  next_action: null,
  last_error: null,
  canceled_because: null,
  operation_id: null,
  livemode: null,
} satisfies Partial<PaymentReading>;

export const storedShown = (shown: Shown): Stored<Shown> =>
  shown.payment === undefined ? shown : { ...shown, payment: unusual(shown.payment, PAYMENT) };

export function readShown(stored: Stored<Shown>): Shown {
  const shown = stored as Shown;
  return shown.payment === undefined ? shown : { ...shown, payment: { ...PAYMENT, ...shown.payment } };
}
