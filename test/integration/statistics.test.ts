/** The counts of the metrics are those of the table at every moment. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { HousekeepingStore } from '../../src/store/housekeeping-store.js';
import { collectStatistics } from '../../src/store/statistics.js';
import { aShop, HOUR, type Shop } from '../support/shop.js';

let shop: Shop;
beforeAll(async () => {
  shop = await aShop();
});
afterAll(() => shop.stop());

const query = <Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> =>
  shop.world.db.database.query<Row>(sql, parameters);
/** As the metrics have it, after the table was counted. */
async function counted(): Promise<Record<string, number>> {
  const rows = await query<{ phase: string; n: string }>(
    `SELECT phase, count(*) AS n FROM order_operations GROUP BY 1`,
  );
  const { operations } = await collectStatistics(shop.world.db.database, ['default']);
  const shown = Object.fromEntries(operations);
  expect(shown).toEqual(Object.fromEntries(rows.map(({ phase, n }) => [phase, Number(n)])));
  return shown;
}
const lines = async (): Promise<number> => (await query('SELECT 1 FROM settled_counts')).length;

test('an order is counted once in each phase: settled, settled no longer, settled otherwise, added up', async () => {
  expect(await counted()).toEqual({});
  for (const id of ['a', 'b', 'c']) await shop.order(id);
  await shop.order('waits', { payment: { payment_method: 'pm_card_threeDSecure2Required' } });
  expect(await counted()).toEqual({ accepted: 4 });
  for (const id of ['a', 'b', 'c', 'waits']) await shop.settle(id);
  expect(await counted()).toEqual({ fulfilled: 3, awaiting_customer: 1 });

  await shop.cancel('a');
  await shop.cancel('waits');
  expect(await counted()).toEqual({ fulfilled: 2, cancelling: 2 });
  await shop.settle('a');
  await shop.settle('waits');
  expect(await counted()).toEqual({ fulfilled: 2, cancelled: 2 });
  await shop.later(HOUR);
  await shop.control.dashboard('pay_late', {
    operation_id: 'waits',
    payment_method: 'pm_card_pendingRefund',
  });
  expect((await shop.pass('waits')).status.phase).toBe('cancelling');
  expect(await counted()).toEqual({ fulfilled: 2, cancelled: 1, cancelling: 1 });

  const store = new HousekeepingStore(shop.world.db.database);
  const before = await lines();
  expect(before).toBeGreaterThan(4);
  await Promise.all([store.addUp(3), store.addUp(3), counted(), store.addUp(100)]);
  // Three lines of two phases are always fewer afterwards; two can be one of each, for ever.
  while ((await store.addUp(3)) === 3 && (await lines()) > 2) await counted();
  await store.addUp(100);
  expect(await lines()).toBe(2);
  expect(await counted()).toEqual({ fulfilled: 2, cancelled: 1, cancelling: 1 });
});

test('an order that waits for its bank is not said to stand still before two weeks, any other after ten minutes', async () => {
  await shop.order('debit', { payment: { payment_method: 'pm_sepaDebit' } });
  await shop.order('disputed');
  await shop.order('refunded', { payment: { payment_method: 'pm_card_pendingRefund' } });
  for (const id of ['debit', 'disputed', 'refunded']) await shop.settle(id);
  await shop.control.dashboard('open_dispute', { operation_id: 'disputed' });
  await shop.cancel('disputed');
  await shop.cancel('refunded');
  for (const id of ['disputed', 'refunded']) expect((await shop.settle(id)).status.phase).toBe('cancelling');
  await shop.order('stuck');
  const stale = async (age: string): Promise<Record<string, number>> => {
    await query(
      `UPDATE order_operations SET updated_at = now() - $1::interval WHERE operation_id = ANY ($2)`,
      [age, ['debit', 'disputed', 'refunded', 'stuck']],
    );
    const { stale_progress } = await collectStatistics(shop.world.db.database, ['default']);
    return Object.fromEntries(stale_progress);
  };
  expect(await stale('9 minutes')).toEqual({});
  expect(await stale('13 days')).toEqual({ accepted: 1 });
  expect(await stale('15 days')).toEqual({ accepted: 1, payment_pending: 1, cancelling: 1 });
});
