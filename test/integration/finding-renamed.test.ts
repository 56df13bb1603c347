/** An account that was renamed in the configuration, or has two names: its payments are those of its orders all the same. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { aFindingsDesk } from '../support/desk.js';
import { aSweptShop, type Swept } from '../support/orphans.js';

let shop: Swept;
beforeAll(async () => {
  shop = await aSweptShop({ works: true, patience_ms: 500 });
});
afterAll(() => shop.stop());

const sweepTwice = async () => {
  await shop.sweep();
  await shop.hurryFindings();
  await shop.sweep();
};

test('the payment of an order is never given back as a stray, whatever name its account has there', async () => {
  await shop.order('renamed');
  await shop.settle('renamed');
  const reference = (await shop.get('renamed')).status.provider_reference ?? '';
  // The account was renamed in ACCOUNTS_FILE, or two names have the same key.
  await shop.query(`INSERT INTO provider_accounts (account) VALUES ('former') ON CONFLICT DO NOTHING`);
  await shop.query(`UPDATE order_operations SET account = 'former' WHERE operation_id = 'renamed'`);
  await sweepTwice();
  const [finding] = (await shop.findings('?state=open')).filter(
    (one) => one.provider_reference === reference,
  );
  expect(finding).toMatchObject({ operation_id: 'renamed', suggested_command: 'dismiss' });
  const refused = await aFindingsDesk(shop).preview(finding?.finding_id ?? '0', 'refund_stray');
  expect(refused.json<{ code: string; detail: string }>()).toMatchObject({
    code: 'command_not_available',
    detail: expect.stringContaining('"renamed"') as unknown,
  });
  expect(await shop.control.ledger('renamed')).toMatchObject({ captured: 10_000, refunded: 0 });
}, 60_000);
