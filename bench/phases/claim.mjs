// What a claim costs beside a million settled records: the product's own code claims, and Postgres writes down how it
// carried the statement out.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { percentile } from '../measure/figures.mjs';
import { anOrder, someIds } from '../orders.mjs';
import { untilFulfilled } from '../load.mjs';

const CLAIMS = 20;
const AT_ONCE = 50;
const LEASE_MS = 60_000;
/** Passes a second of a limited account, of which there is none here. */
const CEILING = 25;

/** `database`: the name; `folder`: where the product is built. */
export async function measureClaim(arena, run, database, { folder }) {
  const [settled, due] = someIds(2);
  const { committed } = await arena.world.counts();
  await run.post(anOrder(settled));
  await untilFulfilled(arena, run, [settled], { from: committed });
  await run.worker.stop();
  await run.post(anOrder(due));
  await multiply(
    run.database,
    settled,
    arena.options.records,
    `now() + interval '1 hour' + n * interval '1 second'`,
  );
  await multiply(run.database, due, CLAIMS * AT_ONCE, `now() - interval '1 second'`);
  await run.database.query('VACUUM ANALYZE order_operations');
  await explainSessionsOf(arena.services.postgres.admin, database);
  const milliseconds = await claimAll(folder, run.databaseUrl);
  return {
    records: arena.options.records,
    claims: milliseconds.length,
    of: AT_ONCE,
    p50: percentile(milliseconds, 0.5),
    p99: percentile(milliseconds, 0.99),
    plan: aPlan(arena.services.postgres),
  };
}

/** Copies of one record under ids of their own. */
async function multiply(database, id, count, nextAttempt) {
  const { rows } = await database.query(
    `SELECT column_name AS name FROM information_schema.columns
     WHERE table_name = 'order_operations' AND is_generated = 'NEVER' AND is_identity = 'NO'`,
  );
  const changed = {
    operation_id: `o.operation_id || '-' || n`,
    spec: `jsonb_set(o.spec, '{order_id}', to_jsonb(o.operation_id || '-' || n))`,
    provider_reference: `o.provider_reference || '-' || n`,
    next_attempt_at: nextAttempt,
  };
  const names = rows.map(({ name }) => name);
  await database.query(
    `INSERT INTO order_operations (${names.join(', ')})
     SELECT ${names.map((name) => changed[name] ?? `o.${name}`).join(', ')}
     FROM order_operations o, generate_series(1, ${count}) n WHERE o.operation_id = $1`,
    [id],
  );
}

async function explainSessionsOf(admin, database) {
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_buffers': 'on',
  };
  for (const [name, value] of Object.entries(settings))
    await admin.query(`ALTER DATABASE "${database}" SET ${name} = '${value}'`);
}

async function claimAll(folder, url) {
  const { Database } = await import(`${folder}/dist/src/store/database.js`);
  const { PassStore } = await import(`${folder}/dist/src/store/pass-store.js`);
  const connection = new Database({ url, pool_size: 1 });
  const store = new PassStore(connection);
  const milliseconds = [];
  try {
    for (;;) {
      const began = performance.now();
      const { claims } = await store.claim(AT_ONCE, 'bench', LEASE_MS, CEILING);
      if (claims.length === 0) return milliseconds;
      milliseconds.push(performance.now() - began);
    }
  } finally {
    await connection.close();
  }
}

/** How Postgres carried out a claim from the middle: the last ones find little or nothing. */
function aPlan({ folder }) {
  const log = readFileSync(join(folder, 'postgres.log'), 'utf8');
  const entries = log.split(/\n(?=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)/);
  const claims = entries.filter(
    (entry) => entry.includes('plan:') && entry.includes('FOR UPDATE SKIP LOCKED'),
  );
  return claims[Math.floor(claims.length / 2)] ?? null;
}
