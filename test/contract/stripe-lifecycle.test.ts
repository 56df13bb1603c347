/** Whole lives of payments through the Stripe adapter, against the sandbox over HTTP. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { PaymentReading } from '../../src/operation/observation.js';
import type { PaymentStep } from '../../src/operation/step.js';
import { stripeClient } from '../../src/payment/stripe/client.js';
import { StripeProvider } from '../../src/payment/stripe/stripe-provider.js';
import { startTestSandbox, type TestSandbox } from '../support/sandbox-control.js';

const SECRET = 'sk_test_ContractTests123';
const TIMEOUT_MS = 10_000;

const providerAt = (base: URL) =>
  new StripeProvider(stripeClient({ secret: SECRET, base, timeout_ms: TIMEOUT_MS }));

describe('whole lives against the sandbox', () => {
  let sandbox: TestSandbox;
  let provider: StripeProvider;
  let operationId: string;
  let count = 0;

  beforeAll(async () => {
    sandbox = await startTestSandbox();
    provider = providerAt(new URL(sandbox.url));
  });
  afterAll(() => sandbox.stop());
  beforeEach(async () => {
    await sandbox.control.clearFaults();
    operationId = `ord/ä ${(count += 1)}`;
  });

  const apply = (
    step: PaymentStep,
    key: string = `${operationId.length}-${count}-${step.name}-${step.target}`,
  ) =>
    provider.apply({
      step: step.name,
      reference: 'reference' in step ? step.reference : null,
      key,
      parameters: provider.prepare(step),
    });
  const creating = (
    members: Partial<Extract<PaymentStep, { name: 'create_payment' }>> = {},
  ): PaymentStep => ({
    name: 'create_payment',
    target: 'payment-1',
    operation_id: operationId,
    amount: 12900,
    currency: 'EUR',
    capture: 'automatic',
    payment_method: 'pm_card_visa',
    customer: null,
    return_url: null,
    ...members,
  });
  const created = async (members: Parameters<typeof creating>[0] = {}): Promise<string> => {
    const outcome = await apply(creating(members));
    if (outcome.kind !== 'done' || outcome.shown?.payment === undefined)
      throw new Error(JSON.stringify(outcome));
    return outcome.shown.payment.reference;
  };
  const confirming = (
    reference: string,
    members: Partial<Extract<PaymentStep, { name: 'confirm_payment' }>> = {},
  ): PaymentStep => ({
    name: 'confirm_payment',
    target: 'confirmation-1',
    reference,
    confirmation: 1,
    amount: 12900,
    currency: 'EUR',
    payment_method: null,
    return_url: null,
    off_session: false,
    ...members,
  });
  const refunding = (
    reference: string,
    refund_id: string,
    amount: number,
    currency = 'EUR',
  ): PaymentStep => ({
    name: 'create_refund',
    target: refund_id,
    reference,
    operation_id: operationId,
    refund_id,
    amount,
    currency,
  });
  const seen = async (reference: string): Promise<PaymentReading> => {
    const reading = await provider.observe({ reference, refunds: false });
    if (reading.kind !== 'present') throw new Error(JSON.stringify(reading));
    return reading.value;
  };

  test('created without effect, then confirmed and captured', async () => {
    const reference = await created();
    expect(await seen(reference)).toMatchObject({
      state: 'created',
      captured: 0,
      operation_id: operationId,
      amount: 12900,
    });
    expect((await sandbox.control.ledger(operationId)).captured).toBe(0);
    expect(await apply(confirming(reference))).toMatchObject({
      kind: 'done',
      shown: { payment: { state: 'captured', captured: 12900 } },
    });
    expect(await seen(reference)).toMatchObject({ state: 'captured', captured: 12900, refunds: null });
    expect((await sandbox.control.ledger(operationId)).captured).toBe(12900);
  });

  test('held, captured in part, refunded to the last cent', async () => {
    await sandbox.control.settings({ releases_count_as_refunded: true });
    const reference = await created({ capture: 'manual' });
    const held = await apply(confirming(reference));
    expect(held).toMatchObject({
      kind: 'done',
      shown: { payment: { state: 'authorized', authorized: 12900 } },
    });
    // Only the charge knows it, and an answer to a write names the charge without showing it.
    expect(held.shown?.payment?.capture_before).toMatch(/^\d{4}-/);
    const part: PaymentStep = {
      name: 'capture_payment',
      target: reference,
      reference,
      amount: 6500,
      currency: 'EUR',
      whole: false,
    };
    expect(await apply(part)).toMatchObject({ kind: 'done', shown: { payment: { captured: 6500 } } });
    // The sandbox books the released 64.00 as refunded here; no refund of the customer is made of it.
    expect(await seen(reference)).toMatchObject({ captured: 6500, authorized: 0, refunds: [] });
    expect(await apply(refunding(reference, 'r1', 2500))).toMatchObject({
      kind: 'done',
      shown: { refund: { refund_id: 'r1', amount: 2500 } },
    });
    await sandbox.control.dashboard('refund', { operation_id: operationId, amount: 1000 });
    expect(await apply(refunding(reference, 'r2', 3001))).toMatchObject({ kind: 'rejected' });
    expect(await apply(refunding(reference, 'r3', 3000))).toMatchObject({ kind: 'done' });
    expect((await seen(reference)).refunds).toMatchObject([
      { refund_id: 'r3', amount: 3000, operation_id: operationId },
      { refund_id: null, amount: 1000 },
      { refund_id: 'r1', amount: 2500 },
    ]);
    await sandbox.control.settings({ releases_count_as_refunded: false });
  });

  test('held and captured whole', async () => {
    const reference = await created({ capture: 'manual' });
    await apply(confirming(reference));
    const whole: PaymentStep = {
      name: 'capture_payment',
      target: reference,
      reference,
      amount: 12900,
      currency: 'EUR',
      whole: true,
    };
    expect(await apply(whole)).toMatchObject({ kind: 'done', shown: { payment: { captured: 12900 } } });
    expect(await apply(whole, 'another key')).toMatchObject({
      kind: 'rejected',
      failure: { class: 'conflict', code: 'payment_intent_unexpected_state' },
      shown: { payment: { state: 'captured', captured: 12900 } },
    });
  });

  test('held and voided', async () => {
    const reference = await created({ capture: 'manual' });
    await apply(confirming(reference));
    const voiding: PaymentStep = { name: 'cancel_payment', target: reference, reference };
    expect(await apply(voiding)).toMatchObject({
      kind: 'done',
      shown: { payment: { state: 'canceled', authorized: 0 } },
    });
    expect(await seen(reference)).toMatchObject({ state: 'canceled', authorized: 0, captured: 0 });
    expect((await sandbox.control.ledger(operationId)).violations).toEqual([]);
  });

  test('updated before it is confirmed', async () => {
    const reference = await created();
    const update: PaymentStep = {
      name: 'update_payment',
      target: reference,
      reference,
      amount: 8000,
      currency: 'EUR',
      capture: 'manual',
    };
    expect(await apply(update)).toMatchObject({
      kind: 'done',
      shown: { payment: { amount: 8000, capture: 'manual' } },
    });
  });

  test('declined, then paid with another card under a new key', async () => {
    const reference = await created({ payment_method: 'pm_card_chargeDeclinedInsufficientFunds' });
    expect(await apply(confirming(reference))).toMatchObject({
      kind: 'declined',
      key_spent: true,
      failure: { class: 'declined', code: 'card_declined' },
      shown: { payment: { state: 'failed', last_error: { code: 'card_declined' } } },
    });
    expect(await seen(reference)).toMatchObject({ state: 'failed', last_error: { code: 'card_declined' } });
    // The old key repeats the old "no", and shows nothing.
    const again = await apply(confirming(reference));
    expect(again).toMatchObject({ kind: 'declined', key_spent: true });
    expect(again).not.toHaveProperty('shown');
    const second = confirming(reference, { target: 'confirmation-2', payment_method: 'pm_card_visa' });
    expect(await apply(second)).toMatchObject({ kind: 'done' });
  });

  test('3-D Secure waits for the customer, with and without a page', async () => {
    const inside = await created({ payment_method: 'pm_card_threeDSecure2Required' });
    expect(await apply(confirming(inside))).toMatchObject({
      kind: 'pending',
      shown: {
        payment: { state: 'awaiting_customer', next_action: { type: 'use_stripe_sdk', redirect_url: null } },
      },
    });
    operationId += ' b';
    const return_url = 'https://shop.example/back';
    const outside = await created({ payment_method: 'pm_card_threeDSecure2Required', return_url });
    const outcome = await apply(confirming(outside, { return_url }));
    expect(outcome).toMatchObject({
      kind: 'pending',
      shown: { payment: { next_action: { type: 'redirect_to_url' } } },
    });
    expect(outcome.shown?.payment?.next_action?.redirect_url).toMatch(/^https:/);
  });

  test('the same key gives the same payment', async () => {
    const first = await created();
    expect(await apply(creating())).toMatchObject({ kind: 'done', shown: { payment: { reference: first } } });
    const key = `${operationId.length}-${count}-create_payment-payment-1`;
    expect(await apply(creating({ amount: 5000 }), key)).toMatchObject({
      kind: 'rejected',
      failure: { class: 'rejected', code: 'idempotency_mismatch' },
    });
  });

  test('a refund whose answer was lost is one refund', async () => {
    const reference = await created();
    await apply(confirming(reference));
    await sandbox.control.inject({ route: 'refunds.create', kind: 'effect_then_drop', times: 2 });
    expect(await apply(refunding(reference, 'r1', 2500))).toMatchObject({
      kind: 'unknown',
      failure: { code: 'connection_lost' },
    });
    expect((await seen(reference)).refunds).toMatchObject([{ refund_id: 'r1', amount: 2500 }]);
    expect(await apply(refunding(reference, 'r1', 2500))).toMatchObject({
      kind: 'done',
      shown: { refund: { refund_id: 'r1' } },
    });
    expect((await seen(reference)).refunds).toHaveLength(1);
  });

  test('a stored 500 spends its key, with and without effect', async () => {
    const reference = await created();
    await apply(confirming(reference));
    await sandbox.control.inject({ route: 'refunds.create', kind: '500_no_effect', times: 1 });
    const first = await apply(refunding(reference, 'r1', 2500));
    expect(first).toMatchObject({ kind: 'unknown', failure: { class: 'unknown' } });
    expect(first.key_spent).toBeUndefined();
    expect(await apply(refunding(reference, 'r1', 2500))).toMatchObject({ kind: 'unknown', key_spent: true });
    expect(await provider.observe({ reference, refunds: true })).toMatchObject({ value: { refunds: [] } });
    expect(await apply(refunding(reference, 'r1', 2500), 'the next key')).toMatchObject({ kind: 'done' });
  });

  test('a refund on its way counts, and one that fails after it succeeded is seen to', async () => {
    const reference = await created({ payment_method: 'pm_card_pendingRefund' });
    await apply(confirming(reference));
    expect(await apply(refunding(reference, 'r1', 2500))).toMatchObject({
      kind: 'pending',
      shown: { refund: { state: 'pending' } },
    });
    expect((await seen(reference)).refunds).toMatchObject([{ refund_id: 'r1', state: 'pending' }]);
    await sandbox.control.dashboard('settle_refund', { operation_id: operationId });
    expect((await seen(reference)).refunds).toMatchObject([{ refund_id: 'r1', state: 'succeeded' }]);
    await sandbox.control.dashboard('fail_refund', { operation_id: operationId });
    // A failed refund leaves amount_refunded at 0, so only who asks for refunds gets to see it.
    expect(await provider.observe({ reference, refunds: true })).toMatchObject({
      value: { captured: 12900, refunds: [{ refund_id: 'r1', state: 'failed', amount: 2500 }] },
    });
  });

  test('a dispute stops refunds until it is won', async () => {
    const reference = await created({ payment_method: 'pm_card_createDispute' });
    await apply(confirming(reference));
    expect((await seen(reference)).disputed).toBe(true);
    expect(await apply(refunding(reference, 'r1', 2500))).toMatchObject({ kind: 'rejected' });
    await sandbox.control.dashboard('win_dispute', { operation_id: operationId });
    const won = await seen(reference);
    expect(won.disputed).toBe(false);
    expect(won).not.toHaveProperty('lost');
  });

  test('a lost dispute is money that is gone', async () => {
    const reference = await created({ payment_method: 'pm_card_createDispute' });
    await apply(confirming(reference));
    await sandbox.control.dashboard('lose_dispute', { operation_id: operationId });
    expect(await seen(reference)).toMatchObject({ disputed: true, lost: 12900 });
  });

  test.each([
    { currency: 'JPY', amount: 4200, wire: 4200, refund: 700 },
    { currency: 'ISK', amount: 1000, wire: 100_000, refund: 1 },
    { currency: 'UGX', amount: 1000, wire: 100_000, refund: 1 },
    { currency: 'MGA', amount: 250_000, wire: 2500, refund: 100 },
    { currency: 'KWD', amount: 7350, wire: 7350, refund: 10 },
  ])(
    '$amount $currency is $wire at the provider, and comes back the same',
    async ({ currency, amount, wire, refund }) => {
      const reference = await created({ amount, currency });
      expect(await apply(confirming(reference, { amount, currency }))).toMatchObject({
        kind: 'done',
        shown: { payment: { captured: amount, currency } },
      });
      expect((await sandbox.control.ledger(operationId)).captured).toBe(wire);
      expect(await apply(refunding(reference, 'r1', refund, currency))).toMatchObject({
        kind: 'done',
        shown: { refund: { amount: refund } },
      });
      expect(await seen(reference)).toMatchObject({
        amount,
        captured: amount,
        refunds: [{ amount: refund }],
      });
    },
  );

  test('an unknown id is absent, a revoked key is not', async () => {
    expect(await provider.observe({ reference: 'pi_doesnotexist', refunds: false })).toEqual({
      kind: 'absent',
    });
    await sandbox.control.revokeKey(SECRET);
    expect(await provider.observe({ reference: 'pi_doesnotexist', refunds: false })).toMatchObject({
      kind: 'unknown',
      failure: { class: 'authorization' },
    });
    await sandbox.control.restoreKey(SECRET);
  });

  test('a caller’s payment method that does not exist is the caller’s affair', async () => {
    expect(await apply(creating({ payment_method: 'pm_nobody' }))).toMatchObject({
      kind: 'rejected',
      failure: { class: 'rejected', code: 'resource_missing' },
    });
  });

  test('a server that refuses every parameter it can do without', async () => {
    await sandbox.control.settings({
      refused_parameters: [
        'automatic_payment_methods',
        'expand',
        'cancellation_reason',
        'reason',
        'description',
      ],
    });
    const strict = new StripeProvider(
      stripeClient({ secret: SECRET, base: new URL(sandbox.url), timeout_ms: TIMEOUT_MS }),
      { automatic_methods: false },
    );
    const parameters = strict.prepare(creating({ return_url: null }));
    const outcome = await strict.apply({
      step: 'create_payment',
      reference: null,
      key: `strict-${count}`,
      parameters,
    });
    expect(outcome).toMatchObject({ kind: 'done' });
    const reference = outcome.shown?.payment?.reference ?? '';
    expect(await strict.observe({ reference, refunds: true })).toMatchObject({
      kind: 'present',
      value: { refunds: [] },
    });
    await sandbox.control.settings({ refused_parameters: [] });
  });
});
