/** Money that arrives after all was closed (docs/cases.md 24, 37): noticed, and given back; the stock is sold once. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { aShop, HOUR, type Shop } from '../support/shop.js';

let shop: Shop;
beforeAll(async () => {
  shop = await aShop();
});
afterAll(() => shop.stop());

const DAY = 24 * HOUR;
const ASKS = { payment: { payment_method: 'pm_card_threeDSecure2Required' } };
const paidLate = (operation_id: string) => shop.control.dashboard('pay_late', { operation_id });
const writes = async (id: string, after: number): Promise<string[]> =>
  (await shop.control.journal({ operation_id: id, after }))
    .filter(({ method }) => method !== 'GET')
    .map(({ route }) => route);

test('cancelled, and paid after nine days: cancelling again, one refund, cancelled', async () => {
  await shop.order('cancelled', ASKS);
  await shop.settle('cancelled');
  await shop.cancel('cancelled');
  const closed = (await shop.settle('cancelled')).status;
  expect(closed).toMatchObject({ phase: 'cancelled', attention: null });
  await shop.later(9 * DAY);
  // A bank that takes its time with refunds, too.
  await shop.control.dashboard('pay_late', {
    operation_id: 'cancelled',
    payment_method: 'pm_card_pendingRefund',
  });
  const again = (await shop.pass('cancelled')).status;
  expect(again).toMatchObject({
    phase: 'cancelling',
    cancellation: { completed_at: null, finalizers: [{ name: 'payment' }] },
    money_moved: { verdict: 'moved', amount: 10_000 },
  });
  expect(again.conditions.map(({ type }) => type)).toContain('Drifted');

  await shop.control.dashboard('settle_refund', { operation_id: 'cancelled' });
  const done = (await shop.settle('cancelled')).status;
  expect(done).toMatchObject({ phase: 'cancelled', attention: null, payment: { refunded: 10_000 } });
  expect(done.conditions.map(({ type }) => type)).not.toContain('Drifted');
  expect(done.cancellation?.completed_at).not.toBe(closed.cancellation?.completed_at);
  expect(await shop.control.ledger('cancelled')).toMatchObject({
    captured: 10_000,
    refunded: 10_000,
    effects: { refunds: 1 },
    stock: { state: 'released', released: 1 },
    violations: [],
  });
  const told = await shop.timeline('cancelled');
  for (const type of ['late_money', 'drift_found', 'drift_resolved']) {
    expect(told.filter((one) => one === type)).toHaveLength(1);
  }
});

test('rejected and its stock sold, then paid: a webhook tells, the money goes back, nothing is sold twice', async () => {
  await shop.control.setStock('only one', 1);
  await shop.order('late', { ...ASKS, lines: [{ sku: 'only one', quantity: 1 }] });
  await shop.settle('late');
  await shop.later(25 * HOUR);
  expect((await shop.settle('late')).status).toMatchObject({
    phase: 'rejected',
    condition: 'PaymentDeadlinePassed',
  });
  await shop.order('next', { lines: [{ sku: 'only one', quantity: 1 }] });
  expect((await shop.settle('next')).status.phase).toBe('fulfilled');

  await paidLate('late');
  const before = await shop.control.journalSequence();
  expect(await shop.hook('late', 'payment_intent.succeeded')).toBe('woken');
  // It is due at once, although it had settled.
  expect(await shop.world.run(shop.worker)).toBeGreaterThan(0);
  expect(await shop.timeline('late')).toEqual(expect.arrayContaining(['late_money']));
  expect((await shop.settle('late')).status).toMatchObject({
    phase: 'rejected',
    condition: 'PaymentDeadlinePassed',
    attention: null,
    payment: { captured: 10_000, refunded: 10_000 },
  });
  expect(await writes('late', before)).toEqual(['refunds.create']);
  expect(await shop.control.ledger('late')).toMatchObject({ effects: { refunds: 1 }, violations: [] });
  expect(await shop.control.stock('only one')).toBe(0);
});

test('rejected without goods, then only authorized: what is held is let go', async () => {
  await shop.order('held', { ...ASKS, lines: [], payment: { ...ASKS.payment, capture: 'manual' } });
  await shop.settle('held');
  await shop.later(25 * HOUR);
  expect((await shop.settle('held')).status.phase).toBe('rejected');
  await paidLate('held');
  expect((await shop.settle('held')).status.phase).toBe('rejected');
  expect(await shop.control.ledger('held')).toMatchObject({ held: 0, captured: 0, violations: [] });
});

test('voided, and authorized after all within the life of the key: it is voided again', async () => {
  // Tries are dated by the clock of the database, so time must not have been moved on before.
  const fresh = await aShop();
  try {
    await fresh.order('again', { lines: [], payment: { capture: 'manual' } });
    await fresh.settle('again');
    await fresh.cancel('again');
    expect((await fresh.settle('again')).status.phase).toBe('cancelled');
    const after = await fresh.control.journalSequence();
    await fresh.control.dashboard('pay_late', { operation_id: 'again' });
    expect((await fresh.settle('again')).status).toMatchObject({
      phase: 'cancelled',
      attention: null,
      payment: { state: 'canceled', authorized: 0 },
    });
    const sent = await fresh.control.journal({ operation_id: 'again', method: 'POST', after });
    expect(sent.map(({ route }) => route)).toEqual(['payment_intents.cancel']);
  } finally {
    await fresh.stop();
  }
});

test('cancelled while the bank works on it: days pass, what arrives goes back, then the stock', async () => {
  await shop.order('slow', { payment: { payment_method: 'pm_sepaDebit' } });
  await shop.settle('slow');
  await shop.cancel('slow');
  const before = await shop.control.journalSequence();
  for (let day = 0; day < 6; day += 1) {
    await shop.later(DAY);
    expect((await shop.pass('slow')).status).toMatchObject({
      phase: 'cancelling',
      condition: 'PaymentProcessing',
      attention: null,
    });
  }
  expect(await writes('slow', before)).toEqual([]);
  await shop.control.dashboard('settle_payment', { operation_id: 'slow' });
  expect(await shop.hook('slow', 'payment_intent.succeeded')).toBe('woken');
  await shop.settle('slow');
  await shop.control.dashboard('settle_refund', { operation_id: 'slow' });
  expect((await shop.settle('slow')).status).toMatchObject({ phase: 'cancelled', attention: null });
  expect(await writes('slow', before)).toEqual(['refunds.create', 'reservations.delete']);
});
