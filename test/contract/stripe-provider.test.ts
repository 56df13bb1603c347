/** The Stripe adapter against real HTTP: answers that no well-behaved server gives, and what it asks for when. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { PaymentReading } from '../../src/operation/observation.js';
import type { PaymentStep } from '../../src/operation/step.js';
import type { PaymentCall } from '../../src/payment/port.js';
import { stripeClient } from '../../src/payment/stripe/client.js';
import { StripeProvider } from '../../src/payment/stripe/stripe-provider.js';
import {
  closedPort,
  startScriptedServer,
  type Script,
  type ScriptedServer,
} from '../support/scripted-server.js';
import { aCharge, aDispute, aList, aPaymentIntent, aRefund } from '../support/stripe-objects.js';

const SECRET = 'sk_test_ContractTests123';
/** Patience for answers that come, on a loaded machine, and for those that never do. */
const TIMEOUT_MS = 10_000;
const SHORT_MS = 200;
const patience = ({ fault }: Script) => (fault === 'hang' || fault === 'drip' ? SHORT_MS : TIMEOUT_MS);

const providerAt = (base: URL, timeout_ms = TIMEOUT_MS): StripeProvider =>
  new StripeProvider(stripeClient({ secret: SECRET, base, timeout_ms }));

const aRefundCall: PaymentCall = {
  step: 'create_refund',
  reference: 'pi_1',
  key: 'op_key_1',
  parameters: { payment_intent: 'pi_1', amount: 2500, metadata: { operation_id: 'op-1', refund_id: 'r1' } },
};
const aCaptureCall: PaymentCall = {
  step: 'capture_payment',
  reference: 'pi_1',
  key: 'op_key_2',
  parameters: {},
};

const error = (type: string, more: Record<string, unknown> = {}) => ({
  error: { type, message: 'Words.', ...more },
});
const replayed = { 'idempotent-replayed': 'true' };

describe('odd answers', () => {
  let server: ScriptedServer;
  let provider: StripeProvider;

  beforeEach(async () => {
    server = await startScriptedServer();
    provider = providerAt(server.url);
  });
  afterEach(() => server.stop());

  const writes: {
    name: string;
    given: Script;
    want: { kind: string; class: string; code: string; spent?: true };
  }[] = [
    {
      name: '409 key in use',
      given: { status: 409, body: error('idempotency_error', { code: 'idempotency_key_in_use' }) },
      want: { kind: 'unknown', class: 'unknown', code: 'idempotency_key_in_use' },
    },
    {
      name: '409 with the wish to retry',
      given: {
        status: 409,
        headers: { 'stripe-should-retry': 'true' },
        body: error('idempotency_error', { code: 'idempotency_key_in_use' }),
      },
      want: { kind: 'unknown', class: 'unknown', code: 'idempotency_key_in_use' },
    },
    {
      name: '400 same key, other parameters',
      given: { status: 400, body: error('idempotency_error') },
      want: { kind: 'rejected', class: 'rejected', code: 'idempotency_mismatch' },
    },
    {
      name: '429 rate limit',
      given: {
        status: 429,
        headers: { 'retry-after': '7' },
        body: error('invalid_request_error', { code: 'rate_limit' }),
      },
      want: { kind: 'not_sent', class: 'throttled', code: 'rate_limit' },
    },
    {
      name: '429 lock timeout',
      given: { status: 429, body: error('invalid_request_error', { code: 'lock_timeout' }) },
      want: { kind: 'not_sent', class: 'throttled', code: 'lock_timeout' },
    },
    {
      name: '500',
      given: { status: 500, body: error('api_error') },
      want: { kind: 'unknown', class: 'unknown', code: 'http_500' },
    },
    {
      name: '500 replayed',
      given: { status: 500, headers: replayed, body: error('api_error') },
      want: { kind: 'unknown', class: 'unknown', code: 'http_500', spent: true },
    },
    {
      name: '502 as a page',
      given: { status: 502, headers: { 'content-type': 'text/html' }, body: '<html>Bad Gateway</html>' },
      want: { kind: 'unknown', class: 'unknown', code: 'invalid_body' },
    },
    {
      name: '503 without error',
      given: { status: 503, body: { message: 'busy' } },
      want: { kind: 'unknown', class: 'unknown', code: 'http_503' },
    },
    {
      name: '424',
      given: { status: 424, body: error('api_error') },
      want: { kind: 'unknown', class: 'unknown', code: 'http_424' },
    },
    {
      name: '401',
      given: { status: 401, body: error('invalid_request_error') },
      want: { kind: 'rejected', class: 'authorization', code: 'http_401' },
    },
    {
      name: '403',
      given: { status: 403, body: error('invalid_request_error') },
      want: { kind: 'rejected', class: 'authorization', code: 'http_403' },
    },
    {
      name: '402 on a refund',
      given: { status: 402, body: error('card_error', { code: 'card_declined' }) },
      want: { kind: 'rejected', class: 'rejected', code: 'card_declined', spent: true },
    },
    {
      name: '400 charge_already_refunded',
      given: { status: 400, body: error('invalid_request_error', { code: 'charge_already_refunded' }) },
      want: { kind: 'rejected', class: 'conflict', code: 'charge_already_refunded', spent: true },
    },
    {
      name: 'a page with 200',
      given: { body: '<html>Sign in</html>' },
      want: { kind: 'unknown', class: 'unknown', code: 'invalid_body' },
    },
    {
      name: 'an empty body',
      given: { body: '' },
      want: { kind: 'unknown', class: 'unknown', code: 'invalid_body' },
    },
    {
      name: 'half an object',
      given: { body: '{"id":"re_1","obj' },
      want: { kind: 'unknown', class: 'unknown', code: 'invalid_body' },
    },
    {
      name: 'a broken body',
      given: { body: '{"id":"re_1"', fault: 'cut' },
      want: { kind: 'unknown', class: 'unknown', code: 'connection_lost' },
    },
    {
      name: 'JSON null',
      given: { body: 'null' },
      want: { kind: 'unknown', class: 'unknown', code: 'invalid_body' },
    },
    // With the SDK's own client this one ends the process: a rejection that nobody handles.
    {
      name: 'a JSON text',
      given: { body: '"ok"' },
      want: { kind: 'unknown', class: 'unknown', code: 'invalid_body' },
    },
    {
      name: 'a JSON list',
      given: { body: '[]' },
      want: { kind: 'unknown', class: 'unknown', code: 'unexpected_object' },
    },
    {
      name: 'an empty object',
      given: { body: {} },
      want: { kind: 'unknown', class: 'unknown', code: 'unexpected_object' },
    },
    {
      name: 'error as a text',
      given: { status: 400, body: { error: 'nope' } },
      want: { kind: 'rejected', class: 'rejected', code: 'http_400', spent: true },
    },
    {
      name: 'error as true',
      given: { body: { error: true } },
      want: { kind: 'unknown', class: 'unknown', code: 'unexpected_error' },
    },
    {
      name: 'an error with 200',
      given: { body: error('api_error') },
      want: { kind: 'unknown', class: 'unknown', code: 'http_200_with_error' },
    },
    {
      name: 'a redirect',
      given: { status: 302, headers: { location: 'http://127.0.0.1:9/' }, body: {} },
      want: { kind: 'unknown', class: 'unknown', code: 'http_302' },
    },
    {
      name: 'another object',
      given: { body: { id: 'cus_1', object: 'customer' } },
      want: { kind: 'unknown', class: 'unknown', code: 'unexpected_object' },
    },
    {
      name: 'a reset',
      given: { fault: 'reset' },
      want: { kind: 'unknown', class: 'unknown', code: 'connection_lost' },
    },
    {
      name: 'silence',
      given: { fault: 'hang' },
      want: { kind: 'unknown', class: 'unknown', code: 'timeout' },
    },
    {
      name: 'a body that drips',
      given: { fault: 'drip' },
      want: { kind: 'unknown', class: 'unknown', code: 'timeout' },
    },
  ];

  test.each(writes)('to a write: $name, and it is asked once', async ({ given, want }) => {
    server.answer(given);
    const outcome = await providerAt(server.url, patience(given)).apply(aRefundCall);
    expect(outcome).toMatchObject({ kind: want.kind, failure: { class: want.class, code: want.code } });
    expect(outcome.key_spent).toBe(want.spent);
    expect(outcome).not.toHaveProperty('shown');
    expect(server.received).toHaveLength(1);
  });

  test('a body without end is left off', async () => {
    server.answer({ body: { ...aRefund(), more: 'x'.repeat(9_000_000) } });
    const outcome = await providerAt(server.url).apply(aRefundCall);
    expect(outcome).toMatchObject({ kind: 'unknown', failure: { class: 'unknown', code: 'invalid_body' } });
  });

  test('how long to wait is told', async () => {
    server.answer(writes[3]?.given ?? {});
    expect(await provider.apply(aRefundCall)).toMatchObject({ failure: { retry_after_ms: 7000 } });
  });

  test('a request travels with its key, its bytes and nothing of ours', async () => {
    // With a request id the SDK would have something to report.
    server.answer({ headers: { 'request-id': 'req_1' }, body: aRefund() });
    // The order of members is the one in which a database gives them back.
    const parameters = {
      amount: 2500,
      metadata: { refund_id: 'r1', operation_id: 'op-1' },
      payment_intent: 'pi_1',
    };
    await provider.apply({ ...aRefundCall, parameters });
    await provider.apply(aRefundCall);
    const [first, second] = server.received;
    expect(first).toMatchObject({
      method: 'POST',
      path: '/v1/refunds',
      body: 'amount=2500&metadata[operation_id]=op-1&metadata[refund_id]=r1&payment_intent=pi_1',
    });
    expect(second?.body).toBe(first?.body);
    expect(first?.headers).toMatchObject({
      'idempotency-key': 'op_key_1',
      authorization: `Bearer ${SECRET}`,
    });
    expect(first?.headers).not.toHaveProperty('x-stripe-client-telemetry');
    expect(second?.headers).not.toHaveProperty('x-stripe-client-telemetry');
  });

  test.each([
    ['update_payment', '/v1/payment_intents/pi_1'],
    ['confirm_payment', '/v1/payment_intents/pi_1/confirm'],
    ['capture_payment', '/v1/payment_intents/pi_1/capture'],
    ['cancel_payment', '/v1/payment_intents/pi_1/cancel'],
  ] as const)('%s goes to %s', async (step, path) => {
    server.answer({ body: aPaymentIntent({ status: 'processing' }) });
    await provider.apply({ step, reference: 'pi_1', key: 'k', parameters: {} });
    expect(server.received).toMatchObject([{ method: 'POST', path, body: '' }]);
  });

  test('parameters that cannot be exact are not sent', async () => {
    const step: PaymentStep = {
      name: 'create_refund',
      target: 'r1',
      reference: 'pi_1',
      operation_id: 'op-1',
      refund_id: 'r1',
      amount: 1234,
      currency: 'KWD',
    };
    const outcome = await provider.apply({ ...aRefundCall, parameters: provider.prepare(step) });
    expect(outcome).toMatchObject({
      kind: 'rejected',
      failure: { class: 'rejected', code: 'amount_not_expressible' },
    });
    expect(server.received).toHaveLength(0);
  });

  test('a step without the id that it needs is not sent', async () => {
    expect(await provider.apply({ ...aCaptureCall, reference: null })).toMatchObject({
      kind: 'rejected',
      failure: { code: 'reference_missing' },
    });
    expect(server.received).toHaveLength(0);
  });

  test('a kept connection that was closed meanwhile is used once more, with the same key', async () => {
    server.answer({ body: aRefund() }, { fault: 'reset' }, { body: aRefund() });
    await provider.apply(aRefundCall);
    expect(await provider.apply(aRefundCall)).toMatchObject({ kind: 'done' });
    expect(server.received.map((request) => request.headers['idempotency-key'])).toEqual([
      'op_key_1',
      'op_key_1',
      'op_key_1',
    ]);
  });

  test('nobody listening is provably unsent', async () => {
    const base = new URL(`http://127.0.0.1:${await closedPort()}`);
    const outcome = await providerAt(base).apply(aRefundCall);
    expect(outcome).toMatchObject({
      kind: 'not_sent',
      failure: { class: 'transient', code: 'not_connected' },
    });
    expect(outcome.key_spent).toBeUndefined();
  });

  test('a name that does not exist is provably unsent', async () => {
    const outcome = await providerAt(new URL('http://provider.invalid')).apply(aRefundCall);
    expect(outcome).toMatchObject({ kind: 'not_sent', failure: { class: 'transient' } });
  });

  test('a server without TLS is provably unsent', async () => {
    const base = new URL(server.url);
    base.protocol = 'https:';
    expect(await providerAt(base).apply(aRefundCall)).toMatchObject({ kind: 'not_sent' });
    expect(server.received).toHaveLength(0);
  });

  test('nobody listening after a reset is not: the first request may have arrived', async () => {
    server.answer({ body: aRefund() });
    await provider.apply(aRefundCall);
    server.answer({ fault: 'hang' });
    const outcome = provider.apply(aRefundCall);
    while (server.received.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await server.stop();
    expect(await outcome).toMatchObject({
      kind: 'unknown',
      failure: { class: 'unknown', code: 'not_connected' },
    });
    server = await startScriptedServer();
  });

  test('the secret is in no failure', async () => {
    server.answer({
      status: 401,
      body: error('invalid_request_error', { message: `Invalid API Key provided: ${SECRET}` }),
    });
    expect(JSON.stringify(await provider.apply(aRefundCall))).not.toContain(SECRET);
    expect(JSON.stringify(await provider.observe({ reference: 'pi_1', refunds: false }))).not.toContain(
      SECRET,
    );
  });

  test('a replayed success is read again: the stored answer is old', async () => {
    server.answer(
      { headers: replayed, body: aRefund() },
      { body: aRefund({ status: 'failed', failure_reason: 'declined' }) },
    );
    expect(await provider.apply(aRefundCall)).toMatchObject({
      kind: 'rejected',
      shown: { refund: { state: 'failed' } },
    });
    expect(server.received.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /v1/refunds',
      'GET /v1/refunds/re_1',
    ]);
  });

  test('a replayed confirmation tells how the payment stands now', async () => {
    const now = { status: 'succeeded', amount_received: 12900, latest_charge: aCharge({ disputed: true }) };
    server.answer(
      { headers: replayed, body: aPaymentIntent({ status: 'requires_action' }) },
      { body: aPaymentIntent(now) },
    );
    const call: PaymentCall = { step: 'confirm_payment', reference: 'pi_1', key: 'k', parameters: {} };
    expect(await provider.apply(call)).toMatchObject({
      kind: 'done',
      shown: { payment: { state: 'captured', disputed: true } },
    });
    expect(server.received[1]?.path).toBe('/v1/payment_intents/pi_1?expand[0]=latest_charge');
  });

  test('a replayed void of a payment that lives again: the key can do no more', async () => {
    server.answer(
      { headers: replayed, body: aPaymentIntent({ status: 'canceled' }) },
      { body: aPaymentIntent({ status: 'requires_capture', amount_capturable: 12900 }) },
    );
    const call: PaymentCall = { step: 'cancel_payment', reference: 'pi_1', key: 'k', parameters: {} };
    expect(await provider.apply(call)).toMatchObject({
      kind: 'unknown',
      key_spent: true,
      shown: { payment: { state: 'authorized' } },
    });
  });

  test('a replayed success that cannot be read again shows nothing', async () => {
    server.answer({ headers: replayed, body: aRefund() }, { status: 503, body: error('api_error') });
    const outcome = await provider.apply(aRefundCall);
    expect(outcome.kind).toBe('done');
    expect(outcome).not.toHaveProperty('shown');
  });

  test('a replayed create still tells the id', async () => {
    server.answer({ headers: replayed, body: aPaymentIntent() });
    const parameters = { amount: 12900, currency: 'eur', metadata: { operation_id: 'op-1' } };
    const outcome = await provider.apply({ step: 'create_payment', reference: null, key: 'k', parameters });
    expect(outcome).toMatchObject({ kind: 'done', shown: { payment: { reference: 'pi_1' } } });
    expect(server.received).toHaveLength(1);
  });

  test('a payment captured by somebody else is shown with its charge', async () => {
    const taken = aPaymentIntent({ status: 'succeeded', amount_received: 12900, latest_charge: 'ch_1' });
    server.answer(
      {
        status: 400,
        body: error('invalid_request_error', {
          code: 'payment_intent_unexpected_state',
          payment_intent: taken,
        }),
      },
      { body: aCharge({ disputed: true }) },
    );
    expect(await provider.apply(aCaptureCall)).toMatchObject({
      kind: 'rejected',
      failure: { class: 'conflict' },
      shown: { payment: { state: 'captured', captured: 12900, disputed: true } },
    });
  });

  const reads: { name: string; reason: string; given: Script; want: object }[] = [
    {
      name: '404 for the id',
      reason: 'the provider says so; whether it is believed is not decided here',
      given: {
        status: 404,
        body: error('invalid_request_error', { code: 'resource_missing', param: 'intent' }),
      },
      want: { kind: 'absent' },
    },
    {
      name: '404 without a code',
      reason: 'codes may be missing',
      given: { status: 404, body: error('invalid_request_error') },
      want: { kind: 'absent' },
    },
    {
      name: '404 of a gateway',
      reason: 'not the provider’s word',
      given: { status: 404, body: { message: 'Not Found' } },
      want: { kind: 'unknown', failure: { class: 'unknown', code: 'http_404' } },
    },
    {
      name: '404 as a page',
      reason: 'not the provider’s word',
      given: { status: 404, body: '<html>404</html>' },
      want: { kind: 'unknown', failure: { class: 'unknown', code: 'invalid_body' } },
    },
    {
      name: 'the wrong mode',
      reason: 'there, but not for this key',
      given: {
        status: 404,
        body: error('invalid_request_error', {
          code: 'resource_missing',
          message:
            "No such payment_intent: 'pi_1'; a similar object exists in live mode, but a test mode key was used to make this request.",
        }),
      },
      want: { kind: 'unknown', failure: { class: 'authorization', code: 'livemode_mismatch' } },
    },
    {
      name: 'no such route',
      reason: 'nothing about the payment',
      given: {
        status: 404,
        body: error('invalid_request_error', {
          message: 'Unrecognized request URL (GET: /v1/payment_intents/pi_1).',
        }),
      },
      want: { kind: 'unknown', failure: { class: 'prerequisite' } },
    },
    {
      name: '401',
      reason: 'the account',
      given: { status: 401, body: error('invalid_request_error') },
      want: { kind: 'unknown', failure: { class: 'authorization' } },
    },
    {
      name: '403',
      reason: 'the account',
      given: { status: 403, body: error('invalid_request_error') },
      want: { kind: 'unknown', failure: { class: 'authorization' } },
    },
    {
      name: '429',
      reason: 'wait as told',
      given: { status: 429, headers: { 'retry-after': '3' }, body: error('invalid_request_error') },
      want: { kind: 'unknown', failure: { class: 'throttled', retry_after_ms: 3000 } },
    },
    {
      name: '429, and a proxy in between that has a say, too',
      reason: 'wait as told first',
      given: { status: 429, headers: { 'retry-after': ['3', '60'] }, body: error('invalid_request_error') },
      want: { kind: 'unknown', failure: { class: 'throttled', retry_after_ms: 3000 } },
    },
    {
      name: '500',
      reason: 'later',
      given: { status: 500, body: error('api_error') },
      want: { kind: 'unknown', failure: { class: 'unknown' } },
    },
    {
      name: 'silence',
      reason: 'later',
      given: { fault: 'hang' },
      want: { kind: 'unknown', failure: { class: 'unknown', code: 'timeout' } },
    },
    {
      name: 'another payment',
      reason: 'not the one asked for',
      given: { body: aPaymentIntent({ id: 'pi_2' }) },
      want: { kind: 'unknown', failure: { code: 'other_object' } },
    },
    {
      name: 'an empty object',
      reason: 'no payment',
      given: { body: {} },
      want: { kind: 'unknown', failure: { code: 'unexpected_object' } },
    },
  ];

  test.each(reads)('to a reading: $name: $reason', async ({ given, want }) => {
    server.answer(given);
    const read = providerAt(server.url, patience(given)).observe({ reference: 'pi_1', refunds: true });
    expect(await read).toMatchObject(want);
  });

  const captured = (members: Record<string, unknown> = {}) =>
    aPaymentIntent({ status: 'succeeded', amount_received: 12900, latest_charge: aCharge(members) });
  const present = async (refunds = false): Promise<PaymentReading> => {
    const reading = await provider.observe({ reference: 'pi_1', refunds });
    if (reading.kind !== 'present') throw new Error(JSON.stringify(reading));
    return reading.value;
  };
  const paths = () => server.received.map(({ path }) => path);

  test('a server that cannot expand is read without, from then on', async () => {
    const refusal = {
      status: 400,
      body: error('invalid_request_error', {
        param: 'expand',
        message: 'Received unknown parameter: expand',
      }),
    };
    server.answer(refusal, { body: { ...captured(), latest_charge: 'ch_1' } }, { body: aCharge() });
    expect(await present()).toMatchObject({ captured: 12900, refunds: null });
    expect(paths()).toEqual([
      '/v1/payment_intents/pi_1?expand[0]=latest_charge',
      '/v1/payment_intents/pi_1',
      '/v1/charges/ch_1',
    ]);
    server.answer({ body: aPaymentIntent() });
    await present();
    expect(paths()).toEqual(['/v1/payment_intents/pi_1']);
  });

  test('a server without charges is read without', async () => {
    const missing = { status: 404, body: error('invalid_request_error', { code: 'resource_missing' }) };
    server.answer({ body: { ...captured(), latest_charge: 'ch_1' } }, missing, { body: aList([]) });
    expect(await present()).toMatchObject({ captured: 12900, disputed: false, refunds: [] });
  });

  test('a charge that cannot be read just now leaves the payment unknown: it may be disputed', async () => {
    server.answer(
      { body: { ...captured(), latest_charge: 'ch_1' } },
      { status: 500, body: error('api_error') },
    );
    expect(await provider.observe({ reference: 'pi_1', refunds: false })).toMatchObject({ kind: 'unknown' });
  });

  test('refunds are listed to the last page', async () => {
    const page = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) => aRefund({ id: `re_${from + index}`, amount: 1 }));
    server.answer(
      { body: captured({ amount_refunded: 12 }) },
      { body: aList(page(1, 10), true) },
      { body: aList(page(11, 2)) },
    );
    expect((await present()).refunds?.map((refund) => refund.reference)).toEqual(
      page(1, 12).map((refund) => refund['id']),
    );
    expect(paths().slice(1)).toEqual([
      '/v1/refunds?payment_intent=pi_1&limit=100',
      '/v1/refunds?payment_intent=pi_1&limit=100&starting_after=re_10',
    ]);
  });

  test('refunds of other payments are left out', async () => {
    const refunds = [
      aRefund(),
      aRefund({ id: 're_2', payment_intent: 'pi_2' }),
      aRefund({ id: 're_3', payment_intent: undefined, charge: 'ch_2' }),
    ];
    server.answer({ body: captured() }, { body: aList(refunds) });
    expect((await present(true)).refunds?.map((refund) => refund.reference)).toEqual(['re_1']);
  });

  test.each<{ name: string; given: Script }>([
    { name: 'a page of a gateway', given: { status: 503, body: { message: 'busy' } } },
    { name: 'a list without a word about more', given: { body: { object: 'list', data: [] } } },
    { name: 'a list that repeats itself', given: { body: aList([aRefund()], true) } },
    { name: 'a refund that cannot be read', given: { body: aList([aRefund({ amount: '1' })]) } },
    { name: 'a refund in another currency', given: { body: aList([aRefund({ currency: 'usd' })]) } },
  ])('half a list of refunds is no knowledge: $name', async ({ given }) => {
    server.answer({ body: captured() }, given);
    expect(await provider.observe({ reference: 'pi_1', refunds: true })).toMatchObject({
      kind: 'unknown',
      failure: { class: 'unknown' },
    });
    expect(server.received.length).toBeLessThan(5);
  });

  test('a dispute is looked at, not only noticed', async () => {
    server.answer(
      { body: captured({ disputed: true }) },
      { body: aList([aDispute({ status: 'won', is_charge_refundable: true })]) },
    );
    expect((await present()).disputed).toBe(false);
    expect(paths()[1]).toBe('/v1/disputes?payment_intent=pi_1&limit=100');
  });

  test('a key that may not see disputes still stops refunds', async () => {
    server.answer(
      { body: captured({ disputed: true }) },
      { status: 403, body: error('invalid_request_error') },
    );
    expect(await present()).toMatchObject({ disputed: true, disputes: [] });
  });
});

describe('the address of the provider', () => {
  test.each(['http://127.0.0.1:1/stripe', 'http://user:word@127.0.0.1:1', 'ftp://127.0.0.1'])(
    '%s cannot work',
    (base) => {
      expect(() => stripeClient({ secret: SECRET, base: new URL(base), timeout_ms: 1 })).toThrow(
        /address of the payment provider/,
      );
    },
  );
});
