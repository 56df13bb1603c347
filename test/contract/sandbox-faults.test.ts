/** Fault injection: what the caller sees, what really happened, and what a repetition then meets. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import Stripe from 'stripe';
import { type Fault, startTestSandbox, type TestSandbox } from '../support/sandbox-control.js';

const OPERATION = 'o1';
/** After this a call that is meant to hang is given up. */
const HANG_MS = 200;

let sandbox: TestSandbox;
let stripe: Stripe;

beforeAll(async () => {
  sandbox = await startTestSandbox();
  stripe = new Stripe('sk_test_sandbox', {
    host: '127.0.0.1',
    port: sandbox.port,
    protocol: 'http',
    maxNetworkRetries: 0,
    timeout: 1000,
    telemetry: false,
  });
});
beforeEach(() => sandbox.control.reset());
afterAll(() => sandbox.stop());

interface Seen {
  /** Status, or what became of the connection. */
  status: number | 'dropped' | 'timeout';
  headers: Headers;
  text: string;
}

async function send(
  method: string,
  path: string,
  body: string,
  key?: string,
  timeoutMs = 5000,
): Promise<Seen> {
  try {
    const response = await fetch(`${sandbox.url}${path}`, {
      method,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        authorization: 'Bearer sk_test_sandbox',
        'content-type': 'application/x-www-form-urlencoded',
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      ...(method === 'GET' || method === 'DELETE' ? {} : { body }),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  } catch (error) {
    const status = error instanceof DOMException && error.name === 'TimeoutError' ? 'timeout' : 'dropped';
    return { status, headers: new Headers(), text: '' };
  }
}

const create = (key?: string, timeoutMs?: number): Promise<Seen> =>
  send(
    'POST',
    '/v1/payment_intents',
    `amount=1000&currency=eur&metadata[operation_id]=${OPERATION}`,
    key,
    timeoutMs,
  );

const reserve = (timeoutMs?: number): Promise<Seen> =>
  send(
    'PUT',
    `/warehouse/reservations/${OPERATION}`,
    JSON.stringify({ lines: [{ sku: 'tea', quantity: 2 }] }),
    undefined,
    timeoutMs,
  );

const creates = async (): Promise<number> => (await sandbox.control.ledger(OPERATION)).effects.creates;
const reserved = async (): Promise<number> => (await sandbox.control.ledger(OPERATION)).stock.reserved;

interface Expectation {
  fault: Partial<Fault> & { kind: Fault['kind'] };
  status: Seen['status'];
  text: RegExp;
  /** Effects after the first call. */
  effects: 0 | 1;
  /** What the same key then gets: the genuine answer, executed now or stored before, or the faulty one. */
  again: 'genuine' | 'same';
}

/** Payments, with an idempotency key. */
const PAYMENT_FAULTS: Expectation[] = [
  { fault: { kind: 'effect_then_drop' }, status: 'dropped', text: /^$/, effects: 1, again: 'genuine' },
  { fault: { kind: 'drop_before' }, status: 'dropped', text: /^$/, effects: 0, again: 'genuine' },
  { fault: { kind: 'effect_then_500' }, status: 500, text: /api_error/, effects: 1, again: 'same' },
  { fault: { kind: '500_no_effect' }, status: 500, text: /api_error/, effects: 0, again: 'same' },
  { fault: { kind: '503_html' }, status: 503, text: /^<html>/, effects: 0, again: 'genuine' },
  { fault: { kind: '503_message' }, status: 503, text: /^\{"message":/, effects: 0, again: 'genuine' },
  { fault: { kind: '401_message' }, status: 401, text: /^\{"message":/, effects: 0, again: 'genuine' },
  { fault: { kind: '429' }, status: 429, text: /"rate_limit"/, effects: 0, again: 'genuine' },
  { fault: { kind: 'lock_timeout' }, status: 429, text: /"lock_timeout"/, effects: 0, again: 'genuine' },
  { fault: { kind: 'delay_before', delay_ms: 30 }, status: 200, text: /pi_/, effects: 1, again: 'genuine' },
  { fault: { kind: 'delay_after', delay_ms: 30 }, status: 200, text: /pi_/, effects: 1, again: 'genuine' },
  { fault: { kind: 'hang' }, status: 'timeout', text: /^$/, effects: 0, again: 'genuine' },
  { fault: { kind: 'hang', effect: 'before' }, status: 'timeout', text: /^$/, effects: 1, again: 'genuine' },
  { fault: { kind: 'truncated_json' }, status: 200, text: /^\{"id":"pi_[^}]*/, effects: 1, again: 'genuine' },
  { fault: { kind: 'empty_object' }, status: 200, text: /^\{\}$/, effects: 0, again: 'genuine' },
  {
    fault: { kind: 'empty_object', effect: 'before' },
    status: 200,
    text: /^\{\}$/,
    effects: 1,
    again: 'genuine',
  },
  { fault: { kind: 'wrong_object' }, status: 200, text: /"customer"/, effects: 0, again: 'genuine' },
  { fault: { kind: 'html_200' }, status: 200, text: /^<html>/, effects: 0, again: 'genuine' },
  { fault: { kind: 'redirect_302' }, status: 302, text: /^$/, effects: 0, again: 'genuine' },
  {
    fault: { kind: '409_in_flight' },
    status: 409,
    text: /idempotency_key_in_use/,
    effects: 0,
    again: 'genuine',
  },
  { fault: { kind: 'unknown_status' }, status: 200, text: /"half_settled"/, effects: 1, again: 'genuine' },
  {
    fault: { kind: '400_insufficient_funds' },
    status: 400,
    text: /balance_insufficient/,
    effects: 0,
    again: 'same',
  },
  {
    fault: { kind: 'answer', status: 418, body: { a: 1 }, headers: { 'x-a': 'b' } },
    status: 418,
    text: /^\{"a":1\}$/,
    effects: 0,
    again: 'genuine',
  },
  {
    fault: { kind: 'answer', status: 204, effect: 'before', body: '' },
    status: 204,
    text: /^$/,
    effects: 1,
    again: 'genuine',
  },
];

test.each(PAYMENT_FAULTS)(
  'payments: $fault.kind gives $status with $effects effect(s), then the $again answer',
  async ({ fault, status, text, effects, again }) => {
    await sandbox.control.inject({ route: 'payment_intents.create', ...fault });
    const first = await create('k', status === 'timeout' ? HANG_MS : undefined);
    expect(first.status).toBe(status);
    expect(first.text).toMatch(text);
    expect(await creates()).toBe(effects);
    const second = await create('k');
    if (again === 'same') expect([second.status, second.text]).toEqual([first.status, first.text]);
    else
      expect(second).toMatchObject({
        status: 200,
        text: expect.stringMatching(/"requires_payment_method"/) as unknown,
      });
    const stored = again === 'same' || effects === 1;
    expect(second.headers.get('idempotent-replayed')).toBe(stored ? 'true' : null);
    expect(await creates()).toBe(again === 'same' ? effects : 1);
    expect(await sandbox.control.faults()).toEqual([]);
    const [journaled] = await sandbox.control.journal({ route: 'payment_intents.create' });
    expect(journaled).toMatchObject({
      fault: fault.kind,
      status: typeof status === 'number' ? status : null,
      had_effect: effects === 1,
      idempotency_key: 'k',
      operation_id: OPERATION,
    });
  },
);

test.each<[Partial<Fault> & { kind: Fault['kind'] }, Seen['status'], RegExp, 0 | 1]>([
  [{ kind: 'effect_then_drop' }, 'dropped', /^$/, 1],
  [{ kind: 'drop_before' }, 'dropped', /^$/, 0],
  [{ kind: 'effect_then_500' }, 500, /internal/, 1],
  [{ kind: '500_no_effect' }, 500, /internal/, 0],
  [{ kind: '503_html' }, 503, /^<html>/, 0],
  [{ kind: '429', retry_after: 5 }, 429, /rate_limited/, 0],
  [{ kind: 'lock_timeout' }, 423, /locked/, 0],
  [{ kind: 'truncated_json' }, 201, /^\{"operation_id"[^}]*$/, 1],
  [{ kind: 'unknown_status' }, 201, /half_settled/, 1],
  [{ kind: 'stock_409' }, 409, /insufficient/, 0],
  [{ kind: 'hang' }, 'timeout', /^$/, 0],
])('warehouse: %j gives %s', async (fault, status, text, effects) => {
  await sandbox.control.inject({ route: 'reservations.put', ...fault });
  const seen = await reserve(status === 'timeout' ? HANG_MS : undefined);
  expect(seen.status).toBe(status);
  expect(seen.text).toMatch(text);
  expect(await reserved()).toBe(effects);
  expect([200, 201]).toContain((await reserve()).status);
  expect(await reserved()).toBe(1);
});

describe('rules', () => {
  test('skip, times and match choose the calls', async () => {
    const rule = { route: 'payment_intents.create', kind: '503_html' } as const;
    await sandbox.control.inject({ ...rule, skip: 1, times: 2 });
    const statuses: Seen['status'][] = [];
    for (let i = 0; i < 4; i += 1) statuses.push((await create()).status);
    expect(statuses).toEqual([200, 503, 503, 200]);

    await sandbox.control.inject({ ...rule, match: { operation_id: 'another' } });
    expect((await create()).status).toBe(200);
    await sandbox.control.inject({ ...rule, route: 'payment_intents.*', match: { operation_id: OPERATION } });
    expect((await create()).status).toBe(503);
  });

  test('times null holds until the rule is removed', async () => {
    const { id } = await sandbox.control.inject({ route: '*', kind: '503_message', times: null });
    for (let i = 0; i < 3; i += 1) expect((await create()).status).toBe(503);
    expect((await reserve()).status).toBe(503);
    expect((await sandbox.control.faults())[0]).toMatchObject({ id, hits: 4 });
    await sandbox.control.removeFault(id);
    expect((await create()).status).toBe(200);
  });

  test('a stored answer is replayed without using up what happens in executing', async () => {
    await create('k');
    await sandbox.control.inject({ route: 'payment_intents.create', kind: 'effect_then_500' });
    expect((await create('k')).status).toBe(200);
    expect(await sandbox.control.faults()).toHaveLength(1);
    expect((await create('other')).status).toBe(500);
  });

  test('the operation is known from the object in the path and from the refund’s payment', async () => {
    const intent = await stripe.paymentIntents.create({
      amount: 1000,
      currency: 'eur',
      payment_method: 'pm_card_visa',
      metadata: { operation_id: OPERATION },
      allowed_payment_method_types: ['card'],
    });
    const match = { operation_id: OPERATION };
    await sandbox.control.inject({ route: 'payment_intents.confirm', kind: '429', match });
    await sandbox.control.inject({ route: 'refunds.create', kind: '429', match });
    await expect(stripe.paymentIntents.confirm(intent.id)).rejects.toMatchObject({ statusCode: 429 });
    await stripe.paymentIntents.confirm(intent.id);
    await expect(stripe.refunds.create({ payment_intent: intent.id })).rejects.toMatchObject({
      statusCode: 429,
    });
    expect(await sandbox.control.ledger(OPERATION)).toMatchObject({ captured: 1000, refunded: 0 });
  });

  test.each([
    [{ route: 'nothing.here', kind: '429' }, /unknown route/],
    [{ route: '*', kind: 'explode' }, /kind/],
    [{ route: '*', kind: 'answer' }, /needs a status/],
    [{ route: '*', kind: 'delay_after' }, /delay_ms/],
    [{ route: '*', kind: '429', colour: 'red' }, /colour/],
  ])('%j is refused', async (rule, message) => {
    await expect(sandbox.control.inject(rule as Fault)).rejects.toThrow(message);
  });
});

/** Waits for a state that is bound to come, and fails with what it last was. */
async function eventually<T>(read: () => Promise<T>, wanted: T): Promise<void> {
  let last = await read();
  for (let i = 0; last !== wanted && i < 300; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    last = await read();
  }
  expect(last).toBe(wanted);
}

test('while the first request is executing its key is in use; then its answer is replayed', async () => {
  await sandbox.control.inject({ route: 'payment_intents.create', kind: 'delay_after', delay_ms: 400 });
  const slow = create('k');
  await eventually(creates, 1);
  const meanwhile = await create('k');
  expect(meanwhile).toMatchObject({
    status: 409,
    text: expect.stringContaining('idempotency_key_in_use') as unknown,
  });
  const first = await slow;
  const after = await create('k');
  expect([after.status, after.text]).toEqual([200, first.text]);
  expect(await creates()).toBe(1);
});

test('a caller that gives up does not undo the effect', async () => {
  await sandbox.control.inject({ route: 'payment_intents.create', kind: 'delay_before', delay_ms: 400 });
  expect((await create('k', 50)).status).toBe('timeout');
  expect(await creates()).toBe(0);
  await eventually(creates, 1);
});

test('429 carries what was asked for', async () => {
  await sandbox.control.inject({
    route: 'payment_intents.create',
    kind: '429',
    retry_after: 5,
    reason: 'endpoint-rate',
    should_retry: false,
  });
  const { headers } = await create();
  expect(headers.get('retry-after')).toBe('5');
  expect(headers.get('stripe-rate-limited-reason')).toBe('endpoint-rate');
  expect(headers.get('stripe-should-retry')).toBe('false');
});

describe('what the SDK makes of it', () => {
  const sdkCreate = (): Promise<Stripe.Response<Stripe.PaymentIntent>> =>
    stripe.paymentIntents.create(
      { amount: 1000, currency: 'eur', metadata: { operation_id: OPERATION } },
      { idempotencyKey: 'k' },
    );
  const inject = (kind: Fault['kind'], times = 1): Promise<unknown> =>
    sandbox.control.inject({ route: 'payment_intents.create', kind, times });

  test('a body without `error` resolves, whatever the status', async () => {
    await inject('503_message');
    const answer = await sdkCreate();
    expect(answer.lastResponse.statusCode).toBe(503);
    expect(answer.object).toBeUndefined();
    expect(await creates()).toBe(0);
  });

  test('one lost answer is hidden by its own second try, two are not', async () => {
    await inject('effect_then_drop');
    expect((await sdkCreate()).id).toMatch(/^pi_/);
    const tries = await sandbox.control.journal({ route: 'payment_intents.create' });
    expect(tries.map((entry) => [entry.fault, entry.replayed])).toEqual([
      ['effect_then_drop', false],
      [null, true],
    ]);
    await inject('effect_then_drop', 2);
    await expect(sdkCreate()).rejects.toBeInstanceOf(Stripe.errors.StripeConnectionError);
    expect(await creates()).toBe(1);
  });

  test.each<[Fault['kind'], number | undefined]>([
    ['truncated_json', undefined],
    ['503_html', undefined],
    ['effect_then_500', 500],
    ['409_in_flight', 409],
  ])('%s rejects with status %s', async (kind, statusCode) => {
    await inject(kind);
    await expect(sdkCreate()).rejects.toMatchObject({ statusCode });
  });
});

describe('outages', () => {
  test('drop and unavailable, for one service or all, until lifted', async () => {
    await sandbox.control.outage({ mode: 'drop', surface: 'payments' });
    expect([(await create()).status, (await reserve()).status]).toEqual(['dropped', 201]);
    await sandbox.control.outage({ mode: 'unavailable' });
    expect([(await create()).status, (await reserve()).status]).toEqual([503, 503]);
    await sandbox.control.outage({ mode: 'none' });
    expect([(await create()).status, (await reserve()).status]).toEqual([200, 200]);
    expect(await creates()).toBe(1);
  });

  test('a rate limit lets so many pass', async () => {
    await sandbox.control.outage({ mode: 'rate_limit', per_second: 5, retry_after: 1 });
    const seen = await Promise.all(Array.from({ length: 12 }, () => create()));
    expect(seen.filter(({ status }) => status === 200)).toHaveLength(5);
    expect(seen.find(({ status }) => status === 429)?.headers.get('retry-after')).toBe('1');
  });

  test('connections are refused for a while, then the same port answers again', async () => {
    await create();
    await sandbox.control.outage({ mode: 'refuse', duration_ms: 500 });
    const balance = async (): Promise<Seen['status']> => (await send('GET', '/v1/balance', '')).status;
    await eventually(balance, 'dropped');
    await eventually(balance, 200);
    expect(await creates()).toBe(1);
  });
});

test('stopping ends what hangs', async () => {
  const other = await startTestSandbox();
  await other.control.inject({ route: '*', kind: 'hang' });
  await other.control.inject({ route: '*', kind: 'delay_before', delay_ms: 60_000 });
  const pending = ['balance', 'account'].map((name) =>
    fetch(`${other.url}/v1/${name}`).then(
      () => 'answered',
      () => 'ended',
    ),
  );
  await new Promise((resolve) => setTimeout(resolve, 50));
  await other.stop();
  expect((await Promise.all(pending))[0]).toBe('ended');
  await expect(fetch(other.url)).rejects.toThrow();
});
