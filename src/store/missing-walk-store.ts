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
  WHERE o.id > (SELECT records_until FROM orphan_sweeps WHERE account = $1) ORDER BY o.id LIMIT $6
), moved AS (
  UPDATE orphan_sweeps
  SET records_until = (SELECT CASE WHEN count(*) < $6 THEN 0 ELSE max(id) END FROM slice)
  WHERE account = $1 AND fencing_token = $2::bigint AND lease_expires_at > now()
  RETURNING account
)
SELECT o.*, c.started_at, c.completed_at, p.identity, p.livemode
FROM moved JOIN slice USING (account) JOIN order_operations o ON o.id = slice.id
  JOIN provider_accounts p ON p.account = o.account, LATERAL (
  SELECT a.started_at, a.completed_at FROM operation_attempts a
  WHERE a.operation = o.id AND a.step = 'create_payment' AND a.shown->'payment'->>'reference' = o.provider_reference
    AND coalesce((a.shown->'payment'->>'livemode')::boolean = p.livemode, true)
  ORDER BY a.attempt_id DESC LIMIT 1
) c
WHERE slice.code = $3 AND p.identity IS NOT NULL AND c.completed_at < now() - make_interval(secs => $4::float8 / 1000)
  AND NOT EXISTS (SELECT 1 FROM findings f WHERE f.account = o.account AND f.reference = o.provider_reference
    AND f.kind = 'payment_missing' AND f.check_at > now())
ORDER BY o.id LIMIT $5`;

/** Records that one tick walks past: some ten milliseconds, and a million of them within days. */
const RECORDS_PER_TICK = 2_000;

export class MissingWalkStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Walks on over the records: operations that may be without their payment, not younger than `graceMs`. */
  async candidates(claim: SweepClaim, graceMs: number, most: number): Promise<MissingCandidate[]> {
    const rows = await this.#database.query<
      OrderOperationRow & {
        provider_reference: string;
        started_at: Date;
        completed_at: Date;
        identity: string;
        livemode: boolean | null;
      }
    >(CANDIDATES, [claim.account, claim.fencing_token, NOT_FOUND, graceMs, most, RECORDS_PER_TICK]);
    return rows.map((row) => ({
      operation: toRecord(row),
      reference: row.provider_reference,
      created_from: row.started_at.toISOString(),
      created_to: row.completed_at.toISOString(),
      identity: row.identity,
      livemode: row.livemode,
    }));
  }
}
