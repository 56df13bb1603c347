/** Exponential backoff with full jitter: spreads the retries of many records over the whole interval. */

export interface BackoffPolicy {
  readonly base_ms: number;
  readonly max_ms: number;
}

/**
 * Milliseconds to wait after the `failures`-th failure in a row (1, 2, …), uniform in [0, min(max, base·2^(n-1))].
 * `random` is uniform in [0, 1).
 */
export function backoff(failures: number, policy: BackoffPolicy, random: number): number {
  // 2^30 x 1 ms is beyond any sensible maximum; the bound keeps the power finite.
  const exponent = Math.min(Math.max(failures - 1, 0), 30);
  const ceiling = Math.min(policy.max_ms, policy.base_ms * 2 ** exponent);
  return Math.round(ceiling * random);
}
