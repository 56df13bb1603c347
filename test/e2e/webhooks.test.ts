/** Real processes, and the sandbox delivering signed webhooks: only they can bring the news in time. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { aProduct, Client, until, type Answer, type Process, type Product } from '../support/product.js';
import { startProxy, targetOf, through } from '../support/proxy.js';
import { WEBHOOK_SECRET } from '../support/webhooks.js';

/** An hour until anything is read again by itself. */
const HOOKED = { STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET, RESYNC_INTERVAL_MS: '3600000' };
/** "Within seconds", on a busy machine. */
const SOON_MS = 8_000;

const hear = (product: Product, { url }: Process): Promise<string> =>
  product.control.addWebhook(`${url}/v1/webhooks/stripe`, WEBHOOK_SECRET);

interface RefundOut {
  readonly amount: number;
  readonly source: string;
  readonly state: string;
}
const refundsOf = ({ body }: Answer): RefundOut[] =>
  (body.status['refunds'] as RefundOut[]).map(({ amount, source, state }) => ({ amount, source, state }));
const REFUNDED: RefundOut[] = [{ amount: 2_500, source: 'external', state: 'succeeded' }];

const seesRefund = (client: Client, operationId: string, limit = SOON_MS): Promise<Answer> =>
  until(
    async () => {
      const answer = await client.get(operationId);
      return refundsOf(answer).length > 0 && answer;
    },
    `${operationId} to show the refund`,
    limit,
  );

/** Fulfilled, and all that was told of it so far has been delivered and worked. */
async function fulfilled(product: Product, client: Client, operationId: string): Promise<void> {
  await client.create(operationId);
  await client.reaches(operationId, 'fulfilled');
  await until(async () => {
    const [row] = await product.db.database.query<{ n: string }>(
      `SELECT count(*) AS n FROM order_operations
       WHERE next_attempt_at <= now() + interval '1 minute' OR lease_holder IS NOT NULL OR wake <> wake_at_claim`,
    );
    return row?.n === '0';
  }, 'the records to rest');
}

const wakings = async (product: Product): Promise<number> => {
  const [row] = await product.db.database.query<{ n: string }>(
    `SELECT count(*) AS n FROM provider_events WHERE woke <> '{}'`,
  );
  return Number(row?.n);
};

describe('one api and two workers', () => {
  let product: Product;
  let api: Process;
  let client: Client;
  beforeAll(async () => {
    product = await aProduct(HOOKED);
    api = await product.start('api');
    await Promise.all([product.start('worker'), product.start('worker')]);
    client = new Client(api);
    await hear(product, api);
  }, 60_000);
  afterAll(() => product.stop());

  test('a refund in the dashboard is seen within seconds, and not without its webhook', async () => {
    await fulfilled(product, client, 'refunded');
    await product.control.settings({ webhooks: { enabled: false } });
    await product.control.dashboard('refund', { operation_id: 'refunded', amount: 2_500 });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(refundsOf(await client.get('refunded'))).toEqual([]);

    await product.control.settings({ webhooks: { enabled: true } });
    const before = await product.control.journalSequence();
    const [event] = await product.control.events({ operation_id: 'refunded', type: 'refund.created' });
    await product.control.redeliver(event?.id ?? '');
    expect(refundsOf(await seesRefund(client, 'refunded'))).toEqual(REFUNDED);
    const journal = await product.control.journal({ after: before });
    expect(journal.filter(({ method }) => method !== 'GET')).toEqual([]);
    expect(await product.control.ledger('refunded')).toMatchObject({ refunded: 2_500, violations: [] });
  }, 60_000);

  test('a payment that is cancelled in the dashboard', async () => {
    await client.create('cancelled', { desired: 'authorized' });
    await client.reaches('cancelled', 'authorized');
    await product.control.dashboard('cancel', { operation_id: 'cancelled' });
    const answer = await until(
      async () => {
        const shown = await client.get('cancelled');
        return shown.body.status.condition === 'PaymentCanceledElsewhere' && shown;
      },
      'the cancellation to be seen',
      SOON_MS,
    );
    expect(answer.body.status['payment']).toMatchObject({ state: 'canceled', authorized: 0, captured: 0 });
    expect(await product.control.ledger('cancelled')).toMatchObject({ captured: 0, held: 0, violations: [] });
  }, 60_000);

  test('3-D Secure that the customer completes', async () => {
    await client.create('secured', {
      payment: {
        payment_method: 'pm_card_authenticationRequired',
        return_url: 'https://shop.example/return',
      },
    });
    await client.reaches('secured', 'awaiting_customer');
    await product.control.dashboard('complete_authentication', { operation_id: 'secured' });
    await client.reaches('secured', 'fulfilled', SOON_MS);
    expect(await product.control.ledger('secured')).toMatchObject({
      captured: 12_900,
      effects: { creates: 1, confirms: 1 },
      violations: [],
    });
  }, 60_000);

  test('the provider’s events are taken for ours, and all were answered with 200', async () => {
    const rows = await product.db.database.query<{
      ignored_because: string | null;
      provider_account: string;
    }>('SELECT DISTINCT ignored_because, provider_account FROM provider_events');
    expect(rows).toEqual([{ ignored_because: null, provider_account: 'acct_1SandboxDefault0' }]);
    const statuses = new Set((await product.control.deliveries()).map(({ status }) => status));
    expect([...statuses]).toEqual([200]);
    expect(await wakings(product)).toBeGreaterThan(5);
  });
});

describe('dropped, repeated, reordered', () => {
  let product: Product;
  let client: Client;
  beforeAll(async () => {
    // Soon enough for a test, for what is dropped; late enough to tell who brought the news.
    product = await aProduct({ ...HOOKED, RESYNC_INTERVAL_MS: '4000' });
    const all = await product.start('all');
    client = new Client(all);
    await hear(product, all);
  }, 60_000);
  afterAll(() => product.stop());

  /** A decline, a second try that is paid, a refund in the dashboard, one by the shop: the end as it is shown and booked. */
  async function story(id: string, meanwhile: () => Promise<void>): Promise<unknown> {
    await client.create(id, { payment: { payment_method: 'pm_card_chargeDeclined' } });
    await client.reaches(id, 'payment_failed');
    await client.call('POST', `/v1/operations/${id}/payment`, { payment_method: 'pm_card_visa' });
    await client.reaches(id, 'fulfilled');
    await product.control.dashboard('refund', { operation_id: id, amount: 2_500 });
    await client.call('POST', `/v1/operations/${id}/refunds`, { refund_id: 'r1', amount: 1_000 });
    await meanwhile();
    const shown = await until(
      async () => {
        const answer = await client.get(id);
        const done = refundsOf(answer).filter(({ state }) => state === 'succeeded');
        return done.length === 2 && answer;
      },
      `${id} to show both refunds`,
      20_000,
    );
    const { phase, condition, payment, attention } = shown.body.status;
    const { captured, refunded, effects, violations } = await product.control.ledger(id);
    const seen = { ...(payment as object), observed_at: null };
    const refunds = refundsOf(shown).sort((a, b) => a.amount - b.amount);
    return { phase, condition, payment: seen, attention, refunds, captured, refunded, effects, violations };
  }

  test('end alike', async () => {
    const settings = (webhooks: object): Promise<unknown> => product.control.settings({ webhooks });
    await settings({ enabled: true, duplicates: 0 });
    const plain = await story('plain', () => Promise.resolve());
    expect(plain).toMatchObject({
      phase: 'fulfilled',
      captured: 12_900,
      refunded: 3_500,
      effects: { creates: 1, confirms: 2, refunds: 1 },
      violations: [],
    });

    await settings({ enabled: false });
    expect(await story('dropped', () => Promise.resolve())).toEqual(plain);

    await settings({ enabled: true, duplicates: 5 });
    expect(await story('repeated', () => Promise.resolve())).toEqual(plain);

    await settings({ enabled: false, duplicates: 0 });
    const backwards = async (): Promise<void> => {
      const events = await product.control.events({ operation_id: 'reordered' });
      expect(events.length).toBeGreaterThan(5);
      for (const { id } of [...events].sort((a, b) => b.created - a.created))
        await product.control.redeliver(id);
    };
    expect(await story('reordered', backwards)).toEqual(plain);
    // And once more, after the end.
    await backwards();
    await until(async () => (await product.control.deliveries()).at(-1)?.status === 200, 'the deliveries');
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect((await client.get('reordered')).body.status.phase).toBe('fulfilled');
    expect((await product.control.ledgerSummary()).violations).toEqual([]);
  }, 90_000);
});

describe('what the webhook needs is away', () => {
  const statuses = async (product: Product, type: string): Promise<(number | null)[]> =>
    (await product.control.deliveries())
      .filter((delivery) => delivery.type === type)
      .map(({ status }) => status);

  test.each(['refuse', 'hang'] as const)(
    'Redis (%s): answered as always, and worked without it',
    async (mode) => {
      const url = process.env['REDIS_URL'];
      if (url === undefined) throw new Error('this test needs Redis');
      const proxy = await startProxy(targetOf(url, 6379));
      const product = await aProduct(HOOKED);
      try {
        const redis = { REDIS_URL: through(product.environment['REDIS_URL'] ?? '', proxy) };
        const api = await product.start('api', redis);
        await product.start('worker', redis);
        const client = new Client(api);
        await hear(product, api);
        await fulfilled(product, client, 'refunded');

        await proxy.set(mode);
        const began = performance.now();
        await product.control.dashboard('refund', { operation_id: 'refunded', amount: 2_500 });
        await until(async () => (await statuses(product, 'refund.created'))[0] === 200, 'the answer', 2_000);
        expect(performance.now() - began).toBeLessThan(2_000);
        expect(refundsOf(await seesRefund(client, 'refunded'))).toEqual(REFUNDED);

        await proxy.set('pass');
        await fulfilled(product, client, 'after');
        await product.control.dashboard('refund', { operation_id: 'after', amount: 2_500 });
        await seesRefund(client, 'after');
      } finally {
        await product.stop();
        await proxy.stop();
      }
    },
    60_000,
  );

  test('Postgres: refused with 503, and the redelivery is worked', async () => {
    const product = await aProduct(HOOKED);
    const proxy = await startProxy(targetOf(product.db.url, 5432));
    try {
      const hooked = await product.start('api', { DATABASE_URL: through(product.db.url, proxy) });
      const client = new Client(await product.start('all'));
      await fulfilled(product, client, 'refunded');
      await hear(product, hooked);

      await proxy.set('refuse');
      await product.control.dashboard('refund', { operation_id: 'refunded', amount: 2_500 });
      await until(
        async () => (await statuses(product, 'refund.created')).filter((status) => status === 503).length > 1,
        'the refusals',
      );
      expect(refundsOf(await client.get('refunded'))).toEqual([]);
      await proxy.set('pass');
      expect(refundsOf(await seesRefund(client, 'refunded'))).toEqual(REFUNDED);
      // Another event of the same refund may have told of it before.
      await until(
        async () => (await statuses(product, 'refund.created')).includes(200),
        'the redelivery to be taken',
      );
    } finally {
      await product.stop();
      await proxy.stop();
    }
  }, 60_000);
});
