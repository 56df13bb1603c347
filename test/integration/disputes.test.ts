/** Disputes (docs/cases.md 20) through the whole loop: before, during and after refunds and cancellation. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pathOf, refusal } from '../support/api.js';
import { aShop, HOUR, type Shop } from '../support/shop.js';

let shop: Shop;
beforeAll(async () => {
  shop = await aShop();
});
afterAll(() => shop.stop());

const acted = (action: Parameters<Shop['control']['dashboard']>[0], operation_id: string, more = {}) =>
  shop.control.dashboard(action, { operation_id, ...more });
const refund = (id: string, refund_id: string, amount: number) =>
  shop.call('POST', pathOf(id, '/refunds'), { body: { refund_id, amount } });
const posts = async (id: string) =>
  (await shop.control.journal({ operation_id: id, route: 'refunds.create' })).map(({ status }) => status);
const disputedBy = ({ status }: Awaited<ReturnType<Shop['get']>>) =>
  status.conditions.find(({ type }) => type === 'Disputed')?.reason;

async function paid(id: string, method = 'pm_card_visa'): Promise<void> {
  await shop.order(id, { payment: { payment_method: method } });
  expect((await shop.settle(id)).status.phase).toBe('fulfilled');
}
/** Captured, charged back, and cancelled: nothing is sent, however long it lasts. */
async function disputedAndCancelled(id: string, more = {}): Promise<void> {
  await paid(id);
  await acted('open_dispute', id, more);
  expect((await shop.cancel(id)).status).toBe(202);
  const { status } = await shop.settle(id);
  expect(status).toMatchObject({
    phase: 'cancelling',
    condition: 'DisputeOpen',
    attention: null,
    payment: { disputed: true, refundable: 0 },
    cancellation: {
      completed_at: null,
      finalizers: [
        { name: 'payment', reason: 'DisputeOpen' },
        { name: 'inventory', reason: 'WaitsForPayment' },
      ],
    },
  });
  await shop.later(60 * 24 * HOUR);
  expect((await shop.settle(id)).status.phase).toBe('cancelling');
  expect(await posts(id)).toEqual([]);
}

describe('a chargeback, then a cancellation', () => {
  test('lost: the bank gave the money back, nothing is refunded', async () => {
    await disputedAndCancelled('lost');
    await acted('lose_dispute', 'lost');
    expect(await shop.hook('lost', 'charge.dispute.closed')).toBe('woken');
    expect((await shop.settle('lost')).status).toMatchObject({
      phase: 'cancelled',
      attention: null,
      money_moved: { verdict: 'moved', amount: 0 },
    });
    expect(await posts('lost')).toEqual([]);
    expect(await shop.control.ledger('lost')).toMatchObject({
      refunded: 0,
      withdrawn: 10_000,
      stock: { released: 1 },
      violations: [],
    });
    const told = await shop.timeline('lost');
    expect(told.filter((type) => type.startsWith('dispute_'))).toEqual(['dispute_open', 'dispute_lost']);
  });

  test('won: the money is refunded once', async () => {
    await disputedAndCancelled('won');
    await acted('win_dispute', 'won');
    expect(await shop.hook('won', 'charge.dispute.closed')).toBe('woken');
    expect((await shop.settle('won')).status).toMatchObject({ phase: 'cancelled', attention: null });
    expect(await posts('won')).toEqual([200]);
    expect(await shop.control.ledger('won')).toMatchObject({
      refunded: 10_000,
      withdrawn: 0,
      violations: [],
    });
  });

  test('won, and the provider still lets nothing be refunded: a person, and no request', async () => {
    await disputedAndCancelled('barred');
    await acted('win_dispute', 'barred', { refundable: false });
    expect((await shop.settle('barred')).status).toMatchObject({
      phase: 'cancelling',
      attention: { reason: 'NotRefundable' },
    });
    expect(await posts('barred')).toEqual([]);
  });

  test('that the key may not list: a person, and no request; won, and listed again, one refund', async () => {
    await paid('hidden');
    await acted('open_dispute', 'hidden', { inquiry: true });
    await acted('close_dispute', 'hidden');
    const [{ account } = { account: '' }] = (await shop.control.ledger('hidden')).intents;
    await shop.control.addKey('sk_test_world', account, { denied_routes: ['disputes.list'] });
    await shop.cancel('hidden');
    expect((await shop.settle('hidden')).status).toMatchObject({
      phase: 'cancelling',
      attention: { reason: 'NotRefundable' },
      payment: { refundable: 0 },
    });
    expect(await posts('hidden')).toEqual([]);
    await shop.control.addKey('sk_test_world', account);
    expect((await shop.settle('hidden')).status).toMatchObject({ phase: 'cancelled', attention: null });
    expect(await posts('hidden')).toEqual([200]);
  });

  test('of a part, lost: the rest is refunded, no more', async () => {
    await disputedAndCancelled('part', { amount: 3_000 });
    await acted('lose_dispute', 'part', { refundable: true });
    expect((await shop.settle('part')).status).toMatchObject({
      phase: 'cancelled',
      attention: null,
      refunds: [{ amount: 7_000, state: 'succeeded' }],
    });
    expect(await shop.control.ledger('part')).toMatchObject({
      refunded: 7_000,
      withdrawn: 3_000,
      violations: [],
    });
  });
});

describe('a dispute and refunds', () => {
  test('refunded, then charged back: staff is told, nothing is sent; won, it is over', async () => {
    await paid('twice');
    expect((await refund('twice', 'r1', 10_000)).status).toBe(202);
    await shop.settle('twice');
    const before = await posts('twice');
    await acted('open_dispute', 'twice');
    await shop.hook('twice', 'charge.dispute.created');
    expect((await shop.settle('twice')).status).toMatchObject({
      phase: 'fulfilled',
      condition: 'DisputedAfterRefund',
      attention: { reason: 'DisputedAfterRefund' },
    });
    expect(await posts('twice')).toEqual(before);
    await acted('win_dispute', 'twice');
    expect((await shop.settle('twice')).status).toMatchObject({ phase: 'fulfilled', attention: null });
    expect(await posts('twice')).toEqual(before);
  });

  test('cancelled and refunded, then charged back: it stays cancelled, and staff is told', async () => {
    await paid('closed');
    await shop.cancel('closed');
    const { cancellation } = (await shop.settle('closed')).status;
    await acted('open_dispute', 'closed');
    expect((await shop.settle('closed')).status).toMatchObject({
      phase: 'cancelled',
      cancellation: { completed_at: cancellation?.completed_at, finalizers: [] },
      attention: { reason: 'DisputedAfterRefund' },
    });
    expect(await posts('closed')).toEqual([200]);
  });

  test('a refund on its way is stopped by a chargeback: no one sends another; lost, all is well', async () => {
    await paid('crossed', 'pm_card_pendingRefund');
    await shop.cancel('crossed');
    expect((await shop.settle('crossed')).status.condition).toBe('RefundPending');
    await acted('open_dispute', 'crossed');
    expect((await shop.settle('crossed')).status).toMatchObject({
      phase: 'cancelling',
      condition: 'DisputeOpen',
      refunds: [{ state: 'failed', reason: 'charge_for_pending_refund_disputed' }],
    });
    await acted('lose_dispute', 'crossed');
    expect((await shop.settle('crossed')).status).toMatchObject({ phase: 'cancelled', attention: null });
    expect(await posts('crossed')).toEqual([200]);
    expect((await shop.control.ledger('crossed')).violations).toEqual([]);
  });

  test('a refund is refused while the money is withdrawn, and possible while the bank only asks', async () => {
    await paid('asked');
    await acted('open_dispute', 'asked', { inquiry: true });
    const asked = await shop.settle('asked');
    expect(disputedBy(asked)).toBe('DisputeInquiry');
    expect(asked.status.payment).toMatchObject({ disputed: false, refundable: 10_000 });
    expect((await refund('asked', 'r1', 2_000)).status).toBe(202);
    expect((await shop.settle('asked')).status.payment.refunded).toBe(2_000);

    await acted('escalate_dispute', 'asked');
    const open = await shop.settle('asked');
    expect(disputedBy(open)).toBe('DisputeOpen');
    expect(open.status).toMatchObject({
      payment: { disputed: true, refundable: 0 },
      attention: { reason: 'DisputedAfterRefund' },
    });
    expect(refusal(await refund('asked', 'r2', 1_000))).toEqual([422, 'amount_not_refundable']);
    await acted('win_dispute', 'asked');
    const won = await shop.settle('asked');
    expect(disputedBy(won)).toBeUndefined();
    expect(won.status.payment.refundable).toBe(8_000);
  });

  test('cancelled during an inquiry: the refund ends it', async () => {
    await paid('inquiry');
    await acted('open_dispute', 'inquiry', { inquiry: true });
    await shop.cancel('inquiry');
    expect((await shop.settle('inquiry')).status.phase).toBe('cancelled');
    await acted('close_dispute', 'inquiry');
    const { status } = await shop.settle('inquiry');
    expect(status).toMatchObject({ phase: 'cancelled', attention: null });
    expect(await posts('inquiry')).toEqual([200]);
  });
});
