/** A Postgres and a Redis for one test alone, that it may stop and start again; the programs are named by the launcher. */
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { until } from './product.js';

export interface PrivateServer {
  readonly url: string;
  /** On the same port and data as before. */
  start(): Promise<void>;
  stop(signal: NodeJS.Signals): Promise<void>;
  /** Stops it if it runs, and removes its data. */
  remove(): Promise<void>;
}

/** Without the program this is a failure: a test that is left out must not look like one that passed. */
function given(variable: string, what: string): string {
  const value = process.env[variable];
  if (value === undefined) throw new Error(`this test needs ${what} of its own: ${variable} is not set`);
  return value;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** One process at a time; it lies in the process group of the test run, so nothing outlives that. */
class Program {
  #child: ChildProcess | null = null;

  constructor(
    private readonly command: string,
    private readonly options: SpawnOptions,
  ) {}

  run(args: readonly string[], input = ''): ChildProcess {
    const child = spawn(this.command, args, { ...this.options, stdio: ['pipe', 'ignore', 'ignore'] });
    child.stdin?.end(input);
    this.#child = child;
    void once(child, 'exit').then(() => (this.#child = null));
    return child;
  }

  get running(): boolean {
    return this.#child !== null;
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }
}

/** Fast: SIGINT, sessions are cut. Immediate: SIGQUIT, as after a crash. */
export async function privatePostgres(): Promise<PrivateServer> {
  const bin = given('POSTGRES_BIN', 'a Postgres');
  const { POSTGRES_UID: uid, POSTGRES_GID: gid } = process.env;
  // Postgres refuses to run as root: the launcher names who it runs as then, and root's own temporary place may be private.
  const user = uid === undefined ? {} : { uid: Number(uid), gid: Number(gid) };
  const folder = mkdtempSync(join(uid === undefined ? tmpdir() : '/tmp', 'order-reconciler-postgres-'));
  if (uid !== undefined) chownSync(folder, Number(uid), Number(gid));
  chmodSync(folder, 0o700);
  const data = join(folder, 'data');
  const as = { ...user, cwd: '/', env: { PATH: process.env['PATH'], LC_ALL: 'C' } };

  const made = new Program(join(bin, 'initdb'), as).run([
    `--pgdata=${data}`,
    '--username=postgres',
    // Loopback, and thrown away in a minute.
    '--auth=trust',
    '--encoding=UTF8',
    '--no-locale',
    '--no-sync',
  ]);
  const [code] = (await once(made, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`initdb ended with ${code}`);

  const port = await freePort();
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off'];
  const program = new Program(join(bin, 'postgres'), as);
  const pidFile = (): string[] => readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async start() {
      const { pid } = program.run(['-D', data, '-p', `${port}`, ...settings.flatMap((one) => ['-c', one])]);
      await until(() => {
        if (!program.running) throw new Error('the process ended before it served');
        const lines = pidFile();
        return Promise.resolve(lines[0] === String(pid) && lines[7]?.trim() === 'ready');
      }, 'Postgres to serve');
    },
    stop: (signal) => program.stop(signal),
    async remove() {
      await program.stop('SIGQUIT');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Keeps nothing: it is empty after each start. `policy`: its maxmemory-policy. */
export async function privateRedis(policy = 'noeviction'): Promise<PrivateServer> {
  const program = new Program(given('REDIS_SERVER', 'a Redis'), { cwd: tmpdir() });
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const settings = [
    'bind 127.0.0.1',
    `port ${port}`,
    `maxmemory-policy ${policy}`,
    'save ""',
    'appendonly no',
  ];
  return {
    url,
    async start() {
      program.run(['-'], settings.join('\n'));
      await until(async () => {
        if (!program.running) throw new Error('the process ended before it served');
        return (await asRedis(url, (redis) => redis.ping())) === 'PONG';
      }, 'Redis to serve');
    },
    stop: (signal) => program.stop(signal),
    remove: () => program.stop('SIGKILL'),
  };
}

/** One conversation with a Redis. */
export async function asRedis<Result>(url: string, talk: (redis: Redis) => Promise<Result>): Promise<Result> {
  const redis = new Redis(url, { maxRetriesPerRequest: 0, retryStrategy: () => null });
  redis.on('error', () => undefined); // The call itself rejects.
  try {
    return await talk(redis);
  } finally {
    redis.disconnect();
  }
}
