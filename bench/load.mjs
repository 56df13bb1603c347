// Posting orders: as fast as so many clients can, or by the clock.
import { setTimeout as sleep } from 'node:timers/promises';
import { anOrder } from './orders.mjs';

/** Closed loop: each client posts its next order when the last one was accepted. */
export async function postAll(run, ids, clients) {
  let next = 0;
  const client = async () => {
    while (next < ids.length) {
      const id = ids[next];
      next += 1;
      await run.post(anOrder(id));
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
}

/**
 * Open loop: the clock decides when an order is posted, however slow the answers are, so a stall is charged to all
 * orders that it delays. Returns when each was to be sent, by id, in milliseconds since the epoch.
 */
export async function postByClock(run, ids, rate, signal) {
  const due = new Map();
  const posts = [];
  const began = Date.now() + 50;
  for (const [index, id] of ids.entries()) {
    const at = began + (index * 1000) / rate;
    if (at > Date.now()) await sleep(at - Date.now(), undefined, { signal });
    due.set(id, at);
    posts.push(run.post(anOrder(id)));
  }
  await Promise.all(posts);
  return due;
}

/** Resolves when the orders are fulfilled: asks the stand-in first, which is cheap, then the contestant's database. */
export async function untilFulfilled(arena, run, ids, { from, timeoutMs = 180_000 }) {
  const end = Date.now() + timeoutMs;
  const pause = () => sleep(25, undefined, { signal: arena.lifetime.signal });
  const late = async () =>
    new Error(`${ids.length - (await run.fulfilled(ids)).size} orders are not fulfilled in time`);
  while ((await arena.world.counts()).committed - from < ids.length) {
    if (Date.now() > end) throw await late();
    await pause();
  }
  for (;;) {
    const fulfilled = await run.fulfilled(ids);
    if (fulfilled.size === ids.length) return fulfilled;
    if (Date.now() > end) throw await late();
    await pause();
  }
}
