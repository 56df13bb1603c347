/** What keeps an order from being erased, and what must not; with findings and disputes beside it. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pathOf } from '../support/api.js';
import { aFindingsDesk, findingPreviewed } from '../support/desk.js';
import { keeping, settledAgo } from '../support/housekeeping.js';
import { aSweptShop, type Swept } from '../support/orphans.js';

let shop: Swept;
beforeAll(async () => {
  shop = await aSweptShop({ works: true, patience_ms: 500 });
  const worker = shop.sweeper();
  shop.onDecision(() => worker.carryOut());
});
afterAll(() => shop.stop());

const sweepTwice = async () => {
  await shop.sweep();
  await shop.hurryFindings();
  await shop.sweep();
};
const aDayLater = async (): Promise<void> => {
  await shop.query(`UPDATE operation_attempts SET started_at = started_at - interval '2 days'`);
  await shop.query(
    `UPDATE commands SET expires_at = expires_at - interval '2 days', carried_out_at = carried_out_at - interval '2 days'`,
  );
};
const erase = (id: string) =>
  shop.as('lead')('POST', pathOf(id, '/erasure'), { body: { reason: 'objection' } });
const traces = (text: string): Promise<unknown[]> =>
  shop.query(
    `SELECT 'finding_commands' AS found FROM finding_commands c WHERE c::text LIKE '%' || $1 || '%'
     UNION ALL SELECT 'findings' FROM findings f WHERE f::text LIKE '%' || $1 || '%'
     UNION ALL SELECT 'events' FROM operation_events e WHERE e::text LIKE '%' || $1 || '%'`,
    [text],
  );

test('a finding that a person dismissed keeps its order no longer, and what the person wrote is erased with it', async () => {
  await shop.order('dismissed');
  await shop.settle('dismissed');
  const { id } = await shop.control.dashboard('create_stray', {
    amount: 10_000,
    currency: 'eur',
    metadata: { operation_id: 'dismissed' },
    payment_method: 'pm_card_visa',
  });
  await sweepTwice();
  const [finding] = (await shop.findings('?state=open')).filter((one) => one.provider_reference === id);
  const desk = aFindingsDesk(shop);
  const { preview_id } = findingPreviewed(await desk.preview(finding?.finding_id ?? '0', 'dismiss'));
  expect(
    (await desk.confirm(finding?.finding_id ?? '0', preview_id, 'desk', 'Erika Mustermann said so')).status,
  ).toBe(202);
  await aDayLater();
  const answer = await erase('dismissed');
  expect(answer.status).toBe(200);
  expect(await traces('Mustermann')).toEqual([]);
}, 60_000);

test('while the bank has not decided a dispute, its evidence is kept', async () => {
  await shop.order('disputed', { payment: { customer: 'cus_Evidence' } });
  await shop.settle('disputed');
  await shop.control.dashboard('open_dispute', { operation_id: 'disputed' });
  await shop.hook('disputed', 'charge.dispute.created');
  await shop.settle('disputed');
  await aDayLater();
  await settledAgo(shop, 'disputed', 2_000);
  const answer = await erase('disputed');
  expect(answer.json<{ detail: string }>().detail).toContain('dispute');
  expect(await keeping(shop).round()).toMatchObject({ journals: 0, personal_data: 0 });
}, 60_000);

test('a record that is not understood keeps no other from being erased', async () => {
  for (const id of ['odd', 'plain']) {
    await shop.order(id, { payment: { customer: 'cus_Keep' } });
    await shop.settle(id);
  }
  await settledAgo(shop, 'odd', 700);
  await settledAgo(shop, 'plain', 600);
  await shop.query(
    `UPDATE order_operations SET facts = jsonb_set(facts, '{version}', '99') WHERE operation_id = 'odd'`,
  );
  await keeping(shop).round();
  expect((await shop.get('plain')).spec.payment.customer).toBeNull();
}, 60_000);

test('what a person wrote of a stray is erased with its order', async () => {
  await shop.order('told');
  await shop.settle('told');
  const { id } = await shop.control.dashboard('create_stray', {
    amount: 10_000,
    currency: 'eur',
    metadata: { operation_id: 'told' },
    payment_method: 'pm_card_visa',
  });
  await sweepTwice();
  const [finding] = (await shop.findings('?state=open')).filter((one) => one.provider_reference === id);
  const desk = aFindingsDesk(shop);
  const { preview_id } = findingPreviewed(await desk.preview(finding?.finding_id ?? '0', 'refund_stray'));
  await desk.confirm(finding?.finding_id ?? '0', preview_id, 'desk', 'Frau Beispiel called');
  await shop.sweeper().carryOut();
  await sweepTwice();
  await aDayLater();
  const answer = await erase('told');
  expect(answer.status).toBe(200);
  expect(await traces('Beispiel')).toEqual([]);
}, 60_000);
