/** What the metrics say about the stored operations; read from Postgres at each scrape. */
export interface Statistics {
  readonly operations: ReadonlyMap<string, number>;
  /** Operations that need a person, by reason. */
  readonly attention: ReadonlyMap<string, number>;
  /** How late the most overdue record is; 0 when nothing is overdue. */
  readonly oldest_due_seconds: number;
  /** Operations whose phase should have moved by itself and has not for long, by phase. */
  readonly stale_progress: ReadonlyMap<string, number>;
  /** 0 healthy, 1 throttled, 2 breaker open, 3 writes stopped by a person; by account. */
  readonly accounts: ReadonlyMap<string, number>;
  /** Steps that an account does not take although it answers. */
  readonly steps_out: readonly { readonly account: string; readonly step: string }[];
  /** Operations with repeated failures of one step. */
  readonly repeated_failures: number;
  /** Money of operations that need a person, by currency, in minor units. */
  readonly money_at_stake: ReadonlyMap<string, number>;
  /** Open findings of the two-sided sweep, by kind. */
  readonly findings: ReadonlyMap<string, number>;
  /** Since the recent payments of an account were last compared to the end, by account. */
  readonly orphan_sweep_age_seconds: ReadonlyMap<string, number>;
  /** What the provider holds for our orders minus what is recorded, in minor units, as of the last slow round. */
  readonly total_differences: readonly {
    readonly account: string;
    readonly currency: string;
    readonly minor: number;
  }[];
}
