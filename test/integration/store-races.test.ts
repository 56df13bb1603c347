import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { NO_FACTS } from '../../src/operation/operation.js';
import { INITIAL_STATUS } from '../../src/operation/next-status.js';
import { PassStore, type Claim, type Entry, type Intent } from '../../src/store/pass-store.js';
import { PostgresOperationStore } from '../../src/store/postgres-operation-store.js';
import type { Created, OperationRecord, WishChange } from '../../src/store/record.js';
import { freshDatabase, type TestDatabase } from '../support/database.js';
import { aSpec, aWish, cancelled, NOW } from '../support/operations.js';

/** Each conditional write of the record against the race that it guards. */
describe('conditional writes', () => {
  let db: TestDatabase;
  let store: PostgresOperationStore;
  let passes: PassStore;
  let made = 0;

  beforeAll(async () => {
    db = await freshDatabase();
    store = new PostgresOperationStore(db.database);
    passes = new PassStore(db.database);
  });
  afterAll(() => db.drop());

  const create = (id: string, order = id): Promise<Created> =>
    store.create({
      operation_id: id,
      account: 'default',
      labels: {},
      wish: aWish(aSpec({ order_id: order })),
      status: INITIAL_STATUS,
      requested_by: { kind: 'key', name: 'checkout' },
      created_at: NOW.toISOString(),
    });

  const claim10 = async (worker: string, leaseMs: number): Promise<Claim[]> =>
    (await passes.claim(10, worker, leaseMs, 1_000)).claims;

  /** One fresh operation under the lease of `worker`; everything else is out of the way. */
  async function claimed(worker = 'w1', leaseMs = 60_000): Promise<Claim> {
    await db.database.query('UPDATE order_operations SET next_attempt_at = NULL');
    made += 1;
    await create(`race-${made}`);
    const [claim] = await claim10(worker, leaseMs);
    if (claim === undefined) throw new Error('nothing was claimed');
    return claim;
  }

  const get = async (claim: Claim): Promise<OperationRecord> => {
    const record = await store.find(claim.record.operation_id);
    if (record === null) throw new Error('the record is gone');
    return record;
  };

  const entry = (claim: Claim, patch: Partial<Entry> = {}): Entry => ({
    row: claim.row,
    worker: 'w1',
    fencing_token: claim.fencing_token,
    resource_version: claim.record.resource_version,
    generation: claim.record.generation,
    facts: claim.record.facts,
    status: claim.record.status,
    provider_reference: null,
    changed: false,
    completed: null,
    resolved: [],
    events: [],
    transitions: [],
    next: { kind: 'release', look_in_ms: 1_000_000 },
    ...patch,
  });

  const INTENT: Intent = {
    step: 'confirm_payment',
    target: 'pi_1/1',
    ordinal: 1,
    effect_key: 'op_key',
    parameters: { z: 1, a: { 'b c': 'ä' } },
  };
  const intends = (claim: Claim, patch: Partial<Entry> = {}): Entry =>
    entry(claim, { next: { kind: 'intent', intent: INTENT, lease_ms: 60_000 }, ...patch });

  const change = (record: OperationRecord): WishChange => ({
    operation_id: record.operation_id,
    resource_version: record.resource_version,
    wish: cancelled(record.wish),
    status: { ...record.status, phase: 'cancelling' },
    spec_changed: true,
    transitions: [],
    event: {
      type: 'cancellation_requested',
      actor: { kind: 'key', name: 'checkout' },
      message: 'no longer wanted',
    },
  });

  const expire = (claim: Claim): Promise<unknown> =>
    db.database.query(
      "UPDATE order_operations SET lease_expires_at = now() - interval '1 ms' WHERE id = $1",
      [claim.row],
    );

  /** Another worker takes the record over, as it can once the lease ran out. */
  async function takeOver(claim: Claim): Promise<Claim> {
    await db.database.query(
      "UPDATE order_operations SET lease_expires_at = now() - interval '1 ms', next_attempt_at = now() WHERE id = $1",
      [claim.row],
    );
    const [taken] = await claim10('w2', 60_000);
    if (taken === undefined) throw new Error('an expired lease was not claimable');
    return taken;
  }

  test('create: 50 at once make one record and one event, and all are told of it', async () => {
    const results = await Promise.all(Array.from({ length: 50 }, () => create('create-race')));
    expect(results.filter((result) => result.kind === 'created')).toHaveLength(1);
    expect(results.filter((result) => result.kind === 'exists')).toHaveLength(49);
    expect(await store.events('create-race')).toHaveLength(1);
  });

  test('create: the money of one order is decided in one place', async () => {
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, index) => create(`order-race-${index}`, 'one-order')),
    );
    expect(results.filter((result) => result.kind === 'created')).toHaveLength(1);
    expect(results.filter((result) => result.kind === 'order_taken')).toHaveLength(9);
  });

  test('claim: parallel workers share the due records without overlap', async () => {
    await db.database.query('UPDATE order_operations SET next_attempt_at = NULL');
    await Promise.all(Array.from({ length: 40 }, (_, index) => create(`claim-${index}`)));
    const claims = await Promise.all(Array.from({ length: 8 }, (_, index) => claim10(`w${index}`, 60_000)));
    const rows = claims.flat().map((claim) => claim.row);
    expect(rows).toHaveLength(40);
    expect(new Set(rows).size).toBe(40);
  });

  test('claim: a lease that runs is respected, and one that ran out is nobody’s', async () => {
    const claim = await claimed();
    await db.database.query('UPDATE order_operations SET next_attempt_at = now() WHERE id = $1', [claim.row]);
    expect(await claim10('w2', 60_000)).toEqual([]);
    const taken = await takeOver(claim);
    expect(taken.row).toBe(claim.row);
    expect(taken.fencing_token).toBe(claim.fencing_token + 1);
  });

  test('claim: the journal comes with the record, also where the record was put back as it was before', async () => {
    const claim = await claimed();
    expect(claim.attempts).toEqual([]);
    await passes.recordAll([intends(claim)]);
    const journal = [expect.objectContaining({ effect_key: 'op_key', outcome: null })];
    expect((await takeOver(claim)).attempts).toEqual(journal);
    await db.database.query(
      `UPDATE order_operations SET fencing_token = 0, lease_holder = NULL, lease_expires_at = NULL, next_attempt_at = now()
       WHERE id = $1`,
      [claim.row],
    );
    expect(await claim10('w3', 60_000)).toMatchObject([{ fencing_token: 1, attempts: journal }]);
  });

  test('claim and a look that finds nothing new move no version, so ETags stay good', async () => {
    const claim = await claimed();
    const [recorded] = await passes.recordAll([entry(claim)]);
    expect(recorded).toMatchObject({ held: true, resource_version: 1 });
    expect((await get(claim)).resource_version).toBe(1);
  });

  test('intent: recorded with the exact bytes of its parameters', async () => {
    const claim = await claimed();
    const [recorded] = await passes.recordAll([intends(claim)]);
    expect(recorded?.attempt).toMatchObject({ step: 'confirm_payment', ordinal: 1, outcome: null });
    const [row] = await db.database.query<{ text: string }>(
      'SELECT parameters::text AS text FROM operation_attempts WHERE attempt_id = $1',
      [recorded?.attempt?.attempt_id],
    );
    expect(row?.text).toBe(JSON.stringify(INTENT.parameters));
    expect(await get(claim)).toMatchObject({ task: 'confirm_payment', resource_version: 2 });
  });

  test('intent: refused when the wish changed after it was planned', async () => {
    const claim = await claimed();
    expect(await store.changeWish(change(claim.record))).not.toBeNull();
    const [recorded] = await passes.recordAll([intends(claim)]);
    expect(recorded).toMatchObject({ held: true, attempt: null, woken: true });
    expect(await store.attempts(claim.record.operation_id)).toEqual([]);
    expect((await get(claim)).task).toBeNull();
  });

  test('intent: refused when the lease ran out, also if nobody took the record yet', async () => {
    const claim = await claimed();
    await expire(claim);
    const [recorded] = await passes.recordAll([intends(claim)]);
    expect(recorded?.attempt).toBeNull();
    expect(await store.attempts(claim.record.operation_id)).toEqual([]);
  });

  test('intent: refused for a worker that stood still while another took over', async () => {
    const claim = await claimed();
    const taken = await takeOver(claim);
    const [stale] = await passes.recordAll([intends(claim)]);
    expect(stale).toMatchObject({ held: false, attempt: null });
    const [fresh] = await passes.recordAll([intends(taken, { worker: 'w2' })]);
    expect(fresh?.attempt).not.toBeNull();
    expect(await store.attempts(claim.record.operation_id)).toHaveLength(1);
  });

  test('intent: renews the lease, so a long pass is not taken over between its steps', async () => {
    const claim = await claimed('w1', 500);
    await passes.recordAll([intends(claim)]);
    const [row] = await db.database.query<{ left: number }>(
      'SELECT extract(epoch FROM lease_expires_at - now())::float8 AS left FROM order_operations WHERE id = $1',
      [claim.row],
    );
    expect(row?.left).toBeGreaterThan(50);
  });

  const completes = (attempt_id: string | undefined): Entry['completed'] => ({
    attempt_id: attempt_id ?? '',
    outcome: { kind: 'done', request_id: 'req_1' },
  });

  test('outcome: a late answer is kept although the lease is lost; its view of the facts is not', async () => {
    const claim = await claimed();
    const [opened] = await passes.recordAll([intends(claim)]);
    await takeOver(claim);
    const late = entry(claim, {
      resource_version: 2,
      changed: true,
      facts: { ...NO_FACTS, unresolved: { step: 'confirm_payment', target: 'x', since: NOW.toISOString() } },
      completed: completes(opened?.attempt?.attempt_id),
    });
    const [recorded] = await passes.recordAll([late]);
    expect(recorded?.held).toBe(false);
    const [attempt] = await store.attempts(claim.record.operation_id);
    expect(attempt).toMatchObject({ outcome: 'done', request_id: 'req_1' });
    expect((await get(claim)).facts.unresolved).toBeNull();
  });

  test('outcome: a late answer is told in the timeline, once, without what its pass made of it', async () => {
    const claim = await claimed();
    const [opened] = await passes.recordAll([intends(claim)]);
    const attempt_id = opened?.attempt?.attempt_id ?? '';
    await takeOver(claim);
    const told = (type: string, about = attempt_id): Entry['events'][number] => ({
      type,
      actor: { kind: 'system', name: 'reconciler' },
      message: type,
      data: { attempt_id: about },
    });
    const late = entry(claim, {
      resource_version: 2,
      completed: completes(attempt_id),
      events: [told('interrupted_step_found', '0'), told('effect_done'), told('effect_observed')],
      transitions: [told('phase_changed')],
    });
    await passes.recordAll([late]);
    await passes.recordAll([late]);
    const types = (await store.events(claim.record.operation_id)).map(({ type }) => type);
    expect(types.filter((type) => type !== 'operation_created')).toEqual(['effect_done']);
  });

  test('outcome: an attempt is completed once, whatever is said later', async () => {
    const claim = await claimed();
    const [opened] = await passes.recordAll([intends(claim)]);
    const id = opened?.attempt?.attempt_id;
    await passes.recordAll([entry(claim, { resource_version: 2, completed: completes(id) })]);
    const contrary: Entry['completed'] = {
      attempt_id: id ?? '',
      outcome: { kind: 'unknown', failure: { class: 'unknown', code: 'timeout', message: 'late' } },
    };
    await passes.recordAll([entry(claim, { resource_version: 2, completed: contrary })]);
    expect((await store.attempts(claim.record.operation_id))[0]).toMatchObject({
      outcome: 'done',
      failure: null,
    });
  });

  test('outcome: an answer is never written to an attempt of another operation', async () => {
    const claim = await claimed();
    const [opened] = await passes.recordAll([intends(claim)]);
    const other = await claimed();
    await passes.recordAll([entry(other, { completed: completes(opened?.attempt?.attempt_id) })]);
    expect((await store.attempts(claim.record.operation_id))[0]?.outcome).toBeNull();
  });

  test('facts: written under the fence, while the status of a newer wish stands', async () => {
    const claim = await claimed();
    await store.changeWish(change(claim.record));
    const facts = { ...NO_FACTS, payment: { ...NO_FACTS.payment, captured: 12_900 } };
    const [recorded] = await passes.recordAll([entry(claim, { facts, changed: true })]);
    expect(recorded).toMatchObject({ held: true, woken: true });
    const record = await get(claim);
    expect(record.facts.payment.captured).toBe(12_900);
    expect(record.status.phase).toBe('cancelling');
    expect(record.wish.cancellation).not.toBeNull();
  });

  test('status: a refused intent does not put the status of an older wish over a newer one', async () => {
    const claim = await claimed();
    // Another try of the customer, for instance: a newer wish under the same generation.
    const newer = {
      ...change(claim.record),
      wish: { ...claim.record.wish, confirmation: 2 },
      spec_changed: false,
    };
    await store.changeWish({ ...newer, status: { ...claim.record.status, phase: 'payment_pending' } });
    const stale = { ...claim.record.status, phase: 'payment_failed' } as const;
    const told = [
      { type: 'phase_changed', actor: { kind: 'system', name: 'reconciler' } as const, message: 'untrue' },
    ];
    const [refused] = await passes.recordAll([
      intends(claim, { status: stale, changed: true, transitions: told }),
    ]);
    expect(refused?.attempt).toBeNull();
    await passes.recordAll([entry(claim, { status: stale, changed: true, transitions: told })]);

    expect((await get(claim)).status.phase).toBe('payment_pending');
    const events = await store.events(claim.record.operation_id);
    expect(events.map((event) => event.message)).not.toContain('untrue');
  });

  test('wish: loses against a write that came first, and changes nothing', async () => {
    const claim = await claimed();
    await passes.recordAll([entry(claim, { changed: true })]);
    expect(await store.changeWish(change(claim.record))).toBeNull();
    expect((await get(claim)).wish.cancellation).toBeNull();
    expect(await store.events(claim.record.operation_id)).toHaveLength(1);
  });

  test('wake: a wish that comes during a pass makes the record due when the pass ends', async () => {
    const claim = await claimed();
    await store.changeWish(change(claim.record));
    expect(await claim10('w2', 60_000)).toEqual([]);
    await passes.recordAll([entry(claim)]);
    const again = await claim10('w2', 60_000);
    expect(again.map((one) => one.row)).toEqual([claim.row]);
  });

  test('release: a record is looked at again after the pause that was asked for, and not before', async () => {
    const claim = await claimed();
    await passes.recordAll([entry(claim, { next: { kind: 'release', look_in_ms: 60_000 } })]);
    expect(await claim10('w2', 60_000)).toEqual([]);
    const [row] = await db.database.query<{ pause: number }>(
      'SELECT extract(epoch FROM next_attempt_at - now())::float8 AS pause FROM order_operations WHERE id = $1',
      [claim.row],
    );
    expect(row?.pause).toBeGreaterThan(50);
    expect(row?.pause).toBeLessThanOrEqual(60);
  });

  test('a payment serves one operation', async () => {
    const one = await claimed();
    await passes.recordAll([entry(one, { provider_reference: 'pi_shared', changed: true })]);
    const two = await claimed();
    await expect(
      passes.recordAll([entry(two, { provider_reference: 'pi_shared', changed: true })]),
    ).rejects.toThrow(/order_operations_provider_reference/);
  });

  test('the database itself refuses a cancellation that the spec does not want', async () => {
    const claim = await claimed();
    await expect(
      db.database.query(`UPDATE order_operations SET cancellation = '{}' WHERE id = $1`, [claim.row]),
    ).rejects.toThrow(/order_operations_cancellation_wanted/);
  });

  test('a release writes the deadline that turns are given by, and an intent leaves it alone', async () => {
    const deadlineOf = async (claim: Claim): Promise<string | undefined> => {
      const [row] = await db.database.query<{ deadline_at: Date | null }>(
        'SELECT deadline_at FROM order_operations WHERE id = $1',
        [claim.row],
      );
      return row?.deadline_at?.toISOString();
    };
    const claim = await claimed();
    const deadline_at = '2026-08-26T00:00:00.000Z';
    const status = { ...claim.record.status, deadline_at };
    await passes.recordAll([intends(claim, { status })]);
    expect(await deadlineOf(claim)).toBeUndefined();
    await passes.recordAll([entry(claim, { status, resource_version: 2 })]);
    expect(await deadlineOf(claim)).toBe(deadline_at);
  });

  describe('a worker that comes back under its name', () => {
    test.each([
      ['w1/first life', 1],
      ['w10/another worker', 0],
      ['w1-unnamed', 0],
      ['worker', 0],
    ])('ends the leases of %s: %i', async (holder, leases) => {
      const claim = await claimed(holder);
      expect(await passes.freeLeasesOf('w1/')).toBe(leases);
      expect(await claim10('w1/second life', 60_000)).toHaveLength(leases);
      if (leases === 1)
        expect(await passes.recordAll([entry(claim, { worker: holder })])).toMatchObject([{ held: false }]);
      await expire(claim);
    });
  });
});
