/** Reported faults about cancelling and stock (docs/cases.md 30, 36, 37), through the API and the loop. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pathOf, refusal } from '../support/api.js';
import { until } from '../support/product.js';
import { aShop, type Shop } from '../support/shop.js';

let shop: Shop;
beforeAll(async () => {
  shop = await aShop();
});
afterAll(() => shop.stop());

const manual = { amount: { value: 9_000, currency: 'EUR' }, payment: { capture: 'manual' } };
const sent = (id: string, route: string) => shop.control.journal({ operation_id: id, route });
const capture = (id: string, amount: number) =>
  shop.call('POST', pathOf(id, '/capture'), { body: { amount } });

async function cancelledCleanly(id: string): Promise<void> {
  expect((await shop.settle(id)).status).toMatchObject({ phase: 'cancelled', attention: null });
  const ledger = await shop.control.ledger(id);
  expect(ledger).toMatchObject({ held: 0, violations: [] });
  expect(ledger.captured - ledger.refunded).toBe(0);
  expect(ledger.stock).toMatchObject({ state: 'released', released: 1 });
}

test('a provider captures once: the second part is refused at once, and never taken (30)', async () => {
  await shop.order('parts', manual);
  await shop.settle('parts');
  expect((await capture('parts', 6_500)).status).toBe(202);
  expect(refusal(await capture('parts', 2_500))).toEqual([422, 'amount_not_capturable']);
  expect((await shop.settle('parts')).status).toMatchObject({
    phase: 'fulfilled',
    payment: { captured: 6_500, short: 0 },
  });
  expect(refusal(await capture('parts', 2_500))).toEqual([422, 'amount_not_capturable']);
  await shop.settle('parts');
  expect(await shop.control.ledger('parts')).toMatchObject({
    captured: 6_500,
    held: 0,
    effects: { captures: 1 },
    violations: [],
  });
});

describe('given back or canceled by somebody else, and no news of it (36)', () => {
  test('all money refunded: nothing is sent, and the cancellation is complete', async () => {
    await shop.order('refunded');
    await shop.settle('refunded');
    await shop.control.dashboard('refund', { operation_id: 'refunded' });
    await shop.cancel('refunded');
    await cancelledCleanly('refunded');
    expect(await sent('refunded', 'refunds.create')).toEqual([]);
  });

  test('refunded between our reading and our refund: one refused request, and it is complete', async () => {
    await shop.order('raced');
    await shop.settle('raced');
    await shop.cancel('raced');
    await shop.control.inject({
      route: 'refunds.create',
      kind: 'delay_before',
      delay_ms: 600,
      match: { operation_id: 'raced' },
    });
    const pass = shop.pass('raced');
    await until(async () => (await shop.world.get('raced')).task === 'create_refund', 'the refund to begin');
    await shop.control.dashboard('refund', { operation_id: 'raced' });
    await pass;
    await cancelledCleanly('raced');
    const requests = await sent('raced', 'refunds.create');
    expect(requests.map(({ had_effect }) => had_effect)).toEqual([false]);
  });

  test('the payment canceled: no request or a refused one, and it is complete', async () => {
    await shop.order('voided', manual);
    await shop.settle('voided');
    await shop.control.dashboard('cancel', { operation_id: 'voided' });
    await shop.cancel('voided');
    await cancelledCleanly('voided');
    expect((await shop.control.ledger('voided')).effects).toMatchObject({ voids: 0, refunds: 0 });
  });
});

describe('stock comes back once (37)', () => {
  test('five cancellations at once, and the answer to the release is lost', async () => {
    await shop.control.setStock('rare', 5);
    await shop.order('rare', { lines: [{ sku: 'rare', quantity: 2 }] });
    await shop.settle('rare');
    expect(await shop.control.stock('rare')).toBe(3);
    await shop.control.inject({
      route: 'reservations.delete',
      kind: 'effect_then_drop',
      match: { operation_id: 'rare' },
    });
    const answers = await Promise.all(Array.from({ length: 5 }, () => shop.cancel('rare')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    await cancelledCleanly('rare');
    expect(await shop.control.stock('rare')).toBe(5);
  });

  test('a customer who pays when the stock is back is turned away, and nothing is sold twice', async () => {
    await shop.control.setStock('last', 1);
    const payment = { payment_method: 'pm_card_threeDSecure2Required' };
    await shop.order('late', { lines: [{ sku: 'last', quantity: 1 }], payment });
    await shop.settle('late');
    await shop.cancel('late');
    await cancelledCleanly('late');
    await expect(
      shop.control.dashboard('complete_authentication', { operation_id: 'late' }),
    ).rejects.toThrow();
    await shop.order('next', { lines: [{ sku: 'last', quantity: 1 }] });
    expect((await shop.settle('next')).status.phase).toBe('fulfilled');
    expect(await shop.control.stock('last')).toBe(0);
    expect(await shop.control.ledger('late')).toMatchObject({ captured: 0, stock: { released: 1 } });
  });

  describe('money that goes back brings no goods back by itself', () => {
    const refund = async (id: string, refund_id: string, amount: number): Promise<void> => {
      const answer = await shop.call('POST', pathOf(id, '/refunds'), { body: { refund_id, amount } });
      expect(answer.status).toBe(202);
    };
    const committedWith = async (id: string, refunded: number): Promise<void> => {
      expect((await shop.settle(id)).status).toMatchObject({ phase: 'fulfilled', attention: null });
      const { stock, ...ledger } = await shop.control.ledger(id);
      expect(ledger).toMatchObject({ captured: 10_000, refunded, violations: [] });
      expect(stock).toMatchObject({ state: 'committed', committed: 1, released: 0 });
      expect(await shop.control.stock(id)).toBe(3);
      expect(await sent(id, 'reservations.delete')).toEqual([]);
    };
    const sold = async (id: string): Promise<void> => {
      await shop.control.setStock(id, 5);
      await shop.order(id, { lines: [{ sku: id, quantity: 2 }] });
    };

    test('a part of it, all of it, and then a cancellation, which brings all goods back once', async () => {
      await sold('parts back');
      await committedWith('parts back', 0);
      await refund('parts back', 'r1', 4_000);
      await committedWith('parts back', 4_000);
      await refund('parts back', 'r2', 6_000);
      await committedWith('parts back', 10_000);
      await shop.cancel('parts back');
      await cancelledCleanly('parts back');
      expect(await shop.control.stock('parts back')).toBe(5);
      expect((await shop.control.ledger('parts back')).refunds).toHaveLength(2);
    });

    test('a part of it, and then a cancellation: the rest of the money, and all goods once', async () => {
      await sold('part, then none');
      await committedWith('part, then none', 0);
      await refund('part, then none', 'r1', 4_000);
      await shop.cancel('part, then none');
      await cancelledCleanly('part, then none');
      expect(await shop.control.stock('part, then none')).toBe(5);
      expect(
        (await shop.control.ledger('part, then none')).refunds.map(({ amount }) => amount).sort(),
      ).toEqual([4_000, 6_000]);
    });

    test('nor does a refund by somebody else', async () => {
      await sold('elsewhere');
      await committedWith('elsewhere', 0);
      await shop.control.dashboard('refund', { operation_id: 'elsewhere' });
      await committedWith('elsewhere', 10_000);
    });
  });
});
