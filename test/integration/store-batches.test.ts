import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { Database, StoreUnavailable } from '../../src/store/database.js';
import { PassStore, type Claim, type Entry } from '../../src/store/pass-store.js';
import type { EventDraft } from '../../src/store/record.js';
import { aWorld, type World } from '../support/world.js';

/** Passes that wait at the same moment share a statement and a commit, and no other's fate. */
describe('writes of many passes at once', () => {
  let world: World;
  beforeAll(async () => {
    world = await aWorld();
  });
  afterAll(() => world.stop());

  const ids = (name: string, count: number): string[] =>
    Array.from({ length: count }, (_, index) => `${name}-${String(index).padStart(2, '0')}`);

  async function claimed(name: string, count: number): Promise<Claim[]> {
    const names = ids(name, count);
    for (const id of names) await world.create(id);
    const { claims } = await world.passes.claim(count, 'worker', 60_000, 1_000);
    return claims.toSorted((a, b) => (a.record.operation_id < b.record.operation_id ? -1 : 1));
  }

  const release = (claim: Claim, patch: Partial<Entry> = {}): Entry => ({
    row: claim.row,
    worker: 'worker',
    fencing_token: claim.fencing_token,
    resource_version: claim.record.resource_version,
    generation: claim.record.generation,
    facts: claim.record.facts,
    status: claim.record.status,
    provider_reference: null,
    changed: true,
    completed: null,
    resolved: [],
    events: [],
    transitions: [],
    next: { kind: 'release', look_in_ms: 3_600_000 },
    ...patch,
  });

  /** How many commits the rows of these claims were last written by. */
  async function commits(claims: readonly Claim[]): Promise<number> {
    const [row] = await world.db.database.query<{ commits: number }>(
      'SELECT count(DISTINCT xmin::text)::int AS commits FROM order_operations WHERE id = ANY ($1::bigint[])',
      [claims.map(({ row: id }) => id)],
    );
    return row?.commits ?? 0;
  }

  test('fifty releases take one commit', async () => {
    const claims = await claimed('shared', 50);
    const results = await Promise.all(claims.map((claim) => world.passes.record(release(claim))));
    expect(results.every(({ held, resource_version }) => held && resource_version === 2)).toBe(true);
    expect(await commits(claims)).toBe(1);
  });

  test('one that Postgres refuses spoils nobody else’s', async () => {
    const claims = await claimed('spoilt', 10);
    const refused = claims[3];
    if (refused === undefined) throw new Error('nothing was claimed');
    // The table knows four kinds of actors.
    const refusedEvent = {
      actor: { kind: 'nobody', name: 'x' },
      type: 'x',
      message: 'x',
    } as unknown as EventDraft;
    const results = await Promise.allSettled(
      claims.map((claim) =>
        world.passes.record(release(claim, claim === refused ? { events: [refusedEvent] } : {})),
      ),
    );
    expect(results.map(({ status }) => status)).toEqual(
      claims.map((claim) => (claim === refused ? 'rejected' : 'fulfilled')),
    );
    expect((await world.get(refused.record.operation_id)).resource_version).toBe(1);
  });

  test('one whose row somebody else keeps locked holds nobody else up for long', async () => {
    const claims = await claimed('locked', 10);
    const locked = claims[5];
    if (locked === undefined) throw new Error('nothing was claimed');
    const impatient = new Database({ url: world.db.url, lock_timeout_ms: 300 });
    const somebody = new Client({ connectionString: world.db.url });
    await somebody.connect();
    try {
      await somebody.query('BEGIN');
      await somebody.query('SELECT 1 FROM order_operations WHERE id = $1 FOR UPDATE', [locked.row]);
      const passes = new PassStore(impatient);
      const results = await Promise.allSettled(claims.map((claim) => passes.record(release(claim))));
      expect(results.map(({ status }) => status)).toEqual(
        claims.map((claim) => (claim === locked ? 'rejected' : 'fulfilled')),
      );
      expect(results[5]).toMatchObject({ reason: expect.any(StoreUnavailable) as unknown });
      await somebody.query('ROLLBACK');
    } finally {
      await somebody.end();
      await impatient.close();
    }
    expect(await world.passes.recordAgain(release(locked))).toMatchObject({ held: true });
  }, 30_000);

  test('what no jsonb can hold is kept with a mark in its place', async () => {
    const [claim] = await claimed('unstorable', 1);
    if (claim === undefined) throw new Error('nothing was claimed');
    const message = 'no\u0000way, half a \ud83c, and \\u0000 spelt out 🍵';
    const failure = { class: 'rejected', code: 'odd', message, step: 'confirm_payment' } as const;
    await world.passes.record(release(claim, { facts: { ...claim.record.facts, failure } }));
    const { facts } = await world.get(claim.record.operation_id);
    expect(facts.failure?.message).toBe('no\ufffdway, half a \ufffd, and \\u0000 spelt out 🍵');
  });

  test('what may stand in no column of a batch is kept with a mark, and moves nothing of other entries', async () => {
    const claims = await claimed('columns', 3);
    const intents = await Promise.all(
      claims.map((claim, at) =>
        world.passes.record(
          release(claim, {
            next: {
              kind: 'intent',
              lease_ms: 60_000,
              intent: {
                step: 'reserve_inventory',
                target: 'reservation/1',
                ordinal: 1,
                effect_key: `op_${at}`,
                parameters: { note: at === 1 ? 'a\u001eb' : 'plain' },
              },
            },
          }),
        ),
      ),
    );
    const ids = ['req_0', 'req\u001e\u001e\u00001', ''];
    await Promise.all(
      claims.map((claim, at) =>
        world.passes.record(
          release(claim, {
            resource_version: 2,
            completed: {
              attempt_id: intents[at]?.attempt?.attempt_id ?? '',
              outcome: { kind: 'done', request_id: ids[at] ?? '' },
            },
          }),
        ),
      ),
    );
    const journals = await Promise.all(claims.map(({ record }) => world.store.attempts(record.operation_id)));
    expect(journals.flat()).toMatchObject([
      { effect_key: 'op_0', parameters: { note: 'plain' }, outcome: 'done', request_id: 'req_0' },
      { effect_key: 'op_1', parameters: { note: 'a\u001eb' }, request_id: 'req\ufffd\ufffd\ufffd1' },
      { effect_key: 'op_2', parameters: { note: 'plain' }, outcome: 'done', request_id: null },
    ]);
  });

  test('a schema that is yet to be made is a database that is away', async () => {
    await expect(world.db.database.query('SELECT no_such_column FROM order_operations')).rejects.toThrow(
      StoreUnavailable,
    );
  });

  test('batches and wakes that lock the same rows in other orders all come through', async () => {
    const names = ids('crossing', 40);
    for (const id of names) await world.create(id);
    for (let round = 0; round < 10; round += 1) {
      const { claims } = await world.passes.claim(40, 'worker', 60_000, 1_000);
      const [first, second] = await Promise.all([
        world.passes.recordAll(claims.slice(0, 20).map((claim) => release(claim, { changed: false }))),
        world.passes.recordAll(
          claims
            .slice(20)
            .toReversed()
            .map((claim) => release(claim, { changed: false })),
        ),
        world.passes.wake(claims.map(({ row }) => row)),
        world.passes.wake(claims.map(({ row }) => row).toReversed()),
      ]);
      expect([...first, ...second].filter(({ held }) => held)).toHaveLength(40);
    }
    const rows = await world.db.database.query<{ wake: string }>(
      'SELECT wake FROM order_operations WHERE operation_id = ANY ($1)',
      [names],
    );
    expect(rows.map(({ wake }) => Number(wake))).toEqual(names.map(() => 20));
  }, 30_000);
});
