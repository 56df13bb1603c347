/** A provider that accepts connections and never answers holds back the orders of its own account only. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { stripeClient } from '../../src/payment/stripe/client.js';
import { StripeProvider } from '../../src/payment/stripe/stripe-provider.js';
import { Accounts } from '../../src/reconciler/accounts.js';
import { Sweep } from '../../src/reconciler/sweep.js';
import { AccountStore } from '../../src/store/account-store.js';
import { until } from '../support/product.js';
import { aSpec } from '../support/operations.js';
import { startProxy, type Proxy } from '../support/proxy.js';
import { aWorld, type World } from '../support/world.js';

/** Far longer than the test: no call to the provider that hangs ends before it answers again. */
const PATIENCE_MS = 60_000;
const CONCURRENCY = 4;

let world: World;
let proxy: Proxy;
let sweep: Sweep;
beforeAll(async () => {
  world = await aWorld();
  const { hostname, port } = new URL(world.sandbox.url);
  proxy = await startProxy({ host: hostname, port: Number(port) });
  const store = new AccountStore(world.db.database);
  await store.register(['stuck', 'sound']);
  for (const account of ['stuck', 'sound'])
    await world.control.addKey(`sk_test_${account}`, `acct_1${account}`);
  const provider = (secret: string, base: string): StripeProvider =>
    new StripeProvider(stripeClient({ secret, base: new URL(base), timeout_ms: PATIENCE_MS }));
  const providers = new Map([
    ['stuck', provider('sk_test_stuck', `http://127.0.0.1:${proxy.port}`)],
    ['sound', provider('sk_test_sound', world.sandbox.url)],
  ]);
  const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const loop = world.worker({
    accounts: new Accounts({ store, providers, ceiling: 1_000, patience_ms: PATIENCE_MS / 2, log: quiet }),
    lease_ms: 5 * PATIENCE_MS,
    provider_timeout_ms: PATIENCE_MS,
  });
  sweep = new Sweep(loop, { ring: () => undefined }, { concurrency: CONCURRENCY, interval_ms: 60_000 });
});
afterAll(async () => {
  await proxy.set('pass');
  await sweep.drain();
  await proxy.stop();
  await world.stop();
});

const order = async (account: string, name: string, count: number): Promise<string[]> => {
  const names = Array.from({ length: count }, (_, index) => `${account}-${name}-${index}`);
  for (const id of names) await world.create(id, aSpec({ order_id: id }), account);
  return names;
};
const fulfilled = async (names: readonly string[]): Promise<true | null> =>
  (await world.store.findMany(names)).every(({ status }) => status.phase === 'fulfilled') || null;
const underWay = async (account: string): Promise<number> => {
  const [row] = await world.db.database.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM order_operations WHERE account = $1 AND lease_expires_at > now()',
    [account],
  );
  return row?.count ?? 0;
};

test('an account that hangs holds half of the seats; the orders of another settle meanwhile, its own afterwards', async () => {
  await proxy.set('hang');
  const stuck = await order('stuck', 'first', 4 * CONCURRENCY);
  await sweep.tick();
  expect(await underWay('stuck')).toBe(CONCURRENCY / 2);

  const sound = await order('sound', 'later', 3 * CONCURRENCY);
  await sweep.tick();
  await until(() => fulfilled(sound), 'the orders of the other account to be fulfilled', 30_000);
  // Nothing of the first has ended yet, so it was not by their end that there was room.
  expect(await underWay('stuck')).toBe(CONCURRENCY / 2);
  expect((await world.store.findMany(stuck)).every(({ facts }) => facts.payment.state === 'none')).toBe(true);

  // What was left is claimed as its passes end: nobody asks for another claim.
  await proxy.set('pass');
  await until(() => fulfilled(stuck), 'the orders of the account that hung to be fulfilled', 30_000);
  expect((await world.control.ledgerSummary()).violations).toEqual([]);
}, 90_000);
