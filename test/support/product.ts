/** The product as deployed: real processes of `node .`, on a database of their own, against the sandbox over HTTP. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { freshDatabase, type TestDatabase } from './database.js';
import { startTestSandbox, type SandboxControl, type TestSandbox } from './sandbox-control.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const CHECKOUT_KEY = 'test-checkout-secret-0001';
export const SUPPORT_KEY = 'test-support-secret-0001';
const STRIPE_KEY = 'sk_test_product_secret_0001';

/** Short, so that a lost lease is over soon; still 2 × timeout and a margin. */
export const PROVIDER_TIMEOUT_MS = 800;
export const LEASE_MS = 2_500;

/** Several that start at once on two busy cores need their time. */
const START_PATIENCE_MS = 60_000;

export interface Process {
  readonly url: string;
  readonly pid: number;
  /** Everything it wrote to stdout and stderr. */
  readonly output: () => string;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  kill(signal: NodeJS.Signals): void;
}

export interface Product {
  readonly db: TestDatabase;
  readonly sandbox: TestSandbox;
  readonly control: SandboxControl;
  readonly environment: Readonly<Record<string, string>>;
  /** Starts a process of a role; by default it waits until that is ready. */
  start(
    role: 'all' | 'api' | 'worker',
    environment?: Record<string, string>,
    ready?: boolean,
  ): Promise<Process>;
  /** Ends what still runs and fails when a process was left behind by its own doing. */
  stop(): Promise<void>;
}

/** Jest's workers share one Redis; each has a logical database of its own in it. */
function redisUrl(): string | undefined {
  const url = process.env['REDIS_URL'];
  return url === undefined
    ? undefined
    : `${url.replace(/\/\d*$/, '')}/${process.env['JEST_WORKER_ID'] ?? '0'}`;
}

export async function aProduct(environment: Record<string, string> = {}): Promise<Product> {
  const db = await freshDatabase();
  const sandbox = await startTestSandbox();
  const redis = redisUrl();
  const running = new Set<Process>();
  const common: Record<string, string> = {
    PATH: process.env['PATH'] ?? '',
    DATABASE_URL: db.url,
    ...(redis === undefined ? {} : { REDIS_URL: redis }),
    PORT: '0',
    STRIPE_SECRET_KEY: STRIPE_KEY,
    STRIPE_API_BASE: sandbox.url,
    INVENTORY_URL: `${sandbox.url}/warehouse`,
    API_KEYS: `checkout:checkout:${CHECKOUT_KEY},support:support:${SUPPORT_KEY}`,
    PROVIDER_TIMEOUT_MS: String(PROVIDER_TIMEOUT_MS),
    LEASE_MS: String(LEASE_MS),
    SWEEP_INTERVAL_MS: '300',
    BACKOFF_BASE_MS: '100',
    BACKOFF_MAX_MS: '1000',
    RESYNC_INTERVAL_MS: '60000',
    ...environment,
  };
  return {
    db,
    sandbox,
    control: sandbox.control,
    environment: common,
    async start(role, more = {}, ready = true) {
      const process = await startProcess({ ...common, ROLE: role, ...more });
      running.add(process);
      void process.exited.then(() => running.delete(process));
      if (ready)
        await until(
          async () => (await fetch(`${process.url}/readyz`)).status === 200,
          'readyz',
          START_PATIENCE_MS,
        );
      return process;
    },
    async stop() {
      const left = [...running];
      for (const process of left) process.kill('SIGKILL');
      await Promise.all(left.map((process) => process.exited));
      await sandbox.stop();
      await db.drop();
    },
  };
}

/** `node . <arguments>` with its exit and its output. */
export async function run(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, ['.', ...args], {
    cwd: ROOT,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = collect(child);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output: output() };
}

async function startProcess(environment: Record<string, string>): Promise<Process> {
  const child = spawn(process.execPath, ['.'], {
    cwd: ROOT,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = collect(child);
  const exited = once(child, 'close').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }));
  let gone = false;
  void exited.then(() => (gone = true));
  const port = await until(
    () => {
      if (gone) throw new Error(`the process ended before it listened:\n${output()}`);
      return Promise.resolve(/"port":(\d+)[^\n]*"message":"listening"/.exec(output())?.[1]);
    },
    'the process to listen',
    START_PATIENCE_MS,
  );
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    output,
    exited,
    kill: (signal) => void child.kill(signal),
  };
}

function collect(child: ChildProcess): () => string {
  let text = '';
  child.stdout?.on('data', (data: Buffer) => (text += data.toString()));
  child.stderr?.on('data', (data: Buffer) => (text += data.toString()));
  return () => text;
}

/** The first truthy value of `check`, asked again and again; fails after `limit` with what was waited for. */
export async function until<Value>(
  check: () => Promise<Value | false | null | undefined | ''>,
  what: string,
  limit = 20_000,
): Promise<Value> {
  const end = performance.now() + limit;
  let last = '';
  while (performance.now() < end) {
    try {
      const value = await check();
      if (value !== false && value !== null && value !== undefined && value !== '') return value;
    } catch (error) {
      if (error instanceof Error && error.message.startsWith('the process ended')) throw error;
      last = `: ${String(error)}`;
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`waited ${limit} ms in vain for ${what}${last}`);
}

/** The API as a checkout engineer calls it. */
export class Client {
  readonly #url: string;
  readonly #key: string;

  constructor(process: Pick<Process, 'url'>, key = CHECKOUT_KEY) {
    this.#url = process.url;
    this.#key = key;
  }

  create(operationId: string, spec: Record<string, unknown> = {}): Promise<Answer> {
    const { payment, ...rest } = spec;
    return this.call('POST', '/v1/operations', {
      operation_id: operationId,
      spec: {
        order_id: `order of ${operationId}`,
        amount: { value: 12_900, currency: 'EUR' },
        lines: [{ sku: 'tea-500', quantity: 2 }],
        ...rest,
        payment: { provider: 'stripe', payment_method: 'pm_card_visa', ...(payment as object | undefined) },
      },
    });
  }

  get(operationId: string, query = ''): Promise<Answer> {
    return this.call('GET', `/v1/operations/${encodeURIComponent(operationId)}${query}`);
  }

  /** Reads until the operation is in `phase`. */
  async reaches(operationId: string, phase: string, limit = 20_000): Promise<Answer> {
    let last: unknown;
    return until(
      async () => {
        const answer = await this.get(operationId);
        last = answer.body.status;
        return answer.body.status.phase === phase && answer;
      },
      `${operationId} to be ${phase}`,
      limit,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}; last seen: ${JSON.stringify(last)}`);
    });
  }

  async call(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const response = await fetch(`${this.#url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: JSON.parse(text) as Answer['body'] };
  }
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    readonly status: { readonly phase: string; readonly condition: string } & Record<string, unknown>;
    readonly items: readonly Record<string, unknown>[];
    readonly code?: string;
  } & Record<string, unknown>;
}
