/** A record whose facts this version cannot read: a person is told by its passes, and everything else goes on. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { pathOf } from '../support/api.js';
import { aDesk } from '../support/desk.js';
import { aSweptShop, type Swept } from '../support/orphans.js';

const FACTS = {
  'of a later version': `'{"version": 9, "budget": {"used": "none"}}'::jsonb`,
  'of members nobody knows': `'{"hello": 1}'::jsonb`,
  'with refunds that are no list': `facts || '{"refunds": {"a": 1}}'::jsonb`,
  'with a payment that is a word': `facts || '{"payment": "x"}'::jsonb`,
};

describe.each(Object.entries(FACTS))('facts %s', (_, facts) => {
  let shop: Swept;
  beforeEach(async () => {
    shop = await aSweptShop();
    await shop.order('bad');
    await shop.settle('bad');
    await shop.query(`UPDATE order_operations SET facts = ${facts} WHERE operation_id = 'bad'`);
  });
  afterEach(() => shop.stop());

  test('it is shown, planned, previewed and cancelled', async () => {
    const desk = aDesk(shop);
    const answers = [
      await shop.call('GET', pathOf('bad')),
      await shop.asSupport('GET', '/v1/operations'),
      await shop.asSupport('GET', pathOf('bad', '/plan')),
      await desk.preview('bad', 'pause'),
      await shop.cancel('bad'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 201, 202]);
    const [row] = await shop.query<{ cancellation: unknown }>(
      `SELECT cancellation FROM order_operations WHERE operation_id = 'bad'`,
    );
    expect(row?.cancellation).not.toBeNull();
  });

  test('the two-sided sweep finds the money of others, and a second payment of this one', async () => {
    for (const operation_id of ['nobody', 'bad']) {
      const stray = {
        amount: 10_000,
        currency: 'eur',
        payment_method: 'pm_card_visa',
        metadata: { operation_id },
      };
      await shop.control.dashboard('create_stray', stray);
    }
    for (let round = 0; round < 3; round += 1) {
      await shop.hurryFindings();
      await shop.sweep();
    }
    const kinds = (await shop.findings()).map(({ kind }) => kind);
    expect(kinds).toEqual(expect.arrayContaining(['orphan_payment', 'second_payment']));
  });
});
