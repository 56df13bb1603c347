/** What one pass knows so far and has not yet written: a value, changed only by the functions below. */
import {
  absorbJournal,
  absorbObservation,
  absorbOutcome,
  effectSeen,
  type Known,
} from '../operation/absorb.js';
import {
  lostCreates,
  openAttempts,
  type Attempt,
  type Outcome,
  type Resolution,
} from '../operation/attempt.js';
import { nextStatus } from '../operation/next-status.js';
import type { Facts, Operation, Policy, Status } from '../operation/operation.js';
import type { Observation } from '../operation/observation.js';
import type { Step } from '../operation/step.js';
import type { Claim, Entry } from '../store/pass-store.js';
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
  readonly resolved: Entry['resolved'];
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
    resolved: [],
    // Told once: afterwards the facts carry the doubt.
    events: already === null ? unanswered.slice(0, 1).map(events.interrupted) : [],
  };
}

const withKnown = (operation: Operation, known: Known): Operation => ({ ...operation, ...known });

/** `now`: on which clock the keys of lost creates are over. */
export function withObservation(pass: Pass, observation: Observation, now: Date): Pass {
  const known = absorbObservation(pass.operation, observation);
  const operation = withKnown(pass.operation, known);
  const open = openAttempts(pass.attempts);
  const seen = open.filter((attempt) =>
    effectSeen(attempt, known.facts, known.provider_reference, operation),
  );
  if (seen.length > 0) return resolved({ ...pass, operation }, seen, 'effect_observed');
  // A lost payment was looked for and is not there: see observe.
  const refuted = observation.payment.kind === 'absent' ? lostCreates(pass.attempts, now) : [];
  if (refuted.length === 0) return { ...pass, operation };
  const facts = { ...operation.facts, unresolved: null };
  return resolved({ ...pass, operation: { ...operation, facts } }, refuted, 'no_effect_observed');
}

function resolved(pass: Pass, attempts: readonly Attempt[], resolution: Resolution): Pass {
  const ids = new Set(attempts.map((attempt) => attempt.attempt_id));
  return {
    ...pass,
    attempts: pass.attempts.map((attempt) =>
      ids.has(attempt.attempt_id) ? { ...attempt, resolution } : attempt,
    ),
    resolved: [...pass.resolved, ...[...ids].map((attempt_id) => ({ attempt_id, resolution }))],
    events: [...pass.events, ...attempts.map((attempt) => events.observed(attempt, resolution))],
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
  const status = { ...nextStatus(pass.operation, now, policy), observed_version: pass.operation.generation };
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
