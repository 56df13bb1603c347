// The product's HTTP stack over one bare INSERT; see yardsticks/bare-api.mjs. It has no worker.
import { once } from 'node:events';
import pg from 'pg';
import { freePort } from '../../scripts/services/probe.mjs';
import { startNode, untilReady } from '../arena.mjs';
import { httpClient } from '../http-client.mjs';
import { SCHEMA } from '../yardsticks/schema.mjs';
import { API_KEY, operationsPoster } from './product.mjs';

export function bareApi(folder) {
  return { name: 'bare api', processes: '1 api', uses: 'Postgres', phases: ['create'], start };

  async function start(arena, databaseUrl) {
    const database = new pg.Client({ connectionString: databaseUrl });
    await database.connect();
    await database.query(SCHEMA);
    await database.end();
    const PORT = String(await freePort());
    const env = { DATABASE_URL: databaseUrl, PORT, FOLDER: folder, API_KEY };
    const api = startNode(arena, 'bare-api', ['bench/yardsticks/bare-api.mjs'], env, { ipc: true });
    await Promise.race([once(api.child, 'message'), api.exited]);
    await untilReady(arena, api, () => !api.hasExited());
    const client = httpClient(`http://127.0.0.1:${PORT}`, { connections: arena.options.clients });
    return {
      api,
      worker: null,
      post: operationsPoster(client),
      async stop() {
        client.close();
        await api.stop();
      },
    };
  }
}
