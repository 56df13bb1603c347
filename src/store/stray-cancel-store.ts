/** The journal of the strays that the sweep cancels: the intent before the call, the outcome after it. */
import type { SweepClaim } from '../findings/rounds.js';
import type { Outcome, Parameters } from '../operation/attempt.js';
import type { Database } from './database.js';
import type { OperationAttemptRow } from './entities.js';
import { storable } from './entry.js';
import { toAttempt } from './mapping.js';
import type { JournalAttempt } from './record.js';

/**
 * The intent to cancel a stray, before the call. Refused when the claim is over, the finding is gone, or an operation
 * has or wants this payment meanwhile.
 */
const BEGIN = `
INSERT INTO finding_attempts (finding_id, step, target, ordinal, effect_key, parameters, worker, started_at)
SELECT f.finding_id, 'cancel_payment', $4, $5, $6, $7::json, s.lease_holder, clock_timestamp()
FROM findings f JOIN orphan_sweeps s USING (account)
WHERE f.finding_id = $3::bigint AND f.kind = 'stray_unconfirmed' AND f.state = 'open' AND f.account = $1
  AND s.fencing_token = $2::bigint AND s.lease_expires_at > now()
  AND NOT EXISTS (SELECT 1 FROM provider_accounts a WHERE a.account = f.account AND a.paused IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM order_operations o WHERE o.account = f.account AND o.provider_reference = f.reference)
  AND NOT EXISTS (SELECT 1 FROM order_operations o WHERE o.account = f.account AND o.spec->'payment'->>'reference' = f.reference)
RETURNING attempt_id::text`;

const COMPLETE = `
UPDATE finding_attempts SET completed_at = clock_timestamp(), outcome = $2, key_spent = $3, failure = $4::jsonb, request_id = $5
WHERE attempt_id = $1::bigint AND completed_at IS NULL`;

export class StrayCancelStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async of(findingId: string): Promise<JournalAttempt[]> {
    const rows = await this.#database.query<OperationAttemptRow>(
      'SELECT * FROM finding_attempts WHERE finding_id = $1::bigint ORDER BY attempt_id',
      [findingId],
    );
    return rows.map((row) =>
      toAttempt({ ...row, generation: 0, fencing_token: '0', shown: null, resolution: null }),
    );
  }

  /** The attempt that was recorded, or null: it must not be sent. */
  async begin(
    claim: SweepClaim,
    findingId: string,
    intent: {
      readonly target: string;
      readonly ordinal: number;
      readonly effect_key: string;
      readonly parameters: Parameters;
    },
  ): Promise<string | null> {
    const [row] = await this.#database.query<{ attempt_id: string }>(BEGIN, [
      claim.account,
      claim.fencing_token,
      findingId,
      intent.target,
      intent.ordinal,
      intent.effect_key,
      JSON.stringify(intent.parameters),
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
