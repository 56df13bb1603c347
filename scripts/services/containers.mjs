// Postgres and Redis in containers, for machines that have an engine and nothing else.
import { randomBytes } from 'node:crypto';
import { Unavailable } from '../process/lifetime.mjs';
import { freePort, postgresAnswers, redisAnswers, waitUntil } from './probe.mjs';

// The same images as in docker-compose.yml.
const POSTGRES_IMAGE = 'postgres:17-alpine';
const REDIS_IMAGE = 'redis:7.4-alpine';

/** Whether an engine answers; the client alone is on many machines. */
export async function hasContainerEngine(lifetime) {
  const { code } = await lifetime.run('docker', ['version', '--format', '{{.Server.Version}}'], {
    timeout: 5000,
  });
  return code === 0;
}

export async function startPostgresContainer(lifetime) {
  const password = randomBytes(24).toString('hex');
  const port = await freePort();
  await startContainer(lifetime, {
    image: POSTGRES_IMAGE,
    publish: `127.0.0.1:${port}:5432`,
    // Named here, given in the client's environment: arguments are readable by every user of the machine.
    options: ['--env', 'POSTGRES_PASSWORD'],
    env: { ...process.env, POSTGRES_PASSWORD: password },
    isReady: () => postgresAnswers(port),
  });
  return { url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`, port };
}

export async function startRedisContainer(lifetime) {
  const password = randomBytes(24).toString('hex');
  const port = await freePort();
  await startContainer(lifetime, {
    image: REDIS_IMAGE,
    publish: `127.0.0.1:${port}:6379`,
    options: ['--interactive'],
    args: ['redis-server', '-'],
    input: [`requirepass ${password}`, 'maxmemory-policy noeviction', 'save ""'].join('\n'),
    isReady: () => redisAnswers(port, password),
  });
  return { url: `redis://:${password}@127.0.0.1:${port}`, port };
}

/** Runs in the foreground, so that it is a process like the others: the client passes our signals on. */
async function startContainer(
  lifetime,
  { image, publish, options, args = [], env = process.env, input, isReady },
) {
  const pulled = await lifetime.run('docker', ['pull', '--quiet', image], { timeout: 300_000 });
  if (pulled.code !== 0) throw new Unavailable(`the image ${image} cannot be had: ${pulled.output.trim()}`);
  const container = lifetime.start(
    'docker',
    ['run', '--rm', '--publish', publish, ...options, image, ...args],
    {
      env,
      input,
      stdio: [input === undefined ? 'ignore' : 'pipe', 'ignore', 'ignore'],
    },
  );
  if (!(await waitUntil(isReady, { signal: lifetime.signal, isOver: container.hasExited }))) {
    throw new Unavailable(`${image} did not start in a container.`);
  }
}
