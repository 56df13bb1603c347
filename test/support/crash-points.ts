/**
 * The points around an effect, as they can be told apart from outside. Each run brings all its orders to their points
 * with one worker, which is then lost once.
 *
 *   before intent   claimed and read; the statement that records the intent never reaches the rows
 *   after intent    the intent is recorded, and the process that asked for it never gets to know: nothing is sent
 *   sent            the request has arrived and has not taken effect; it will, long after its worker was lost
 *   effective       it took effect; its answer is held back
 *   before record   answered; the statement that records the answer never reaches the rows
 *   after record    answered and recorded, together with the intent of the next step, whose request is held like `sent`
 *                   (or, after the last step, with the release)
 */
import type { StepName } from '../../src/operation/attempt.js';
import { LEASE_MS, type Arena, type TryRow } from './crash-arena.js';
import { STEP_CASES, type StepCase } from './crash-steps.js';
import { until } from './product.js';
import type { JournalEntry, LedgerEntry } from './sandbox-control.js';

export type Point =
  'before intent' | 'after intent' | 'sent' | 'effective' | 'before record' | 'after record';

export interface Cell {
  readonly id: string;
  readonly point: Point;
  readonly kind: StepCase;
}

/** What stood in the records and in the world when the worker was lost, of the step that it was lost in. */
export interface Moment {
  readonly tries: readonly TryRow[];
  readonly requests: readonly JournalEntry[];
  readonly effective: boolean;
  /** What the API says of the customer's money. */
  readonly moneyMoved: unknown;
}

export interface Run {
  readonly points: readonly Point[];
  /** Resolves when each order stands at its point. */
  reach(arena: Arena, cells: readonly Cell[]): Promise<void>;
  /** With the worker gone or standing: what becomes of the statements that it had sent. */
  settleStatements(arena: Arena, cells: readonly Cell[]): Promise<void>;
}

/** Held requests take effect a little after the lease of their worker is over, and are answered no sooner. */
const HELD_MS = LEASE_MS + 1_000;
/** Answered late enough for all intents to be recorded before the first answer comes. */
const PAUSE_MS = 1_200;

const triggerAll = (arena: Arena, cells: readonly Cell[]): Promise<unknown> =>
  Promise.all(cells.map(({ kind, id }) => kind.trigger(arena, id)));

/** All that the worker has to write of these orders waits in Postgres. */
async function waits(arena: Arena, cells: readonly Cell[]): Promise<void> {
  await arena.standing(cells.map(({ id }) => id));
  await until(
    async () => (await arena.lock.waiting()) === cells.length || null,
    'a statement of each order to wait',
  );
}

const open = async (arena: Arena, cells: readonly Cell[]): Promise<TryRow[]> => {
  const tries = await arena.triesOf(cells.map(({ id }) => id));
  return tries.filter((one) => one.outcome === null);
};

async function neverHappen(arena: Arena): Promise<void> {
  await arena.lock.cutOff();
  await arena.lock.free();
}

export const RUNS: readonly Run[] = [
  {
    points: ['before intent'],
    async reach(arena, cells) {
      await arena.lock.take();
      await triggerAll(arena, cells);
      await waits(arena, cells);
    },
    settleStatements: neverHappen,
  },
  {
    points: ['after intent'],
    async reach(arena, cells) {
      await arena.lock.take();
      await triggerAll(arena, cells);
      await waits(arena, cells);
    },
    // Postgres has the statements, and carries them out for a process that is gone or stands.
    async settleStatements(arena, cells) {
      await arena.lock.free();
      await until(async () => (await open(arena, cells)).length === cells.length, 'the intents of the lost');
    },
  },
  {
    points: ['before record'],
    async reach(arena, cells) {
      await Promise.all(
        cells.map(({ id, kind: { route } }) =>
          arena.control.inject({
            route,
            kind: 'delay_after',
            delay_ms: PAUSE_MS,
            match: { operation_id: id },
          }),
        ),
      );
      await triggerAll(arena, cells);
      await until(async () => (await open(arena, cells)).length === cells.length, 'all intents');
      await arena.lock.take();
      await waits(arena, cells);
    },
    settleStatements: neverHappen,
  },
  {
    points: ['sent', 'effective', 'after record'],
    async reach(arena, cells) {
      const after = await arena.control.journalSequence();
      await Promise.all(cells.map((cell) => hold(arena, cell)));
      await triggerAll(arena, cells);
      await until(async () => {
        const tries = await arena.triesOf(cells.map(({ id }) => id));
        const requests = await arena.control.journal({ after });
        const there = await Promise.all(cells.map((cell) => isHeld(arena, cell, tries, requests)));
        const missing = cells.filter((_, index) => !there[index]);
        if (missing.length > 0) throw new Error(missing.map(({ id }) => id).join(', '));
        return true;
      }, 'all orders to stand at their points');
    },
    settleStatements: () => Promise.resolve(),
  },
];

async function hold({ control }: Arena, { id, point, kind }: Cell): Promise<void> {
  const route = point === 'after record' ? kind.next?.route : kind.route;
  if (route === undefined) return;
  await control.inject({
    route,
    kind: point === 'effective' ? 'delay_after' : 'delay_before',
    delay_ms: HELD_MS,
    match: { operation_id: id },
  });
}

async function isHeld(
  { control }: Arena,
  { id, point, kind }: Cell,
  tries: readonly TryRow[],
  requests: readonly JournalEntry[],
): Promise<boolean> {
  const held = requests.some((request) => request.operation_id === id && request.fault?.startsWith('delay'));
  if (point === 'sent') return held;
  if (point === 'effective') return held && kind.effective(await control.ledger(id));
  const last = tries.filter((one) => one.operation_id === id).at(-1);
  return kind.next === null ? last?.step === kind.step && last.outcome !== null : held;
}

/** The tries and requests since an order was prepared; `before` is the number of the last one that belongs to that. */
export const since = <Item extends { attempt_id?: number; sequence?: number }>(
  items: readonly Item[],
  before: number,
): Item[] => items.filter((item) => (item.attempt_id ?? item.sequence ?? 0) > before);

export function momentOf(
  { kind, id }: Cell,
  tries: readonly TryRow[],
  requests: readonly JournalEntry[],
  ledger: LedgerEntry,
  status: Readonly<Record<string, unknown>>,
): Moment {
  return {
    tries: tries.filter((one) => one.operation_id === id && one.step === kind.step),
    requests: requests.filter((one) => one.operation_id === id && one.route === kind.route),
    effective: kind.effective(ledger),
    moneyMoved: status['money_moved'],
  };
}

/** The step in which a worker is lost at a point: begun, and its answer not recorded. */
export function lostIn({ point, kind }: Pick<Cell, 'point' | 'kind'>): StepName | undefined {
  switch (point) {
    case 'before intent':
      return undefined;
    case 'after record':
      return kind.next?.step;
    case 'after intent':
    case 'sent':
    case 'effective':
    case 'before record':
      return kind.step;
  }
}

export const cellsOf = (run: Run, prefix: string): Cell[] =>
  run.points.flatMap((point) =>
    STEP_CASES.map((kind) => ({ point, kind, id: `${prefix}-${point.replace(' ', '-')}-${kind.step}` })),
  );
