// The worker is killed with orders in flight and started again at once: until all are fulfilled, and what came twice.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { postAll, untilFulfilled } from '../load.mjs';
import { someIds } from '../orders.mjs';

const ORDERS = 200;
/** Slow enough that many calls are under way when the worker dies. */
const LATENCY_MS = 250;
/** Most orders have begun, few are done: each makes four requests. */
const KILLED_AFTER_REQUESTS = 150;

export async function measureRecovery(arena, run) {
  const { world, lifetime } = arena;
  await world.reset(LATENCY_MS);
  const ids = someIds(ORDERS);
  await postAll(run, ids, arena.options.clients);
  while ((await world.counts()).requests < KILLED_AFTER_REQUESTS)
    await sleep(5, undefined, { signal: lifetime.signal });

  run.worker.child.kill('SIGKILL');
  if (!run.worker.hasExited()) await once(run.worker.child, 'exit');
  const killed = Date.now();
  run.worker = await run.startWorker();
  const ready = Date.now();
  const fulfilled = await untilFulfilled(arena, run, ids, { from: 0 });
  const { requests, repeated, charged, charged_twice } = await world.counts();
  await world.reset(arena.options.latency);
  return {
    in_flight: [...fulfilled.values()].filter((at) => at > killed).length,
    start_seconds: (ready - killed) / 1000,
    seconds: (Math.max(...fulfilled.values()) - killed) / 1000,
    requests_per_order: requests / ORDERS,
    repeated_requests: repeated,
    charged,
    charged_twice,
  };
}
