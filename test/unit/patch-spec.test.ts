import { describe, expect, test } from '@jest/globals';
import type { Asking, Change } from '../../src/operation/change.js';
import { mergePatch } from '../../src/operation/json.js';
import type { Operation } from '../../src/operation/operation.js';
import { patchSpec } from '../../src/operation/patch.js';
import { POLICY } from '../support/operations.js';
import { anOrder, AUTHORIZED, CAPTURED, LATER } from '../support/orders.js';

const asking: Asking = { by: 'checkout', now: LATER, policy: POLICY };
const cancellation = { requested_at: LATER.toISOString(), by: 'checkout', reason: null };
const patch = (operation: Operation, body: unknown): Change => patchSpec(operation, body, asking);

function refusal(change: Change): { code: string; pointers: string[] } {
  if (change.kind !== 'refused') throw new Error(`expected a refusal, got ${JSON.stringify(change)}`);
  return { code: change.code, pointers: (change.pointers ?? []).map(({ pointer }) => pointer) };
}

const fresh = anOrder();
const withPayment = anOrder({ payment: { state: 'created' }, provider_reference: 'pi_1' });
const manual = { capture: 'manual' as const };
const authorized = anOrder({ spec: { payment: manual }, payment: AUTHORIZED });
const captured = anOrder({ payment: CAPTURED });
const cancelled = anOrder({ spec: { desired: 'cancelled' }, wish: { cancellation } });

describe('what may change', () => {
  const table: { name: string; given: Operation; body: Record<string, unknown> }[] = [
    { name: 'desired', given: fresh, body: { desired: 'authorized' } },
    {
      name: 'desired, upwards',
      given: anOrder({ spec: { desired: 'authorized' } }),
      body: { desired: 'fulfilled' },
    },
    { name: 'amount before capture', given: authorized, body: { amount: { value: 12_000 } } },
    { name: 'currency before a payment exists', given: fresh, body: { amount: { currency: 'USD' } } },
    { name: 'payment method', given: captured, body: { payment: { payment_method: 'pm_other' } } },
    { name: 'customer', given: fresh, body: { payment: { customer: 'cus_1' } } },
    {
      name: 'customer of a payment that has none',
      given: withPayment,
      body: { payment: { customer: 'cus_1' } },
    },
    {
      name: 'customer after a decline',
      given: anOrder({ payment: { state: 'failed', customer: null }, provider_reference: 'pi_1' }),
      body: { payment: { customer: 'cus_1' } },
    },
    { name: 'return_url', given: fresh, body: { payment: { return_url: 'https://shop.example/back' } } },
    { name: 'capture', given: authorized, body: { payment: { capture: 'automatic' } } },
    { name: 'capture_amount', given: authorized, body: { payment: { capture_amount: 6_500 } } },
    { name: 'lines', given: withPayment, body: { lines: [{ sku: 'tea-250', quantity: 1 }] } },
    { name: 'deadline', given: fresh, body: { payment_deadline: '2026-08-27T00:00:00+02:00' } },
    { name: 'refunds, appended', given: captured, body: { refunds: [{ refund_id: 'r1', amount: 10_000 }] } },
    {
      name: 'null, where a member may be empty',
      given: anOrder({ spec: { payment_deadline: '2026-08-27T00:00:00.000Z' } }),
      body: { payment_deadline: null },
    },
    {
      name: 'amount while a manual payment is in process',
      given: anOrder({ payment: { state: 'processing', capture: 'manual' } }),
      body: { amount: { value: 9_000 } },
    },
  ];
  test.each(table)('$name', ({ given, body }) => {
    const change = patch(given, body);
    expect(change).toMatchObject({ kind: 'changed', spec_changed: true, event: { type: 'spec_changed' } });
  });

  test('a capture of an order that wanted the authorization only: it is wanted fulfilled, as by the route', () => {
    const given = anOrder({ spec: { desired: 'authorized', payment: manual }, payment: AUTHORIZED });
    expect(patch(given, { payment: { capture_amount: 6_500 } })).toMatchObject({
      wish: { spec: { desired: 'fulfilled', payment: { capture_amount: 6_500 } } },
      event: { data: { members: expect.arrayContaining(['desired', 'payment.capture_amount']) as unknown } },
    });
  });

  test('only the named members change', () => {
    const change = patch(fresh, { amount: { value: 9_000 } });
    expect(change).toMatchObject({
      wish: { spec: { ...fresh.wish.spec, amount: { value: 9_000, currency: 'EUR' } } },
    });
  });
  test.each([
    [{}],
    [{ desired: 'fulfilled' }],
    [{ amount: { value: 10_000 } }],
    [{ payment: { customer: null } }],
  ])('%j changes nothing', (body) => {
    expect(patch(fresh, body)).toEqual({ kind: 'unchanged' });
  });
  test('cancelling by PATCH is a cancellation', () => {
    const change = patch(captured, { desired: 'cancelled' });
    expect(change).toMatchObject({
      wish: { spec: { desired: 'cancelled' }, cancellation },
      event: { type: 'cancellation_requested' },
    });
  });
  test('cancelling again changes nothing', () => {
    expect(patch(cancelled, { desired: 'cancelled' })).toEqual({ kind: 'unchanged' });
  });
});

describe('what may not change', () => {
  const table: { name: string; given: Operation; body: Record<string, unknown>; pointers: string[] }[] = [
    { name: 'order', given: fresh, body: { order_id: 'other' }, pointers: ['/order_id'] },
    {
      name: 'several at once',
      given: fresh,
      body: { order_id: 'other', payment: { off_session: true, reference: 'pi_9' } },
      pointers: ['/order_id', '/payment/reference', '/payment/off_session'],
    },
    {
      name: 'amount after capture',
      given: captured,
      body: { amount: { value: 9_000 } },
      pointers: ['/amount/value'],
    },
    {
      name: 'amount while the capture may have happened',
      given: anOrder({
        spec: { payment: manual },
        payment: AUTHORIZED,
        unresolved: { step: 'capture_payment', target: 'pi_1', since: LATER.toISOString() },
      }),
      body: { amount: { value: 9_000 } },
      pointers: ['/amount/value'],
    },
    {
      name: 'amount while an automatic payment is in process',
      given: anOrder({ payment: { state: 'processing', capture: 'automatic' } }),
      body: { amount: { value: 9_000 } },
      pointers: ['/amount/value'],
    },
    {
      name: 'currency of a payment',
      given: withPayment,
      body: { amount: { currency: 'USD' } },
      pointers: ['/amount/currency'],
    },
    {
      name: 'currency while the payment may have been made',
      given: anOrder({
        unresolved: { step: 'create_payment', target: 'payment/1', since: LATER.toISOString() },
      }),
      body: { amount: { currency: 'USD' } },
      pointers: ['/amount/currency'],
    },
    {
      name: 'currency of a payment that is to be adopted',
      given: anOrder({ spec: { payment: { reference: 'pi_1' } } }),
      body: { amount: { currency: 'USD' } },
      pointers: ['/amount/currency'],
    },
    {
      name: 'the customer of a payment that was made for one',
      given: anOrder({ spec: { payment: { customer: 'cus_1' } }, provider_reference: 'pi_1' }),
      body: { payment: { customer: 'cus_2' } },
      pointers: ['/payment/customer'],
    },
    {
      name: 'the customer of a payment that has another one at the provider',
      given: anOrder({ payment: { state: 'created', customer: 'cus_9' }, provider_reference: 'pi_1' }),
      body: { payment: { customer: 'cus_1' } },
      pointers: ['/payment/customer'],
    },
    {
      name: 'the customer of a payment of the front end',
      given: anOrder({ spec: { payment: { reference: 'pi_1' } } }),
      body: { payment: { customer: 'cus_1' } },
      pointers: ['/payment/customer'],
    },
    {
      name: 'the customer once it is paid',
      given: captured,
      body: { payment: { customer: 'cus_1' } },
      pointers: ['/payment/customer'],
    },
    {
      name: 'the customer while it may be paid',
      given: anOrder({
        payment: { state: 'created' },
        provider_reference: 'pi_1',
        unresolved: { step: 'confirm_payment', target: 'pi_1/1', since: LATER.toISOString() },
      }),
      body: { payment: { customer: 'cus_1' } },
      pointers: ['/payment/customer'],
    },
    {
      name: 'back to authorized after capture',
      given: captured,
      body: { desired: 'authorized' },
      pointers: ['/desired'],
    },
    {
      name: 'lines after commitment',
      given: anOrder({ inventory: { state: 'committed' } }),
      body: { lines: [] },
      pointers: ['/lines'],
    },
    {
      name: 'a refund that was asked for',
      given: anOrder({ payment: CAPTURED, spec: { refunds: [{ refund_id: 'r1', amount: 5 }] } }),
      body: { refunds: [{ refund_id: 'r1', amount: 6 }] },
      pointers: ['/refunds'],
    },
    {
      name: 'taking a refund back',
      given: anOrder({ payment: CAPTURED, spec: { refunds: [{ refund_id: 'r1', amount: 5 }] } }),
      body: { refunds: [] },
      pointers: ['/refunds'],
    },
    {
      name: 'undoing cancellation',
      given: cancelled,
      body: { desired: 'fulfilled' },
      pointers: ['/desired'],
    },
    { name: 'anything of a cancelled order', given: cancelled, body: { lines: [] }, pointers: ['/lines'] },
    {
      name: 'anything of a rejected order',
      given: anOrder({ inventory: { state: 'insufficient', refused_generation: 1 } }),
      body: { amount: { value: 1 } },
      pointers: ['/amount/value'],
    },
    {
      name: 'the deadline once it has passed',
      given: anOrder({ spec: { payment_deadline: '2026-08-25T03:05:00Z' } }),
      body: { payment_deadline: '2026-08-26T00:00:00Z' },
      pointers: ['/payment_deadline'],
    },
    {
      name: 'something else together with cancelling',
      given: fresh,
      body: { desired: 'cancelled', lines: [] },
      pointers: ['/lines'],
    },
  ];
  test.each(table)('$name', ({ given, body, pointers }) => {
    expect(refusal(patch(given, body))).toEqual({ code: 'spec_member_immutable', pointers });
  });
});

describe('money rules by PATCH are those of the routes', () => {
  const asked = anOrder({ spec: { payment: { ...manual, capture_amount: 6_500 } }, payment: AUTHORIZED });
  const table: { name: string; given: Operation; body: unknown; code: string; pointer: string }[] = [
    {
      name: 'a capture before the authorization',
      given: anOrder({ spec: { payment: manual } }),
      body: { payment: { capture_amount: 1 } },
      code: 'amount_not_capturable',
      pointer: '/payment/capture_amount',
    },
    {
      name: 'another capture',
      given: asked,
      body: { payment: { capture_amount: 2_500 } },
      code: 'amount_not_capturable',
      pointer: '/payment/capture_amount',
    },
    {
      name: 'taking a capture back',
      given: asked,
      body: { payment: { capture_amount: null } },
      code: 'amount_not_capturable',
      pointer: '/payment/capture_amount',
    },
    {
      name: 'a refund above what is left',
      given: captured,
      body: {
        refunds: [
          { refund_id: 'a', amount: 9_000 },
          { refund_id: 'b', amount: 1_001 },
        ],
      },
      code: 'amount_not_refundable',
      pointer: '/refunds/1',
    },
    {
      name: 'the same refund twice in one list',
      given: captured,
      body: {
        refunds: [
          { refund_id: 'a', amount: 1 },
          { refund_id: 'a', amount: 1 },
        ],
      },
      code: 'invalid_request',
      pointer: '/refunds/1',
    },
    {
      name: 'two refunds with one id',
      given: captured,
      body: {
        refunds: [
          { refund_id: 'a', amount: 1 },
          { refund_id: 'a', amount: 2 },
        ],
      },
      code: 'refund_conflict',
      pointer: '/refunds/1',
    },
  ];
  test.each(table)('$name → $code', ({ given, body, code, pointer }) => {
    expect(refusal(patch(given, body))).toEqual({ code, pointers: [pointer] });
  });
});

describe('what results must be a spec', () => {
  test.each([
    ['null', null, ['']],
    ['a list', [], ['']],
    ['text', 'x', ['']],
    ['an unknown member', { amonut: 1 }, ['/amonut']],
    ['an unknown member below', { payment: { 'a/b~c': 1 } }, ['/payment/a~1b~0c']],
    ['a member that is needed taken away', { amount: null }, ['/amount']],
    ['a default asked for by null', { desired: null }, ['/desired']],
    ['a default inside asked for by null', { payment: { capture: null } }, ['/payment/capture']],
    ['an unknown member as null', { foo: null }, ['/foo']],
    ['half an amount taken away', { amount: { currency: null } }, ['/amount/currency']],
    ['a fraction', { amount: { value: 1.5 } }, ['/amount/value']],
    ['zero', { amount: { value: 0 } }, ['/amount/value']],
    ['an unsafe number', { amount: { value: 2 ** 53 } }, ['/amount/value']],
    ['text for a number', { amount: { value: '1e2' } }, ['/amount/value']],
    ['no method and no payment', { payment: { payment_method: null } }, ['/payment/payment_method']],
    ['a part of an automatic capture', { payment: { capture_amount: 5 } }, ['/payment/capture_amount']],
    ['a bad line', { lines: [{ sku: 'a', quantity: 0 }] }, ['/lines/0/quantity']],
  ])('%s', (_name, body, pointers) => {
    expect(refusal(patch(fresh, body))).toEqual({ code: 'invalid_request', pointers });
  });
});

describe('mergePatch', () => {
  // The examples of RFC 7396, appendix A, but for null: it stays, and the schema judges it.
  test.each([
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', '{"a":null}'],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"a":null,"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d","c":null}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"a":"foo"}', 'null', 'null'],
    ['{"a":"foo"}', '"bar"', '"bar"'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ['[1,2]', '{"a":"b","c":null}', '{"a":"b","c":null}'],
    ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{"ccc":null}}}'],
  ])('%s + %s = %s', (target, change, want) => {
    expect(mergePatch(JSON.parse(target), JSON.parse(change))).toEqual(JSON.parse(want));
  });
  test('reaches no prototype', () => {
    const merged = mergePatch({}, JSON.parse('{"__proto__":{"polluted":true}}'));
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});
