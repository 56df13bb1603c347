/**
 * Who looks after what needs a person. Written beside the operation's row, never to it: the reconciler is not disturbed,
 * and no ETag and no preview goes stale because somebody took a note.
 */
import type { Database } from './database.js';
import type { OperationEventRow } from './entities.js';
import { toEvent } from './mapping.js';
import type { Actor, OperationEvent } from './record.js';

export interface Triage {
  readonly assignee: string | null;
  /** RFC 3339. */
  readonly snooze_until: string | null;
  /** The snooze holds: its time is not over, and what needs a person is what was snoozed. */
  readonly snoozed: boolean;
  readonly updated_at: string | null;
  readonly updated_by: string | null;
  /** The latest, oldest first. */
  readonly notes: readonly OperationEvent[];
}

/** What is left out stays as it is. */
export interface TriageChange {
  readonly assignee?: string | null;
  /** RFC 3339; null ends it. */
  readonly snooze_until?: string | null;
  readonly note?: string;
}

/** What needs a person, counted; `amount` in minor units. */
export interface AttentionGroup {
  readonly reason: string;
  readonly account: string;
  readonly currency: string;
  readonly assignee: string | null;
  readonly snoozed: boolean;
  readonly age: AgeBand;
  readonly count: number;
  readonly amount: number;
  /** RFC 3339: since when the oldest of them needs a person. */
  readonly oldest: string;
}

/** An hour: a shift sees it. A day: it was handed over. A week: it is forgotten. */
export const AGE_BANDS = ['under_1h', '1h_to_1d', '1d_to_7d', 'over_7d'] as const;
export type AgeBand = (typeof AGE_BANDS)[number];

/** What a person saw when snoozing: another wish, phase, reason or occasion is something else to look at. */
const SEEN = `concat_ws(' ', o.generation, o.phase, o.attention_reason, o.status->'attention'->>'since')`;

/** For statements with an operation as `o` and its triage as `t`. */
const IS_SNOOZED = `t.snooze_until > now() AND t.snoozed_as = ${SEEN}`;

/** For a statement with an operation as `o`. */
export const SNOOZED = `EXISTS (SELECT 1 FROM operation_triage t WHERE t.operation = o.id AND ${IS_SNOOZED})`;
export const ASSIGNED_TO =
  'EXISTS (SELECT 1 FROM operation_triage t WHERE t.operation = o.id AND t.assignee = :assignee)';

const NOTES_SHOWN = 100;

const FIND = `
SELECT t.assignee, t.snooze_until, coalesce(${IS_SNOOZED}, false) AS snoozed, t.updated_at, t.updated_by,
  (SELECT coalesce(json_agg(n ORDER BY n.sequence), '[]') FROM (
     SELECT * FROM operation_events e WHERE e.operation = o.id AND e.type = 'note_added'
     ORDER BY sequence DESC LIMIT $2) n) AS notes
FROM order_operations o LEFT JOIN operation_triage t ON t.operation = o.id
WHERE o.operation_id = $1`;

/** $2, $4: whether assignee and snooze are given. The same note again is the same request again. */
const CHANGE = `
WITH given AS (
  SELECT o.id, ${SEEN} AS seen, t.assignee, t.snooze_until,
    (SELECT e.message FROM operation_events e WHERE e.operation = o.id AND e.type = 'note_added'
     ORDER BY e.sequence DESC LIMIT 1) AS last_note
  FROM order_operations o LEFT JOIN operation_triage t ON t.operation = o.id WHERE o.operation_id = $1
), written AS (
  INSERT INTO operation_triage (operation, assignee, snooze_until, snoozed_as, updated_at, updated_by)
  SELECT id, $3, $5::timestamptz, CASE WHEN $5 IS NOT NULL THEN seen END, now(), $8 FROM given
  ON CONFLICT (operation) DO UPDATE SET
    assignee = CASE WHEN $2::boolean THEN excluded.assignee ELSE operation_triage.assignee END,
    snooze_until = CASE WHEN $4::boolean THEN excluded.snooze_until ELSE operation_triage.snooze_until END,
    snoozed_as = CASE WHEN $4::boolean THEN excluded.snoozed_as ELSE operation_triage.snoozed_as END,
    updated_at = excluded.updated_at, updated_by = excluded.updated_by
), told AS (
  INSERT INTO operation_events (operation, at, type, actor_kind, actor_name, message)
  SELECT id, now(), e.type, $7, $8, e.message
  FROM given, LATERAL (VALUES
    (1, 'assigned', CASE WHEN $3::text IS NULL THEN 'Nobody looks after it any more.' ELSE $3 || ' looks after it.' END,
      $2::boolean AND assignee IS DISTINCT FROM $3),
    (2, 'snoozed', CASE WHEN $5::text IS NULL THEN 'It is back in the queue.' ELSE 'Out of the queue until ' || $5 || '.' END,
      $4::boolean AND snooze_until IS DISTINCT FROM $5::timestamptz),
    (3, 'note_added', $6::text, $6 IS NOT NULL AND last_note IS DISTINCT FROM $6)
  ) e(place, type, message, is_new)
  WHERE e.is_new ORDER BY e.place
)
SELECT id FROM given`;

/** Grows with what needs a person, by the partial index over it, and not with what is stored. */
const COUNT = `
SELECT o.attention_reason AS reason, o.account, o.currency, t.assignee, coalesce(${IS_SNOOZED}, false) AS snoozed,
  CASE WHEN a.age < interval '1 hour' THEN 'under_1h' WHEN a.age < interval '1 day' THEN '1h_to_1d'
    WHEN a.age < interval '7 days' THEN '1d_to_7d' ELSE 'over_7d' END AS age,
  count(*)::int AS count, sum(o.amount) AS amount, min(a.since) AS oldest
FROM order_operations o LEFT JOIN operation_triage t ON t.operation = o.id,
  LATERAL (SELECT (o.status->'attention'->>'since')::timestamptz AS since,
    now() - (o.status->'attention'->>'since')::timestamptz AS age) a
WHERE o.attention_reason IS NOT NULL
GROUP BY 1, 2, 3, 4, 5, 6`;

/** A decision that waits for a second person; `id` of what it is about, times RFC 3339. */
export interface AwaitedApproval {
  readonly about: 'operation' | 'bulk' | 'finding';
  readonly id: string;
  readonly preview_id: string;
  readonly command: string;
  readonly reason: string;
  readonly requested_by: string;
  readonly requested_at: string;
  readonly expires_at: string;
}

const APPROVALS_SHOWN = 100;

/** A row of a bulk command waits with it; one about a finding that an order takes up waits as that order's. */
const APPROVALS = `
SELECT 'operation' AS about, o.operation_id AS id, c.preview_id::text, c.command, c.reason, c.requested_by, c.requested_at, c.expires_at
FROM commands c JOIN order_operations o ON o.id = c.operation
WHERE c.state = 'awaiting_approval' AND c.expires_at > now() AND c.bulk_id IS NULL
UNION ALL SELECT 'bulk', bulk_id::text, bulk_id::text, command, reason, requested_by, requested_at, expires_at
FROM bulk_commands WHERE state = 'awaiting_approval' AND expires_at > now()
UNION ALL SELECT 'finding', finding_id::text, preview_id::text, command, reason, requested_by, requested_at, expires_at
FROM finding_commands WHERE state = 'awaiting_approval' AND expires_at > now()
ORDER BY expires_at LIMIT $1`;

export class TriageStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Null for an operation that does not exist. */
  async find(operationId: string): Promise<Triage | null> {
    const [row] = await this.#database.query<
      Omit<Triage, 'snooze_until' | 'updated_at' | 'notes'> & {
        snooze_until: Date | null;
        updated_at: Date | null;
        notes: OperationEventRow[];
      }
    >(FIND, [operationId, NOTES_SHOWN]);
    if (row === undefined) return null;
    return {
      ...row,
      snooze_until: row.snooze_until?.toISOString() ?? null,
      updated_at: row.updated_at?.toISOString() ?? null,
      notes: row.notes.map(toEvent),
    };
  }

  /** Keeps a change and tells it in the timeline, in one statement. False for an operation that does not exist. */
  async change(operationId: string, change: TriageChange, actor: Actor): Promise<boolean> {
    const { assignee, snooze_until, note } = change;
    const rows = await this.#database.query(CHANGE, [
      operationId,
      assignee !== undefined,
      assignee ?? null,
      snooze_until !== undefined,
      snooze_until ?? null,
      note ?? null,
      actor.kind,
      actor.name,
    ]);
    return rows.length > 0;
  }

  /** The most urgent first. */
  async approvals(): Promise<AwaitedApproval[]> {
    const rows = await this.#database.query<
      Omit<AwaitedApproval, 'requested_at' | 'expires_at'> & { requested_at: Date; expires_at: Date }
    >(APPROVALS, [APPROVALS_SHOWN]);
    return rows.map((row) => ({
      ...row,
      requested_at: row.requested_at.toISOString(),
      expires_at: row.expires_at.toISOString(),
    }));
  }

  async count(): Promise<AttentionGroup[]> {
    const rows = await this.#database.query<
      Omit<AttentionGroup, 'amount' | 'oldest'> & { amount: string; oldest: Date }
    >(COUNT);
    return rows.map((row) => ({ ...row, amount: Number(row.amount), oldest: row.oldest.toISOString() }));
  }
}
