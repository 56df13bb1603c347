/** Erasure of personal data: nothing of it is left in any table, and the money is watched and answered for as before. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Eraser } from '../../src/retention/eraser.js';
import { ErasureStore } from '../../src/store/erasure-store.js';
import { aBody, operation, pathOf, problem, refusal } from '../support/api.js';
import { aDesk } from '../support/desk.js';
import { aSweptShop, type Swept } from '../support/orphans.js';
import { HOUR } from '../support/shop.js';
import { TEST_POLICY } from '../support/world.js';

let shop: Swept;
beforeAll(async () => {
  shop = await aSweptShop();
});
afterAll(() => shop.stop());

const DAY = 24 * HOUR;
const BODY = { reason: 'consent_withdrawn' };
/** In every text that a caller, a person or the provider may fill. */
const NAME = 'Erika Mustermann';
const PERSONAL = {
  payment: {
    payment_method: 'pm_card_mastercard',
    customer: 'cus_Mustermann',
    return_url: 'https://shop.example/Erika%20Mustermann',
  },
};
const bodyOf = (id: string): Record<string, unknown> => ({
  ...aBody(id, { lines: [{ sku: 'tea', quantity: 1 }], ...PERSONAL }),
  labels: { customer: NAME },
});

const erase = (id: string, by: Parameters<Swept['as']>[0] = 'lead', body: object = BODY) =>
  shop.as(by)('POST', pathOf(id, '/erasure'), { body });
/** Keys, previews and commands are older than a day. */
const aDayLater = async (): Promise<void> => {
  await shop.query(`UPDATE operation_attempts SET started_at = started_at - interval '2 days'`);
  await shop.query(
    `UPDATE commands SET expires_at = expires_at - interval '2 days', carried_out_at = carried_out_at - interval '2 days'`,
  );
};
/** Every row of every table, as text. */
async function everything(): Promise<string> {
  const tables = await shop.query<{ name: string }>(
    `SELECT format('%I', table_name) AS name FROM information_schema.tables
     WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
  );
  const rows = await Promise.all(
    tables.map(({ name }) => shop.query<{ text: string }>(`SELECT t::text AS text FROM ${name} t`)),
  );
  return rows
    .flat()
    .map(({ text }) => text)
    .join('\n');
}
/** What of a person is still there. */
const PERSONAL_TEXT = /\bpm_\w+|\bcus_\w+|[^\s"]*(?:Erika|Mustermann)[^\s"]*/g;
const traces = async (of = PERSONAL_TEXT): Promise<string[]> => (await everything()).match(of) ?? [];

test('after erasure no table knows the person; keys, amounts, references and times are as they were', async () => {
  const desk = aDesk(shop);
  const { labels: named } = bodyOf('whole');
  const declined = { ...PERSONAL.payment, payment_method: 'pm_card_chargeDeclined' };
  const body = {
    ...aBody('whole', { lines: [{ sku: 'tea', quantity: 1 }], payment: declined }),
    labels: named,
  };
  operation(await shop.call('POST', '/v1/operations', { body }), 201);
  expect((await shop.settle('whole')).status.phase).toBe('payment_failed');
  await shop.payAgain('whole', PERSONAL.payment.payment_method);
  expect((await shop.settle('whole')).status.phase).toBe('fulfilled');
  const refund = { refund_id: 'r1', amount: 2_500, reason: `${NAME} was not at home` };
  await shop.call('POST', pathOf('whole', '/refunds'), { body: refund });
  await shop.as('desk')('PUT', pathOf('whole', '/triage'), {
    body: { assignee: 'ana', note: `${NAME} called` },
  });
  for (const command of ['pause', 'resume'] as const) {
    const preview = (await desk.preview('whole', command)).json<{ preview_id: string }>();
    await desk.confirm('whole', preview.preview_id, 'desk', `${NAME} said so`);
    await desk.confirm('whole', preview.preview_id, 'desk', `${NAME} said so`);
  }
  await desk.preview('whole', 'check_provider');
  await shop.call('POST', pathOf('whole', '/cancel'), { body: { reason: `${NAME} withdrew` } });
  expect((await shop.settle('whole')).status.phase).toBe('cancelled');
  expect((await traces()).length).toBeGreaterThan(30);
  const kept = `SELECT effect_key, step, target, ordinal, outcome, request_id, started_at,
    shown#>>'{payment,reference}' AS payment, shown#>>'{refund,reference}' AS refund, parameters->>'amount' AS amount
    FROM operation_attempts ORDER BY attempt_id`;

  await aDayLater();
  const before = { record: await shop.get('whole'), journal: await shop.query(kept) };
  const record = operation(await erase('whole'), 200);

  expect(await traces()).toEqual([]);
  expect(await shop.query(kept)).toEqual(before.journal);
  const { payment, refunds, labels } = { ...record.spec, ...record.metadata };
  expect({ payment, refunds, labels }).toEqual({
    payment: { ...before.record.spec.payment, payment_method: null, customer: null, return_url: null },
    refunds: [{ refund_id: 'r1', amount: 2_500, reason: null }],
    labels: {},
  });
  const { conditions: _texts, ...status } = record.status;
  const { conditions: _before, ...statusBefore } = before.record.status;
  const refundsBefore = statusBefore.refunds.map((one) => ({ ...one, reason: null }));
  expect(status).toEqual({ ...statusBefore, refunds: refundsBefore });

  // It is told that, by whom and why, without a name.
  const events = await shop.asSupport('GET', pathOf('whole', '/events'));
  expect(events.json<{ items: object[] }>().items.at(-1)).toMatchObject({
    type: 'personal_data_erased',
    actor: { kind: 'key', name: 'lead' },
    message: 'Personal data was erased.',
    data: { because: 'consent_withdrawn' },
  });
  // What was told before tells still what happened.
  const types = await shop.timeline('whole');
  for (const type of ['note_added', 'effect_declined', 'command_pause', 'refund_requested'])
    expect(types).toContain(type);

  // Again: nothing is there, nothing is written.
  expect(operation(await erase('whole'), 200).metadata).toEqual(record.metadata);
  expect(await shop.timeline('whole')).toEqual(types);

  for (const route of ['/attempts', '/handover', '/triage', '/plan', ''])
    expect([route, (await shop.asSupport('GET', pathOf('whole', route))).status]).toEqual([route, 200]);
  const listed = await shop.asSupport('GET', '/v1/operations?phase=cancelled');
  expect(listed.json<{ items: object[] }>().items).toHaveLength(1);
  // Looked at again, it takes nothing in, and a reader sees no difference.
  expect((await shop.settle('whole')).metadata).toEqual(record.metadata);
  expect(await traces()).toEqual([]);
});

test('the same create is recognised after erasure and charges nothing; another one is refused', async () => {
  operation(await shop.call('POST', '/v1/operations', { body: bodyOf('again') }), 201);
  await shop.settle('again');
  await aDayLater();
  expect((await erase('again')).status).toBe(200);
  const before = await shop.control.journalSequence();

  const same = operation(await shop.call('POST', '/v1/operations', { body: bodyOf('again') }), 200);
  expect(same.status).toMatchObject({ phase: 'fulfilled', payment: { captured: 10_000 } });
  expect(same.spec.payment.customer).toBeNull();
  const dearer = {
    ...bodyOf('again'),
    spec: { ...(aBody('again').spec as object), amount: { value: 20_000, currency: 'EUR' } },
  };
  expect(refusal(await shop.call('POST', '/v1/operations', { body: dearer }))).toEqual([
    409,
    'operation_conflict',
  ]);
  const other = { ...bodyOf('again'), operation_id: 'again-2' };
  expect(refusal(await shop.call('POST', '/v1/operations', { body: other }))).toEqual([
    409,
    'operation_conflict',
  ]);

  await shop.settle('again');
  expect(await shop.control.journal({ after: before, method: 'POST' })).toEqual([]);
  expect(await shop.control.ledger('again')).toMatchObject({
    captured: 10_000,
    effects: { creates: 1, confirms: 1 },
  });
});

describe('money after erasure', () => {
  test('the two-sided sweep knows the payment as the order’s own, and sees money that is left', async () => {
    operation(await shop.call('POST', '/v1/operations', { body: bodyOf('swept') }), 201);
    await shop.settle('swept');
    await aDayLater();
    expect((await erase('swept')).status).toBe(200);
    await shop.sweep();
    await shop.hurryFindings();
    await shop.sweep();
    expect(
      (await shop.findings('?state=open')).filter(({ operation_id }) => operation_id === 'swept'),
    ).toEqual([]);

    await shop.control.dashboard('create_stray', {
      amount: 10_000,
      currency: 'eur',
      metadata: { operation_id: 'swept' },
      payment_method: 'pm_card_visa',
    });
    await shop.sweep();
    await shop.hurryFindings();
    await shop.sweep();
    expect(await shop.findings('?state=open&kind=second_payment')).toEqual([
      expect.objectContaining({ operation_id: 'swept', amount: { value: 10_000, currency: 'EUR' } }),
    ]);
    expect(problem(await erase('swept')).detail).toContain('finding');
  });

  test('a refund that fails and a chargeback are noticed by webhooks, and a person can act', async () => {
    operation(
      await shop.call('POST', '/v1/operations', {
        body: aBody('late', {
          lines: [],
          payment: { payment_method: 'pm_card_refundFail', customer: 'cus_Late' },
        }),
      }),
      201,
    );
    await shop.settle('late');
    await shop.call('POST', pathOf('late', '/refunds'), { body: { refund_id: 'r1', amount: 3_000 } });
    await shop.settle('late');
    await aDayLater();
    expect((await erase('late')).status).toBe(200);

    await shop.control.dashboard('fail_refund', { operation_id: 'late' });
    expect(await shop.hook('late', 'refund.failed')).toBe('woken');
    expect((await shop.settle('late')).status).toMatchObject({ attention: { reason: 'RefundFailed' } });
    // It is open, so nothing of it may go now.
    expect(problem(await erase('late'))).toMatchObject({ status: 409, code: 'command_not_available' });
    await aDesk(shop).command('late', 'retry_refund', { refund_id: 'r1' });
    await shop.settle('late');
    expect(await shop.control.ledger('late')).toMatchObject({ effects: { refunds: 2 }, violations: [] });
    expect(await traces(/cus_Late/g)).toEqual([]);
  });

  test('cancelled, erased, and paid after all: the money goes back once, and the payment tells nothing of the person', async () => {
    operation(
      await shop.call('POST', '/v1/operations', {
        body: aBody('paid late', {
          payment: { payment_method: 'pm_card_threeDSecure2Required', customer: 'cus_PaidLate' },
        }),
      }),
      201,
    );
    await shop.settle('paid late');
    await shop.cancel('paid late');
    await shop.settle('paid late');
    await aDayLater();
    expect((await erase('paid late')).status).toBe(200);
    await shop.later(9 * DAY);
    await shop.control.dashboard('pay_late', { operation_id: 'paid late' });
    expect(await shop.hook('paid late', 'payment_intent.succeeded')).toBe('woken');
    expect((await shop.settle('paid late')).status).toMatchObject({
      phase: 'cancelled',
      attention: null,
      payment: { captured: 10_000, refunded: 10_000 },
    });
    expect(await shop.control.ledger('paid late')).toMatchObject({ effects: { refunds: 1 }, violations: [] });
    expect(await traces(/cus_PaidLate|hooks\.stripe/g)).toEqual([]);
  });
});

describe('refused', () => {
  test.each([
    ['without the scope of a lead', 'desk', BODY, [403, 'scope_missing']],
    ['of a checkout', 'shop', BODY, [403, 'scope_missing']],
    ['with a text for a reason', 'lead', { reason: `${NAME} asked` }, [400, 'invalid_request', '/reason']],
    ['of what does not exist', 'lead', BODY, [404, 'not_found']],
  ] as const)('%s', async (_name, by, body, expected) => {
    expect(refusal(await erase('nobody', by, body))).toEqual(expected);
  });

  test('while it is not settled, needs a person, was just called for, or a preview is open; each says why', async () => {
    const why = async (id: string): Promise<string> => {
      const { status, code, detail } = problem(await erase(id));
      expect([status, code]).toEqual([409, 'command_not_available']);
      return detail;
    };
    await shop.order('open', { payment: { payment_method: 'pm_card_threeDSecure2Required' } });
    await shop.settle('open');
    expect(await why('open')).toMatch(/^It is awaiting_customer and not settled: /);

    await shop.order('fresh');
    await shop.settle('fresh');
    expect(await why('fresh')).toMatch(/within the last day/);
    await aDayLater();
    await aDesk(shop).preview('fresh', 'pause');
    expect(await why('fresh')).toMatch(/previewed/);
    await aDayLater();

    await shop.query(
      `UPDATE order_operations SET lease_holder = 'somebody', lease_expires_at = now() + interval '1 minute' WHERE operation_id = 'fresh'`,
    );
    expect(await why('fresh')).toMatch(/worked on/);
    await shop.query(
      `UPDATE order_operations SET lease_holder = NULL, lease_expires_at = NULL WHERE operation_id = 'fresh'`,
    );
    expect((await erase('fresh')).status).toBe(200);
  });

  test('what was written since it was read is not passed over', async () => {
    await shop.order('raced');
    await shop.settle('raced');
    await aDayLater();
    const store = new ErasureStore(shop.world.db.database);
    const find = store.find.bind(store);
    let reads = 0;
    store.find = async (id) => {
      const read = await find(id);
      // A colleague takes a note just now, which touches no version.
      if ((reads += 1) === 1) await shop.as('desk')('PUT', pathOf(id, '/triage'), { body: { note: NAME } });
      return read;
    };
    const eraser = new Eraser(store, shop.clock, TEST_POLICY);
    expect(await eraser.erase('raced', 'objection', { kind: 'key', name: 'lead' })).toEqual({
      kind: 'erased',
    });
    expect(reads).toBe(2);
    expect(await traces(/Erika/g)).toEqual([]);
  });

  test('a worker that was given up brings nothing back', async () => {
    await shop.order('stale', PERSONAL);
    await shop.settle('stale');
    await aDayLater();
    await shop.world.hurry('stale');
    const { claims } = await shop.world.passes.claim(10, 'asleep', 1, 1_000);
    const [claim] = claims.filter(({ record }) => record.operation_id === 'stale');
    if (claim === undefined) throw new Error('it was not claimed');
    await shop.query('SELECT pg_sleep(0.01)');
    expect((await erase('stale')).status).toBe(200);
    const { record } = claim;
    const recorded = await shop.world.passes.record({
      row: claim.row,
      worker: 'asleep',
      fencing_token: claim.fencing_token,
      resource_version: record.resource_version,
      generation: record.generation,
      facts: record.facts,
      status: record.status,
      provider_reference: record.provider_reference,
      changed: false,
      completed: null,
      resolved: [],
      events: [],
      transitions: [],
      next: { kind: 'release', look_in_ms: 1_000 },
    });
    expect(recorded.held).toBe(false);
    const text = (await everything())
      .split('\n')
      .filter((row) => row.includes('stale'))
      .join('\n');
    expect(text).not.toMatch(/cus_|pm_|Mustermann/);
  });
});
