import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Sweep } from '../../src/reconciler/sweep.js';
import { until } from '../support/product.js';
import { aWorld, type World } from '../support/world.js';

let world: World;
beforeAll(async () => {
  world = await aWorld();
});
afterAll(() => world.stop());

const SILENT = { ring: () => undefined };
const ids = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${name}-${index}`);
const fulfilled = async (names: readonly string[]): Promise<true | null> =>
  (await world.store.findMany(names)).every(({ status }) => status.phase === 'fulfilled') || null;

test.each([
  ['two minutes ahead', 120_000],
  ['two minutes behind', -120_000],
])('a worker whose clock is %s works on the clock of the database', async (_name, wrong_ms) => {
  const id = `clock ${wrong_ms}`;
  await world.create(id);
  const clock = { now: () => new Date(Date.now() + wrong_ms), random: Math.random };
  const sweep = new Sweep(world.worker({ clock }), SILENT, { concurrency: 4, interval_ms: 60_000 });
  await sweep.tick();
  await until(() => fulfilled([id]), 'the order to be fulfilled');
  await sweep.drain();
  const { facts, status } = await world.get(id);
  const [row] = await world.db.database.query<{ now: Date }>('SELECT now() AS now');
  for (const at of [facts.payment.observed_at, status.settled_at])
    expect(Math.abs(Date.parse(at ?? '') - (row?.now.getTime() ?? 0))).toBeLessThan(60_000);
});

test('more orders than fit are all settled by claims that take a good part of what fits, without another tick', async () => {
  const names = ids('many', 60);
  for (const name of names) await world.create(name);
  const loop = world.worker();
  const taken: number[] = [];
  const store = new Proxy(loop.store, {
    get(target, name) {
      if (name === 'claim')
        return async (...asked: Parameters<typeof target.claim>) => {
          const claimed = await target.claim(...asked);
          taken.push(claimed.claims.length);
          return claimed;
        };
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
  const sweep = new Sweep({ ...loop, store }, SILENT, { concurrency: 20, interval_ms: 60_000 });
  await sweep.tick();
  await until(() => fulfilled(names), 'all orders to be fulfilled', 30_000);
  await sweep.drain();
  expect(taken.reduce((sum, one) => sum + one, 0)).toBeGreaterThanOrEqual(60);
  // One by one it would take a claim for each of the forty that did not fit at first.
  expect(taken.length).toBeLessThan(30);
}, 60_000);

test('a ring that lasts is good for what comes while it does, and for nothing after it', async () => {
  const sweep = new Sweep(world.worker(), SILENT, { concurrency: 4, interval_ms: 60_000 });
  await sweep.tick(3_000);
  await world.create('comes while it lasts');
  await until(
    () => fulfilled(['comes while it lasts']),
    'the order to be fulfilled without another ring',
    2_500,
  );
  await setTimeout(3_000);
  await world.create('comes after it');
  await setTimeout(500);
  expect((await world.get('comes after it')).status.phase).toBe('accepted');
  await sweep.tick();
  await until(() => fulfilled(['comes after it']), 'the order to be fulfilled by a ring of its own');
  await sweep.drain();
});

test('a worker that drains looks no more, however long a ring lasts', async () => {
  const sweep = new Sweep(world.worker(), SILENT, { concurrency: 4, interval_ms: 60_000 });
  await sweep.tick(60_000);
  await sweep.drain();
  await world.create('comes too late');
  await setTimeout(300);
  expect((await world.get('comes too late')).status.phase).toBe('accepted');
});

test('a ring that lasts is passed on by a worker that is full', async () => {
  let rung = 0;
  const bell = { ring: () => void (rung += 1) };
  const sweep = new Sweep(world.worker(), bell, { concurrency: 0, interval_ms: 60_000 });
  await sweep.tick();
  expect(rung).toBe(0);
  await sweep.tick(100);
  expect(rung).toBe(1);
  await sweep.drain();
});

test('a database that is away is not asked again and again while a ring lasts', async () => {
  const loop = world.worker();
  let asked = 0;
  const store = new Proxy(loop.store, {
    get(target, name) {
      if (name !== 'claim') return Reflect.get(target, name, target) as unknown;
      return () => {
        asked += 1;
        return Promise.reject(new Error('away'));
      };
    },
  });
  const sweep = new Sweep({ ...loop, store }, SILENT, { concurrency: 4, interval_ms: 60_000 });
  await expect(sweep.tick(60_000)).rejects.toThrow('away');
  await setTimeout(200);
  await sweep.drain();
  expect(asked).toBe(1);
});
