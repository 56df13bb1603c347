/** Steps × points × one or three workers: a worker is lost at each, and the world, the record and the journal are asked. */
import { afterAll, beforeAll, describe, test } from '@jest/globals';
import { anArena, type Arena, type Evidence } from './crash-arena.js';
import {
  theJournalTellsWhatHappened,
  theLateWorkerChangedNothing,
  thePointWasReached,
  theRecordSaysSo,
  theTimelineTellsOfTheInterruption,
  theWorldIsAsWanted,
  type Found,
  type Loss,
} from './crash-checks.js';
import { cellsOf, momentOf, RUNS, since, type Cell, type Moment, type Run } from './crash-points.js';
import { until, type Process } from './product.js';

/** Orders that are prepared at once. */
const TURN = 9;

export function crashMatrix(loss: Loss): void {
  let arena: Arena;
  let workers: Process[] = [];
  let round = 0;

  beforeAll(async () => {
    arena = await anArena();
    workers = [await arena.worker()];
  }, 60_000);
  afterAll(() => arena.stop());

  describe.each([1, 3])(`of %i worker(s), one is ${loss}`, (count) => {
    describe.each(RUNS)('$points', (run) => {
      round += 1;
      const cells = cellsOf(run, `r${round}`);
      let found: Map<string, Found>;

      beforeAll(async () => {
        while (workers.length < count) workers.push(await arena.worker());
        try {
          found = await lose(arena, workers, cells, run, loss);
          workers = await remaining(workers, count, loss);
        } catch (error) {
          // The next run begins anew.
          for (const one of workers) one.kill('SIGKILL');
          workers = [];
          await arena.lock.free().catch(() => undefined);
          await arena.control.clearFaults();
          throw error;
        }
      }, 90_000);

      test.each(cells.map((cell) => [cell.kind.step, cell.point, cell] as const))('%s %s', (_s, _p, cell) => {
        const evidence = found.get(cell.id);
        if (evidence === undefined) throw new Error(`nothing is known of ${cell.id}`);
        theWorldIsAsWanted(cell, evidence);
        theRecordSaysSo(cell, evidence);
        thePointWasReached(cell, evidence.atPoint);
        theJournalTellsWhatHappened(cell, evidence, loss);
        theTimelineTellsOfTheInterruption(cell, evidence);
        if (evidence.settled !== null) theLateWorkerChangedNothing(cell, evidence, evidence.settled);
      });
    });
  });
}

/** One loss: all orders to their points, the worker away, the others on, and then everything that is known. */
async function lose(
  arena: Arena,
  workers: Process[],
  cells: readonly Cell[],
  run: Run,
  loss: Loss,
): Promise<Map<string, Found>> {
  const [victim, ...others] = workers;
  if (victim === undefined) throw new Error('there is no worker to lose');
  const ids = cells.map(({ id }) => id);
  await inTurns(cells, ({ kind, id }) => kind.prepare(arena, id));
  const before = {
    tries: Math.max(0, ...(await arena.triesOf(ids)).map((one) => one.attempt_id)),
    requests: await arena.control.journalSequence(),
  };
  // They stand still, so that one process holds all orders when it is lost.
  for (const other of others) other.kill('SIGSTOP');
  await run.reach(arena, cells);

  victim.kill(loss === 'killed' ? 'SIGKILL' : 'SIGSTOP');
  if (loss === 'killed') await victim.exited;
  await run.settleStatements(arena, cells);
  const atPoint = await moments(arena, cells, before);
  for (const other of others) other.kill('SIGCONT');
  // Of one worker the heir is started only now.
  if (others.length === 0) workers.push(await arena.worker());
  const manned = await arena.now();
  await arena.quiet(ids);

  let settled: Map<string, Evidence> | null = null;
  let brokenOff: ReadonlySet<string> = new Set();
  if (loss === 'stopped') {
    settled = await arena.gather(ids);
    victim.kill('SIGCONT');
    brokenOff = await hasGoneOn(arena, victim, ids);
    await arena.quiet(ids);
  }
  // Requests that were held take effect in their own time, whoever sent them.
  await until(async () => {
    const requests = await arena.control.journal({ after: before.requests });
    return requests.every((request) => request.status !== null);
  }, 'all requests to be answered');
  const evidence = await arena.gather(ids);
  return new Map(
    cells.map((cell) => {
      const seen = evidence.get(cell.id);
      const moment = atPoint.get(cell.id);
      if (seen === undefined || moment === undefined) throw new Error(`${cell.id} was not seen`);
      return [
        cell.id,
        {
          ...seen,
          tries: since(seen.tries, before.tries),
          requests: since(seen.requests, before.requests),
          atPoint: moment,
          manned,
          settled: settled?.get(cell.id) ?? null,
          brokenOff: brokenOff.has(cell.id),
        },
      ];
    }),
  );
}

async function inTurns<Item>(items: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < items.length; at += TURN) await Promise.all(items.slice(at, at + TURN).map(work));
}

async function moments(
  arena: Arena,
  cells: readonly Cell[],
  before: { readonly tries: number; readonly requests: number },
): Promise<Map<string, Moment>> {
  const tries = since(await arena.triesOf(cells.map(({ id }) => id)), before.tries);
  const requests = await arena.control.journal({ after: before.requests });
  return new Map(
    await Promise.all(
      cells.map(async (cell): Promise<[string, Moment]> => {
        const [ledger, { body }] = await Promise.all([
          arena.control.ledger(cell.id),
          arena.client.get(cell.id),
        ]);
        return [cell.id, momentOf(cell, tries, requests, ledger, body.status)];
      }),
    ),
  );
}

/**
 * The stopped worker has said what it knows: each of its tries is completed, and its intents were refused. Gives the
 * orders whose pass it broke off because it could not reach the database for seconds, as happens on a busy machine.
 */
async function hasGoneOn(arena: Arena, victim: Process, ids: readonly string[]): Promise<Set<string>> {
  const before = victim.output().length;
  const named = (words: string): Set<string> => {
    const line = new RegExp(`"operation_id":"([^"]+)"[^\\n]*${words}`, 'g');
    return new Set([...victim.output().slice(before).matchAll(line)].map(([, id]) => id ?? ''));
  };
  return until(async () => {
    const broken = named('a pass was broken off');
    const refused = named('the lease was lost');
    const open = (await arena.triesOf(ids))
      .filter((one) => one.outcome === null)
      .map((one) => one.operation_id);
    const silent = ids.filter((id) => !refused.has(id) && !id.includes('after-record'));
    const missing = [...open, ...silent].filter((id) => !broken.has(id));
    if (missing.length > 0) throw new Error(missing.join(', '));
    return broken;
  }, 'the stopped worker to say what it knows');
}

/** Whoever is left for the next run; of one worker, its heir. */
async function remaining(workers: readonly Process[], count: number, loss: Loss): Promise<Process[]> {
  const [victim, ...others] = workers;
  if (victim === undefined || loss === 'killed') return others;
  if (count > 1) return [...others, victim];
  victim.kill('SIGKILL');
  await victim.exited;
  return others;
}
