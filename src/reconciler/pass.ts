/** What one pass knows so far and has not yet written: a value, changed only by the functions below. */
import { isDeepStrictEqual } from 'node:util';
import { absorbObservation, absorbOutcome } from '../operation/absorb.js';
import { absorbJournal } from '../operation/absorb-journal.js';
import { takenPayment } from '../operation/absorb-payment.js';
import { resolutionOf } from '../operation/effect-seen.js';
import type { Known, Facts, Operation, Pause, Policy, Status } from '../operation/operation.js';
import { refutedBy } from '../operation/decisions.js';
import { withoutDrift } from '../operation/drift.js';
import {
  forJournal,
  lostCreates,
  openAttempts,
  type Attempt,
  type Outcome,
  type Resolution,
} from '../operation/attempt.js';
import { nextStatus } from '../operation/next-status.js';
import { nextStep } from '../operation/next-step.js';
import type { Seen, Observation } from '../operation/observation.js';
import { erasedOutcome } from '../operation/personal-data.js';
import type { Decision, Step } from '../operation/step.js';
import type { Claim, Entry } from '../store/pass-store.js';
import type { EventDraft } from '../store/record.js';
import * as events from './events.js';

export interface Pass {
  readonly row: string;
  readonly fencing_token: number;
  readonly resource_version: number;
  readonly operation: Operation;
  readonly attempts: readonly Attempt[];
  readonly account_paused: Pause | null;
  /** As it stands in Postgres, to see what changed. */
  readonly written: Pick<Operation, 'facts' | 'status' | 'provider_reference'>;
  /** An answer that is not written yet. */
  readonly completed: { readonly attempt_id: string; readonly outcome: Outcome } | null;
  readonly resolved: Entry['resolved'];
  readonly events: readonly EventDraft[];
  /** What the status derived last changes of the one that is written. */
  readonly transitions: readonly EventDraft[];
}

export function beginPass(claim: Omit<Claim, 'broken'>): Pass {
  const { record, attempts } = claim;
  const known = absorbJournal(record, attempts);
  const unanswered = openAttempts(attempts).filter((attempt) => attempt.outcome === null);
  const already = record.facts.unresolved;
  return {
    row: claim.row,
    fencing_token: claim.fencing_token,
    resource_version: record.resource_version,
    operation: withRefutation(withAccount(withKnown(record, known), null), attempts),
    attempts,
    account_paused: claim.account_paused ?? null,
    written: record,
    completed: null,
    resolved: [],
    transitions: [],
    // Told once: afterwards the facts carry the doubt.
    events: already === null ? unanswered.slice(0, 1).map(events.interrupted) : [],
  };
}

/** What a person said of a call is held against the journal: a late answer, or a reading, may know better. */
function withRefutation(operation: Operation, attempts: readonly Attempt[]): Operation {
  const { refuted: before, ...facts } = operation.facts;
  const assertion = refutedBy(operation.wish, attempts);
  if (assertion === undefined) return before === undefined ? operation : { ...operation, facts };
  const { step, target, at: asserted_at } = assertion;
  return { ...operation, facts: { ...facts, refuted: { step, target, asserted_at } } };
}

/** What is missing now, and the pass that knows it: a step of an account whose writes are stopped waits for them. */
export function decide(
  pass: Pass,
  seen: Seen,
  now: Date,
  policy: Policy,
): { readonly pass: Pass; readonly decision: Decision } {
  const decision = nextStep(pass.operation, seen, now, policy);
  if (decision.kind !== 'step' || pass.account_paused === null) return { pass, decision };
  const operation = withAccount(pass.operation, pass.account_paused);
  return { pass: { ...pass, operation }, decision: nextStep(operation, seen, now, policy) };
}

function withAccount(operation: Operation, paused: Pause | null): Operation {
  const { account_paused: _former, ...facts } = operation.facts;
  return { ...operation, facts: paused === null ? facts : { ...facts, account_paused: paused } };
}

const withKnown = (operation: Operation, known: Known): Operation => ({ ...operation, ...known });

/** `now`: on which clock the keys of lost creates are over. */
export function withObservation(pass: Pass, observation: Observation, now: Date): Pass {
  const known = absorbObservation(pass.operation, observation);
  const operation = withKnown(pass.operation, known);
  const seen = { ...pass, operation, events: [...pass.events, ...events.outside(pass.operation, operation)] };
  const settled = openAttempts(pass.attempts)
    .map((attempt) => ({
      attempt,
      resolution: resolutionOf(attempt, known.facts, known.provider_reference, operation),
    }))
    .filter((one): one is Resolved => one.resolution !== null);
  if (settled.length > 0) return withResolved(seen, settled);
  // A lost payment was looked for and is not there: see observe.
  const refuted = observation.payment.kind === 'absent' ? lostCreates(pass.attempts, now) : [];
  if (refuted.length === 0) return seen;
  const facts = { ...operation.facts, unresolved: null };
  return withResolved(
    { ...seen, operation: { ...operation, facts } },
    refuted.map((attempt) => ({ attempt, resolution: 'no_effect_observed' })),
  );
}

interface Resolved {
  readonly attempt: Attempt;
  readonly resolution: Resolution;
}

function withResolved(pass: Pass, resolved: readonly Resolved[]): Pass {
  const resolutions = new Map(resolved.map(({ attempt, resolution }) => [attempt.attempt_id, resolution]));
  const attempts = pass.attempts.map((attempt) => ({
    ...attempt,
    resolution: resolutions.get(attempt.attempt_id) ?? attempt.resolution,
  }));
  return {
    ...pass,
    operation: withRefutation(pass.operation, attempts),
    attempts,
    resolved: [
      ...pass.resolved,
      ...[...resolutions].map(([attempt_id, resolution]) => ({ attempt_id, resolution })),
    ],
    events: [
      ...pass.events,
      ...resolved.map(({ attempt, resolution }) => events.observed(attempt, resolution)),
    ],
  };
}

/** The payment that was to become this order's is recorded as that of the operation `other`. */
export function withTakenPayment(pass: Pass, other: string): Pass {
  const known = takenPayment(pass.operation, pass.written.facts.refunds, other);
  return { ...pass, operation: withKnown(pass.operation, known) };
}

/** The money-out brake holds back the refund that was to be sent. */
export function withBrake(pass: Pass, braked: NonNullable<Facts['braked']>): Pass {
  return { ...pass, operation: { ...pass.operation, facts: { ...pass.operation.facts, braked } } };
}

/** `at`: when the answer came, RFC 3339. */
export function withOutcome(pass: Pass, step: Step, attempt: Attempt, answer: Outcome, at: string): Pass {
  const outcome = pass.operation.erased_at === undefined ? answer : erasedOutcome(answer);
  const answeredAttempt: Attempt = {
    ...attempt,
    completed_at: at,
    outcome: outcome.kind,
    key_spent: outcome.key_spent ?? false,
    failure: 'failure' in outcome ? outcome.failure : null,
    shown: forJournal(outcome).shown ?? null,
  };
  return {
    ...pass,
    operation: withKnown(pass.operation, absorbOutcome(pass.operation, step, outcome, at)),
    attempts: [...pass.attempts.filter((other) => other.attempt_id !== attempt.attempt_id), answeredAttempt],
    completed: { attempt_id: attempt.attempt_id, outcome: forJournal(outcome) },
  };
}

/** The status that follows from what is known now, with the events that tell of its changes. */
export function withStatus(pass: Pass, now: Date, policy: Policy): Pass {
  const status = nextStatus(pass.operation, now, policy, pass.operation.generation);
  const agreed = status.conditions.some(({ type, status: holds }) => type === 'Ready' && holds === 'True');
  const facts = agreed ? withoutDrift(pass.operation.facts) : pass.operation.facts;
  return {
    ...pass,
    operation: { ...pass.operation, facts, status },
    transitions: events.transitions(pass.written.status, status),
  };
}

/** Whether a reader would see a difference to what is written; looking again at the same thing is none. */
export function isChanged(pass: Pass): boolean {
  const now = pass.operation;
  const before = pass.written;
  return (
    now.provider_reference !== before.provider_reference ||
    // As a rule where a pass did something; the rest is compared member by member.
    now.status.phase !== before.status.phase ||
    !isDeepStrictEqual(visible(now.facts, now.status), visible(before.facts, before.status))
  );
}

function visible(facts: Facts, status: Status): unknown {
  const payment = { ...facts.payment, observed_at: null };
  const inventory = { ...facts.inventory, observed_at: null };
  // Failing in the same way once more is nothing new either.
  const budget = { ...facts.budget, reads: 0, streak: 0 };
  const failure = facts.failure === null ? null : { ...facts.failure, request_id: undefined };
  // Nor is waiting for room once more.
  const braked = facts.braked?.message;
  // The order of turns is no reader's concern.
  const shown = { ...status, deadline_at: null };
  return { ...facts, payment, inventory, budget, failure, braked, status: shown };
}
