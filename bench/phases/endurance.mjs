// Memory over very many orders: whether it grows with what has gone through.
import { measureThroughput } from './throughput.mjs';

const SLICES = 20;

export async function measureEndurance(arena, run) {
  const slices = [];
  for (let slice = 0; slice < SLICES; slice += 1) {
    const orders = Math.ceil(arena.options.longOrders / SLICES);
    const { per_second, memory_mb } = await measureThroughput(arena, run, orders);
    slices.push({ orders: (slice + 1) * orders, per_second, memory_mb: memory_mb.after });
    arena.say(`  ${(slice + 1) * orders} orders: worker ${memory_mb.after.worker.toFixed(0)} MB`);
  }
  return { slices, first: slices[0].memory_mb, last: slices.at(-1).memory_mb };
}
