/** How the money of a payment beside the orders goes back: what there is, what is next, and when a decision has ended. */
import { describe, expect, test } from '@jest/globals';
import { giveBackOf, nextOf, nextUnseen, type GiveBack, type Next } from '../../src/findings/give-back.js';
import type { Attempt } from '../../src/operation/attempt.js';
import type { PaymentReading, RefundReading } from '../../src/operation/observation.js';
import { NOW } from '../support/operations.js';

const TARGET = 'stray-1';
const aPayment = (patch: Partial<PaymentReading> = {}): PaymentReading => ({
  reference: 'pi_1',
  state: 'captured',
  provider_status: 'succeeded',
  amount: 100,
  currency: 'EUR',
  capture: null,
  payment_method: null,
  authorized: 0,
  captured: 100,
  refunds: [],
  disputed: false,
  capture_before: null,
  next_action: null,
  last_error: null,
  canceled_because: null,
  operation_id: 'ord-1',
  livemode: false,
  ...patch,
});
const aRefund = (patch: Partial<RefundReading> = {}): RefundReading => ({
  reference: 're_1',
  refund_id: null,
  operation_id: null,
  amount: 100,
  state: 'succeeded',
  reason: null,
  ...patch,
});
const held = aPayment({ state: 'authorized', authorized: 100, captured: 0 });

describe('what there is to give back', () => {
  const refund = (amount: number) => ({ step: 'create_refund', amount, currency: 'EUR' });
  test.each([
    ['all', aPayment(), refund(100)],
    ['what is left of it', aPayment({ refunds: [aRefund({ amount: 30 })] }), refund(70)],
    ['also what a refund failed to give', aPayment({ refunds: [aRefund({ state: 'failed' })] }), refund(100)],
    ['not what the bank took', aPayment({ lost: 40 }), refund(60)],
    [
      'not what it has withdrawn for now',
      aPayment({ disputes: [{ reference: 'dp_1', amount: 25, state: 'open' }] }),
      refund(75),
    ],
    ['the authorization', held, { step: 'cancel_payment', amount: 100, currency: 'EUR' }],
  ])('%s', (_reason, payment, want) => expect(giveBackOf(payment)).toEqual(want));

  test.each([
    [
      'nothing while it is on its way back',
      aPayment({ refunds: [aRefund({ state: 'pending' })] }),
      'on its way',
    ],
    ['nothing twice', aPayment({ refunds: [aRefund()] }), 'already'],
    ['nothing under a dispute', aPayment({ disputed: true }), 'dispute'],
    ['nothing without its refunds', aPayment({ refunds: null }), 'did not list'],
    ['nothing before it is known', aPayment({ state: 'processing', captured: 0 }), 'not known yet'],
    ['nothing that a new word says', aPayment({ state: 'unknown', captured: 0 }), 'not known yet'],
    ['nothing that was never taken', aPayment({ state: 'failed', captured: 0 }), 'no money'],
    ['nothing of a canceled one', aPayment({ state: 'canceled', captured: 0 }), 'canceled'],
  ])('%s', (_reason, payment, why) => {
    expect(giveBackOf(payment)).toEqual({ why: expect.stringContaining(why) });
  });
});

describe('what is next', () => {
  const REFUND: GiveBack = { step: 'create_refund', amount: 100, currency: 'EUR' };
  const VOID: GiveBack = { step: 'cancel_payment', amount: 100, currency: 'EUR' };
  const hoursAgo = (hours: number): string => new Date(NOW.getTime() - hours * 3_600_000).toISOString();
  const aTry = (patch: Partial<Attempt> = {}): Attempt => ({
    attempt_id: '1',
    step: 'create_refund',
    target: TARGET,
    ordinal: 1,
    effect_key: 'key',
    parameters: {},
    generation: 0,
    started_at: hoursAgo(1),
    completed_at: null,
    outcome: null,
    key_spent: false,
    failure: null,
    shown: null,
    resolution: null,
    ...patch,
  });
  const refusal = aTry({
    outcome: 'rejected',
    key_spent: true,
    failure: { class: 'rejected', code: 'insufficient_funds', message: 'No funds.' },
  });
  const stopped = aTry({
    outcome: 'rejected',
    failure: { class: 'authorization', code: 'http_401', message: 'Who are you?' },
  });
  const ours = (state: RefundReading['state']) =>
    aPayment({ refunds: [aRefund({ refund_id: TARGET, state })] });
  const ended = (given_back: boolean, words: string): Next => ({
    kind: 'ended',
    given_back,
    summary: expect.stringContaining(words) as unknown as string,
  });
  const waits = { kind: 'wait', why: expect.stringContaining('in doubt') };
  const send = { kind: 'send' };
  const part = aPayment({ refunds: [aRefund({ amount: 1 })] });

  test.each([
    ['just decided', hoursAgo(1), [], { kind: 'wait' }],
    ['decided a day ago', hoursAgo(24), [], ended(false, 'Nothing was sent')],
    ['a try is in doubt', hoursAgo(24), [aTry()], { kind: 'wait' }],
    [
      'no try can take effect any more',
      hoursAgo(24),
      [aTry({ started_at: hoursAgo(24) })],
      ended(false, 'not seen'),
    ],
    ['it was answered as done', hoursAgo(24), [aTry({ outcome: 'done' })], ended(false, 'not seen')],
  ])('of a payment that the provider does not know: %s', (_reason, decided_at, tries, want) =>
    expect(nextUnseen(decided_at, tries, NOW)).toMatchObject(want),
  );

  test.each<[string, GiveBack, PaymentReading, readonly Attempt[], string | null, unknown]>([
    ['nothing was sent yet', REFUND, aPayment(), [], null, send],
    ['a try in doubt goes again under its key', REFUND, aPayment(), [aTry()], null, send],
    ['one that was not sent, too', REFUND, aPayment(), [aTry({ outcome: 'not_sent' })], null, send],
    ['nor does a refused key of ours end it', REFUND, aPayment(), [stopped], null, send],
    ['it shows', REFUND, ours('succeeded'), [aTry()], null, ended(true, 'was given back by the refund re_1')],
    ['it is on its way', REFUND, ours('pending'), [aTry()], null, ended(true, 'on its way back')],
    ['it failed', REFUND, ours('failed'), [aTry({ outcome: 'pending' })], null, ended(false, 'is failed')],
    ['it was refused', REFUND, aPayment(), [refusal], null, ended(false, 'No funds.')],
    [
      'a refusal says nothing of a try before it',
      REFUND,
      aPayment(),
      [aTry(), { ...refusal, key_spent: false }],
      null,
      send,
    ],
    ['it is not as decided, and nothing was sent', REFUND, part, [], null, ended(false, 'now it would be')],
    ['it is not as decided, and something may be under way', REFUND, part, [aTry()], null, waits],
    [
      'the same once the key can do no more',
      REFUND,
      part,
      [aTry({ started_at: hoursAgo(24) })],
      null,
      ended(false, 'Nothing'),
    ],
    [
      'its refunds were not listed, so that a try says nothing even when its key is over',
      REFUND,
      aPayment({ refunds: null }),
      [aTry({ started_at: hoursAgo(24) })],
      null,
      waits,
    ],
    [
      'nothing is left, so nothing can come of it',
      REFUND,
      aPayment({ refunds: [aRefund()] }),
      [aTry()],
      null,
      ended(false, 'already'),
    ],
    ['an order has it', REFUND, aPayment(), [], 'an order has it', ended(false, 'an order has it')],
    [
      'an order has it, and something may be under way',
      REFUND,
      aPayment(),
      [aTry()],
      'an order has it',
      waits,
    ],
    ['a dispute came', REFUND, aPayment({ disputed: true }), [aTry()], null, waits],
    ['an authorization', VOID, held, [], null, send],
    [
      'it is voided',
      VOID,
      aPayment({ state: 'canceled', captured: 0 }),
      [aTry({ step: 'cancel_payment' })],
      null,
      ended(true, 'voided'),
    ],
    [
      'it was voided by others',
      VOID,
      aPayment({ state: 'canceled', captured: 0 }),
      [],
      null,
      ended(false, 'nothing was sent'),
    ],
    ['it was captured meanwhile', VOID, aPayment(), [], null, ended(false, 'refund 1.00 EUR')],
  ])('%s', (_reason, decided, payment, tries, bar, want) => {
    expect(nextOf(decided, TARGET, payment, tries, bar, NOW)).toEqual(want);
  });
});
