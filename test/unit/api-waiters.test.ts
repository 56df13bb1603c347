import { describe, expect, jest, test } from '@jest/globals';
import { Waiters } from '../../src/api/operations/waiters.js';
import type { OperationStore } from '../../src/store/operation-store.js';
import type { OperationRecord } from '../../src/store/record.js';
import { aRecord } from '../support/orders.js';

/** Reads only: what the poll uses of the store. */
function readsOf(find: (ids: readonly string[]) => Promise<OperationRecord[]>): OperationStore {
  return { findMany: find } as unknown as OperationStore;
}
const never = (): AbortSignal => new AbortController().signal;
const record = (operation_id: string, phase: 'accepted' | 'fulfilled'): OperationRecord => ({
  ...aRecord({ status: { phase } }),
  operation_id,
});

describe('Waiters', () => {
  test('one query serves all who wait, whatever their number, and none runs afterwards', async () => {
    const phases = new Map<string, 'accepted' | 'fulfilled'>([
      ['a', 'accepted'],
      ['b', 'accepted'],
    ]);
    const find = jest.fn((ids: readonly string[]) =>
      Promise.resolve(ids.map((id) => record(id, phases.get(id) ?? 'accepted'))),
    );
    const waiters = new Waiters(readsOf(find));
    const all = [...Array(50).keys()].map((n) => waiters.wait(n % 2 === 0 ? 'a' : 'b', 20, never()));
    await new Promise((resolve) => setTimeout(resolve, 350));
    const polls = find.mock.calls.length;
    expect(polls).toBeGreaterThanOrEqual(1);
    expect(polls).toBeLessThanOrEqual(4);
    expect(find.mock.calls[0]?.[0]).toEqual(['a', 'b']);
    phases.set('a', 'fulfilled').set('b', 'fulfilled');
    const seen = await Promise.all(all);
    expect(seen.map((one) => one?.status.phase)).toEqual(Array(50).fill('fulfilled'));
    const after = find.mock.calls.length;
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect(find.mock.calls.length).toBe(after);
    expect(waiters.count).toBe(0);
  });

  test('ends after its time, when the client goes, and when the process stops', async () => {
    const waiters = new Waiters(readsOf((ids) => Promise.resolve(ids.map((id) => record(id, 'accepted')))));
    const client = new AbortController();
    const started = process.hrtime.bigint();
    const timed = waiters.wait('a', 1, never());
    const left = waiters.wait('a', 20, client.signal);
    const stopped = waiters.wait('a', 20, never());
    client.abort();
    expect(await left).toBeNull();
    expect(await timed).toBeNull();
    expect(Number(process.hrtime.bigint() - started) / 1e6).toBeGreaterThan(900);
    waiters.close();
    expect(await stopped).toBeNull();
    expect(await waiters.wait('a', 20, never())).toBeNull();
    expect(waiters.count).toBe(0);
  });

  test('a database that is away for a moment ends no wait', async () => {
    let down = true;
    const waiters = new Waiters(
      readsOf((ids) =>
        down ? Promise.reject(new Error('away')) : Promise.resolve(ids.map((id) => record(id, 'fulfilled'))),
      ),
    );
    const waiting = waiters.wait('a', 10, never());
    setTimeout(() => (down = false), 250);
    expect((await waiting)?.status.phase).toBe('fulfilled');
  });
});
