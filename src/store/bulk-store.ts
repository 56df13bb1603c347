/** Bulk commands in Postgres: frozen when previewed, begun once, carried out by whoever holds the lease. */
import type { Command, CommandName } from '../operation/command-rule.js';
import type { CommandOutcome, Difference, Evidence } from '../operation/evidence.js';
import type { CommandState, NewPreview } from './command-store.js';
import type { Database } from './database.js';
import { storable } from './storable.js';
import type { Actor } from './record.js';

export type BulkState = 'previewed' | 'awaiting_approval' | 'running' | 'ended';

/** Why a row was not carried out when its turn came: by the code of the problem that a single command would have met. */
export interface RowRefusal {
  readonly problem: string;
  readonly why: string;
  readonly changes?: readonly Difference[];
}

export interface BulkRow {
  readonly operation_id: string;
  readonly preview_id: string;
  readonly effects: readonly string[];
  /** Minor units of `currency` that it may move. */
  readonly amount: number;
  readonly currency: string;
  readonly state: CommandState;
  readonly refused: RowRefusal | null;
  readonly outcome: CommandOutcome | null;
  /** Milliseconds since it was carried out; 0 where it was not. */
  readonly age_ms: number;
  /** Where it was asked for. */
  readonly evidence: Evidence | null;
}

export interface Excluded {
  readonly operation_id: string;
  readonly why: string;
}

/** Times are RFC 3339, on the clock of the database. */
export interface BulkRecord {
  readonly bulk_id: string;
  readonly command: CommandName;
  readonly parameters: Command['parameters'];
  readonly state: BulkState;
  readonly rows: readonly BulkRow[];
  readonly excluded: readonly Excluded[];
  readonly approval_needed: boolean;
  readonly previewed_by: string;
  readonly expires_at: string;
  readonly expired: boolean;
  readonly reason: string | null;
  readonly stop_after_failures: number | null;
  readonly requested_by: string | null;
  readonly requested_kind: Actor['kind'];
  readonly requested_by_lead: boolean | null;
  readonly requested_at: string | null;
  readonly approved_by: string | null;
  readonly approved_kind: Actor['kind'];
  readonly approved_at: string | null;
  readonly approval: string | null;
  /** Why it ended before all its rows were begun. */
  readonly stopped: Stopped | null;
  readonly ended_at: string | null;
}
export type Stopped = 'failures' | 'expired';

export interface NewBulk extends Pick<
  BulkRecord,
  'command' | 'parameters' | 'excluded' | 'approval_needed' | 'previewed_by'
> {
  readonly rows: readonly (Omit<NewPreview, 'approval_needed' | 'lasts_ms'> & {
    readonly amount: number;
    readonly currency: string;
  })[];
  readonly lasts_ms: number;
}

/** All rows or none. With it go some that nobody confirmed within a day; what somebody asked for stays, see retention. */
const PREVIEW = `
WITH gone AS (
  DELETE FROM bulk_commands WHERE bulk_id IN (
    SELECT bulk_id FROM bulk_commands WHERE state = 'previewed' AND expires_at < now() - interval '1 day'
    LIMIT 10 FOR UPDATE SKIP LOCKED)
), bulk AS (
  INSERT INTO bulk_commands (command, parameters, excluded, approval_needed, previewed_by, expires_at)
  VALUES ($1, $2, $3, $4, $5, now() + make_interval(secs => $6::float8 / 1000))
  RETURNING *
), previews AS (
  INSERT INTO commands (operation, command, parameters, resource_version, evidence, bound, effects, approval_needed,
    previewed_by, expires_at, bulk_id, place, amount, currency)
  SELECT o.id, bulk.command, bulk.parameters, i.resource_version, i.evidence, i.bound, i.effects, false,
    bulk.previewed_by, bulk.expires_at, bulk.bulk_id, i.place, i.amount, i.currency
  FROM bulk, ROWS FROM (json_to_recordset($7::json) AS (operation_id text, resource_version bigint, evidence jsonb, bound jsonb,
      effects jsonb, amount bigint, currency text))
    WITH ORDINALITY AS i(operation_id, resource_version, evidence, bound, effects, amount, currency, place)
    JOIN order_operations o USING (operation_id)
)
SELECT bulk_id FROM bulk`;

const COLUMNS = `b.bulk_id, b.command, b.parameters, b.state, b.excluded, b.approval_needed, b.previewed_by, b.expires_at,
  b.expires_at <= now() AS expired, b.reason, b.stop_after_failures, b.requested_by, b.requested_kind, b.requested_by_lead,
  b.requested_at, b.approved_by, b.approved_kind, b.approved_at, b.approval, b.stopped, b.ended_at`;

const FIND = `
SELECT ${COLUMNS}, (
  SELECT coalesce(json_agg(json_build_object('operation_id', o.operation_id, 'preview_id', c.preview_id, 'effects', c.effects,
    'amount', c.amount, 'currency', c.currency, 'state', c.state, 'refused', c.refused, 'outcome', c.outcome,
    'age_ms', coalesce(extract(epoch FROM now() - c.carried_out_at) * 1000, 0),
    'evidence', CASE WHEN $2::boolean THEN c.evidence END) ORDER BY c.place), '[]')
  FROM commands c JOIN order_operations o ON o.id = c.operation WHERE c.bulk_id = b.bulk_id) AS rows
FROM bulk_commands b WHERE b.bulk_id = $1`;

/** The preview becomes a request, or begins; where a second person is needed the timelines tell. */
const REQUEST = `
WITH bulk AS (
  UPDATE bulk_commands SET state = CASE WHEN approval_needed THEN 'awaiting_approval' ELSE 'running' END,
    reason = $2, requested_by = $3, requested_kind = $4, requested_by_lead = $5, requested_at = now(), stop_after_failures = $6,
    expires_at = now() + make_interval(secs => $7::float8 / 1000)
  WHERE bulk_id = $1 AND state = 'previewed' AND expires_at > now()
  RETURNING *
), previews AS (
  UPDATE commands c SET expires_at = bulk.expires_at FROM bulk WHERE c.bulk_id = bulk.bulk_id
  RETURNING c.operation, c.preview_id, c.parameters, c.evidence, c.effects
), told AS (
  INSERT INTO operation_events (operation, at, type, actor_kind, actor_name, message, data)
  SELECT p.operation, now(), 'command_requested', $4, $3, bulk.command || ' waits for a second person: ' || $2,
    jsonb_build_object('preview_id', p.preview_id, 'command', bulk.command, 'parameters', p.parameters,
      'bulk_id', bulk.bulk_id, 'reason', $2::text, 'evidence', p.evidence, 'effects', p.effects)
  FROM previews p, bulk WHERE bulk.state = 'awaiting_approval'
)
SELECT 1 FROM bulk`;

const APPROVE = `
WITH bulk AS (
  UPDATE bulk_commands SET state = 'running', approved_by = $2, approved_kind = $3, approved_at = now(), approval = $4,
    expires_at = now() + make_interval(secs => $5::float8 / 1000)
  WHERE bulk_id = $1 AND state = 'awaiting_approval' AND expires_at > now() AND requested_by <> $2
  RETURNING bulk_id, expires_at
), previews AS (
  UPDATE commands c SET expires_at = bulk.expires_at FROM bulk WHERE c.bulk_id = bulk.bulk_id
)
SELECT 1 FROM bulk`;

/** The oldest that nobody carries out. */
const CLAIM = `
UPDATE bulk_commands SET lease_holder = $1, lease_expires_at = now() + make_interval(secs => $2::float8 / 1000)
WHERE bulk_id = (
  SELECT bulk_id FROM bulk_commands WHERE state = 'running' AND (lease_expires_at IS NULL OR lease_expires_at <= now())
  ORDER BY requested_at LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING bulk_id`;

const RENEW = `
UPDATE bulk_commands SET lease_expires_at = now() + make_interval(secs => $3::float8 / 1000)
WHERE bulk_id = $1 AND lease_holder = $2 AND lease_expires_at > now()
RETURNING expires_at <= now() AS expired`;

const RELEASE = `
UPDATE bulk_commands SET lease_holder = NULL, lease_expires_at = NULL WHERE bulk_id = $1 AND lease_holder = $2`;

/** From then on no row of it is carried out: see the command's own statement. */
const END = `
UPDATE bulk_commands SET state = 'ended', ended_at = now(), stopped = $3, lease_holder = NULL, lease_expires_at = NULL
WHERE bulk_id = $1 AND lease_holder = $2 AND state = 'running'
RETURNING 1`;

const REFUSE = `
UPDATE commands c SET refused = $3 FROM bulk_commands b
WHERE c.preview_id = $2 AND c.bulk_id = $1 AND c.state = 'previewed' AND c.refused IS NULL
  AND b.bulk_id = c.bulk_id AND b.state = 'running'`;

/** How the account of an operation is. */
export interface AccountLeave {
  readonly account: string;
  /** Why it is out, or null. */
  readonly out: string | null;
  /** Milliseconds that the provider asked to be left alone. */
  readonly wait_ms: number;
}
const LEAVE = `
SELECT a.account, CASE WHEN a.breaker = 'open' THEN coalesce(a.message, a.reason) END AS out,
  greatest(0, coalesce(extract(epoch FROM a.throttled_until - now()) * 1000, 0))::float8 AS wait_ms
FROM order_operations o JOIN provider_accounts a USING (account) WHERE o.operation_id = $1`;

type Time = 'expires_at' | 'requested_at' | 'approved_at' | 'ended_at';
type Row = Omit<BulkRecord, Time> &
  Readonly<Record<Exclude<Time, 'expires_at'>, Date | null>> & {
    readonly expires_at: Date;
  };
const iso = (time: Date | null): string | null => time?.toISOString() ?? null;
const toBulk = (row: Row): BulkRecord => ({
  ...row,
  expires_at: row.expires_at.toISOString(),
  requested_at: iso(row.requested_at),
  approved_at: iso(row.approved_at),
  ended_at: iso(row.ended_at),
});

export interface BulkRequest {
  readonly reason: string;
  readonly by: Actor;
  readonly lead: boolean;
  readonly stop_after_failures: number;
}

export class BulkStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns its id. */
  async preview(bulk: NewBulk): Promise<string> {
    const [row] = await this.#database.query<{ bulk_id: string }>(PREVIEW, [
      bulk.command,
      JSON.stringify(bulk.parameters),
      storable(bulk.excluded),
      bulk.approval_needed,
      bulk.previewed_by,
      bulk.lasts_ms,
      storable(bulk.rows),
    ]);
    if (row === undefined) throw new Error('a bulk command was not stored');
    return row.bulk_id;
  }

  async find(bulkId: string, evidence = false): Promise<BulkRecord | null> {
    const [row] = await this.#database.query<Row>(FIND, [bulkId, evidence]);
    return row === undefined ? null : toBulk(row);
  }

  /** False when it is no longer a preview, or expired. */
  async request(bulkId: string, request: BulkRequest, lastsMs: number): Promise<boolean> {
    const { reason, by, lead, stop_after_failures } = request;
    const parameters = [bulkId, reason, by.name, by.kind, lead, stop_after_failures, lastsMs];
    return (await this.#database.query(REQUEST, parameters)).length > 0;
  }

  /** False when it does not wait for a second person, or not for this one. */
  async approve(bulkId: string, by: Actor, approval: string | null, lastsMs: number): Promise<boolean> {
    return (await this.#database.query(APPROVE, [bulkId, by.name, by.kind, approval, lastsMs])).length > 0;
  }

  async claim(runner: string, leaseMs: number): Promise<string | null> {
    const [row] = await this.#database.query<{ bulk_id: string }>(CLAIM, [runner, leaseMs]);
    return row?.bulk_id ?? null;
  }

  /** Null: the lease is lost. */
  async renew(bulkId: string, runner: string, leaseMs: number): Promise<{ expired: boolean } | null> {
    const [row] = await this.#database.query<{ expired: boolean }>(RENEW, [bulkId, runner, leaseMs]);
    return row ?? null;
  }

  async release(bulkId: string, runner: string): Promise<void> {
    await this.#database.query(RELEASE, [bulkId, runner]);
  }

  /** False: somebody else has the lease. */
  async end(bulkId: string, runner: string, stopped: Stopped | null): Promise<boolean> {
    return (await this.#database.query(END, [bulkId, runner, stopped])).length > 0;
  }

  async refuse(bulkId: string, previewId: string, refusal: RowRefusal): Promise<void> {
    await this.#database.query(REFUSE, [bulkId, previewId, storable(refusal)]);
  }

  /** Null for an operation that does not exist. */
  async leaveOf(operationId: string): Promise<AccountLeave | null> {
    const [row] = await this.#database.query<AccountLeave>(LEAVE, [operationId]);
    return row ?? null;
  }
}
