/** An order that a person gave up is not carried out; money that comes all the same is told to a person. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { aDesk, type Desk } from '../support/desk.js';
import { aShop, type Shop } from '../support/shop.js';

let shop: Shop;
let desk: Desk;
beforeEach(async () => {
  shop = await aShop();
  desk = aDesk(shop);
  await shop.order('given', { payment: { payment_method: 'pm_card_authenticationRequired' } });
  await shop.settle('given');
  await desk.command('given', 'give_up', {}, 'lead');
});
afterEach(() => shop.stop());

test('the customer pays afterwards: a person is asked, and the money is shown', async () => {
  await shop.settle('given');
  await shop.control.dashboard('complete_authentication', { operation_id: 'given' });
  const { status } = await shop.settle('given');
  const { captured } = await shop.control.ledger('given');
  expect(captured).toBeGreaterThan(0);
  expect(status).toMatchObject({ attention: { reason: 'GivenUp' }, payment: { captured } });
});

test('the front end is given no secret to pay with', async () => {
  expect((await shop.secret('given')).status).toBe(409);
});
