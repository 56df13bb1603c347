// Finds or starts what the product needs: Postgres always, Redis where it can be had.
//
// In this order, each for itself: the address given in the environment; a program that is installed; one that can be
// had without installing anything (Postgres from npm, Redis from the distribution's packages); a container. The
// container comes last because it is the slowest, and because tests start servers of their own, which takes programs.
import { chmodSync } from 'node:fs';
import { join, relative } from 'node:path';
import { tryLock } from './process/lock.mjs';
import { Unavailable } from './process/lifetime.mjs';
import { hasContainerEngine, startPostgresContainer, startRedisContainer } from './services/containers.mjs';
import { debianRedis } from './services/debian-redis.mjs';
import { embeddedPostgres } from './services/embedded-postgres.mjs';
import { givenPostgres, givenRedis } from './services/given.mjs';
import { keptFolder, serviceUser, temporaryPlace } from './services/place.mjs';
import { installedPostgres, startPostgres } from './services/postgres.mjs';
import { installedRedis, startRedis } from './services/redis.mjs';

/**
 * - `databaseUrl`, `redisUrl`: where they are; `redisUrl` is null where no Redis can be had.
 * - `postgres`, `redis`: in words, what was found.
 * - `postgresBin` (a folder), `redisServer` (a program): for starting more of them; null where nothing is installed.
 * - `user`: who Postgres must run as, `{uid, gid}`, or null for ourselves.
 * - `folder`: where data and logs of this run are. With `isThrowAway` it is a temporary one, else kept for the next.
 * - `programs`: the processes `{name, log, exited}` that were started. Stopping them is the lifetime's.
 */
export async function findServices({ root, lifetime, say, isThrowAway }) {
  process.umask(0o022); // The server's user must be able to read what we make; secrets are given their own mode.
  const user = serviceUser();
  const kept = keptFolder(root, user);
  if (kept !== join(root, '.data')) {
    say(`the project's own .data cannot be used by whoever runs Postgres: what is kept goes to ${kept}`);
  }
  const folder = isThrowAway ? temporaryData(lifetime, user) : ownData({ kept, lifetime, user, say });
  const context = { root, kept, folder, user, lifetime, say, isThrowAway };
  const { program: postgresProgram, ...postgres } = await findPostgres(context);
  const { program: redisProgram, ...redis } = await findRedis(context);
  return { ...postgres, ...redis, user, folder, programs: [postgresProgram, redisProgram].filter(Boolean) };
}

async function findPostgres(context) {
  const { user, lifetime } = context;
  const installed = installedPostgres(user);
  const binaries = installed ?? (await embeddedPostgres({ ...context, folder: context.kept }));
  const postgresBin = binaries?.bin ?? null;
  if (process.env.DATABASE_URL) return { ...(await givenPostgres(process.env.DATABASE_URL)), postgresBin };

  if (binaries) {
    const { url, port, folder, program } = await startPostgres({ ...context, binaries });
    const origin = installed ? binaries.bin : 'from npm';
    const postgres = `Postgres ${binaries.version} (${origin}), port ${port}, ${describeData(context, folder)}`;
    return { databaseUrl: url, postgres, postgresBin, program };
  }
  if (await hasContainerEngine(lifetime)) {
    const { url, port } = await startPostgresContainer(lifetime);
    return {
      databaseUrl: url,
      postgres: `Postgres in a container, port ${port}, data not kept`,
      postgresBin,
    };
  }
  throw new Unavailable(
    'no Postgres to be had. Install it (Debian, Ubuntu: apt-get install postgresql; macOS: brew install postgresql),' +
      ' or set DATABASE_URL. The one from npm is missing too: was it installed with --omit=optional?',
  );
}

async function findRedis(context) {
  const { kept, lifetime, say } = context;
  const installed = installedRedis();
  const binary = installed ?? (await debianRedis({ folder: kept, lifetime, say }));
  const redisServer = binary?.path ?? null;
  if (process.env.REDIS_URL) return { ...(await givenRedis(process.env.REDIS_URL)), redisServer };

  if (binary) {
    const { url, port, program } = await startRedis({ ...context, binary });
    const origin = installed ? binary.path : 'the distribution’s package, unpacked for this project';
    return {
      redisUrl: url,
      redis: `${binary.name} ${binary.version} (${origin}), port ${port}`,
      redisServer,
      program,
    };
  }
  if (await hasContainerEngine(lifetime)) {
    const { url, port } = await startRedisContainer(lifetime);
    return { redisUrl: url, redis: `Redis in a container, port ${port}`, redisServer };
  }
  return { redisUrl: null, redis: 'no Redis to be had: the queue uses its Postgres backend', redisServer };
}

/** The kept folder while no other start uses it; two servers over the same data would destroy them. */
function ownData({ kept, lifetime, user, say }) {
  const lock = tryLock(join(kept, 'services.lock'));
  if (lock.release) {
    lifetime.onStop(lock.release);
    return kept;
  }
  say(`another start (process ${lock.owner}) uses the kept data: this one has data of its own, not kept`);
  return temporaryData(lifetime, user);
}

function temporaryData(lifetime, user) {
  const folder = lifetime.temporaryFolder('order-reconciler-', temporaryPlace(user));
  // It is made private; the server's user must get through to its own part.
  chmodSync(folder, 0o711);
  return folder;
}

function describeData({ root, isThrowAway }, folder) {
  if (isThrowAway) return 'data thrown away afterwards';
  const shown = relative(root, folder);
  return `data in ${shown.startsWith('..') ? folder : shown}`;
}
