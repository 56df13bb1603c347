/** One command for many operations: which commands, what they move in all, and when no more rows are begun. Pure. */
import type { CommandOutcome } from './evidence.js';
import { COMMAND_NAMES, PARAMETERS, type CommandName } from './command-rule.js';

/** What a person can still look through, and what can be looked at while a caller waits. */
export const MOST_OPERATIONS = 200;
export const STOP_AFTER_FAILURES = 3;
/** A provider that answers slowly is not to be flooded by one person's list. */
export const MOST_AT_ONCE = 5;
/** A pass looks within a second or so; whatever was not looked at for so long may as well have failed. */
export const SILENCE_MS = 60_000;

/** Commands that say the same of every order: they need no parameter that belongs to one of them. */
export const BULK_COMMANDS: readonly CommandName[] = COMMAND_NAMES.filter(
  (name) => PARAMETERS[name].safeParse({}).success,
);

/** Minor units of `currency` that one row may move. */
export interface Moved {
  readonly amount: number;
  readonly currency: string;
}

export interface Total extends Moved {
  readonly operations: number;
}

/** One entry a currency, in the order of their names. */
export function totalsOf(rows: readonly Moved[]): Total[] {
  const totals = new Map<string, Total>();
  for (const { amount, currency } of rows) {
    const { amount: sum, operations } = totals.get(currency) ?? { amount: 0, operations: 0 };
    totals.set(currency, { currency, amount: sum + amount, operations: operations + 1 });
  }
  return [...totals.values()].sort((a, b) => (a.currency < b.currency ? -1 : 1));
}

/** How far one row is. */
export interface Progress {
  readonly preview_id: string;
  readonly carried_out: boolean;
  readonly refused: boolean;
  readonly outcome: CommandOutcome | null;
  /** Milliseconds since it was carried out; 0 where it was not. */
  readonly age_ms: number;
}

/** Commands after which an order goes on: what was observed then says whether they helped. */
const GOES_ON: ReadonlySet<CommandName> = new Set(['retry', 'resume']);

/** Counts as a failure: refused, of no help, or not looked at for long. */
export function isFailed(command: CommandName, { refused, carried_out, outcome, age_ms }: Progress): boolean {
  if (refused) return true;
  if (outcome === null) return carried_out && age_ms >= SILENCE_MS;
  if (!GOES_ON.has(command)) return false;
  const last = outcome.attempts.at(-1);
  const answered = last === undefined || last.outcome === 'done' || last.outcome === 'pending';
  return outcome.attention !== null || !answered;
}

export type NextRows =
  /** To be begun, or asked again what became of them; `under_way` are with somebody already. */
  | { readonly kind: 'rows'; readonly preview_ids: readonly string[] }
  | { readonly kind: 'wait' }
  | { readonly kind: 'over'; readonly stopped: 'failures' | null };

/**
 * Never more rows are open, begun and not known to have helped, than may still fail: exactly `stopAfter` failures are the
 * most that can happen.
 */
export function nextRows(
  command: CommandName,
  rows: readonly Progress[],
  underWay: ReadonlySet<string>,
  stopAfter: number,
): NextRows {
  const failures = rows.filter((row) => isFailed(command, row)).length;
  const waiting = rows.filter((row) => !row.refused && !row.carried_out && !underWay.has(row.preview_id));
  const unseen = rows.filter(
    (row) =>
      row.carried_out && row.outcome === null && !isFailed(command, row) && !underWay.has(row.preview_id),
  );
  const room = Math.min(stopAfter - failures, MOST_AT_ONCE) - underWay.size - unseen.length;
  const begun = [...unseen, ...waiting.slice(0, Math.max(0, room))].map(({ preview_id }) => preview_id);
  if (begun.length > 0) return { kind: 'rows', preview_ids: begun };
  if (underWay.size > 0) return { kind: 'wait' };
  return { kind: 'over', stopped: waiting.length > 0 ? 'failures' : null };
}
