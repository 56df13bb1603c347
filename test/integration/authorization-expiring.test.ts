/** The warning before an authorization lapses: in time, once, and without disturbing readers. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pathOf } from '../support/api.js';
import { aShop, HOUR, type Shop } from '../support/shop.js';

let shop: Shop;
beforeAll(async () => {
  shop = await aShop();
});
afterAll(() => shop.stop());

const warningOf = (conditions: readonly { readonly type: string }[]): unknown =>
  conditions.find(({ type }) => type === 'AuthorizationExpiring');
const MINUTE = 60_000;

test('an authorization that waits for its capture says a day before its end that it ends', async () => {
  await shop.order('held', { payment: { capture: 'manual' } });
  const held = await shop.settle('held');
  expect(held.status).toMatchObject({ phase: 'authorized', attention: null });
  expect(warningOf(held.status.conditions)).toBeUndefined();
  const ends = Date.parse(held.status.payment.capture_before ?? '');
  const begins = ends - 24 * HOUR;

  // The look after this one comes when the warning begins, not a whole turn later.
  await shop.later(begins - 5 * MINUTE - shop.clock.now().getTime());
  const before = Date.now();
  const next = await shop.pass('held');
  expect(warningOf(next.status.conditions)).toBeUndefined();
  expect(Date.parse(next.status.next_attempt_at ?? '') - before).toBeLessThanOrEqual(5 * MINUTE + 10_000);

  await shop.later(5 * MINUTE);
  const warned = await shop.pass('held');
  const at = new Date(ends).toISOString();
  expect(warningOf(warned.status.conditions)).toMatchObject({
    status: 'True',
    reason: 'AuthorizationExpiring',
    message: expect.stringContaining(at),
    since: shop.clock.now().toISOString(),
  });
  expect(warned.status.phase).toBe('authorized');
  expect(warned.metadata.resource_version).toBe(next.metadata.resource_version + 1);

  for (let look = 0; look < 3; look += 1) {
    await shop.later(HOUR);
    const again = await shop.pass('held');
    expect(again.metadata.resource_version).toBe(warned.metadata.resource_version);
    expect(again.status.conditions).toEqual(warned.status.conditions);
  }
  const told = (await shop.world.store.events('held')).filter(
    ({ type }) => type === 'authorization_expiring',
  );
  expect(told).toHaveLength(1);
  expect(told[0]?.message).toContain(at);

  expect((await shop.call('POST', pathOf('held', '/capture'), { body: {} })).status).toBe(202);
  expect(warningOf((await shop.get('held')).status.conditions)).toBeUndefined();
  expect((await shop.settle('held')).status.phase).toBe('fulfilled');
});
