import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { PaymentCall } from '../../src/payment/port.js';
import { safeText } from '../../src/payment/stripe/redact.js';
import { retryAfterMs } from '../../src/payment/stripe/retry-after.js';
import { toOutcome } from '../../src/payment/stripe/to-outcome.js';
import { TransportError } from '../../src/outgoing/round-trip.js';
import { understand, WireCharge } from '../../src/payment/stripe/wire.js';
import { aCharge, aPaymentIntent, aRefund, resolved } from '../support/stripe-objects.js';

const call = (step: PaymentCall['step'], parameters: PaymentCall['parameters'] = {}): PaymentCall => ({
  step,
  reference: step === 'create_payment' ? null : 'pi_1',
  key: 'op_key',
  parameters,
});
const create = call('create_payment', { amount: 12900, currency: 'eur', metadata: { operation_id: 'op-1' } });
const createManual = call('create_payment', { ...create.parameters, capture_method: 'manual' });
const confirm = call('confirm_payment');
const capture = call('capture_payment');
const capturePart = call('capture_payment', { amount_to_capture: 6500 });
const cancel = call('cancel_payment');
const refund = call('create_refund', {
  payment_intent: 'pi_1',
  amount: 2500,
  metadata: { operation_id: 'op-1', refund_id: 'r1' },
});

const pi = (members: Record<string, unknown> = {}) => resolved(aPaymentIntent(members));

const answers: {
  name: string;
  reason: string;
  given: [PaymentCall, ReturnType<typeof resolved>];
  want: object;
}[] = [
  {
    name: 'created',
    reason: 'its id is what matters',
    given: [create, pi()],
    want: { kind: 'done', request_id: 'req_1', shown: { payment: { reference: 'pi_1', state: 'created' } } },
  },
  {
    name: 'created at a server that omits metadata',
    reason: 'what is left out cannot disagree',
    given: [create, pi({ metadata: undefined })],
    want: { kind: 'done' },
  },
  {
    name: 'updated',
    reason: 'the new values are seen',
    given: [call('update_payment', { amount: 700 }), pi({ amount: 700 })],
    want: { kind: 'done', shown: { payment: { amount: 700 } } },
  },
  {
    name: 'confirmed and captured',
    reason: 'automatic capture',
    given: [confirm, pi({ status: 'succeeded' })],
    want: { kind: 'done' },
  },
  {
    name: 'confirmed and held',
    reason: 'manual capture',
    given: [confirm, pi({ status: 'requires_capture', amount_capturable: 12900 })],
    want: { kind: 'done', shown: { payment: { state: 'authorized', authorized: 12900 } } },
  },
  {
    name: 'confirmed, bank thinks',
    reason: 'not finished',
    given: [confirm, pi({ status: 'processing' })],
    want: { kind: 'pending' },
  },
  {
    name: 'confirmed, customer’s turn',
    reason: 'not finished',
    given: [confirm, pi({ status: 'requires_action' })],
    want: { kind: 'pending' },
  },
  {
    name: 'confirmed with a decline inside a 200',
    reason: 'a final "no" that is stored under the key',
    given: [
      confirm,
      pi({
        status: 'requires_payment_method',
        last_payment_error: { code: 'card_declined', message: 'Declined.' },
      }),
    ],
    want: {
      kind: 'declined',
      key_spent: true,
      failure: { class: 'declined', code: 'card_declined' },
      shown: { payment: { state: 'failed' } },
    },
  },
  {
    name: 'confirmed and yet unconfirmed',
    reason: 'accepted is not done',
    given: [confirm, pi()],
    want: { kind: 'unknown', failure: { class: 'unknown', code: 'effect_not_seen' } },
  },
  {
    name: 'confirmed and canceled',
    reason: 'the payment went another way for good',
    given: [confirm, pi({ status: 'canceled' })],
    want: { kind: 'rejected', failure: { class: 'conflict', code: 'payment_canceled' } },
  },
  {
    name: 'a word of tomorrow',
    reason: 'reads only, a person',
    given: [confirm, pi({ status: 'requires_biometrics' })],
    want: {
      kind: 'unknown',
      failure: { class: 'compatibility', code: 'unknown_status' },
      shown: { payment: { state: 'unknown' } },
    },
  },
  {
    name: 'captured',
    reason: 'the amount agrees',
    given: [capturePart, pi({ status: 'succeeded', amount_received: 6500 })],
    want: { kind: 'done', shown: { payment: { captured: 6500 } } },
  },
  {
    name: 'capture under way',
    reason: 'not finished',
    given: [capture, pi({ status: 'processing' })],
    want: { kind: 'pending' },
  },
  {
    name: 'captured, still held',
    reason: 'accepted is not done',
    given: [capture, pi({ status: 'requires_capture' })],
    want: { kind: 'unknown' },
  },
  {
    name: 'captured with another amount',
    reason: 'somebody else captured; what was seen is still told',
    given: [capturePart, pi({ status: 'succeeded', amount_received: 12900 })],
    want: { kind: 'unknown', failure: { code: 'answer_disagrees' }, shown: { payment: { captured: 12900 } } },
  },
  {
    name: 'voided',
    reason: 'seen as canceled',
    given: [cancel, pi({ status: 'canceled' })],
    want: { kind: 'done' },
  },
  {
    name: 'voided but captured',
    reason: 'it needs a refund instead',
    given: [cancel, pi({ status: 'succeeded' })],
    want: { kind: 'rejected', failure: { class: 'conflict', code: 'payment_captured' } },
  },
  {
    name: 'voided, still held',
    reason: 'accepted is not done',
    given: [cancel, pi({ status: 'requires_capture' })],
    want: { kind: 'unknown' },
  },
  {
    name: 'refunded',
    reason: 'seen with our ids',
    given: [refund, resolved(aRefund())],
    want: {
      kind: 'done',
      shown: { refund: { reference: 're_1', refund_id: 'r1', amount: 2500, state: 'succeeded' } },
    },
  },
  {
    name: 'refund on its way',
    reason: 'not finished',
    given: [refund, resolved(aRefund({ status: 'pending' }))],
    want: { kind: 'pending' },
  },
  {
    name: 'refund failed at once',
    reason: 'the object exists, the money did not go',
    given: [refund, resolved(aRefund({ status: 'failed', failure_reason: 'declined' }))],
    want: {
      kind: 'rejected',
      failure: { class: 'rejected', code: 'declined' },
      shown: { refund: { state: 'failed' } },
    },
  },
];

const disbelieved: {
  name: string;
  given: [PaymentCall, ReturnType<typeof resolved>];
  code: string;
  shown?: boolean;
}[] = [
  {
    name: '503 with a message',
    given: [refund, resolved({ message: 'Service Unavailable' }, 503)],
    code: 'http_503',
  },
  { name: '404 without error', given: [cancel, resolved({ message: 'Not Found' }, 404)], code: 'http_404' },
  {
    name: '401 without error',
    given: [refund, resolved({ message: 'Unauthorized' }, 401)],
    code: 'http_401',
  },
  { name: '429 without error', given: [refund, resolved({ message: 'slow down' }, 429)], code: 'http_429' },
  { name: '302', given: [refund, resolved({}, 302)], code: 'http_302' },
  { name: 'a right object with a wrong status', given: [refund, resolved(aRefund(), 502)], code: 'http_502' },
  {
    name: 'an answer without a status',
    given: [refund, { kind: 'resolved', value: aRefund() }],
    code: 'http_none',
  },
  { name: 'an empty object', given: [refund, resolved({})], code: 'unexpected_object' },
  { name: 'a payment for a refund', given: [refund, pi()], code: 'unexpected_object' },
  { name: 'a refund for a payment', given: [cancel, resolved(aRefund())], code: 'unexpected_object' },
  { name: 'another payment', given: [cancel, pi({ id: 'pi_2', status: 'canceled' })], code: 'other_object' },
  {
    name: 'a create of another amount',
    given: [create, pi({ amount: 12901 })],
    code: 'answer_disagrees',
    shown: false,
  },
  {
    name: 'a create in another currency',
    given: [create, pi({ currency: 'usd' })],
    code: 'answer_disagrees',
    shown: false,
  },
  {
    name: 'a create for another order',
    given: [create, pi({ metadata: { operation_id: 'op-2' } })],
    code: 'answer_disagrees',
    shown: false,
  },
  {
    name: 'a create without our id',
    given: [create, pi({ metadata: {} })],
    code: 'answer_disagrees',
    shown: false,
  },
  {
    name: 'a create that would capture at once',
    given: [createManual, pi()],
    code: 'answer_disagrees',
    shown: false,
  },
  {
    name: 'a refund of another amount',
    given: [refund, resolved(aRefund({ amount: 12900 }))],
    code: 'answer_disagrees',
  },
  {
    name: 'a refund of another payment',
    given: [refund, resolved(aRefund({ payment_intent: 'pi_2' }))],
    code: 'answer_disagrees',
  },
  {
    name: 'a refund with another id',
    given: [refund, resolved(aRefund({ metadata: { operation_id: 'op-1', refund_id: 'r2' } }))],
    code: 'answer_disagrees',
  },
  {
    name: 'an update that did not take',
    given: [call('update_payment', { amount: 700 }), pi()],
    code: 'answer_disagrees',
    shown: true,
  },
];

describe('an answer that resolved', () => {
  test.each(answers)('$name: $reason', ({ given, want }) => {
    expect(toOutcome(...given)).toMatchObject(want);
  });

  test.each(disbelieved)('$name is no success', ({ given, code, shown }) => {
    const outcome = toOutcome(...given);
    expect(outcome).toMatchObject({ kind: 'unknown', failure: { class: 'unknown', code } });
    expect(outcome.key_spent).toBeUndefined();
    if (shown !== undefined) expect('shown' in outcome).toBe(shown);
  });

  test('the charge that was read by itself completes what is shown', () => {
    const charge = understand(
      WireCharge,
      aCharge({ captured: false, payment_method_details: { card: { capture_before: 1_788_000_000 } } }),
    );
    const outcome = toOutcome(
      confirm,
      pi({ status: 'requires_capture', latest_charge: 'ch_1' }),
      charge.ok ? charge.value : null,
    );
    expect(outcome.shown?.payment?.capture_before).toBe('2026-08-29T10:40:00.000Z');
  });
});

const stripeError = (statusCode: number | undefined, members: Record<string, unknown> = {}) => ({
  statusCode,
  message: 'The provider’s words.',
  requestId: 'req_9',
  headers: {},
  ...members,
});
const held = aPaymentIntent({ status: 'requires_capture', amount_capturable: 12900, latest_charge: 'ch_1' });
const taken = aPaymentIntent({ status: 'succeeded', amount_received: 12900, latest_charge: 'ch_1' });

interface Thrown {
  name: string;
  reason: string;
  given: unknown;
  on?: PaymentCall;
  want: { kind: string; class: string; code: string; spent: boolean; retry?: number };
}

const no = (cls: string, code: string, spent = true) => ({ kind: 'rejected', class: cls, code, spent });
const unclear = (code: string, spent = false) => ({ kind: 'unknown', class: 'unknown', code, spent });
const declines = (code: string) => ({ kind: 'declined', class: 'declined', code, spent: true });
const slow = (code: string, retry?: number) => ({
  kind: 'not_sent',
  class: 'throttled',
  code,
  spent: false,
  ...(retry !== undefined && { retry }),
});

const thrown: Thrown[] = [
  {
    name: 'no connection',
    reason: 'provably unsent',
    given: { detail: new TransportError('not_connected', true, 'no connection (ECONNREFUSED)') },
    want: { kind: 'not_sent', class: 'transient', code: 'not_connected', spent: false },
  },
  {
    name: 'no connection after a resend',
    reason: 'the first request may have arrived',
    given: { detail: new TransportError('not_connected', false, 'no connection (ECONNREFUSED)') },
    want: unclear('not_connected'),
  },
  {
    name: 'reset',
    reason: 'it may have arrived',
    given: { detail: new TransportError('connection_lost', false, 'x') },
    want: unclear('connection_lost'),
  },
  {
    name: 'timeout',
    reason: 'it may be done',
    given: { detail: new TransportError('timeout', false, 'x') },
    want: unclear('timeout'),
  },
  {
    name: 'a body that cannot be read',
    reason: 'the status alone proves nothing',
    given: { raw: { exception: new TransportError('invalid_body', false, 'x', 200) } },
    want: unclear('invalid_body'),
  },
  {
    name: 'a bug of ours',
    reason: 'any shape',
    given: new TypeError('x is not a function'),
    want: unclear('unexpected_error'),
  },
  { name: 'undefined', reason: 'any shape', given: undefined, want: unclear('unexpected_error') },
  { name: 'a text', reason: 'any shape', given: 'oops', want: unclear('unexpected_error') },
  {
    name: '500',
    reason: 'indeterminate by the documents',
    given: stripeError(500),
    want: unclear('http_500'),
  },
  {
    name: '503',
    reason: 'a proxy may say so after the effect',
    given: stripeError(503, { code: 'unavailable' }),
    want: unclear('unavailable'),
  },
  {
    name: 'a replayed 500',
    reason: 'the key can only repeat it',
    given: stripeError(500, { headers: { 'idempotent-replayed': 'true' } }),
    want: unclear('http_500', true),
  },
  {
    name: '424',
    reason: 'another system failed meanwhile',
    given: stripeError(424),
    want: unclear('http_424'),
  },
  {
    name: 'an error in a 200',
    reason: 'a contradiction',
    given: stripeError(200),
    want: unclear('http_200_with_error'),
  },
  {
    name: 'key in use',
    reason: 'an earlier request is under way; the SDK calls it StripeAPIError',
    given: stripeError(409, {
      rawType: 'idempotency_error',
      code: 'idempotency_key_in_use',
      type: 'StripeAPIError',
    }),
    want: unclear('idempotency_key_in_use'),
  },
  {
    name: '409 without a code',
    reason: 'codes may be missing',
    given: stripeError(409),
    want: unclear('http_409'),
  },
  {
    name: 'same key, other parameters',
    reason: 'our bug; a new key could do it twice',
    given: stripeError(400, { rawType: 'idempotency_error' }),
    want: no('rejected', 'idempotency_mismatch', false),
  },
  {
    name: 'rate limit',
    reason: 'the SDK ignores Retry-After',
    given: stripeError(429, { code: 'rate_limit', headers: { 'retry-after': '5' } }),
    want: slow('rate_limit', 5000),
  },
  {
    name: '429 without a code',
    reason: 'codes may be missing',
    given: stripeError(429),
    want: slow('rate_limit'),
  },
  {
    name: 'lock timeout',
    reason: 'not executed',
    given: stripeError(429, { code: 'lock_timeout' }),
    want: slow('lock_timeout'),
  },
  {
    name: 'lock timeout as 400',
    reason: 'the code counts',
    given: stripeError(400, { code: 'lock_timeout' }),
    want: slow('lock_timeout'),
  },
  {
    name: 'card decline',
    reason: 'the bank said no',
    given: stripeError(402, {
      rawType: 'card_error',
      code: 'card_declined',
      decline_code: 'insufficient_funds',
    }),
    want: declines('card_declined'),
  },
  {
    name: '402 without anything',
    reason: 'codes may be missing',
    given: stripeError(402),
    want: declines('payment_declined'),
  },
  {
    name: 'card error as 400',
    reason: 'the type counts',
    given: stripeError(400, { rawType: 'card_error', code: 'expired_card' }),
    want: declines('expired_card'),
  },
  {
    name: 'a card tried too often',
    reason: 'must not slow down the whole account',
    given: stripeError(429, { rawType: 'card_error', code: 'card_decline_rate_limit_exceeded' }),
    want: declines('card_decline_rate_limit_exceeded'),
  },
  {
    name: 'a failed 3-D Secure as 400',
    reason: 'the customer tries again; nobody has to mend the request',
    given: stripeError(400, { code: 'payment_intent_authentication_failure' }),
    want: declines('payment_intent_authentication_failure'),
  },
  {
    name: 'a 500 that speaks of a decline',
    reason: 'a 5xx is indeterminate, whatever it says',
    given: stripeError(500, { code: 'card_declined' }),
    want: unclear('card_declined'),
  },
  {
    name: 'a 402 on a refund',
    reason: 'no customer can mend that',
    given: stripeError(402, { code: 'balance_insufficient' }),
    on: refund,
    want: no('rejected', 'balance_insufficient'),
  },
  {
    name: 'the bank did not answer',
    reason: 'no answer is not a no',
    given: stripeError(400, { code: 'payment_method_provider_timeout' }),
    want: unclear('payment_method_provider_timeout'),
  },
  {
    name: '401',
    reason: 'the account stops, no order fails',
    given: stripeError(401),
    want: no('authorization', 'http_401', false),
  },
  {
    name: 'an expired key',
    reason: 'the provider’s code is kept',
    given: stripeError(401, { code: 'api_key_expired' }),
    want: no('authorization', 'api_key_expired', false),
  },
  {
    name: '403',
    reason: 'a restricted key',
    given: stripeError(403),
    want: no('authorization', 'http_403', false),
  },
  {
    name: 'livemode_mismatch',
    reason: 'wrong mode',
    given: stripeError(400, { code: 'livemode_mismatch' }),
    want: no('authorization', 'livemode_mismatch', false),
  },
  {
    name: 'our payment is missing',
    reason: 'wrong account until proven otherwise, never "nothing to do"',
    given: stripeError(404, {
      code: 'resource_missing',
      param: 'intent',
      message: "No such payment_intent: 'pi_1'",
    }),
    want: no('authorization', 'resource_missing', false),
  },
  {
    name: 'our payment is missing, as a parameter',
    reason: 'the same, with another status',
    given: stripeError(400, { code: 'resource_missing', param: 'payment_intent' }),
    on: refund,
    want: no('authorization', 'resource_missing', false),
  },
  {
    name: 'missing without a code',
    reason: 'codes may be missing',
    given: stripeError(404, { message: 'Not Found' }),
    want: no('authorization', 'resource_missing', false),
  },
  {
    name: 'the wrong mode',
    reason: 'only the message tells',
    given: stripeError(404, {
      code: 'resource_missing',
      param: 'intent',
      message:
        "No such payment_intent: 'pi_1'; a similar object exists in live mode, but a test mode key was used to make this request.",
    }),
    want: no('authorization', 'livemode_mismatch', false),
  },
  {
    name: 'the caller’s payment method is missing',
    reason: 'one caller’s mistake must not stop the account',
    given: stripeError(400, { code: 'resource_missing', param: 'payment_method' }),
    want: no('rejected', 'resource_missing'),
  },
  {
    name: 'the caller’s payment method of the other mode',
    reason: 'still the caller’s mistake',
    given: stripeError(400, {
      code: 'resource_missing',
      param: 'payment_method',
      message:
        "No such PaymentMethod: 'pm_1'; a similar object exists in live mode, but a test mode key was used to make this request.",
    }),
    want: no('rejected', 'resource_missing'),
  },
  {
    name: 'the caller’s customer is missing, without param',
    reason: 'the message names it',
    given: stripeError(404, { message: "No such customer: 'cus_1'" }),
    want: no('rejected', 'resource_missing'),
  },
  {
    name: 'no such route',
    reason: 'the address is not that of such a server',
    given: stripeError(404, { message: 'Unrecognized request URL (POST: /v1/payment_intents).' }),
    want: no('prerequisite', 'unrecognized_route', false),
  },
  {
    name: 'a wrong parameter',
    reason: 'a final no to the request as it stands',
    given: stripeError(400, { code: 'parameter_unknown' }),
    want: no('rejected', 'parameter_unknown'),
  },
  {
    name: '400 without a code',
    reason: 'codes may be missing',
    given: stripeError(400),
    want: no('rejected', 'http_400'),
  },
  {
    name: 'a disputed charge',
    reason: 'no refund while it is',
    given: stripeError(400, { code: 'charge_disputed' }),
    on: refund,
    want: no('rejected', 'charge_disputed'),
  },
  ...[
    'payment_intent_unexpected_state',
    'charge_already_captured',
    'charge_already_refunded',
    'intent_invalid_state',
    'return_intent_already_processed',
    'status_transition_invalid',
    'charge_expired_for_capture',
    'capture_charge_authorization_expired',
  ].map((code) => ({
    name: code,
    reason: 'perhaps done already: read, never assume',
    given: stripeError(400, { code }),
    on: capture,
    want: no('conflict', code),
  })),
];

describe('an answer that threw', () => {
  test.each(thrown)('$name: $reason', ({ given, on, want }) => {
    const outcome = toOutcome(on ?? confirm, { kind: 'thrown', error: given });
    expect({
      kind: outcome.kind,
      class: 'failure' in outcome && outcome.failure.class,
      code: 'failure' in outcome && outcome.failure.code,
      spent: outcome.key_spent === true,
    }).toEqual({ kind: want.kind, class: want.class, code: want.code, spent: want.spent });
    expect('failure' in outcome && outcome.failure.retry_after_ms).toBe(want.retry);
  });

  test('carries the provider’s request id', () => {
    const outcome = toOutcome(confirm, { kind: 'thrown', error: stripeError(400) });
    expect(outcome).toMatchObject({ request_id: 'req_9', failure: { request_id: 'req_9' } });
  });

  test('nothing that can be thrown makes it throw', () => {
    fc.assert(
      fc.property(fc.anything(), (error) => {
        expect(['declined', 'rejected', 'not_sent', 'unknown']).toContain(
          toOutcome(refund, { kind: 'thrown', error }).kind,
        );
      }),
    );
  });

  test('nothing that can resolve counts as done without the object', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(toOutcome(refund, { kind: 'resolved', value }).kind).toBe('unknown');
      }),
    );
  });
});

describe('the payment that an error carries', () => {
  const unexpected = (payment: unknown, headers = {}) =>
    ({
      kind: 'thrown',
      error: stripeError(400, { code: 'payment_intent_unexpected_state', payment_intent: payment, headers }),
    }) as const;
  const charge = understand(WireCharge, aCharge({ disputed: true }));
  const disputedCharge = charge.ok ? charge.value : null;

  test('is shown, and is not "done"', () => {
    const outcome = toOutcome(cancel, unexpected(held), disputedCharge);
    expect(outcome).toMatchObject({ kind: 'rejected', shown: { payment: { state: 'authorized' } } });
  });

  test('captured money is shown with its charge, which may be disputed', () => {
    expect(toOutcome(cancel, unexpected(taken), disputedCharge).shown?.payment).toMatchObject({
      state: 'captured',
      captured: 12900,
      disputed: true,
    });
  });

  test('captured money is not shown without its charge', () => {
    expect(toOutcome(cancel, unexpected(taken)).shown).toBeUndefined();
  });

  test('a declined payment is shown as failed', () => {
    const failed = aPaymentIntent({
      status: 'requires_payment_method',
      last_payment_error: { code: 'card_declined' },
    });
    const error = stripeError(402, { code: 'card_declined', payment_intent: failed });
    expect(toOutcome(confirm, { kind: 'thrown', error }).shown?.payment?.state).toBe('failed');
  });

  test('is not shown from a stored answer: it is old', () => {
    const replay = { 'idempotent-replayed': 'true' };
    expect(toOutcome(cancel, unexpected(held, replay), disputedCharge).shown).toBeUndefined();
  });

  test('is not shown when it is another payment, or cannot be read', () => {
    expect(toOutcome(cancel, unexpected({ ...held, id: 'pi_2' }), disputedCharge).shown).toBeUndefined();
    expect(toOutcome(cancel, unexpected({ ...held, amount: 'x' }), disputedCharge).shown).toBeUndefined();
  });
});

describe('texts of the provider', () => {
  test.each([
    { given: 'Invalid API Key provided: sk_test_51Abc*****9xyz', secret: 'sk_test_51Abc' },
    { given: 'key rk_live_ABC123 is restricted', secret: 'rk_live_ABC123' },
    { given: 'signed with whsec_abc+DEF/1=', secret: 'whsec_abc' },
    { given: 'client_secret pi_3Abc_secret_Xyz9 is wrong', secret: 'secret_Xyz9' },
    { given: 'the number 4242 4242 4242 4242 is invalid', secret: '4242 4242' },
    { given: 'the number 4000056655665556 is invalid', secret: '4000056655665556' },
  ])('are shown without secrets: $given', ({ given, secret }) => {
    expect(safeText(given)).not.toContain(secret);
    expect(safeText(given)).toContain('[redacted]');
  });

  test('keep ids and amounts, and end somewhere', () => {
    expect(safeText('No such payment_intent: pi_123 (12900)')).toBe('No such payment_intent: pi_123 (12900)');
    expect(safeText('x'.repeat(5000))).toHaveLength(300);
  });

  test('reach the outcome without secrets', () => {
    const error = stripeError(401, { message: 'Invalid API Key provided: sk_live_123456' });
    expect(JSON.stringify(toOutcome(confirm, { kind: 'thrown', error }))).not.toContain('sk_live_123456');
  });
});

test.each([
  { name: 'seconds', given: { 'retry-after': '5' }, want: 5000 },
  { name: 'none', given: {}, want: null },
  {
    name: 'a date, measured from the answer’s own clock',
    given: { 'retry-after': 'Tue, 25 Aug 2026 03:10:30 GMT', date: 'Tue, 25 Aug 2026 03:10:00 GMT' },
    want: 30_000,
  },
  {
    name: 'a date that has passed',
    given: { 'retry-after': 'Tue, 25 Aug 2026 03:09:00 GMT', date: 'Tue, 25 Aug 2026 03:10:00 GMT' },
    want: 0,
  },
  { name: 'a date without a clock', given: { 'retry-after': 'Tue, 25 Aug 2026 03:10:30 GMT' }, want: null },
  {
    name: 'nonsense that Date.parse takes',
    given: { 'retry-after': '1.5', date: 'Tue, 25 Aug 2026 03:10:00 GMT' },
    want: null,
  },
  { name: 'a year', given: { 'retry-after': '31536000' }, want: 3_600_000 },
])('Retry-After: $name', ({ given, want }) => {
  expect(retryAfterMs(given)).toBe(want);
});
