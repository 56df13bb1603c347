/** One payment that cannot be judged: the rest of its page is compared, noted and looked at, and the cursor goes on. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { aSweptShop, type Swept } from '../support/orphans.js';

let shop: Swept;
const told: string[] = [];
const log = {
  info: () => undefined,
  warn: () => undefined,
  error: (data: Readonly<Record<string, unknown>>, message: string) =>
    void told.push(`${String(data['payment'])}: ${message}`),
};
beforeEach(async () => {
  shop = await aSweptShop();
  told.length = 0;
});
afterEach(() => shop.stop());

const stray = async (operation_id: string): Promise<string> => {
  const paid = { amount: 10_000, currency: 'eur', payment_method: 'pm_card_visa' };
  return (await shop.control.dashboard('create_stray', { ...paid, metadata: { operation_id } })).id;
};
async function fulfilled(name: string): Promise<string> {
  await shop.order(name);
  return (await shop.settle(name)).status.provider_reference ?? '';
}
const open = async (): Promise<string[]> => {
  const rows = await shop.query<{ reference: string }>(
    `SELECT reference FROM findings WHERE state = 'open' ORDER BY 1`,
  );
  return rows.map(({ reference }) => reference);
};
const listedUntil = async (): Promise<Date | null> =>
  (await shop.query<{ listed_until: Date | null }>('SELECT listed_until FROM orphan_sweeps'))[0]
    ?.listed_until ?? null;

test('its record cannot be read: it is neither suspected nor cleared, and the others are found', async () => {
  const before = await stray('before');
  const bad = await fulfilled('bad');
  const after = await stray('after');
  await shop.query(`UPDATE order_operations SET spec = spec - 'payment' WHERE operation_id = 'bad'`);
  // It waits the longest for a look, too.
  await shop.query(
    `INSERT INTO findings (account, kind, reference, operation_id, state, amount, currency, message, evidence, suggested,
       suspected_at, first_seen_at, last_seen_at, check_at)
     SELECT 'default', 'amounts_differ', $1, 'bad', 'suspected', 1, 'EUR', 'x', '{}', 'dismiss', t, t, t, t
     FROM (SELECT now() - interval '1 hour' AS t) t`,
    [bad],
  );
  await shop.sweep(shop.sweeper({ log }));
  expect(await open()).toEqual([before, after].sort());
  expect(await listedUntil()).not.toBeNull();
  expect(told).toContain(`${bad}: a payment could not be compared; the others are`);
  expect(told).toContain(`${bad}: a payment could not be judged`);
  // It is looked at later, and not first of all.
  const [{ due } = { due: true }] = await shop.query<{ due: boolean }>(
    `SELECT check_at <= now() - interval '1 minute' AS due FROM findings WHERE reference = $1`,
    [bad],
  );
  expect(due).toBe(false);
});

test('Postgres refuses what is to be noted of it: the others are noted, and the page is not listed again', async () => {
  const [refused, ...others] = [await stray('one'), await stray('two'), await stray('three')];
  await shop.query(`ALTER TABLE findings ADD CONSTRAINT for_this_test CHECK (reference <> '${refused}')`);
  await shop.sweep(shop.sweeper({ log }));
  expect(await open()).toEqual([...others].sort());
  expect(await listedUntil()).not.toBeNull();
  expect(told).toContain(`${refused}: a suspicion could not be noted`);
});
