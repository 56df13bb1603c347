import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Parameters } from '../../src/operation/attempt.js';
import type { PaymentStep } from '../../src/operation/step.js';
import { inStableOrder, prepare, type PayloadOptions } from '../../src/payment/stripe/payload.js';

type Of<N extends PaymentStep['name']> = Extract<PaymentStep, { name: N }>;

const aCreate = (members: Partial<Of<'create_payment'>> = {}): PaymentStep => ({
  name: 'create_payment',
  target: 'payment-1',
  operation_id: 'ord/ä 7',
  amount: 12900,
  currency: 'EUR',
  capture: 'automatic',
  payment_method: null,
  customer: null,
  return_url: null,
  ...members,
});
const aConfirm = (members: Partial<Of<'confirm_payment'>> = {}): PaymentStep => ({
  name: 'confirm_payment',
  target: 'pi_1#1',
  reference: 'pi_1',
  confirmation: 1,
  amount: 12900,
  currency: 'EUR',
  payment_method: null,
  return_url: null,
  off_session: false,
  ...members,
});
const aCapture = (members: Partial<Of<'capture_payment'>> = {}): PaymentStep => ({
  name: 'capture_payment',
  target: 'pi_1',
  reference: 'pi_1',
  amount: 6500,
  currency: 'EUR',
  whole: false,
  ...members,
});
const aRefundStep = (members: Partial<Of<'create_refund'>> = {}): PaymentStep => ({
  name: 'create_refund',
  target: 'r1',
  reference: 'pi_1',
  operation_id: 'ord-1',
  refund_id: 'r1',
  amount: 2500,
  currency: 'EUR',
  ...members,
});
const anUpdate = (members: Partial<Of<'update_payment'>> = {}): PaymentStep => ({
  name: 'update_payment',
  target: 'pi_1',
  reference: 'pi_1',
  currency: 'EUR',
  ...members,
});

const never = { automatic_payment_methods: { enabled: true, allow_redirects: 'never' } };

const cases: {
  name: string;
  reason: string;
  given: PaymentStep;
  options?: PayloadOptions;
  want: Parameters;
}[] = [
  {
    name: 'a bare create',
    reason: 'nothing that was not asked for, and never confirm',
    given: aCreate(),
    want: { amount: 12900, currency: 'eur', metadata: { operation_id: 'ord/ä 7' }, ...never },
  },
  {
    name: 'a create with all of it',
    reason: 'a return_url allows methods that redirect, and is sent at confirm only',
    given: aCreate({
      capture: 'manual',
      payment_method: 'pm_1',
      customer: 'cus_1',
      return_url: 'https://shop.example/back',
    }),
    want: {
      amount: 12900,
      currency: 'eur',
      metadata: { operation_id: 'ord/ä 7' },
      capture_method: 'manual',
      payment_method: 'pm_1',
      customer: 'cus_1',
    },
  },
  {
    name: 'a create for a strict server',
    reason: 'automatic_payment_methods can be switched off',
    given: aCreate(),
    options: { automatic_methods: false },
    want: { amount: 12900, currency: 'eur', metadata: { operation_id: 'ord/ä 7' } },
  },
  {
    name: 'a create in ISK',
    reason: 'the amount is in the provider’s unit',
    given: aCreate({ amount: 1000, currency: 'ISK' }),
    want: { amount: 100_000, currency: 'isk', metadata: { operation_id: 'ord/ä 7' }, ...never },
  },
  {
    name: 'a create that cannot be exact',
    reason: 'it is recorded and refused instead of rounded',
    given: aCreate({ amount: 1234, currency: 'KWD' }),
    want: { not_sendable: expect.stringContaining('end in 0') },
  },
  { name: 'an update of nothing', reason: 'absent members do not change', given: anUpdate(), want: {} },
  {
    name: 'an update of whose it is',
    reason: 'nothing else changes',
    given: anUpdate({ customer: 'cus_1' }),
    want: { customer: 'cus_1' },
  },
  {
    name: 'an update of everything',
    reason: 'capture_method is needed here also for automatic',
    given: anUpdate({ amount: 700, currency: 'JPY', capture: 'automatic', payment_method: 'pm_2' }),
    want: { amount: 700, capture_method: 'automatic', payment_method: 'pm_2' },
  },
  {
    name: 'an update that cannot be exact',
    reason: 'as for create',
    given: anUpdate({ amount: 150, currency: 'MGA' }),
    want: { not_sendable: expect.stringContaining('multiple of 100') },
  },
  {
    name: 'a bare confirm',
    reason: 'strict servers refuse a method that is set already',
    given: aConfirm(),
    want: {},
  },
  {
    name: 'a confirm with all of it',
    reason: 'each member because the operation asks for it',
    given: aConfirm({ payment_method: 'pm_2', return_url: 'https://shop.example/back', off_session: true }),
    want: { payment_method: 'pm_2', return_url: 'https://shop.example/back', off_session: true },
  },
  { name: 'a whole capture', reason: 'all is the default', given: aCapture({ whole: true }), want: {} },
  {
    name: 'a partial capture',
    reason: 'only then there is an amount',
    given: aCapture({ amount: 1000, currency: 'UGX' }),
    want: { amount_to_capture: 100_000 },
  },
  {
    name: 'a partial capture that cannot be exact',
    reason: 'without the amount it would take the whole',
    given: aCapture({ amount: 1, currency: 'BHD' }),
    want: { not_sendable: expect.stringContaining('end in 0') },
  },
  {
    name: 'a cancel',
    reason: 'no cancellation_reason: strict servers do not know it',
    given: { name: 'cancel_payment', target: 'pi_1', reference: 'pi_1' },
    want: {},
  },
  {
    name: 'a refund',
    reason: 'metadata does not travel from the payment, and no reason is sent',
    given: aRefundStep(),
    want: { payment_intent: 'pi_1', amount: 2500, metadata: { operation_id: 'ord-1', refund_id: 'r1' } },
  },
  {
    name: 'a refund that cannot be exact',
    reason: 'without the amount it would return the whole',
    given: aRefundStep({ amount: 10, currency: 'MGA' }),
    want: { not_sendable: expect.stringContaining('multiple of 100') },
  },
];

describe('parameters of a step', () => {
  test.each(cases)('$name: $reason', ({ given, options, want }) => {
    const prepared = prepare(given, options ?? { automatic_methods: true });
    expect(prepared).toEqual(want);
    // They are stored as JSON, so nothing in them may change on the way.
    expect(JSON.parse(JSON.stringify(prepared))).toEqual(prepared);
  });

  test('are put into one order, whatever order a database gave them back in', () => {
    const first = { currency: 'eur', metadata: { refund_id: 'r1', operation_id: 'o' }, amount: 5 };
    const second = { amount: 5, metadata: { operation_id: 'o', refund_id: 'r1' }, currency: 'eur' };
    expect(JSON.stringify(inStableOrder(first))).toBe(JSON.stringify(inStableOrder(second)));
    expect(inStableOrder(first)).toEqual(first);
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (any) => {
        expect(inStableOrder(any)).toEqual(any);
      }),
    );
  });
});
