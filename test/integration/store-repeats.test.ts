import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { StoreUnavailable } from '../../src/store/database.js';
import type { Entry, PassStore, Recorded } from '../../src/store/pass-store.js';
import { aWorld, type World } from '../support/world.js';

/** Postgres carries out each statement; the answer to the `lost`-th is lost, so the worker cannot know. */
function losing(store: PassStore, lost: number): PassStore {
  let written = 0;
  const answer = async (carriedOut: Promise<Recorded>): Promise<Recorded> => {
    const recorded = await carriedOut;
    written += 1;
    if (written === lost) throw new StoreUnavailable(new Error('the connection broke'));
    return recorded;
  };
  return new Proxy(store, {
    get(target, name) {
      if (name === 'record') return (entry: Entry) => answer(target.record(entry));
      if (name === 'recordAgain') return (entry: Entry) => answer(target.recordAgain(entry));
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}

describe('a record was written, and the worker was not told', () => {
  let world: World;
  beforeAll(async () => {
    world = await aWorld();
  });
  afterAll(() => world.stop());

  /** Reserve, create, confirm, commit, and the release at the end. */
  test.each([1, 2, 3, 4, 5])('the %i. of an order: it goes on, and nothing is told twice', async (lost) => {
    const id = `lost-answer-${lost}`;
    await world.create(id);
    await world.run(world.worker({ store: losing(world.passes, lost) }));

    const done = await world.settle(id);
    expect(done.status).toMatchObject({ phase: 'fulfilled', attention: null });
    expect(await world.control.ledger(id)).toMatchObject({
      captured: 12_900,
      effects: { creates: 1, confirms: 1 },
      stock: { reserved: 1, committed: 1 },
      violations: [],
    });
    const attempts = await world.store.attempts(id);
    expect(attempts.map(({ step, outcome }) => [step, outcome])).toEqual([
      ['reserve_inventory', 'done'],
      ['create_payment', 'done'],
      ['confirm_payment', 'done'],
      ['commit_inventory', 'done'],
    ]);
    const told = (await world.store.events(id)).map(
      ({ type, data }) => `${type} ${JSON.stringify(data?.['step'] ?? data?.['to'] ?? '')}`,
    );
    expect(told).toEqual([...new Set(told)]);
    expect(told.filter((line) => line.startsWith('interrupted'))).toEqual([]);
  });
});
