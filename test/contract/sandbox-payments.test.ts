/** The sandbox's payments server, driven by the real Stripe SDK and judged by its ledger. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import Stripe from 'stripe';
import { startTestSandbox, type TestSandbox } from '../support/sandbox-control.js';

const DAY_MS = 86_400_000;
const OPERATION = 'shop:1/order ä 7';

let sandbox: TestSandbox;
let stripe: Stripe;

function client(key = 'sk_test_sandbox'): Stripe {
  return new Stripe(key, {
    host: '127.0.0.1',
    port: sandbox.port,
    protocol: 'http',
    maxNetworkRetries: 0,
    timeout: 3000,
    telemetry: false,
  });
}

beforeAll(async () => {
  sandbox = await startTestSandbox();
  stripe = client();
});
beforeEach(() => sandbox.control.reset());
afterAll(() => sandbox.stop());

type Create = Stripe.PaymentIntentCreateParams;

/** Valid by default: an unconfirmed payment of 129.00 EUR that needs no return_url. */
function aPayment(more: Partial<Create> = {}): Create {
  return {
    amount: 12900,
    currency: 'eur',
    metadata: { operation_id: OPERATION },
    automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
    ...more,
  };
}

async function confirmed(more: Partial<Create> = {}): Promise<Stripe.PaymentIntent> {
  return stripe.paymentIntents.create(aPayment({ payment_method: 'pm_card_visa', confirm: true, ...more }));
}

/** The error as the API sent it; fails when there was none. */
async function errorOf(call: Promise<unknown>): Promise<Stripe.errors.StripeError> {
  const outcome: unknown = await call.then(
    (value) => value,
    (error: unknown) => error,
  );
  if (outcome instanceof Stripe.errors.StripeError) return outcome;
  throw new Error(`no Stripe error but ${JSON.stringify(outcome)}`);
}

/** What one raw request is answered with, for what the SDK hides. */
async function raw(
  method: string,
  path: string,
  body = '',
  headers: Record<string, string> = {},
): Promise<{
  status: number;
  headers: Headers;
  text: string;
  json: Record<string, Record<string, unknown>>;
}> {
  const response = await fetch(`${sandbox.url}${path}`, {
    method,
    headers: {
      authorization: 'Bearer sk_test_sandbox',
      'content-type': 'application/x-www-form-urlencoded',
      ...headers,
    },
    ...(method === 'POST' ? { body } : {}),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: JSON.parse(text) as Record<string, Record<string, unknown>>,
  };
}

describe('the life of a payment', () => {
  test('create, confirm, capture a part, refund, read back', async () => {
    const created = await stripe.paymentIntents.create(
      aPayment({ payment_method: 'pm_card_visa', capture_method: 'manual' }),
    );
    expect(created).toMatchObject({
      object: 'payment_intent',
      status: 'requires_confirmation',
      latest_charge: null,
    });
    const held = await stripe.paymentIntents.confirm(created.id, { expand: ['latest_charge'] });
    expect(held).toMatchObject({ status: 'requires_capture', amount_capturable: 12900, amount_received: 0 });
    const week = Math.floor((await sandbox.control.now()).getTime() / 1000) + 7 * 86_400;
    const charge = held.latest_charge as Stripe.Charge;
    expect(Math.abs((charge.payment_method_details?.card?.capture_before ?? 0) - week)).toBeLessThan(5);

    const captured = await stripe.paymentIntents.capture(created.id, { amount_to_capture: 9000 });
    expect(captured).toMatchObject({ status: 'succeeded', amount_capturable: 0, amount_received: 9000 });
    await stripe.refunds.create({ payment_intent: created.id, amount: 2500 });
    const read = await stripe.charges.retrieve(captured.latest_charge as string, { expand: ['refunds'] });
    expect(read).toMatchObject({ amount_captured: 9000, amount_refunded: 2500, refunded: false });
    expect(read.refunds?.data).toHaveLength(1);

    expect(await sandbox.control.ledger(OPERATION)).toMatchObject({
      currency: 'eur',
      authorized: 12900,
      held: 0,
      captured: 9000,
      refunded: 2500,
      effects: { creates: 1, confirms: 1, captures: 1, refunds: 1, voids: 0 },
      violations: [],
    });
  });

  test.each([
    ['pm_card_chargeDeclined', 'card_declined', 'generic_decline', 'try_again_later'],
    [
      'pm_card_visa_chargeDeclinedInsufficientFunds',
      'card_declined',
      'insufficient_funds',
      'try_again_later',
    ],
    ['pm_card_chargeDeclinedLostCard', 'card_declined', 'lost_card', 'do_not_try_again'],
    ['pm_card_chargeDeclinedExpiredCard', 'expired_card', '', 'do_not_try_again'],
    ['pm_card_chargeDeclinedIncorrectCvc', 'incorrect_cvc', '', 'confirm_card_data'],
    ['pm_card_chargeDeclinedProcessingError', 'processing_error', '', 'try_again_later'],
  ])('%s is declined with %s, and another card may follow', async (method, code, declineCode, advice) => {
    const intent = await stripe.paymentIntents.create(aPayment({ payment_method: method }));
    const error = await errorOf(stripe.paymentIntents.confirm(intent.id));
    expect(error).toBeInstanceOf(Stripe.errors.StripeCardError);
    expect(error).toMatchObject({ statusCode: 402, code, decline_code: declineCode, advice_code: advice });
    expect(error.payment_intent).toMatchObject({ id: intent.id, status: 'requires_payment_method' });
    const read = await stripe.paymentIntents.retrieve(intent.id);
    expect(read).toMatchObject({ payment_method: null, last_payment_error: { code } });
    expect(await sandbox.control.ledger(OPERATION)).toMatchObject({ authorized: 0, captured: 0 });

    await stripe.paymentIntents.confirm(intent.id, { payment_method: 'pm_card_mastercard' });
    expect(await sandbox.control.ledger(OPERATION)).toMatchObject({ authorized: 12900, captured: 12900 });
  });

  test('a customer who must authenticate: completed, failed, off session', async () => {
    const method = 'pm_card_authenticationRequired';
    const waiting = await confirmed({ payment_method: method, return_url: 'https://shop.example/back' });
    expect(waiting).toMatchObject({ status: 'requires_action', next_action: { type: 'redirect_to_url' } });
    expect((await confirmed({ payment_method: method })).next_action?.type).toBe('use_stripe_sdk');
    await sandbox.control.dashboard('complete_authentication', { payment_intent: waiting.id });
    expect((await stripe.paymentIntents.retrieve(waiting.id)).status).toBe('succeeded');

    const second = await confirmed({ payment_method: method });
    await sandbox.control.dashboard('fail_authentication', { payment_intent: second.id });
    const failed = await stripe.paymentIntents.retrieve(second.id);
    expect(failed.status).toBe('requires_payment_method');
    expect(failed.last_payment_error?.code).toBe('payment_intent_authentication_failure');

    const error = await errorOf(confirmed({ payment_method: method, off_session: true }));
    expect(error).toMatchObject({ code: 'authentication_required', decline_code: 'authentication_required' });
  });

  test.each([
    ['settle_payment', 'succeeded', 12900],
    ['fail_payment', 'requires_payment_method', 0],
  ] as const)('a debit is processing until %s', async (action, status, captured) => {
    const intent = await confirmed({ payment_method: 'pm_sepaDebit' });
    expect(intent.status).toBe('processing');
    expect((await errorOf(stripe.paymentIntents.cancel(intent.id))).code).toBe(
      'payment_intent_unexpected_state',
    );
    await sandbox.control.dashboard(action, { operation_id: OPERATION });
    expect((await stripe.paymentIntents.retrieve(intent.id)).status).toBe(status);
    expect((await sandbox.control.ledger(OPERATION)).captured).toBe(captured);
  });

  test('a hold that nobody captures lapses when its time comes', async () => {
    const intent = await confirmed({ capture_method: 'manual' });
    await sandbox.control.advanceClock(7 * DAY_MS - 60_000);
    expect((await sandbox.control.ledger(OPERATION)).held).toBe(12900);
    await sandbox.control.advanceClock(120_000);
    const read = await stripe.paymentIntents.retrieve(intent.id);
    expect(read).toMatchObject({ status: 'canceled', cancellation_reason: 'expired', amount_capturable: 0 });
    expect((await sandbox.control.events({ type: 'payment_intent.canceled' })).length).toBe(1);
    const error = await errorOf(stripe.paymentIntents.capture(intent.id));
    expect(error).toMatchObject({ statusCode: 400, code: 'payment_intent_unexpected_state' });
    expect(error.payment_intent?.status).toBe('canceled');
    expect(await sandbox.control.ledger(OPERATION)).toMatchObject({ held: 0, captured: 0 });
  });

  test('update: the amount moves before the payment, words about it at any time', async () => {
    const intent = await stripe.paymentIntents.create(aPayment());
    await stripe.paymentIntents.update(intent.id, { amount: 8000, payment_method: 'pm_card_visa' });
    const paid = await stripe.paymentIntents.confirm(intent.id);
    expect(paid.amount_received).toBe(8000);
    const error = await errorOf(stripe.paymentIntents.update(intent.id, { amount: 9000 }));
    expect(error.code).toBe('payment_intent_unexpected_state');
    const words = await stripe.paymentIntents.update(intent.id, {
      metadata: { note: 'x', operation_id: '' },
    });
    expect(words.metadata).toEqual({ note: 'x' });
    expect((await sandbox.control.ledger(OPERATION)).intents).toEqual([]);
  });
});

/** Puts a fresh payment into the state of that name. */
async function inState(state: string): Promise<string> {
  switch (state) {
    case 'requires_payment_method':
      return (await stripe.paymentIntents.create(aPayment())).id;
    case 'requires_confirmation':
      return (await stripe.paymentIntents.create(aPayment({ payment_method: 'pm_card_visa' }))).id;
    case 'requires_action':
      return (await confirmed({ payment_method: 'pm_card_threeDSecure2Required' })).id;
    case 'processing':
      return (await confirmed({ payment_method: 'pm_sepaDebit' })).id;
    case 'requires_capture':
      return (await confirmed({ capture_method: 'manual' })).id;
    case 'succeeded':
      return (await confirmed()).id;
    default:
      return (await stripe.paymentIntents.cancel(await inState('requires_capture'))).id;
  }
}

test.each([
  ['requires_payment_method', 'refused', 'refused', 'canceled'],
  ['requires_confirmation', 'succeeded', 'refused', 'canceled'],
  ['requires_action', 'requires_action', 'refused', 'canceled'],
  ['processing', 'refused', 'refused', 'refused'],
  ['requires_capture', 'refused', 'succeeded', 'canceled'],
  ['succeeded', 'refused', 'refused', 'refused'],
  ['canceled', 'refused', 'refused', 'refused'],
])('from %s: confirm → %s, capture → %s, cancel → %s', async (state, confirm, capture, cancel) => {
  const outcome = async (call: Promise<Stripe.PaymentIntent>): Promise<string> => {
    try {
      return (await call).status;
    } catch (error) {
      expect(error).toMatchObject({ statusCode: 400, code: 'payment_intent_unexpected_state' });
      return 'refused';
    }
  };
  expect({
    confirm: await outcome(stripe.paymentIntents.confirm(await inState(state))),
    capture: await outcome(stripe.paymentIntents.capture(await inState(state))),
    cancel: await outcome(stripe.paymentIntents.cancel(await inState(state))),
  }).toEqual({ confirm, capture, cancel });
});

describe('refunds', () => {
  const refund = (payment: string, amount?: number): Promise<Stripe.Refund> =>
    stripe.refunds.create({ payment_intent: payment, ...(amount === undefined ? {} : { amount }) });

  test('cannot exceed what was captured, to the unit', async () => {
    const intent = await confirmed({ amount: 1000 });
    for (let i = 0; i < 3; i += 1) await refund(intent.id, 333);
    const over = await errorOf(refund(intent.id, 2));
    expect(over).toMatchObject({ statusCode: 400, param: 'amount', code: undefined });
    expect((await refund(intent.id)).amount).toBe(1);
    expect((await errorOf(refund(intent.id))).code).toBe('charge_already_refunded');
    expect(await sandbox.control.ledger(OPERATION)).toMatchObject({
      refunded: 1000,
      effects: { refunds: 4 },
    });
    const read = await stripe.paymentIntents.retrieve(intent.id, { expand: ['latest_charge'] });
    expect(read).toMatchObject({ status: 'succeeded', latest_charge: { refunded: true } });
  });

  test('are refused while nothing is captured', async () => {
    const held = await confirmed({ capture_method: 'manual' });
    expect((await errorOf(refund(held.id))).code).toBe('charge_not_refundable');
    const fresh = await stripe.paymentIntents.create(aPayment());
    expect((await errorOf(refund(fresh.id))).statusCode).toBe(400);
    expect((await sandbox.control.ledger(OPERATION)).effects.refunds).toBe(0);
  });

  test('a pending one uses up what is left, a failed one gives it back', async () => {
    const intent = await confirmed({ amount: 10_000, payment_method: 'pm_card_pendingRefund' });
    const pending = await refund(intent.id, 7000);
    expect(pending).toMatchObject({ status: 'pending', pending_reason: 'processing' });
    expect((await errorOf(refund(intent.id, 4000))).param).toBe('amount');
    await sandbox.control.dashboard('settle_refund', { refund: pending.id });
    expect((await stripe.refunds.retrieve(pending.id)).status).toBe('succeeded');
    // Succeeded is not the end of it.
    await sandbox.control.dashboard('fail_refund', { refund: pending.id });
    const failed = await stripe.refunds.retrieve(pending.id);
    expect(failed).toMatchObject({ status: 'failed', failure_reason: 'expired_or_canceled_card' });
    expect(await sandbox.control.ledger(OPERATION)).toMatchObject({ captured: 10_000, refunded: 0 });
    const types = (await sandbox.control.events({ operation_id: OPERATION })).map((event) => event.type);
    expect(types).toEqual(expect.arrayContaining(['refund.created', 'refund.updated', 'refund.failed']));
  });

  test('only one that waits for the customer can be canceled', async () => {
    const intent = await confirmed({ payment_method: 'pm_card_refundRequiresAction' });
    const waiting = await refund(intent.id, 500);
    expect((await stripe.refunds.cancel(waiting.id)).status).toBe('canceled');
    const plain = await refund((await confirmed()).id, 500);
    expect((await errorOf(stripe.refunds.cancel(plain.id))).statusCode).toBe(400);
  });

  test('are listed by payment, newest first, and filtered lists of unknown payments are refused', async () => {
    const intent = await confirmed();
    const made = [await refund(intent.id, 1), await refund(intent.id, 2)];
    await refund((await confirmed()).id, 3);
    const listed = await stripe.refunds.list({ payment_intent: intent.id });
    expect(listed.data.map((one) => one.id)).toEqual(made.map((one) => one.id).reverse());
    expect((await errorOf(stripe.refunds.list({ payment_intent: 'pi_unknown' }))).code).toBe(
      'resource_missing',
    );
  });
});

describe('disputes', () => {
  test.each([
    ['win_dispute', 'won', 0, 'succeeded'],
    ['lose_dispute', 'lost', 12900, 'charge_disputed'],
  ] as const)('a chargeback stops refunds; after %s: %s', async (action, status, withdrawn, afterwards) => {
    const intent = await confirmed({ payment_method: 'pm_card_createDispute' });
    const [dispute] = (await stripe.disputes.list({ payment_intent: intent.id })).data;
    expect(dispute).toMatchObject({ status: 'needs_response', is_charge_refundable: false });
    expect(dispute?.balance_transactions).toHaveLength(1);
    expect((await errorOf(stripe.refunds.create({ payment_intent: intent.id }))).code).toBe(
      'charge_disputed',
    );
    await sandbox.control.dashboard(action, { operation_id: OPERATION });
    expect((await stripe.disputes.retrieve(dispute?.id ?? '')).status).toBe(status);
    const outcome = await stripe.refunds.create({ payment_intent: intent.id }).then(
      (made) => made.status,
      (error: Stripe.errors.StripeError) => error.code,
    );
    expect(outcome).toBe(afterwards);
    expect(await sandbox.control.ledger(OPERATION)).toMatchObject({ withdrawn, violations: [] });
  });

  test('an inquiry takes nothing and leaves the charge refundable until it escalates', async () => {
    const intent = await confirmed({ amount: 5000 });
    await sandbox.control.dashboard('open_dispute', { payment_intent: intent.id, inquiry: true });
    await stripe.refunds.create({ payment_intent: intent.id, amount: 100 });
    await sandbox.control.dashboard('escalate_dispute', { payment_intent: intent.id });
    expect((await errorOf(stripe.refunds.create({ payment_intent: intent.id }))).code).toBe(
      'charge_disputed',
    );
  });

  test('a refund on its way fails when the chargeback crosses it', async () => {
    const intent = await confirmed({ payment_method: 'pm_card_pendingRefund' });
    const pending = await stripe.refunds.create({ payment_intent: intent.id, amount: 900 });
    await sandbox.control.dashboard('open_dispute', { payment_intent: intent.id });
    const read = await stripe.refunds.retrieve(pending.id);
    expect(read.failure_reason).toBe('charge_for_pending_refund_disputed');
  });
});

describe('parameters', () => {
  const base = 'amount=1000&currency=eur';
  test.each([
    ['an unknown parameter', `${base}&colour=red`, 'parameter_unknown', 'colour'],
    [
      'an unknown nested one',
      `${base}&automatic_payment_methods[x]=1`,
      'parameter_unknown',
      'automatic_payment_methods[x]',
    ],
    ['no amount', 'currency=eur', 'parameter_missing', 'amount'],
    ['no currency', 'amount=1000', 'parameter_missing', 'currency'],
    ['an empty currency', 'amount=1000&currency=', 'parameter_invalid_empty', 'currency'],
    ['amount 0', 'amount=0&currency=eur', 'parameter_invalid_integer', 'amount'],
    ['amount -1', 'amount=-1&currency=eur', 'parameter_invalid_integer', 'amount'],
    ['amount 1.5', 'amount=1.5&currency=eur', 'parameter_invalid_integer', 'amount'],
    ['amount 1e2', 'amount=1e2&currency=eur', 'parameter_invalid_integer', 'amount'],
    ['amount 2^53', 'amount=9007199254740992&currency=eur', 'parameter_invalid_integer', 'amount'],
    ['too little', 'amount=29&currency=eur', 'amount_too_small', 'amount'],
    ['an unknown currency', 'amount=1000&currency=xyz', undefined, 'currency'],
    ['a capture method that is none', `${base}&capture_method=later`, undefined, 'capture_method'],
    ['KWD with a third digit', 'amount=1234&currency=kwd', 'parameter_invalid_integer', 'amount'],
    ['UGX with cents', 'amount=100050&currency=ugx', 'parameter_invalid_integer', 'amount'],
    ['ISK with cents', 'amount=100001&currency=isk', 'parameter_invalid_integer', 'amount'],
    ['off_session without confirm', `${base}&off_session=true`, undefined, 'off_session'],
    ['an unknown payment method', `${base}&payment_method=pm_nobody`, 'resource_missing', 'payment_method'],
    ['a long metadata value', `${base}&metadata[a]=${'x'.repeat(501)}`, undefined, 'metadata[a]'],
    ['an expansion that is none', `${base}&expand[]=colour`, undefined, 'expand'],
  ])('%s is refused and creates nothing', async (_name, body, code, param) => {
    const { status, json } = await raw('POST', '/v1/payment_intents', body);
    expect({ status, code: json['error']?.['code'], param: json['error']?.['param'] }).toEqual({
      status: 400,
      code,
      param,
    });
    expect(json['error']?.['type']).toBe('invalid_request_error');
  });

  test.each([
    ['jpy', 4200],
    ['kwd', 7350],
    ['ugx', 100_000],
    ['isk', 100_000],
    ['eur', 829],
  ])('%s %i is taken and read back exactly', async (currency, amount) => {
    const intent = await confirmed({ currency, amount });
    expect((await stripe.paymentIntents.retrieve(intent.id)).amount_received).toBe(amount);
    expect(await sandbox.control.ledger(OPERATION)).toMatchObject({ currency, captured: amount });
  });

  test('a confirmation that could redirect needs a return_url, and nothing is created without', async () => {
    const open = { automatic_payment_methods: { enabled: true } };
    expect((await errorOf(confirmed(open))).param).toBe('return_url');
    expect((await stripe.paymentIntents.list()).data).toEqual([]);
    expect((await confirmed({ ...open, return_url: 'https://shop.example/' })).status).toBe('succeeded');
    await sandbox.control.settings({ redirect_methods: false });
    expect((await confirmed(open)).status).toBe('succeeded');
  });

  test('payment_method_types is known to older versions of the API only', async () => {
    const body = `${base}&payment_method_types[]=card`;
    const old = await raw('POST', '/v1/payment_intents', body, { 'stripe-version': '2026-08-26.dahlia' });
    expect(old).toMatchObject({ status: 200, json: { payment_method_types: ['card'] } });
    expect((await raw('POST', '/v1/payment_intents', body)).json['error']?.['code']).toBe(
      'parameter_unknown',
    );
    const renamed = await confirmed({
      automatic_payment_methods: { enabled: false },
      allowed_payment_method_types: ['card'],
    });
    expect(renamed).toMatchObject({ status: 'succeeded', payment_method_types: ['card'] });
  });

  test('a debit cannot be held', async () => {
    const error = await errorOf(confirmed({ payment_method: 'pm_sepaDebit', capture_method: 'manual' }));
    expect(error).toMatchObject({ statusCode: 400, param: 'capture_method' });
  });

  test('parameters that a stricter server does not know can be refused by setting', async () => {
    await sandbox.control.settings({ refused_parameters: ['automatic_payment_methods'] });
    expect((await errorOf(confirmed())).code).toBe('parameter_unknown');
  });

  test('unknown ids and paths are 404', async () => {
    const error = await errorOf(stripe.paymentIntents.retrieve('pi_unknown'));
    expect(error).toMatchObject({ statusCode: 404, code: 'resource_missing', param: 'intent' });
    expect((await raw('GET', '/v1/nothing')).status).toBe(404);
    expect((await raw('GET', '/other')).status).toBe(404);
  });
});

describe('keys', () => {
  test('each speaks for its account and mode; the wrong one finds nothing', async () => {
    await sandbox.control.addKey('sk_live_a', 'acct_a', { livemode: true });
    await sandbox.control.addKey('sk_test_a', 'acct_a');
    await sandbox.control.addKey('sk_test_b', 'acct_b', { denied_routes: ['account.retrieve'] });
    const made = await client('sk_live_a').paymentIntents.create(aPayment());
    expect(made.livemode).toBe(true);
    expect((await client('sk_live_a').accounts.retrieve('acct_a')).id).toBe('acct_a');
    const hinted = await errorOf(client('sk_test_a').paymentIntents.retrieve(made.id));
    expect(hinted.message).toContain('a similar object exists in live mode');
    const foreign = await errorOf(client('sk_test_b').paymentIntents.retrieve(made.id));
    expect(foreign.message).toBe(`No such payment_intent: '${made.id}'`);
    const denied = await errorOf(client('sk_test_b').accounts.retrieve('acct_b'));
    expect(denied).toBeInstanceOf(Stripe.errors.StripePermissionError);
  });

  test('wrong, missing and revoked ones are 401 with an error body', async () => {
    expect((await errorOf(client('sk_live_x').balance.retrieve())).type).toBe('StripeAuthenticationError');
    const missing = await raw('GET', '/v1/account', '', { authorization: '' });
    expect(missing.status).toBe(401);
    const basic = `Basic ${Buffer.from('sk_test_basic:').toString('base64')}`;
    expect((await raw('GET', '/v1/account', '', { authorization: basic })).status).toBe(200);
    await sandbox.control.revokeKey('sk_test_sandbox');
    expect((await errorOf(stripe.balance.retrieve())).code).toBe('api_key_expired');
    await sandbox.control.restoreKey('sk_test_sandbox');
    expect((await stripe.balance.retrieve()).livemode).toBe(false);
  });
});

describe('idempotency', () => {
  const body = 'amount=1000&currency=eur&metadata[operation_id]=idem';
  const post = (key: string, text = body, path = '/v1/payment_intents') =>
    raw('POST', path, text, { 'idempotency-key': key });

  test('the same key and parameters give the stored answer, byte for byte', async () => {
    const first = await post('k');
    const again = await post('k', 'currency=eur&metadata[operation_id]=idem&amount=1000');
    expect(again.text).toBe(first.text);
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.headers.get('original-request')).toBe(first.headers.get('request-id'));
    expect((await sandbox.control.ledger('idem')).effects.creates).toBe(1);
  });

  test('other parameters, another path and a long key are refused', async () => {
    await post('k');
    const other = await post('k', `${body}&description=x`);
    expect(other).toMatchObject({ status: 400, json: { error: { type: 'idempotency_error' } } });
    expect(other.json['error']?.['code']).toBeUndefined();
    expect((await post('k', body, '/v1/refunds')).json['error']?.['type']).toBe('idempotency_error');
    expect((await post('x'.repeat(256))).status).toBe(400);
    expect((await post('x'.repeat(255))).status).toBe(200);
  });

  test('validation failures and 401 are not stored, declines and refusals are', async () => {
    expect((await post('v', 'amount=1000')).status).toBe(400);
    expect((await post('v')).status).toBe(200);
    const decline = `${body}&payment_method=pm_card_chargeDeclined&confirm=true&return_url=https://s.example`;
    expect((await post('d', decline)).status).toBe(402);
    const replay = await post('d', decline);
    expect([replay.status, replay.headers.get('idempotent-replayed')]).toEqual([402, 'true']);
    expect((await sandbox.control.ledger('idem')).effects.confirms).toBe(1);
  });

  test('a key belongs to its account and is forgotten after 24 hours', async () => {
    const first = await post('k');
    const elsewhere = await raw('POST', '/v1/payment_intents', body, {
      'idempotency-key': 'k',
      authorization: 'Bearer sk_test_b',
    });
    expect(elsewhere.text).toBe(first.text);
    await sandbox.control.addKey('sk_test_b', 'acct_b');
    const foreign = await raw('POST', '/v1/payment_intents', body, {
      'idempotency-key': 'k',
      authorization: 'Bearer sk_test_b',
    });
    expect(foreign.json['id']).not.toBe(first.json['id']);
    await sandbox.control.advanceClock(DAY_MS - 60_000);
    expect((await post('k')).text).toBe(first.text);
    await sandbox.control.advanceClock(60_001);
    expect((await post('k')).json['id']).not.toBe(first.json['id']);
  });
});

describe('lists and search', () => {
  test('pages are newest first, capped by setting, walked by cursor in both directions', async () => {
    await sandbox.control.settings({ page_size_limit: 10 });
    const ids: string[] = [];
    for (let i = 0; i < 23; i += 1) ids.unshift((await stripe.paymentIntents.create(aPayment())).id);
    const walked: string[] = [];
    for await (const intent of stripe.paymentIntents.list({ limit: 100 })) walked.push(intent.id);
    expect(walked).toEqual(ids);
    const back = await stripe.paymentIntents.list({ ending_before: ids[12] ?? '', limit: 5 });
    expect(back.data.map((intent) => intent.id)).toEqual(ids.slice(7, 12));
    expect(back.has_more).toBe(true);
    expect((await errorOf(stripe.paymentIntents.list({ limit: 101 }))).param).toBe('limit');
  });

  test('created and customer narrow the list', async () => {
    const early = await stripe.paymentIntents.create(aPayment({ customer: 'cus_1' }));
    await sandbox.control.advanceClock(3_600_000);
    const late = await stripe.paymentIntents.create(aPayment({ customer: 'cus_2' }));
    const found = async (query: Stripe.PaymentIntentListParams): Promise<string[]> =>
      (await stripe.paymentIntents.list(query)).data.map((intent) => intent.id);
    expect(await found({ created: { gte: late.created } })).toEqual([late.id]);
    expect(await found({ created: { lt: late.created } })).toEqual([early.id]);
    expect(await found({ created: { gt: early.created, lte: late.created } })).toEqual([late.id]);
    expect(await found({ customer: 'cus_1' })).toEqual([early.id]);
  });

  test('search sees the world as it was some time ago', async () => {
    await sandbox.control.settings({ search_lag_s: 30 });
    const odd = "o'clock";
    const intent = await stripe.paymentIntents.create(
      aPayment({ metadata: { operation_id: odd }, payment_method: 'pm_card_visa' }),
    );
    const search = async (): Promise<Stripe.PaymentIntent[]> =>
      (await stripe.paymentIntents.search({ query: "metadata['operation_id']:'o\\'clock'" })).data;
    expect(await search()).toEqual([]);
    await sandbox.control.advanceClock(31_000);
    await stripe.paymentIntents.confirm(intent.id);
    expect(await search()).toMatchObject([{ id: intent.id, status: 'requires_confirmation' }]);
    expect((await errorOf(stripe.paymentIntents.search({ query: 'nonsense' }))).statusCode).toBe(400);
  });
});

test('people act outside the API, and the ledger tells them apart', async () => {
  const held = await confirmed({ capture_method: 'manual' });
  await sandbox.control.dashboard('capture', { operation_id: OPERATION, amount: 9000 });
  await sandbox.control.dashboard('refund', { operation_id: OPERATION, amount: 1000 });
  await sandbox.control.dashboard('create_stray', {
    amount: 700,
    currency: 'eur',
    metadata: { operation_id: OPERATION },
    payment_method: 'pm_card_visa',
  });
  const ledger = await sandbox.control.ledger(OPERATION);
  expect(ledger).toMatchObject({
    captured: 9700,
    refunded: 1000,
    effects: { creates: 1, captures: 0, refunds: 0 },
    outside_effects: { creates: 1, confirms: 1, captures: 1, refunds: 1 },
  });
  expect(ledger.intents.map((intent) => [intent.source, intent.captured])).toEqual([
    ['api', 9000],
    ['dashboard', 700],
  ]);
  expect((await errorOf(stripe.paymentIntents.capture(held.id))).payment_intent?.amount_received).toBe(9000);
  await expect(sandbox.control.dashboard('capture', { operation_id: 'nobody' })).rejects.toThrow(/400/);
});

test('events are signed, repeated until accepted, delivered again on request', async () => {
  const secret = 'whsec_sandbox';
  const received: Stripe.Event[] = [];
  let refusals = 1;
  const receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      received.push(stripe.webhooks.constructEvent(body, request.headers['stripe-signature'] ?? '', secret));
      response.writeHead(refusals > 0 ? 500 : 200).end();
      refusals -= 1;
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const { port } = receiver.address() as AddressInfo;
  const until = async (count: number): Promise<void> => {
    for (let i = 0; received.length < count && i < 200; i += 1) await new Promise((r) => setTimeout(r, 10));
    expect(received).toHaveLength(count);
  };
  await sandbox.control.addWebhook(`http://127.0.0.1:${port}/hook`, secret);
  const intent = await confirmed();
  await until(4);
  expect(received.map((event) => event.type).sort()).toEqual(
    [
      'charge.succeeded',
      'payment_intent.created',
      'payment_intent.created',
      'payment_intent.succeeded',
    ].sort(),
  );
  const created = received.find((event) => event.type === 'payment_intent.created');
  expect(created?.data.object).toMatchObject({ id: intent.id, status: 'requires_confirmation' });
  expect(created?.api_version).toBe('2026-10-28.endive');

  await sandbox.control.settings({ webhooks: { enabled: false } });
  await stripe.refunds.create({ payment_intent: intent.id });
  const [refunded] = await sandbox.control.events({ type: 'charge.refunded' });
  await sandbox.control.redeliver(refunded?.id ?? '');
  await until(5);
  expect(received.at(-1)).toMatchObject({ id: refunded?.id, type: 'charge.refunded' });
  expect((await stripe.events.list({ limit: 1 })).data[0]?.id).toBe(refunded?.id);
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
});
