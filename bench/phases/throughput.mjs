// Orders settled a second end to end, and what each one costs in CPU: first post to last fulfilled.
import { postAll, untilFulfilled } from '../load.mjs';
import { memoryOf, perOrder, readMeters } from '../measure/window.mjs';
import { someIds } from '../orders.mjs';

export async function measureThroughput(arena, run, orders = arena.options.n) {
  const { committed } = await arena.world.counts();
  const ids = someIds(orders);
  const memory_before = memoryOf(run);
  const before = await readMeters(arena, run);
  const began = Date.now();
  await postAll(run, ids, arena.options.clients);
  const accepted = Date.now();
  const fulfilled = await untilFulfilled(arena, run, ids, { from: committed });
  const after = await readMeters(arena, run);
  return {
    orders,
    per_second: orders / ((Math.max(...fulfilled.values()) - began) / 1000),
    accepted_per_second: orders / ((accepted - began) / 1000),
    ...perOrder(before, after, orders),
    memory_mb: { before: memory_before, after: memoryOf(run) },
  };
}
