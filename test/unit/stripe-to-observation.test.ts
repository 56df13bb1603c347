import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { PaymentReading } from '../../src/operation/observation.js';
import { NOTHING_ELSE_SEEN, toPaymentReading } from '../../src/payment/stripe/to-observation.js';
import { customerRefunds, toRefundReading, whyIncomplete } from '../../src/payment/stripe/to-refund.js';
import {
  understand,
  WireCharge,
  WireDispute,
  WirePayment,
  WireRefund,
} from '../../src/payment/stripe/wire.js';
import { aCharge, aDispute, aPaymentIntent, aRefund } from '../support/stripe-objects.js';

interface Given {
  readonly payment: Record<string, unknown>;
  readonly charge?: Record<string, unknown>;
  readonly disputes?: readonly Record<string, unknown>[];
}

const parse = <T>(schema: Parameters<typeof understand<T>>[0], raw: unknown): T => {
  const understood = understand(schema, raw);
  if (!understood.ok) throw new Error(understood.failure.message);
  return understood.value;
};

const read = ({ payment, charge, disputes }: Given) =>
  toPaymentReading(parse(WirePayment, payment), {
    ...NOTHING_ELSE_SEEN,
    charge: charge === undefined ? null : parse(WireCharge, charge),
    disputes: disputes?.map((dispute) => parse(WireDispute, dispute)) ?? null,
  });

const declined = {
  code: 'card_declined',
  decline_code: 'insufficient_funds',
  message: 'Your card was declined.',
};

const cases: { name: string; reason: string; given: Given; want: Partial<PaymentReading> }[] = [
  {
    name: 'a new payment without a method',
    reason: 'no money was asked for yet',
    given: { payment: aPaymentIntent({ status: 'requires_payment_method', payment_method: null }) },
    want: { state: 'created', last_error: null, payment_method: null, captured: 0, authorized: 0 },
  },
  {
    name: 'a declined payment',
    reason: 'the same status as a new one; only the error tells them apart',
    given: { payment: aPaymentIntent({ status: 'requires_payment_method', last_payment_error: declined }) },
    want: {
      state: 'failed',
      last_error: { code: 'card_declined', message: 'Your card was declined. (insufficient_funds)' },
    },
  },
  {
    name: 'a stolen card',
    reason: 'Stripe asks not to tell more than "declined"',
    given: {
      payment: aPaymentIntent({
        status: 'requires_payment_method',
        last_payment_error: { ...declined, decline_code: 'stolen_card' },
      }),
    },
    want: { last_error: { code: 'card_declined', message: 'Your card was declined.' } },
  },
  {
    name: 'requires_confirmation',
    reason: 'nothing was asked of the bank',
    given: { payment: aPaymentIntent() },
    want: {
      state: 'created',
      provider_status: 'requires_confirmation',
      operation_id: 'op-1',
      livemode: false,
    },
  },
  {
    name: 'a redirect',
    reason: 'the customer needs the page, and nothing else of it',
    given: {
      payment: aPaymentIntent({
        status: 'requires_action',
        next_action: { type: 'redirect_to_url', redirect_to_url: { url: 'https://bank.example/3ds' } },
        client_secret: 'pi_1_secret_x',
      }),
    },
    want: {
      state: 'awaiting_customer',
      next_action: { type: 'redirect_to_url', redirect_url: 'https://bank.example/3ds' },
    },
  },
  {
    name: 'a voucher',
    reason: 'other kinds keep their page under other names',
    given: {
      payment: aPaymentIntent({
        status: 'requires_action',
        next_action: {
          type: 'oxxo_display_details',
          oxxo_display_details: { number: '1', hosted_voucher_url: 'https://pay.example/v' },
        },
      }),
    },
    want: { next_action: { type: 'oxxo_display_details', redirect_url: 'https://pay.example/v' } },
  },
  {
    name: 'an action inside the SDK',
    reason: 'there is no page to go to',
    given: {
      payment: aPaymentIntent({
        status: 'requires_action',
        next_action: { type: 'use_stripe_sdk', use_stripe_sdk: {} },
      }),
    },
    want: { next_action: { type: 'use_stripe_sdk', redirect_url: null } },
  },
  {
    name: 'processing',
    reason: 'the bank has not answered',
    given: { payment: aPaymentIntent({ status: 'processing' }) },
    want: { state: 'processing', captured: 0, authorized: 0 },
  },
  {
    name: 'an authorization',
    reason: 'what is capturable and until when come from the provider, not from a calendar',
    given: {
      payment: aPaymentIntent({
        status: 'requires_capture',
        capture_method: 'manual',
        amount_capturable: 12900,
        latest_charge: aCharge({
          captured: false,
          amount_captured: 0,
          payment_method_details: { type: 'card', card: { capture_before: 1_788_000_000 } },
        }),
      }),
    },
    want: {
      state: 'authorized',
      capture: 'manual',
      authorized: 12900,
      captured: 0,
      capture_before: '2026-08-29T10:40:00.000Z',
    },
  },
  {
    name: 'an authorization in person',
    reason: 'card_present has a deadline of its own',
    given: {
      payment: aPaymentIntent({ status: 'requires_capture' }),
      charge: aCharge({
        payment_method_details: { type: 'card_present', card_present: { capture_before: 1_788_000_000 } },
      }),
    },
    want: { capture_before: '2026-08-29T10:40:00.000Z' },
  },
  {
    name: 'an authorization without figures',
    reason: 'a server that omits amount_capturable still has a charge',
    given: {
      payment: aPaymentIntent({ status: 'requires_capture', amount_capturable: undefined }),
      charge: aCharge({ amount: 12000, amount_captured: 0, captured: false }),
    },
    want: { authorized: 12000 },
  },
  {
    name: 'an authorization with nothing but its amount',
    reason: 'the least that a server can say',
    given: { payment: aPaymentIntent({ status: 'requires_capture', amount_capturable: undefined }) },
    want: { authorized: 12900, capture_before: null },
  },
  {
    name: 'a whole capture',
    reason: 'succeeded means captured',
    given: {
      payment: aPaymentIntent({ status: 'succeeded', amount_received: 12900, latest_charge: aCharge() }),
    },
    want: { state: 'captured', captured: 12900, authorized: 0, refunds: null, disputed: false },
  },
  {
    name: 'a partial capture whose rest is booked as refunded',
    reason: 'amount_refunded says nothing about the customer then',
    given: {
      payment: aPaymentIntent({
        status: 'succeeded',
        amount_received: 6500,
        latest_charge: aCharge({ amount_captured: 6500, amount_refunded: 6400 }),
      }),
    },
    want: { captured: 6500, authorized: 0 },
  },
  {
    name: 'a partial capture without amount_received',
    reason: 'the charge knows it too',
    given: {
      payment: aPaymentIntent({ status: 'succeeded', amount_received: undefined, latest_charge: 'ch_1' }),
      charge: aCharge({ amount_captured: 6500 }),
    },
    want: { captured: 6500 },
  },
  {
    name: 'a capture without any figure',
    reason: 'automatic capture takes the whole',
    given: { payment: aPaymentIntent({ status: 'succeeded', amount_received: undefined }) },
    want: { captured: 12900 },
  },
  {
    name: 'a fully refunded payment',
    reason: 'refunds never change the status, and captured is gross',
    given: {
      payment: aPaymentIntent({
        status: 'succeeded',
        amount_received: 12900,
        latest_charge: aCharge({ amount_refunded: 12900, refunded: true }),
      }),
    },
    want: { state: 'captured', captured: 12900 },
  },
  {
    name: 'an expired authorization',
    reason: 'canceled by the provider, with its own word for why',
    given: { payment: aPaymentIntent({ status: 'canceled', cancellation_reason: 'expired' }) },
    want: { state: 'canceled', canceled_because: 'expired', authorized: 0, captured: 0 },
  },
  {
    name: 'a word of tomorrow',
    reason: 'a status that this version does not know is no failure and no success',
    given: { payment: aPaymentIntent({ status: 'requires_biometrics' }) },
    want: { state: 'unknown', provider_status: 'requires_biometrics' },
  },
  {
    name: 'automatic_async',
    reason: 'the default of newer API versions captures by itself as well',
    given: { payment: aPaymentIntent({ capture_method: 'automatic_async' }) },
    want: { capture: 'automatic' },
  },
  {
    name: 'a server of few words',
    reason: 'what is left out is unknown, not wrong',
    given: {
      payment: {
        id: 'pi_1',
        object: 'payment_intent',
        status: 'requires_confirmation',
        amount: 500,
        currency: 'jpy',
      },
    },
    want: {
      amount: 500,
      currency: 'JPY',
      capture: null,
      operation_id: null,
      livemode: null,
      payment_method: null,
    },
  },
  {
    name: 'ISK',
    reason: 'amounts come back in ISO minor units',
    given: {
      payment: aPaymentIntent({
        amount: 100_000,
        amount_received: 100_000,
        currency: 'isk',
        status: 'succeeded',
      }),
    },
    want: { amount: 1000, captured: 1000, currency: 'ISK' },
  },
  {
    name: 'an expanded payment method',
    reason: 'only its id is of interest',
    given: { payment: aPaymentIntent({ payment_method: { id: 'pm_9', object: 'payment_method' } }) },
    want: { payment_method: 'pm_9' },
  },
];

const captured = { status: 'succeeded', amount_received: 12900, latest_charge: aCharge({ disputed: true }) };

const disputes: { name: string; reason: string; given: readonly object[] | null; want: object }[] = [
  {
    name: 'not readable',
    reason: 'charge.disputed alone must stop refunds',
    given: null,
    want: { disputed: true },
  },
  { name: 'not listed', reason: 'the charge says that there is one', given: [], want: { disputed: true } },
  { name: 'open', reason: 'the money was withdrawn', given: [aDispute()], want: { disputed: true } },
  {
    name: 'an inquiry',
    reason: 'no money moved, and the provider still takes refunds',
    given: [aDispute({ status: 'warning_needs_response', is_charge_refundable: true })],
    want: { disputed: false },
  },
  {
    name: 'won',
    reason: 'the money is back, although charge.disputed stays true for ever',
    given: [aDispute({ status: 'won', is_charge_refundable: true })],
    want: { disputed: false },
  },
  {
    name: 'won, but not refundable',
    reason: 'some networks never allow a refund again: the provider’s word counts',
    given: [aDispute({ status: 'won', is_charge_refundable: false })],
    want: { disputed: true },
  },
  {
    name: 'won at a server of few words',
    reason: 'without is_charge_refundable the status decides',
    given: [aDispute({ status: 'won', is_charge_refundable: undefined })],
    want: { disputed: false },
  },
  {
    name: 'lost in part',
    reason: 'the customer has that money already',
    given: [aDispute({ status: 'lost', amount: 4000 })],
    want: { disputed: true, lost: 4000 },
  },
  {
    name: 'a word of tomorrow',
    reason: 'when in doubt no money goes out',
    given: [aDispute({ status: 'in_arbitration', is_charge_refundable: undefined })],
    want: { disputed: true },
  },
  ...(
    [
      ['warning_needs_response', 'inquiry', false],
      ['warning_under_review', 'inquiry', false],
      ['warning_closed', 'won', false],
      ['needs_response', 'open', true],
      ['under_review', 'open', true],
      ['appeal_needs_response', 'open', true],
      ['appeal_under_review', 'open', true],
      ['in_arbitration', 'open', true],
      ['won', 'won', false],
      ['prevented', 'won', false],
      ['charge_refunded', 'won', false],
      ['lost', 'lost', false],
    ] as const
  ).map(([status, state, bars]) => ({
    name: status,
    reason: 'where the server does not say whether refunds are possible, the state does',
    given: [aDispute({ status, amount: 4000, is_charge_refundable: undefined })],
    want: {
      disputed: bars,
      disputes: [{ reference: 'du_1', amount: 4000, state }],
      ...(state === 'lost' && { lost: 4000 }),
    },
  })),
];

const refusals: { name: string; given: unknown }[] = [
  { name: 'nothing', given: undefined },
  { name: 'a text', given: 'ok' },
  { name: 'an empty object', given: {} },
  { name: 'another object', given: aPaymentIntent({ object: 'customer' }) },
  { name: 'the id of something else', given: aPaymentIntent({ id: 'seti_1' }) },
  { name: 'an amount as text', given: aPaymentIntent({ amount: '12900' }) },
  { name: 'a fractional amount', given: aPaymentIntent({ amount: 129.5 }) },
  { name: 'a negative amount', given: aPaymentIntent({ amount: -1 }) },
  { name: 'amount_received as text', given: aPaymentIntent({ amount_received: '0' }) },
  { name: 'no currency', given: aPaymentIntent({ currency: undefined }) },
  { name: 'no status', given: aPaymentIntent({ status: undefined }) },
  {
    name: 'a charge that is none',
    given: aPaymentIntent({ latest_charge: { id: 'ch_1', object: 'refund' } }),
  },
];

describe('a payment as read', () => {
  test.each(cases)('$name: $reason', ({ given, want }) => {
    expect(read(given)).toEqual({ ok: true, value: expect.objectContaining(want) as unknown });
  });

  test.each(disputes)('dispute $name: $reason', ({ given, want }) => {
    const payment = aPaymentIntent(captured);
    const reading = read({
      payment,
      ...(given !== null && { disputes: given as Record<string, unknown>[] }),
    });
    expect(reading).toMatchObject({ ok: true, value: want });
    if (!('lost' in want)) expect(reading.ok && reading.value).not.toHaveProperty('lost');
  });

  test('a dispute in another currency than its payment refuses the whole: its amount would be misread', () => {
    const payment = aPaymentIntent(captured);
    const inIts = (currency: string) => read({ payment, disputes: [aDispute({ currency })] });
    expect(inIts('eur')).toMatchObject({ ok: true });
    expect(inIts('jpy')).toMatchObject({ ok: false, failure: { code: 'currency_mismatch' } });
  });

  test.each(refusals)('$name is refused', ({ given }) => {
    expect(understand(WirePayment, given)).toMatchObject({
      ok: false,
      failure: { class: 'unknown', code: 'unexpected_object' },
    });
  });

  test('an amount that is not exact in minor units refuses the whole', () => {
    expect(read({ payment: aPaymentIntent({ amount: 150, currency: 'isk' }) })).toMatchObject({
      ok: false,
      failure: { class: 'unknown', code: 'amount_not_expressible' },
    });
  });

  test('no JSON whatever makes it throw', () => {
    fc.assert(
      fc.property(fc.record({ ...fcMembers(), status: fc.string({ minLength: 1 }) }), (members) => {
        const understood = understand(WirePayment, aPaymentIntent(members));
        if (understood.ok) toPaymentReading(understood.value, NOTHING_ELSE_SEEN);
      }),
    );
  });
});

/** Any JSON in the members that only people look at. */
function fcMembers() {
  const any = fc.jsonValue();
  return {
    next_action: any,
    last_payment_error: any,
    cancellation_reason: any,
    payment_method: any,
    metadata: any,
  };
}

const refundCases: { name: string; reason: string; given: Record<string, unknown>; want: object }[] = [
  {
    name: 'succeeded',
    reason: 'done',
    given: aRefund(),
    want: { state: 'succeeded', amount: 2500, refund_id: 'r1', operation_id: 'op-1' },
  },
  {
    name: 'pending',
    reason: 'on its way, and committed',
    given: aRefund({ status: 'pending', pending_reason: 'insufficient_funds' }),
    want: { state: 'pending', reason: 'insufficient_funds' },
  },
  {
    name: 'requires_action',
    reason: 'the customer must do something',
    given: aRefund({ status: 'requires_action' }),
    want: { state: 'requires_action' },
  },
  {
    name: 'failed',
    reason: 'the money came back, and why',
    given: aRefund({ status: 'failed', failure_reason: 'lost_or_stolen_card' }),
    want: { state: 'failed', reason: 'lost_or_stolen_card' },
  },
  {
    name: 'canceled',
    reason: 'it never left',
    given: aRefund({ status: 'canceled' }),
    want: { state: 'canceled' },
  },
  {
    name: 'a word of tomorrow',
    reason: 'counts as on its way: neither sent again nor called done',
    given: aRefund({ status: 'queued' }),
    want: { state: 'pending', reason: 'queued' },
  },
  {
    name: 'no status',
    reason: 'the same',
    given: aRefund({ status: null }),
    want: { state: 'pending', reason: 'no_status' },
  },
  {
    name: 'made outside',
    reason: 'it has no id of ours',
    given: aRefund({ metadata: {} }),
    want: { refund_id: null, operation_id: null, reference: 're_1' },
  },
  {
    name: 'not of a card',
    reason: 'its ids begin with pyr_',
    given: aRefund({ id: 'pyr_1' }),
    want: { reference: 'pyr_1' },
  },
];

describe('a refund as read', () => {
  test.each(refundCases)('$name: $reason', ({ given, want }) => {
    expect(toRefundReading(parse(WireRefund, given), 'EUR')).toMatchObject({ ok: true, value: want });
  });

  test('the payment’s currency serves where the refund has none', () => {
    const refund = parse(WireRefund, aRefund({ currency: undefined, amount: 100_000 }));
    expect(toRefundReading(refund, 'UGX')).toMatchObject({ ok: true, value: { amount: 1000 } });
    expect(toRefundReading(refund, null)).toMatchObject({ ok: false, failure: { class: 'unknown' } });
  });

  test('another currency than the payment’s is refused', () => {
    const refund = parse(WireRefund, aRefund({ currency: 'usd' }));
    expect(toRefundReading(refund, 'EUR')).toMatchObject({
      ok: false,
      failure: { code: 'currency_mismatch' },
    });
  });
});

const release = aRefund({ id: 're_release', amount: 6400, metadata: {}, balance_transaction: null });
const listed: { name: string; reason: string; given: Record<string, unknown>[]; want: string[] }[] = [
  { name: 'the released rest', reason: 'no money moved with it', given: [release], want: [] },
  {
    name: 'the released rest beside a real refund',
    reason: 'only the release is left out',
    given: [aRefund(), release],
    want: ['re_1'],
  },
  {
    name: 'a real refund of the same size',
    reason: 'it moved money',
    given: [{ ...release, balance_transaction: 'txn_9' }],
    want: ['re_release'],
  },
  {
    name: 'a real refund of the same size at a server of few words',
    reason: 'without a sign of the opposite it is real',
    given: [aRefund({ ...release, balance_transaction: undefined })],
    want: ['re_release'],
  },
  {
    name: 'more refunds than money',
    reason: 'one of them was none, and the release is the one that fits',
    given: [aRefund({ amount: 6500 }), aRefund({ ...release, balance_transaction: undefined })],
    want: ['re_1'],
  },
  {
    name: 'our own refund of the same size',
    reason: 'we know that it is real',
    given: [{ ...release, metadata: { refund_id: 'r2' } }],
    want: ['re_release'],
  },
];

describe('the refunds of a payment of 129.00 captured with 65.00', () => {
  test.each(listed)('$name: $reason', ({ given, want }) => {
    const refunds = given.map((refund) => parse(WireRefund, refund));
    expect(
      customerRefunds(refunds, { authorized: 12900, captured: 6500 }).map((refund) => refund.id),
    ).toEqual(want);
  });

  test.each([
    { amount_refunded: 2_500, listed: [2_500], captured: 12_900, complete: true },
    { amount_refunded: 2_500, listed: [], captured: 12_900, complete: false },
    { amount_refunded: 5_000, listed: [2_500], captured: 12_900, complete: false },
    // One that failed since may have been taken out of the sum, or not.
    { amount_refunded: 0, listed: [2_500], captured: 12_900, complete: true },
    // What was released of the authorization may be counted, with an entry of its own or without.
    { amount_refunded: 6_400, listed: [], captured: 6_500, complete: true },
    { amount_refunded: 6_400, listed: [6_400], captured: 6_500, complete: true },
    { amount_refunded: 8_900, listed: [], captured: 6_500, complete: false },
    { amount_refunded: undefined, listed: [], captured: 12_900, complete: true },
  ])(
    'of which the charge counts $amount_refunded and the list shows $listed: complete $complete',
    ({ amount_refunded, listed: amounts, captured, complete }) => {
      const charge = parse(WireCharge, aCharge({ amount: 12_900, amount_refunded }));
      const refunds = amounts.map((amount) => parse(WireRefund, aRefund({ amount })));
      expect(whyIncomplete(refunds, charge, captured) === null).toBe(complete);
    },
  );

  test('captured whole, nothing is left out', () => {
    const refunds = [parse(WireRefund, { ...release, amount: 12900 })];
    expect(customerRefunds(refunds, { authorized: 12900, captured: 12900 })).toHaveLength(1);
  });

  test('voided, the release of the whole is left out', () => {
    const refunds = [
      parse(WireRefund, aRefund({ ...release, amount: 12900, balance_transaction: undefined })),
    ];
    expect(customerRefunds(refunds, { authorized: 12900, captured: 0 })).toEqual([]);
  });
});
