import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Agent, request } from 'node:http';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApi } from '../../src/api/create-api.js';
import { systemClock } from '../../src/clock.js';
import { Database, StoreUnavailable } from '../../src/store/database.js';
import { EventInbox } from '../../src/store/event-inbox.js';
import { FindingStore } from '../../src/store/finding-store.js';
import { PostgresOperationStore } from '../../src/store/postgres-operation-store.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { Eraser } from '../../src/retention/eraser.js';
import { ErasureStore } from '../../src/store/erasure-store.js';
import { Metrics } from '../../src/telemetry/metrics.js';
import {
  aBody,
  aDesk,
  anApi,
  keyed,
  NO_BULK,
  NO_COMMANDS,
  operation,
  pathOf,
  problem,
  refusal,
  type TestApi,
} from '../support/api.js';
import { freshDatabase, type TestDatabase } from '../support/database.js';
import { clientOf, listen, type Client } from '../support/http.js';
import { POLICY } from '../support/operations.js';

interface Served {
  readonly app: NestFastifyApplication;
  readonly call: Client;
  readonly logged: string[];
}

async function serve(database: Database): Promise<Served> {
  const logged: string[] = [];
  const app = await createApi({
    store: new PostgresOperationStore(database),
    findings: new FindingStore(database),
    bell: { ring: () => undefined },
    planner: { plan: () => Promise.reject(new Error('secret detail of the planner')) },
    commands: NO_COMMANDS,
    bulk: NO_BULK,
    findingCommands: NO_COMMANDS,
    clientSecrets: { read: () => Promise.reject(new Error('secret detail of the provider')) },
    clock: systemClock,
    policy: POLICY,
    apiKeys: [{ name: 'root', scopes: ['admin'], secret: 'root-secret' }],
    accounts: ['default'],
    amountProblem: () => null,
    desk: aDesk(database),
    eraser: new Eraser(new ErasureStore(database), systemClock, POLICY),
    inbox: new EventInbox(database),
    webhookSecrets: new Map(),
    readiness: { check: () => Promise.resolve({ ready: true, checks: {} }) },
    metrics: new Metrics(() => Promise.reject(new Error('away'))),
    logger: createLogger('info', { write: (line) => logged.push(line) }),
  });
  return { app, call: clientOf(await listen(app), keyed('root-secret')), logged };
}

describe('without Postgres', () => {
  let served: Served;
  let database: Database;
  beforeAll(async () => {
    // Nobody listens on port 1.
    database = new Database({ url: 'postgres://app:hunter2@127.0.0.1:1/none' });
    served = await serve(database);
  });
  afterAll(async () => {
    await served.app.close();
    await database.close();
  });

  test.each([
    ['POST', '/v1/operations', aBody('x')],
    ['GET', pathOf('x'), undefined],
    ['GET', pathOf('x', '?wait=5'), undefined],
    ['GET', '/v1/operations', undefined],
    ['PATCH', pathOf('x'), { desired: 'authorized' }],
    ['POST', pathOf('x', '/cancel'), undefined],
    ['GET', pathOf('x', '/events'), undefined],
  ])('%s %s: 503 soon, which may be tried again', async (method, path, body) => {
    const started = performance.now();
    const headers = { 'if-match': '*' };
    const answer = await served.call(method, path, body === undefined ? { headers } : { body, headers });
    expect(performance.now() - started).toBeLessThan(2_500);
    expect(refusal(answer)).toEqual([503, 'unavailable']);
    expect(problem(answer).retryable).toBe(true);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(answer.text).not.toMatch(/hunter2|127\.0\.0\.1|ECONN/);
  });
  test('it is logged with the request id and without the password', async () => {
    const answer = await served.call('GET', pathOf('x'));
    const lines = served.logged.filter((line) => line.includes(String(answer.headers['x-request-id'])));
    expect(lines.join('')).toContain('ECONNREFUSED');
    expect(served.logged.join('')).not.toContain('hunter2');
  });
  test('alive, and metrics go on', async () => {
    expect((await served.call('GET', '/livez')).status).toBe(200);
    const metrics = await served.call('GET', '/metrics');
    expect(metrics.status).toBe(200);
    expect(metrics.text).toContain('order_statistics_failures_total 1');
  });
});

// An operator's mistake, or a server that is being restored: not the request's fault, at whatever moment.
test.each(['postgres://nobody-of-that-name:wrong@HOST/DATABASE', 'postgres://USER@HOST/no-such-database'])(
  'where Postgres does not let us in (%s) it is away',
  async (address) => {
    const db = await freshDatabase();
    const { host, pathname, username, password } = new URL(db.url);
    const user = password === '' ? username : `${username}:${password}`;
    const url = address.replace('USER', user).replace('HOST', host).replace('/DATABASE', pathname);
    const database = new Database({ url, pool_size: 1 });
    try {
      await expect(database.query('SELECT 1')).rejects.toBeInstanceOf(StoreUnavailable);
      await expect(database.migrate()).rejects.toBeInstanceOf(StoreUnavailable);
    } finally {
      await database.close();
      await db.drop();
    }
  },
);

describe('with a pool of two connections', () => {
  let db: TestDatabase;
  let database: Database;
  let served: Served;
  beforeAll(async () => {
    db = await freshDatabase();
    database = new Database({ url: db.url, pool_size: 2 });
    served = await serve(database);
  });
  afterAll(async () => {
    await served.app.close();
    await database.close();
    await db.drop();
  });

  test('fifty creates, cancellations and refusals at once all end, and the connections come back', async () => {
    const creates = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        served.call('POST', '/v1/operations', { body: aBody(`p${n % 25}`) }),
      ),
    );
    expect(creates.map(({ status }) => status).sort()).toEqual(
      Array.from({ length: 50 }, (_, n) => (n < 25 ? 200 : 201)),
    );
    const mixed = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        n % 2 === 0
          ? served.call('POST', pathOf(`p${n % 25}`, '/cancel'))
          : served.call('POST', '/v1/operations', { body: aBody(`other${n}`, { order_id: 'order of p1' }) }),
      ),
    );
    expect(mixed.filter(({ status }) => status === 200)).toHaveLength(25);
    expect(mixed.filter(({ status }) => status === 409)).toHaveLength(25);
    expect((await served.call('GET', pathOf('p0'))).status).toBe(200);
  });

  test('connections that Postgres ends are replaced', async () => {
    operation(await served.call('POST', '/v1/operations', { body: aBody('before') }), 201);
    await db.database.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    const answers = [];
    for (let n = 0; n < 10; n++) answers.push((await served.call('GET', pathOf('before'))).status);
    // The first ones may meet the ended connections; none is a 500, and it heals by itself.
    expect(served.logged.filter((line) => line.includes('failed unexpectedly'))).toEqual([]);
    expect(answers.every((status) => status === 200 || status === 503)).toBe(true);
    expect(answers.at(-1)).toBe(200);
  });
});

describe('what nobody expected', () => {
  let db: TestDatabase;
  let served: Served;
  beforeAll(async () => {
    db = await freshDatabase();
    served = await serve(db.database);
  });
  afterAll(async () => {
    await served.app.close();
    await db.drop();
  });
  test('is a 500 that tells nothing, and a log line that tells all', async () => {
    const answer = await served.call('GET', pathOf('x', '/plan'));
    expect(refusal(answer)).toEqual([500, 'internal']);
    expect(answer.text).not.toContain('secret detail');
    const id = String(answer.headers['x-request-id']);
    expect(served.logged.find((line) => line.includes(id) && line.includes('secret detail'))).toBeDefined();
  });
});

describe('stopping', () => {
  let api: TestApi;
  afterEach(() => api.db.drop());

  test('answers who waits, with the state as it is; refuses new connections; ends idle ones', async () => {
    api = await anApi();
    await api.create('waiting');
    const idle = new Agent({ keepAlive: true });
    await new Promise<void>((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port: api.port, path: '/livez', agent: idle }, (answer) => {
        answer.resume();
        answer.on('end', resolve);
      });
      sent.on('error', reject);
      sent.end();
    });
    const waiting = api.call('GET', pathOf('waiting', '?wait=30'));
    await new Promise((resolve) => setTimeout(resolve, 300));
    const started = performance.now();
    await api.app.close();
    expect(performance.now() - started).toBeLessThan(2_000);
    expect(operation(await waiting, 200).status.phase).toBe('accepted');
    await expect(api.call('GET', '/livez')).rejects.toThrow('ECONNREFUSED');
    idle.destroy();
  });

  test('finishes the creates under way', async () => {
    api = await anApi();
    const creates = Array.from({ length: 20 }, (_, n) =>
      api.call('POST', '/v1/operations', { body: aBody(`s${n}`) }),
    );
    await new Promise((resolve) => setTimeout(resolve, 20));
    const closing = api.app.close();
    const settled = await Promise.allSettled(creates);
    await closing;
    const answered = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value.status] : []));
    // Stored and answered, or not even connected.
    expect(answered.every((status) => status === 201)).toBe(true);
    expect(answered.length).toBeGreaterThan(0);
    expect(await api.rows('order_operations')).toBe(answered.filter((status) => status === 201).length);
  });
});

test('a client that goes away ends its wait', async () => {
  const api = await anApi();
  await api.create('left');
  const leaving = new AbortController();
  const waiting = api.call('GET', pathOf('left', '?wait=30'), { signal: leaving.signal });
  await new Promise((resolve) => setTimeout(resolve, 250));
  leaving.abort();
  await expect(waiting).rejects.toThrow();
  const { Waiters } = await import('../../src/api/operations/waiters.js');
  const waiters = api.app.get(Waiters);
  for (let n = 0; n < 50 && waiters.count > 0; n++) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(waiters.count).toBe(0);
  await api.stop();
});
