/** What the Stripe adapter reads for the customer, and that it reads the right payment. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { stripeClient } from '../../src/payment/stripe/client.js';
import { StripeProvider } from '../../src/payment/stripe/stripe-provider.js';
import { startScriptedServer, type Script, type ScriptedServer } from '../support/scripted-server.js';
import { aPaymentIntent } from '../support/stripe-objects.js';

const SECRET = 'pi_1_secret_Abc123';
const provided = (members: Record<string, unknown> = {}): Script => ({
  body: aPaymentIntent({ client_secret: SECRET, ...members }),
});

describe('reading for the customer', () => {
  let server: ScriptedServer;
  let provider: StripeProvider;
  beforeEach(async () => {
    server = await startScriptedServer();
    provider = new StripeProvider(
      stripeClient({ secret: 'sk_test_ContractTests123', base: server.url, timeout_ms: 10_000 }),
    );
  });
  afterEach(() => server.stop());

  test('one GET gives the payment and its secret', async () => {
    server.answer(provided({ status: 'requires_action' }));
    expect(await provider.clientSecret('pi_1')).toMatchObject({
      kind: 'present',
      value: { client_secret: SECRET, payment: { reference: 'pi_1', state: 'awaiting_customer' } },
    });
    expect(server.received.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /v1/payment_intents/pi_1',
    ]);
  });

  test.each<[string, Script, object]>([
    ['no secret', provided({ client_secret: null }), { kind: 'present', value: { client_secret: null } }],
    ['an odd secret', provided({ client_secret: 17 }), { kind: 'present', value: { client_secret: null } }],
    ['another payment', provided({ id: 'pi_2' }), { kind: 'unknown', failure: { code: 'other_object' } }],
    [
      'no such payment',
      {
        status: 404,
        body: {
          error: {
            type: 'invalid_request_error',
            code: 'resource_missing',
            message: 'No such payment_intent',
          },
        },
      },
      { kind: 'absent' },
    ],
    ['a gateway', { status: 503, body: { message: SECRET } }, { kind: 'unknown' }],
    [
      'an error that repeats it',
      { status: 400, body: { error: { type: 'invalid_request_error', message: `${SECRET} is wrong` } } },
      { kind: 'unknown' },
    ],
  ])('%s', async (_name, script, want) => {
    server.answer(script);
    const answer = await provider.clientSecret('pi_1');
    expect(answer).toMatchObject(want);
    if (answer.kind !== 'present') expect(JSON.stringify(answer)).not.toContain('Abc123');
  });

  test('any other reading leaves the secret out', async () => {
    server.answer(provided());
    const reading = await provider.observe({ reference: 'pi_1', refunds: false });
    expect(reading.kind).toBe('present');
    expect(JSON.stringify(reading)).not.toContain('Abc123');
  });
});

describe('the mode of the account', () => {
  let server: ScriptedServer;
  let provider: StripeProvider;
  beforeEach(async () => {
    server = await startScriptedServer();
    provider = new StripeProvider(
      stripeClient({ secret: 'sk_test_ContractTests123', base: server.url, timeout_ms: 10_000 }),
    );
  });
  afterEach(() => server.stop());

  const read = async (livemode: boolean | null | undefined) => {
    server.answer({ body: aPaymentIntent({ livemode, client_secret: SECRET }) });
    return [
      await provider.observe({ reference: 'pi_1', refunds: false }),
      await provider.clientSecret('pi_1'),
    ].map((reading) => (reading.kind === 'unknown' ? reading.failure.code : reading.kind));
  };
  const know = async (livemode: boolean): Promise<void> => {
    server.answer({ body: { id: 'acct_1', object: 'account' } }, { body: { object: 'balance', livemode } });
    expect(await provider.identify()).toMatchObject({ value: { livemode } });
  };

  test.each([
    [false, false, 'present'],
    [true, true, 'present'],
    [false, true, 'livemode_mismatch'],
    [true, false, 'livemode_mismatch'],
    // Servers are free to leave it out.
    [true, null, 'present'],
    [true, undefined, 'present'],
  ])('account live: %s, payment live: %s → %s', async (account, payment, want) => {
    await know(account);
    expect(await read(payment)).toEqual([want, want]);
  });

  test('before the account was asked, nothing is held against a payment', async () => {
    expect(await read(true)).toEqual(['present', 'present']);
  });
});
