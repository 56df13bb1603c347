// From when an order was to be sent until it was fulfilled, at a rate that the clock sets.
import { postByClock, untilFulfilled } from '../load.mjs';
import { percentile } from '../measure/figures.mjs';
import { perOrder, readMeters } from '../measure/window.mjs';
import { someIds } from '../orders.mjs';

export async function measureLatency(arena, run, rate) {
  await runIn(arena, run, rate);
  const { committed } = await arena.world.counts();
  const ids = someIds(rate * arena.options.seconds);
  const before = await readMeters(arena, run);
  const due = await postByClock(run, ids, rate, arena.lifetime.signal);
  const fulfilled = await untilFulfilled(arena, run, ids, { from: committed });
  const after = await readMeters(arena, run);
  const latencies = ids.map((id) => fulfilled.get(id) - due.get(id));
  // Slower than the clock: the last ones would wait the longer, the longer the window is.
  const settled_per_second =
    ids.length / ((Math.max(...fulfilled.values()) - Math.min(...due.values())) / 1000);
  return {
    rate,
    orders: ids.length,
    settled_per_second,
    p50: percentile(latencies, 0.5),
    p95: percentile(latencies, 0.95),
    p99: percentile(latencies, 0.99),
    ...perOrder(before, after, ids.length),
  };
}

/** A second at the rate, uncounted: connections are opened for it, and who had to wait for that would be the slowest hundredth. */
async function runIn(arena, run, rate) {
  const { committed } = await arena.world.counts();
  const ids = someIds(rate);
  await postByClock(run, ids, rate, arena.lifetime.signal);
  await untilFulfilled(arena, run, ids, { from: committed });
}
