import { describe, expect, test } from '@jest/globals';
import {
  requestCancellation,
  requestCapture,
  requestRefund,
  sameSpec,
  tryPaymentAgain,
  type Asking,
  type Change,
} from '../../src/operation/change.js';
import type { Operation } from '../../src/operation/operation.js';
import { aSpec, POLICY } from '../support/operations.js';
import { anOrder, aRefund, AUTHORIZED, CAPTURED, LATER } from '../support/orders.js';

const asking: Asking = { by: 'checkout', now: LATER, policy: POLICY };
const cancellation = { requested_at: LATER.toISOString(), by: 'checkout', reason: null };

/** `changed`, `unchanged`, or the code of the refusal. */
const verdict = (change: Change): string => (change.kind === 'refused' ? change.code : change.kind);

function wishAfter(change: Change): Operation['wish'] {
  if (change.kind !== 'changed') throw new Error(`expected a change, got ${JSON.stringify(change)}`);
  return change.wish;
}

describe('requestCancellation', () => {
  test('sets the desired state and the request together', () => {
    const change = requestCancellation(anOrder(), 'customer withdrew', asking);
    const wish = wishAfter(change);
    expect(wish.spec.desired).toBe('cancelled');
    expect(wish.cancellation).toEqual({ ...cancellation, reason: 'customer withdrew' });
    expect(change).toMatchObject({ spec_changed: true, event: { type: 'cancellation_requested' } });
  });

  test('a second request changes nothing: who asked first, when and why, stays', () => {
    const first = wishAfter(requestCancellation(anOrder(), 'first', asking));
    const again = requestCancellation({ ...anOrder(), wish: first }, 'second', {
      ...asking,
      by: 'other',
    });
    expect(again).toEqual({ kind: 'unchanged' });
  });

  test.each([
    ['fulfilled', anOrder({ payment: CAPTURED, inventory: { state: 'committed' } })],
    ['rejected for want of stock', anOrder({ inventory: { state: 'insufficient', refused_generation: 1 } })],
  ])('is possible for an order that is %s', (_name, operation) => {
    expect(verdict(requestCancellation(operation, null, asking))).toBe('changed');
  });
});

describe('requestRefund', () => {
  const captured = (changes: Parameters<typeof anOrder>[0] = {}) =>
    anOrder({ payment: CAPTURED, ...changes });
  const refund = (amount: number, refund_id = 'new') => ({ refund_id, amount, reason: null });
  const table: { name: string; given: Operation; amount: number; id?: string; want: string }[] = [
    { name: 'all of it', given: captured(), amount: 10_000, want: 'changed' },
    { name: 'one unit more', given: captured(), amount: 10_001, want: 'amount_not_refundable' },
    {
      name: 'before capture',
      given: anOrder({ payment: AUTHORIZED }),
      amount: 1,
      want: 'amount_not_refundable',
    },
    { name: 'before anything', given: anOrder(), amount: 1, want: 'amount_not_refundable' },
    {
      name: 'a pending refund uses up its amount',
      given: captured({ refunds: [aRefund({ amount: 7_000, state: 'pending' })] }),
      amount: 4_000,
      want: 'amount_not_refundable',
    },
    {
      name: 'what the pending refund leaves',
      given: captured({ refunds: [aRefund({ amount: 7_000, state: 'pending' })] }),
      amount: 3_000,
      want: 'changed',
    },
    {
      name: 'one that waits for the customer counts, too',
      given: captured({ refunds: [aRefund({ amount: 7_000, state: 'requires_action' })] }),
      amount: 3_001,
      want: 'amount_not_refundable',
    },
    {
      name: 'a failed refund left the money here',
      given: captured({ refunds: [aRefund({ amount: 7_000, state: 'failed' })] }),
      amount: 10_000,
      want: 'changed',
    },
    {
      name: 'a refund made outside counts',
      given: captured({ refunds: [aRefund({ refund_id: 're_x', amount: 9_000, source: 'external' })] }),
      amount: 1_001,
      want: 'amount_not_refundable',
    },
    {
      name: 'one that was asked for and not sent counts',
      given: captured({ spec: { refunds: [{ refund_id: 'r1', amount: 6_000 }] } }),
      amount: 4_001,
      want: 'amount_not_refundable',
    },
    {
      name: 'one that was asked for and is seen counts once',
      given: captured({
        spec: { refunds: [{ refund_id: 'r1', amount: 6_000 }] },
        refunds: [aRefund({ refund_id: 'r1', amount: 6_000 })],
      }),
      amount: 4_000,
      want: 'changed',
    },
    {
      name: 'only what was captured, not what was authorized',
      given: anOrder({ payment: { ...CAPTURED, captured: 1_200 } }),
      amount: 1_201,
      want: 'amount_not_refundable',
    },
    {
      name: 'a disputed payment',
      given: anOrder({ payment: { ...CAPTURED, disputed: true } }),
      amount: 1,
      want: 'amount_not_refundable',
    },
    {
      name: 'while cancelling, which gives back everything',
      given: captured({ spec: { desired: 'cancelled' }, wish: { cancellation } }),
      amount: 1,
      want: 'amount_not_refundable',
    },
    {
      name: 'the same again',
      given: captured({ spec: { refunds: [{ refund_id: 'new', amount: 10_000 }] } }),
      amount: 10_000,
      want: 'unchanged',
    },
    {
      name: 'the same again after it failed: never resent by itself',
      given: captured({
        spec: { refunds: [{ refund_id: 'new', amount: 10_000 }] },
        refunds: [aRefund({ refund_id: 'new', amount: 10_000, state: 'failed' })],
      }),
      amount: 10_000,
      want: 'unchanged',
    },
    {
      name: 'the same again while cancelling',
      given: captured({
        spec: { desired: 'cancelled', refunds: [{ refund_id: 'new', amount: 100 }] },
        wish: { cancellation },
      }),
      amount: 100,
      want: 'unchanged',
    },
    {
      name: 'another amount under the id',
      given: captured({ spec: { refunds: [{ refund_id: 'new', amount: 100 }] } }),
      amount: 101,
      want: 'refund_conflict',
    },
    {
      name: 'more refunds than a spec holds',
      given: captured({
        spec: { refunds: Array.from({ length: 100 }, (_, n) => ({ refund_id: `n${n}`, amount: 1 })) },
      }),
      amount: 1,
      want: 'amount_not_refundable',
    },
  ];
  test.each(table)('$name → $want', ({ given, amount, id, want }) => {
    expect(verdict(requestRefund(given, refund(amount, id)))).toBe(want);
  });

  test('is appended; the others stay', () => {
    const given = captured({ spec: { refunds: [{ refund_id: 'r1', amount: 1 }] } });
    expect(wishAfter(requestRefund(given, refund(2))).spec.refunds).toEqual([refund(1, 'r1'), refund(2)]);
  });
});

describe('requestCapture', () => {
  const manual = { spec: { payment: { capture: 'manual' as const } }, payment: AUTHORIZED };
  const asked = { ...manual, spec: { payment: { capture: 'manual' as const, capture_amount: 6_500 } } };
  const table: { name: string; given: Operation; amount?: number; want: string }[] = [
    { name: 'the whole', given: anOrder(manual), want: 'changed' },
    { name: 'a part', given: anOrder(manual), amount: 6_500, want: 'changed' },
    {
      name: 'above what is authorized',
      given: anOrder(manual),
      amount: 10_001,
      want: 'amount_not_capturable',
    },
    {
      name: 'above an amount that was lowered since',
      given: anOrder({ ...manual, spec: { ...manual.spec, amount: { value: 8_000, currency: 'EUR' } } }),
      amount: 9_000,
      want: 'amount_not_capturable',
    },
    {
      name: 'the whole of an amount that was raised above the authorization',
      given: anOrder({ ...manual, spec: { ...manual.spec, amount: { value: 12_000, currency: 'EUR' } } }),
      want: 'amount_not_capturable',
    },
    {
      name: 'capture: automatic',
      given: anOrder({ payment: AUTHORIZED }),
      want: 'amount_not_capturable',
    },
    {
      name: 'before the authorization',
      given: anOrder({ spec: manual.spec }),
      want: 'amount_not_capturable',
    },
    {
      name: 'after a void',
      given: anOrder({ ...manual, payment: { ...AUTHORIZED, state: 'canceled', authorized: 0 } }),
      want: 'amount_not_capturable',
    },
    {
      name: 'captured elsewhere',
      given: anOrder({ ...manual, payment: CAPTURED }),
      want: 'amount_not_capturable',
    },
    {
      name: 'while cancelling',
      given: anOrder({
        ...manual,
        spec: { desired: 'cancelled', payment: { capture: 'manual' } },
        wish: { cancellation },
      }),
      want: 'amount_not_capturable',
    },
    { name: 'the same again', given: anOrder(asked), amount: 6_500, want: 'unchanged' },
    {
      name: 'the same again after it was captured',
      given: anOrder({ ...asked, payment: { ...CAPTURED, captured: 6_500 } }),
      amount: 6_500,
      want: 'unchanged',
    },
    {
      name: 'the rest, before the first is sent',
      given: anOrder(asked),
      amount: 2_500,
      want: 'amount_not_capturable',
    },
    {
      name: 'the rest, after the first: it was released',
      given: anOrder({ ...asked, payment: { ...CAPTURED, captured: 6_500 } }),
      amount: 2_500,
      want: 'amount_not_capturable',
    },
    { name: 'the whole after a part', given: anOrder(asked), want: 'amount_not_capturable' },
  ];
  test.each(table)('$name → $want', ({ given, amount, want }) => {
    expect(verdict(requestCapture(given, amount, asking))).toBe(want);
  });

  test('an order that wanted the authorization only wants to be fulfilled from now on', () => {
    const given = anOrder({ ...manual, spec: { desired: 'authorized', payment: { capture: 'manual' } } });
    const { spec } = wishAfter(requestCapture(given, undefined, asking));
    expect(spec).toMatchObject({ desired: 'fulfilled', payment: { capture_amount: 10_000 } });
  });
});

describe('tryPaymentAgain', () => {
  const failed = { payment: { state: 'failed' as const, answered_confirmation: 1 } };
  const pending = { ...failed, wish: { confirmation: 2 } };
  const table: { name: string; given: Operation; method?: string; want: string }[] = [
    { name: 'after a decline', given: anOrder(failed), want: 'changed' },
    { name: 'with another method', given: anOrder(failed), method: 'pm_other', want: 'changed' },
    {
      name: 'after a decline that the provider does not keep',
      given: anOrder({ payment: { state: 'created', answered_confirmation: 1 } }),
      want: 'changed',
    },
    {
      name: 'instead of an abandoned 3-D Secure',
      given: anOrder({ payment: { state: 'awaiting_customer', answered_confirmation: 1 } }),
      want: 'changed',
    },
    { name: 'a double click', given: anOrder(pending), want: 'unchanged' },
    {
      name: 'another method while a try is under way',
      given: anOrder(pending),
      method: 'pm_other',
      want: 'payment_alive',
    },
    { name: 'nothing made yet', given: anOrder(), want: 'payment_alive' },
    {
      name: 'made and being confirmed',
      given: anOrder({ payment: { state: 'created' } }),
      want: 'payment_alive',
    },
    { name: 'in process', given: anOrder({ payment: { state: 'processing' } }), want: 'payment_alive' },
    { name: 'authorized', given: anOrder({ payment: AUTHORIZED }), want: 'payment_alive' },
    { name: 'captured', given: anOrder({ payment: CAPTURED }), want: 'payment_alive' },
    { name: 'not known', given: anOrder({ payment: { state: 'unknown' } }), want: 'payment_alive' },
    {
      name: 'canceled at the provider',
      given: anOrder({ payment: { state: 'canceled', canceled_because: 'expired' } }),
      want: 'command_not_available',
    },
    {
      name: 'a payment of the front end',
      given: anOrder({ ...failed, spec: { payment: { reference: 'pi_1' } } }),
      want: 'command_not_available',
    },
    {
      name: 'while cancelling',
      given: anOrder({ ...failed, spec: { desired: 'cancelled' }, wish: { cancellation } }),
      want: 'command_not_available',
    },
    {
      name: 'after the deadline',
      given: anOrder({ ...failed, spec: { payment_deadline: '2026-08-25T03:05:00Z' } }),
      want: 'command_not_available',
    },
  ];
  test.each(table)('$name → $want', ({ given, method, want }) => {
    expect(verdict(tryPaymentAgain(given, method, asking))).toBe(want);
  });

  test('asks for one more confirmation; the spec changes only with the method', () => {
    const same = tryPaymentAgain(anOrder(failed), undefined, asking);
    expect(wishAfter(same).confirmation).toBe(2);
    expect(same).toMatchObject({ spec_changed: false });
    const other = tryPaymentAgain(anOrder(failed), 'pm_other', asking);
    expect(other).toMatchObject({
      spec_changed: true,
      wish: { confirmation: 2, spec: { payment: { payment_method: 'pm_other' } } },
    });
  });
});

describe('sameSpec', () => {
  test('member order does not matter', () => {
    const spec = aSpec();
    const reversed = JSON.parse(JSON.stringify(spec, Object.keys(spec).reverse())) as typeof spec;
    const shuffled = Object.fromEntries(Object.entries(spec).reverse()) as typeof spec;
    expect(sameSpec(spec, shuffled)).toBe(true);
    expect(sameSpec(spec, reversed)).toBe(false);
  });
  test('defaults are part of it', () => {
    expect(sameSpec(aSpec(), aSpec({ desired: 'fulfilled', refunds: [] }))).toBe(true);
  });
  test.each([
    ['amount', aSpec({ amount: { value: 10_001, currency: 'EUR' } })],
    ['currency', aSpec({ amount: { value: 12_900, currency: 'USD' } })],
    ['order of lines', aSpec({ lines: [] })],
    ['method', aSpec({ payment: { payment_method: 'pm_other' } })],
  ])('another %s is another spec', (_name, other) => {
    expect(sameSpec(aSpec(), other)).toBe(false);
  });
});
