/** The brake on automatic money-out: never more than allowed within an hour, nothing lost, nobody refunded twice. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { LoopDependencies } from '../../src/reconciler/ports.js';
import { reconcile } from '../../src/reconciler/reconcile.js';
import { RefundBrake, type BrakeLimits } from '../../src/store/refund-brake.js';
import { pathOf } from '../support/api.js';
import { aDesk } from '../support/desk.js';
import { aShop, HOUR, type Shop } from '../support/shop.js';

const ids = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${name}-${index}`);

let shop: Shop;
let alerts: string[];
beforeEach(async () => {
  shop = await aShop();
  alerts = [];
});
afterEach(() => shop.stop());

const query = (sql: string, parameters: unknown[] = []): Promise<unknown[]> =>
  shop.world.db.database.query(sql, parameters);

function worker(limits: Partial<BrakeLimits>): LoopDependencies {
  return shop.world.worker({
    brake: new RefundBrake(shop.world.db.database, { refunds: 1_000, amounts: {}, ...limits }),
    clock: shop.clock,
    log: {
      info: () => undefined,
      warn: () => undefined,
      error: (_data, message) => void alerts.push(message),
    },
  });
}

async function fulfilled(...names: string[]): Promise<void> {
  for (const name of names) await shop.order(name);
  await shop.world.run(shop.worker, names.length);
  for (const name of names) expect((await shop.get(name)).status.phase).toBe('fulfilled');
}

async function refund(name: string, amount: number, id = 'r1'): Promise<void> {
  const answer = await shop.call('POST', pathOf(name, '/refunds'), { body: { refund_id: id, amount } });
  expect(answer.status).toBe(202);
}

/** All that waits is looked at once, by these workers at the same moment. */
async function allAtOnce(workers: readonly LoopDependencies[]): Promise<void> {
  await query('UPDATE order_operations SET next_attempt_at = now() WHERE next_attempt_at IS NOT NULL');
  const claimed = await Promise.all(
    workers.map(async (by) => ({
      by,
      ...(await shop.world.passes.claim(10, by.worker, by.lease_ms, 1_000)),
    })),
  );
  await Promise.all(claimed.flatMap(({ by, claims }) => claims.map((claim) => reconcile(claim, by))));
}

/** An hour goes by for the brake and for the workers. */
async function anHourLater(): Promise<void> {
  await query(`UPDATE money_out SET at = at - interval '1 hour'`);
  shop.clock.move(HOUR);
}

describe('thirty refunds, ten workers, and five an hour', () => {
  const names = ids('order', 30);
  const cancelled = names.slice(0, 15);
  const ledgers = () => Promise.all(names.map((name) => shop.control.ledger(name)));
  const sent = async (): Promise<number> => (await ledgers()).filter(({ refunded }) => refunded > 0).length;

  test('five go out, the others wait and say so; each hour five more, until all are done', async () => {
    await fulfilled(...names);
    for (const name of cancelled) expect((await shop.cancel(name)).status).toBe(202);
    for (const name of names.slice(15)) await refund(name, 2_500);
    const workers = names.slice(0, 10).map(() => worker({ refunds: 5 }));
    // Those that found the account busy come again a moment later.
    for (let look = 0; look < 4; look += 1) await allAtOnce(workers);
    expect(await sent()).toBe(5);
    expect(alerts.filter((line) => line.includes('brake is closed'))).toHaveLength(1);

    const seen = await Promise.all(names.map((name) => shop.get(name)));
    const waiting = seen.filter(({ status }) => status.attention?.reason === 'RefundBrake');
    expect(waiting).toHaveLength(25);
    for (const { operation_id, status } of waiting) {
      expect(status).toMatchObject({ condition: 'RefundBrake', retry_budget: { used: 0 }, task: null });
      expect(status.next_attempt_at).not.toBeNull();
      if (cancelled.includes(operation_id)) {
        expect(status).toMatchObject({ phase: 'cancelling', cancellation: { completed_at: null } });
        expect(status.cancellation?.finalizers[0]).toMatchObject({ name: 'payment', reason: 'RefundBrake' });
      } else expect(status).toMatchObject({ phase: 'fulfilled', refunds: [{ state: 'requested' }] });
    }

    // Within the hour nothing moves, whether they look before or after they were told to: and no reader is disturbed.
    await allAtOnce(workers);
    shop.clock.move(HOUR);
    await allAtOnce(workers);
    expect(await sent()).toBe(5);
    for (const { operation_id, metadata, status } of waiting) {
      const again = await shop.get(operation_id);
      expect(again.metadata.resource_version).toBe(metadata.resource_version);
      expect(again.status.attention).toEqual(status.attention);
    }

    for (const total of [10, 15, 20, 25, 30]) {
      await anHourLater();
      for (let look = 0; look < 3; look += 1) await allAtOnce(workers);
      expect(await sent()).toBe(total);
    }
    for (const name of cancelled) {
      expect((await shop.settle(name)).status).toMatchObject({ phase: 'cancelled', attention: null });
    }
    const books = await ledgers();
    expect(books.flatMap(({ violations }) => violations)).toEqual([]);
    expect(books.map(({ refunds }) => refunds.length)).toEqual(names.map(() => 1));
    expect(books.map(({ refunded }) => refunded)).toEqual(
      names.map((name) => (cancelled.includes(name) ? 10_000 : 2_500)),
    );
    for (const { operation_id } of waiting) {
      const told = (await shop.world.store.events(operation_id)).map(({ type }) => type);
      expect(told.filter((type) => type === 'attention_needed')).toHaveLength(1);
      expect(told.filter((type) => type === 'attention_resolved')).toHaveLength(1);
    }
    expect(alerts.filter((line) => line.includes('brake is closed'))).toHaveLength(1);
  }, 120_000);
});

test('so much an hour in one currency; another one is not touched by it', async () => {
  await fulfilled('a', 'b', 'c');
  await shop.order('d', { amount: { value: 10_000, currency: 'USD' } });
  const by = worker({ amounts: { EUR: 10_000 } });
  await shop.world.run(by, 1);
  await refund('a', 6_000);
  await allAtOnce([by]);
  for (const name of ['b', 'd']) await refund(name, 6_000);
  await refund('c', 4_000);
  await allAtOnce([by]);
  const refunded = async (): Promise<number[]> =>
    Promise.all(['a', 'b', 'c', 'd'].map(async (name) => (await shop.control.ledger(name)).refunded));
  expect(await refunded()).toEqual([6_000, 0, 4_000, 6_000]);
  const { attention } = (await shop.get('b')).status;
  expect(attention?.message).toContain('100.00 EUR within an hour by itself (REFUND_BRAKE_AMOUNT)');
  await anHourLater();
  await allAtOnce([by]);
  expect(await refunded()).toEqual([6_000, 6_000, 4_000, 6_000]);
});

test('a refund above the hour’s amount waits for a person, and goes when the limit is raised', async () => {
  await fulfilled('large');
  await refund('large', 6_000);
  await allAtOnce([worker({ amounts: { EUR: 5_000 } })]);
  const { attention } = (await shop.get('large')).status;
  expect(attention).toMatchObject({ reason: 'RefundBrake' });
  expect(attention?.message).toContain('by the command retry, or raises the limit');
  shop.clock.move(HOUR);
  await allAtOnce([worker({ amounts: { EUR: 6_000 } })]);
  expect(await shop.get('large')).toMatchObject({ status: { attention: null } });
  expect((await shop.control.ledger('large')).refunds).toHaveLength(1);
});

test('a person lets one refund pass: that one goes, once, and takes its room from those that go by themselves', async () => {
  await fulfilled('named', 'next');
  await refund('named', 6_000);
  await refund('named', 1_000, 'r2');
  const by = worker({ amounts: { EUR: 5_000 } });
  await allAtOnce([by]);
  expect((await shop.get('named')).status.attention?.reason).toBe('RefundBrake');
  const desk = aDesk(shop);
  await shop.control.inject({ route: 'refunds.create', kind: 'drop_before', times: 1 });
  await desk.command('named', 'retry');
  for (let look = 0; look < 3; look += 1) await allAtOnce([by]);
  const { refunds, violations } = await shop.control.ledger('named');
  expect([refunds, violations]).toMatchObject([[{ amount: 6_000 }], []]);
  expect((await shop.get('named')).status).toMatchObject({
    payment: { refunded: 6_000 },
    attention: { reason: 'RefundBrake' },
  });
  expect(await query('SELECT broken FROM order_operations WHERE broken > 0')).toEqual([]);
  await refund('next', 1_000);
  await allAtOnce([by]);
  expect((await shop.get('next')).status.attention?.reason).toBe('RefundBrake');
  await anHourLater();
  for (let look = 0; look < 3; look += 1) await allAtOnce([by]);
  expect((await shop.control.ledger('next')).refunded).toBe(1_000);
  expect((await shop.control.ledger('named')).refunded).toBe(7_000);
}, 60_000);

test.each(['effect_then_drop', 'drop_before', '503_html'] as const)(
  'a refund whose answer was lost (%s) is counted once, and needs no second leave',
  async (kind) => {
    await fulfilled('lost', 'next');
    await refund('lost', 2_500);
    await shop.control.inject({ route: 'refunds.create', kind, times: 1, match: { operation_id: 'lost' } });
    const by = worker({ refunds: 1 });
    for (let look = 0; look < 3; look += 1) await allAtOnce([by]);
    const { refunds, violations } = await shop.control.ledger('lost');
    expect([refunds.length, violations]).toEqual([1, []]);
    expect((await shop.get('lost')).status.attention).toBeNull();
    expect(await query('SELECT account, currency, amount FROM money_out')).toEqual([
      { account: 'default', currency: 'EUR', amount: '2500' },
    ]);
    await refund('next', 2_500);
    await allAtOnce([by]);
    expect((await shop.get('next')).status.attention?.reason).toBe('RefundBrake');
  },
);

test('orders, captures and voids ask for no leave', async () => {
  const never = { admit: () => Promise.reject(new Error('asked')) } as unknown as RefundBrake;
  const by = shop.world.worker({ brake: never, clock: shop.clock });
  await shop.order('paid');
  await shop.order('held', { payment: { capture: 'manual' } });
  await allAtOnce([by]);
  expect((await shop.cancel('held')).status).toBe(202);
  await allAtOnce([by]);
  expect((await shop.get('paid')).status.phase).toBe('fulfilled');
  expect((await shop.get('held')).status.phase).toBe('cancelled');
});

describe('leave to send a refund', () => {
  const brake = (refunds: number): RefundBrake =>
    new RefundBrake(shop.world.db.database, { refunds, amounts: {} });

  test('asked for by many at once is given as often as allowed, and one of them is told that it closed', async () => {
    for (let round = 0; round < 5; round += 1) {
      await query('DELETE FROM money_out');
      await query('UPDATE provider_accounts SET refunds_braked_at = NULL');
      const answers = await Promise.all(
        ids('key', 50).map((key) => brake(7).admit('default', key, 100, 'EUR')),
      );
      expect(answers.filter(({ kind }) => kind === 'admitted')).toHaveLength(7);
      expect(answers.filter((answer) => answer.kind === 'braked' && answer.just_closed)).toHaveLength(1);
    }
  });

  test('stands for its key, on whichever worker, and says when there may be room', async () => {
    const admit = (key: string) => brake(2).admit('default', key, 100, 'EUR');
    await admit('first');
    await admit('second');
    await query(`UPDATE money_out SET at = at - interval '50 minutes' WHERE effect_key = 'first'`);
    expect(await admit('third')).toMatchObject({ kind: 'braked', wait_ms: expect.closeTo(600_000, -4) });
    // Sent once more, it takes its room for an hour from then on.
    expect((await Promise.all(['first', 'first', 'second'].map(admit))).map(({ kind }) => kind)).toEqual(
      Array(3).fill('admitted'),
    );
    expect(await admit('third')).toMatchObject({ kind: 'braked', wait_ms: expect.closeTo(3_600_000, -5) });
    await query(`UPDATE money_out SET at = at - interval '1 hour' WHERE effect_key = 'second'`);
    expect(await admit('third')).toEqual({ kind: 'admitted' });
    // Its hour is over, so it has to ask anew.
    expect(await admit('second')).toMatchObject({ kind: 'braked' });
  });

  test('for a resend takes what was sent before, also when more than an hour has passed and less is owed now', async () => {
    const by = new RefundBrake(shop.world.db.database, { refunds: 9, amounts: { EUR: 1_000 } });
    await by.admit('default', 'lost', 800, 'EUR');
    await query(`UPDATE money_out SET at = at - interval '20 hours'`);
    await by.admit('default', 'other', 300, 'EUR');
    // Its bytes say 800, whatever is owed now.
    expect(await by.admit('default', 'lost', 500, 'EUR')).toMatchObject({ kind: 'braked' });
    await query(`UPDATE money_out SET at = at - interval '1 hour' WHERE effect_key = 'other'`);
    expect(await by.admit('default', 'lost', 500, 'EUR')).toEqual({ kind: 'admitted' });
    expect(await by.admit('default', 'next', 201, 'EUR')).toMatchObject({ kind: 'braked' });
  });

  test('for little is none for much: a leave that was not used is asked for anew when the sum has grown', async () => {
    const by = new RefundBrake(shop.world.db.database, { refunds: 9, amounts: { EUR: 1_000 } });
    expect(await by.admit('default', 'key', 100, 'EUR')).toEqual({ kind: 'admitted' });
    expect(await by.admit('default', 'key', 1_001, 'EUR')).toMatchObject({ kind: 'braked' });
    expect(await by.admit('default', 'key', 1_000, 'EUR')).toEqual({ kind: 'admitted' });
    expect(await by.admit('default', 'other', 1, 'EUR')).toMatchObject({ kind: 'braked' });
  });

  describe('goes to whoever has waited for an hour before those that wait less long', () => {
    const by = (): RefundBrake =>
      new RefundBrake(shop.world.db.database, { refunds: 100, amounts: { EUR: 1_000 } });
    const kinds = async (...asked: [key: string, amount: number][]): Promise<string[]> => {
      const answers: string[] = [];
      for (const [key, amount] of asked) answers.push((await by().admit('default', key, amount, 'EUR')).kind);
      return answers;
    };
    const after = (time: string): Promise<unknown> =>
      query(
        `WITH sent AS (UPDATE money_out SET at = at - $1::interval)
        UPDATE money_waiting SET since = since - $1::interval, asked_at = asked_at - $1::interval`,
        [time],
      );

    test('a large one lets small ones pass for an hour, and is not starved by them after that', async () => {
      expect(await kinds(['a', 500], ['large', 900], ['b', 400])).toEqual(['admitted', 'braked', 'admitted']);
      await after('50 minutes');
      expect(await kinds(['large', 900], ['c', 100])).toEqual(['braked', 'admitted']);
      await after('11 minutes');
      // a and b have left the hour. Small ones that come now wait, although there would be room for them beside c …
      expect(await kinds(['d', 200], ['e', 50])).toEqual(['braked', 'braked']);
      expect((await by().admit('default', 'd', 200, 'EUR')) as { message: string }).toMatchObject({
        message: expect.stringContaining('Others have waited longer'),
      });
      // … and one that leaves the large one its room does not.
      await query(`DELETE FROM money_out WHERE effect_key = 'c'`);
      expect(await kinds(['f', 100], ['large', 900], ['d', 200])).toEqual(['admitted', 'admitted', 'braked']);
      await after('61 minutes');
      expect(await kinds(['g', 900], ['d', 200], ['e', 50], ['g', 900])).toEqual([
        'braked',
        'admitted',
        'admitted',
        'braked',
      ]);
    });

    test('the oldest first', async () => {
      expect(await kinds(['a', 1_000], ['first', 600], ['second', 600])).toEqual([
        'admitted',
        'braked',
        'braked',
      ]);
      await after('61 minutes');
      expect(await kinds(['second', 600], ['first', 600], ['second', 600])).toEqual([
        'braked',
        'admitted',
        'braked',
      ]);
      await after('61 minutes');
      expect(await kinds(['second', 600])).toEqual(['admitted']);
    });

    test('but keeps nothing for one that does not ask any more, or that never has room', async () => {
      expect(await kinds(['a', 1_000], ['gone', 900], ['never', 1_001])).toEqual([
        'admitted',
        'braked',
        'braked',
      ]);
      await after('61 minutes');
      await kinds(['never', 1_001]);
      expect(await kinds(['b', 500])).toEqual(['braked']);
      await after('90 minutes');
      await kinds(['never', 1_001]);
      expect(await kinds(['b', 500])).toEqual(['admitted']);
    });
  });

  test('has limits of its own for an account that sets them', async () => {
    await query(`INSERT INTO provider_accounts (account) VALUES ('small')`);
    const limits = { refunds: 9, amounts: { EUR: 1_000 } };
    const own = new Map([['small', { amounts: { EUR: 10 } }]]);
    const by = new RefundBrake(shop.world.db.database, limits, own);
    expect(await by.admit('default', 'a', 1_000, 'EUR')).toEqual({ kind: 'admitted' });
    expect(await by.admit('small', 'b', 11, 'EUR')).toMatchObject({
      message: expect.stringMatching(/0\.10 EUR within an hour by itself \(refund_brake in ACCOUNTS_FILE\)/),
    });
  });

  test('is needed by whoever records the intent: a worker that does not ask sends nothing', async () => {
    await fulfilled('deploy', 'beside');
    await refund('deploy', 2_500);
    const without = { admit: () => Promise.resolve({ kind: 'admitted' }) } as unknown as RefundBrake;
    const old = shop.world.worker({ brake: without, clock: shop.clock });
    await query('UPDATE order_operations SET next_attempt_at = now() WHERE next_attempt_at IS NOT NULL');
    const { claims } = await shop.world.passes.claim(10, old.worker, old.lease_ms, 1_000);
    await Promise.all(claims.map((claim) => reconcile(claim, old)));
    const broken = await shop.world.db.database.query(
      'SELECT operation_id, broken FROM order_operations WHERE broken > 0',
    );
    expect(broken).toEqual([{ operation_id: 'deploy', broken: 1 }]);
    expect((await shop.control.ledger('deploy')).refunds).toEqual([]);
    // One that asks takes it over after the pause.
    await query('UPDATE order_operations SET next_attempt_at = now() WHERE broken > 0');
    await allAtOnce([worker({})]);
    expect((await shop.control.ledger('deploy')).refunded).toBe(2_500);
  });

  test('is counted for each account by itself', async () => {
    await query(`INSERT INTO provider_accounts (account) VALUES ('other')`);
    expect(await brake(1).admit('default', 'a', 100, 'EUR')).toEqual({ kind: 'admitted' });
    expect(await brake(1).admit('other', 'b', 100, 'EUR')).toEqual({ kind: 'admitted' });
    expect(await brake(1).admit('other', 'c', 100, 'EUR')).toMatchObject({ kind: 'braked' });
  });
});
