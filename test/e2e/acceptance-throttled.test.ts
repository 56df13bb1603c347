/** The provider is healthy and asks for patience: for all of us, or for one object. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  LOCK_ROUTES,
  LOCKED_RUN,
  RETRY_AFTER_S,
  THROTTLED_MS,
  THROTTLED_ORDERS,
  THROTTLED_RUN,
} from '../support/acceptance/account.js';
import {
  accountOf,
  budgetUsed,
  finalOf,
  leftBy,
  recoveryOf,
  sceneOf,
  shownOf,
  tally,
  unfinished,
} from '../support/acceptance/record.js';
import { aProduct, Client, until, type Process, type Product } from '../support/product.js';
import type { JournalEntry } from '../support/sandbox-control.js';

/** Of each of the two workers. */
const CONCURRENCY = 50;
/** Passes a second that the workers believe to be allowed; half of it after the first 429. */
const CEILING = 100;

let product: Product;
let processes: Process[];
let client: Client;
beforeAll(async () => {
  product = await aProduct({
    WORKER_CONCURRENCY: String(CONCURRENCY),
    // Patience enough with a busy machine, so that nothing but the throttle is met.
    PROVIDER_TIMEOUT_MS: '3000',
    LEASE_MS: '15000',
    // An order takes up to three requests.
    PROVIDER_RATE_LIMIT: String(3 * CEILING),
  });
  const api = await product.start('api');
  processes = [api, ...(await Promise.all([product.start('worker'), product.start('worker')]))];
  client = new Client(api);
}, 60_000);
afterAll(() => product.stop());

const NO_ALERT = ['"level":"error"'];
const NOT_OVER = ['the account answers again'];

test(`${LOCKED_RUN.title}: it is that order’s alone, and costs it nothing but time`, async () => {
  const { control } = product;
  const scene = sceneOf(product, ['kept', 'given-back']);
  const sequence = await control.journalSequence();
  for (const operation_id of scene.ids)
    for (const route of LOCK_ROUTES)
      await control.inject({ route, kind: 'lock_timeout', match: { operation_id } });

  for (const id of scene.ids) await client.create(id, { payment: { capture: 'manual' } });
  await until(async () => (await unfinished(scene, 'authorized')) === 0, 'the authorizations');
  const checkpoint = await finalOf(scene);
  await client.call('POST', '/v1/operations/kept/capture', {});
  await client.call('POST', '/v1/operations/given-back/cancel', {});
  await client.reaches('kept', 'fulfilled');
  await client.call('POST', '/v1/operations/kept/refunds', { refund_id: 'r1', amount: 2_500 });
  await until(async () => (await control.ledger('kept')).refunded > 0, 'the refund');
  await until(
    async () => (await unfinished(sceneOf(product, ['kept']), 'fulfilled')) === 0,
    'the refund to be seen',
  );
  await client.reaches('given-back', 'cancelled');
  await control.clearFaults();

  const refused = await scene.query<{ shown: string }>(
    `SELECT DISTINCT step || ': ' || (failure->>'class') || ' ' || (failure->>'code') AS shown
     FROM operation_attempts WHERE failure IS NOT NULL ORDER BY 1`,
  );
  const met = (await control.journal({ after: sequence })).filter(({ fault }) => fault === 'lock_timeout');
  expect({
    injected: tally(met.map(({ route }) => route)),
    shown: {
      'tries refused': refused.map(({ shown }) => shown),
      account: await accountOf(scene),
      'budget used': await budgetUsed(scene),
    },
    checkpoint: { orders: checkpoint['orders'], effects: checkpoint['effects'] },
    recovery: await recoveryOf(scene, processes, NO_ALERT, NOT_OVER),
    final: await finalOf(scene),
    left: await leftBy(scene),
  }).toEqual(LOCKED_RUN.expected);
}, 60_000);

/** The times that the provider asked for, one after the other, each with what was asked of it meanwhile. */
function times(journal: readonly JournalEntry[]): JournalEntry[][] {
  const windows: JournalEntry[][] = [];
  for (const entry of journal) {
    const [first] = windows.at(-1) ?? [];
    if (first !== undefined && at(entry) - at(first) < RETRY_AFTER_S * 1_000) windows.at(-1)?.push(entry);
    else if (entry.status === 429) windows.push([entry]);
  }
  return windows;
}
const at = ({ time }: JournalEntry): number => Date.parse(time);
const isLate = (entry: JournalEntry, _: number, [first]: JournalEntry[]): boolean =>
  first !== undefined && at(entry) - at(first) > (RETRY_AFTER_S * 1_000) / 2;

test(`${THROTTLED_RUN.title}: less and less is asked, no order fails, all converge`, async () => {
  const { control } = product;
  const ids = Array.from({ length: THROTTLED_ORDERS }, (_, index) => `throttled-${index}`);
  const scene = sceneOf(product, ids);
  await control.inject({
    route: 'payment_intents.*',
    kind: '429',
    retry_after: RETRY_AFTER_S,
    times: null,
  });
  const sequence = await control.journalSequence();
  const created = await Promise.all(ids.map((id) => client.create(id)));
  const checkpoint = tally(created.map(({ body }) => `${body.status.phase}: ${body.status.condition}`));
  const met = async (): Promise<JournalEntry[]> =>
    (await control.journal({ after: sequence })).filter(({ fault }) => fault === '429');
  await until(async () => (await met()).length > 0, 'the first 429');
  await new Promise((resolve) => setTimeout(resolve, THROTTLED_MS));

  const throttled = await met();
  await control.clearFaults();
  const [first = [], ...later] = times(throttled);
  const beyond = (limit: number, count: number): number => Math.max(0, count - limit);
  const phases = await scene.query<{ phase: string }>(
    'SELECT phase FROM order_operations WHERE operation_id = ANY ($1)',
    [ids],
  );
  const { orders: _, ...seen } = await shownOf(scene);
  const shown = {
    phases: tally(phases.map(({ phase }) => phase)),
    ...seen,
    'budget used': await budgetUsed(scene),
    'requests beyond those in flight, first 2 s': beyond(2 * CONCURRENCY, first.length),
    'requests beyond half of that, each 2 s after that': later.reduce(
      (sum, window) => sum + beyond(CEILING / 2, window.length),
      0,
    ),
    'requests beyond a quarter of that, the last 2 s': beyond(CEILING / 4, later.at(-1)?.length ?? 0),
    // How long those in flight take to be sent is a matter of the machine; their number is bounded above.
    'requests in the second half of such a time': later.flatMap((window) => window.filter(isLate)).length,
  };
  expect(later.length).toBeGreaterThanOrEqual(2);

  const ended = async (): Promise<boolean> =>
    (await unfinished(scene, 'fulfilled')) === 0 && (await accountOf(scene)) === 'closed';
  await until(ended, 'the end', 60_000);
  const final = await finalOf(scene);
  expect({
    injected: {
      answers: [...new Set(throttled.map(({ status }) => String(status)))],
      'orders that met it': throttled.length < ids.length ? 'some' : 'all',
    },
    shown,
    checkpoint: { orders: checkpoint, effects: {} },
    recovery: await recoveryOf(scene, processes, NO_ALERT, NOT_OVER),
    final,
    left: await leftBy(scene),
  }).toEqual(THROTTLED_RUN.expected);
}, 150_000);
