import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { effectKey, type StepName } from '../../src/operation/attempt.js';
import { anArena, LEASE_MS, type Arena } from '../support/crash-arena.js';
import { theRecordSaysSo, theWorldIsAsWanted } from '../support/crash-checks.js';
import { cellsOf, RUNS, since } from '../support/crash-points.js';
import { DECLINED, MANUAL, patch, post, rests } from '../support/crash-steps.js';
import { until, type Process } from '../support/product.js';

let arena: Arena;
let worker: Process;
beforeAll(async () => {
  arena = await anArena();
  worker = await arena.worker();
}, 60_000);
afterAll(() => arena.stop());

describe('the database', () => {
  test('no transaction and no lock spans a call to the provider or to the warehouse', async () => {
    const ids = ['span-reserve', 'span-create', 'span-confirm'];
    const routes = ['reservations.put', 'payment_intents.create', 'payment_intents.confirm'];
    for (const [index, id] of ids.entries()) {
      const match = { operation_id: id };
      await arena.control.inject({ route: routes[index] ?? '', kind: 'delay_after', delay_ms: 1_500, match });
    }
    await Promise.all(ids.map((id) => arena.client.create(id)));
    const underWay = async (): Promise<number> =>
      (await arena.triesOf(ids)).filter((one) => one.outcome === null).length;
    await until(async () => (await underWay()) === ids.length, 'three calls under way');

    let looks = 0;
    while ((await underWay()) === ids.length) {
      // Open for longer than a statement takes, whatever it does.
      expect(
        await arena.query(
          `SELECT state, query FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid()
             AND (state LIKE 'idle in transaction%' OR xact_start < clock_timestamp() - interval '500 ms')`,
        ),
      ).toEqual([]);
      expect(
        await arena.query(
          `SELECT l.mode, l.relation::regclass FROM pg_locks l JOIN pg_stat_activity a USING (pid)
           WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
             AND a.state_change < clock_timestamp() - interval '500 ms'`,
        ),
      ).toEqual([]);
      looks += 1;
    }
    expect(looks).toBeGreaterThan(2);
    await arena.quiet(ids);
  }, 60_000);

  test('its connection breaks between the 200 and the record: the same worker records it, and nothing is sent again', async () => {
    const ids = ['cut-confirm', 'cut-capture', 'cut-refund'];
    await rests(arena, 'cut-confirm', 'payment_failed', DECLINED);
    await rests(arena, 'cut-capture', 'authorized', MANUAL);
    await rests(arena, 'cut-refund', 'fulfilled', {});
    const after = await arena.control.journalSequence();
    for (const [route, id] of [
      ['payment_intents.confirm', 'cut-confirm'],
      ['payment_intents.capture', 'cut-capture'],
      ['refunds.create', 'cut-refund'],
    ] as const) {
      const match = { operation_id: id };
      await arena.control.inject({ route, kind: 'delay_after', delay_ms: 1_000, match });
    }
    await post(arena, 'cut-confirm', 'payment', { payment_method: 'pm_card_visa' });
    await post(arena, 'cut-capture', 'capture');
    await post(arena, 'cut-refund', 'refunds', { refund_id: 'r1', amount: 2_500 });
    await until(
      async () => (await arena.triesOf(ids)).filter((one) => one.outcome === null).length === 3,
      'three calls under way',
    );
    await arena.lock.take();
    // Soon, for all of them have leases that run.
    await until(async () => {
      const requests = await arena.control.journal({ after });
      return (await arena.lock.waiting()) === ids.length && requests.every(({ status }) => status !== null);
    }, 'three answers that wait to be written');
    await arena.lock.cutOff();
    await arena.lock.free();
    await arena.quiet(ids);

    const evidence = await arena.gather(ids);
    for (const [step, id] of [
      ['confirm_payment', 'cut-confirm'],
      ['capture_payment', 'cut-capture'],
      ['create_refund', 'cut-refund'],
    ] as const) {
      const seen = evidence.get(id);
      const last = seen?.tries.filter((one) => one.step === step).at(-1);
      expect(last).toMatchObject({ outcome: 'done', request_id: expect.stringMatching(/^req_/) });
      const { effect_key } = last ?? {};
      expect(seen?.requests.filter((request) => request.idempotency_key === effect_key)).toHaveLength(1);
      expect(seen?.events.map((event) => event.type)).not.toContain('interrupted_step_found');
    }
    expect(evidence.get('cut-refund')?.ledger).toMatchObject({
      captured: 12_900,
      refunded: 2_500,
      violations: [],
    });
  }, 60_000);
});

/** An attempt as another version of this program would have left it, and its worker is gone. */
interface OldAttempt {
  readonly id: string;
  readonly step: StepName;
  readonly target: (reference: string) => string;
  readonly path: (reference: string) => string;
  /** In another order of members, and with members that this version does not send. */
  readonly parameters: (reference: string) => Record<string, unknown>;
  prepare(): Promise<void>;
  ask(): Promise<unknown>;
}

describe('another version of the worker began it', () => {
  const OLD: readonly OldAttempt[] = [
    {
      id: 'old-create',
      step: 'create_payment',
      target: () => 'payment/1',
      path: () => '/v1/payment_intents',
      parameters: () => ({
        payment_method: 'pm_card_visa',
        metadata: { shop: 'v1', operation_id: 'old-create' },
        currency: 'eur',
        amount: 12_900,
        automatic_payment_methods: { allow_redirects: 'never', enabled: true },
      }),
      prepare: () => Promise.resolve(),
      ask: () => arena.client.create('old-create', { lines: [] }),
    },
    {
      id: 'old-confirm',
      step: 'confirm_payment',
      target: (reference) => `${reference}/2`,
      path: (reference) => `/v1/payment_intents/${reference}/confirm`,
      parameters: () => ({ use_stripe_sdk: true, payment_method: 'pm_card_visa' }),
      prepare: () => rests(arena, 'old-confirm', 'payment_failed', DECLINED),
      ask: () => post(arena, 'old-confirm', 'payment', { payment_method: 'pm_card_visa' }),
    },
    {
      id: 'old-capture',
      step: 'capture_payment',
      target: (reference) => `${reference}/12900`,
      path: (reference) => `/v1/payment_intents/${reference}/capture`,
      parameters: () => ({ statement_descriptor_suffix: 'TEA', amount_to_capture: 12_900 }),
      prepare: () => rests(arena, 'old-capture', 'authorized', MANUAL),
      ask: () => post(arena, 'old-capture', 'capture'),
    },
    {
      id: 'old-refund',
      step: 'create_refund',
      target: () => 'r1',
      path: () => '/v1/refunds',
      parameters: (reference) => ({
        reason: 'requested_by_customer',
        payment_intent: reference,
        metadata: { refund_id: 'r1', operation_id: 'old-refund' },
        amount: 2_500,
      }),
      prepare: () => rests(arena, 'old-refund', 'fulfilled', {}),
      ask: () => post(arena, 'old-refund', 'refunds', { refund_id: 'r1', amount: 2_500 }),
    },
  ];
  const references = new Map<string, string>();
  const ids = OLD.map(({ id }) => id);
  let parametersOf: Map<string, string>;

  beforeAll(async () => {
    await Promise.all(OLD.map((old) => old.prepare()));
    worker.kill('SIGTERM');
    await worker.exited;
    await Promise.all(OLD.map((old) => old.ask()));
    const rows = await arena.query<{ operation_id: string; provider_reference: string | null }>(
      'SELECT operation_id, provider_reference FROM order_operations WHERE operation_id = ANY ($1)',
      [ids],
    );
    for (const row of rows) references.set(row.operation_id, row.provider_reference ?? '');
    parametersOf = new Map(
      OLD.map((old) => [old.id, JSON.stringify(old.parameters(references.get(old.id) ?? ''))]),
    );
    for (const old of OLD) {
      const target = old.target(references.get(old.id) ?? '');
      // It asked the money-out brake, as every version does: without leave Postgres takes no refund's intent.
      if (old.step === 'create_refund')
        await arena.query(
          `INSERT INTO money_out (effect_key, account, currency, amount, at)
           SELECT $2, account, currency, 2500, clock_timestamp() FROM order_operations WHERE operation_id = $1`,
          [old.id, effectKey(old.id, old.step, target, 1)],
        );
      await arena.query(
        `INSERT INTO operation_attempts (operation, step, target, ordinal, effect_key, parameters, generation,
           fencing_token, worker, started_at)
         SELECT id, $2, $3, 1, $4, $5::json, generation, fencing_token, 'worker-of-old', clock_timestamp()
         FROM order_operations WHERE operation_id = $1`,
        [old.id, old.step, target, effectKey(old.id, old.step, target, 1), parametersOf.get(old.id)],
      );
    }
    worker = await arena.worker();
    await arena.quiet(ids);
  }, 60_000);

  test.each(OLD.map((old) => [old.step, old] as const))('%s is sent as it was begun', async (_step, old) => {
    const evidence = (await arena.gather([old.id])).get(old.id);
    const reference = evidence?.ledger.intents[0]?.id ?? '';
    const key = effectKey(old.id, old.step, old.target(reference), 1);
    const tries = evidence?.tries.filter((one) => one.effect_key === key) ?? [];
    expect(tries.map((one) => one.outcome)).toEqual([null, 'done']);
    expect(tries.map((one) => one.parameters)).toEqual([parametersOf.get(old.id), parametersOf.get(old.id)]);
    expect(evidence?.status).toMatchObject({ phase: 'fulfilled', attention: null });
    expect(evidence?.ledger).toMatchObject({ captured: 12_900, violations: [] });
    expect(evidence?.ledger.refunded).toBe(old.step === 'create_refund' ? 2_500 : 0);

    // The provider is the witness: the old bytes under this key are a repetition, others would be refused.
    const again = await fetch(`${arena.control.url}${old.path(reference)}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${arena.product.environment['STRIPE_SECRET_KEY']}`,
        'idempotency-key': key,
      },
      body: form(old.parameters(reference)),
    });
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
  });
});

/** As Stripe takes it: members of members in brackets. */
function form(parameters: Record<string, unknown>): URLSearchParams {
  const body = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    const inner = typeof value === 'object' && value !== null ? Object.entries(value) : [];
    for (const [member, text] of inner) body.set(`${name}[${member}]`, String(text));
    if (inner.length === 0) body.set(name, String(value));
  }
  return body;
}

/**
 * The terms of a payment are changed by a request that gets lost on the way, then changed again; the lost one arrives
 * after all, between the update that replaced it and the confirmation.
 */
test.each([
  ['other terms', 8_800],
  ['the former terms', 12_900],
])(
  'an update that arrives late does not change what the customer pays: %s',
  async (name, last) => {
    const id = `late-update-${last}`;
    const match = { operation_id: id };
    await rests(arena, id, 'payment_failed', DECLINED);
    const route = 'payment_intents.update';
    await arena.control.inject({ route, kind: 'delay_before', delay_ms: LEASE_MS + 2_500, match });
    const after = await arena.control.journalSequence();
    const held = (): Promise<boolean> =>
      arena.control.journal({ after, operation_id: id, route }).then((found) => found.length > 0);
    await patch(arena, id, { amount: { value: 15_500 } });
    await until(held, 'the update to be under way');
    worker.kill('SIGKILL');
    await worker.exited;
    await arena.control.inject({
      route: 'payment_intents.confirm',
      kind: 'delay_before',
      delay_ms: 2_800,
      match,
    });
    await patch(arena, id, { amount: { value: last } });
    await post(arena, id, 'payment', { payment_method: 'pm_card_visa' });
    worker = await arena.worker();
    await arena.client.reaches(id, 'fulfilled', 30_000);
    expect({ name, ledger: await arena.control.ledger(id) }).toMatchObject({
      name,
      ledger: { captured: last, refunded: 0, violations: [] },
    });
  },
  60_000,
);

test('all workers die at once, at all points, and one that is started later brings every order home', async () => {
  const run = RUNS.find(({ points }) => points.includes('sent'));
  if (run === undefined) throw new Error('there is no such run');
  const cells = cellsOf(run, 'all-die');
  const ids = cells.map(({ id }) => id);
  const others = await Promise.all([arena.worker(), arena.worker()]);
  await Promise.all(cells.map(({ kind, id }) => kind.prepare(arena, id)));
  const before = await arena.control.journalSequence();
  await run.reach(arena, cells);
  const lost = [worker, ...others];
  for (const one of lost) one.kill('SIGKILL');
  await Promise.all(lost.map((one) => one.exited));

  worker = await arena.worker();
  await arena.quiet(ids);
  await until(
    async () =>
      (await arena.control.journal()).every((request) => request.status !== null || request.fault === null),
    'the requests of the dead to take effect',
  );
  const evidence = await arena.gather(ids);
  for (const cell of cells) {
    const all = evidence.get(cell.id);
    if (all === undefined) throw new Error(`${cell.id} was not seen`);
    const seen = { ...all, requests: since(all.requests, before) };
    theWorldIsAsWanted(cell, seen);
    theRecordSaysSo(cell, seen);
  }
}, 120_000);
