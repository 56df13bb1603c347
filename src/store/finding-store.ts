/** Findings, and the operations that they could be about. Every write of the sweep names the claim that it belongs to. */
import type { Parameters } from '../operation/attempt.js';
import type { Decided } from '../operation/decisions.js';
import {
  factsOf,
  type Draft,
  type Finding,
  type FindingCommand,
  type FindingKind,
  type FindingState,
  type RecordedSide,
} from '../findings/finding.js';
import type { SweepClaim } from '../findings/rounds.js';
import type { CommandState } from './command-store.js';
import { cursorOf } from './cursor.js';
import type { Database } from './database.js';
import type { OperationAttemptRow, OrderOperationRow } from './entities.js';
import { toAttempt, toRecord } from './mapping.js';
import { storable } from './storable.js';
import { FINDING_COMMANDS, LAST_COMMAND } from './finding-command-sql.js';

/** What somebody last asked for. */
export interface LastCommand {
  readonly preview_id: string;
  readonly command: FindingCommand;
  readonly state: Exclude<CommandState, 'previewed'>;
  readonly reason: string;
  readonly requested_by: string;
  readonly requested_at: string;
  readonly approved_by: string | null;
  readonly waits_for: string | null;
  /** What was observed afterwards; null: not yet. */
  readonly outcome: string | null;
}

export interface ListedFinding extends Finding {
  readonly dismissed: Decided | null;
  readonly last_command: LastCommand | null;
}

export interface FindingFilter {
  readonly kind?: FindingKind;
  readonly account?: string;
  readonly state?: FindingState;
  /** Opaque, from a former page. */
  readonly cursor?: string;
  readonly limit: number;
}

/** A payment that is to be looked at, with what only its list told. */
export interface DueLook {
  readonly reference: string;
  readonly created_at: string | null;
  readonly terms: Parameters | null;
}

export interface Settled {
  readonly finding_id: string;
  readonly kind: FindingKind;
  readonly state: 'suspected' | FindingState;
  /** It became a finding with this look. */
  readonly opened: boolean;
}

/** As json_to_recordset takes it. */
export const toDraftInput = (draft: Draft): Record<string, unknown> => ({
  kind: draft.kind,
  reference: draft.reference,
  operation_id: draft.operation_id,
  amount: draft.amount,
  currency: draft.currency,
  message: draft.message,
  evidence: draft.evidence,
  suggested: draft.suggested,
  facts: factsOf(draft),
  ripe_at: draft.ripe_at,
  waits: draft.waits_for !== null,
  waits_for_operation: draft.waits_for?.operation_id ?? null,
  observed_at: draft.waits_for?.observed_at ?? null,
  payment_created_at: draft.created_at,
  payment_terms: draft.terms,
});

const CURSOR = cursorOf('f');

/** As a rule one operation is told to adopt a payment, and none where the front end makes none. */
const MOST_ADOPTING = 100;

/**
 * Every operation that has one of the payments, was told to adopt it, or is named by one: an index each. Which are told to
 * adopt has no statistics where none is, and the planner then takes half of all rows for them: with the limit for each
 * payment, and the ids collected before any row is read, it looks rows up whatever it believes.
 */
export const MATCHING = {
  name: 'matching',
  text: `
SELECT o.* FROM order_operations o WHERE o.id = ANY (ARRAY(
  SELECT id FROM order_operations
    WHERE account = ANY (ARRAY(SELECT account FROM provider_accounts)) AND provider_reference = ANY ($2::text[])
  UNION SELECT adopting.id FROM unnest($2::text[]) AS listed(reference), LATERAL (
    SELECT id FROM order_operations WHERE account = $1 AND spec->'payment'->>'reference' = listed.reference
    LIMIT ${MOST_ADOPTING}
  ) adopting
  UNION SELECT id FROM order_operations WHERE operation_id = ANY ($3::text[])
))`,
};

const CREATES = `
SELECT o.operation_id AS of, a.* FROM operation_attempts a JOIN order_operations o ON o.id = a.operation
WHERE o.operation_id = ANY ($1::text[]) AND a.step = 'create_payment' ORDER BY a.attempt_id`;

const DUE = `
SELECT reference, max(payment_created_at) AS payment_created_at, 
  (array_agg(payment_terms) FILTER (WHERE payment_terms IS NOT NULL))[1] AS payment_terms
FROM findings WHERE account = $1 AND check_at <= now() GROUP BY reference ORDER BY min(check_at) LIMIT $2`;

/**
 * What one look at one payment came to.
 *
 *   known     as it stands, and stays until this is written: a person may be about to dismiss it
 *   judged    dismissed while the facts are those that it was dismissed on; open at once; or when the record was read since
 *             it was suspected, and the same still does not fit
 *   written   one row for each kind; evidence and amounts as last seen
 *   gone      what the look does not show any more: resolved, or forgotten where it was only suspected
 *   woken     the record is read anew, which most often settles it
 */
const SETTLE = `
WITH held AS (
  UPDATE orphan_sweeps SET lease_expires_at = now() + make_interval(secs => $4::float8 / 1000)
  WHERE account = $1 AND fencing_token = $2::bigint AND lease_expires_at > now()
  RETURNING account
), known AS (
  SELECT f.* FROM findings f, held WHERE f.account = held.account AND f.reference = $3 FOR UPDATE OF f
), judged AS (
  SELECT i.*, held.account, f.dismissed, f.state AS before, f.amount IS DISTINCT FROM i.amount AS moved,
    CASE
      WHEN f.state = 'dismissed' AND f.dismissed->'facts' = i.facts THEN 'dismissed'
      WHEN i.ripe_at > now() AND f.state IS DISTINCT FROM 'dismissed' THEN 'suspected'
      WHEN NOT i.waits OR f.state IN ('open', 'dismissed') THEN 'open'
      WHEN f.state = 'suspected' AND f.amount = i.amount AND i.observed_at > f.suspected_at THEN 'open'
      ELSE 'suspected' END AS state
  FROM held, json_to_recordset($6::json) AS i(kind text, reference text, operation_id text, amount bigint, currency text,
    message text, evidence jsonb, suggested text, facts jsonb, ripe_at timestamptz, waits boolean, waits_for_operation text,
    observed_at timestamptz, payment_created_at timestamptz, payment_terms jsonb)
  LEFT JOIN known f ON f.kind = i.kind
), written AS (
  INSERT INTO findings (account, kind, reference, operation_id, state, amount, currency, message, evidence, suggested,
    payment_created_at, payment_terms, suspected_at, opened_at, first_seen_at, last_seen_at, dismissed, check_at)
  SELECT account, kind, reference, operation_id, state, amount, currency, message, evidence, suggested, payment_created_at,
    payment_terms, now(), CASE WHEN state <> 'suspected' THEN now() END, now(), now(),
    CASE state WHEN 'dismissed' THEN dismissed END,
    greatest(ripe_at, now() + make_interval(secs => CASE state WHEN 'suspected' THEN $7::float8 ELSE $5::float8 END / 1000))
  FROM judged
  ON CONFLICT (account, reference, kind) DO UPDATE SET
    operation_id = excluded.operation_id, state = excluded.state, amount = excluded.amount, currency = excluded.currency,
    message = excluded.message, evidence = excluded.evidence, suggested = excluded.suggested,
    suspected_at = CASE WHEN findings.state = 'resolved' OR findings.amount <> excluded.amount THEN now()
      ELSE findings.suspected_at END,
    opened_at = CASE WHEN excluded.state = 'open' AND findings.state <> 'open' THEN now() ELSE findings.opened_at END,
    last_seen_at = now(), resolved_at = NULL,
    dismissed = excluded.dismissed,
    resource_version = findings.resource_version + CASE WHEN (findings.state, findings.amount, findings.message,
      findings.operation_id) IS DISTINCT FROM (excluded.state, excluded.amount, excluded.message, excluded.operation_id)
      THEN 1 ELSE 0 END,
    check_at = CASE excluded.state WHEN 'suspected' THEN excluded.check_at ELSE now() + greatest(make_interval(
      secs => $5::float8 / 1000), (now() - CASE findings.state WHEN 'resolved' THEN now()
      ELSE greatest(findings.opened_at, findings.suspected_at) END) / 10) END
  RETURNING finding_id::text, kind, state
), resolved AS (
  UPDATE findings f SET state = 'resolved', resolved_at = now(), check_at = NULL, dismissed = NULL,
    resource_version = f.resource_version + 1
  FROM held
  WHERE f.account = held.account AND f.reference = $3 AND f.state <> 'resolved' AND f.opened_at IS NOT NULL
    AND f.kind NOT IN (SELECT kind FROM judged)
), forgotten AS (
  DELETE FROM findings f USING held
  WHERE f.account = held.account AND f.reference = $3 AND f.opened_at IS NULL AND f.kind NOT IN (SELECT kind FROM judged)
), woken AS (
  UPDATE order_operations SET wake = wake + 1, next_attempt_at = now()
  WHERE id IN (
    SELECT o.id FROM order_operations o JOIN judged ON o.operation_id = judged.waits_for_operation
    WHERE judged.state = 'suspected' AND judged.ripe_at <= now()
    -- Whoever holds the row up need not hold up this: it is asked for again with the next look.
    FOR UPDATE OF o SKIP LOCKED
  )
)
SELECT w.finding_id, w.kind, w.state, w.state = 'open' AND j.before IS DISTINCT FROM 'open' AS opened
FROM written w JOIN judged j USING (kind)`;

/** A look that shows nothing new is repeated after a tenth of the finding's age, which begins anew when it comes back. */
const POSTPONE = `
UPDATE findings f SET check_at = now() + greatest(make_interval(secs => $4::float8 / 1000),
  (now() - greatest(f.opened_at, f.suspected_at)) / 10)
FROM orphan_sweeps s
WHERE f.account = $1 AND s.account = $1 AND s.fencing_token = $2::bigint AND s.lease_expires_at > now()
  AND f.reference = $3 AND f.state <> 'resolved'`;

const COLUMNS = `f.finding_id::text, f.resource_version::int, f.kind, f.account, f.state, f.reference AS provider_reference,
  f.operation_id, f.amount, f.currency, f.message, f.evidence, f.suggested, f.first_seen_at, f.last_seen_at, f.resolved_at`;

/** With the last command that somebody asked for. */
const LIST = `
SELECT ${COLUMNS}, f.dismissed, l.last
FROM findings f LEFT JOIN LATERAL (
  SELECT row_to_json(c) AS last FROM (
    SELECT ${LAST_COMMAND} FROM ${FINDING_COMMANDS} WHERE k.finding_id = f.finding_id
  ) c WHERE c.requested_at IS NOT NULL ORDER BY c.requested_at DESC LIMIT 1
) l ON true
WHERE f.state <> 'suspected' AND ($1::text IS NULL OR f.kind = $1) AND ($2::text IS NULL OR f.account = $2)
  AND ($3::text IS NULL OR f.state = $3) AND ($4::bigint IS NULL OR f.finding_id < $4)
ORDER BY f.finding_id DESC LIMIT $5`;

const FIND = `
SELECT ${COLUMNS}, f.payment_created_at, f.payment_terms FROM findings f
WHERE f.finding_id = $1::bigint AND f.state <> 'suspected'`;

export class FindingStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** `creates` of each is null: see withCreates. */
  async matching(
    account: string,
    references: readonly string[],
    operationIds: readonly string[],
  ): Promise<RecordedSide[]> {
    if (references.length === 0) return [];
    const rows = await this.#database.query<OrderOperationRow>(MATCHING, [account, references, operationIds]);
    return rows.map((row) => {
      const record = toRecord(row);
      return { operation: record, task: record.task, creates: null };
    });
  }

  /** The same operations with their tries to create a payment. */
  async withCreates(sides: readonly RecordedSide[]): Promise<RecordedSide[]> {
    if (sides.length === 0) return [];
    const rows = await this.#database.query<OperationAttemptRow & { of: string }>(CREATES, [
      sides.map(({ operation }) => operation.operation_id),
    ]);
    return sides.map((side) => ({
      ...side,
      creates: rows.filter(({ of }) => of === side.operation.operation_id).map(toAttempt),
    }));
  }

  /** Payments whose findings and suspicions are due for a look, the longest waiting first. */
  async due(account: string, most: number): Promise<DueLook[]> {
    const rows = await this.#database.query<{
      reference: string;
      payment_created_at: Date | null;
      payment_terms: Parameters | null;
    }>(DUE, [account, most]);
    return rows.map((row) => ({
      reference: row.reference,
      created_at: row.payment_created_at?.toISOString() ?? null,
      terms: row.payment_terms,
    }));
  }

  /** Writes what a look at one payment showed: everything that is to be said of it now. Nothing is written once the claim is over. */
  async settle(
    claim: SweepClaim,
    reference: string,
    drafts: readonly Draft[],
    pace: { readonly lease_ms: number; readonly interval_ms: number; readonly second_look_ms: number },
  ): Promise<Settled[]> {
    return this.#database.query<Settled>(SETTLE, [
      claim.account,
      claim.fencing_token,
      reference,
      pace.lease_ms,
      pace.interval_ms,
      storable(drafts.map(toDraftInput)),
      pace.second_look_ms,
    ]);
  }

  /** The payment could not be seen: what is known of it stays, and is looked at later. */
  async postpone(claim: SweepClaim, reference: string, intervalMs: number): Promise<void> {
    await this.#database.query(POSTPONE, [claim.account, claim.fencing_token, reference, intervalMs]);
  }

  /** Null: there is none, or it is only suspected. `look`: how to look at its payment. */
  async find(findingId: string): Promise<{ finding: Finding; look: DueLook } | null> {
    // Ids are given out by us and have no other form.
    if (!/^[0-9]{1,18}$/.test(findingId)) return null;
    const [row] = await this.#database.query<
      FindingRow & { payment_created_at: Date | null; payment_terms: Parameters | null }
    >(FIND, [findingId]);
    if (row === undefined) return null;
    const { payment_created_at, payment_terms, ...finding } = row;
    return {
      finding: toFinding(finding),
      look: {
        reference: row.provider_reference,
        created_at: payment_created_at?.toISOString() ?? null,
        terms: payment_terms,
      },
    };
  }

  /** Newest first. A cursor that was not given out by us is refused by `null`. */
  async list(filter: FindingFilter): Promise<{ items: ListedFinding[]; next_cursor: string | null } | null> {
    const before = filter.cursor === undefined ? null : CURSOR.read(filter.cursor);
    if (filter.cursor !== undefined && before === null) return null;
    const rows = await this.#database.query<ListedRow>(LIST, [
      filter.kind ?? null,
      filter.account ?? null,
      filter.state ?? null,
      before,
      filter.limit + 1,
    ]);
    const page = rows.slice(0, filter.limit);
    const last = page.at(-1);
    return {
      items: page.map(toListed),
      next_cursor: rows.length > filter.limit && last !== undefined ? CURSOR.write(last.finding_id) : null,
    };
  }
}

interface FindingRow extends Omit<Finding, 'amount' | 'first_seen_at' | 'last_seen_at' | 'resolved_at'> {
  readonly amount: string;
  readonly first_seen_at: Date;
  readonly last_seen_at: Date;
  readonly resolved_at: Date | null;
}

const toFinding = (row: FindingRow): Finding => ({
  ...row,
  amount: Number(row.amount),
  first_seen_at: row.first_seen_at.toISOString(),
  last_seen_at: row.last_seen_at.toISOString(),
  resolved_at: row.resolved_at?.toISOString() ?? null,
});

interface ListedRow extends FindingRow {
  readonly dismissed: Decided | null;
  readonly last: LastCommand | null;
}

const toListed = ({ dismissed, last, ...row }: ListedRow): ListedFinding => ({
  ...toFinding(row),
  dismissed: row.state === 'dismissed' ? dismissed : null,
  last_command: last === null ? null : { ...last, requested_at: new Date(last.requested_at).toISOString() },
});
