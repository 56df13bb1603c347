/** A fresh database per test file, cloned from a template that was migrated once per run. */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { AccountStore } from '../../src/store/account-store.js';
import { Database } from '../../src/store/database.js';

export interface TestDatabase {
  readonly url: string;
  readonly database: Database;
  /** Fails when a connection is left open by the test. */
  drop(): Promise<void>;
}

const TEMPLATE = 'order_reconciler_template';

function adminUrl(): string {
  const url = process.env['DATABASE_URL'];
  if (url === undefined) throw new Error('DATABASE_URL is not set: run the tests with "npm test"');
  return url;
}

function urlOf(name: string): string {
  const url = new URL(adminUrl());
  url.pathname = `/${name}`;
  return url.toString();
}

export async function freshDatabase(): Promise<TestDatabase> {
  const admin = new Client({ connectionString: adminUrl() });
  await admin.connect();
  const name = `test_${randomBytes(8).toString('hex')}`;
  // One at a time: a database that is being copied may have no other users, and the template is made once.
  await admin.query('SELECT pg_advisory_lock(1)');
  try {
    const { rowCount } = await admin.query('SELECT 1 FROM pg_database WHERE datname = $1', [TEMPLATE]);
    if (rowCount === 0) {
      await admin.query(`CREATE DATABASE ${TEMPLATE}_new`);
      const migrating = new Database({ url: urlOf(`${TEMPLATE}_new`), pool_size: 2 });
      await migrating.migrate();
      await new AccountStore(migrating).register(['default']);
      await migrating.close();
      await admin.query(`ALTER DATABASE ${TEMPLATE}_new RENAME TO ${TEMPLATE}`);
    }
    await admin.query(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`);
  } finally {
    await admin.query('SELECT pg_advisory_unlock(1)');
  }
  const url = urlOf(name);
  const database = new Database({ url, pool_size: 10 });
  return {
    url,
    database,
    async drop() {
      await database.close();
      await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await admin.end();
    },
  };
}
