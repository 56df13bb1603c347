/** Deployments: processes come and go, and the sweep interval changes while they do. */
import { afterEach, expect, test } from '@jest/globals';
import { INTERVALS, ROLLED_RUNS } from '../support/acceptance/queue.js';
import { tally } from '../support/acceptance/record.js';
import { asRedis } from '../support/private-servers.js';
import { aProduct, until, type Process, type Product } from '../support/product.js';
import { queueView, type QueueView, type Schedule } from '../support/queue-view.js';

const WATCHED_MS = 4_000;

let product: Product | undefined;
let view: QueueView | undefined;
afterEach(async () => {
  await view?.close();
  await product?.stop();
});

const inWords = (schedules: readonly Schedule[]): string[] =>
  schedules.map(({ id, every }) => `${id} every ${every} ms`);

test.each(ROLLED_RUNS.map((run) => [run.title, run] as const))(
  '%s: one schedule, at the newest interval, and one tick a period',
  async (_title, { backend, processes, expected }) => {
    product = await aProduct(backend === 'redis' ? {} : { REDIS_URL: '' });
    const here = product;
    const url = backend === 'redis' ? (product.environment['REDIS_URL'] ?? '') : product.db.url;
    if (url === '') throw new Error('this test needs Redis');
    // What files before this one left in the database that they share.
    if (backend === 'redis') await asRedis(url, (redis) => redis.flushdb());
    const queue = (view = queueView(backend, url));
    const started: Process[] = [];
    const start = async (interval: number): Promise<void> => {
      started.push(await here.start('all', { SWEEP_INTERVAL_MS: String(interval) }));
    };

    await Promise.all(Array.from({ length: processes }, () => start(INTERVALS.before)));
    const present = async (): Promise<Schedule[] | null> => {
      const found = await queue.schedules();
      return found.length > 0 ? found : null;
    };
    const checkpoint = {
      schedules: inWords(await until(present, 'the schedule')),
      // None while a tick is being worked.
      'waiting ticks': await until(async () => (await queue.delayed()) || null, 'a tick to wait'),
    };

    const counts: number[] = [];
    let sampling = true;
    const samples = (async () => {
      while (sampling) {
        counts.push((await queue.schedules()).length);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    })();
    await Promise.all(Array.from({ length: processes }, () => start(INTERVALS.after)));
    const replaced = started.slice(0, processes);
    for (const old of replaced) old.kill('SIGTERM');
    const codes = (await Promise.all(replaced.map((old) => old.exited))).map(({ code }) => String(code));
    sampling = false;
    await samples;

    const ticks = async (): Promise<number> => (await queue.schedules())[0]?.ticks ?? 0;
    // Both readings just after a tick, so that no part of a period is counted.
    const atTick = async (): Promise<number> => {
      const before = await ticks();
      return until(async () => (await ticks()) > before && ticks(), 'a tick');
    };
    const first = await atTick();
    const began = performance.now();
    await new Promise((resolve) => setTimeout(resolve, WATCHED_MS));
    const last = await ticks();
    const periods = (performance.now() - began) / INTERVALS.after;
    const log = /"queue":"(\w+)"/.exec(started[0]?.output() ?? '')?.[1];
    const survivors = started.slice(processes).filter(({ pid }) => process.kill(pid, 0));
    expect({
      injected: { queue: log, starts: started.length, stops: codes.length },
      shown: {
        'schedules at any moment, least and most': [Math.min(...counts), Math.max(...counts)].map(String),
      },
      checkpoint,
      recovery: { 'exit codes of the replaced': tally(codes), 'processes that went on': survivors.length },
      final: {
        schedules: inWords(await queue.schedules()),
        'ticks in 4 s, from 8, beyond ±1': Math.max(0, Math.floor(Math.abs(last - first - periods)) - 1),
      },
      left: { 'waiting ticks beyond one': Math.max(0, (await queue.delayed()) - 1) },
    }).toEqual(expected);
  },
  120_000,
);
