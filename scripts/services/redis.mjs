// A Redis server of our own.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { Unavailable } from '../process/lifetime.mjs';
import { rememberServer, stopLeftover } from './leftover.mjs';
import { freePort, redisAnswers, waitUntil } from './probe.mjs';

/** `{path, name, version, major}` of an installed Redis or Valkey, or null. */
export function installedRedis() {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  // Homebrew's and the system's folders are missing from some shells' PATH.
  for (const folder of [...folders, '/usr/bin', '/usr/local/bin', '/opt/homebrew/bin']) {
    for (const name of ['redis-server', 'valkey-server']) {
      const found = existsSync(join(folder, name)) && inspectRedis(join(folder, name));
      if (found) return found;
    }
  }
  return null;
}

/** The same for one program; null when it does not run or is older than the queue supports well (6.2). */
export function inspectRedis(path) {
  const { status, stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' });
  const [, name, version] = /^(Redis|Valkey) server v=(\S+)/i.exec(stdout ?? '') ?? [];
  if (status !== 0 || !version) return null;
  const [major, minor] = version.split('.').map(Number);
  return major > 6 || (major === 6 && minor >= 2) ? { path, name, version, major } : null;
}

/** Starts it with its data in `folder/redis-<major>`, since an older server cannot read a newer one's files. */
export async function startRedis({ binary, folder, lifetime, isThrowAway }) {
  const data = join(folder, `redis-${binary.major}`);
  mkdirSync(data, { recursive: true, mode: 0o700 });
  const password = randomBytes(24).toString('hex');
  const log = join(data, 'redis.log');
  const remembered = join(data, 'server.json');
  await stopLeftover(remembered, { stopSignal: 'SIGTERM', lifetime });

  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const settings = [
      'bind 127.0.0.1',
      `port ${port}`,
      `requirepass ${password}`,
      // A queue whose keys are evicted loses jobs silently.
      'maxmemory-policy noeviction',
      'save ""',
      `appendonly ${isThrowAway ? 'no' : 'yes'}`,
      `dir ${JSON.stringify(data)}`,
    ];
    const output = openSync(log, 'w', 0o600);
    // Settings by standard input: arguments, and so the password, would be readable by every user of the machine.
    const server = lifetime.start(binary.path, ['-'], {
      input: settings.join('\n'),
      stdio: ['pipe', output, output],
    });
    closeSync(output);
    rememberServer(remembered, server.child.pid);
    const isReady = () => redisAnswers(port, password);
    if (await waitUntil(isReady, { signal: lifetime.signal, isOver: server.hasExited })) {
      const url = `redis://:${password}@127.0.0.1:${port}`;
      return { url, port, program: { name: 'Redis', log, exited: server.exited } };
    }
    await server.stop();
    const said = readFileSync(log, 'utf8');
    if (!/Address already in use/i.test(said) || attempt === 5) {
      throw new Unavailable(`Redis did not start:\n${said.trim()}`);
    }
  }
}
