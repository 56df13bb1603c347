/** Stripe's list of payments in our words. */
import { expect, test } from '@jest/globals';
import { toPage } from '../../src/payment/stripe/to-page.js';

const intent = (members: Record<string, unknown> = {}): Record<string, unknown> => ({
  id: 'pi_1',
  object: 'payment_intent',
  status: 'succeeded',
  amount: 12_900,
  amount_received: 12_900,
  currency: 'eur',
  capture_method: 'automatic',
  created: 1_787_626_800,
  metadata: { operation_id: 'op-1' },
  livemode: false,
  latest_charge: charge(),
  ...members,
});
const charge = (members: Record<string, unknown> = {}): Record<string, unknown> => ({
  id: 'ch_1',
  object: 'charge',
  amount: 12_900,
  amount_captured: 12_900,
  amount_refunded: 0,
  captured: true,
  ...members,
});
const page = (data: unknown[], has_more = false, after: string | null = null) =>
  toPage({ object: 'list', data, has_more }, after);
const only = (raw: unknown) => {
  const result = page([raw]);
  return result.ok ? result.value.payments[0] : null;
};

test('a payment with what its creation must have sent', () => {
  expect(only(intent())).toMatchObject({
    created_at: '2026-08-25T03:00:00.000Z',
    refunded: 0,
    terms: { amount: 12_900, currency: 'eur', metadata: { operation_id: 'op-1' } },
    payment: { reference: 'pi_1', state: 'captured', captured: 12_900, operation_id: 'op-1', refunds: null },
  });
  expect(only(intent({ capture_method: 'manual', metadata: {} }))?.terms).toEqual({
    amount: 12_900,
    currency: 'eur',
    capture_method: 'manual',
  });
});

test.each<[string, Record<string, unknown>, number | null]>([
  ['in part', { latest_charge: charge({ amount_refunded: 500 }) }, 500],
  ['unknown without the charge', { latest_charge: 'ch_1' }, null],
  ['none where nothing was taken', { status: 'canceled', amount_received: 0, latest_charge: null }, 0],
  [
    'without what was only released',
    { amount_received: 2_900, latest_charge: charge({ amount_captured: 2_900, amount_refunded: 12_900 }) },
    2_900,
  ],
  [
    'in the minor unit',
    { currency: 'isk', amount: 12_900, latest_charge: charge({ amount_refunded: 500 }) },
    5,
  ],
])('refunded: %s', (_name, members, want) => {
  expect(only(intent(members))?.refunded).toBe(want);
});

test('one odd payment does not hide the others', () => {
  const odd = [
    { id: 'pi_2', object: 'surprise' },
    intent({ id: 'pi_3', currency: 'zzz' }),
    intent({ id: 'pi_4', created: 1e13 }),
  ];
  expect(page([intent(), ...odd], true)).toMatchObject({
    ok: true,
    value: {
      payments: [{ payment: { reference: 'pi_1' } }],
      unreadable: ['pi_2', 'pi_3', 'pi_4'],
      last: 'pi_4',
      has_more: true,
    },
  });
});

test.each<[string, unknown[], boolean, string | null]>([
  ['holds something without an id', [{}], false, null],
  ['holds an id that no provider gives', [{ id: 'pi_\0' }], false, null],
  ['says that there is more and shows nothing', [], true, 'pi_1'],
  ['does not lead on', [intent()], true, 'pi_1'],
])('a list that %s is not walked', (_name, data, has_more, after) => {
  expect(page(data, has_more, after)).toMatchObject({ ok: false, failure: { class: 'unknown' } });
});
