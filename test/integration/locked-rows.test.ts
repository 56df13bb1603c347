import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { Sweep } from '../../src/reconciler/sweep.js';
import { AccountStore } from '../../src/store/account-store.js';
import { EventInbox } from '../../src/store/event-inbox.js';
import { until } from '../support/product.js';
import { aWorld, type World } from '../support/world.js';

/** Less than the ten seconds that a statement may wait for a lock, with room for a busy machine. */
const SOON_MS = 5_000;

/** A person's session, a backup, a migration that is stuck: somebody outside keeps rows locked. */
describe('whoever keeps a row locked', () => {
  let world: World;
  let somebody: Client;
  beforeAll(async () => {
    world = await aWorld();
  });
  afterAll(() => world.stop());
  beforeEach(async () => {
    somebody = new Client({ connectionString: world.db.url });
    await somebody.connect();
    await somebody.query('BEGIN');
  });
  afterEach(() => somebody.end());

  async function within<Result>(ms: number, work: Promise<Result>): Promise<Result> {
    const began = performance.now();
    const result = await work;
    expect(performance.now() - began).toBeLessThan(ms);
    return result;
  }
  const settled = async (ids: readonly string[]): Promise<boolean> => {
    const records = await world.store.findMany(ids);
    return records.length === ids.length && records.every(({ status }) => status.phase === 'fulfilled');
  };
  const many = (name: string, count: number): string[] =>
    Array.from({ length: count }, (_, index) => `${name} ${index}`);

  // One, and more than the connections of those that wait.
  test.each([1, 12])(
    '%i order(s): those of the same worker and webhooks of others go on, and then the locked ones',
    async (count) => {
      const locked = many(`locked of ${count}`, count);
      const others = many(`beside ${count}`, 20);
      const route = 'payment_intents.create';
      for (const operation_id of locked) {
        const match = { operation_id };
        await world.control.inject({ route, kind: 'delay_after', delay_ms: 800, match });
      }
      const sweep = new Sweep(
        world.worker(),
        { ring: () => undefined },
        { concurrency: 60, interval_ms: 50 },
      );
      const ticking = setInterval(() => void sweep.tick(), 50);
      try {
        await Promise.all(locked.map((id) => world.create(id)));
        await until(async () => {
          const journals = await Promise.all(locked.map((id) => world.store.attempts(id)));
          return journals.every((journal) => journal.at(-1)?.step === 'create_payment') || null;
        }, 'the calls of the orders to be locked');
        const lock = 'SELECT 1 FROM order_operations WHERE operation_id = ANY ($1) FOR UPDATE';
        await somebody.query(lock, [locked]);

        await Promise.all(others.map((id) => world.create(id)));
        const inbox = new EventInbox(world.db.database);
        const deliveries = others.map(async (operation_id, index) => {
          // Spread over the time in which the answers of the locked orders want to be written.
          await new Promise((resolve) => setTimeout(resolve, index * 100));
          const event = { account: 'default', event_id: `evt_${count}_${index}`, type: 'x', operation_id };
          const unknown = { livemode: null, provider_account: null, object_id: null, created_at: null };
          await within(2_000, inbox.receive({ ...event, ...unknown, payment_reference: null }));
        });
        await within(
          SOON_MS,
          until(async () => (await settled(others)) || null, 'the others to settle'),
        );
        await Promise.all(deliveries);
        const waiting = await world.store.findMany(locked);
        expect(waiting.map(({ provider_reference }) => provider_reference)).toEqual(locked.map(() => null));

        await somebody.query('ROLLBACK');
        await until(async () => (await settled(locked)) || null, 'the locked ones to settle', 20_000);
      } finally {
        clearInterval(ticking);
        await sweep.drain();
      }
      for (const id of [...locked, ...others]) {
        expect(await world.control.ledger(id)).toMatchObject({
          captured: 12_900,
          effects: { creates: 1, confirms: 1 },
          stock: { reserved: 1, committed: 1 },
          violations: [],
        });
      }
    },
    60_000,
  );

  test('an order that is being created: others that come with it are stored at once', async () => {
    await world.create('model');
    await somebody.query(
      `INSERT INTO order_operations (operation_id, account, labels, requested_by, created_at, updated_at, spec, first_spec,
         confirmation, payment_number, facts, status)
       SELECT 'twin', account, labels, requested_by, created_at, updated_at, spec || '{"order_id": "twin"}', first_spec,
         confirmation, payment_number, facts, status FROM order_operations WHERE operation_id = 'model'`,
    );
    const twin = world.create('twin');
    await within(2_000, Promise.all(many('with the twin', 10).map((id) => world.create(id))));
    await somebody.query('ROLLBACK');
    expect((await twin).operation_id).toBe('twin');
  });

  test('an account: nothing of it is claimed, and everything of others', async () => {
    await new AccountStore(world.db.database).register(['metered', 'out', 'free']);
    const accounts = ['metered', 'out', 'free'];
    for (const account of accounts) await world.create(`order of ${account}`, undefined, account);
    await world.db.database.query(
      `UPDATE provider_accounts SET rate = 100, tokens = 9, tokens_at = now(), rate_since = now() WHERE account = 'metered'`,
    );
    await world.db.database.query(
      `UPDATE provider_accounts SET breaker = 'open', reason = 'outage', since = now(), probe_at = now() WHERE account = 'out'`,
    );
    await somebody.query(`SELECT 1 FROM provider_accounts WHERE account IN ('metered', 'out') FOR UPDATE`);
    const claim = async (): Promise<string[]> => {
      const { claims } = await within(1_000, world.passes.claim(50, 'w', 60_000, 1_000));
      return claims.map(({ record }) => record.account).filter((account) => accounts.includes(account));
    };
    expect(await claim()).toEqual(['free']);
    await within(1_000, new AccountStore(world.db.database).relax(['metered', 'free']));
    await somebody.query('ROLLBACK');
    expect((await claim()).sort()).toEqual(['metered', 'out']);
  });

  test('a lease of a process that is gone: its others are free at once', async () => {
    for (const id of many('left', 3)) await world.create(id);
    await world.passes.claim(50, 'gone/1', 60_000, 1_000);
    await somebody.query(`SELECT 1 FROM order_operations WHERE operation_id = 'left 1' FOR UPDATE`);
    expect(await within(1_000, world.passes.freeLeasesOf('gone/'))).toBeGreaterThanOrEqual(2);
    const { claims } = await world.passes.claim(50, 'heir', 60_000, 1_000);
    const ids = claims.map(({ record }) => record.operation_id).filter((id) => id.startsWith('left'));
    expect(ids.sort()).toEqual(['left 0', 'left 2']);
  });
});
