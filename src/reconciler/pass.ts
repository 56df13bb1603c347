/** What one pass knows so far and has not yet written: a value, changed only by the functions below. */
import {
  absorbJournal,
  absorbObservation,
  absorbOutcome,
  effectSeen,
  type Known,
} from '../operation/absorb.js';
import { openAttempts, type Attempt, type Outcome } from '../operation/attempt.js';
import { nextStatus } from '../operation/next-status.js';
import type { Facts, Operation, Policy, Status } from '../operation/operation.js';
import type { Observation } from '../operation/observation.js';
import type { Step } from '../operation/step.js';
import type { Claim } from '../store/pass-store.js';
import type { EventDraft } from '../store/record.js';
import * as events from './events.js';

export interface Pass {
  readonly row: string;
  readonly fencing_token: number;
  readonly resource_version: number;
  readonly operation: Operation;
  readonly attempts: readonly Attempt[];
  /** As it stands in Postgres, to see what changed. */
  readonly written: Pick<Operation, 'facts' | 'status' | 'provider_reference'>;
  /** An answer that is not written yet. */
  readonly completed: { readonly attempt_id: string; readonly outcome: Outcome } | null;
  readonly observed: readonly string[];
  readonly events: readonly EventDraft[];
}

export function beginPass(claim: Claim): Pass {
  const { record, attempts } = claim;
  const known = absorbJournal(record, attempts);
  const unanswered = openAttempts(attempts).filter((attempt) => attempt.outcome === null);
  const already = record.facts.unresolved;
  return {
    row: claim.row,
    fencing_token: claim.fencing_token,
    resource_version: record.resource_version,
    operation: withKnown(record, known),
    attempts,
    written: record,
    completed: null,
    observed: [],
    // Told once: afterwards the facts carry the doubt.
    events: already === null ? unanswered.slice(0, 1).map(events.interrupted) : [],
  };
}

const withKnown = (operation: Operation, known: Known): Operation => ({ ...operation, ...known });

export function withObservation(pass: Pass, observation: Observation): Pass {
  const known = absorbObservation(pass.operation, observation);
  const operation = withKnown(pass.operation, known);
  const seen = openAttempts(pass.attempts).filter(
    (attempt) =>
      !pass.observed.includes(attempt.attempt_id) &&
      effectSeen(attempt, known.facts, known.provider_reference, operation),
  );
  return {
    ...pass,
    operation,
    observed: [...pass.observed, ...seen.map((attempt) => attempt.attempt_id)],
    events: [...pass.events, ...seen.map(events.observed)],
  };
}

/** `at`: when the answer came, RFC 3339. */
export function withOutcome(pass: Pass, step: Step, attempt: Attempt, outcome: Outcome, at: string): Pass {
  const answeredAttempt: Attempt = {
    ...attempt,
    completed_at: at,
    outcome: outcome.kind,
    key_spent: outcome.key_spent ?? false,
    failure: 'failure' in outcome ? outcome.failure : null,
    shown: outcome.shown ?? null,
  };
  return {
    ...pass,
    operation: withKnown(pass.operation, absorbOutcome(pass.operation, step, outcome, at)),
    attempts: [...pass.attempts.filter((other) => other.attempt_id !== attempt.attempt_id), answeredAttempt],
    completed: { attempt_id: attempt.attempt_id, outcome },
    events: [...pass.events, events.answered(attempt, outcome)],
  };
}

/** The status that follows from what is known now, with the events that tell of its changes. */
export function withStatus(pass: Pass, now: Date, policy: Policy): Pass {
  const status = nextStatus(pass.operation, now, policy);
  return {
    ...pass,
    operation: { ...pass.operation, status },
    events: [...pass.events, ...events.transitions(pass.written.status, status)],
  };
}

/** Whether a reader would see a difference to what is written; looking again at the same thing is none. */
export function isChanged(pass: Pass): boolean {
  const now = pass.operation;
  const before = pass.written;
  return (
    now.provider_reference !== before.provider_reference ||
    visible(now.facts, now.status) !== visible(before.facts, before.status)
  );
}

function visible(facts: Facts, status: Status): string {
  const payment = { ...facts.payment, observed_at: null };
  const inventory = { ...facts.inventory, observed_at: null };
  const budget = { ...facts.budget, streak: 0 };
  // Postgres returns jsonb with its own order of members.
  return canonical({ ...facts, payment, inventory, budget, status });
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    member !== null && typeof member === 'object' && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
