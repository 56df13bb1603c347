// Services whose address the environment gives: asked once, so that a wrong address is told here and in words.
// The drivers are the project's own, so this file is loaded after they have been installed.
import { Unavailable } from '../process/lifetime.mjs';

export async function givenPostgres(url) {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query('SHOW server_version');
    return { databaseUrl: url, postgres: `Postgres ${rows[0].server_version} (DATABASE_URL)` };
  } catch (error) {
    throw new Unavailable(
      `DATABASE_URL is set, but its server cannot be used: ${error.message || error.code}`,
    );
  } finally {
    await client.end().catch(() => {});
  }
}

export async function givenRedis(url) {
  const { Redis } = await import('ioredis');
  const client = new Redis(url, { lazyConnect: true, connectTimeout: 10_000, retryStrategy: () => null });
  let cause;
  client.on('error', (error) => (cause ??= error));
  try {
    await client.connect();
    const version = /(?:valkey|redis)_version:(\S+)/.exec(await client.info('server'))?.[1];
    return { redisUrl: url, redis: `Redis ${version} (REDIS_URL)` };
  } catch (error) {
    throw new Unavailable(`REDIS_URL is set, but its server cannot be used: ${(cause ?? error).message}`);
  } finally {
    client.disconnect();
  }
}
