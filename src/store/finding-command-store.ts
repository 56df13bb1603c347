/** Commands of people on findings, in Postgres: each write names the state that it expects, so that each is carried out once. */
import type { FindingCommand, FindingState } from '../findings/finding.js';
import type { FindingEvidence, FindingOutcome } from '../findings/finding-command.js';
import type { GiveBack } from '../findings/give-back.js';
import type { SweepClaim } from '../findings/rounds.js';
import type { Bound, CommandOutcome } from '../operation/evidence.js';
import { violatedConstraint, type Database } from './database.js';
import { storable } from './storable.js';
import { DECISION, FINDING_COMMANDS, REFUND_AT_WORK } from './finding-command-sql.js';
import type { CommandState } from './command-store.js';
import type { EventDraft } from './record.js';

/** Times are RFC 3339, on the clock of the database. */
export interface FindingCommandRecord {
  readonly preview_id: string;
  readonly finding_id: string;
  readonly account: string;
  readonly provider_reference: string;
  readonly operation_id: string | null;
  readonly command: FindingCommand;
  /** Of the finding, as previewed. */
  readonly resource_version: number;
  readonly evidence: FindingEvidence;
  readonly bound: Bound;
  readonly effects: readonly string[];
  /** For refund_stray only. */
  readonly gives_back: GiveBack | null;
  /** For adopt_payment: the command of the operation, which tells all that becomes of it. */
  readonly operation_command: string | null;
  readonly approval_needed: boolean;
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
  /** Why it could not go on, in words. */
  readonly waits_for: string | null;
  readonly outcome: FindingOutcome | null;
  readonly operation_outcome: CommandOutcome | null;
  /** How the finding stands now. */
  readonly finding_state: FindingState;
}

export interface NewFindingPreview extends Pick<
  FindingCommandRecord,
  | 'finding_id'
  | 'command'
  | 'resource_version'
  | 'evidence'
  | 'bound'
  | 'effects'
  | 'gives_back'
  | 'operation_command'
  | 'approval_needed'
  | 'previewed_by'
> {
  readonly lasts_ms: number;
}

const COLUMNS = `k.preview_id, k.finding_id::text, k.account, k.reference AS provider_reference, f.operation_id, k.command,
  k.resource_version::int, k.evidence, k.bound, k.effects, k.gives_back, k.operation_command, k.previewed_by, k.waits_for,
  k.outcome, c.outcome AS operation_outcome, CASE f.state WHEN 'suspected' THEN 'open' ELSE f.state END AS finding_state,
  ${DECISION}`;

/** With it go some previews of the finding that nobody confirmed within a day; what somebody asked for stays for ever. */
const PREVIEW = `
WITH gone AS (
  DELETE FROM finding_commands WHERE preview_id IN (
    SELECT k.preview_id FROM ${FINDING_COMMANDS}
    WHERE k.finding_id = $1::bigint AND coalesce(c.state, k.state) = 'previewed' AND k.expires_at < now() - interval '1 day'
    LIMIT 100 FOR UPDATE OF k SKIP LOCKED)
)
INSERT INTO finding_commands (finding_id, account, reference, command, resource_version, evidence, bound, effects, gives_back,
  operation_command, approval_needed, previewed_by, expires_at)
SELECT finding_id, account, reference, $2, $3, $4, $5, $6, $7, $8, $9, $10, now() + make_interval(secs => $11::float8 / 1000)
FROM findings WHERE finding_id = $1::bigint
RETURNING preview_id`;

const FIND = `
SELECT ${COLUMNS} FROM ${FINDING_COMMANDS} JOIN findings f ON f.finding_id = k.finding_id
WHERE k.preview_id = $2 AND k.finding_id = $1::bigint`;

/** Tells the timeline of the operation that the finding names, where there is one; $n type, actor, message, data. */
const told = (n: number): string => `
  INSERT INTO operation_events (operation, at, type, actor_kind, actor_name, message, data)
  SELECT o.id, now(), $${n}, $${n + 1}, $${n + 2}, $${n + 3}, $${n + 4}::jsonb
  FROM command JOIN findings f ON f.finding_id = command.finding_id
    JOIN order_operations o ON o.operation_id = f.operation_id AND o.account = f.account`;

/** A request that waits for a second person; the finding is not touched. */
const REQUEST = `
WITH command AS (
  UPDATE finding_commands SET state = 'awaiting_approval', reason = $2, requested_by = $3, requested_at = now(),
    expires_at = now() + make_interval(secs => $4::float8 / 1000)
  WHERE preview_id = $1 AND state = 'previewed' AND expires_at > now()
  RETURNING preview_id, finding_id
), event AS (${told(5)})
SELECT 1 FROM command`;

/**
 * The decision: the finding is held at the version that was looked at, then the command is taken from the state that it was
 * in. A dismissal is done by it ($7: by whom, why and on which facts; $8: its outcome); anything else is due for a worker.
 * A refund that was decided before bars all but a look.
 */
const CARRY_OUT = `
WITH finding AS (
  SELECT * FROM findings WHERE finding_id = $1::bigint AND resource_version = $2 AND state <> 'suspected' FOR UPDATE
), command AS (
  UPDATE finding_commands k SET state = CASE WHEN $8::jsonb IS NULL THEN 'accepted' ELSE 'observed' END, outcome = $8,
    carried_out_at = clock_timestamp(), due_at = CASE WHEN $8::jsonb IS NULL THEN now() END,
    reason = coalesce(k.reason, $5), requested_by = coalesce(k.requested_by, $6),
    requested_at = coalesce(k.requested_at, now()),
    approved_by = CASE WHEN k.state = 'awaiting_approval' THEN $6 END,
    approved_at = CASE WHEN k.state = 'awaiting_approval' THEN now() END
  FROM finding f
  WHERE k.preview_id = $3 AND k.finding_id = f.finding_id AND k.state = $4 AND k.expires_at > now()
    AND (k.command = 'check_provider' OR NOT EXISTS (
      SELECT 1 FROM finding_commands other WHERE other.account = f.account AND other.reference = f.reference
        AND other.command = 'refund_stray' AND other.state = 'accepted'))
  RETURNING k.preview_id, k.finding_id, k.command
), changed AS (
  UPDATE findings f SET resource_version = f.resource_version + 1,
    state = CASE WHEN command.command = 'dismiss' THEN 'dismissed' WHEN command.command = 'refund_stray' THEN 'open' ELSE f.state END,
    dismissed = CASE WHEN command.command = 'dismiss' THEN $7::jsonb WHEN command.command = 'refund_stray' THEN NULL ELSE f.dismissed END
  FROM command WHERE f.finding_id = command.finding_id
), event AS (${told(9)})
SELECT 1 FROM command`;

/** An operation adopts the payment: the finding is looked at as soon as a worker can. */
const LOOK = `
UPDATE finding_commands SET due_at = now() WHERE preview_id = $1 AND operation_command IS NOT NULL AND due_at IS NULL`;

const DUE = `
SELECT ${COLUMNS} FROM ${FINDING_COMMANDS} JOIN findings f ON f.finding_id = k.finding_id
WHERE k.account = $1 AND k.due_at <= now() ORDER BY k.due_at LIMIT $2`;

/** Waits: for a tenth of its age, between two seconds and $5. */
const POSTPONE = `
UPDATE finding_commands k SET waits_for = $4, due_at = now() + least(make_interval(secs => $5::float8 / 1000),
  greatest(interval '2 seconds', (now() - k.carried_out_at) / 10))
FROM orphan_sweeps s
WHERE k.preview_id = $3 AND k.state = 'accepted' AND s.account = k.account AND s.account = $1 AND s.fencing_token = $2::bigint
  AND s.lease_expires_at > now()`;

const OBSERVED = `
WITH command AS (
  UPDATE finding_commands k SET state = 'observed', outcome = $4, due_at = NULL, waits_for = NULL
  FROM orphan_sweeps s
  WHERE k.preview_id = $3 AND k.state = 'accepted' AND s.account = k.account AND s.account = $1
    AND s.fencing_token = $2::bigint AND s.lease_expires_at > now()
  RETURNING k.preview_id, k.finding_id
), event AS (${told(5)})
SELECT 1 FROM command`;

type Times = 'expires_at' | 'requested_at' | 'approved_at' | 'carried_out_at';
type Row = Omit<FindingCommandRecord, Times> & Readonly<Record<Times, Date | null>>;

const iso = (time: Date | null): string | null => time?.toISOString() ?? null;
const toCommand = (row: Row): FindingCommandRecord => ({
  ...row,
  expires_at: iso(row.expires_at) ?? '',
  requested_at: iso(row.requested_at),
  approved_at: iso(row.approved_at),
  carried_out_at: iso(row.carried_out_at),
});

/** Who carries out which command, from which state, on a finding of which version. */
export interface FindingDecision {
  readonly finding_id: string;
  readonly resource_version: number;
  readonly preview_id: string;
  readonly from: 'previewed' | 'awaiting_approval';
  readonly by: string;
  readonly reason: string;
  /** For a dismissal: what it rests on, and what is to be said of it. */
  readonly dismissal: {
    readonly facts: object;
    readonly at: string;
    readonly outcome: FindingOutcome;
  } | null;
}

export class FindingCommandStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The id of the preview. */
  async preview(preview: NewFindingPreview): Promise<string> {
    const [row] = await this.#database.query<{ preview_id: string }>(PREVIEW, [
      preview.finding_id,
      preview.command,
      preview.resource_version,
      storable(preview.evidence),
      storable(preview.bound),
      storable(preview.effects),
      preview.gives_back === null ? null : storable(preview.gives_back),
      preview.operation_command,
      preview.approval_needed,
      preview.previewed_by,
      preview.lasts_ms,
    ]);
    if (row === undefined) throw new Error('a preview was asked for a finding that does not exist');
    return row.preview_id;
  }

  async find(findingId: string, previewId: string): Promise<FindingCommandRecord | null> {
    const [row] = await this.#database.query<Row>(FIND, [findingId, previewId]);
    return row === undefined ? null : toCommand(row);
  }

  /** Whether a person decided to give this payment back, and that has not ended. */
  async isAtWork(account: string, reference: string): Promise<boolean> {
    return (await this.#database.query(REFUND_AT_WORK, [account, reference])).length > 0;
  }

  /** False when it is no longer a preview, or expired. */
  async request(
    previewId: string,
    by: string,
    reason: string,
    lasts_ms: number,
    event: EventDraft,
  ): Promise<boolean> {
    const rows = await this.#database.query(REQUEST, [previewId, reason, by, lasts_ms, ...line(event)]);
    return rows.length > 0;
  }

  /** False when the finding or the command is no longer as it was, or another refund was decided: nothing was written. */
  async carryOut(decision: FindingDecision, event: EventDraft): Promise<boolean> {
    const { by, reason, dismissal } = decision;
    const dismissed = dismissal === null ? null : { by, reason, at: dismissal.at, facts: dismissal.facts };
    try {
      const rows = await this.#database.query(CARRY_OUT, [
        decision.finding_id,
        decision.resource_version,
        decision.preview_id,
        decision.from,
        reason,
        by,
        dismissed === null ? null : storable(dismissed),
        dismissal === null ? null : storable(dismissal.outcome),
        ...line(event),
      ]);
      return rows.length > 0;
    } catch (error) {
      // Another finding of the same payment, at the same moment.
      if (violatedConstraint(error) === 'finding_commands_one_refund') return false;
      throw error;
    }
  }

  async lookAfter(previewId: string): Promise<void> {
    await this.#database.query(LOOK, [previewId]);
  }

  /** What a worker goes on with, the longest waiting first. */
  async due(account: string, most: number): Promise<FindingCommandRecord[]> {
    return (await this.#database.query<Row>(DUE, [account, most])).map(toCommand);
  }

  /** It is tried again later. */
  async postpone(claim: SweepClaim, previewId: string, why: string, mostMs: number): Promise<void> {
    await this.#database.query(POSTPONE, [claim.account, claim.fencing_token, previewId, why, mostMs]);
  }

  /** Kept once, by whoever holds the account. */
  async observed(
    claim: SweepClaim,
    previewId: string,
    outcome: FindingOutcome,
    event: EventDraft,
  ): Promise<void> {
    await this.#database.query(OBSERVED, [
      claim.account,
      claim.fencing_token,
      previewId,
      storable(outcome),
      ...line(event),
    ]);
  }

  /** The look that follows an adoption was taken. */
  async looked(previewId: string): Promise<void> {
    await this.#database.query(
      'UPDATE finding_commands SET due_at = NULL WHERE preview_id = $1 AND operation_command IS NOT NULL',
      [previewId],
    );
  }
}

const line = ({ type, actor, message, data }: EventDraft): unknown[] => [
  type,
  actor.kind,
  actor.name,
  message,
  data === undefined ? null : storable(data),
];
