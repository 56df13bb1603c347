/** Reported faults about refunds (docs/cases.md 18, 22, 25, 31, 35), asked for by the API and sent by the loop. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pathOf, refusal } from '../support/api.js';
import { aShop, type Shop } from '../support/shop.js';

let shop: Shop;
beforeAll(async () => {
  shop = await aShop();
});
afterAll(() => shop.stop());

const refund = (id: string, refund_id: string, amount: number) =>
  shop.call('POST', pathOf(id, '/refunds'), { body: { refund_id, amount } });
const accepted = async (id: string, refundId: string, amount: number): Promise<void> => {
  expect((await refund(id, refundId, amount)).status).toBe(202);
};
const posts = (id: string) => shop.control.journal({ operation_id: id, route: 'refunds.create' });

async function paid(id: string, spec: Record<string, unknown> = {}): Promise<void> {
  await shop.order(id, spec);
  expect((await shop.settle(id)).status.phase).toBe('fulfilled');
}
const by = (payment_method: string) => ({ payment: { payment_method } });

describe('a refund that is pending (18)', () => {
  test('is neither failed nor done, and uses up what can be refunded', async () => {
    await paid('pending', by('pm_card_pendingRefund'));
    await accepted('pending', 'r1', 7_000);
    const { status } = await shop.settle('pending');
    expect(status).toMatchObject({
      condition: 'Refunding',
      attention: null,
      payment: { refunded: 0, refund_pending: 7_000, refundable: 3_000 },
      refunds: [{ refund_id: 'r1', state: 'pending' }],
    });
    expect(refusal(await refund('pending', 'r2', 4_000))).toEqual([422, 'amount_not_refundable']);
    await shop.control.dashboard('settle_refund', { operation_id: 'pending' });
    expect((await shop.settle('pending')).status).toMatchObject({
      condition: 'Fulfilled',
      payment: { refunded: 7_000, refund_pending: 0, refundable: 3_000 },
      refunds: [{ refund_id: 'r1', state: 'succeeded' }],
    });
    expect(await posts('pending')).toHaveLength(1);
  });
});

describe('a refund whose answer is lost (22)', () => {
  test('is one refund; two that are wanted are two, also of the same amount', async () => {
    await paid('lost', { amount: { value: 9_000, currency: 'EUR' } });
    // The client library sends once more by itself.
    await shop.control.inject({
      route: 'refunds.create',
      kind: 'effect_then_drop',
      times: 2,
      match: { operation_id: 'lost' },
    });
    await accepted('lost', 'r1', 2_500);
    await accepted('lost', 'r2', 2_500);
    expect((await shop.settle('lost')).status.payment.refunded).toBe(5_000);
    expect(await shop.control.ledger('lost')).toMatchObject({
      refunded: 5_000,
      effects: { refunds: 2 },
      violations: [],
    });
    const keys = new Set((await posts('lost')).map((entry) => entry.idempotency_key));
    expect(keys.size).toBe(2);
  });
});

describe('a refund that took effect and that the list does not show yet', () => {
  test('is not sent under another key while the charge says that it went', async () => {
    await paid('lagging');
    await shop.control.inject({
      route: 'refunds.create',
      kind: 'effect_then_500',
      times: 1,
      match: { operation_id: 'lagging' },
    });
    // Of all orders: only this one is looked at.
    const { id } = await shop.control.inject({
      route: 'refunds.list',
      kind: 'answer',
      times: null,
      status: 200,
      body: { object: 'list', data: [], has_more: false, url: '/v1/refunds' },
    });
    await accepted('lagging', 'r1', 2_500);
    for (let minute = 0; minute < 4; minute += 1) {
      await shop.pass('lagging');
      await shop.later(60_000);
    }
    expect(await shop.control.ledger('lagging')).toMatchObject({ refunded: 2_500, effects: { refunds: 1 } });
    await shop.control.removeFault(id);
    expect((await shop.settle('lagging')).status).toMatchObject({
      condition: 'Fulfilled',
      attention: null,
      refunds: [{ refund_id: 'r1', state: 'succeeded' }],
    });
    expect(await shop.control.ledger('lagging')).toMatchObject({ refunded: 2_500, violations: [] });
  });
});

describe('odd currencies (25)', () => {
  test.each([
    ['JPY', 4_200, 700, 700],
    ['ISK', 1_000, 400, 40_000],
    ['UGX', 1_000, 400, 40_000],
    ['KWD', 7_350, 1_230, 1_230],
  ])('%s %i, of which %i go back', async (currency, value, amount, atProvider) => {
    const id = `refund-${currency}`;
    await paid(id, { amount: { value, currency } });
    await accepted(id, 'r1', amount);
    const { status } = await shop.settle(id);
    expect(status.payment).toMatchObject({ captured: value, refunded: amount, refundable: value - amount });
    expect(status.refunds).toMatchObject([{ amount, state: 'succeeded' }]);
    expect((await shop.control.ledger(id)).refunded).toBe(atProvider);
  });
});

describe('a refund that the provider refuses (31)', () => {
  test('was not sent as far as anybody can see; a person is told, and the cancellation stays open', async () => {
    await paid('refused');
    await shop.control.inject({
      route: 'refunds.create',
      kind: '400_insufficient_funds',
      times: null,
      match: { operation_id: 'refused' },
    });
    await accepted('refused', 'r1', 4_000);
    const refusedTwice = await shop.settle('refused');
    expect(refusedTwice.status).toMatchObject({
      attention: { reason: 'ProviderRejected' },
      payment: { refunded: 0, refund_pending: 4_000 },
      refunds: [{ refund_id: 'r1', state: 'requested', provider_reference: null }],
    });
    expect((await posts('refused')).length).toBeLessThanOrEqual(2);

    expect((await shop.cancel('refused')).status).toBe(202);
    const { status } = await shop.settle('refused');
    expect(status.phase).toBe('cancelling');
    expect(status.cancellation?.finalizers.map(({ name }) => name)).toEqual(['payment', 'inventory']);
    expect(await shop.control.ledger('refused')).toMatchObject({
      refunded: 0,
      stock: { state: 'committed' },
      violations: [],
    });
  });

  test('of two refunds one fails: each says so, and cancelling gives back the rest', async () => {
    await paid('one-fails', by('pm_card_refundFail'));
    await accepted('one-fails', 'r1', 3_000);
    await accepted('one-fails', 'r2', 2_000);
    const sent = await shop.settle('one-fails');
    const r1 = sent.status.refunds.find(({ refund_id }) => refund_id === 'r1');
    await shop.control.dashboard('fail_refund', { refund: r1?.provider_reference });
    const { status } = await shop.settle('one-fails');
    expect(status.attention?.reason).toBe('RefundFailed');
    const states = status.refunds.map(({ refund_id, state }) => [refund_id, state]);
    expect(states).toContainEqual(['r1', 'failed']);
    expect(states).not.toContainEqual(['r2', 'failed']);

    await shop.cancel('one-fails');
    const cancelling = (await shop.settle('one-fails')).status;
    expect(cancelling).toMatchObject({ phase: 'cancelling', attention: { reason: 'RefundFailed' } });
    expect(cancelling.cancellation?.finalizers).toMatchObject([
      { name: 'payment', reason: 'RefundFailed' },
      { name: 'inventory', reason: 'WaitsForPayment' },
    ]);
    const ledger = await shop.control.ledger('one-fails');
    expect(ledger).toMatchObject({ refunded: 7_000, stock: { state: 'committed' }, violations: [] });
  });
});

describe('a refund of ours that exists twice at the provider', () => {
  /** What a script does that takes our metadata over. */
  async function again(id: string, refundId: string, amount: number): Promise<string> {
    const reference = (await shop.world.get(id)).provider_reference ?? '';
    const body = new URLSearchParams({
      payment_intent: reference,
      amount: String(amount),
      'metadata[operation_id]': id,
      'metadata[refund_id]': refundId,
    });
    const headers = { authorization: 'Bearer sk_test_world' };
    const answer = await fetch(`${shop.world.sandbox.url}/v1/refunds`, { method: 'POST', headers, body });
    expect(answer.status).toBe(200);
    return ((await answer.json()) as { id: string }).id;
  }

  test('is told to a person and counted twice; nothing more goes back, until one of them fails', async () => {
    await paid('twice', by('pm_card_refundFail'));
    await accepted('twice', 'r1', 2_000);
    expect((await shop.settle('twice')).status.condition).toBe('Fulfilled');
    const second = await again('twice', 'r1', 2_000);
    await accepted('twice', 'r2', 1_000);
    const told = (await shop.settle('twice')).status;
    expect(told).toMatchObject({
      phase: 'fulfilled',
      attention: { reason: 'RefundedTwice' },
      payment: { refunded: 4_000, refund_pending: 1_000, refundable: 5_000 },
    });
    expect(told.refunds.map(({ refund_id, state }) => [refund_id, state])).toEqual([
      ['r1', 'succeeded'],
      ['r1', 'succeeded'],
      ['r2', 'requested'],
    ]);
    await shop.cancel('twice');
    const cancelling = (await shop.settle('twice')).status;
    expect(cancelling).toMatchObject({ phase: 'cancelling', attention: { reason: 'RefundedTwice' } });
    expect((await shop.control.ledger('twice')).refunded).toBe(4_000);

    await shop.control.dashboard('fail_refund', { refund: second });
    expect((await shop.settle('twice')).status).toMatchObject({ phase: 'cancelled', attention: null });
    expect(await shop.control.ledger('twice')).toMatchObject({ refunded: 10_000, violations: [] });
  });

  test('of a cancelled order is no quiet end either', async () => {
    await paid('over', by('pm_card_refundFail'));
    const { id } = await shop.control.dashboard('refund', { operation_id: 'over', amount: 5_000 });
    await shop.cancel('over');
    expect((await shop.settle('over')).status).toMatchObject({ phase: 'cancelled', attention: null });
    await shop.control.dashboard('fail_refund', { refund: id });
    await again('over', 'cancellation', 5_000);
    expect((await shop.settle('over')).status).toMatchObject({
      phase: 'cancelled',
      attention: { reason: 'RefundedTwice' },
      payment: { refunded: 10_000 },
    });
    expect(await shop.control.ledger('over')).toMatchObject({
      refunded: 10_000,
      stock: { state: 'released' },
    });
  });
});

describe('void or refund (35)', () => {
  const manual = { amount: { value: 3_140, currency: 'EUR' }, payment: { capture: 'manual' } };

  test('what is only held cannot be refunded, and is voided by cancelling', async () => {
    await shop.order('held', manual);
    expect((await shop.settle('held')).status.phase).toBe('authorized');
    expect(refusal(await refund('held', 'r1', 1_000))).toEqual([422, 'amount_not_refundable']);
    await shop.cancel('held');
    expect((await shop.settle('held')).status.phase).toBe('cancelled');
    expect(await posts('held')).toEqual([]);
    expect(await shop.control.ledger('held')).toMatchObject({
      captured: 0,
      held: 0,
      effects: { voids: 1, refunds: 0 },
    });
  });

  test('the bound is what was captured, not what was held or wanted', async () => {
    await shop.order('part', manual);
    await shop.settle('part');
    await shop.call('POST', pathOf('part', '/capture'), { body: { amount: 1_200 } });
    expect((await shop.settle('part')).status.payment.captured).toBe(1_200);
    expect(refusal(await refund('part', 'r1', 1_201))).toEqual([422, 'amount_not_refundable']);
    await accepted('part', 'r1', 1_200);
    expect((await shop.settle('part')).status.payment).toMatchObject({ refunded: 1_200, refundable: 0 });
    expect(refusal(await refund('part', 'r2', 1))).toEqual([422, 'amount_not_refundable']);
    expect(await shop.control.ledger('part')).toMatchObject({ captured: 1_200, refunded: 1_200, held: 0 });
  });
});
