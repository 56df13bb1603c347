/** Counts over the stored operations for the metrics; one statement. */
import type { Statistics } from '../telemetry/statistics.js';
import { STEP_WINDOW_MS } from './account-store.js';
import type { Database } from './database.js';

/** Phases that should move by themselves; a record that stands in one for so long deserves a look. */
const STALE_AFTER_SECONDS = 600;
/** Debits and refunds take banks up to two weeks. */
const BANK_STALE_AFTER_SECONDS = 14 * 24 * 60 * 60;
/** Two failures happen; three in a row of one operation are a pattern. */
const REPEATED_FAILURES = 3;

/**
 * Grows with what is open, and not with what is settled: of that, a sum is kept. What is overdue is asked of each account's
 * end of the index of what is due; whatever is worked on stays there, and is passed over.
 */
export const COUNT = `
WITH open AS MATERIALIZED (
  SELECT phase,
    attention_reason IS NULL AND NOT (facts ? 'account_paused')
      -- An order that waits for its bank stands still rightly: some of them at any time would hide those that are stuck.
      AND updated_at < now() - make_interval(secs => CASE WHEN condition IN ('PaymentProcessing', 'RefundPending')
        THEN ${BANK_STALE_AFTER_SECONDS} ELSE $1 END) AND condition <> 'DisputeOpen'
      AND phase IN ('accepted', 'payment_pending', 'payment_unknown', 'fulfilling', 'cancelling') AS is_stale,
    broken >= $2 OR CASE WHEN jsonb_typeof(facts->'budget'->'used') = 'number'
      THEN (facts->'budget'->'used')::numeric >= $2 ELSE false END AS fails_repeatedly
  FROM order_operations WHERE settled_at IS NULL
)
SELECT
  (SELECT coalesce(json_object_agg(phase, n), '{}') FROM (
     SELECT phase, sum(n) AS n FROM (
       SELECT phase, count(*) AS n FROM open GROUP BY phase
       UNION ALL SELECT phase, orders FROM settled_counts) c
     GROUP BY phase HAVING sum(n) > 0) p) AS operations,
  (SELECT coalesce(json_object_agg(attention_reason, n), '{}') FROM (
     SELECT attention_reason, count(*) AS n FROM order_operations
     WHERE attention_reason IS NOT NULL GROUP BY attention_reason) a) AS attention,
  (SELECT coalesce(json_object_agg(currency, total), '{}') FROM (
     SELECT currency, sum(amount) AS total FROM order_operations
     WHERE attention_reason IS NOT NULL GROUP BY currency) m) AS money_at_stake,
  (SELECT coalesce(json_object_agg(phase, n), '{}') FROM (
     SELECT phase, count(*) AS n FROM open WHERE is_stale GROUP BY phase) s) AS stale_progress,
  (SELECT coalesce(json_object_agg(account, CASE WHEN paused IS NOT NULL THEN 3 WHEN breaker = 'open' THEN 2 WHEN throttled_until > now() THEN 1 ELSE 0 END),
     '{}') FROM provider_accounts) AS accounts,
  (SELECT coalesce(json_agg(json_build_object('account', account, 'step', step)), '[]') FROM account_steps
     WHERE out_since IS NOT NULL AND failed_at > now() - interval '${STEP_WINDOW_MS} milliseconds') AS steps_out,
  (SELECT coalesce(json_object_agg(kind, n), '{}') FROM (
     SELECT kind, count(*) AS n FROM findings WHERE state = 'open' GROUP BY kind) f) AS findings,
  (SELECT coalesce(json_object_agg(account, extract(epoch FROM now() - ended_at)), '{}')
     FROM orphan_sweeps WHERE account = ANY ($3::text[])) AS sweep_ages,
  (SELECT coalesce(json_agg(json_build_object('account', account, 'currency', currency,
     'minor', (sums->>'provider')::bigint - (sums->>'recorded')::bigint)), '[]')
     FROM orphan_sweeps, jsonb_each(totals) AS t(currency, sums) WHERE account = ANY ($3::text[])) AS total_differences,
  (SELECT count(*) FROM open WHERE fails_repeatedly) AS repeated_failures,
  (SELECT extract(epoch FROM now() - min(due.next_attempt_at)) FROM provider_accounts a, LATERAL (
     SELECT next_attempt_at FROM order_operations o
     WHERE o.account = a.account AND o.next_attempt_at <= now() AND (o.lease_expires_at IS NULL OR o.lease_expires_at <= now())
     ORDER BY o.next_attempt_at LIMIT 1) due) AS oldest_due_seconds`;

type Counts = Record<string, number>;

/** `swept`: the accounts that are configured. The sweep of one that was is over, and says nothing of today. */
export async function collectStatistics(database: Database, swept: readonly string[]): Promise<Statistics> {
  const [row] = await database.query<{
    operations: Counts;
    attention: Counts;
    money_at_stake: Counts;
    stale_progress: Counts;
    accounts: Counts;
    steps_out: Statistics['steps_out'];
    findings: Counts;
    sweep_ages: Counts;
    total_differences: Statistics['total_differences'];
    repeated_failures: string;
    oldest_due_seconds: string | null;
  }>(COUNT, [STALE_AFTER_SECONDS, REPEATED_FAILURES, swept]);
  if (row === undefined) throw new Error('the statistics statement returned no row');
  const counts = (members: Counts): Map<string, number> => new Map(Object.entries(members));
  return {
    operations: counts(row.operations),
    attention: counts(row.attention),
    money_at_stake: counts(row.money_at_stake),
    stale_progress: counts(row.stale_progress),
    accounts: counts(row.accounts),
    steps_out: row.steps_out,
    findings: counts(row.findings),
    orphan_sweep_age_seconds: counts(row.sweep_ages),
    total_differences: row.total_differences,
    repeated_failures: Number(row.repeated_failures),
    oldest_due_seconds: Number(row.oldest_due_seconds ?? 0),
  };
}
