// A hand-written loop over Postgres alone, in as many processes as the product: what the same calls cost at least
// where nobody reads, journals, claims or decides.
import pg from 'pg';
import { once } from 'node:events';
import { freePort } from '../../scripts/services/probe.mjs';
import { answersOk, startNode, untilReady } from '../arena.mjs';
import { httpClient, sendJson } from '../http-client.mjs';
import { SCHEMA } from '../yardsticks/schema.mjs';

/** `writes`: 'single' or 'batched', see yardsticks/writes.mjs. */
export function yardstick(name, writes) {
  return { name, processes: '1 api + 1 worker', uses: 'Postgres', start };

  async function start(arena, databaseUrl, { withWorker = true } = {}) {
    const database = new pg.Pool({ connectionString: databaseUrl, max: 1 });
    database.on('error', () => {});
    await database.query(SCHEMA);
    const env = {
      DATABASE_URL: databaseUrl,
      WORLD_URL: arena.world.url,
      CONCURRENCY: String(arena.options.concurrency),
      WRITES: writes,
    };
    const PORT = String(await freePort());
    const url = `http://127.0.0.1:${PORT}`;
    const api = startNode(arena, `${name}-api`, ['bench/yardsticks/api.mjs'], { ...env, PORT });
    await untilReady(arena, api, () => answersOk(url, arena.lifetime.signal));
    const startWorker = async () => {
      const worker = startNode(arena, `${name}-worker`, ['bench/yardsticks/worker.mjs'], env, { ipc: true });
      await Promise.race([once(worker.child, 'message'), worker.exited]);
      await untilReady(arena, worker, () => !worker.hasExited());
      return worker;
    };
    const client = httpClient(url, { connections: arena.options.clients });
    return {
      api,
      worker: withWorker ? await startWorker() : null,
      startWorker,
      database,
      post: (order) => sendJson(client, { method: 'POST', path: '/orders', body: JSON.stringify(order) }),
      async fulfilled(ids) {
        const { rows } = await database.query(
          `SELECT id, extract(epoch FROM fulfilled_at)::float8 * 1000 AS at FROM orders
           WHERE id = ANY ($1) AND fulfilled_at IS NOT NULL`,
          [ids],
        );
        return new Map(rows.map(({ id, at }) => [id, at]));
      },
      async stop() {
        client.close();
        await database.end();
        await this.worker?.stop();
        await api.stop();
      },
    };
  }
}
