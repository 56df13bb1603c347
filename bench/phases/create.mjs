// Orders accepted a second while no worker runs.
import { postAll } from '../load.mjs';
import { percentile } from '../measure/figures.mjs';
import { perOrder, readMeters } from '../measure/window.mjs';
import { someIds } from '../orders.mjs';

export async function measureCreates(arena, run) {
  const { n, warm, clients } = arena.options;
  if (warm > 0) await postAll(run, someIds(warm), clients);
  const orders = 2 * n;
  const answered = [];
  const timed = {
    async post(order) {
      const began = performance.now();
      await run.post(order);
      answered.push(performance.now() - began);
    },
  };
  const before = await readMeters(arena, run);
  await postAll(timed, someIds(orders), clients);
  const after = await readMeters(arena, run);
  return {
    orders,
    per_second: orders / ((after.at - before.at) / 1000),
    p50: percentile(answered, 0.5),
    p99: percentile(answered, 0.99),
    ...perOrder(before, after, orders),
  };
}
