/** The walk over the records for operations that may be without their payment. */
import type { SweepClaim } from '../findings/rounds.js';
import { NOT_FOUND } from '../operation/failure.js';
import type { Database } from './database.js';
import type { OrderOperationRow } from './entities.js';
import { toRecord } from './mapping.js';
import type { OperationRecord } from './record.js';

/** An operation whose own payment could not be read by its id, in an account whose identity is known. */
export interface MissingCandidate {
  readonly operation: OperationRecord;
  readonly reference: string;
  /** Where the walk stands once it was looked for; opaque. */
  readonly position: string;
  /** When its creation was sent, and answered. */
  readonly created_from: string;
  readonly created_to: string;
  readonly identity: string;
  readonly livemode: boolean | null;
}

/**
 * The next records by their id, of all accounts: an index for those whose payment is not found would make every write of
 * a pass dearer. Only payments of our own creation come out: when another was made is not known, so no list can show that
 * it is not there. One that was found missing is looked at again like any finding.
 */
const CANDIDATES = `
WITH slice AS MATERIALIZED (
  SELECT o.id, o.account, o.facts->'failure'->>'code' AS code FROM order_operations o
  WHERE o.id > (SELECT records_until FROM orphan_sweeps WHERE account = $1) ORDER BY o.id LIMIT $5
)
SELECT e.slice_end, found.*
FROM (SELECT CASE WHEN count(*) < $5 THEN 0 ELSE max(id) END::text AS slice_end FROM slice) e LEFT JOIN (
  SELECT o.*, c.started_at, c.completed_at, p.identity, p.livemode
  FROM slice JOIN order_operations o ON o.id = slice.id
    JOIN provider_accounts p ON p.account = o.account, LATERAL (
    SELECT a.started_at, a.completed_at FROM operation_attempts a
    WHERE a.operation = o.id AND a.step = 'create_payment' AND a.shown->'payment'->>'reference' = o.provider_reference
      AND coalesce((a.shown->'payment'->>'livemode')::boolean = p.livemode, true)
    ORDER BY a.attempt_id DESC LIMIT 1
  ) c
  WHERE slice.account = $1 AND slice.code = $2 AND p.identity IS NOT NULL
    AND c.completed_at < now() - make_interval(secs => $3::float8 / 1000)
    AND NOT EXISTS (SELECT 1 FROM findings f WHERE f.account = o.account AND f.reference = o.provider_reference
      AND f.kind = 'payment_missing' AND f.check_at > now())
  ORDER BY o.id LIMIT $4
) found ON true
ORDER BY found.id`;

const WALKED = `
UPDATE orphan_sweeps SET records_until = $3::bigint
WHERE account = $1 AND fencing_token = $2::bigint AND lease_expires_at > now()`;

/** Records that one tick walks past: some ten milliseconds, and a million of them within days. */
const RECORDS_PER_TICK = 2_000;

export class MissingWalkStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * From where the walk stands: operations that may be without their payment, not younger than `graceMs`, at most `most`.
   * `walked_to`: where it stands once all of them were looked for.
   */
  async candidates(
    claim: SweepClaim,
    graceMs: number,
    most: number,
  ): Promise<{ readonly candidates: readonly MissingCandidate[]; readonly walked_to: string }> {
    const rows = await this.#database.query<CandidateRow | { readonly id: null; readonly slice_end: string }>(
      CANDIDATES,
      [claim.account, NOT_FOUND, graceMs, most, RECORDS_PER_TICK],
    );
    const candidates = rows.filter((row) => row.id !== null).map(toCandidate);
    const last = candidates.length < most ? undefined : candidates.at(-1);
    return { candidates, walked_to: last?.position ?? rows[0]?.slice_end ?? '0' };
  }

  /** Moves the walk. Nothing is written once the claim is over. */
  async walkedTo(claim: SweepClaim, position: string): Promise<void> {
    await this.#database.query(WALKED, [claim.account, claim.fencing_token, position]);
  }
}

interface CandidateRow extends OrderOperationRow {
  readonly slice_end: string;
  readonly provider_reference: string;
  readonly started_at: Date;
  readonly completed_at: Date;
  readonly identity: string;
  readonly livemode: boolean | null;
}

const toCandidate = (row: CandidateRow): MissingCandidate => ({
  operation: toRecord(row),
  reference: row.provider_reference,
  position: row.id,
  created_from: row.started_at.toISOString(),
  created_to: row.completed_at.toISOString(),
  identity: row.identity,
  livemode: row.livemode,
});
