/** `Retry-After` (RFC 9110, 10.2.3), which the SDK ignores. */

/** A longer wish is taken for a mistake: it would stop the account's work without anybody having decided so. */
const LONGEST_MS = 60 * 60 * 1000;

/**
 * Milliseconds to wait, or null where the other side does not say or cannot be understood. A point in time is
 * measured from the answer's own `Date`, so that our clock does not matter.
 */
export function retryAfterMs(headers: Readonly<Record<string, unknown>>): number | null {
  const asked = headers['retry-after'];
  if (typeof asked !== 'string') return null;
  if (/^\s*\d+\s*$/.test(asked)) return Math.min(Number(asked) * 1000, LONGEST_MS);
  // Date.parse takes almost anything ("1.5" is a day in 2001); an HTTP date ends in GMT.
  if (!asked.trim().endsWith('GMT')) return null;
  const sent = headers['date'];
  const wait = Date.parse(asked) - Date.parse(typeof sent === 'string' ? sent : '');
  return Number.isNaN(wait) ? null : Math.min(Math.max(wait, 0), LONGEST_MS);
}
