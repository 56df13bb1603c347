// A Postgres server of our own: its binaries, its cluster, its process.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  accessSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bornAt } from '../process/identity.mjs';
import { Unavailable } from '../process/lifetime.mjs';
import { rememberServer, stopLeftover } from './leftover.mjs';
import { isReachable } from './place.mjs';
import { freePort, waitUntil } from './probe.mjs';

// The oldest one that the queue's Postgres backend recommends.
const OLDEST_MAJOR = 14;

// "Fast": sessions are cut. The gentler SIGTERM waits for every one of them.
const STOP_SIGNAL = 'SIGINT';

/** `{bin, version, major}` of the first usable installation: that of PATH, then the newest one elsewhere. */
export function installedPostgres(user) {
  const fromPath = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  for (const folder of [...fromPath, ...usualFolders()]) {
    if (!existsSync(join(folder, 'postgres'))) continue;
    // A symlink in PATH may name this one program; its companions lie where it points to.
    const found = inspectBinaries(dirname(realpathSync(join(folder, 'postgres'))), user);
    if (found && found.major >= OLDEST_MAJOR) return found;
  }
  return null;
}

/** `{bin, version, major}` when both programs that we need are there and `user` can run them, else null. */
export function inspectBinaries(bin, user) {
  const programs = [join(bin, 'postgres'), join(bin, 'initdb')];
  try {
    for (const program of programs) accessSync(program, constants.X_OK);
  } catch {
    return null;
  }
  if (!programs.every((program) => isReachable(program, user))) return null;
  const { status, stdout } = spawnSync(programs[0], ['--version'], { encoding: 'utf8' });
  const version = /\d+(\.\d+)?/.exec(stdout ?? '')?.[0];
  return status === 0 && version ? { bin, version, major: Number.parseInt(version, 10) } : null;
}

/**
 * Starts a server over the cluster in `folder/postgres-<major>`, making the cluster when there is none, and
 * returns `{url, port, folder, program}`, the address being its superuser's. The caller sees to it that nobody
 * else uses `folder`.
 */
export async function startPostgres({ binaries, folder, user, lifetime, isThrowAway }) {
  const cluster = join(folder, `postgres-${binaries.major}`);
  // Nothing from outside: PGDATA, PGPORT or a locale that is not installed would change what starts.
  const as = { ...user, cwd: '/', env: { PATH: process.env.PATH, LC_ALL: 'C' } };
  if (!existsSync(cluster)) await makeCluster({ binaries, cluster, as, user, lifetime });
  if (user && statSync(cluster).uid !== user.uid)
    spawnSync('chown', ['-R', `${user.uid}:${user.gid}`, cluster]);
  const data = join(cluster, 'data');
  const remembered = join(cluster, 'server.json');
  await stopLeftover(remembered, { stopSignal: STOP_SIGNAL, lifetime });
  // After a crash the number in it may belong to another process by now, which would keep Postgres from starting.
  // A file that names nobody stays: by it Postgres finds out whether sessions of the dead server still run.
  if (bornAt(pidFile(data)[0]) !== null) rmSync(join(data, 'postmaster.pid'), { force: true });

  const password = readFileSync(join(cluster, 'password'), 'utf8');
  const log = join(cluster, 'postgres.log');
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    // The product's pools, several workers of a test, and a person with psql.
    max_connections: 200,
    ...(isThrowAway && { fsync: 'off' }),
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);

  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const output = openSync(log, 'w', 0o600);
    const server = lifetime.start(
      join(binaries.bin, 'postgres'),
      ['-D', data, '-p', String(port), ...options],
      {
        ...as,
        stdio: ['ignore', output, output],
        stopSignal: STOP_SIGNAL,
        graceMs: 15_000,
      },
    );
    closeSync(output);
    rememberServer(remembered, server.child.pid);
    const isReady = () =>
      pidFile(data)[0] === String(server.child.pid) && pidFile(data)[7]?.trim() === 'ready';
    if (await waitUntil(isReady, { signal: lifetime.signal, isOver: server.hasExited })) {
      const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
      return { url, port, folder: cluster, program: { name: 'Postgres', log, exited: server.exited } };
    }
    await server.stop();
    const said = readFileSync(log, 'utf8');
    const isLostRace = /Address already in use|pre-existing shared memory/i.test(said);
    if (!isLostRace || attempt === 5) throw new Unavailable(`Postgres did not start:\n${said.trim()}`);
    await sleep(200, undefined, { signal: lifetime.signal });
  }
}

async function makeCluster({ binaries, cluster, as, user, lifetime }) {
  // Made beside its place and then renamed: an interrupted start leaves no half cluster to be taken for a whole one.
  const made = `${cluster}.new`;
  rmSync(made, { recursive: true, force: true });
  mkdirSync(made, { recursive: true, mode: 0o700 });
  const password = join(made, 'password');
  writeFileSync(password, randomBytes(24).toString('hex'), { mode: 0o600 });
  if (user) for (const path of [made, password]) chownSync(path, user.uid, user.gid);
  const { code, output } = await lifetime.run(
    join(binaries.bin, 'initdb'),
    [
      `--pgdata=${join(made, 'data')}`,
      '--username=postgres',
      '--auth=scram-sha-256',
      `--pwfile=${password}`,
      '--encoding=UTF8',
      '--no-locale',
      '--no-sync',
    ],
    as,
  );
  if (code !== 0) throw new Unavailable(`initdb failed:\n${output.trim()}`);
  renameSync(made, cluster);
}

/** Lines of postmaster.pid: the pid first, "ready" as the eighth once sessions are taken. */
function pidFile(data) {
  try {
    return readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
  } catch {
    return [];
  }
}

function usualFolders() {
  const versioned = [
    ['/usr/lib/postgresql', 'bin'], // Debian, Ubuntu
    ['/usr', 'bin'], // Red Hat: /usr/pgsql-17/bin
    ['/opt/homebrew/opt', 'bin'],
    ['/usr/local/opt', 'bin'],
  ].flatMap(([base, tail]) => {
    const names = existsSync(base)
      ? readdirSync(base).filter((name) => /^(postgresql@|pgsql-)?\d+$/.test(name))
      : [];
    return names
      .sort((a, b) => Number.parseInt(b.replace(/\D/g, ''), 10) - Number.parseInt(a.replace(/\D/g, ''), 10))
      .map((name) => join(base, name, tail));
  });
  return [...versioned, '/opt/homebrew/bin', '/Applications/Postgres.app/Contents/Versions/latest/bin'];
}
