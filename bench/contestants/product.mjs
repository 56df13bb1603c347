// The product as it is deployed: one process with ROLE=api, one with ROLE=worker, built, with its defaults but for
// the provider's timeout, from which the lease follows (it decides how long a crash is felt).
import pg from 'pg';
import { freePort } from '../../scripts/services/probe.mjs';
import { answersOk, startNode, untilReady } from '../arena.mjs';
import { httpClient, sendJson } from '../http-client.mjs';

export const API_KEY = 'bench-secret';
const PROVIDER_TIMEOUT_MS = 2000;

/** `folder`: where it is built, so that another state of the sources can be a contestant too. */
export function productIn(folder, name) {
  return { name, processes: '1 api + 1 worker', uses: 'Postgres, Redis', folder, start };

  async function start(arena, databaseUrl, { withWorker = true } = {}) {
    const env = {
      DATABASE_URL: databaseUrl,
      REDIS_URL: arena.services.redis.url,
      HOST: '127.0.0.1',
      API_KEYS: `bench:checkout:${API_KEY}`,
      STRIPE_SECRET_KEY: 'sk_test_bench',
      STRIPE_API_BASE: arena.world.url,
      INVENTORY_URL: arena.world.url,
      PROVIDER_TIMEOUT_MS: String(PROVIDER_TIMEOUT_MS),
      WORKER_CONCURRENCY: String(arena.options.concurrency),
      WORKER_ID: 'bench-worker',
      // A mix gives back more within its minute than a shop within its hour.
      REFUND_BRAKE_COUNT: '1000000',
    };
    const { code, output } = await arena.lifetime.run(process.execPath, ['.', 'migrate'], {
      cwd: folder,
      env: { PATH: process.env.PATH, ...env },
    });
    if (code !== 0) throw new Error(`migrate: ${output}`);

    const role = async (ROLE) => {
      const PORT = String(await freePort());
      const program = startNode(
        arena,
        `${name}-${ROLE}`,
        [...profiling(arena, `${name}-${ROLE}`), '.'],
        { ...env, ROLE, PORT },
        { cwd: folder },
      );
      const url = `http://127.0.0.1:${PORT}`;
      await untilReady(arena, program, () => answersOk(`${url}/readyz`, arena.lifetime.signal));
      return { ...program, url };
    };
    const api = await role('api');
    const worker = withWorker ? await role('worker') : null;
    return aRun({ api, worker, startWorker: () => role('worker') }, databaseUrl, arena.options.clients);
  }
}

/** One directory for all profiles, where one was asked for. */
function profiling({ options }, name) {
  return options.profile === null
    ? []
    : ['--cpu-prof', `--cpu-prof-dir=${options.profile}`, `--cpu-prof-name=${name}.cpuprofile`];
}

/** `ask(id, path, body)`: a request about an order, `POST /v1/operations/{id}{path}`. */
function operationsAsker(client) {
  const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };
  return (id, path, body) =>
    sendJson(client, {
      method: 'POST',
      path: `/v1/operations/${id}${path}`,
      headers,
      body: JSON.stringify(body),
    });
}

/** Creates an order by `POST /v1/operations`. */
export function operationsPoster(client) {
  const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };
  return (order) =>
    sendJson(client, { method: 'POST', path: '/v1/operations', headers, body: JSON.stringify(order) });
}

function aRun({ api, worker, startWorker }, databaseUrl, connections) {
  const client = httpClient(api.url, { connections });
  const database = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  database.on('error', () => {});
  return {
    api,
    worker,
    startWorker,
    database,
    databaseUrl,
    post: operationsPoster(client),
    ask: operationsAsker(client),
    /** When each came to rest (fulfilled or cancelled, no refund open), in milliseconds since the epoch. */
    async settled(ids) {
      const { rows } = await database.query(
        `SELECT operation_id AS id, extract(epoch FROM settled_at)::float8 * 1000 AS at FROM order_operations
         WHERE operation_id = ANY ($1) AND phase IN ('fulfilled', 'cancelled') AND settled_at IS NOT NULL`,
        [ids],
      );
      return new Map(rows.map(({ id, at }) => [id, at]));
    },
    /** When each was fulfilled, in milliseconds since the epoch. */
    async fulfilled(ids) {
      const { rows } = await database.query(
        `SELECT operation_id AS id, extract(epoch FROM updated_at)::float8 * 1000 AS at FROM order_operations
         WHERE operation_id = ANY ($1) AND phase = 'fulfilled'`,
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
