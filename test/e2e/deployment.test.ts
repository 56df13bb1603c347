import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { freshDatabase } from '../support/database.js';
import { aProduct, CHECKOUT_KEY, Client, run, SUPPORT_KEY, until, type Product } from '../support/product.js';
import { startProxy, targetOf, through, type Proxy } from '../support/proxy.js';

describe('roles', () => {
  let product: Product;
  beforeAll(async () => {
    product = await aProduct();
  });
  afterAll(() => product.stop());

  test('one api and two workers settle many orders, each once', async () => {
    const api = await product.start('api');
    await Promise.all([product.start('worker'), product.start('worker')]);
    const client = new Client(api);
    const ids = Array.from({ length: 40 }, (_, index) => `many-${index}`);
    const created = await Promise.all(ids.map((id) => client.create(id)));
    expect(created.map((answer) => answer.status)).toEqual(ids.map(() => 201));
    await Promise.all(ids.map((id) => client.reaches(id, 'fulfilled')));
    const { violations } = await product.control.ledgerSummary();
    expect(violations).toEqual([]);
    for (const id of ids) {
      expect(await product.control.ledger(id)).toMatchObject({
        captured: 12_900,
        effects: { creates: 1, confirms: 1 },
      });
    }
  }, 60_000);

  test('the worker serves its probes and metrics, and nothing of the API', async () => {
    const worker = await product.start('worker');
    const status = async (path: string): Promise<number> => (await fetch(`${worker.url}${path}`)).status;
    expect(await status('/livez')).toBe(200);
    expect(await status('/readyz')).toBe(200);
    expect(await status('/metrics')).toBe(200);
    const { status: operations } = await new Client(worker).get('any');
    expect(operations).toBe(404);
  });

  test('one process does everything, and wait answers when the order is settled', async () => {
    const all = await product.start('all');
    const client = new Client(all);
    await client.create('alone');
    const began = performance.now();
    const answer = await client.get('alone', '?wait=20');
    expect(answer.body.status.phase).toBe('fulfilled');
    expect(performance.now() - began).toBeLessThan(15_000);
  }, 40_000);
});

describe('stopping', () => {
  let product: Product;
  beforeAll(async () => {
    product = await aProduct();
  });
  afterAll(() => product.stop());

  test('SIGTERM lets a call under way finish and records it; nothing is done twice', async () => {
    const all = await product.start('all', { PROVIDER_TIMEOUT_MS: '5000', LEASE_MS: '12000' });
    const client = new Client(all);
    await product.control.inject({
      route: 'payment_intents.confirm',
      kind: 'delay_after',
      delay_ms: 1_500,
      match: { operation_id: 'term' },
    });
    await client.create('term');
    await until(async () => (await product.control.ledger('term')).captured > 0, 'the money to move');
    all.kill('SIGTERM');
    expect(await all.exited).toMatchObject({ code: 0 });

    const [row] = await product.db.database.query<{ outcome: string; lease_holder: string | null }>(
      `SELECT a.outcome, o.lease_holder FROM operation_attempts a JOIN order_operations o ON o.id = a.operation
       WHERE o.operation_id = 'term' AND a.step = 'confirm_payment'`,
    );
    expect(row).toEqual({ outcome: 'done', lease_holder: null });
    const next = await product.start('all');
    await new Client(next).reaches('term', 'fulfilled');
    expect((await product.control.ledger('term')).effects).toMatchObject({ confirms: 1 });
    next.kill('SIGTERM');
    expect(await next.exited).toMatchObject({ code: 0 });
  }, 60_000);

  test('SIGTERM during boot, with the database away, ends the process in time', async () => {
    const nowhere = await product.start('all', { DATABASE_URL: 'postgres://u:p@127.0.0.1:9/none' }, false);
    nowhere.kill('SIGTERM');
    expect(await nowhere.exited).toMatchObject({ code: 0 });
  }, 30_000);

  test('a client that waits is answered when the process stops', async () => {
    const api = await product.start('api');
    const client = new Client(api);
    await client.create('unwatched');
    const waiting = client.get('unwatched', '?wait=30');
    await new Promise((resolve) => setTimeout(resolve, 300));
    api.kill('SIGTERM');
    expect((await waiting).status).toBe(200);
    expect(await api.exited).toMatchObject({ code: 0 });
  }, 30_000);
});

describe('Redis away', () => {
  let product: Product;
  let proxy: Proxy;
  beforeEach(async () => {
    const url = process.env['REDIS_URL'];
    if (url === undefined) throw new Error('this test needs Redis');
    proxy = await startProxy(targetOf(url, 6379));
    product = await aProduct();
  });
  afterEach(async () => {
    await product.stop();
    await proxy.stop();
  });

  test.each(['refuse', 'hang'] as const)(
    '%s: creates answer within 2 s, are worked, and it comes back',
    async (mode) => {
      const redis = { REDIS_URL: through(product.environment['REDIS_URL'] ?? '', proxy) };
      const api = await product.start('api', redis);
      const worker = await product.start('worker', redis);
      const client = new Client(api);
      await client.create('before');
      await client.reaches('before', 'fulfilled');

      await proxy.set(mode);
      const began = performance.now();
      const answers = await Promise.all([client.create('during-1'), client.create('during-2')]);
      expect(answers.map((answer) => answer.status)).toEqual([201, 201]);
      expect(performance.now() - began).toBeLessThan(2_000);
      // The local timer finds the work without the queue.
      await client.reaches('during-1', 'fulfilled');
      await client.reaches('during-2', 'fulfilled');
      await until(
        async () => (await fetch(`${worker.url}/readyz`)).status === 503,
        'the worker to say that it is late',
      );
      expect((await fetch(`${api.url}/readyz`)).status).toBe(200);

      await proxy.set('pass');
      await until(
        async () => (await fetch(`${worker.url}/readyz`)).status === 200,
        'the worker to be ready again',
      );
      await client.create('after');
      await client.reaches('after', 'fulfilled');
    },
    60_000,
  );

  test('away at start: the process serves, works and joins the queue later', async () => {
    await proxy.set('refuse');
    const redis = { REDIS_URL: through(product.environment['REDIS_URL'] ?? '', proxy) };
    const all = await product.start('all', redis, false);
    const client = new Client(all);
    await until(async () => (await client.create('early')).status < 300, 'the schema to be there');
    await client.reaches('early', 'fulfilled');
    await proxy.set('pass');
    await until(async () => (await fetch(`${all.url}/readyz`)).status === 200, 'readiness');
  }, 60_000);
});

describe('Postgres away', () => {
  let product: Product;
  let proxy: Proxy;
  beforeAll(async () => {
    product = await aProduct();
    proxy = await startProxy(targetOf(product.db.url, 5432));
  });
  afterAll(async () => {
    await product.stop();
    await proxy.stop();
  });

  test('away at start and in between: 503 problem+json meanwhile, and it comes back by itself', async () => {
    await proxy.set('refuse');
    const all = await product.start('all', { DATABASE_URL: through(product.db.url, proxy) }, false);
    const client = new Client(all);
    const refused = await client.create('stored-1');
    expect(refused.status).toBe(503);
    expect(refused.headers.get('content-type')).toContain('application/problem+json');
    expect(refused.headers.get('retry-after')).not.toBeNull();
    expect(refused.body.code).toBe('unavailable');
    expect((await fetch(`${all.url}/livez`)).status).toBe(200);
    expect((await fetch(`${all.url}/readyz`)).status).toBe(503);

    await proxy.set('pass');
    await until(async () => (await fetch(`${all.url}/readyz`)).status === 200, 'readiness');
    expect((await client.create('stored-1')).status).toBe(201);
    await client.reaches('stored-1', 'fulfilled');

    await proxy.set('refuse');
    await until(async () => (await client.create('stored-2')).status === 503, 'the refusal');
    await proxy.set('pass');
    await until(async () => (await client.create('stored-2')).status < 300, 'the database to be back');
    await client.reaches('stored-2', 'fulfilled');
    expect(await product.control.ledger('stored-2')).toMatchObject({ captured: 12_900, violations: [] });
  }, 60_000);

  test('a database that hangs is answered for within seconds', async () => {
    const all = await product.start('all', { DATABASE_URL: through(product.db.url, proxy) });
    await proxy.set('hang');
    const began = performance.now();
    const ready = await fetch(`${all.url}/readyz`);
    expect(ready.status).toBe(503);
    expect(performance.now() - began).toBeLessThan(3_000);
    await proxy.set('pass');
  }, 60_000);
});

describe('the queue in Postgres', () => {
  test('without REDIS_URL everything works as with it', async () => {
    const product = await aProduct({ REDIS_URL: '' });
    try {
      const all = await product.start('all');
      const worker = await product.start('worker');
      const client = new Client(all);
      const ids = Array.from({ length: 10 }, (_, index) => `pg-${index}`);
      await Promise.all(ids.map((id) => client.create(id)));
      await Promise.all(ids.map((id) => client.reaches(id, 'fulfilled')));
      const api = await product.start('api');
      await new Client(api).create('pg-from-api');
      await client.reaches('pg-from-api', 'fulfilled');
      worker.kill('SIGTERM');
      expect(await worker.exited).toMatchObject({ code: 0 });
      expect((await product.control.ledgerSummary()).violations).toEqual([]);
    } finally {
      await product.stop();
    }
  }, 60_000);
});

describe('migrations and configuration', () => {
  test.each([1, 2, 3])(
    'five processes bring up an empty database together (round %i)',
    async () => {
      const db = await freshDatabase();
      try {
        await db.database.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
        const environment = { PATH: process.env['PATH'] ?? '', DATABASE_URL: db.url };
        const results = await Promise.all(Array.from({ length: 5 }, () => run(['migrate'], environment)));
        expect(results.map((result) => [result.code, result.output.includes('"level":"error"')])).toEqual(
          results.map(() => [0, false]),
        );
        const rows = await db.database.query<{ name: string; n: string }>(
          'SELECT name, count(*) AS n FROM schema_migrations GROUP BY name',
        );
        expect(rows.length).toBeGreaterThan(0);
        expect(rows.every((row) => row.n === '1')).toBe(true);
      } finally {
        await db.drop();
      }
    },
    60_000,
  );

  test('all errors of the configuration are named at once, and no secret is shown', async () => {
    const { code, output } = await run([], {
      PATH: process.env['PATH'] ?? '',
      DATABASE_URL: 'mysql://root:hunter2@db/x',
      API_KEYS: 'broken-entry-with-secret-hunter3',
      ROLE: 'everything',
      PROVIDER_TIMEOUT_MS: 'soon',
    });
    expect(code).toBe(1);
    for (const name of ['DATABASE_URL', 'API_KEYS', 'ROLE', 'PROVIDER_TIMEOUT_MS', 'STRIPE_SECRET_KEY']) {
      expect(output).toContain(name);
    }
    expect(output).not.toMatch(/hunter/);
  });

  test('an unknown command is refused with what is known', async () => {
    const { code, output } = await run(['migrat'], { PATH: process.env['PATH'] ?? '' });
    expect(code).toBe(2);
    expect(output).toContain('usage: node . [migrate]');
  });

  test('a lease that is shorter than two calls is refused', async () => {
    const product = await aProduct();
    try {
      const { code, output } = await run([], { ...product.environment, LEASE_MS: '1000' });
      expect(code).toBe(1);
      expect(output).toContain('LEASE_MS');
    } finally {
      await product.stop();
    }
  });
});

describe('secrets', () => {
  test('no key, password or card data reaches the logs', async () => {
    const product = await aProduct({ LOG_LEVEL: 'debug' });
    try {
      const all = await product.start('all');
      const client = new Client(all);
      await client.create('quiet-ok');
      await client.reaches('quiet-ok', 'fulfilled');
      await client.create('quiet-declined', { payment: { payment_method: 'pm_card_chargeDeclined' } });
      await product.control.revokeKey(product.environment['STRIPE_SECRET_KEY'] ?? '');
      await client.create('quiet-revoked');
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      all.kill('SIGTERM');
      await all.exited;
      const output = all.output();
      expect(output.length).toBeGreaterThan(0);
      const secrets = [
        CHECKOUT_KEY,
        SUPPORT_KEY,
        product.environment['STRIPE_SECRET_KEY'] ?? '',
        new URL(product.db.url).password,
      ];
      for (const secret of secrets.filter((text) => text.length > 3)) expect(output).not.toContain(secret);
      expect(output).not.toMatch(/_secret_[A-Za-z0-9]/);
    } finally {
      await product.stop();
    }
  }, 60_000);
});
