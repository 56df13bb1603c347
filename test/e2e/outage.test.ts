import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { aProduct, Client, until, type Product } from '../support/product.js';

const ORDERS = 500;
const OUTAGE_MS = 60_000;
/** Requests a second that the provider allows; told to the workers. */
const LIMIT = 60;

/** The whole provider is away for a minute while orders keep coming in. */
describe(`${ORDERS} orders during an outage`, () => {
  let product: Product;
  beforeAll(async () => {
    product = await aProduct({ PROVIDER_RATE_LIMIT: String(LIMIT) });
  });
  afterAll(() => product.stop());

  test('none needs a person, all settle once, and what waited is let go below the limit', async () => {
    const api = await product.start('api');
    await Promise.all([product.start('worker'), product.start('worker')]);
    const client = new Client(api);
    // Warm, so that the outage meets workers that know the account.
    await client.create('before');
    await client.reaches('before', 'fulfilled');

    await product.control.outage({ mode: 'unavailable', surface: 'payments' });
    const began = performance.now();
    const ids = Array.from({ length: ORDERS }, (_, index) => `outage-${index}`);
    for (let from = 0; from < ORDERS; from += 50) {
      await Promise.all(ids.slice(from, from + 50).map((id) => client.create(id)));
    }
    await new Promise((resolve) => setTimeout(resolve, OUTAGE_MS - (performance.now() - began)));
    const [during] = await product.db.database.query<{ attention: string; breaker: string }>(
      `SELECT (SELECT count(*) FROM order_operations WHERE attention_reason IS NOT NULL) AS attention,
              (SELECT breaker FROM provider_accounts WHERE account = 'default') AS breaker`,
    );
    expect(during).toEqual({ attention: '0', breaker: 'open' });

    const healed = await product.control.journalSequence();
    await product.control.outage({ mode: 'none' });
    await until(
      async () => {
        const [row] = await product.db.database.query<{ left: string }>(
          "SELECT count(*) AS left FROM order_operations WHERE phase <> 'fulfilled'",
        );
        return row?.left === '0';
      },
      'all orders to be fulfilled',
      120_000,
    );

    const perSecond = new Map<number, number>();
    for (const line of await product.control.journal({ after: healed })) {
      if (line.route.startsWith('reservations')) continue;
      const second = Math.floor(Date.parse(line.time) / 1000);
      perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
    }
    expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(LIMIT);
    const { violations } = await product.control.ledgerSummary();
    expect(violations).toEqual([]);
    for (const id of ids) {
      expect([id, (await product.control.ledger(id)).effects]).toMatchObject([
        id,
        { creates: 1, confirms: 1 },
      ]);
    }
  }, 240_000);
});
