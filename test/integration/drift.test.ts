/** What others change after it was as wanted (docs/cases.md 36): seen, told, repaired where that is allowed. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { aShop, HOUR, type Shop } from '../support/shop.js';

let shop: Shop;
beforeAll(async () => {
  shop = await aShop();
});
afterAll(() => shop.stop());

const acted = (action: Parameters<Shop['control']['dashboard']>[0], operation_id: string, more = {}) =>
  shop.control.dashboard(action, { operation_id, ...more });
const writes = async (id: string, after: number): Promise<string[]> =>
  (await shop.control.journal({ operation_id: id, after }))
    .filter(({ method }) => method !== 'GET')
    .map(({ route }) => route);
const driftOf = ({ status }: Awaited<ReturnType<Shop['get']>>) =>
  status.conditions.find(({ type }) => type === 'Drifted');
const count = async (id: string, type: string): Promise<number> =>
  (await shop.timeline(id)).filter((one) => one === type).length;

const MANUAL = { payment: { capture: 'manual' } };

test('a committed reservation vanishes: fulfilled no more, a person, no request; back, it is fulfilled', async () => {
  await shop.order('gone');
  expect((await shop.settle('gone')).status.phase).toBe('fulfilled');
  await shop.later(20 * 24 * HOUR);
  await acted('lose_reservation', 'gone');
  const before = await shop.control.journalSequence();
  const drifted = await shop.settle('gone');
  expect(drifted.status).toMatchObject({
    phase: 'fulfilling',
    attention: { reason: 'StockLostAfterPayment' },
    payment: { captured: 10_000 },
  });
  expect(driftOf(drifted)).toMatchObject({
    status: 'True',
    message: expect.stringContaining('stock committed → released'),
  });
  expect(await count('gone', 'drift_found')).toBe(1);
  expect(await writes('gone', before)).toEqual([]);
  // A cancellation still gives the money back.
  await shop.cancel('gone');
  expect((await shop.settle('gone')).status).toMatchObject({ phase: 'cancelled', attention: null });
  expect(await shop.control.ledger('gone')).toMatchObject({ refunded: 10_000, violations: [] });
});

test('the warehouse drops a reservation under captured money: a person, no loop', async () => {
  await shop.order('dropped', MANUAL);
  await shop.settle('dropped');
  await acted('capture', 'dropped');
  await acted('lose_reservation', 'dropped');
  const before = await shop.control.journalSequence();
  expect((await shop.settle('dropped')).status).toMatchObject({
    phase: 'fulfilling',
    attention: { reason: 'StockLostAfterPayment' },
  });
  expect(await writes('dropped', before)).toEqual([]);
});

test('released under an authorization: given up like any order without stock, and the money let go', async () => {
  await shop.order('released', MANUAL);
  expect((await shop.settle('released')).status.phase).toBe('authorized');
  await acted('lose_reservation', 'released');
  const before = await shop.control.journalSequence();
  expect((await shop.settle('released')).status).toMatchObject({
    phase: 'rejected',
    condition: 'OutOfStock',
    attention: null,
  });
  expect(await writes('released', before)).toEqual(['payment_intents.cancel']);
  expect(await shop.control.ledger('released')).toMatchObject({ held: 0, captured: 0 });
});

test('forgotten under an authorization: reserved once more', async () => {
  await shop.order('forgotten', { ...MANUAL, desired: 'authorized' });
  await shop.settle('forgotten');
  await acted('lose_reservation', 'forgotten', { forget: true });
  const before = await shop.control.journalSequence();
  const repaired = await shop.settle('forgotten');
  expect(repaired.status).toMatchObject({
    phase: 'authorized',
    attention: null,
    inventory: { state: 'reserved' },
  });
  expect(driftOf(repaired)).toBeUndefined();
  expect(await writes('forgotten', before)).toEqual(['reservations.put']);
  expect([await count('forgotten', 'drift_found'), await count('forgotten', 'drift_resolved')]).toEqual([
    1, 1,
  ]);
});

test.each([
  ['capture', {}, 'fulfilling', 'CapturedAbove'],
  ['cancel', {}, 'payment_failed', 'PaymentCanceledElsewhere'],
  ['expire_authorization', {}, 'payment_failed', 'AuthorizationExpired'],
] as const)('only authorized was wanted, and others %s', async (action, more, phase, reason) => {
  const id = `held ${action}`;
  await shop.order(id, { ...MANUAL, desired: 'authorized' });
  await shop.settle(id);
  await acted(action, id, more);
  const before = await shop.control.journalSequence();
  const drifted = await shop.settle(id);
  expect(drifted.status).toMatchObject({ phase, attention: { reason } });
  expect(driftOf(drifted)?.message).toContain('payment authorized → ');
  expect(await writes(id, before)).toEqual([]);
});

test('captured short by others: shown as short, no second charge', async () => {
  await shop.order('short', MANUAL);
  await shop.settle('short');
  await acted('capture', 'short', { amount: 6_000 });
  const before = await shop.control.journalSequence();
  expect((await shop.settle('short')).status).toMatchObject({
    attention: { reason: 'CapturedShort' },
    payment: { captured: 6_000, short: 4_000 },
  });
  expect(await writes('short', before)).toEqual([]);
});

test('refunded by others after fulfilment: told, and nobody is needed', async () => {
  await shop.order('refunded');
  await shop.settle('refunded');
  await acted('refund', 'refunded', { amount: 2_500 });
  const seen = await shop.settle('refunded');
  expect(seen.status).toMatchObject({
    phase: 'fulfilled',
    attention: null,
    payment: { refunded: 2_500, refundable: 7_500 },
  });
  expect(driftOf(seen)).toBeUndefined();
  expect(await count('refunded', 'drift_found')).toBe(1);
});

test('a refund bounces after cancelled: cancelling again with completed_at null', async () => {
  await shop.order('bounced', { payment: { payment_method: 'pm_card_refundFail' } });
  await shop.settle('bounced');
  await shop.cancel('bounced');
  expect((await shop.settle('bounced')).status.cancellation?.completed_at).not.toBeNull();
  await shop.later(30 * 24 * HOUR);
  await acted('fail_refund', 'bounced');
  const drifted = await shop.settle('bounced');
  expect(drifted.status).toMatchObject({
    phase: 'cancelling',
    attention: { reason: 'RefundFailed' },
    cancellation: { completed_at: null, finalizers: [{ name: 'payment', reason: 'RefundFailed' }] },
  });
  expect(driftOf(drifted)?.message).toContain('refunded 10000 → 0');
});
