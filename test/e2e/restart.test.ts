import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { aProduct, Client, until, type Product } from '../support/product.js';

/** Far longer than the test: whoever waits for a lease to run out fails it. */
const LEASE = { PROVIDER_TIMEOUT_MS: '60000', LEASE_MS: '300000' };

let product: Product;
beforeAll(async () => {
  product = await aProduct(LEASE);
});
afterAll(() => product.stop());

test('a worker that is killed and comes back under its name goes on at once, and repeats no effect', async () => {
  const client = new Client(await product.start('api'));
  const ids = Array.from({ length: 8 }, (_, index) => `named-${index}`);
  const killed = await product.start('worker', { WORKER_ID: 'warehouse-1' });
  // The effect comes to pass, and its answer finds nobody.
  await product.control.inject({
    route: 'payment_intents.confirm',
    kind: 'delay_after',
    delay_ms: 20_000,
    times: ids.length,
  });
  for (const id of ids) await client.create(id);
  const confirmed = async (): Promise<boolean> =>
    (await Promise.all(ids.map((id) => product.control.ledger(id)))).every(({ captured }) => captured > 0);
  await until(async () => (await confirmed()) || null, 'all payments to be confirmed');
  killed.kill('SIGKILL');
  await killed.exited;

  await product.start('worker', { WORKER_ID: 'warehouse-1' });
  await Promise.all(ids.map((id) => client.reaches(id, 'fulfilled')));

  for (const id of ids) {
    expect(await product.control.ledger(id)).toMatchObject({
      captured: 12_900,
      effects: { creates: 1, confirms: 1 },
      stock: { reserved: 1, committed: 1 },
      violations: [],
    });
  }
}, 120_000);
