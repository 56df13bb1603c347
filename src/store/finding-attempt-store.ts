/** The journal of what is done to payments beside the orders: the intent before the call, the outcome after it. */
import type { SweepClaim } from '../findings/rounds.js';
import type { Outcome, Parameters } from '../operation/attempt.js';
import type { Database } from './database.js';
import type { OperationAttemptRow } from './entities.js';
import { storable } from './storable.js';
import { toAttempt } from './mapping.js';
import type { JournalAttempt } from './record.js';

/** Why something is done: by itself because of a finding, or because a person decided. */
export type Cause = { readonly finding_id: string } | { readonly preview_id: string };

export interface FindingIntent {
  readonly step: 'cancel_payment' | 'create_refund';
  readonly target: string;
  readonly ordinal: number;
  readonly effect_key: string;
  readonly parameters: Parameters;
}

/**
 * $1 account, $2 fencing token, $3 the cause, $4… the intent, $9 for how long the claim is renewed. Refused when the claim is
 * over or the account is stopped.
 */
const begin = (command: string, from: string, where: string): string => `
WITH held AS (
  UPDATE orphan_sweeps SET lease_expires_at = now() + make_interval(secs => $9::float8 / 1000)
  WHERE account = $1 AND fencing_token = $2::bigint AND lease_expires_at > now()
  RETURNING account, lease_holder
)
INSERT INTO finding_attempts (finding_id, command, step, target, ordinal, effect_key, parameters, worker, started_at)
SELECT f.finding_id, ${command}, $4, $5, $6, $7, $8::json, held.lease_holder, clock_timestamp()
FROM ${from} JOIN held ON held.account = f.account
WHERE ${where}
  AND NOT EXISTS (SELECT 1 FROM provider_accounts a WHERE a.account = f.account AND a.paused IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM order_operations o
    WHERE o.account = ANY (ARRAY(SELECT account FROM provider_accounts)) AND o.provider_reference = f.reference)
RETURNING attempt_id::text`;

/** By itself: refused also when the finding is gone, or an operation wants this payment, whatever became of it. */
const BEGIN_ALONE = begin(
  'NULL',
  'findings f',
  `f.finding_id = $3::bigint AND f.kind = 'stray_unconfirmed' AND f.state = 'open'
  AND NOT EXISTS (SELECT 1 FROM order_operations o
    WHERE o.account = f.account AND o.spec->'payment'->>'reference' = f.reference)`,
);

/** As decided: refused also when that has ended, or when an operation is to take this payment, or may still have created it. */
const BEGIN_DECIDED = begin(
  'k.preview_id',
  'finding_commands k JOIN findings f USING (finding_id)',
  `k.preview_id = $3 AND k.command = 'refund_stray' AND k.state = 'accepted'
  AND NOT EXISTS (SELECT 1 FROM order_operations o WHERE o.account = f.account
    AND o.spec->'payment'->>'reference' = f.reference AND o.phase NOT IN ('cancelled', 'rejected'))
  AND NOT EXISTS (SELECT 1 FROM order_operations o WHERE o.operation_id = f.operation_id AND o.account = f.account
    AND o.provider_reference IS NULL AND o.phase NOT IN ('cancelled', 'rejected'))`,
);

const COMPLETE = `
UPDATE finding_attempts SET completed_at = clock_timestamp(), outcome = $2, key_spent = $3, failure = $4::jsonb, request_id = $5
WHERE attempt_id = $1::bigint AND completed_at IS NULL`;

const OF = `
SELECT * FROM finding_attempts WHERE finding_id = $1::bigint ORDER BY attempt_id`;
const OF_COMMAND = `
SELECT * FROM finding_attempts WHERE command = $1 ORDER BY attempt_id`;

export class FindingAttemptStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Oldest first: of a finding all that was ever sent because of it, of a decision what it sent. */
  async of(cause: Cause): Promise<JournalAttempt[]> {
    const [sql, id] = 'finding_id' in cause ? [OF, cause.finding_id] : [OF_COMMAND, cause.preview_id];
    const rows = await this.#database.query<OperationAttemptRow>(sql, [id]);
    return rows.map((row) =>
      toAttempt({ ...row, generation: 0, fencing_token: '0', shown: null, resolution: null }),
    );
  }

  /** The attempt that was recorded, or null: it must not be sent. */
  async begin(
    claim: SweepClaim,
    cause: Cause,
    intent: FindingIntent,
    leaseMs: number,
  ): Promise<string | null> {
    const [sql, id] =
      'finding_id' in cause ? [BEGIN_ALONE, cause.finding_id] : [BEGIN_DECIDED, cause.preview_id];
    const [row] = await this.#database.query<{ attempt_id: string }>(sql, [
      claim.account,
      claim.fencing_token,
      id,
      intent.step,
      intent.target,
      intent.ordinal,
      intent.effect_key,
      JSON.stringify(intent.parameters),
      leaseMs,
    ]);
    return row?.attempt_id ?? null;
  }

  async complete(attemptId: string, outcome: Outcome): Promise<void> {
    const failure = 'failure' in outcome ? outcome.failure : null;
    await this.#database.query(COMPLETE, [
      attemptId,
      outcome.kind,
      outcome.key_spent ?? false,
      failure === null ? null : storable(failure),
      outcome.request_id ?? failure?.request_id ?? null,
    ]);
  }
}
