/** How far each account's payments are listed: one row an account, held by one worker at a time. */
import type { Draft } from '../findings/finding.js';
import type { Totals } from '../findings/compare.js';
import type { Progress, Round, SweepClaim } from '../findings/rounds.js';
import type { Database } from './database.js';
import { toDraftInput } from './finding-store.js';
import { storable } from './storable.js';

/** What one page leaves behind. */
export interface PageEntry {
  readonly progress: Progress;
  /** A round through the recent payments ended with it. */
  readonly recent_ended: boolean;
  /** Sums of the slow round that ended with it; null: none did. */
  readonly lookback_totals: Totals | null;
  readonly suspicions: readonly Draft[];
  /** All payments of the page: what was found about them before is looked at again where the page shows nothing. */
  readonly references: readonly string[];
}

/** Whether the account bears another request now, and whether its requests are scarce. Null: the lease is lost. */
export type Leave = { readonly free: boolean; readonly limited: boolean } | null;

const REGISTER = `
INSERT INTO orphan_sweeps (account, due_at) SELECT unnest($1::text[]), now() + make_interval(secs => $2::float8 / 1000)
ON CONFLICT (account) DO NOTHING`;

/** Accounts that are due, that nobody holds, and that are neither out nor throttled. */
const claim = (due: string): string => `
WITH claimable AS (
  SELECT s.account FROM orphan_sweeps s JOIN provider_accounts a USING (account)
  WHERE s.account = ANY ($1::text[]) AND ${due} AND (s.lease_expires_at IS NULL OR s.lease_expires_at <= now())
    AND a.breaker = 'closed' AND (a.throttled_until IS NULL OR a.throttled_until <= now())
  ORDER BY s.account
  FOR UPDATE OF s SKIP LOCKED
)
UPDATE orphan_sweeps s SET
  fencing_token = s.fencing_token + 1, lease_holder = $2, lease_expires_at = now() + make_interval(secs => $3::float8 / 1000)
FROM claimable c WHERE s.account = c.account
RETURNING s.account, s.fencing_token::text, s.recent, s.lookback, s.listed_until, s.lookback_began_at, now() AS now`;
const CLAIM = claim('s.due_at <= now()');
/** What people decided waits for no tick of the sweep. */
const CLAIM_DECIDED = claim(
  'EXISTS (SELECT 1 FROM finding_commands k WHERE k.account = s.account AND k.due_at <= now())',
);

const LEAVE = `
SELECT a.breaker = 'closed' AND (a.throttled_until IS NULL OR a.throttled_until <= now()) AS free, a.rate IS NOT NULL AS limited`;

/**
 * One page: the cursor moves, and what the page made suspicious is noted, together or not at all. What was suspected or
 * found before keeps its state; one that had gone is suspected anew.
 */
const PAGE = `
WITH advanced AS (
  UPDATE orphan_sweeps SET
    recent = $4::jsonb, lookback = $5::jsonb, listed_until = $6::timestamptz, lookback_began_at = $7::timestamptz,
    ended_at = CASE WHEN $8 THEN now() ELSE ended_at END,
    totals = coalesce($9::jsonb, totals),
    lookback_ended_at = CASE WHEN $9::jsonb IS NULL THEN lookback_ended_at ELSE now() END,
    lease_expires_at = now() + make_interval(secs => $3::float8 / 1000)
  WHERE account = $1 AND fencing_token = $2::bigint AND lease_expires_at > now()
  RETURNING account
), input AS (
  SELECT * FROM json_to_recordset($10::json) AS i(kind text, reference text, operation_id text, amount bigint, currency text,
    message text, evidence jsonb, suggested text, ripe_at timestamptz, payment_created_at timestamptz, payment_terms jsonb)
), suspected AS (
  INSERT INTO findings (account, kind, reference, operation_id, state, amount, currency, message, evidence, suggested,
    payment_created_at, payment_terms, suspected_at, first_seen_at, last_seen_at, check_at)
  SELECT advanced.account, kind, reference, operation_id, 'suspected', amount, currency, message, evidence, suggested,
    payment_created_at, payment_terms, now(), now(), now(), greatest(now(), ripe_at)
  FROM input, advanced
  ON CONFLICT (account, reference, kind) DO UPDATE SET
    state = CASE WHEN findings.state = 'resolved' THEN 'suspected' ELSE findings.state END,
    suspected_at = CASE WHEN findings.state = 'resolved' THEN now() ELSE findings.suspected_at END,
    resolved_at = NULL,
    resource_version = findings.resource_version + CASE WHEN findings.state = 'resolved' THEN 1 ELSE 0 END,
    check_at = CASE WHEN findings.state = 'resolved' THEN excluded.check_at ELSE now() END
  WHERE findings.state = 'resolved' OR findings.amount <> excluded.amount
), looked_at_again AS (
  UPDATE findings f SET check_at = now()
  FROM advanced
  WHERE f.account = advanced.account AND f.reference = ANY ($11::text[]) AND f.state <> 'resolved'
    AND f.reference NOT IN (SELECT reference FROM input)
)
${LEAVE} FROM advanced JOIN provider_accounts a USING (account)`;

const RENEW = `
WITH held AS (
  UPDATE orphan_sweeps SET lease_expires_at = now() + make_interval(secs => $3::float8 / 1000)
  WHERE account = $1 AND fencing_token = $2::bigint AND lease_expires_at > now()
  RETURNING account
)
${LEAVE} FROM held JOIN provider_accounts a USING (account)`;

const RELEASE = `
UPDATE orphan_sweeps SET lease_holder = NULL, lease_expires_at = NULL,
  due_at = coalesce(now() + make_interval(secs => $3::float8 / 1000), due_at)
WHERE account = $1 AND fencing_token = $2::bigint`;

interface ClaimRow {
  readonly account: string;
  readonly fencing_token: string;
  readonly recent: Round | null;
  readonly lookback: Round | null;
  readonly listed_until: Date | null;
  readonly lookback_began_at: Date | null;
  readonly now: Date;
}

export class OrphanSweepStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Makes accounts known, due for the first time after `dueInMs`; those that are known stay as they are. */
  async register(accounts: readonly string[], dueInMs: number): Promise<void> {
    await this.#database.query(REGISTER, [accounts, dueInMs]);
  }

  /** `why`: accounts whose sweep is due, or those for which people decided something that is due. */
  async claim(
    accounts: readonly string[],
    worker: string,
    leaseMs: number,
    why: 'sweep' | 'decided' = 'sweep',
  ): Promise<SweepClaim[]> {
    const statement = why === 'sweep' ? CLAIM : CLAIM_DECIDED;
    const rows = await this.#database.query<ClaimRow>(statement, [accounts, worker, leaseMs]);
    return rows.map((row) => ({
      account: row.account,
      fencing_token: row.fencing_token,
      now: row.now,
      progress: {
        recent: row.recent,
        lookback: row.lookback,
        listed_until: row.listed_until?.toISOString() ?? null,
        lookback_began_at: row.lookback_began_at?.toISOString() ?? null,
      },
    }));
  }

  /** Writes a page and renews the lease. */
  async page(claim: SweepClaim, leaseMs: number, entry: PageEntry): Promise<Leave> {
    const { recent, lookback, listed_until, lookback_began_at } = entry.progress;
    const [row] = await this.#database.query<{ free: boolean; limited: boolean }>(PAGE, [
      claim.account,
      claim.fencing_token,
      leaseMs,
      recent === null ? null : JSON.stringify(recent),
      lookback === null ? null : JSON.stringify(lookback),
      listed_until,
      lookback_began_at,
      entry.recent_ended,
      entry.lookback_totals === null ? null : JSON.stringify(entry.lookback_totals),
      storable(entry.suspicions.map(toDraftInput)),
      entry.references,
    ]);
    return row ?? null;
  }

  /** Before another call: the lease begins anew. */
  async renew(claim: SweepClaim, leaseMs: number): Promise<Leave> {
    const [row] = await this.#database.query<{ free: boolean; limited: boolean }>(RENEW, [
      claim.account,
      claim.fencing_token,
      leaseMs,
    ]);
    return row ?? null;
  }

  /** `dueInMs`: until when a tick would only repeat this one; null: the sweep is due when it was. */
  async release(claim: SweepClaim, dueInMs: number | null): Promise<void> {
    await this.#database.query(RELEASE, [claim.account, claim.fencing_token, dueInMs]);
  }
}
