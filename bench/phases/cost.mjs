// What an order costs in transactions, statements, WAL, queue operations and requests, less what idling costs.
import { setTimeout as sleep } from 'node:timers/promises';
import { postAll, untilFulfilled } from '../load.mjs';
import { countStatements } from '../measure/statements.mjs';
import { sum } from '../measure/figures.mjs';
import { perOrder, readMeters } from '../measure/window.mjs';
import { someIds } from '../orders.mjs';

const ORDERS = 1000;
const IDLE_MS = 6000;
/** The bench's own question. */
const OWN = /ANY \(\$1\) AND (phase|fulfilled_at)/;

export async function measureCost(arena, run, database) {
  const { postgres } = arena.services;
  const counted = (work) => countStatements(postgres, database, work);

  const idle = await counted(async () => {
    const from = await readMeters(arena, run);
    await sleep(IDLE_MS, undefined, { signal: arena.lifetime.signal });
    return { from, to: await readMeters(arena, run) };
  });
  const ids = someIds(ORDERS);
  const busy = await counted(async () => {
    const { committed } = await arena.world.counts();
    const from = await readMeters(arena, run);
    await postAll(run, ids, arena.options.clients);
    await untilFulfilled(arena, run, ids, { from: committed });
    return { from, to: await readMeters(arena, run) };
  });

  const { from, to } = busy.result;
  const each = perOrder(from, to, ORDERS, idle.result);
  if (busy.statements === null) return { ...each, statements: null };
  const idleRate = sum(idle.statements.map(({ calls }) => calls)) / IDLE_MS;
  const own = busy.statements.filter(({ query }) => !OWN.test(query));
  return {
    ...each,
    statements: (sum(own.map(({ calls }) => calls)) - idleRate * (to.at - from.at)) / ORDERS,
    top_statements: own.slice(0, 12).map(({ query, calls, ms, wal_bytes }) => ({
      query,
      calls_per_order: calls / ORDERS,
      ms_per_order: ms / ORDERS,
      ms_per_call: ms / calls,
      wal_bytes_per_order: wal_bytes / ORDERS,
    })),
  };
}
