// Postgres and Redis for one run, set up as they are deployed: what is committed is on the disk.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { Unavailable } from '../scripts/process/lifetime.mjs';
import { debianRedis } from '../scripts/services/debian-redis.mjs';
import { embeddedPostgres } from '../scripts/services/embedded-postgres.mjs';
import { keptFolder, serviceUser } from '../scripts/services/place.mjs';
import { installedPostgres, startPostgres } from '../scripts/services/postgres.mjs';
import { installedRedis, startRedis } from '../scripts/services/redis.mjs';
import { trackStatements } from './measure/statements.mjs';

/** Of the write-ahead log. */
const SEGMENT_MB = 16;
const SEGMENTS = 64;

const SETTINGS = {
  // No checkpoint but those that the bench asks for: one that falls into a window would be charged to its contestant.
  max_wal_size: '8GB',
  checkpoint_timeout: '1h',
  // The same for what is vacuumed.
  autovacuum_naptime: '1h',
  // What a turn writes, but for that of `--long`: see runIn.
  min_wal_size: `${SEGMENTS * SEGMENT_MB}MB`,
};

/** `{postgres, redis}`, each with its `url`, `pid` and an open `admin` connection. */
export async function startServices({ root, folder, lifetime, say }) {
  const context = { root, user: serviceUser(), kept: keptFolder(root, serviceUser()), folder, lifetime, say };
  return { postgres: await ourPostgres(context), redis: await ourRedis(context) };
}

async function ourPostgres(context) {
  const { user, kept } = context;
  const binaries = installedPostgres(user) ?? (await embeddedPostgres({ ...context, folder: kept }));
  if (!binaries) throw new Unavailable('the bench starts a Postgres of its own, and none is installed');
  // Throw-away servers of the tests do not wait for the disk; this one does.
  const start = () => startPostgres({ ...context, binaries, isThrowAway: false });

  const first = await start();
  const countsStatements = await configure(first.url);
  process.kill(serverPid(first), 'SIGINT');
  await first.program.exited;

  const server = await start();
  const admin = await connect(server.url);
  await runIn(admin);
  if (countsStatements) {
    await admin.query('CREATE EXTENSION pg_stat_statements');
    await trackStatements(admin, 'none');
  }
  return { ...server, version: binaries.version, pid: serverPid(server), admin, countsStatements };
}

/** A server that runs for long uses its segments again; making one holds up all commits for a tenth of a second. */
async function runIn(admin) {
  for (let segment = 0; segment < SEGMENTS; segment += 1) {
    await admin.query(`SELECT pg_logical_emit_message(false, 'bench', 'a byte')`);
    await admin.query('SELECT pg_switch_wal()');
  }
  await admin.query('CHECKPOINT');
}

/** Settings that need a restart. Whether statements can be counted: the library is not everywhere. */
async function configure(url) {
  const admin = await connect(url);
  const { rowCount } = await admin.query(
    `SELECT FROM pg_available_extensions WHERE name = 'pg_stat_statements'`,
  );
  if (rowCount > 0) await admin.query(`ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'`);
  for (const [name, value] of Object.entries(SETTINGS))
    await admin.query(`ALTER SYSTEM SET ${name} = '${value}'`);
  await admin.end();
  return rowCount > 0;
}

const serverPid = ({ folder }) =>
  Number(readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]);

async function connect(url) {
  const client = new pg.Client({ connectionString: url });
  // Lost when the server is stopped, which is how every run ends.
  client.on('error', () => {});
  await client.connect();
  return client;
}

async function ourRedis(context) {
  const binary = installedRedis() ?? (await debianRedis({ ...context, folder: context.kept }));
  if (!binary) throw new Unavailable('the bench starts a Redis of its own, and none can be had');
  const server = await startRedis({ ...context, binary, isThrowAway: false });
  const admin = new Redis(server.url);
  admin.on('error', () => {});
  const pid = Number(/process_id:(\d+)/.exec(await admin.info('server'))[1]);
  return { ...server, version: binary.version, pid, admin };
}

/** An empty database of this name; returns its address. */
export async function emptyDatabase({ url, admin }, name) {
  await dropDatabase({ admin }, name);
  await admin.query(`CREATE DATABASE "${name}"`);
  const address = new URL(url);
  address.pathname = `/${name}`;
  return address.href;
}

export async function vacuum(url) {
  const client = await connect(url);
  try {
    await client.query('VACUUM (ANALYZE)');
  } finally {
    await client.end();
  }
}

export const dropDatabase = ({ admin }, name) =>
  admin.query(`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`);
