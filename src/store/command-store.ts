/** Commands of people in Postgres: each write names the state that it expects, so that a command is carried out once. */
import type { Command, CommandName } from '../operation/command-rule.js';
import type { Bound, CommandOutcome, Evidence } from '../operation/evidence.js';
import type { Database } from './database.js';
import { refundAtWork } from './finding-command-sql.js';
import { SET_WISH, tell, wishParameters } from './postgres-operation-store.js';
import type { EventDraft, WishChange } from './record.js';

export type CommandState = 'previewed' | 'awaiting_approval' | 'accepted' | 'observed';

/** Times are RFC 3339, on the clock of the database. */
export interface CommandRecord {
  readonly preview_id: string;
  readonly operation_id: string;
  readonly command: CommandName;
  readonly parameters: Command['parameters'];
  readonly resource_version: number;
  readonly evidence: Evidence;
  readonly bound: Bound;
  readonly effects: readonly string[];
  readonly approval_needed: boolean;
  /** accepted: carried out, and not looked at since · observed: the outcome is known. */
  readonly state: CommandState;
  readonly previewed_by: string;
  readonly expires_at: string;
  readonly expired: boolean;
  readonly reason: string | null;
  readonly requested_by: string | null;
  readonly requested_at: string | null;
  readonly approved_by: string | null;
  readonly approved_at: string | null;
  readonly carried_out_at: string | null;
  readonly outcome: CommandOutcome | null;
  /** The bulk command that it is a row of. */
  readonly bulk_id: string | null;
}

export interface NewPreview extends Pick<
  CommandRecord,
  | 'operation_id'
  | 'command'
  | 'parameters'
  | 'resource_version'
  | 'evidence'
  | 'bound'
  | 'effects'
  | 'approval_needed'
  | 'previewed_by'
> {
  readonly lasts_ms: number;
}

const COLUMNS = `c.preview_id, o.operation_id, c.command, c.parameters, c.resource_version::int, c.evidence, c.bound,
  c.effects, c.approval_needed, c.state, c.previewed_by, c.expires_at, c.expires_at <= now() AS expired, c.reason,
  c.requested_by, c.requested_at, c.approved_by, c.approved_at, c.carried_out_at, c.outcome, c.bulk_id`;

/** With it go some previews of the order that nobody confirmed within a day; what somebody asked for stays, see retention. */
const PREVIEW = `
WITH target AS (
  SELECT id FROM order_operations WHERE operation_id = $1
), gone AS (
  DELETE FROM commands WHERE preview_id IN (
    SELECT preview_id FROM commands
    WHERE operation = (SELECT id FROM target) AND state = 'previewed' AND expires_at < now() - interval '1 day'
      AND bulk_id IS NULL
    LIMIT 100 FOR UPDATE SKIP LOCKED)
), c AS (
  INSERT INTO commands (operation, command, parameters, resource_version, evidence, bound, effects, approval_needed,
    previewed_by, expires_at)
  SELECT id, $2, $3, $4, $5, $6, $7, $8, $9, now() + make_interval(secs => $10::float8 / 1000) FROM target
  RETURNING *
)
SELECT ${COLUMNS} FROM c JOIN order_operations o ON o.id = c.operation`;

const FIND = `
SELECT ${COLUMNS} FROM commands c JOIN order_operations o ON o.id = c.operation
WHERE c.preview_id = $2 AND o.operation_id = $1`;

/** A request that waits for a second person; the operation is not touched, its timeline tells. */
const REQUEST = `
WITH command AS (
  UPDATE commands c SET state = 'awaiting_approval', reason = $3, requested_by = $4, requested_at = now(),
    expires_at = now() + make_interval(secs => $5::float8 / 1000)
  FROM order_operations o
  WHERE o.operation_id = $1 AND c.operation = o.id AND c.preview_id = $2 AND c.state = 'previewed' AND c.expires_at > now()
  RETURNING c.operation
), told AS (
  INSERT INTO operation_events (operation, at, type, actor_kind, actor_name, message, data)
  SELECT operation, now(), $6, $7, $8, $9, $10::jsonb FROM command
)
SELECT 1 FROM command`;

/**
 * The decision and what it does to the wish, or neither: the row of the operation is held at the version that was looked at,
 * then the command is taken from the state that it was in. Of two who confirm at once the later one waits here, and
 * finds another version or another state. A row of a bulk is taken while that is carried out, and not after its end.
 */
const carryOut = (set: string, lines: number, at: number, more = { ctes: '', holds: 'true' }): string => `
WITH target AS (
  SELECT id, account, wake FROM order_operations WHERE operation_id = $1 AND resource_version = $2 FOR UPDATE
)${more.ctes}, bulk AS (
  SELECT b.bulk_id FROM commands c JOIN bulk_commands b USING (bulk_id)
  WHERE c.preview_id = $${at} AND b.state = 'running' FOR SHARE OF b
), command AS (
  UPDATE commands c SET state = 'accepted', carried_out_at = clock_timestamp(), woke = target.wake + 1,
    reason = coalesce(c.reason, $${at + 2}), requested_by = coalesce(c.requested_by, $${at + 3}),
    requested_at = coalesce(c.requested_at, now()),
    approved_by = $${at + 4}, approved_at = CASE WHEN $${at + 4}::text IS NOT NULL THEN now() END
  FROM target
  WHERE c.preview_id = $${at} AND c.operation = target.id AND c.state = $${at + 1} AND c.expires_at > now()
    AND c.refused IS NULL AND (c.bulk_id IS NULL OR EXISTS (SELECT 1 FROM bulk)) AND ${more.holds}
  RETURNING c.operation
), changed AS (
  UPDATE order_operations o SET ${set} FROM command WHERE o.id = command.operation AND o.resource_version = $2
  RETURNING o.id, o.updated_at
), event AS (${tell(lines)})
SELECT 1 FROM changed`;
const CARRY_OUT = carryOut(SET_WISH, 10, 13);
/**
 * What is found of the payment is held at the versions that were looked at, and moved on: whoever decides about a finding
 * does the same, so of an adoption and a refund of one payment at the same moment the later one looks again. $18 the
 * payment, $19 the versions by finding_id.
 */
const ADOPT = carryOut(SET_WISH, 10, 13, {
  ctes: `, found AS (
  UPDATE findings f SET resource_version = f.resource_version + 1 FROM target
  WHERE f.account = target.account AND f.reference = $18
    AND $19::jsonb -> f.finding_id::text = to_jsonb(f.resource_version)
  RETURNING 1
)`,
  holds: `(SELECT count(*) FROM found) = (
      SELECT count(*) FROM findings f WHERE f.account = target.account AND f.reference = $18)`,
});
/** A command that only reads changes nothing that a reader of the operation sees. */
const LOOK_AGAIN = carryOut('wake = wake + 1, next_attempt_at = now()', 3, 4);

/**
 * A pass that was claimed after the command has come to its end, so that what is recorded was seen since. Not so one that
 * broke off, or that lost its lease to another payment: that wakes the order, so the last claim is older than it.
 */
const LOOKED = `
SELECT o.wake_at_claim >= c.woke AND o.wake = o.wake_at_claim AND o.broken = 0 AND o.lease_holder IS NULL AS looked
FROM commands c JOIN order_operations o ON o.id = c.operation WHERE c.preview_id = $1`;

const OBSERVED = `
WITH command AS (
  UPDATE commands SET state = 'observed', outcome = $2 WHERE preview_id = $1 AND state = 'accepted' RETURNING operation
)
INSERT INTO operation_events (operation, at, type, actor_kind, actor_name, message, data)
SELECT operation, now(), $3, $4, $5, $6, $7::jsonb FROM command`;

const FOUND = `
SELECT EXISTS (${refundAtWork('$1', '$2')}) AS given_back, coalesce(jsonb_object_agg(finding_id, resource_version), '{}') AS findings
FROM findings WHERE account = $1 AND reference = $2`;

type Row = Omit<CommandRecord, 'expires_at' | 'requested_at' | 'approved_at' | 'carried_out_at'> & {
  readonly expires_at: Date;
  readonly requested_at: Date | null;
  readonly approved_at: Date | null;
  readonly carried_out_at: Date | null;
};

const iso = (time: Date | null): string | null => time?.toISOString() ?? null;
const toCommand = (row: Row): CommandRecord => ({
  ...row,
  expires_at: row.expires_at.toISOString(),
  requested_at: iso(row.requested_at),
  approved_at: iso(row.approved_at),
  carried_out_at: iso(row.carried_out_at),
});

/** Who carries out which command, from which state. */
export interface Decision {
  readonly preview_id: string;
  readonly from: 'previewed' | 'awaiting_approval';
  readonly requested_by: string;
  /** The second person, where one was needed. */
  readonly approved_by: string | null;
  readonly reason: string;
  /** False: nothing of the wish changes, it is only looked again. */
  readonly changes: boolean;
  /** The payment that is adopted, as it was looked at. */
  readonly adopts: Adopts | null;
}

/** `findings`: their versions by finding_id. */
export interface Adopts {
  readonly reference: string;
  readonly findings: Readonly<Record<string, number>>;
}

export class CommandStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async preview(preview: NewPreview): Promise<CommandRecord> {
    const [row] = await this.#database.query<Row>(PREVIEW, [
      preview.operation_id,
      preview.command,
      JSON.stringify(preview.parameters),
      preview.resource_version,
      JSON.stringify(preview.evidence),
      JSON.stringify(preview.bound),
      JSON.stringify(preview.effects),
      preview.approval_needed,
      preview.previewed_by,
      preview.lasts_ms,
    ]);
    if (row === undefined) throw new Error('a preview was asked for an operation that does not exist');
    return toCommand(row);
  }

  async find(operationId: string, previewId: string): Promise<CommandRecord | null> {
    const [row] = await this.#database.query<Row>(FIND, [operationId, previewId]);
    return row === undefined ? null : toCommand(row);
  }

  /** False when it is no longer a preview, or expired. */
  async request(
    { operation_id, preview_id }: CommandRecord,
    by: string,
    reason: string,
    lasts_ms: number,
    event: EventDraft,
  ): Promise<boolean> {
    const rows = await this.#database.query(REQUEST, [
      operation_id,
      preview_id,
      reason,
      by,
      lasts_ms,
      ...told(event),
    ]);
    return rows.length > 0;
  }

  /** False when the operation, or the command, is no longer as it was: nothing was written. */
  async carryOut(decision: Decision, change: WishChange): Promise<boolean> {
    const { preview_id, from, reason, requested_by, approved_by } = decision;
    const command = [preview_id, from, reason, requested_by, approved_by];
    const { adopts } = decision;
    const rows =
      adopts !== null
        ? await this.#database.query(ADOPT, [
            ...wishParameters(change),
            ...command,
            adopts.reference,
            JSON.stringify(adopts.findings),
          ])
        : decision.changes
          ? await this.#database.query(CARRY_OUT, [...wishParameters(change), ...command])
          : await this.#database.query(LOOK_AGAIN, [
              change.operation_id,
              change.resource_version,
              JSON.stringify([change.event]),
              ...command,
            ]);
    return rows.length > 0;
  }

  /** Whether a pass has looked since the command was carried out. */
  async looked(previewId: string): Promise<boolean> {
    const [row] = await this.#database.query<{ looked: boolean | null }>(LOOKED, [previewId]);
    return row?.looked ?? false;
  }

  /** Kept once: the first who saw what became of it says so. */
  async observed(previewId: string, outcome: CommandOutcome, event: EventDraft): Promise<void> {
    await this.#database.query(OBSERVED, [previewId, JSON.stringify(outcome), ...told(event)]);
  }

  /** The operation that has this payment, or null. */
  async ownerOf(account: string, reference: string): Promise<string | null> {
    const [row] = await this.#database.query<{ operation_id: string }>(
      'SELECT operation_id FROM order_operations WHERE account = $1 AND provider_reference = $2',
      [account, reference],
    );
    return row?.operation_id ?? null;
  }

  /** What is found of a payment; `given_back`: a person decided to give it back beside the orders, and that has not ended. */
  async foundOf(
    account: string,
    reference: string,
  ): Promise<Pick<Adopts, 'findings'> & { readonly given_back: boolean }> {
    const [row] = await this.#database.query<{ findings: Record<string, number>; given_back: boolean }>(
      FOUND,
      [account, reference],
    );
    if (row === undefined) throw new Error('an aggregate returned no row');
    return row;
  }
}

const told = ({ type, actor, message, data }: EventDraft): unknown[] => [
  type,
  actor.kind,
  actor.name,
  message,
  data === undefined ? null : JSON.stringify(data),
];
