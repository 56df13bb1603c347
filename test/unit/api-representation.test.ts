import { describe, expect, test } from '@jest/globals';
import { inexactAmounts } from '../../src/api/operations/exact-amounts.js';
import { toOperationOut } from '../../src/api/operations/representation.js';
import { isAtRest } from '../../src/api/operations/rest.js';
import { OperationOut } from '../../src/api/schemas/operation.js';
import { nextStatus } from '../../src/operation/next-status.js';
import { PHASES, type Operation, type Phase } from '../../src/operation/operation.js';
import { aSpec, NOW, POLICY } from '../support/operations.js';
import { anOrder, aRecord, aRefund, AUTHORIZED, CAPTURED, type OrderChanges } from '../support/orders.js';

const at = NOW.toISOString();
const cancellation = { requested_at: at, by: 'checkout', reason: null };
const show = (changes: OrderChanges): OperationOut => toOperationOut(aRecord(changes), POLICY);

describe('the representation', () => {
  test('of a new order has every member', () => {
    const order = anOrder();
    const record = { ...aRecord(), status: nextStatus(order, NOW, POLICY) };
    const shown = toOperationOut(record, POLICY);
    expect(OperationOut.parse(shown)).toEqual(shown);
    expect(shown).toEqual({
      operation_id: 'op-1',
      metadata: {
        account: 'default',
        generation: 1,
        resource_version: 1,
        labels: {},
        requested_by: 'checkout',
        created_at: at,
        updated_at: at,
        paused: null,
        closed: null,
      },
      spec: {
        desired: 'fulfilled',
        order_id: 'order-001',
        amount: { value: 10_000, currency: 'EUR' },
        payment: {
          provider: 'stripe',
          capture: 'automatic',
          payment_method: 'pm_card_visa',
          customer: null,
          reference: null,
          capture_amount: null,
          return_url: null,
          off_session: false,
        },
        lines: [{ sku: 'tea-500', quantity: 2 }],
        refunds: [],
        payment_deadline: null,
      },
      status: {
        phase: 'accepted',
        condition: 'Accepted',
        observed_version: 0,
        provider_reference: null,
        next_attempt_at: null,
        task: null,
        payment: {
          state: 'none',
          authorized: 0,
          captured: 0,
          refunded: 0,
          refund_pending: 0,
          refundable: 0,
          short: 0,
          disputed: false,
          capture_before: null,
          next_action: null,
          observed_at: null,
        },
        inventory: { state: 'none', observed_at: null },
        refunds: [],
        conditions: shown.status.conditions,
        cancellation: null,
        retry_budget: { limit: 8, used: 0 },
        money_moved: { verdict: 'none', amount: 0, as_of: null },
        attention: null,
      },
    });
  });

  test('the refunds of case "pending uses up the amount": 70 pending, 30 refundable', () => {
    const { payment, refunds } = show({
      payment: CAPTURED,
      spec: {
        refunds: [
          { refund_id: 'r1', amount: 7_000 },
          { refund_id: 'r2', amount: 1_000 },
        ],
      },
      refunds: [aRefund({ amount: 7_000, state: 'pending' })],
    }).status;
    expect(payment).toMatchObject({
      captured: 10_000,
      refunded: 0,
      refund_pending: 8_000,
      refundable: 2_000,
    });
    expect(refunds.map(({ refund_id, state }) => [refund_id, state])).toEqual([
      ['r1', 'pending'],
      ['r2', 'requested'],
    ]);
  });

  test.each([
    ['captured less by someone else', { payment: { ...CAPTURED, captured: 6_000 } }, 4_000],
    [
      'a partial capture that was asked for',
      {
        payment: { ...CAPTURED, captured: 6_500 },
        spec: { payment: { capture: 'manual', capture_amount: 6_500 } },
      },
      0,
    ],
    ['refunded in full: not short', { payment: CAPTURED, refunds: [aRefund({ amount: 10_000 })] }, 0],
    ['not captured yet', { payment: AUTHORIZED }, 0],
    [
      'cancelled: nothing is wanted',
      { payment: { ...CAPTURED, captured: 6_000 }, spec: { desired: 'cancelled' }, wish: { cancellation } },
      0,
    ],
  ] as [string, OrderChanges, number][])('short: %s', (_name, changes, short) => {
    expect(show(changes).status.payment.short).toBe(short);
  });

  test('nothing is refundable while a dispute holds the money', () => {
    expect(show({ payment: { ...CAPTURED, disputed: true } }).status.payment.refundable).toBe(0);
  });

  test('failures of another generation are not counted', () => {
    expect(show({ budget: { generation: 1, used: 3 } }).status.retry_budget).toEqual({ limit: 8, used: 3 });
    expect(show({ budget: { generation: 9, used: 3 } }).status.retry_budget).toEqual({ limit: 8, used: 0 });
  });

  test('cancellation tells accepted from done', () => {
    const finalizers = [{ name: 'payment' as const, reason: 'RefundPending' as const, since: at }];
    const cancelling = { spec: { desired: 'cancelled' as const }, wish: { cancellation } };
    expect(show({ ...cancelling, status: { finalizers } }).status.cancellation).toEqual({
      requested_at: at,
      completed_at: null,
      finalizers,
    });
    expect(show({ ...cancelling, status: { cancelled_at: at } }).status.cancellation).toEqual({
      requested_at: at,
      completed_at: at,
      finalizers: [],
    });
  });
});

describe('money_moved', () => {
  const unresolved = (
    step: 'create_payment' | 'confirm_payment' | 'create_refund' | 'release_inventory',
  ) => ({
    step,
    target: 't',
    since: at,
  });
  test.each([
    ['nothing sent', {}, 'none', 0],
    ['only authorized', { payment: AUTHORIZED }, 'none', 0],
    ['captured', { payment: CAPTURED }, 'moved', 10_000],
    [
      'captured and partly refunded',
      { payment: CAPTURED, refunds: [aRefund({ amount: 4_000 })] },
      'moved',
      6_000,
    ],
    [
      'a pending refund has not moved yet',
      { payment: CAPTURED, refunds: [aRefund({ amount: 4_000, state: 'pending' })] },
      'moved',
      10_000,
    ],
    ['partly lost to a dispute', { payment: { ...CAPTURED, lost: 3_000 } }, 'moved', 7_000],
    ['confirmation without an answer', { unresolved: unresolved('confirm_payment') }, 'unknown', null],
    [
      'refund without an answer',
      { payment: CAPTURED, unresolved: unresolved('create_refund') },
      'unknown',
      null,
    ],
    ['making a payment moves nothing', { unresolved: unresolved('create_payment') }, 'none', 0],
    [
      'nor does the warehouse',
      { payment: CAPTURED, unresolved: unresolved('release_inventory') },
      'moved',
      10_000,
    ],
    ['in process', { payment: { state: 'processing', observed_at: at } }, 'unknown', null],
    [
      'a payment of the front end that was never read',
      { spec: { payment: { reference: 'pi_1' } } },
      'unknown',
      null,
    ],
  ] as [string, OrderChanges, string, number | null][])('%s', (_name, changes, verdict, amount) => {
    expect(show(changes).status.money_moved).toMatchObject({ verdict, amount });
  });
});

describe('isAtRest', () => {
  const inPhase = (phase: Phase, changes: OrderChanges = {}): Operation =>
    anOrder({ ...changes, status: { phase, ...changes.status } });
  test('by phase', () => {
    const resting = PHASES.filter((phase) => isAtRest(inPhase(phase)));
    expect(resting).toEqual(['awaiting_customer', 'payment_failed', 'fulfilled', 'cancelled', 'rejected']);
  });
  const manual = { capture: 'manual' as const };
  test.each([
    ['wanted so', { spec: { desired: 'authorized' } }, true],
    ['capture on request', { spec: { payment: manual } }, true],
    ['capture was requested', { spec: { payment: { ...manual, capture_amount: 1 } } }, false],
    ['captured by itself', {}, false],
  ] as [string, OrderChanges, boolean][])('authorized, %s: %p', (_name, changes, rests) => {
    expect(isAtRest(inPhase('authorized', changes))).toBe(rests);
  });
  test('attention and a pause end every wait', () => {
    const attention = { reason: 'RefundFailed' as const, message: '', since: at };
    expect(isAtRest(inPhase('cancelling', { status: { attention } }))).toBe(true);
    expect(isAtRest(inPhase('cancelling', { wish: { paused: { by: 'a', reason: 'b', at } } }))).toBe(true);
  });
});

describe('inexactAmounts', () => {
  test('looks at every amount of a spec', () => {
    const spec = aSpec({
      amount: { value: 1_234, currency: 'KWD' },
      payment: { capture: 'manual', capture_amount: 1_001 },
      refunds: [
        { refund_id: 'a', amount: 10 },
        { refund_id: 'b', amount: 7 },
      ],
    });
    const lastDigitZero = (_provider: string, value: number): string | null =>
      value % 10 === 0 ? null : 'no';
    expect(inexactAmounts(spec, lastDigitZero).map(({ pointer }) => pointer)).toEqual([
      '/amount/value',
      '/payment/capture_amount',
      '/refunds/1/amount',
    ]);
  });
});
