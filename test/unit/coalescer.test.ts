import { describe, expect, test } from '@jest/globals';
import { Coalescer } from '../../src/store/coalescer.js';

interface Item {
  readonly key: string;
  readonly value: number;
}
const item = (value: number, key = `key ${value}`): Item => ({ key, value });

class Away extends Error {}

/** A coalescer over a store that doubles values, with the batches that it was asked to carry out. */
function aCoalescer(
  carryOut: (batch: readonly Item[], alone: boolean) => Promise<void> = () => Promise.resolve(),
  most = 100,
  gather_ms = 0,
): { add: (item: Item) => Promise<number>; batches: number[][] } {
  const batches: number[][] = [];
  const coalescer = new Coalescer<Item, number>({
    run: async (batch, alone) => {
      batches.push(batch.map(({ value }) => value));
      await carryOut(batch, alone);
      return batch.map(({ value }) => value * 2);
    },
    keyOf: ({ key }) => key,
    isFailureOfAll: (error) => error instanceof Away,
    most,
    gather_ms,
  });
  return { add: (one) => coalescer.add(one), batches };
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

describe('items that wait at the same moment', () => {
  test('share a batch, each with its own result', async () => {
    const { add, batches } = aCoalescer();
    expect(await Promise.all([add(item(1)), add(item(2)), add(item(3))])).toEqual([2, 4, 6]);
    expect(batches).toEqual([[1, 2, 3]]);
  });

  test('an item alone does not wait for company', async () => {
    const { add, batches } = aCoalescer();
    expect(await add(item(1))).toBe(2);
    expect(await add(item(2))).toBe(4);
    expect(batches).toEqual([[1], [2]]);
  });

  test('what comes while a batch is under way goes together after it', async () => {
    const { add, batches } = aCoalescer(pause);
    const first = add(item(1));
    await Promise.resolve().then(() => undefined);
    const later = [add(item(2)), add(item(3))];
    expect(await Promise.all([first, ...later])).toEqual([2, 4, 6]);
    expect(batches).toEqual([[1], [2, 3]]);
  });

  test('while items come fast, a batch waits a moment for more of them; after a silence none does', async () => {
    const { add, batches } = aCoalescer(undefined, 100, 50);
    const crowd = [1, 2, 3, 4].map((value) => add(item(value)));
    await pause();
    expect(batches).toEqual([]);
    const late = add(item(5));
    expect(await Promise.all([...crowd, late])).toEqual([2, 4, 6, 8, 10]);
    expect(batches).toEqual([[1, 2, 3, 4, 5]]);

    await new Promise((resolve) => setTimeout(resolve, 200));
    const alone = add(item(6));
    await Promise.resolve().then(() => undefined);
    expect(batches).toHaveLength(2);
    expect(await alone).toBe(12);
  });

  test('no batch is larger than allowed, and nothing is left over', async () => {
    const { add, batches } = aCoalescer(pause, 2);
    const values = [1, 2, 3, 4, 5];
    expect(await Promise.all(values.map((value) => add(item(value))))).toEqual([2, 4, 6, 8, 10]);
    expect(batches).toEqual([[1, 2], [3, 4], [5]]);
  });

  test('items of one key never share a batch, and keep their order', async () => {
    const { add, batches } = aCoalescer();
    await Promise.all([add(item(1, 'a')), add(item(2, 'a')), add(item(3, 'b')), add(item(4, 'a'))]);
    expect(batches).toEqual([[1, 3], [2], [4]]);
  });
});

describe('a batch that fails', () => {
  const settled = (promises: Promise<number>[]): Promise<unknown[]> =>
    Promise.allSettled(promises).then((all) =>
      all.map((one) => (one.status === 'fulfilled' ? one.value : (one.reason as Error).message)),
    );

  test('for one item’s fault: that one fails, the others are carried out', async () => {
    const { add, batches } = aCoalescer((batch) =>
      batch.some(({ value }) => value === 2) ? Promise.reject(new Error('spoilt')) : Promise.resolve(),
    );
    expect(await settled([add(item(1)), add(item(2)), add(item(3))])).toEqual([2, 'spoilt', 6]);
    expect(batches[0]).toEqual([1, 2, 3]);
  });

  test('for one that has to wait: nothing waits for that, not even when it came by itself', async () => {
    let free = (): void => undefined;
    const locked = new Promise<void>((resolve) => (free = resolve));
    const { add, batches } = aCoalescer((batch, alone) => {
      if (!batch.some(({ value }) => value === 1)) return Promise.resolve();
      return alone ? locked : Promise.reject(new Error('locked'));
    });
    const first = add(item(1));
    await pause();
    expect(await Promise.all([add(item(2)), add(item(3))])).toEqual([4, 6]);
    free();
    expect(await first).toBe(2);
    expect(batches).toEqual([[1], [1], [2, 3]]);
  });

  test('because the store is away: all fail at once, and none is tried again', async () => {
    const { add, batches } = aCoalescer(() => Promise.reject(new Away('away')));
    expect(await settled([add(item(1)), add(item(2))])).toEqual(['away', 'away']);
    expect(batches).toEqual([[1, 2]]);
  });

  test('afterwards it goes on', async () => {
    let away = true;
    const { add } = aCoalescer(() => (away ? Promise.reject(new Away('away')) : Promise.resolve()));
    expect(await settled([add(item(1))])).toEqual(['away']);
    away = false;
    expect(await add(item(2))).toBe(4);
  });
});
