/** What must hold of an order after a worker was lost: in the world, in its record, its journal and its timeline. */
import { expect } from '@jest/globals';
import { LEASE_MS, SWEEP_INTERVAL_MS, type EventRow, type Evidence, type TryRow } from './crash-arena.js';
import { lostIn, type Cell, type Moment, type Point } from './crash-points.js';

/** killed: SIGKILL · stopped: SIGSTOP for longer than the lease, and SIGCONT when others have done the work. */
export type Loss = 'killed' | 'stopped';

/** Sharing two cores; a takeover itself takes milliseconds. */
const PATIENCE_MS = 6_000;
/** Points at which the effect was there, so that nothing is left to be sent. */
const DONE: ReadonlySet<Point> = new Set(['effective', 'before record', 'after record']);

export interface Found extends Evidence {
  readonly atPoint: Moment;
  /** When another worker was there. */
  readonly manned: Date;
  /** As it was when the others had settled the order and the stopped worker had not gone on yet. */
  readonly settled: Evidence | null;
  /** The stopped worker could not write what it knew: it is as if it had been killed. */
  readonly brokenOff: boolean;
}

/** Steps after whose beginning nobody can say where the customer's money is. */
const MOVES_MONEY: ReadonlySet<string | undefined> = new Set([
  'confirm_payment',
  'capture_payment',
  'cancel_payment',
  'create_refund',
]);

export function thePointWasReached(cell: Cell, { tries, requests, effective, moneyMoved }: Moment): void {
  const outcomes = tries.map((one) => one.outcome);
  const answered = requests.map((request) => request.status !== null);
  expect({ outcomes, answered, effective }).toEqual(STANDS[cell.point]);
  if (MOVES_MONEY.has(lostIn(cell))) expect(moneyMoved).toMatchObject({ verdict: 'unknown', amount: null });
}

const STANDS: Readonly<Record<Point, { outcomes: unknown[]; answered: boolean[]; effective: boolean }>> = {
  'before intent': { outcomes: [], answered: [], effective: false },
  'after intent': { outcomes: [null], answered: [], effective: false },
  sent: { outcomes: [null], answered: [false], effective: false },
  effective: { outcomes: [null], answered: [false], effective: true },
  'before record': { outcomes: [null], answered: [true], effective: true },
  'after record': { outcomes: ['done'], answered: [true], effective: true },
};

export function theWorldIsAsWanted({ kind }: Cell, { ledger, requests }: Evidence): void {
  expect(ledger).toMatchObject({ ...kind.end.ledger, violations: [] });
  expect(ledger.intents).toHaveLength(1);
  const effects = requests.filter((request) => request.route === kind.route && request.had_effect);
  expect(effects).toHaveLength(1);
}

export function theRecordSaysSo({ kind }: Cell, { status, ledger }: Evidence): void {
  const { captured, refunded } = ledger;
  const moved = captured > 0;
  expect(status).toMatchObject({
    phase: kind.end.phase,
    attention: null,
    task: null,
    provider_reference: ledger.intents[0]?.id,
    payment: { captured, refunded, refund_pending: 0, authorized: moved ? expect.any(Number) : 0 },
    inventory: { state: ledger.stock.state },
    money_moved: { verdict: moved ? 'moved' : 'none', amount: captured - refunded },
    conditions: [
      { type: 'Synced', status: 'True' },
      { type: 'Ready', status: kind.end.phase === 'payment_failed' ? 'False' : 'True' },
    ],
  });
}

const isFinal = ({ outcome }: TryRow): boolean => outcome === 'done' || outcome === 'pending';

export function theJournalTellsWhatHappened({ kind, point }: Cell, found: Found, loss: Loss): void {
  // On a busy machine a worker may find itself too slow to begin, and says so.
  const tries = found.tries.filter(
    (one, index) => one.step === kind.step && (one.failure?.code !== 'lease_too_short' || index === 0),
  );
  const [first] = tries;
  // Whoever tried and how often: the same key and the same bytes.
  expect(new Set(tries.map(({ effect_key, parameters }) => `${effect_key} ${parameters}`)).size).toBe(1);
  for (const [index, one] of tries.entries()) {
    const settled = one.resolution !== null || tries.slice(index).some(isFinal);
    expect({ one, settled }).toEqual({ one, settled: true });
  }
  if (point === 'before intent' || point === 'after record') {
    expect(tries.map(({ outcome }) => outcome)).toEqual(['done']);
    return;
  }
  if (loss === 'killed' || found.brokenOff) expect(first?.outcome).toBeNull();
  else expect(first?.outcome).toEqual(LATE[point]);
  if (loss === 'stopped' && point === 'after intent' && !found.brokenOff)
    expect(first?.failure?.code).toBe('lease_too_short');
  // What was seen is not sent again. The identity of a payment alone cannot be seen without asking for it again.
  if (DONE.has(point) && kind.step !== 'create_payment') {
    expect(first?.resolution).toBe('effect_observed');
    expect(found.requests.filter((request) => request.route === kind.route)).toHaveLength(1);
    expect(tries).toHaveLength(1);
  }
}

/** What a worker that stood still for longer than its lease says when it goes on. */
const LATE: Readonly<Record<Exclude<Point, 'before intent' | 'after record'>, unknown>> = {
  // It is too late to begin.
  'after intent': 'not_sent',
  // Its patience has run out meanwhile; the answer may be there and is not looked at any more.
  sent: expect.stringMatching(/^(unknown|done)$/),
  effective: expect.stringMatching(/^(unknown|done)$/),
  // It had the answer already.
  'before record': 'done',
};

export function theTimelineTellsOfTheInterruption(cell: Cell, { events, tries, manned }: Found): void {
  const interruptions = events.filter((event) => event.type === 'interrupted_step_found');
  const step = lostIn(cell);
  expect(interruptions.map((event) => event.data?.['step'])).toEqual(step === undefined ? [] : [step]);
  const [interruption] = interruptions;
  if (interruption === undefined) return;
  expect(interruption.message).toMatch(/may or may not have taken effect/);
  const told = (event: EventRow): boolean =>
    event.sequence > interruption.sequence &&
    event.data?.['step'] === step &&
    ['effect_observed', 'effect_done', 'effect_pending'].includes(event.type);
  expect(events.filter(told).length).toBeGreaterThan(0);

  // Found by itself: not before the lease was over, and no later than a sweep after it.
  const begun = tries.find((one) => one.step === step)?.started_at.getTime() ?? 0;
  const found = interruption.at.getTime();
  expect(found - begun).toBeGreaterThanOrEqual(LEASE_MS);
  expect(found).toBeLessThan(Math.max(begun + LEASE_MS, manned.getTime()) + SWEEP_INTERVAL_MS + PATIENCE_MS);
}

/** What it knew was old: its answer is in its try and has a line in the timeline, and that is all. */
export function theLateWorkerChangedNothing(cell: Cell, found: Found, settled: Evidence): void {
  expect(found.status).toEqual(settled.status);
  expect(found.ledger).toEqual(settled.ledger);
  expect(found.events.slice(0, settled.events.length)).toEqual(settled.events);
  const late = found.events.slice(settled.events.length);
  const step = lostIn(cell);
  const word = (LATE as Partial<Record<Point, unknown>>)[cell.point] ?? expect.stringMatching(/./);
  expect(late.map(({ type, data }) => [data?.['step'], type.replace('effect_', '')])).toEqual(
    step === undefined ? [] : [[step, word]],
  );
}
