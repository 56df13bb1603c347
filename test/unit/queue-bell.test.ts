import { expect, jest, test } from '@jest/globals';
import type { BellQueue } from '../../src/queue/backend.js';
import { QueueBell, type Ring } from '../../src/queue/queue-bell.js';

const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** A bell, how often its queue was asked, and what the rings said. */
function aBell(add: () => Promise<unknown>): { bell: QueueBell; rung: () => number; said: Ring[] } {
  const said: Ring[] = [];
  const queue = {
    add: (_name: string, ring: Ring) => {
      said.push(ring);
      return add();
    },
  } as unknown as BellQueue;
  return { bell: new QueueBell(queue, QUIET), rung: () => said.length, said };
}
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test('it rings at once after a silence; what is rung meanwhile is one ring after it', async () => {
  const { bell, rung } = aBell(() => Promise.resolve());
  bell.ring();
  expect(rung()).toBe(1);
  for (let times = 0; times < 100; times += 1) bell.ring();
  expect(rung()).toBe(1);
  await pause(200);
  expect(rung()).toBe(2);
  bell.ring();
  expect(rung()).toBe(3);
});

test('the ring after one that came alone follows soon, those after it at a distance, and each of them lasts until the next', async () => {
  jest.useFakeTimers();
  try {
    const { bell, rung, said } = aBell(() => Promise.resolve());
    const rungAfter = async (ms: number): Promise<number> => {
      bell.ring();
      await jest.advanceTimersByTimeAsync(ms);
      return rung();
    };
    expect(await rungAfter(7)).toBe(1);
    expect(await rungAfter(1)).toBe(2);
    expect(await rungAfter(99)).toBe(2);
    expect(await rungAfter(1)).toBe(3);
    await jest.advanceTimersByTimeAsync(200);
    expect(await rungAfter(7)).toBe(4);
    expect(await rungAfter(1)).toBe(5);
    // A little longer than the distance: the next one travels, too.
    expect(said).toEqual([{}, { lasts_ms: 115 }, { lasts_ms: 115 }, {}, { lasts_ms: 115 }]);
  } finally {
    jest.useRealTimers();
  }
});

test('a queue that fails is not hammered, and is rung again when there is a reason', async () => {
  const { bell, rung } = aBell(() => Promise.reject(new Error('away')));
  bell.ring();
  bell.ring();
  await pause(200);
  expect(rung()).toBe(1);
  bell.ring();
  expect(rung()).toBe(2);
});
