/** The queue loses everything, in Redis and in Postgres: the record of what is to be done is elsewhere. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/clock.js';
import {
  BATCH,
  BOUNDED_RUNS,
  LOSS_RUNS,
  LOSS_SWEEP_MS,
  POLICY_RUN,
  WAITING_ORDERS,
  type LossRun,
  type QueueRun,
} from '../support/acceptance/queue.js';
import {
  failingWith,
  finalOf,
  leftBy,
  ordersOf,
  recoveryOf,
  sceneOf,
  shownOf,
  unfinished,
  type Scene,
} from '../support/acceptance/record.js';
import { asRedis, privateRedis, type PrivateServer } from '../support/private-servers.js';
import { aProduct, Client, until, type Process, type Product } from '../support/product.js';
import { queueView, type Backend, type QueueView, type Schedule } from '../support/queue-view.js';

/** Two cores are shared: the claim itself takes milliseconds. */
const PATIENCE_MS = 1_500;
const RETRY_AFTER_S = 5;

interface Stage {
  readonly product: Product;
  readonly redis: PrivateServer | null;
  readonly view: QueueView;
  /** Takes the calls, and tells the worker by the queue. */
  readonly api: Process;
  readonly worker: Process;
}

async function aStage(backend: Backend): Promise<Stage> {
  const redis = backend === 'redis' ? await privateRedis() : null;
  await redis?.start();
  const product = await aProduct({
    SWEEP_INTERVAL_MS: String(LOSS_SWEEP_MS),
    // Patience enough with a busy machine, so that nothing but the loss is met.
    PROVIDER_TIMEOUT_MS: '2000',
    LEASE_MS: '10000',
    REDIS_URL: redis?.url ?? '',
  });
  const worker = await product.start('all');
  const api = await product.start('api');
  return { product, redis, view: queueView(backend, redis?.url ?? product.db.url), api, worker };
}

/** As the processes themselves say. */
const backendOf = (process: Process): string => /"queue":"(\w+)"/.exec(process.output())?.[1] ?? 'none';
const inWords = (schedules: readonly Schedule[]): string[] =>
  schedules.map(({ id, every }) => `${id} every ${every} ms`);

/** How many orders were taken up again later than a sweep after they were due. */
async function lateRetries(scene: Scene, due: ReadonlyMap<string, number>): Promise<number> {
  const rows = await scene.query<{ id: string; at: Date }>(
    `SELECT o.operation_id AS id, min(a.started_at) AS at
     FROM operation_attempts a JOIN order_operations o ON o.id = a.operation
     WHERE o.operation_id = ANY ($1) AND a.step = 'create_payment' AND a.outcome = 'done' GROUP BY 1`,
    [scene.ids],
  );
  return rows.filter(({ id, at }) => at.getTime() - (due.get(id) ?? 0) > LOSS_SWEEP_MS + PATIENCE_MS).length;
}

async function lose(
  { redis, view }: Stage,
  loss: LossRun['loss'],
  meanwhile: () => Promise<void>,
): Promise<void> {
  if (loss === 'emptied') {
    await view.lose();
    return meanwhile();
  }
  await redis?.stop('SIGTERM');
  await meanwhile();
  await redis?.start();
}

const allAre = (scene: Scene): Promise<true> =>
  until(async () => (await unfinished(scene, 'fulfilled')) === 0, 'all to be fulfilled', 40_000);

const only = <Chosen extends QueueRun>(runs: readonly Chosen[], backend: Backend): [string, Chosen][] =>
  runs.filter((run) => run.backend === backend).map((run) => [run.title, run]);

// One set of processes for all runs of a backend: none is started anew.
describe.each(['redis', 'postgres'] as const)('the queue in %s', (backend) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await aStage(backend);
  }, 60_000);
  afterAll(async () => {
    await stage.view.close();
    await stage.product.stop();
    await stage.redis?.remove();
  });

  test.each(only(BOUNDED_RUNS, backend))(
    '%s',
    async (_title, { expected }) => {
      const { product, view, api, worker } = stage;
      const client = new Client(api);
      const sizes: number[] = [];
      const orders = [];
      for (const half of ['first', 'second']) {
        const ids = Array.from({ length: BATCH }, (_, index) => `${half}-${index}`);
        const scene = sceneOf(product, ids);
        await Promise.all(ids.map((id) => client.create(id)));
        await allAre(scene);
        // Each is looked at once more, as by a webhook or a regular reading.
        const due = 'UPDATE order_operations SET next_attempt_at = now() WHERE operation_id = ANY ($1)';
        await scene.query(due, [ids]);
        await allAre(scene);
        orders.push(await ordersOf(scene));
        sizes.push(await view.size());
      }
      const [first = 0, second = 0] = sizes;
      expect({
        injected: {
          queue: backendOf(api),
          'passes, at least': Math.min(4 * BATCH, await passesOf(worker)),
        },
        shown: {},
        checkpoint: { orders: orders[0] },
        recovery: {},
        final: { orders: orders[1] },
        left: {
          [`${backend === 'redis' ? 'keys' : 'rows'} beyond 40`]: Math.max(0, second - 40),
          'grown by the second half': second > first + 10,
        },
      }).toEqual(expected);
    },
    90_000,
  );

  test.each(only(LOSS_RUNS, backend))(
    '%s: what is due is worked, the schedule comes back, nothing is restarted',
    async (_title, { loss, expected }) => {
      const { product, view, api, worker } = stage;
      const processes = [api, worker];
      const client = new Client(api);
      const ids = Array.from({ length: WAITING_ORDERS }, (_, index) => `${loss}-${index}`);
      const meanwhile = `${loss}-meanwhile`;
      const waiting = sceneOf(product, ids);
      for (const operation_id of ids) {
        await product.control.inject({
          route: 'payment_intents.create',
          kind: 'lock_timeout',
          retry_after: RETRY_AFTER_S,
          match: { operation_id },
        });
      }
      await Promise.all(ids.map((id) => client.create(id)));
      await until(async () => (await failingWith(waiting, 'throttled')) === ids.length, 'all to wait');
      const rows = await waiting.query<{ id: string; due: Date }>(
        'SELECT operation_id AS id, next_attempt_at AS due FROM order_operations WHERE operation_id = ANY ($1)',
        [ids],
      );
      const due = new Map(rows.map((row) => [row.id, row.due.getTime()]));
      const shown = await shownOf(waiting);
      const schedules = inWords(await view.schedules());
      await view.mark();

      let answered = 0;
      const lostAt = systemClock.now().getTime();
      await lose(stage, loss, async () => {
        answered = (await client.create(meanwhile)).status;
      });
      const injected = { queue: backendOf(api), 'a mark in it survived': await view.marked() };
      const ticks = async (): Promise<number> => (await view.schedules())[0]?.ticks ?? 0;
      const there = async (): Promise<number | false> => (await ticks()) > 0 && ticks();
      const before = await until(there, 'the schedule to be there again');

      const scene: Scene = { ...waiting, ids: [...ids, meanwhile] };
      await allAre(scene);
      await until(async () => (await ticks()) > before, 'the schedule to tick');
      const ready = async (): Promise<boolean> =>
        (await Promise.all(processes.map(({ url }) => fetch(`${url}/readyz`)))).every(({ ok }) => ok);
      await until(ready, 'readiness');
      expect({
        injected,
        shown: { ...shown, 'new order answered': answered },
        checkpoint: {
          'orders that wait for their retry': due.size,
          'of these due before the loss': [...due.values()].filter((at) => at < lostAt).length,
          schedules,
        },
        recovery: {
          'retries later than a sweep interval': await lateRetries(waiting, due),
          ...(await recoveryOf(scene, processes, ['the account is'], ['the account answers again'])),
        },
        final: {
          ...(await finalOf(scene)),
          schedules: inWords(await view.schedules()),
          'it ticks': true,
          'all processes ready': await ready(),
        },
        left: {
          ...(await leftBy(scene)),
          'waiting ticks beyond one': Math.max(0, (await view.delayed()) - 1),
        },
      }).toEqual(expected);
    },
    90_000,
  );
});

test(`${POLICY_RUN.title}: the process says so and works`, async () => {
  const redis = await privateRedis('allkeys-lru');
  await redis.start();
  const product = await aProduct({ REDIS_URL: redis.url });
  try {
    const all = await product.start('all');
    const client = new Client(all);
    await client.create('evictable');
    const scene = sceneOf(product, ['evictable']);
    await allAre(scene);
    const [, policy] = (await asRedis<unknown>(redis.url, (one) =>
      one.config('GET', 'maxmemory-policy'),
    )) as string[];
    expect({
      injected: { 'maxmemory-policy': policy },
      shown: {
        'complains of': ['allkeys-lru', 'noeviction'].filter((word) => all.output().includes(word)),
        readyz: (await fetch(`${all.url}/readyz`)).status,
      },
      checkpoint: {},
      recovery: {},
      final: { orders: await ordersOf(scene) },
      left: await leftBy(scene),
    }).toEqual(POLICY_RUN.expected);
  } finally {
    await product.stop();
    await redis.remove();
  }
}, 40_000);

/** How many passes a process has made. */
async function passesOf({ url }: Process): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^order_reconcile_seconds_count (\d+)$/m.exec(text)?.[1] ?? 0);
}
