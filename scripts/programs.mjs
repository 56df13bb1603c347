// The two programs that npm start runs: the sandbox and the product, as processes of their own.
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Unavailable } from './process/lifetime.mjs';
import { freePort, waitUntil } from './services/probe.mjs';

const USUAL_PORT = 3000;
const READY_WITHIN_MS = 60_000;

/** `{name, url, log, exited}` of a sandbox that listens; it chooses its port itself and says which. */
export async function startSandbox({ root, lifetime, services }) {
  const log = join(services.folder, 'sandbox.log');
  const environment = { ...process.env, PORT: '0', HOST: '127.0.0.1', WEBHOOK_URL: '', WEBHOOK_SECRET: '' };
  const program = startProgram(lifetime, { root, log, args: ['dist/src/sandbox/main.js'], environment });
  let url;
  const hasSaid = () =>
    (url = /http:\/\/127\.0\.0\.1:\d+/.exec(readFileSync(log, 'utf8'))?.[0]) !== undefined;
  const isUp = await waitUntil(hasSaid, { signal: lifetime.signal, isOver: program.hasExited });
  if (!isUp) throw new Unavailable(`the sandbox did not start:\n${tail(log)}`);
  return { name: 'the sandbox', url, log, exited: program.exited };
}

/** `{name, url, log, keys, exited}` of the product, in all its roles in one process, once it says that it is ready. */
export async function startProduct({ root, lifetime, services, sandbox, say }) {
  const wanted = Number(process.env.PORT) || USUAL_PORT;
  const log = join(services.folder, 'product.log');
  const secrets = {
    checkout: randomBytes(12).toString('hex'),
    support: randomBytes(12).toString('hex'),
    lead: randomBytes(12).toString('hex'),
    webhooks: `whsec_${randomBytes(16).toString('hex')}`,
  };
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort(attempt === 1 ? wanted : 0);
    const environment = { ...process.env, ...settings({ port, services, sandbox, secrets }) };
    const program = startProgram(lifetime, { root, log, args: ['.'], environment });
    const url = `http://127.0.0.1:${port}`;
    const isReady = () => answers(`${url}/readyz`, lifetime.signal);
    const options = { signal: lifetime.signal, isOver: program.hasExited, timeoutMs: READY_WITHIN_MS };
    if (await waitUntil(isReady, options)) {
      if (port !== wanted) say(`port ${wanted} is taken`);
      await registerWebhook({ sandbox, url, secret: secrets.webhooks, signal: lifetime.signal });
      const { webhooks: _, ...keys } = secrets;
      return { name: 'the product', url, log, keys, exited: program.exited };
    }
    // Somebody took the port between our look and the product's.
    const isLostRace = program.hasExited() && readFileSync(log, 'utf8').includes('EADDRINUSE');
    if (!isLostRace || attempt === 3)
      throw new Unavailable(`the product did not become ready:\n${tail(log)}`);
  }
}

function settings({ port, services, sandbox, secrets }) {
  return {
    ROLE: 'all',
    HOST: '127.0.0.1',
    PORT: String(port),
    DATABASE_URL: services.databaseUrl,
    // An empty variable counts as absent: without Redis the queue lives in Postgres.
    REDIS_URL: services.redisUrl ?? '',
    STRIPE_SECRET_KEY: 'sk_test_demo',
    STRIPE_WEBHOOK_SECRET: secrets.webhooks,
    STRIPE_API_BASE: sandbox.url,
    ACCOUNTS_FILE: '',
    INVENTORY_URL: `${sandbox.url}/warehouse`,
    API_KEYS: `demo-checkout:checkout:${secrets.checkout},demo-support:support:${secrets.support},demo-lead:support_lead:${secrets.lead}`,
    // A demonstration should take seconds: a short patience with a provider that answers at once or never,
    // and pauses to match. The lease has to outlast two calls.
    PROVIDER_TIMEOUT_MS: '2000',
    LEASE_MS: '6000',
    SWEEP_INTERVAL_MS: '1000',
    BACKOFF_BASE_MS: '200',
    SHUTDOWN_GRACE_MS: '5000',
  };
}

/** The provider's dashboard is told where webhooks go once that address is known. */
async function registerWebhook({ sandbox, url, secret, signal }) {
  const response = await fetch(`${sandbox.url}/_sandbox/webhooks`, {
    method: 'POST',
    body: JSON.stringify({ url: `${url}/v1/webhooks/stripe`, secret }),
    signal,
  });
  if (!response.ok) throw new Error(`the sandbox refuses the webhook address: ${await response.text()}`);
}

function startProgram(lifetime, { root, log, args, environment }) {
  const output = openSync(log, 'w', 0o600);
  const program = lifetime.start(process.execPath, args, {
    cwd: root,
    env: environment,
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  return program;
}

async function answers(url, signal) {
  try {
    return (await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(2000)]) })).ok;
  } catch {
    return false;
  }
}

/** The last lines of a log, each cut to what is read at a glance. */
export function tail(log, lines = 15) {
  const all = readFileSync(log, 'utf8').trimEnd().split('\n');
  return all
    .slice(-lines)
    .map((line) => line.slice(0, 300))
    .join('\n');
}
