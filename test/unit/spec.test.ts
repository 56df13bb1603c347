import { describe, expect, test } from '@jest/globals';
import { Account, OperationId, RefundId, sameLines, Spec, type SpecInput } from '../../src/operation/spec.js';
import { newSpecProblems, specProblems } from '../../src/operation/spec-rules.js';
import { aSpec } from '../support/operations.js';

const MINIMAL = {
  order_id: 'order-001',
  amount: { value: 12_900, currency: 'EUR' },
  payment: { provider: 'stripe', payment_method: 'pm_1' },
} as const;

const problems = (patch: Record<string, unknown>): string[] => {
  const parsed = Spec.safeParse({ ...MINIMAL, ...patch });
  return parsed.success ? [] : parsed.error.issues.map((issue) => issue.path.join('/'));
};
const withPayment = (payment: Record<string, unknown>): string[] =>
  problems({ payment: { ...MINIMAL.payment, ...payment } });

describe('operation_id', () => {
  test.each([
    ['one character', 'a'],
    ['128 ASCII', 'a'.repeat(128)],
    ['128 emoji: 256 UTF-16 units', '😀'.repeat(128)],
    ['colons', 'shop:1:order:7'],
    ['two parts', 'a:b'],
    ['three parts', 'a:b:c'],
    ['digits only', '12345'],
    ['zero', '0'],
    ['slash, space, umlaut', 'order/ä 7'],
    ['percent and question mark', '100%?#&+;='],
    ['three dots', '...'],
    ['a dot and something', './a'],
    ['decomposed', 'e\u0301'],
    ['a family of code points', '👨‍👩‍👧‍👦'],
    ['right to left', 'שלום'],
    ['a name of Object', '__proto__'],
    ['a replacement character', '\uFFFD'],
  ])('%s is accepted as it is', (_name, id) => {
    expect(OperationId.parse(id)).toBe(id);
  });
  test.each([
    ['empty', ''],
    ['129 ASCII', 'a'.repeat(129)],
    ['129 emoji', '😀'.repeat(129)],
    ['200 characters', 'x'.repeat(200)],
    ['.', '.'],
    ['..', '..'],
    ['NUL', 'a\u0000b'],
    ['line feed', 'a\nb'],
    ['carriage return', 'a\rb'],
    ['tab', 'a\tb'],
    ['escape', 'a\u001bb'],
    ['delete', 'a\u007fb'],
    ['C1 control', 'a\u0085b'],
    ['line separator', 'a\u2028b'],
    ['paragraph separator', 'a\u2029b'],
    ['lone high surrogate', 'a\ud83d'],
    ['lone low surrogate', '\ude00a'],
    ['surrogates in the wrong order', '\ude00\ud83d'],
    ['a number', 12345],
    ['null', null],
  ])('%s is refused', (_name, id) => {
    expect(OperationId.safeParse(id).success).toBe(false);
  });
  test('is not normalised', () => {
    expect(OperationId.parse('é')).not.toBe(OperationId.parse('e\u0301'));
  });
});

describe('refund_id', () => {
  test.each(['r1', '1', 'a:b', 'Cancellation', 'my-cancellation', 'xre_1', 're-1', 'ré_', 'x'.repeat(64)])(
    '%s is accepted',
    (id) => {
      expect(RefundId.parse(id)).toBe(id);
    },
  );
  test.each([
    '',
    'cancellation',
    'cancellation-2',
    'cancellations',
    're_1',
    're_',
    'a\nb',
    'x'.repeat(65),
    '\ud800',
  ])('%j is refused: it is taken, or does not travel', (id) => {
    expect(RefundId.safeParse(id).success).toBe(false);
  });
});

describe('account', () => {
  test.each(['default', 'eu-1', '0', 'a_b'])('%s is a name', (name) => {
    expect(Account.parse(name)).toBe(name);
  });
  test.each(['', 'Default', '-a', 'a b', 'a/b', 'x'.repeat(64)])('%j is none', (name) => {
    expect(Account.safeParse(name).success).toBe(false);
  });
});

describe('a spec', () => {
  test('has the documented defaults', () => {
    expect(Spec.parse(MINIMAL)).toEqual({
      desired: 'fulfilled',
      order_id: 'order-001',
      amount: { value: 12_900, currency: 'EUR' },
      payment: {
        provider: 'stripe',
        capture: 'automatic',
        payment_method: 'pm_1',
        customer: null,
        reference: null,
        capture_amount: null,
        return_url: null,
        off_session: false,
      },
      lines: [],
      refunds: [],
      payment_deadline: null,
    });
  });
  test('reads back what it has read', () => {
    const spec = aSpec({ payment_deadline: '2026-08-25T05:00:00+02:00' });
    expect(Spec.parse(spec)).toEqual(spec);
  });

  test.each(['order_id', 'amount', 'payment'])('needs %s', (member) => {
    expect(problems({ [member]: undefined })).toEqual([member]);
  });

  test.each([
    ['0', 0],
    ['-1', -1],
    ['1.5', 1.5],
    ['"1e2"', '1e2'],
    ['"100"', '100'],
    ['2^53', 2 ** 53],
    ['null', null],
  ])('refuses the amount %s', (_name, value) => {
    expect(problems({ amount: { value, currency: 'EUR' } })).toEqual(['amount/value']);
    expect(withPayment({ capture_amount: value ?? 0 })).toEqual(['payment/capture_amount']);
    expect(problems({ refunds: [{ refund_id: 'r1', amount: value }] })).toEqual(['refunds/0/amount']);
  });

  const refused: [string, Record<string, unknown>, string][] = [
    ['a member that is not known', { colour: 'red' }, ''],
    ['a currency in small letters', { amount: { value: 1, currency: 'eur' } }, 'amount/currency'],
    ['another desired', { desired: 'shipped' }, 'desired'],
    ['an empty order_id', { order_id: '' }, 'order_id'],
    ['an order_id that does not travel', { order_id: 'a\ud800' }, 'order_id'],
    ['an order_id of 129', { order_id: '😀'.repeat(129) }, 'order_id'],
    [
      'one sku twice',
      {
        lines: [
          { sku: 'a', quantity: 1 },
          { sku: 'a', quantity: 2 },
        ],
      },
      'lines',
    ],
    ['a quantity of 0', { lines: [{ sku: 'a', quantity: 0 }] }, 'lines/0/quantity'],
    ['half a unit', { lines: [{ sku: 'a', quantity: 0.5 }] }, 'lines/0/quantity'],
    ['a million and one', { lines: [{ sku: 'a', quantity: 1_000_001 }] }, 'lines/0/quantity'],
    ['an empty sku', { lines: [{ sku: '', quantity: 1 }] }, 'lines/0/sku'],
    ['201 lines', { lines: Array.from({ length: 201 }, (_, i) => ({ sku: `s${i}`, quantity: 1 })) }, 'lines'],
    ['a refund id of ours', { refunds: [{ refund_id: 'cancellation', amount: 1 }] }, 'refunds/0/refund_id'],
    [
      '101 refunds',
      { refunds: Array.from({ length: 101 }, (_, i) => ({ refund_id: `r${i}`, amount: 1 })) },
      'refunds',
    ],
    ['a deadline without a zone', { payment_deadline: '2026-08-25T05:00:00' }, 'payment_deadline'],
    ['a day that does not exist', { payment_deadline: '2026-02-30T05:00:00Z' }, 'payment_deadline'],
    ['a second that does not exist', { payment_deadline: '2026-08-25T05:00:61Z' }, 'payment_deadline'],
    ['an hour that does not exist', { payment_deadline: '2026-08-25T24:00:00Z' }, 'payment_deadline'],
    ['a deadline as a number', { payment_deadline: 1_787_000_000 }, 'payment_deadline'],
    [
      'a deadline after the last year that can be written',
      { payment_deadline: '9999-12-31T23:59:59-23:00' },
      'payment_deadline',
    ],
  ];
  test.each(refused)('refuses %s', (_name, patch, path) => {
    expect(problems(patch)).toEqual([path]);
  });

  const refusedPayment: [string, Record<string, unknown>, string][] = [
    ['another provider', { provider: 'adyen' }, 'payment/provider'],
    ['another mode', { capture: 'later' }, 'payment/capture'],
    ['a method with a space', { payment_method: 'pm 1' }, 'payment/payment_method'],
    ['a path as a customer', { customer: '../x' }, 'payment/customer'],
    ['a charge as the reference', { reference: 'ch_1' }, 'payment/reference'],
    ['a path as the reference', { reference: 'pi_1/confirm' }, 'payment/reference'],
    ['a NUL in the return_url', { return_url: 'http://shop.example/\u0000' }, 'payment/return_url'],
    [
      'half a character in the return_url',
      { return_url: 'http://shop.example/\ud800' },
      'payment/return_url',
    ],
    ['a script as the return_url', { return_url: 'javascript:alert(1)' }, 'payment/return_url'],
    ['a word as a flag', { off_session: 'yes' }, 'payment/off_session'],
    ['a member that is not known', { secret: 'x' }, 'payment'],
  ];
  test.each(refusedPayment)('refuses %s', (_name, patch, path) => {
    expect(withPayment(patch)).toEqual([path]);
  });

  test.each([
    ['2026-08-25T05:00:00+02:00', '2026-08-25T03:00:00.000Z'],
    ['2026-08-25T03:00:00Z', '2026-08-25T03:00:00.000Z'],
    ['2026-08-24T22:30:00.5-04:30', '2026-08-25T03:00:00.500Z'],
  ])('keeps the deadline %s in UTC', (given, want) => {
    expect(aSpec({ payment_deadline: given }).payment_deadline).toBe(want);
  });
});

describe('lines', () => {
  const TEA = { sku: 'tea', quantity: 3 };
  const CUP = { sku: 'cup', quantity: 1 };
  test.each([
    ['the same', [TEA, CUP], true],
    ['in another order', [CUP, TEA], true],
    ['a sku split in two', [{ ...TEA, quantity: 1 }, CUP, { ...TEA, quantity: 2 }], true],
    ['not told', null, true],
    ['fewer of one', [{ ...TEA, quantity: 2 }, CUP], false],
    ['one missing', [TEA], false],
    ['one more', [TEA, CUP, { sku: 'pot', quantity: 1 }], false],
    ['another', [TEA, { sku: 'pot', quantity: 1 }], false],
  ])('%s', (_name, held, same) => {
    expect(sameLines(held, [TEA, CUP])).toBe(same);
  });
});

describe('rules across members', () => {
  const spec = (payment: Partial<SpecInput['payment']>): Spec => aSpec({ payment });
  const rows: { name: string; given: Spec; want: string[] }[] = [
    { name: 'a method', given: spec({}), want: [] },
    { name: 'a payment to adopt', given: spec({ payment_method: null, reference: 'pi_1' }), want: [] },
    { name: 'neither', given: spec({ payment_method: null }), want: ['/payment/payment_method'] },
    {
      name: 'an amount to capture, automatically',
      given: spec({ capture_amount: 1 }),
      want: ['/payment/capture_amount'],
    },
    { name: 'an amount to capture', given: spec({ capture: 'manual', capture_amount: 12_900 }), want: [] },
    {
      name: 'an amount to capture above the amount',
      given: spec({ capture: 'manual', capture_amount: 12_901 }),
      want: ['/payment/capture_amount'],
    },
  ];
  test.each(rows)('$name', ({ given, want }) => {
    expect(specProblems(given).map(({ pointer }) => pointer)).toEqual(want);
  });
  test('a new order has nothing to refund', () => {
    const early = aSpec({ refunds: [{ refund_id: 'r1', amount: 1 }] });
    expect(newSpecProblems(early).map(({ pointer }) => pointer)).toEqual(['/refunds']);
    expect(newSpecProblems(aSpec())).toEqual([]);
  });
});
