/** Provider accounts in Postgres: what one process learns of an account, all of them respect. */
import type { StepName } from '../operation/attempt.js';
import type { Pause } from '../operation/operation.js';
import type { Database } from './database.js';

export type StopReason = 'outage' | 'refused' | 'wrong_account';

export interface AccountState {
  readonly account: string;
  readonly identity: string | null;
  readonly livemode: boolean | null;
  readonly breaker: 'closed' | 'open';
  readonly reason: StopReason | null;
  readonly message: string | null;
  /** RFC 3339. */
  readonly since: string | null;
  /** Not claimed before then, as the provider asked. */
  readonly throttled_until: string | null;
  /** True while fewer passes than possible are begun. */
  readonly limited: boolean;
}

/** Trouble counts only while it is fresh: a failure a minute is no outage. */
const WINDOW_MS = 30_000;
/** Fewer could be one customer's bad luck; the design asks for three. */
const OPERATIONS_IN_TROUBLE = 3;
/** As long as the longest pauses of orders that wait for a kind of call: what fails rarely is no outage of it. */
export const STEP_WINDOW_MS = 600_000;
/** An account that is out is asked this often whether it is back. */
export const PROBE_INTERVAL_MS = 2_000;
/** Passes a second when an account comes back; doubled every ten seconds up to what its limit allows. */
export const RELEASE_RATE = 5;

const COLUMNS = `account, identity, livemode, breaker, reason, message, since, throttled_until,
  (rate IS NOT NULL OR throttled_until > now()) AS limited`;

/** The failures of at least three operations within the window open the breaker; one operation's own do not. */
const REPORT_TROUBLE = `
WITH fresh AS (
  SELECT account, (
    SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(failing)
    WHERE (value#>>'{}')::timestamptz > now() - make_interval(secs => $4::float8 / 1000)
  ) || jsonb_build_object($2::text, now()) AS failing
  FROM provider_accounts WHERE account = $1 FOR UPDATE
)
UPDATE provider_accounts a SET
  failing = fresh.failing,
  breaker = CASE WHEN n.opens THEN 'open' ELSE a.breaker END,
  reason = CASE WHEN n.opens AND a.breaker = 'closed' THEN 'outage' ELSE a.reason END,
  message = CASE WHEN n.opens AND a.breaker = 'closed' THEN $3 ELSE a.message END,
  since = CASE WHEN n.opens AND a.breaker = 'closed' THEN now() ELSE a.since END,
  probe_at = CASE WHEN n.opens AND a.breaker = 'closed' THEN now() + make_interval(secs => $5::float8 / 1000) ELSE a.probe_at END
FROM fresh, LATERAL (SELECT (SELECT count(*) FROM jsonb_object_keys(fresh.failing)) >= $6::int AS opens) n
WHERE a.account = fresh.account
RETURNING a.breaker = 'open' AS open, a.since = now() AS just_opened`;

const STOP = `
UPDATE provider_accounts SET breaker = 'open', reason = $2, message = $3,
  since = CASE WHEN breaker = 'open' AND reason = $2 THEN since ELSE now() END,
  probe_at = now() + make_interval(secs => $4::float8 / 1000)
WHERE account = $1
RETURNING since = now() AS just_opened`;

/** Back: what waits is let go little by little, or it would fall over the provider at once. */
const REPORT_SUCCESS = `
UPDATE provider_accounts SET
  failing = '{}',
  rate = CASE WHEN breaker = 'open' THEN $2::float8 ELSE rate END,
  rate_since = CASE WHEN breaker = 'open' THEN now() ELSE rate_since END,
  tokens = CASE WHEN breaker = 'open' THEN 0 ELSE tokens END,
  tokens_at = CASE WHEN breaker = 'open' THEN now() ELSE tokens_at END,
  breaker = 'closed', reason = NULL, message = NULL, since = NULL, probe_at = NULL
WHERE account = $1 AND (breaker = 'open' OR failing <> '{}')
RETURNING rate IS NOT NULL AND rate_since = now() AS just_closed`;

/** Nothing at all until the provider's own time is over, and then half of what was done: once for each such time. */
const REPORT_THROTTLED = `
UPDATE provider_accounts SET
  throttled_until = greatest(throttled_until, now() + make_interval(secs => $2::float8 / 1000)),
  rate = CASE WHEN throttled_until > now() THEN rate ELSE greatest(1, least(
    coalesce(rate * power(2, least(30, extract(epoch FROM now() - rate_since) / 10)), $3::float8), $3::float8) / 2) END,
  rate_since = now(), tokens = 0, tokens_at = now()
WHERE account = $1`;

/**
 * The same for one kind of call at an account that answers. Refused ($4), it is out at once; else when it failed for three
 * operations without one success. Once it is out, only that it still fails is noted.
 */
const STEP_FAILED = `
INSERT INTO account_steps AS s (account, step, failing, out_since, reason, message, failed_at)
VALUES ($1, $2, jsonb_build_object($3::text, now()), CASE WHEN $4 = 'refused' THEN now() END,
  CASE WHEN $4 = 'refused' THEN $4 END, $5, now())
ON CONFLICT (account, step) DO UPDATE SET (failing, out_since, reason, message, failed_at) = (
  SELECT
    CASE WHEN was.out THEN s.failing ELSE n.failing END,
    CASE WHEN was.out THEN s.out_since WHEN n.opens THEN now() END,
    CASE WHEN was.out THEN s.reason WHEN n.opens THEN $4 END,
    CASE WHEN was.out THEN s.message ELSE $5 END,
    now()
  FROM (SELECT s.out_since IS NOT NULL AND s.failed_at > now() - make_interval(secs => $6::float8 / 1000) AS out) was,
  LATERAL (
    SELECT failing, $4 = 'refused' OR (SELECT count(*) FROM jsonb_object_keys(failing)) >= $7::int AS opens
    FROM (
      SELECT coalesce(jsonb_object_agg(key, value), '{}') || EXCLUDED.failing AS failing FROM jsonb_each(s.failing)
      WHERE (value#>>'{}')::timestamptz > now() - make_interval(secs => $6::float8 / 1000)
    ) f
  ) n
)
RETURNING out_since IS NOT NULL AS out, out_since = now() AS just_out`;

const STEP_ANSWERED = `
DELETE FROM account_steps WHERE account = $1 AND step = $2 RETURNING out_since IS NOT NULL AS was_out`;

const PIN = `
UPDATE provider_accounts SET
  identity = coalesce(identity, $2), livemode = coalesce(livemode, $3::boolean), pinned_at = coalesce(pinned_at, now())
WHERE account = $1
RETURNING identity, livemode`;

/** Reports are hurried: their passes have better to do than to wait for the account's row, and others report the same. */
export class AccountStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Makes the configured accounts known; those that are known keep what is known of them. */
  async register(accounts: readonly string[]): Promise<void> {
    await this.#database.query(
      'INSERT INTO provider_accounts (account) SELECT unnest($1::text[]) ON CONFLICT (account) DO NOTHING',
      [accounts],
    );
  }

  async list(): Promise<AccountState[]> {
    const rows = await this.#database.query<
      Omit<AccountState, 'since' | 'throttled_until'> & { since: Date | null; throttled_until: Date | null }
    >(`SELECT ${COLUMNS} FROM provider_accounts ORDER BY account`);
    return rows.map((row) => ({
      ...row,
      since: row.since?.toISOString() ?? null,
      throttled_until: row.throttled_until?.toISOString() ?? null,
    }));
  }

  /** Keeps who the account is at first contact, and returns who it was then. Null for an account that is not known. */
  async pin(
    account: string,
    seen: { readonly identity: string | null; readonly livemode: boolean | null },
  ): Promise<{ identity: string | null; livemode: boolean | null } | null> {
    const [row] = await this.#database.query<{ identity: string | null; livemode: boolean | null }>(
      PIN,
      [account, seen.identity, seen.livemode],
      'hurried',
    );
    return row ?? null;
  }

  /** Who stopped all writes of the account, why and when; null: nobody did. */
  async pauseOf(account: string): Promise<Pause | null> {
    const [row] = await this.#database.query<{ paused: Pause | null }>(
      'SELECT paused FROM provider_accounts WHERE account = $1',
      [account],
    );
    return row?.paused ?? null;
  }

  /** A failure that could be the account's. `open`: it is the account's. */
  async trouble(
    account: string,
    operation: string,
    message: string,
  ): Promise<{ open: boolean; just_opened: boolean }> {
    const [row] = await this.#database.query<{ open: boolean; just_opened: boolean | null }>(
      REPORT_TROUBLE,
      [account, operation, message, WINDOW_MS, PROBE_INTERVAL_MS, OPERATIONS_IN_TROUBLE],
      'hurried',
    );
    return { open: row?.open ?? false, just_opened: row?.just_opened ?? false };
  }

  /** A call of this kind failed at an account that answers. `out`: it is the account's failure, and no order's. */
  async stepFailed(
    account: string,
    step: StepName,
    operation: string,
    reason: 'outage' | 'refused',
    message: string,
  ): Promise<{ out: boolean; just_out: boolean }> {
    const [row] = await this.#database.query<{ out: boolean; just_out: boolean | null }>(
      STEP_FAILED,
      [account, step, operation, reason, message, STEP_WINDOW_MS, OPERATIONS_IN_TROUBLE],
      'hurried',
    );
    return { out: row?.out ?? false, just_out: row?.just_out ?? false };
  }

  /** A call of this kind succeeded. `was_out`: none did before. */
  async stepAnswered(account: string, step: StepName): Promise<{ was_out: boolean }> {
    const [row] = await this.#database.query<{ was_out: boolean }>(STEP_ANSWERED, [account, step], 'hurried');
    return { was_out: row?.was_out ?? false };
  }

  /** Nothing works for anybody until it is repaired; repeated reports are one stop. */
  async stop(account: string, reason: StopReason, message: string): Promise<{ just_opened: boolean }> {
    const [row] = await this.#database.query<{ just_opened: boolean }>(
      STOP,
      [account, reason, message, PROBE_INTERVAL_MS],
      'hurried',
    );
    return { just_opened: row?.just_opened ?? false };
  }

  /** The account answers; closes an open breaker and begins the metered release. */
  async success(account: string): Promise<{ just_closed: boolean }> {
    const [row] = await this.#database.query<{ just_closed: boolean }>(
      REPORT_SUCCESS,
      [account, RELEASE_RATE],
      'hurried',
    );
    return { just_closed: row?.just_closed ?? false };
  }

  /** `ceiling`: passes a second that the provider's limit allows. Reports within one throttled time are one. */
  async throttled(account: string, wait_ms: number, ceiling: number): Promise<void> {
    await this.#database.query(REPORT_THROTTLED, [account, wait_ms, ceiling], 'hurried');
  }

  /** Nothing waits any more: the limit has done its duty. */
  async relax(accounts: readonly string[]): Promise<void> {
    await this.#database.query(
      `UPDATE provider_accounts SET rate = NULL, rate_since = NULL
       WHERE account IN (
         SELECT account FROM provider_accounts
         WHERE account = ANY ($1::text[]) AND breaker = 'closed' AND (throttled_until IS NULL OR throttled_until <= now())
         FOR UPDATE SKIP LOCKED)`,
      [accounts],
    );
  }
}
