/** A Postgres of this test's own goes down and comes back, under load; no process of the product is started anew. */
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Database } from '../../src/store/database.js';
import { RESTART_ORDERS, RESTART_RUNS } from '../support/acceptance/postgres.js';
import {
  finalOf,
  leftBy,
  recoveryOf,
  sceneOf,
  unfinished,
  type Scene,
} from '../support/acceptance/record.js';
import { privatePostgres, type PrivateServer } from '../support/private-servers.js';
import { aProduct, Client, until, type Process, type Product } from '../support/product.js';

let postgres: PrivateServer;
let product: Product;
let processes: Process[];
let client: Client;
beforeAll(async () => {
  postgres = await privatePostgres();
  await postgres.start();
  // Calls of a fair length, so that some are under way at any moment.
  product = await aProduct({ DATABASE_URL: postgres.url, PROVIDER_TIMEOUT_MS: '4000', LEASE_MS: '8500' });
  processes = [await product.start('all')];
  processes.push(...(await Promise.all([product.start('worker'), product.start('worker')])));
  client = new Client(processes[0] as Process);
}, 60_000);
afterAll(async () => {
  await product.stop();
  await postgres.remove();
});

/** Each look on a connection of its own: the ones before are cut. */
async function query<Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
  const database = new Database({ url: postgres.url, pool_size: 1 });
  try {
    return await database.query<Row>(sql, parameters);
  } finally {
    await database.close();
  }
}

const knock = (url: string): Promise<string> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname, () => resolve('taken'));
    socket.on('error', () => resolve('refused'));
    socket.on('close', () => socket.destroy());
  });

const status = async (path: string): Promise<number> =>
  (await fetch(`${(processes[0] as Process).url}${path}`)).status;

test.each(RESTART_RUNS.map((run) => [run.title, run] as const))(
  '%s',
  async (_title, { signal, expected }) => {
    const { control } = product;
    const ids = Array.from({ length: RESTART_ORDERS }, (_, index) => `${signal}-${index}`);
    const during = `${signal}-during`;
    const before: Scene = { ...sceneOf(product, ids), query };
    const scene: Scene = { ...before, ids: [...ids, during] };
    // Half of them are slow at the provider: their answers come while Postgres is away.
    for (const operation_id of ids.filter((_, index) => index % 2 === 0)) {
      const slow = { kind: 'delay_after', delay_ms: 700, match: { operation_id } } as const;
      await control.inject({ route: 'payment_intents.confirm', ...slow });
    }
    await Promise.all(ids.map((id) => client.create(id)));
    const fulfilled = (): Promise<number> => unfinished(before, 'fulfilled').then((n) => ids.length - n);
    const underWay = async (): Promise<number> =>
      (await query('SELECT 1 FROM operation_attempts WHERE completed_at IS NULL')).length;
    await until(async () => (await fulfilled()) > 0, 'the first to be fulfilled');
    const [done, open] = [await fulfilled(), await underWay()];

    await postgres.stop(signal);
    const injected = { 'connections at its port meanwhile': await knock(postgres.url) };
    const refused = await client.create(during);
    const shown = {
      create: `${refused.status} ${refused.body.code}`,
      livez: await status('/livez'),
      readyz: await status('/readyz'),
    };
    await postgres.start();
    const again = async (): Promise<boolean> => (await client.create(during)).status < 300;
    await until(again, 'the caller to be taken');
    await until(async () => (await unfinished(scene, 'fulfilled')) === 0, 'all to be fulfilled', 40_000);
    await control.clearFaults();

    expect({
      injected,
      shown,
      checkpoint: {
        'orders stored': ids.length,
        'some fulfilled': done > 0,
        'some not yet': done < ids.length,
        'some calls under way': open > 0,
      },
      recovery: await recoveryOf(scene, processes, ['the account is'], ['the account answers again']),
      final: await finalOf(scene),
      left: await leftBy(scene),
    }).toEqual(expected);
  },
  90_000,
);
