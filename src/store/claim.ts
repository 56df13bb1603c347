/** What a worker takes from the record to work on: due records under its lease, with their journals. */
import type { Pause } from '../operation/operation.js';
import type { JournalAttempt, OperationRecord } from './record.js';

/** A record under our lease, with its journal. */
export interface Claim {
  readonly row: string;
  readonly fencing_token: number;
  /** Passes in a row that broke off before this one. */
  readonly broken: number;
  readonly record: OperationRecord;
  readonly attempts: readonly JournalAttempt[];
  /** All writes of the account are stopped by a person: no intent of this pass will be recorded. */
  readonly account_paused?: Pause;
}

export interface Claimed {
  readonly claims: Claim[];
  /** Limited accounts for which nothing waits any more. */
  readonly drained: string[];
  /** Accounts that are out, of which a record was claimed to see whether they are back. */
  readonly probed: string[];
  /** On the clock of the database, by which leases run and tries are dated; null when no account is known. */
  readonly now: Date | null;
  /** Some account is out, limited or throttled: what it holds back may be claimable soon. */
  readonly held: boolean;
}

/** How many records of one account a claim may take, so that some room is left for the others. */
export interface Shares {
  readonly most: number;
  /** Of accounts that hold some already. */
  readonly left: ReadonlyMap<string, number>;
}

/** Nearer than this, a record goes before those that only wait longer. */
export const NEAR_DEADLINE_MS = 60 * 60 * 1000;

/**
 * Takes up to `$1` due records that nobody holds; a lease that ran out is nobody's. Of each account no more than it may
 * bear now, so one that is out or slow neither fills the batch nor holds up another:
 *
 *   probes   an account whose breaker is open: one record now and then
 *   metered  one that was throttled or came back: what its rate has saved up, at most a quarter of a second's worth;
 *            turns are scarce then, so half of them go to records near their deadline, the nearest first
 *   free     all others
 *
 * Of none more than a share ($7), or what is left of it where passes are under way already ($8, $9).
 *
 * What somebody else keeps locked, a record or an account's row, is left to a later claim.
 */
export const CLAIM = {
  name: 'claim',
  text: `
WITH probes AS (
  UPDATE provider_accounts a SET probe_at = now() + make_interval(secs => $4::float8 / 1000), granted = 1
  FROM (
    SELECT account FROM provider_accounts WHERE breaker = 'open' AND probe_at <= now() FOR UPDATE SKIP LOCKED
  ) b
  WHERE a.account = b.account
  RETURNING a.account, a.granted
), rooms AS (
  SELECT account, coalesce(held.room, $7::int) AS room
  FROM provider_accounts LEFT JOIN unnest($8::text[], $9::int[]) AS held(account, room) USING (account)
), metered AS (
  UPDATE provider_accounts a
  SET granted = g.granted, tokens = m.saved - g.granted, tokens_at = greatest(b.tokens_at, now())
  FROM (SELECT * FROM provider_accounts WHERE rate IS NOT NULL FOR UPDATE SKIP LOCKED) b JOIN rooms USING (account), LATERAL (
    SELECT least($5::float8, b.rate * power(2, least(30, extract(epoch FROM now() - b.rate_since) / 10))) AS rate
  ) r, LATERAL (
    SELECT least(greatest(1, r.rate / 4), b.tokens + r.rate * greatest(0, extract(epoch FROM now() - b.tokens_at))) AS saved
  ) m, LATERAL (SELECT least($1, floor(m.saved), rooms.room) AS granted) g
  WHERE a.account = b.account AND a.breaker = 'closed' AND a.rate IS NOT NULL
    AND (a.throttled_until IS NULL OR a.throttled_until <= now())
  RETURNING a.account, a.granted
), permits AS (
  SELECT account, granted, 'probe' AS kind FROM probes
  UNION ALL SELECT account, granted, 'metered' FROM metered
  UNION ALL SELECT account, least($1, room), 'free' FROM provider_accounts JOIN rooms USING (account)
    WHERE breaker = 'closed' AND rate IS NULL AND (throttled_until IS NULL OR throttled_until <= now())
), urgent AS (
  SELECT d.id, permits.account FROM permits, LATERAL (
    SELECT o.id FROM order_operations o
    WHERE o.account = permits.account AND o.deadline_at <= now() + make_interval(secs => $6::float8 / 1000)
      AND o.next_attempt_at <= now() AND (o.lease_expires_at IS NULL OR o.lease_expires_at <= now())
    ORDER BY o.deadline_at
    -- Half of the turns: what has no deadline (money to give back) goes on, too.
    LIMIT ceil(permits.granted / 2.0)
    FOR UPDATE SKIP LOCKED
  ) d
  WHERE permits.kind = 'metered'
), waiting AS (
  SELECT d.id, d.next_attempt_at, permits.account FROM permits, LATERAL (
    SELECT o.id, o.next_attempt_at FROM order_operations o
    WHERE o.account = permits.account AND o.next_attempt_at <= now()
      AND (o.lease_expires_at IS NULL OR o.lease_expires_at <= now()) AND o.id <> ALL (ARRAY(SELECT id FROM urgent))
    ORDER BY o.next_attempt_at
    LIMIT permits.granted - (SELECT count(*) FROM urgent WHERE urgent.account = permits.account)
    FOR UPDATE SKIP LOCKED
  ) d
), due AS (
  SELECT id, account, '-infinity' AS turn FROM urgent UNION ALL SELECT id, account, next_attempt_at FROM waiting
), claimed AS (
  UPDATE order_operations o
  SET lease_holder = $2, lease_expires_at = now() + make_interval(secs => $3::float8 / 1000),
      fencing_token = fencing_token + 1, wake_at_claim = wake
  FROM (SELECT id FROM due ORDER BY turn LIMIT $1) d WHERE o.id = d.id
  -- Held before, or its journal was put back without it. That is asked so that it is looked up in the order of the key: for
  -- EXISTS the planner reads the whole journal where it expects a backlog.
  RETURNING o.*, o.fencing_token > 1
    OR (SELECT operation FROM operation_attempts WHERE operation >= o.id ORDER BY operation LIMIT 1) = o.id AS may_have_journal
)
SELECT provider_accounts.account, permits.kind = 'probe' AS probed,
  permits.kind = 'metered' AND (SELECT count(*) FROM due WHERE due.account = provider_accounts.account) < permits.granted AS drained,
  breaker = 'open' OR rate IS NOT NULL OR coalesce(throttled_until > now(), false) AS held, now() AS now,
  provider_accounts.paused,
  coalesce(json_agg(claimed ORDER BY claimed.next_attempt_at) FILTER (WHERE claimed.id IS NOT NULL), '[]') AS claims
FROM provider_accounts LEFT JOIN permits USING (account) LEFT JOIN claimed USING (account)
GROUP BY provider_accounts.account, permits.kind, permits.granted`,
};

/**
 * The journals of claimed records, each looked up by itself, whatever the planner was last told of the table. A statement
 * of its own: a claim sees each row as its last writer left it, but other tables as they were when the claim began, which
 * can be a moment earlier. Nobody else can have written to the journal of a record that was never held before; what the
 * claim sees of it is all there is.
 */
export const JOURNALS = `
SELECT journal.* FROM unnest($1::bigint[]) AS claimed(id),
  LATERAL (SELECT * FROM operation_attempts WHERE operation = claimed.id OFFSET 0) journal
ORDER BY journal.attempt_id`;
