/** Housekeeping: what goes when its time is over, what never goes, and that the money of an order is answered for after it. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ERASURES } from '../../src/operation/personal-data.js';
import { KEPT_DATA, RETENTION_RULES } from '../../src/retention/rules.js';
import { aBody, operation, pathOf } from '../support/api.js';
import { aDesk } from '../support/desk.js';
import { keeping, settledAgo } from '../support/housekeeping.js';
import { aSweptShop, type Swept } from '../support/orphans.js';

let shop: Swept;
beforeAll(async () => {
  shop = await aSweptShop();
});
afterAll(() => shop.stop());

const ABOUT_NO_ORDER = [
  'account_events',
  'account_steps',
  'money_out',
  'money_waiting',
  'orphan_sweeps',
  'provider_accounts',
  'settled_counts',
];

const NOTHING = { webhooks: 0, previews: 0, lists: 0, findings: 0, journals: 0, personal_data: 0 };

/** Rows beside an order: attempts, lines of the timeline, commands, triage. */
async function beside(id: string): Promise<number[]> {
  const [row] = await shop.query<{ rows: number[] }>(
    `SELECT ARRAY[
       (SELECT count(*) FROM operation_attempts x WHERE x.operation = o.id),
       (SELECT count(*) FROM operation_events x WHERE x.operation = o.id),
       (SELECT count(*) FROM commands x WHERE x.operation = o.id),
       (SELECT count(*) FROM operation_triage x WHERE x.operation = o.id)]::int[] AS rows
     FROM order_operations o WHERE operation_id = $1`,
    [id],
  );
  return row?.rows ?? [];
}
async function fulfilled(id: string, spec: Record<string, unknown> = {}): Promise<void> {
  await shop.order(id, spec);
  expect((await shop.settle(id)).status.phase).toBe('fulfilled');
}
/** With a note, a command and the journal of its payment. */
async function lived(id: string): Promise<void> {
  await fulfilled(id, { payment: { customer: 'cus_Keep' } });
  await shop.as('desk')('PUT', pathOf(id, '/triage'), { body: { assignee: 'ana', note: 'a note' } });
  await aDesk(shop).command(id, 'pause');
  await aDesk(shop).command(id, 'resume');
  await shop.settle(id);
  await shop.query(
    `UPDATE commands SET carried_out_at = now() - interval '2 days', expires_at = now() - interval '2 days'`,
  );
}
const customerOf = async (id: string): Promise<string | null> => (await shop.get(id)).spec.payment.customer;

beforeEach(async () => {
  // What former tests left is no concern of the next.
  await shop.query(`UPDATE order_operations SET next_attempt_at = now() + interval '1 year'`);
});

test('every table has its rule, and every column of them is erased or kept for a reason', async () => {
  const rows = await shop.query<{ name: string; columns: string[] }>(
    `SELECT table_name AS name, array_agg(column_name::text) AS columns FROM information_schema.columns
     JOIN information_schema.tables USING (table_schema, table_name)
     WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name <> 'schema_migrations' GROUP BY 1 ORDER BY 1`,
  );
  expect(RETENTION_RULES.map(({ table }) => table).sort()).toEqual(rows.map(({ name }) => name).sort());
  const erasures: Readonly<Record<string, object>> = ERASURES;
  // What is about orders; the others are about accounts, or numbers.
  const about = new Set([...Object.keys(erasures), ...KEPT_DATA.map(({ table }) => table)]);
  expect(rows.map(({ name }) => name).filter((name) => !about.has(name))).toEqual(ABOUT_NO_ORDER);
  for (const { name, columns } of rows.filter((row) => about.has(row.name))) {
    const kept = KEPT_DATA.filter(({ table }) => table === name).flatMap((row) => row.columns);
    const lines = name === 'operation_events' ? ['message', 'data'] : [];
    expect([name, [...Object.keys(erasures[name] ?? {}), ...kept, ...lines].sort()]).toEqual([
      name,
      columns.sort(),
    ]);
  }
});

describe('an order that is watched no longer', () => {
  test('loses its personal data first, its journal later, and never its row: money that comes is given back', async () => {
    await lived('old');
    await shop.cancel('old');
    expect((await shop.settle('old')).status).toMatchObject({
      phase: 'cancelled',
      payment: { refunded: 10_000 },
    });
    const before = await shop.get('old');

    await settledAgo(shop, 'old', 180 + 364);
    expect(await keeping(shop).round()).toEqual(NOTHING);
    await settledAgo(shop, 'old', 180 + 366);
    expect(await keeping(shop).round()).toEqual({ ...NOTHING, personal_data: 1 });
    expect(await customerOf('old')).toBeNull();
    expect(await shop.timeline('old')).toEqual(
      expect.arrayContaining(['note_added', 'personal_data_erased']),
    );
    expect((await beside('old'))[0]).toBeGreaterThan(3);
    expect(await keeping(shop).round()).toEqual(NOTHING);

    await settledAgo(shop, 'old', 731);
    expect(await keeping(shop).round()).toEqual({ ...NOTHING, journals: 1 });
    expect(await beside('old')).toEqual([0, 2, 0, 0]);
    expect(await shop.timeline('old')).toEqual(['personal_data_erased', 'journal_deleted']);
    expect(await keeping(shop).round()).toEqual(NOTHING);

    // Read anew by the provider's word: nothing is sent, nothing is made twice.
    const sent = await shop.control.journalSequence();
    const settled = await shop.settle('old');
    expect(settled.status.payment).toMatchObject({ captured: 10_000, refunded: 10_000 });
    expect(settled.spec.amount).toEqual(before.spec.amount);
    expect(settled.status.provider_reference).toBe(before.status.provider_reference);
    expect(await shop.control.journal({ after: sent, method: 'POST' })).toEqual([]);
    // The same create is the same order, still.
    const again = await shop.call('POST', '/v1/operations', {
      body: aBody('old', { lines: [{ sku: 'tea', quantity: 1 }], payment: { customer: 'cus_Keep' } }),
    });
    expect(operation(again, 200).status.phase).toBe('cancelled');
    expect(await shop.control.ledger('old')).toMatchObject({
      effects: { creates: 1, refunds: 1 },
      violations: [],
    });
  });

  test('paid after all without a journal: the money goes back once', async () => {
    await shop.order('late', { payment: { payment_method: 'pm_card_threeDSecure2Required' } });
    await shop.settle('late');
    await shop.cancel('late');
    await shop.settle('late');
    await settledAgo(shop, 'late', 731);
    expect(await keeping(shop, { personal_data: null }).round()).toEqual({ ...NOTHING, journals: 1 });
    await shop.control.dashboard('pay_late', { operation_id: 'late' });
    expect(await shop.hook('late', 'payment_intent.succeeded')).toBe('woken');
    expect((await shop.settle('late')).status).toMatchObject({
      phase: 'cancelled',
      payment: { captured: 10_000, refunded: 10_000 },
    });
    expect(await shop.control.ledger('late')).toMatchObject({ effects: { refunds: 1 }, violations: [] });
    // Settled anew, it has its time again, and then goes again.
    expect(await keeping(shop).round()).toEqual(NOTHING);
    await settledAgo(shop, 'late', 731);
    await shop.query(
      `UPDATE order_operations SET journal_deleted_at = now() - interval '800 days' WHERE operation_id = 'late'`,
    );
    expect(await keeping(shop, { personal_data: null }).round()).toMatchObject({ journals: 1 });
    expect((await beside('late'))[0]).toBe(0);
  });

  test('is found when a later refund of it fails, and a person can send it once more', async () => {
    await fulfilled('refunded', { payment: { payment_method: 'pm_card_refundFail' } });
    await shop.call('POST', pathOf('refunded', '/refunds'), { body: { refund_id: 'r1', amount: 3_000 } });
    await shop.settle('refunded');
    await settledAgo(shop, 'refunded', 731);
    expect(await keeping(shop).round()).toMatchObject({ journals: 1, personal_data: 1 });
    await shop.control.dashboard('fail_refund', { operation_id: 'refunded' });
    expect(await shop.hook('refunded', 'refund.failed')).toBe('woken');
    expect((await shop.settle('refunded')).status.attention?.reason).toBe('RefundFailed');
    await aDesk(shop).command('refunded', 'retry_refund', { refund_id: 'r1' });
    // The journal knows the former key no longer; the provider does, and answers as it did: then the next key is used.
    await shop.settle('refunded');
    expect((await shop.get('refunded')).status.payment).toMatchObject({ refunded: 3_000 });
    expect(await shop.control.ledger('refunded')).toMatchObject({ refunded: 3_000, violations: [] });
  });
});

describe('nothing goes', () => {
  const rows: readonly { name: string; changes: string; beside?: string }[] = [
    { name: 'while it is not settled', changes: `settled_at = NULL, status = status - 'settled_at'` },
    {
      name: 'while it needs a person',
      changes: `status = status || '{"attention": {"reason": "DisputedAfterRefund", "message": "x", "since": "2026-01-01T00:00:00.000Z"}}'`,
    },
    { name: 'while it is watched', changes: `next_attempt_at = now() + interval '1 day'` },
    {
      name: 'while a finding of it is open',
      changes: '',
      beside: `INSERT INTO findings (account, kind, reference, operation_id, state, amount, currency, message, evidence, suggested,
        suspected_at, opened_at, first_seen_at, last_seen_at, check_at)
        VALUES ('default', 'money_left', 'pi_' || $1, $1, 'open', 1, 'EUR', 'x', '{}', 'dismiss', now(), now(), now(), now(), now())`,
    },
    {
      name: 'while a command waits for a second person',
      changes: '',
      beside: `INSERT INTO commands (operation, command, parameters, resource_version, evidence, bound, effects, approval_needed,
        state, previewed_by, expires_at, reason, requested_by, requested_at)
        SELECT id, 'retry', '{}', 1, '{}', '{}', '[]', true, 'awaiting_approval', 'ana', now() + interval '1 hour', 'x', 'ana', now()
        FROM order_operations WHERE operation_id = $1`,
    },
  ];
  test.each(rows)('$name', async ({ name, changes, beside: more }) => {
    await fulfilled(name, { payment: { customer: 'cus_Keep' } });
    await settledAgo(shop, name, 4_000);
    if (changes !== '')
      await shop.query(`UPDATE order_operations SET ${changes} WHERE operation_id = $1`, [name]);
    if (more !== undefined) await shop.query(more, [name]);
    const before = await beside(name);
    expect(await keeping(shop).round()).toEqual(NOTHING);
    expect(await beside(name)).toEqual(before);
    expect(await customerOf(name)).toBe('cus_Keep');
  });

  test('where it is configured so', async () => {
    await fulfilled('for ever');
    await settledAgo(shop, 'for ever', 10_000);
    expect(
      await keeping(shop, { webhooks: null, findings: null, journal: null, personal_data: null }).round(),
    ).toEqual(NOTHING);
  });
});

test('the inbox forgets old webhooks, not those of an order that is not done', async () => {
  await fulfilled('told');
  await shop.hook('told', 'payment_intent.succeeded');
  await shop.order('untold', { payment: { payment_method: 'pm_card_threeDSecure2Required' } });
  await shop.settle('untold');
  await shop.hook('untold', 'payment_intent.requires_action');
  const inbox = async (): Promise<(string | null)[]> =>
    (
      await shop.query<{ operation_id: string | null }>(
        `SELECT operation_id FROM provider_events WHERE operation_id IN ('told', 'untold') ORDER BY 1`,
      )
    ).map(({ operation_id }) => operation_id);
  await shop.query(`UPDATE provider_events SET received_at = now() - interval '29 days'`);
  expect(await keeping(shop).round()).toEqual(NOTHING);
  await shop.query(`UPDATE provider_events SET received_at = now() - interval '31 days'`);
  expect((await keeping(shop).round()).webhooks).toBeGreaterThan(0);
  expect(await inbox()).toEqual(['untold']);
  // Told once more, it only looks once more.
  expect(await shop.hook('told', 'payment_intent.succeeded')).toBe('woken');
  expect((await shop.settle('told')).status.phase).toBe('fulfilled');
  expect(await shop.control.ledger('told')).toMatchObject({ effects: { creates: 1 }, violations: [] });
});

test('previews that nobody confirmed go, also of an order that lives; what was asked for stays', async () => {
  await shop.order('lives', { payment: { payment_method: 'pm_card_threeDSecure2Required' } });
  await shop.settle('lives');
  await aDesk(shop).preview('lives', 'pause');
  await aDesk(shop).command('lives', 'pause');
  await shop.query(`UPDATE commands SET expires_at = now() - interval '25 hours'`);
  expect((await keeping(shop).round()).previews).toBeGreaterThan(0);
  expect((await beside('lives'))[2]).toBe(1);
});

test('a list of commands goes when nobody confirmed it, or when the journals of all its orders are gone', async () => {
  await fulfilled('listed');
  const insert = (id: string, state: string): Promise<unknown> =>
    shop.query(
      `WITH b AS (INSERT INTO bulk_commands (bulk_id, command, parameters, excluded, approval_needed, state, previewed_by, expires_at,
         reason, stop_after_failures, requested_by, requested_by_lead, requested_at, ended_at)
       SELECT $1, 'retry', '{}', '[]', false, $2, 'ana', t, CASE WHEN asked THEN 'x' END, CASE WHEN asked THEN 1 END,
         CASE WHEN asked THEN 'ana' END, CASE WHEN asked THEN false END, CASE WHEN asked THEN t END, CASE WHEN asked THEN t END
       FROM (SELECT now() - interval '800 days' AS t, $2 = 'ended' AS asked) t RETURNING bulk_id)
       INSERT INTO commands (operation, command, parameters, resource_version, evidence, bound, effects, approval_needed,
         previewed_by, expires_at, bulk_id, place, amount, currency, refused)
       SELECT o.id, 'retry', '{}', 1, '{}', '{}', '[]', false, 'ana', now() - interval '800 days', b.bulk_id, 1, 1, 'EUR',
         CASE WHEN $2 = 'ended' THEN '{"problem": "operation_changed", "why": "x"}'::jsonb END
       FROM b, order_operations o WHERE o.operation_id = 'listed'`,
      [id, state],
    );
  const lists = async (): Promise<string[]> =>
    (await shop.query<{ bulk_id: string }>('SELECT bulk_id FROM bulk_commands ORDER BY 1')).map(
      ({ bulk_id }) => bulk_id,
    );
  await insert('asked', 'ended');
  await insert('never asked', 'previewed');
  expect(await keeping(shop).round()).toMatchObject({ lists: 1, previews: 0 });
  // Why a row of it was refused is told as long as its order's journal.
  expect([await lists(), (await beside('listed'))[2]]).toEqual([['asked'], 1]);
  await settledAgo(shop, 'listed', 731);
  expect(await keeping(shop).round()).toMatchObject({ lists: 0, journals: 1 });
  expect(await keeping(shop).round()).toMatchObject({ lists: 1 });
  expect(await lists()).toEqual([]);
});

test('findings that were resolved go with their decisions and journal; decisions under way, suspicions, open ones, and those of watched orders stay', async () => {
  await fulfilled('watched');
  const insert = (
    reference: string,
    state: string,
    operation_id: string | null,
    decision = 'observed',
  ): Promise<unknown> =>
    shop.query(
      `WITH f AS (INSERT INTO findings (account, kind, reference, operation_id, state, amount, currency, message, evidence, suggested,
         suspected_at, opened_at, first_seen_at, last_seen_at, resolved_at, check_at)
       SELECT 'default', 'stray_unconfirmed', $1, $3, $2, 1, 'EUR', 'x', '{}', 'dismiss', t, t, t, t,
         CASE WHEN $2 = 'resolved' THEN t END, CASE WHEN $2 <> 'resolved' THEN t END
       FROM (SELECT now() - interval '401 days' AS t) t RETURNING finding_id)
       , c AS (INSERT INTO finding_commands (finding_id, account, reference, command, resource_version, evidence, bound, effects,
         approval_needed, state, previewed_by, expires_at, reason, requested_by, requested_at, carried_out_at, due_at, outcome)
       SELECT finding_id, 'default', $1, 'check_provider', 1, '{}', '{}', '[]', false, $4, 'desk', now(), 'r', 'desk', now(),
         CASE WHEN $4 IN ('accepted', 'observed') THEN now() END, CASE WHEN $4 = 'accepted' THEN now() END, CASE WHEN $4 = 'observed' THEN '{}'::jsonb END FROM f RETURNING preview_id)
       INSERT INTO finding_attempts (finding_id, step, target, ordinal, effect_key, parameters, worker, started_at, command)
       SELECT finding_id, 'cancel_payment', $1, 1, $1, '{}', 'w', now(), preview_id FROM f, c`,
      [reference, state, operation_id, decision],
    );
  await insert('pi_gone', 'resolved', null);
  await insert('pi_open', 'open', null);
  await insert('pi_suspected', 'suspected', null);
  await insert('pi_watched', 'resolved', 'watched');
  await insert('pi_decided', 'resolved', null, 'accepted');
  // Nobody approved it in time, and nobody can any more.
  await insert('pi_lapsed', 'resolved', null, 'awaiting_approval');
  expect(await keeping(shop).round()).toMatchObject({ findings: 2 });
  const left = await shop.query<{ reference: string; attempts: number }>(
    `SELECT f.reference, count(a.*)::int AS attempts FROM findings f LEFT JOIN finding_attempts a USING (finding_id)
     WHERE f.reference LIKE 'pi\\_%' AND f.reference IN ('pi_gone', 'pi_lapsed', 'pi_open', 'pi_suspected', 'pi_watched', 'pi_decided') GROUP BY 1 ORDER BY 1`,
  );
  expect(left).toEqual(
    ['pi_decided', 'pi_open', 'pi_suspected', 'pi_watched'].map((reference) => ({ reference, attempts: 1 })),
  );
});

test('a row that somebody holds is left to a later round, and holds up nobody', async () => {
  await fulfilled('held');
  await fulfilled('free');
  await settledAgo(shop, 'held', 900);
  await settledAgo(shop, 'free', 900);
  const { Client } = await import('pg');
  const other = new Client({ connectionString: shop.world.db.url });
  await other.connect();
  try {
    await other.query('BEGIN');
    await other.query(`SELECT 1 FROM order_operations WHERE operation_id = 'held' FOR UPDATE`);
    expect(await keeping(shop).round()).toMatchObject({ journals: 1, personal_data: 1 });
    expect(await beside('free')).toEqual([0, 2, 0, 0]);
    await other.query('COMMIT');
  } finally {
    await other.end();
  }
  expect(await keeping(shop).round()).toMatchObject({ journals: 1, personal_data: 1 });
});

test('rounds at once share the work, and none of it is told twice', async () => {
  const ids = Array.from({ length: 6 }, (_, at) => `shared ${at}`);
  for (const id of ids) await fulfilled(id);
  for (const id of ids) await settledAgo(shop, id, 900);
  const rounds = await Promise.all([keeping(shop).round(), keeping(shop).round(), keeping(shop).round()]);
  expect(rounds.reduce((sum, { journals }) => sum + journals, 0)).toBe(6);
  expect(rounds.reduce((sum, { personal_data }) => sum + personal_data, 0)).toBe(6);
  for (const id of ids)
    expect((await shop.timeline(id)).sort()).toEqual(['journal_deleted', 'personal_data_erased']);
});

test('a kind that fails keeps none of the others', async () => {
  await fulfilled('others');
  await settledAgo(shop, 'others', 900);
  await shop.query('ALTER TABLE provider_events RENAME TO provider_events_away');
  try {
    expect(await keeping(shop).round()).toMatchObject({ webhooks: 0, journals: 1, personal_data: 1 });
  } finally {
    await shop.query('ALTER TABLE provider_events_away RENAME TO provider_events');
  }
});
