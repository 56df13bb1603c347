/** Housekeeping as deployed: one schedule a cluster, on workers, by the days that are configured. */
import { afterEach, expect, test } from '@jest/globals';
import { asRedis } from '../support/private-servers.js';
import { aProduct, CHECKOUT_KEY, Client, until, type Product } from '../support/product.js';
import { queueView } from '../support/queue-view.js';

let product: Product | undefined;
afterEach(() => product?.stop());

test('an order whose time is over loses person and journal; one whose time is not keeps them', async () => {
  product = await aProduct({
    HOUSEKEEPING_INTERVAL_MS: '400',
    JOURNAL_RETENTION_DAYS: '200',
    PERSONAL_DATA_RETENTION_DAYS: '30',
    WEBHOOK_RETENTION_DAYS: 'never',
  });
  const { db } = product;
  const url = product.environment['REDIS_URL'] ?? '';
  await asRedis(url, (redis) => redis.flushdb());
  const [api] = await Promise.all([product.start('all'), product.start('worker')]);
  const shop = new Client(api, CHECKOUT_KEY);
  for (const [id, days] of [
    ['over', 211],
    ['not over', 199],
  ] as const) {
    const spec = {
      order_id: id,
      amount: { value: 10_000, currency: 'EUR' },
      payment: { provider: 'stripe', payment_method: 'pm_card_visa', customer: 'cus_1' },
    };
    expect((await shop.call('POST', '/v1/operations', { operation_id: id, spec })).status).toBe(201);
    const path = `/v1/operations/${encodeURIComponent(id)}`;
    await until(
      async () => (await shop.call('GET', `${path}?wait=5`)).body.status.phase === 'fulfilled',
      `${id} to be fulfilled`,
    );
    // A settled order is released by the pass that settled it, and after that nobody writes to it.
    await until(async () => {
      const rows = await db.database.query(
        `UPDATE order_operations SET settled_at = now() - make_interval(days => $2), next_attempt_at = NULL,
           status = jsonb_set(status, '{settled_at}', to_jsonb(now() - make_interval(days => $2)))
         WHERE operation_id = $1 AND lease_holder IS NULL RETURNING 1`,
        [id, days],
      );
      return rows.length > 0;
    }, `${id} to be released`);
    await db.database.query(
      `UPDATE operation_attempts SET started_at = started_at - interval '9 days'
       WHERE operation = (SELECT id FROM order_operations WHERE operation_id = $1)`,
      [id],
    );
  }
  const left = () =>
    db.database.query<{ id: string; customer: string | null; has_journal: boolean }>(
      `SELECT operation_id AS id, spec->'payment'->>'customer' AS customer,
         EXISTS (SELECT 1 FROM operation_attempts a WHERE a.operation = o.id) AS has_journal
       FROM order_operations o ORDER BY id DESC`,
    );
  const done = await until(async () => {
    const rows = await left();
    return rows.find(({ id }) => id === 'over')?.customer === null && rows;
  }, 'the order whose time is over to be erased');
  expect(done).toHaveLength(2);
  await until(
    async () => (await left()).some((row) => row.id === 'over' && !row.has_journal),
    'its journal to go',
  );
  expect(await left()).toEqual([
    { id: 'over', customer: null, has_journal: false },
    { id: 'not over', customer: 'cus_1', has_journal: true },
  ]);
  const view = queueView('redis', url);
  try {
    expect(await view.schedules('housekeeping')).toMatchObject([{ id: 'housekeeping', every: 400 }]);
  } finally {
    await view.close();
  }
}, 120_000);
