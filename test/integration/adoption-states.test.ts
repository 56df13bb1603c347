/** A payment that the front end made is adopted in whatever state it is, and from then on it is the order's. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pathOf, refusal } from '../support/api.js';
import { aShop, HOUR, type Intent, type Shop } from '../support/shop.js';

let shop: Shop;
beforeAll(async () => {
  shop = await aShop();
});
afterAll(() => shop.stop());

/** What we tried to do at the payment, by the last part of the path. */
const done = async (reference: string): Promise<string[]> =>
  (await shop.requests(reference)).map(({ path }) => path.split('/').at(-1) ?? '');
const stockOf = async (id: string) => (await shop.control.ledger(id)).stock;
const received = (intent: Intent): unknown => intent['amount_received'];
const act = (action: 'confirm' | 'cancel', payment_intent: string, more: Record<string, unknown> = {}) =>
  shop.control.dashboard(action, { payment_intent, ...more });
const pays = { payment_method: 'pm_card_visa' };

describe('not confirmed yet', () => {
  test('stock is held, the front end confirms, and we never do', async () => {
    const { id } = await shop.checkout();
    await shop.adopt('waits', id);
    const { status } = await shop.settle('waits');
    expect(status).toMatchObject({
      phase: 'awaiting_customer',
      condition: 'AwaitingCustomer',
      provider_reference: id,
      payment: { state: 'created' },
      inventory: { state: 'reserved' },
      money_moved: { verdict: 'none' },
      attention: null,
    });
    // Nothing moves by itself, so nobody has to wait for it.
    const began = performance.now();
    await shop.call('GET', pathOf('waits', '?wait=20'));
    expect(performance.now() - began).toBeLessThan(2_000);

    await act('confirm', id, pays);
    expect((await shop.settle('waits')).status).toMatchObject({ phase: 'fulfilled', attention: null });
    expect(await done(id)).toEqual([]);
    expect(received(await shop.intent(id))).toBe(10_000);
    expect(await stockOf('waits')).toMatchObject({ reserved: 1, committed: 1, released: 0 });
  });

  test('declined there: told, and tried again there', async () => {
    const { id } = await shop.checkout();
    await shop.adopt('declined', id);
    await shop.settle('declined');
    await act('confirm', id, { payment_method: 'pm_card_chargeDeclined' }).catch(() => undefined);
    expect((await shop.settle('declined')).status).toMatchObject({
      phase: 'payment_failed',
      condition: 'PaymentDeclined',
      attention: null,
    });
    expect(refusal(await shop.payAgain('declined', 'pm_card_visa'))).toEqual([409, 'command_not_available']);
    expect((await shop.secret('declined')).status).toBe(200);
    await act('confirm', id, pays);
    expect((await shop.settle('declined')).status.phase).toBe('fulfilled');
    expect(await done(id)).toEqual([]);
  });

  test('left until the deadline: canceled, then the stock released, and rejected', async () => {
    const { id } = await shop.checkout();
    await shop.adopt('left', id);
    await shop.settle('left');
    await shop.later(25 * HOUR);
    expect((await shop.settle('left')).status).toMatchObject({
      phase: 'rejected',
      condition: 'PaymentDeadlinePassed',
    });
    expect((await shop.intent(id)).status).toBe('canceled');
    expect(await stockOf('left')).toMatchObject({ released: 1 });
  });

  test('out of stock: canceled before the customer can pay', async () => {
    await shop.control.setStock('rare', 0);
    const { id } = await shop.checkout();
    await shop.adopt('out of stock', id, { lines: [{ sku: 'rare', quantity: 1 }] });
    expect((await shop.settle('out of stock')).status).toMatchObject({
      phase: 'rejected',
      condition: 'OutOfStock',
    });
    expect((await shop.intent(id)).status).toBe('canceled');
    expect(await done(id)).toEqual(['cancel']);
  });

  test('another total: updated at the provider, whoever confirms it then', async () => {
    const { id } = await shop.checkout();
    await shop.adopt('total', id);
    await shop.settle('total');
    expect((await shop.change('total', { amount: { value: 8_000 } })).status).toBe(200);
    expect((await shop.settle('total')).status.phase).toBe('awaiting_customer');
    expect((await shop.intent(id))['amount']).toBe(8_000);
    await act('confirm', id, pays);
    expect((await shop.settle('total')).status).toMatchObject({ phase: 'fulfilled', attention: null });
    expect(received(await shop.intent(id))).toBe(8_000);
  });

  test('made to be taken at once, and only an authorization is wanted: it is held instead', async () => {
    const { id } = await shop.checkout();
    await shop.adopt('held', id, { desired: 'authorized' });
    await shop.settle('held');
    await act('confirm', id, pays);
    expect((await shop.settle('held')).status.phase).toBe('authorized');
    expect((await shop.intent(id)).status).toBe('requires_capture');
  });

  test('made to be held, and all is wanted: left as it is, and captured by us', async () => {
    const { id } = await shop.checkout({ capture_method: 'manual' });
    await shop.adopt('captured', id);
    await shop.settle('captured');
    expect(await done(id)).toEqual([]);
    await act('confirm', id, pays);
    expect((await shop.settle('captured')).status.phase).toBe('fulfilled');
    expect(await done(id)).toEqual(['capture']);
  });
});

describe('the customer has to act', () => {
  const THREE_D_SECURE = { payment_method: 'pm_card_threeDSecure2Required' };

  test('what they must do is told; completed, the order goes on', async () => {
    const { id } = await shop.checkout(THREE_D_SECURE);
    await shop.adopt('acts', id);
    expect((await shop.settle('acts')).status).toMatchObject({
      phase: 'awaiting_customer',
      payment: { state: 'awaiting_customer', next_action: { type: 'redirect_to_url' } },
      inventory: { state: 'reserved' },
    });
    await shop.control.dashboard('complete_authentication', { payment_intent: id });
    expect((await shop.settle('acts')).status.phase).toBe('fulfilled');
    expect(await done(id)).toEqual([]);
  });

  test('abandoned: canceled before the stock is released', async () => {
    const { id } = await shop.checkout(THREE_D_SECURE);
    await shop.adopt('abandoned', id);
    await shop.settle('abandoned');
    await shop.later(25 * HOUR);
    expect((await shop.settle('abandoned')).status.phase).toBe('rejected');
    expect(await done(id)).toEqual(['cancel']);
  });
});

describe('in process', () => {
  const DEBIT = { payment_method: 'pm_sepaDebit' };

  test('the stock is held for as long as it takes, past the deadline; settled, the order goes on', async () => {
    const { id } = await shop.checkout(DEBIT);
    await shop.adopt('debit', id);
    await shop.settle('debit');
    await shop.later(72 * HOUR);
    expect((await shop.settle('debit')).status).toMatchObject({
      phase: 'payment_pending',
      condition: 'PaymentProcessing',
      inventory: { state: 'reserved' },
    });
    await shop.control.dashboard('settle_payment', { payment_intent: id });
    expect((await shop.settle('debit')).status.phase).toBe('fulfilled');
    expect(await done(id)).toEqual([]);
  });

  test('there is no stock: a person is told once there is money to give back, and not before', async () => {
    await shop.control.setStock('rare', 0);
    const { id } = await shop.checkout(DEBIT);
    await shop.adopt('debit, no stock', id, { lines: [{ sku: 'rare', quantity: 1 }] });
    expect((await shop.settle('debit, no stock')).status).toMatchObject({
      condition: 'PaymentProcessing',
      attention: null,
    });
    await shop.control.dashboard('fail_payment', { payment_intent: id });
    expect((await shop.settle('debit, no stock')).status).toMatchObject({
      phase: 'rejected',
      condition: 'OutOfStock',
      attention: null,
    });
  });
});

describe('authorized', () => {
  const HELD = { ...pays, capture_method: 'manual' };

  test('captured by us when all is wanted, with the stock held first', async () => {
    const { id } = await shop.checkout(HELD);
    await shop.adopt('hold', id);
    expect((await shop.settle('hold')).status).toMatchObject({ phase: 'fulfilled', attention: null });
    expect(await done(id)).toEqual(['capture']);
    const journal = await shop.control.journal({ method: 'PUT', operation_id: 'hold' });
    const [capture] = await shop.requests(id);
    expect(journal[0]?.sequence).toBeLessThan(capture?.sequence ?? 0);
  });

  test('capture: manual waits for the shop, which may ask for less', async () => {
    const { id } = await shop.checkout(HELD);
    await shop.adopt('manual', id, { payment: { capture: 'manual' } });
    expect((await shop.settle('manual')).status.phase).toBe('authorized');
    expect(await done(id)).toEqual([]);
    expect((await shop.call('POST', pathOf('manual', '/capture'), { body: { amount: 6_500 } })).status).toBe(
      202,
    );
    expect((await shop.settle('manual')).status).toMatchObject({ phase: 'fulfilled', payment: { short: 0 } });
    expect(received(await shop.intent(id))).toBe(6_500);
  });

  test('out of stock: the hold is given back', async () => {
    await shop.control.setStock('rare', 0);
    const { id } = await shop.checkout(HELD);
    await shop.adopt('hold, no stock', id, { lines: [{ sku: 'rare', quantity: 1 }] });
    expect((await shop.settle('hold, no stock')).status).toMatchObject({
      phase: 'rejected',
      attention: null,
    });
    expect(await done(id)).toEqual(['cancel']);
  });

  test('it lapses unseen: the goods stay', async () => {
    const { id } = await shop.checkout(HELD);
    await shop.adopt('lapses', id, { desired: 'authorized' });
    await shop.settle('lapses');
    await shop.later(8 * 24 * HOUR);
    expect((await shop.change('lapses', { desired: 'fulfilled' })).status).toBe(200);
    expect((await shop.settle('lapses')).status).toMatchObject({
      phase: 'payment_failed',
      attention: { reason: 'AuthorizationExpired' },
    });
    expect(await done(id)).toEqual([]);
    expect(await stockOf('lapses')).toMatchObject({ committed: 0 });
  });
});

describe('captured', () => {
  test('the stock is reserved and committed; cancelled later, all is given back', async () => {
    const { id } = await shop.checkout(pays);
    await shop.adopt('paid', id);
    expect((await shop.settle('paid')).status).toMatchObject({ phase: 'fulfilled', attention: null });
    expect(await done(id)).toEqual([]);
    await shop.cancel('paid');
    expect((await shop.settle('paid')).status.phase).toBe('cancelled');
    // Refunds carry the order, whatever the payment carries.
    expect(await shop.control.journal({ route: 'refunds.create' })).toHaveLength(1);
    const refunds = (await shop.get('paid')).status.refunds;
    expect(refunds).toMatchObject([{ refund_id: 'cancellation', amount: 10_000, state: 'succeeded' }]);
  });

  test('past the deadline of the order: it is paid, so it goes on', async () => {
    const { id } = await shop.checkout(pays);
    const payment_deadline = new Date(shop.clock.now().getTime() - HOUR).toISOString();
    await shop.adopt('paid late', id, { payment_deadline });
    expect((await shop.settle('paid late')).status.phase).toBe('fulfilled');
  });

  test('out of stock: the money is here and a person is told', async () => {
    await shop.control.setStock('rare', 0);
    const { id } = await shop.checkout(pays);
    await shop.adopt('paid, no stock', id, { lines: [{ sku: 'rare', quantity: 1 }] });
    expect((await shop.settle('paid, no stock')).status).toMatchObject({
      phase: 'fulfilling',
      attention: { reason: 'StockLostAfterPayment' },
      money_moved: { verdict: 'moved', amount: 10_000 },
    });
    expect(await done(id)).toEqual([]);
    await shop.cancel('paid, no stock');
    expect((await shop.settle('paid, no stock')).status.phase).toBe('cancelled');
  });
});

describe('canceled', () => {
  test('told to a person, and cleared at the deadline', async () => {
    const { id } = await shop.checkout();
    await act('cancel', id, { reason: 'abandoned' });
    await shop.adopt('canceled', id);
    expect((await shop.settle('canceled')).status).toMatchObject({
      phase: 'payment_failed',
      attention: { reason: 'PaymentCanceledElsewhere' },
    });
    await shop.later(25 * HOUR);
    expect((await shop.settle('canceled')).status).toMatchObject({ phase: 'rejected', attention: null });
    expect(await done(id)).toEqual([]);
  });
});

describe('cancelled right after it was created, before anybody has looked', () => {
  test.each([
    ['unconfirmed', {}, 'canceled', 0],
    ['held', { ...pays, capture_method: 'manual' }, 'canceled', 0],
    ['captured', pays, 'succeeded', 10_000],
  ])('%s: nothing is kept', async (name, payment, after, refunded) => {
    const id = `at once ${name}`;
    const { id: reference } = await shop.checkout(payment);
    await shop.adopt(id, reference);
    await shop.cancel(id);
    expect((await shop.get(id)).status.phase).toBe('cancelling');
    const { status } = await shop.settle(id);
    expect(status).toMatchObject({ phase: 'cancelled', payment: { refunded } });
    expect((await shop.intent(reference)).status).toBe(after);
  });
});
