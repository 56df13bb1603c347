import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Database } from '../../src/store/database.js';
import { EventInbox } from '../../src/store/event-inbox.js';
import { PassStore } from '../../src/store/pass-store.js';
import { anApi, problem, refusal, type TestApi } from '../support/api.js';
import type { Answer } from '../support/http.js';
import { startProxy, type Proxy } from '../support/proxy.js';
import { anEvent, signed, WEBHOOK_SECRET, type Hook } from '../support/webhooks.js';

const PATH = '/v1/webhooks/stripe';
const OLD_SECRET = 'whsec_test_0000';

let api: TestApi;
beforeAll(async () => {
  api = await anApi({
    accounts: ['default', 'second', 'bare'],
    webhookSecrets: new Map([
      ['default', [WEBHOOK_SECRET, OLD_SECRET]],
      ['second', ['whsec_second']],
    ]),
  });
});
afterAll(() => api.stop());

const send = (hook: Hook, path = PATH): Promise<Answer> => api.anonymous('POST', path, hook);

interface Row {
  account: string;
  event_id: string;
  payment_reference: string | null;
  operation_id: string | null;
  ignored_because: string | null;
  woke: string[];
}
const rowsOf = (eventId: string): Promise<Row[]> =>
  api.db.database.query<Row>('SELECT * FROM provider_events WHERE event_id = $1', [eventId]);

interface Waking {
  id: string;
  wake: number;
  due: boolean;
  resource_version: number;
}
async function waking(operationId: string): Promise<Waking> {
  const [row] = await api.db.database.query<Waking>(
    `SELECT id, wake::int, resource_version::int, coalesce(next_attempt_at <= now(), false) AS due
     FROM order_operations WHERE operation_id = $1`,
    [operationId],
  );
  if (row === undefined) throw new Error(`there is no ${operationId}`);
  return row;
}

let count = 0;
/** An order whose payment `pi_…` is known, which nobody looks at any more. */
async function aQuietOrder(reference?: string): Promise<{ id: string; payment: string }> {
  count += 1;
  const id = `quiet-${count}`;
  const payment = reference ?? `pi_quiet_${count}`;
  await api.create(id);
  await api.db.database.query(
    'UPDATE order_operations SET provider_reference = $2, next_attempt_at = NULL WHERE operation_id = $1',
    [id, payment],
  );
  return { id, payment };
}
const aPayment = (id: string): Record<string, unknown> => ({ id, object: 'payment_intent', metadata: {} });

describe('genuine: 200, stored, and its order is due', () => {
  test.each([
    ['as sent', (event: object) => signed(JSON.stringify(event))],
    ['odd spacing', (event: object) => signed(`\n ${JSON.stringify(event, null, '\t')}  \r\n`)],
    ['unicode', (event: object) => signed(JSON.stringify({ ...event, note: 'ä 😀 \u2028 "\\' }))],
    [
      'another order of members',
      (event: object) => signed(JSON.stringify(Object.fromEntries(Object.entries(event).reverse()))),
    ],
    ['300 kB', (event: object) => signed(JSON.stringify({ ...event, note: 'ü'.repeat(150_000) }))],
    ['almost 1 MB', (event: object) => signed(JSON.stringify({ ...event, note: 'x'.repeat(1_040_000) }))],
    ['299 s ago', (event: object) => signed(JSON.stringify(event), { skew: -299 })],
    ['299 s ahead', (event: object) => signed(JSON.stringify(event), { skew: 299 })],
    ['the secret before', (event: object) => signed(JSON.stringify(event), { secret: OLD_SECRET })],
    [
      'two signatures, the second of which is ours',
      (event: object) => {
        const hook = signed(JSON.stringify(event));
        const signature = hook.headers['stripe-signature']?.replace('v1=', `v1=${'0'.repeat(64)},v1=`) ?? '';
        return { ...hook, headers: { 'stripe-signature': signature } };
      },
    ],
    [
      'another media type',
      (event: object) => {
        const hook = signed(JSON.stringify(event));
        return { ...hook, headers: { ...hook.headers, 'content-type': 'text/plain' } };
      },
    ],
  ])('%s', async (name, hookOf) => {
    const { id, payment } = await aQuietOrder();
    const rings = api.rings();
    const eventId = `evt_good_${name}`;
    const answer = await send(hookOf(anEvent(eventId, 'payment_intent.succeeded', aPayment(payment))));
    expect([answer.status, answer.json()]).toEqual([200, { received: true, result: 'woken' }]);
    const after = await waking(id);
    // A reader sees nothing of it: no state was taken from the event.
    expect(after).toMatchObject({ due: true, resource_version: 1 });
    expect(await rowsOf(eventId)).toMatchObject([{ payment_reference: payment, woke: [after.id] }]);
    expect(api.rings()).toBe(rings + 1);
  });
});

describe('not genuine: 400, nothing stored, nobody woken', () => {
  const withSignature = (hook: Hook, signature: string): Hook => ({
    ...hook,
    headers: { ...hook.headers, 'stripe-signature': signature },
  });
  test.each([
    ['no signature', (hook: Hook) => ({ ...hook, headers: { 'content-type': 'application/json' } })],
    ['an empty signature', (hook: Hook) => withSignature(hook, '')],
    ['garbage', (hook: Hook) => withSignature(hook, 'Bearer x=,,=;"')],
    ['another secret', (hook: Hook) => signed(hook.body, { secret: 'whsec_second' })],
    ['301 s ago', (hook: Hook) => signed(hook.body, { skew: -302 })],
    ['301 s ahead', (hook: Hook) => signed(hook.body, { skew: 302 })],
    ['a body with one more space', (hook: Hook) => ({ ...hook, body: `${hook.body} ` })],
    ['a body with other spaces', (hook: Hook) => ({ ...hook, body: hook.body.replace(':', ': ') })],
    ['no body', (hook: Hook) => ({ ...hook, body: '' })],
    ['an API key instead', (hook: Hook) => ({ ...hook, headers: { authorization: 'Bearer root-secret' } })],
  ])('%s', async (name, spoil) => {
    const { id, payment } = await aQuietOrder();
    const rings = api.rings();
    const eventId = `evt_bad_${name}`;
    const event = signed(anEvent(eventId, 'payment_intent.succeeded', aPayment(payment)));
    expect(refusal(await send(spoil(event)))).toEqual([400, 'signature_invalid']);
    expect(await rowsOf(eventId)).toEqual([]);
    expect(await waking(id)).toMatchObject({ wake: 0, due: false });
    expect(api.rings()).toBe(rings);
  });

  test('signed, and no event: 400, which is not about the signature', async () => {
    expect(refusal(await send(signed('hello')))).toEqual([400, 'invalid_request', '']);
    expect(refusal(await send(signed({ id: 'evt_no_type' })))).toEqual([400, 'invalid_request', '']);
  });

  test('more than 1 MB: 413', async () => {
    const hook = signed(JSON.stringify({ id: 'evt_large', type: 'x', note: 'x'.repeat(1_048_576) }));
    expect(refusal(await send(hook))).toEqual([413, 'payload_too_large']);
  });

  test('what can be done there is said', async () => {
    const answer = await api.anonymous('GET', PATH);
    expect(refusal(answer)).toEqual([405, 'method_not_allowed']);
    expect(answer.headers.allow).toBe('OPTIONS, POST');
  });
});

describe('accounts', () => {
  test('an unknown one is 404, also with a good signature', async () => {
    const hook = signed(anEvent('evt_unknown', 'x', {}));
    for (const name of ['third', 'toString', '__proto__', 'DEFAULT', 'default%00']) {
      expect(refusal(await send(hook, `${PATH}/${name}`))).toEqual([404, 'not_found']);
    }
  });
  test('one without a secret is 503: the provider sends it again when there is one', async () => {
    const answer = await send(signed(anEvent('evt_bare', 'x', {})), `${PATH}/bare`);
    expect(refusal(answer)).toEqual([503, 'webhooks_not_configured']);
    expect(problem(answer).retryable).toBe(true);
  });
  test('each has its own secret and its own orders', async () => {
    const { id, payment } = await aQuietOrder();
    const hook = signed(
      anEvent('evt_second', 'x', { ...aPayment(payment), metadata: { operation_id: id } }),
      {
        secret: 'whsec_second',
      },
    );
    expect(refusal(await send(hook))).toEqual([400, 'signature_invalid']);
    expect((await send(hook, `${PATH}/second`)).json()).toEqual({ received: true, result: 'unmatched' });
    expect(await waking(id)).toMatchObject({ wake: 0, due: false });
    // The same event id in another account is another event.
    const ours = signed(anEvent('evt_second', 'x', aPayment(payment)));
    expect((await send(ours, `${PATH}/default`)).json()).toEqual({ received: true, result: 'woken' });
    expect(await rowsOf('evt_second')).toHaveLength(2);
  });
});

describe('whom it wakes', () => {
  test.each([
    ['charge.refunded', { id: 'ch_1', object: 'charge', metadata: {} }],
    ['refund.failed', { id: 're_1', object: 'refund', metadata: null }],
    ['charge.refund.updated', { id: 're_1', object: 'refund' }],
    ['charge.dispute.created', { id: 'dp_1', object: 'dispute' }],
    ['a.type.of.the.future', { id: 'xx_1', object: 'future' }],
  ])('%s, by the payment that it names', async (type, object) => {
    const { id, payment } = await aQuietOrder();
    const hook = signed(anEvent(`evt_${type}`, type, { ...object, payment_intent: payment }));
    expect((await send(hook)).json()).toEqual({ received: true, result: 'woken' });
    expect(await waking(id)).toMatchObject({ wake: 1, due: true });
  });

  test('by our own metadata, before the id of the payment is known', async () => {
    await api.create('early: ä/1');
    const object = { ...aPayment('pi_early'), metadata: { operation_id: 'early: ä/1' } };
    const answer = await send(signed(anEvent('evt_early', 'payment_intent.created', object)));
    expect(answer.json()).toEqual({ received: true, result: 'woken' });
    expect((await waking('early: ä/1')).wake).toBe(1);
  });

  test('by the payment that is to be adopted, before it is recorded as the order’s own', async () => {
    await api.create('adopting', { payment: { reference: 'pi_of_the_front_end', payment_method: null } });
    const answer = await send(
      signed(anEvent('evt_adopting', 'payment_intent.succeeded', aPayment('pi_of_the_front_end'))),
    );
    expect(answer.json()).toEqual({ received: true, result: 'woken' });
    expect((await waking('adopting')).wake).toBe(1);
  });

  test('one that is both, once', async () => {
    const { id, payment } = await aQuietOrder();
    const object = { ...aPayment(payment), metadata: { operation_id: id } };
    await send(signed(anEvent('evt_both', 'payment_intent.succeeded', object)));
    expect(await waking(id)).toMatchObject({ wake: 1 });
  });

  test('two, when a payment of one carries the key of another', async () => {
    const [one, two] = [await aQuietOrder(), await aQuietOrder()];
    const object = { ...aPayment(one.payment), metadata: { operation_id: two.id } };
    await send(signed(anEvent('evt_stray', 'payment_intent.succeeded', object)));
    const woken = [await waking(one.id), await waking(two.id)];
    expect(woken).toMatchObject([{ wake: 1 }, { wake: 1 }]);
    expect((await rowsOf('evt_stray'))[0]?.woke).toEqual(woken.map(({ id }) => id));
  });

  test.each([
    ['customer.created', { id: 'cus_1', object: 'customer' }],
    ['payment_intent.succeeded', aPayment('pi_of_another_shop')],
    ['ping', {}],
  ])('nobody, and 200 all the same: %s', async (type, object) => {
    const rings = api.rings();
    const answer = await send(signed(anEvent(`evt_nobody_${type}`, type, object)));
    expect([answer.status, answer.json()]).toEqual([200, { received: true, result: 'unmatched' }]);
    expect(await rowsOf(`evt_nobody_${type}`)).toMatchObject([{ woke: [] }]);
    expect(api.rings()).toBe(rings);
  });

  test('a record that a worker holds: its release finds that it was woken, and it is due at once', async () => {
    await api.db.database.query('UPDATE order_operations SET next_attempt_at = NULL');
    const { id, payment } = await aQuietOrder();
    await api.db.database.query(
      `UPDATE order_operations SET next_attempt_at = now() - interval '1 s', lease_holder = 'worker',
         lease_expires_at = now() + interval '1 min', wake_at_claim = wake, fencing_token = 7 WHERE operation_id = $1`,
      [id],
    );
    await send(signed(anEvent('evt_held', 'payment_intent.succeeded', aPayment(payment))));
    const [record] = await api.db.database.query<{ id: string; facts: never; status: never }>(
      'SELECT id, facts, status FROM order_operations WHERE operation_id = $1',
      [id],
    );
    if (record === undefined) throw new Error('the record is gone');
    const [recorded] = await new PassStore(api.db.database).recordAll([
      {
        row: record.id,
        worker: 'worker',
        fencing_token: 7,
        resource_version: 1,
        generation: 1,
        facts: record.facts,
        status: record.status,
        provider_reference: payment,
        changed: false,
        completed: null,
        resolved: [],
        events: [],
        transitions: [],
        next: { kind: 'release', look_in_ms: 900_000 },
      },
    ]);
    expect(recorded).toMatchObject({ held: true, woken: true });
    expect(await waking(id)).toMatchObject({ due: true });
  });
});

describe('the same event again', () => {
  test('fifty deliveries at once: one row, one waking, fifty times 200', async () => {
    const { id, payment } = await aQuietOrder();
    const event = anEvent('evt_fifty', 'payment_intent.succeeded', aPayment(payment));
    const answers = await Promise.all(Array.from({ length: 50 }, () => send(signed(event))));
    expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(200));
    const results = answers.map((answer) => answer.json<{ result: string }>().result).sort();
    expect(results).toEqual([...Array<string>(49).fill('duplicate'), 'woken']);
    expect(await rowsOf('evt_fifty')).toHaveLength(1);
    expect(await waking(id)).toMatchObject({ wake: 1 });
  });

  test('fifty events about one order at once: all are stored, each wakes', async () => {
    const { id, payment } = await aQuietOrder();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => send(signed(anEvent(`evt_many_${n}`, 'x', aPayment(payment))))),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(200));
    expect(await waking(id)).toMatchObject({ wake: 50 });
  });
});

describe('another account or mode than the one that was pinned', () => {
  const pin = (identity: string | null, livemode: boolean | null): Promise<unknown> =>
    api.db.database.query(
      `INSERT INTO provider_accounts (account, identity, livemode) VALUES ('default', $1, $2)
       ON CONFLICT (account) DO UPDATE SET identity = $1, livemode = $2`,
      [identity, livemode],
    );
  afterEach(() => pin(null, null));

  test.each([
    ['acct_us', false, { account: 'acct_other' }, 'other_account'],
    ['acct_us', false, { livemode: true }, 'other_mode'],
    ['acct_us', true, { livemode: false, account: 'acct_us' }, 'other_mode'],
    ['acct_us', true, { livemode: false, account: 'acct_other' }, 'other_mode'],
  ])('%s, live %p, event %j: stored, ignored, wakes nothing', async (identity, livemode, event, because) => {
    await pin(identity, livemode);
    const { id, payment } = await aQuietOrder();
    const eventId = `evt_other_${id}`;
    const answer = await send(signed(anEvent(eventId, 'payment_intent.succeeded', aPayment(payment), event)));
    expect([answer.status, answer.json()]).toEqual([200, { received: true, result: 'ignored' }]);
    expect(await rowsOf(eventId)).toMatchObject([{ ignored_because: because, woke: [] }]);
    expect(await waking(id)).toMatchObject({ wake: 0, due: false });
  });

  test.each([
    ['acct_us', false, { account: 'acct_us' }],
    ['acct_us', true, { livemode: true }],
    ['acct_us', false, { livemode: undefined }],
    [null, null, { account: 'acct_any', livemode: true }],
  ])('%s, live %p, event %j: nothing speaks against it', async (identity, livemode, event) => {
    await pin(identity, livemode);
    const { id, payment } = await aQuietOrder();
    const hook = signed(anEvent(`evt_same_${id}`, 'payment_intent.succeeded', aPayment(payment), event));
    expect((await send(hook)).json()).toEqual({ received: true, result: 'woken' });
  });
});

test('what the payload tells of people is not kept', async () => {
  const { payment } = await aQuietOrder();
  const charge = {
    id: 'ch_private',
    object: 'charge',
    payment_intent: payment,
    billing_details: { email: 'ada@example.org', name: 'Ada Private' },
    payment_method_details: { card: { last4: '4242' } },
    receipt_email: 'ada@example.org',
    metadata: { operation_id: 'quiet', note: 'Ada Private' },
  };
  await send(signed(anEvent('evt_private', 'charge.succeeded', charge)));
  const [row] = await api.db.database.query<{ all: string }>(
    `SELECT to_jsonb(e)::text AS all FROM provider_events e WHERE event_id = 'evt_private'`,
  );
  expect(row?.all).toContain('ch_private');
  expect(row?.all).not.toMatch(/ada[ @]|example\.org|4242|note/i);
});

test('they are counted', async () => {
  const { text } = await api.anonymous('GET', '/metrics');
  for (const result of ['woken', 'unmatched', 'ignored', 'duplicate', 'refused']) {
    expect(text).toMatch(
      new RegExp(`^order_provider_events_total\\{account="default",result="${result}"\\} [1-9]`, 'm'),
    );
  }
});

describe('Postgres away', () => {
  let proxy: Proxy;
  let database: Database;
  let behind: TestApi;
  beforeEach(async () => {
    const url = new URL(api.db.url);
    proxy = await startProxy({ host: url.hostname, port: Number(url.port) });
    url.hostname = '127.0.0.1';
    url.port = String(proxy.port);
    database = new Database({ url: url.toString(), pool_size: 2 });
    behind = await anApi({
      inbox: new EventInbox(database),
      webhookSecrets: new Map([['default', [WEBHOOK_SECRET]]]),
    });
  });
  afterEach(async () => {
    await behind.stop();
    await database.close();
    await proxy.stop();
  });

  test.each(['refuse', 'hang'] as const)('%s: 503 in time; the redelivery is worked', async (mode) => {
    const { id, payment } = await aQuietOrder();
    const event = anEvent(`evt_away_${mode}`, 'payment_intent.succeeded', aPayment(payment));
    // The connection exists before it is lost.
    await behind.anonymous('POST', PATH, signed(anEvent(`evt_before_${mode}`, 'ping', {})));
    await proxy.set(mode);
    const began = performance.now();
    const answer = await behind.anonymous('POST', PATH, signed(event));
    expect(performance.now() - began).toBeLessThan(6_500);
    expect(refusal(answer)).toEqual([503, 'unavailable']);
    expect(problem(answer).retryable).toBe(true);
    if (mode === 'refuse') expect(await rowsOf(`evt_away_${mode}`)).toEqual([]);

    await proxy.set('pass');
    // Signed anew, as the provider does.
    const again = await behind.anonymous('POST', PATH, signed(event));
    expect(again.status).toBe(200);
    expect(await waking(id)).toMatchObject({ wake: 1, due: true });
    expect(await rowsOf(`evt_away_${mode}`)).toHaveLength(1);
  });

  test('a schema that is not there yet: 503, so that it comes again', async () => {
    await behind.db.database.query('DROP TABLE provider_events');
    const without = await anApi({
      inbox: new EventInbox(behind.db.database),
      webhookSecrets: new Map([['default', [WEBHOOK_SECRET]]]),
    });
    const answer = await without.anonymous('POST', PATH, signed(anEvent('evt_schema', 'ping', {})));
    expect(refusal(answer)).toEqual([503, 'unavailable']);
    await without.stop();
  });
});
