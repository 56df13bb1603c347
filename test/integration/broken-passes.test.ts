import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { toOperationOut } from '../../src/api/operations/representation.js';
import { collectStatistics } from '../../src/store/statistics.js';
import type { OperationRecord } from '../../src/store/record.js';
import { aSpec } from '../support/operations.js';
import { until } from '../support/product.js';
import { aWorld, TEST_POLICY, type World } from '../support/world.js';

const POLICY = { ...TEST_POLICY, retry_limit: 3, resync_interval_ms: 60_000 };

/** A record that no pass comes to an end with is shown to people, tried slowly, and in nobody's way. */
describe('a record over which passes break off', () => {
  let world: World;
  beforeAll(async () => {
    world = await aWorld(POLICY);
  });
  afterAll(() => world.stop());

  const query = <Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> =>
    world.db.database.query<Row>(sql, parameters);
  const rowOf = async (id: string): Promise<Record<string, unknown> | undefined> =>
    (
      await query<Record<string, unknown>>(
        `SELECT broken, lease_holder, next_attempt_at > now() + interval '30 seconds' AS slow
         FROM order_operations WHERE operation_id = $1`,
        [id],
      )
    )[0];
  const told = async (id: string): Promise<unknown[]> =>
    (await world.store.events(id))
      .filter(({ type }) => type.startsWith('attention'))
      .map(({ type, data }) => [type, data?.['reason'] ?? null]);

  /** Passes go on, in their own time, until a person is told. */
  async function untilTold(id: string): Promise<OperationRecord> {
    return until(async () => {
      await world.run();
      const record = await world.get(id);
      return record.status.attention === null ? null : record;
    }, 'a person to be told');
  }

  async function recovers(id: string): Promise<void> {
    await world.hurry(id);
    const record = await until(async () => {
      await world.run();
      const one = await world.get(id);
      return one.status.settled_at === null ? null : one;
    }, 'it to settle');
    expect(record.status).toMatchObject({ phase: 'fulfilled', attention: null });
    expect(await rowOf(id)).toMatchObject({ broken: 0, lease_holder: null });
    expect(await told(id)).toEqual([
      ['attention_needed', 'PassBroken'],
      ['attention_resolved', null],
    ]);
    expect(await world.control.ledger(id)).toMatchObject({
      captured: 12_900,
      refunded: 0,
      effects: { creates: 1, confirms: 1 },
      violations: [],
    });
  }

  const POISONS = [
    {
      name: 'facts of another version',
      spoil: `UPDATE order_operations SET facts = '{"version": 9, "budget": {"used": "none"}}' WHERE operation_id = $1`,
      repair: `UPDATE order_operations SET facts =
        (SELECT facts FROM order_operations WHERE operation_id = 'never looked at') WHERE operation_id = $1`,
      error: 'TypeError',
    },
    {
      name: 'a time that no date can hold',
      spoil: `UPDATE order_operations SET created_at = 'infinity' WHERE operation_id = $1`,
      repair: 'UPDATE order_operations SET created_at = updated_at WHERE operation_id = $1',
      error: 'RangeError',
    },
  ];

  test.each(POISONS.map((poison) => [poison.name, poison] as const))(
    '%s: a person is told, others settle at once, and it goes on when that is repaired',
    async (name, { spoil, repair, error }) => {
      await world.create('never looked at').catch(() => undefined);
      await query(
        `UPDATE order_operations SET next_attempt_at = NULL WHERE operation_id = 'never looked at'`,
      );
      await world.create(name);
      await query(spoil, [name]);
      const others = [1, 2, 3, 4].map((index) => `${name}, beside ${index}`);
      for (const id of others) await world.create(id);

      expect((await untilTold(name)).status).toMatchObject({
        condition: 'PassBroken',
        attention: { reason: 'PassBroken', message: `3 passes in a row broke off: ${error}.` },
      });
      expect(await rowOf(name)).toMatchObject({ broken: 3, lease_holder: null, slow: true });
      const phases = await world.store.findMany(others);
      expect(phases.map(({ status }) => status.phase)).toEqual(others.map(() => 'fulfilled'));
      expect((await collectStatistics(world.db.database, ['default'])).repeated_failures).toBe(1);
      expect((await collectStatistics(world.db.database, ['default'])).attention.get('PassBroken')).toBe(1);
      expect(await world.control.ledger(name)).toMatchObject({ captured: 0, intents: [] });

      // Once more: nobody is told twice, and no reader sees a difference.
      const { resource_version } = await world.get(name);
      await world.hurry(name);
      await world.run();
      expect(await rowOf(name)).toMatchObject({ broken: 4, slow: true });
      expect((await world.get(name)).resource_version).toBe(resource_version);

      await query(repair, [name]);
      await recovers(name);
    },
    30_000,
  );

  test('an answer that Postgres refuses: its money stands still, and moves once when that is repaired', async () => {
    const id = 'refused';
    await query(`ALTER TABLE order_operations ADD CONSTRAINT odd CHECK (operation_id <> 'refused'
      OR provider_reference IS NULL)`);
    await world.create(id);
    expect((await untilTold(id)).status.attention).toMatchObject({
      reason: 'PassBroken',
      message: '3 passes in a row broke off: DatabaseError 23514.',
    });
    expect(await world.control.ledger(id)).toMatchObject({ effects: { creates: 1, confirms: 0 } });
    await query('ALTER TABLE order_operations DROP CONSTRAINT odd');
    await recovers(id);
  }, 30_000);

  test('facts that cannot be read are shown as nothing known, and spoil no list', async () => {
    await world.create('shown');
    await query(`UPDATE order_operations SET facts = '{"version": 9}' WHERE operation_id = 'shown'`);
    const page = await world.store.list({ limit: 50 });
    const shown = page?.items
      .map((record) => toOperationOut(record, POLICY))
      .find(({ operation_id }) => operation_id === 'shown');
    expect(shown?.status).toMatchObject({
      payment: { state: 'unknown' },
      money_moved: { verdict: 'unknown' },
    });
    await query(`UPDATE order_operations SET next_attempt_at = NULL WHERE operation_id = 'shown'`);
  });

  test('a payment of ours that another order has already: neither is touched, and a person is told', async () => {
    const id = 'second';
    await world.create('first', aSpec({ order_id: 'first' }));
    await query(`UPDATE order_operations SET next_attempt_at = NULL WHERE operation_id = 'first'`);
    const match = { operation_id: id };
    await world.control.inject({
      route: 'payment_intents.create',
      kind: 'delay_after',
      delay_ms: 500,
      match,
    });
    await world.create(id);
    const passes = world.run();
    const reference = await until(
      async () => (await world.control.ledger(id)).intents[0]?.id ?? null,
      'the payment',
    );
    await query(`UPDATE order_operations SET provider_reference = $1 WHERE operation_id = 'first'`, [
      reference,
    ]);
    await passes;

    const record = await world.settle(id);
    expect(record).toMatchObject({ provider_reference: null, facts: { payment: { taken_by: 'first' } } });
    expect(record.status.attention).toMatchObject({
      reason: 'PaymentMismatch',
      message: 'The payment serves the operation "first" already.',
    });
    // The next passes respect it, although the journal tells of a payment.
    await world.hurry(id);
    await world.run();
    expect(await world.get(id)).toMatchObject({
      provider_reference: null,
      facts: { payment: record.facts.payment },
      status: record.status,
    });
    expect(await rowOf(id)).toMatchObject({ broken: 0, lease_holder: null });
    expect((await world.store.attempts(id)).map(({ step, outcome }) => [step, outcome])).toEqual([
      ['reserve_inventory', 'done'],
      ['create_payment', 'done'],
    ]);
    expect(toOperationOut(record, POLICY).status).toMatchObject({ money_moved: { verdict: 'unknown' } });
    expect(await world.control.ledger(id)).toMatchObject({
      captured: 0,
      effects: { creates: 1, confirms: 0 },
    });
  }, 30_000);
});
