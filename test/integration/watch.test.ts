/** A settled order is watched for 180 days, ever more rarely, and no longer: simulated days, each look when it is due. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { WATCH_DAYS } from '../../src/operation/schedule.js';
import type { OperationOut } from '../../src/api/schemas/operation.js';
import { pathOf } from '../support/api.js';
import { aShop, HOUR, type Shop } from '../support/shop.js';

let shop: Shop;
beforeAll(async () => {
  shop = await aShop();
});
afterAll(() => shop.stop());

const DAY = 24 * HOUR;
/** After a tenth of the quiet time each: some 25 a decade of time, and those of the first hours. */
const MOST_READS = 110;

/** Milliseconds until the next look; null: there is none. */
async function untilNextLook(id: string): Promise<number | null> {
  const [row] = await shop.world.db.database.query<{ ms: number | null }>(
    `SELECT extract(epoch FROM next_attempt_at - now())::float8 * 1000 AS ms FROM order_operations WHERE operation_id = $1`,
    [id],
  );
  return row?.ms ?? null;
}
const reads = async (id: string, after = 0): Promise<number> =>
  (await shop.control.journal({ operation_id: id, route: 'payment_intents.retrieve', after })).length;

/** A day of the watch as the shop lives it: `since` is the moment when the order settled. */
async function settled(id: string, payment_method = 'pm_card_visa'): Promise<number> {
  await shop.order(id, { payment: { payment_method } });
  expect((await shop.settle(id)).status.phase).toBe('fulfilled');
  return shop.clock.now().getTime();
}
/** Time goes on for everybody: what is due at Postgres comes as much nearer. */
async function later(ms: number): Promise<void> {
  await shop.later(ms);
  await shop.world.db.database.query(
    'UPDATE order_operations SET next_attempt_at = next_attempt_at - make_interval(secs => $1::float8 / 1000)',
    [ms],
  );
}
/** Time goes on to this day, and each look is made when it is due. */
async function live(id: string, since: number, day: number): Promise<OperationOut> {
  const end = since + day * DAY;
  for (let looks = 0; looks < 500; looks += 1) {
    const ms = await untilNextLook(id);
    const now = shop.clock.now().getTime();
    if (ms === null || now + ms > end) {
      await later(end - now);
      return shop.get(id);
    }
    await later(Math.max(0, Math.ceil(ms)) + 1);
    await shop.pass(id);
  }
  throw new Error(`${id} is looked at without end`);
}

test('nothing happens: some hundred reads in half a year, the last on the last day, and none after it', async () => {
  const since = await settled('quiet');
  const begun = await shop.control.journalSequence();
  await live('quiet', since, WATCH_DAYS - 1);
  expect(await untilNextLook('quiet')).not.toBeNull();
  await live('quiet', since, WATCH_DAYS + 1);
  const all = await reads('quiet', begun);
  expect(all).toBeGreaterThan(60);
  expect(all).toBeLessThan(MOST_READS);
  const { status } = await shop.get('quiet');
  expect(status.next_attempt_at).toBeNull();
  const last = (Date.parse(status.payment.observed_at ?? '') - since) / DAY;
  expect(last).toBeGreaterThan(WATCH_DAYS - 0.01);
  expect(last).toBeLessThan(WATCH_DAYS + 0.01);

  await live('quiet', since, 2 * WATCH_DAYS);
  await shop.world.run(shop.worker);
  expect(await reads('quiet', begun)).toBe(all);

  // A chargeback after all: the provider tells of it, it is read once, and a person is not needed for what is open.
  await shop.control.dashboard('open_dispute', { operation_id: 'quiet' });
  expect(await shop.hook('quiet', 'charge.dispute.created')).toBe('woken');
  await shop.world.run(shop.worker);
  expect((await shop.get('quiet')).status.payment).toMatchObject({ disputed: true, refundable: 0 });
  expect(await reads('quiet', begun)).toBe(all + 1);
  expect(await untilNextLook('quiet')).toBeNull();
});

test('a refund that fails on day 100 and a chargeback on day 150 are noticed without any webhook', async () => {
  const since = await settled('late', 'pm_card_refundFail');
  await shop.call('POST', pathOf('late', '/refunds'), { body: { refund_id: 'r1', amount: 3_000 } });
  await shop.settle('late');
  const begun = await shop.control.journalSequence();
  await live('late', since, 100);
  await shop.control.dashboard('fail_refund', { operation_id: 'late' });
  const noticed = await live('late', since, 100 + 10 + 1);
  expect(noticed.status).toMatchObject({
    attention: { reason: 'RefundFailed' },
    refunds: [{ refund_id: 'r1', state: 'failed' }],
    payment: { refunded: 0 },
  });

  await live('late', since, 150);
  await shop.control.dashboard('open_dispute', { operation_id: 'late' });
  const disputed = await live('late', since, 150 + 15 + 1);
  expect(disputed.status.payment).toMatchObject({ disputed: true, refundable: 0 });
  expect(disputed.status.conditions.map(({ reason }) => reason)).toContain('DisputeOpen');
  expect(await shop.timeline('late')).toEqual(expect.arrayContaining(['attention_needed', 'dispute_open']));
  expect(await reads('late', begun)).toBeLessThan(MOST_READS);
  // Nobody was paid twice meanwhile, and nothing was sent by itself.
  expect(await shop.control.ledger('late')).toMatchObject({ effects: { refunds: 1 }, violations: [] });
});
