/** The two-sided sweep as deployed: ticked through the queue, on both of its backends, shown by the API and the metrics. */
import { afterEach, expect, test } from '@jest/globals';
import { asRedis } from '../support/private-servers.js';
import { aProduct, Client, SUPPORT_KEY, until, type Product } from '../support/product.js';
import { queueView, type Backend } from '../support/queue-view.js';

let product: Product | undefined;
afterEach(() => product?.stop());

test.each<Backend>(['redis', 'postgres'])(
  'a payment without its order, with the queue in %s',
  async (backend) => {
    product = await aProduct({
      ...(backend === 'redis' ? {} : { REDIS_URL: '' }),
      ORPHAN_SWEEP_INTERVAL_MS: '400',
      ORPHAN_LOOKBACK_INTERVAL_MS: '400',
      ORPHAN_GRACE_MS: '0',
    });
    const url = backend === 'redis' ? (product.environment['REDIS_URL'] ?? '') : product.db.url;
    if (backend === 'redis') await asRedis(url, (redis) => redis.flushdb());
    // At once: without Redis, the worker begins before `all` has made the queue's schema.
    const [process] = await Promise.all([product.start('all'), product.start('worker')]);
    const { id } = await product.control.dashboard('create_stray', {
      amount: 10_000,
      currency: 'eur',
      metadata: { operation_id: 'ord-lost' },
      payment_method: 'pm_card_visa',
    });
    const desk = new Client(process, SUPPORT_KEY);
    const [finding] = await until(async () => {
      const { items } = (await desk.call('GET', '/v1/findings')).body;
      return items.length > 0 && items;
    }, 'the finding');
    expect(finding).toMatchObject({
      kind: 'orphan_payment',
      provider_reference: id,
      operation_id: 'ord-lost',
    });
    // The sums of both sides are those of a slow round that began after the payment was made.
    const metrics = await until(async () => {
      const text = await (await fetch(`${process.url}/metrics`)).text();
      return text.includes('{account="default",currency="EUR"} 10000') && text;
    }, 'the sums of both sides');
    expect(metrics).toContain(
      'order_provider_total_difference_minor{account="default",currency="EUR"} 10000',
    );
    expect(metrics).toContain('order_findings{kind="orphan_payment"} 1');
    expect(metrics).toMatch(/order_orphan_sweep_age_seconds\{account="default"\} [0-9.]+\n/);
    // A person decides, and a worker in another process or in this one hears of it.
    const path = `/v1/findings/${String(finding?.['finding_id'])}/commands`;
    const { preview_id } = (await desk.call('POST', `${path}/preview`, { command: 'refund_stray' })).body;
    const decided = { preview_id, reason: 'the order never came' };
    await until(async () => {
      const { state, outcome } = (await desk.call('POST', path, decided)).body;
      return state === 'observed' && JSON.stringify(outcome).includes('"finding_state":"resolved"');
    }, 'the refund');
    expect((await product.control.ledger('ord-lost')).refunds).toMatchObject([{ amount: 10_000 }]);
    const view = queueView(backend, url);
    try {
      expect(await view.schedules('orphans')).toMatchObject([{ id: 'orphans', every: 400 }]);
    } finally {
      await view.close();
    }
  },
  120_000,
);

test('what a person decides at the API is heard by a worker at once, and waits for no tick', async () => {
  product = await aProduct({ SWEEP_INTERVAL_MS: '3600000', ORPHAN_SWEEP_INTERVAL_MS: '3600000' });
  const [api] = await Promise.all([product.start('api'), product.start('worker')]);
  const { id } = await product.control.dashboard('create_stray', {
    amount: 10_000,
    currency: 'eur',
    metadata: { operation_id: 'ord-lost' },
    payment_method: 'pm_card_visa',
  });
  const [row] = await product.db.database.query<{ finding_id: string }>(
    `INSERT INTO findings (account, kind, reference, operation_id, state, amount, currency, message, evidence, suggested,
       suspected_at, opened_at, first_seen_at, last_seen_at, check_at)
     VALUES ('default', 'orphan_payment', $1, 'ord-lost', 'open', 10000, 'EUR', 'lost', '{"provider": null, "recorded": null}',
       'refund_stray', now(), now(), now(), now(), now() + interval '1 day')
     RETURNING finding_id`,
    [id],
  );
  const desk = new Client(api, SUPPORT_KEY);
  const path = `/v1/findings/${row?.finding_id}/commands`;
  const { preview_id } = (await desk.call('POST', `${path}/preview`, { command: 'refund_stray' })).body;
  await until(async () => {
    const { state } = (await desk.call('POST', path, { preview_id, reason: 'it never came' })).body;
    return state === 'observed';
  }, 'the refund');
  expect((await product.control.ledger('ord-lost')).refunds).toMatchObject([{ amount: 10_000 }]);
}, 60_000);
