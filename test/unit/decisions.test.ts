/** What people decided is carried out by whoever hears of it: a ring is kept while others are carried out, and none after the end. */
import { expect, test } from '@jest/globals';
import { OrphanSweep } from '../../src/orphans/orphan-sweep.js';
import type { OrphanDependencies } from '../../src/orphans/ports.js';

/** A sweep whose claims end when they are told to. */
function aSweep() {
  const ends: (() => void)[] = [];
  const said: string[] = [];
  const claim = () => new Promise((resolve) => ends.push(() => resolve([])));
  const sweep = new OrphanSweep({
    sweeps: { register: () => Promise.resolve(), claim },
    names: ['default'],
    log: { warn: (_data: unknown, message: string) => said.push(message) },
  } as unknown as OrphanDependencies);
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return {
    sweep,
    said,
    claims: () => ends.length,
    ring: async (times = 1): Promise<void> => {
      for (let ringing = 0; ringing < times; ringing += 1) await sweep.decided();
      await turn();
    },
    end: async (): Promise<void> => {
      ends.at(-1)?.();
      await turn();
    },
  };
}

test('rings that come meanwhile are one more look, and then it is quiet', async () => {
  const { ring, end, claims } = aSweep();
  await ring();
  await ring(5);
  expect(claims()).toBe(1);
  await end();
  expect(claims()).toBe(2);
  await end();
  expect(claims()).toBe(2);
  await ring();
  expect(claims()).toBe(3);
});

test('a process that ends waits for what is under way, and begins nothing more', async () => {
  const { sweep, ring, end, claims, said } = aSweep();
  await ring(2);
  let drained = false;
  const draining = sweep.drain().then(() => (drained = true));
  await ring();
  expect([claims(), drained]).toEqual([1, false]);
  await end();
  await draining;
  await ring();
  expect([claims(), said]).toEqual([1, []]);
});
