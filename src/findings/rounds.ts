/** Which part of an account's payments is listed next: rounds through windows of creation time. Pure. */
import type { Totals } from './compare.js';

/** One walk through a window, newest first. Times RFC 3339. */
export interface Round {
  readonly created_from: string;
  readonly created_to: string;
  /** The last payment of the page before; null: at the beginning. */
  readonly after: string | null;
  readonly payments: number;
  readonly totals: Totals;
}

export const PACES = ['recent', 'lookback'] as const;
export type Pace = (typeof PACES)[number];

/** Where an account's rounds stand, as stored. */
export interface Progress {
  readonly recent: Round | null;
  readonly lookback: Round | null;
  /** Everything created before was listed by a round that ended; null: none has ended. */
  readonly listed_until: string | null;
  readonly lookback_began_at: string | null;
}

/** An account whose rounds one worker goes on with. */
export interface SweepClaim {
  readonly account: string;
  readonly fencing_token: string;
  readonly progress: Progress;
  /** On the clock of the database. */
  readonly now: Date;
}

export interface Pacing {
  /** How far back payments can still change: captured late, refunded, confirmed after a while. */
  readonly lookback_ms: number;
  /** From the beginning of one slow round to that of the next. */
  readonly lookback_interval_ms: number;
  /** What is created last is listed again: the list may lag, and most payments get their money minutes later. */
  readonly overlap_ms: number;
}

/** The provider's clock may be ahead of ours by this. */
const SKEW_MS = 120_000;

const iso = (ms: number): string => new Date(ms).toISOString();
const begin = (from: number, now: number): Round => ({
  created_from: iso(Math.max(0, from)),
  created_to: iso(now + SKEW_MS),
  after: null,
  payments: 0,
  totals: {},
});

/** The round to go on with, or to begin; null: none of this pace is due. */
export function roundOf(pace: Pace, progress: Progress, now: Date, pacing: Pacing): Round | null {
  const time = now.getTime();
  const current = progress[pace];
  if (current !== null) return current;
  if (pace === 'recent') {
    // After an outage it goes back to where the last round ended.
    const until = progress.listed_until === null ? time : Date.parse(progress.listed_until);
    return begin(Math.min(until, time) - pacing.overlap_ms, time);
  }
  const began = progress.lookback_began_at;
  const isDue = began === null || time - Date.parse(began) >= pacing.lookback_interval_ms;
  return isDue ? begin(time - pacing.lookback_ms, time) : null;
}

/** Up to when everything is listed once this round has ended. */
export const listedBy = (round: Round): string => iso(Date.parse(round.created_to) - SKEW_MS);

export function afterPage(
  round: Round,
  page: { last: string | null; payments: number; totals: Totals },
): Round {
  return {
    ...round,
    after: page.last ?? round.after,
    payments: round.payments + page.payments,
    totals: added(round.totals, page.totals),
  };
}

/** Sums of two parts of a round. */
export function added(one: Totals, other: Totals): Totals {
  const sum: Record<string, Totals[string]> = { ...one };
  for (const [currency, { provider, recorded }] of Object.entries(other)) {
    const before = sum[currency] ?? { provider: 0, recorded: 0 };
    sum[currency] = { provider: before.provider + provider, recorded: before.recorded + recorded };
  }
  return sum;
}
