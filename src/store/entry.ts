/** What a pass writes at one moment, and the one statement that writes it. */
import { rowsOf, valuesOf, type Columns } from './columns.js';
import type { JournalAttempt, EventDraft } from './record.js';
import { storedFacts, storedShown, storedStatus } from './stored.js';
import type { Outcome, Parameters, Resolution, StepName } from '../operation/attempt.js';
import type { Failure } from '../operation/failure.js';
import type { Facts, Status } from '../operation/operation.js';

export interface Intent {
  readonly step: StepName;
  readonly target: string;
  readonly ordinal: number;
  readonly effect_key: string;
  readonly parameters: Parameters;
}

/** Everything that one moment of a pass has to say, in one write. */
export interface Entry {
  readonly row: string;
  readonly worker: string;
  readonly fencing_token: number;
  /** As last known to this pass; an intent is recorded only when nobody wrote since. */
  readonly resource_version: number;
  /** The generation that `status` was derived for; with another one, or a newer wish, only the facts are written. */
  readonly generation: number;
  readonly facts: Facts;
  readonly status: Status;
  readonly provider_reference: string | null;
  /** False for a look that found nothing new: no reader sees a difference. */
  readonly changed: boolean;
  /** The answer to the attempt that was open; kept, and told, even when the lease was lost. */
  readonly completed: { readonly attempt_id: string; readonly outcome: Outcome } | null;
  /** What was observed of attempts whose answer is lost. */
  readonly resolved: readonly { readonly attempt_id: string; readonly resolution: Resolution }[];
  readonly events: readonly EventDraft[];
  /** What `status` changes; told only where that status is written. */
  readonly transitions: readonly EventDraft[];
  /** Either the next effect, with a lease renewed for so long, or the end of the pass. */
  readonly next:
    | { readonly kind: 'intent'; readonly intent: Intent; readonly lease_ms: number }
    /** `look_in_ms` null: watched no longer. A wake that came meanwhile makes it due at once. */
    | { readonly kind: 'release'; readonly look_in_ms: number | null };
}

export interface Recorded {
  /** The lease is still ours and the facts are written. */
  readonly held: boolean;
  /** Somebody asked for another look since the claim. */
  readonly woken: boolean;
  readonly resource_version: number;
  /** Set when the intent was recorded: the effect may be sent. */
  readonly attempt: JournalAttempt | null;
}

/** What RECORD is given of an entry. */
const COLUMNS: Columns<Entry> = {
  row: ['bigint', ({ row }) => row],
  worker: ['text', ({ worker }) => worker],
  fencing_token: ['bigint', ({ fencing_token }) => fencing_token],
  resource_version: ['bigint', ({ resource_version }) => resource_version],
  generation: ['integer', ({ generation }) => generation],
  facts: ['jsonb', ({ facts }) => storedFacts(facts)],
  status: ['jsonb', ({ status }) => storedStatus(status)],
  provider_reference: ['text', ({ provider_reference }) => provider_reference],
  changed: ['boolean', ({ changed }) => changed],
  lines: ['json', linesOf],
  resolved: ['jsonb', resolvedOf],
  attempt_id: ['bigint', ({ completed }) => completed?.attempt_id],
  outcome: ['text', ({ completed }) => completed?.outcome.kind],
  key_spent: ['boolean', ({ completed }) => completed?.outcome.key_spent],
  failure: ['jsonb', failureIn],
  shown: ['jsonb', ({ completed }) => completed?.outcome.shown && storedShown(completed.outcome.shown)],
  request_id: ['text', (entry) => entry.completed?.outcome.request_id ?? failureIn(entry)?.request_id],
  step: ['text', (entry) => intentIn(entry)?.step],
  target: ['text', (entry) => intentIn(entry)?.target],
  ordinal: ['integer', (entry) => intentIn(entry)?.ordinal],
  effect_key: ['text', (entry) => intentIn(entry)?.effect_key],
  parameters: ['json', (entry) => intentIn(entry)?.parameters],
  lease_ms: ['float8', ({ next }) => (next.kind === 'intent' ? next.lease_ms : null)],
  look_in_ms: ['float8', ({ next }) => (next.kind === 'release' ? next.look_in_ms : null)],
};

const intentIn = ({ next }: Entry): Intent | null => (next.kind === 'intent' ? next.intent : null);

function failureIn({ completed }: Entry): Failure | null {
  return completed !== null && 'failure' in completed.outcome ? completed.outcome.failure : null;
}

function linesOf({ events, transitions }: Entry): readonly unknown[] | null {
  if (events.length === 0 && transitions.length === 0) return null;
  return [...events.map(toLine), ...transitions.map(toDerivedLine)];
}

/** By attempt. */
function resolvedOf({ resolved }: Entry): Readonly<Record<string, Resolution>> | null {
  if (resolved.length === 0) return null;
  return Object.fromEntries(resolved.map(({ attempt_id, resolution }) => [attempt_id, resolution]));
}

const toLine = ({ type, actor, message, data }: EventDraft): Record<string, unknown> => ({
  type,
  actor_kind: actor.kind,
  actor_name: actor.name,
  message,
  data,
});
/** It tells of the status, and is told only where that is written. */
const toDerivedLine = (event: EventDraft): Record<string, unknown> => ({ ...toLine(event), derived: true });

/**
 * One write for one moment of a pass. A crash before it leaves the former moment, a crash after it the new one:
 * the answer, what it means, and the intent of the next effect are never apart.
 *
 *   completed  the answer to an open attempt; whoever sent it may say it, also without the lease
 *   written    facts: only under the same fencing token; status: only for the same wish. That is the same generation,
 *              and no write by somebody who woke the record (the customer tries again): their status is the newer one
 *   opened     the intent: only when moreover nobody wrote since, the lease has time left, and nobody stopped the account
 *   told       that a try was answered, by the part that completed it; all else only by who holds the record
 */
export const RECORD = {
  name: 'record',
  text: `
WITH input AS (
  -- Nothing is left out. The limits tell the planner that entries are few, so that it looks rows up, also where it was
  -- asked when the tables were small. What a part needs of its entry comes through the part before: joined, the parts
  -- of a batch would be compared each with each.
  SELECT * FROM (SELECT * FROM ${rowsOf(COLUMNS, 2)} LIMIT $1) given LIMIT $1
), stopped AS (
  SELECT coalesce(array_agg(account), '{}') AS accounts FROM provider_accounts WHERE paused IS NOT NULL
), completed AS (
  UPDATE operation_attempts a
  SET completed_at = clock_timestamp(), outcome = i.outcome, key_spent = coalesce(i.key_spent, false), failure = i.failure,
      shown = i.shown, request_id = i.request_id
  FROM input i
  -- The second half is never so: without it the planner may expect that hardly any is open, and read the whole journal.
  WHERE a.attempt_id = i.attempt_id AND a.operation = i."row" AND (a.completed_at IS NULL OR i.attempt_id IS NULL)
  RETURNING a.operation, a.attempt_id, a.step, a.outcome, a.failure
), written AS (
  UPDATE order_operations o SET
    facts = i.facts,
    provider_reference = coalesce(i.provider_reference, o.provider_reference),
    status = CASE WHEN o.generation = i.generation AND (o.resource_version = i.resource_version OR o.wake = o.wake_at_claim)
      THEN i.status ELSE o.status END,
    settled_at = CASE WHEN o.generation = i.generation AND (o.resource_version = i.resource_version OR o.wake = o.wake_at_claim)
      THEN (i.status->>'settled_at')::timestamptz ELSE o.settled_at END,
    deadline_at = CASE
      -- Asked of nobody while the record is held, and a write that touches no index is a cheaper one.
      WHEN i.step IS NOT NULL THEN o.deadline_at
      WHEN o.generation = i.generation AND (o.resource_version = i.resource_version OR o.wake = o.wake_at_claim)
      THEN (i.status->>'deadline_at')::timestamptz ELSE o.deadline_at END,
    resource_version = o.resource_version + CASE WHEN i.changed OR i.step IS NOT NULL THEN 1 ELSE 0 END,
    updated_at = CASE WHEN i.changed OR i.step IS NOT NULL THEN clock_timestamp() ELSE o.updated_at END,
    task = CASE WHEN o.resource_version = i.resource_version THEN i.step END,
    broken = CASE WHEN i.step IS NOT NULL THEN o.broken ELSE 0 END,
    lease_holder = CASE WHEN i.step IS NOT NULL THEN o.lease_holder END,
    lease_expires_at = CASE
      WHEN i.step IS NULL THEN NULL
      WHEN o.resource_version = i.resource_version AND o.lease_expires_at > clock_timestamp()
        THEN clock_timestamp() + make_interval(secs => i.lease_ms / 1000)
      ELSE o.lease_expires_at END,
    next_attempt_at = CASE
      WHEN i.step IS NOT NULL THEN o.next_attempt_at
      WHEN o.wake <> o.wake_at_claim OR o.generation <> i.generation THEN now()
      -- It waited for an account that goes on meanwhile.
      WHEN i.facts ? 'account_paused' AND o.account <> ALL ((SELECT accounts FROM stopped)::text[]) THEN now()
      ELSE now() + make_interval(secs => i.look_in_ms / 1000) END
  FROM input i
  WHERE o.id = i."row" AND o.fencing_token = i.fencing_token AND o.lease_holder = i.worker
  RETURNING o.id, o.resource_version, o.wake <> o.wake_at_claim AS woken,
    o.generation = i.generation AND (o.wake = o.wake_at_claim OR i.resource_version =
      o.resource_version - CASE WHEN i.changed OR i.step IS NOT NULL THEN 1 ELSE 0 END) AS derived,
    i.step IS NOT NULL AND o.resource_version = i.resource_version + 1 AND o.lease_expires_at > clock_timestamp()
      AND o.account <> ALL ((SELECT accounts FROM stopped)::text[]) AS may_send,
    i.step, i.target, i.ordinal, i.effect_key, i.parameters, i.generation, i.fencing_token, i.worker, i.lines, i.resolved
), opened AS (
  INSERT INTO operation_attempts (operation, step, target, ordinal, effect_key, parameters, generation, fencing_token,
    worker, started_at)
  SELECT id, step, target, ordinal, effect_key, parameters, generation, fencing_token, worker, clock_timestamp()
  FROM written WHERE may_send
  RETURNING operation, attempt_id, started_at
), resolved AS (
  UPDATE operation_attempts a SET resolution = w.resolved->>a.attempt_id::text
  FROM written w
  WHERE w.resolved IS NOT NULL AND a.operation = w.id AND w.resolved ? a.attempt_id::text
), told AS (
  INSERT INTO operation_events (operation, at, type, actor_kind, actor_name, message, data)
  SELECT "row", clock_timestamp(), type, actor_kind, actor_name, message, data FROM (
    -- That a try was answered, once, also by a pass that lost its lease.
    SELECT operation AS "row", 0 AS place, 'effect_' || outcome AS type, 'system' AS actor_kind, 'reconciler' AS actor_name,
      step || ': ' || coalesce(failure->>'message', outcome) AS message,
      jsonb_strip_nulls(jsonb_build_object('step', step, 'attempt_id', attempt_id::text,
        'class', failure->'class', 'code', failure->'code')) AS data
    FROM completed
    UNION ALL
    SELECT w.id, e.place, e.type, e.actor_kind, e.actor_name, e.message, e.data
    FROM written w, LATERAL ROWS FROM (json_to_recordset(w.lines)
        AS (type text, actor_kind text, actor_name text, message text, data jsonb, derived boolean))
      WITH ORDINALITY AS e(type, actor_kind, actor_name, message, data, derived, place)
    WHERE w.lines IS NOT NULL AND (e.derived IS NULL OR w.derived)
  ) line
  ORDER BY "row", place
)
SELECT "row", max(resource_version) AS resource_version, bool_or(woken) AS woken, max(attempt_id) AS attempt_id,
  max(started_at) AS started_at
FROM (
  SELECT id AS "row", resource_version, woken, NULL::bigint AS attempt_id, NULL::timestamptz AS started_at FROM written
  UNION ALL
  SELECT operation, NULL, NULL, attempt_id, started_at FROM opened
) made
GROUP BY "row"`,
};

/** The open try of an intent that was recorded under this lease although its answer did not come back. */
export const BEGUN = `
SELECT i."row", o.wake <> o.wake_at_claim AS woken, to_json(a.*) AS attempt
FROM json_to_recordset($1::json) AS i(
    "row" bigint, worker text, fencing_token bigint, effect_key text, attempt_id bigint)
  JOIN order_operations o ON o.id = i."row" AND o.fencing_token = i.fencing_token AND o.lease_holder = i.worker
  JOIN operation_attempts a ON a.operation = o.id AND a.fencing_token = i.fencing_token
    AND a.effect_key = i.effect_key AND a.completed_at IS NULL AND a.attempt_id IS DISTINCT FROM i.attempt_id`;

/** The parameters of RECORD: at most one entry a row. */
export const batchOf = (entries: readonly Entry[]): unknown[] => [
  entries.length,
  ...valuesOf(COLUMNS, inOrder(entries)),
];

/** In the order of their ids, digit strings: two batches that lock the same rows do not wait for each other. */
const inOrder = (entries: readonly Entry[]): Entry[] =>
  entries.toSorted((a, b) => a.row.length - b.row.length || (a.row < b.row ? -1 : 1));

/** The try that was just recorded: what Postgres was given, and what it gave. */
export function opened(
  { next, generation, fencing_token }: Entry,
  id: string,
  at: Date,
): JournalAttempt | null {
  if (next.kind !== 'intent') return null;
  const { intent } = next;
  // Member by member: spread into a larger literal, a copy costs ten times as much.
  return {
    step: intent.step,
    target: intent.target,
    ordinal: intent.ordinal,
    effect_key: intent.effect_key,
    parameters: intent.parameters,
    attempt_id: id,
    sequence: Number(id),
    generation,
    fencing_token,
    started_at: at.toISOString(),
    completed_at: null,
    outcome: null,
    key_spent: false,
    failure: null,
    shown: null,
    request_id: null,
    resolution: null,
  };
}
