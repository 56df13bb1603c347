/** The disk of Postgres is full: what cannot be written down is refused or not begun, and nothing is done twice when there is room again. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { aBody, pathOf } from '../support/api.js';
import { aShop, type Shop } from '../support/shop.js';

let shop: Shop;
beforeAll(async () => {
  shop = await aShop();
  // Postgres itself answers as it does without room for another page. A row says which writes meet it.
  await query(`CREATE TABLE full_disk (tables text[], step text, operation text)`);
  await query(`
    CREATE FUNCTION disk_is_full() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF EXISTS (SELECT 1 FROM full_disk WHERE TG_TABLE_NAME || ' ' || TG_OP = ANY (tables)
          AND (step IS NULL OR step = to_jsonb(NEW) ->> 'step')) THEN
        RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
      END IF;
      RETURN NEW;
    END $$`);
  for (const table of ['order_operations', 'operation_attempts', 'operation_events', 'provider_events'])
    await query(
      `CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION disk_is_full()`,
    );
});
beforeEach(() => makeRoom());
afterAll(() => shop.stop());

const query = (sql: string, parameters: readonly unknown[] = []): Promise<unknown[]> =>
  shop.world.db.database.query(sql, parameters);
const fill = (tables: readonly string[], step: string | null = null): Promise<unknown> =>
  query('INSERT INTO full_disk (tables, step) VALUES ($1, $2)', [tables, step]);
const makeRoom = (): Promise<unknown> => query('DELETE FROM full_disk');

const EVERYTHING = ['order_operations', 'operation_attempts', 'operation_events', 'provider_events'].flatMap(
  (table) => [`${table} INSERT`, `${table} UPDATE`],
);

test('a wish that cannot be stored is refused for now, whatever it is, and counts when it is sent again', async () => {
  await shop.order('stored');
  await shop.settle('stored');
  await shop.order('open');
  await fill(EVERYTHING);
  const wishes = [
    () => shop.call('POST', '/v1/operations', { body: aBody('new') }),
    () => shop.cancel('open'),
    () => shop.change('open', { amount: { value: 9_000, currency: 'EUR' } }),
    () =>
      shop.call('POST', pathOf('stored', '/refunds'), {
        body: { refund_id: 'r1', amount: 1_000 },
      }),
  ];
  for (const wish of wishes) {
    const answer = await wish();
    expect([answer.status, answer.json<{ code: string }>().code]).toEqual([503, 'unavailable']);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  }
  await expect(shop.hook('stored', 'payment_intent.succeeded')).resolves.toBeUndefined();
  expect((await shop.get('open')).spec).toMatchObject({ desired: 'fulfilled', amount: { value: 10_000 } });
  expect((await shop.call('GET', pathOf('new'))).status).toBe(404);

  await makeRoom();
  expect((await shop.call('POST', '/v1/operations', { body: aBody('new') })).status).toBe(201);
  expect(await shop.hook('stored', 'payment_intent.succeeded')).toBe('woken');
  expect((await shop.cancel('open')).status).toBe(200);
  expect((await shop.get('open')).status.phase).toBe('cancelled');
  expect((await shop.settle('new')).status.phase).toBe('fulfilled');
  expect((await shop.control.ledger('open')).captured).toBe(0);
  expect(await shop.control.ledger('stored')).toMatchObject({
    captured: 10_000,
    refunded: 0,
    violations: [],
  });
}, 60_000);

describe('without room for', () => {
  const STEPS = [
    'reserve_inventory',
    'create_payment',
    'confirm_payment',
    'commit_inventory',
    'create_refund',
  ];
  const MOMENTS = [
    { what: 'the intent', tables: ['operation_attempts INSERT'], sent: false },
    { what: 'the answer', tables: ['operation_attempts UPDATE'], sent: true },
  ];
  const rows = STEPS.flatMap((step) => MOMENTS.map((moment) => ({ step, ...moment })));

  test.each(rows)(
    '$what of $step, it is done once',
    async ({ what, step, tables, sent }) => {
      const id = `${what} of ${step}`;
      const name = `${id}/worker`;
      const worker = shop.world.worker({ worker: name });
      await shop.order(id);
      if (step === 'create_refund') {
        await shop.settle(id);
        await refund(id);
      }
      await fill(tables, step);
      await expect(shop.world.run(worker)).rejects.toThrow(
        'the database is not available: could not extend file: No space left on device',
      );
      const attempts = await shop.world.store.attempts(id);
      const tried = attempts.filter((attempt) => attempt.step === step);
      expect(tried.map(({ outcome }) => outcome)).toEqual(sent ? [null] : []);

      await makeRoom();
      await shop.world.passes.freeLeasesOf(`${id}/`);
      await shop.settle(id);
      if (step !== 'create_refund') await refund(id);
      const done = await shop.settle(id);
      expect(done.status).toMatchObject({
        phase: 'fulfilled',
        attention: null,
        payment: { captured: 10_000, refunded: 1_000 },
        inventory: { state: 'committed' },
      });
      expect(await shop.control.ledger(id)).toMatchObject({
        captured: 10_000,
        refunded: 1_000,
        effects: { creates: 1, confirms: 1, refunds: 1 },
        violations: [],
      });
    },
    60_000,
  );

  async function refund(id: string): Promise<void> {
    const body = { refund_id: 'r1', amount: 1_000 };
    expect((await shop.call('POST', pathOf(id, '/refunds'), { body })).status).toBe(202);
  }
});
