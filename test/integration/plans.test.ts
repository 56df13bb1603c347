/** What statements read: little, whatever the planner was last told of the tables. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { CLAIM, JOURNALS } from '../../src/store/claim.js';
import { LOOKS_UP } from '../../src/store/database.js';
import { batchOf, RECORD } from '../../src/store/entry.js';
import { MATCHING } from '../../src/store/finding-store.js';
import { COUNT } from '../../src/store/statistics.js';
import { freshDatabase, type TestDatabase } from '../support/database.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await freshDatabase();
});
afterAll(() => db.drop());

const query = <Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> =>
  db.database.query<Row>(sql, parameters);

interface Node {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly Node[];
}
/** Rows of orders that a plan has read. */
const read = (node: Node): number =>
  (node['Relation Name'] === 'order_operations'
    ? (node['Actual Rows'] +
        (node['Rows Removed by Filter'] ?? 0) +
        (node['Rows Removed by Index Recheck'] ?? 0)) *
      node['Actual Loops']
    : 0) + (node.Plans ?? []).reduce((sum, plan) => sum + read(plan), 0);

test('beside twenty thousand settled orders a scrape and a page of the two-sided sweep read some hundred rows', async () => {
  await query(
    `INSERT INTO order_operations (operation_id, account, labels, requested_by, created_at, updated_at, spec, confirmation,
       payment_number, provider_reference, facts, status, settled_at, next_attempt_at)
     SELECT 'many-' || g, 'default', '{}', 'x', now(), now(), jsonb_build_object('desired', 'fulfilled', 'order_id', 'many-' || g,
       'amount', '{"value": 1, "currency": "EUR"}'::jsonb, 'payment', '{"provider": "stripe", "reference": null}'::jsonb), 1, 1,
       'pi_many' || g, '{}', '{"phase": "fulfilled"}', now(), now() + interval '1 day' FROM generate_series(1, 20000) g`,
  );
  await query('ANALYZE order_operations');
  const hundred = Array.from({ length: 100 }, (_, at) => 1 + at * 199);
  const statements: readonly [string, unknown[]][] = [
    [COUNT, [600, 3, ['default']]],
    [MATCHING.text, ['default', hundred.map((n) => `pi_many${n}`), hundred.map((n) => `many-${n}`)]],
  ];
  for (const [sql, parameters] of statements) {
    const [row] = await query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`,
      parameters,
    );
    if (row === undefined) throw new Error('no plan');
    expect(read(row['QUERY PLAN'][0].Plan)).toBeLessThan(500);
  }
});

const GROWING = ['order_operations', 'operation_attempts', 'operation_events'];
/** Tables that grow, where all of one is read. */
const readWhole = (node: Node): string[] => [
  ...(node['Node Type'] === 'Seq Scan' ||
  (/Index/.test(node['Node Type']) && node['Index Cond'] === undefined)
    ? GROWING.filter((name) => name === node['Relation Name'])
    : []),
  ...(node.Plans ?? []).flatMap(readWhole),
];

/** The plan of a statement that is planned once, as things are. `options`: of the session. */
async function planOnce(text: string, values: string, options?: string, url = db.url): Promise<Node> {
  const session = new Client({ connectionString: url, ...(options === undefined ? {} : { options }) });
  await session.connect();
  try {
    await session.query(`SET plan_cache_mode = force_generic_plan; PREPARE asked AS ${text}`);
    const { rows } = await session.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
      `EXPLAIN (FORMAT JSON) EXECUTE asked(${values})`,
    );
    if (rows[0] === undefined) throw new Error('no plan');
    return rows[0]['QUERY PLAN'][0].Plan;
  } finally {
    await session.end();
  }
}

const CLAIMING = `10, 'w', 1, 1, 1, 1, 10, '{}', '{}'`;
const WRITING = batchOf([])
  .map((value) => `'${String(value)}'`)
  .join();

test.each([
  ['a claim', CLAIM.text, CLAIMING],
  ['the journals of a claim', JOURNALS, `'{}'`],
  ['a write', RECORD.text, WRITING],
])(
  '%s that is planned once, while the tables are empty, reads none of them whole',
  async (_name, text, values) => {
    expect(readWhole(await planOnce(text, values))).toEqual([]);
  },
);

test('a claim that is planned once, beside a backlog and a small journal, does not read the journal whole', async () => {
  await query(
    `INSERT INTO operation_attempts (operation, step, target, ordinal, effect_key, parameters, generation, fencing_token, worker,
       started_at)
     SELECT id, 'create_payment', 'payment/1', 1, 'op_' || id, '{}', 1, 1, 'w', now() FROM order_operations ORDER BY id LIMIT 25`,
  );
  await query('UPDATE order_operations SET next_attempt_at = now()');
  for (const told of ['order_operations', 'operation_attempts']) {
    await query(`ANALYZE ${told}`);
    expect(readWhole(await planOnce(CLAIM.text, CLAIMING))).not.toContain('operation_attempts');
  }
});

// Of so few rows Postgres would rather read all, and would go on to do so when there are many.
test('what is planned once looks rows up, also right after tables of a few rows were analyzed', async () => {
  const young = await freshDatabase();
  try {
    await young.database.query(
      `INSERT INTO order_operations (operation_id, account, labels, requested_by, created_at, updated_at, spec, confirmation,
         payment_number, facts, status)
       SELECT 'few-' || g, 'default', '{}', 'x', now(), now(), jsonb_build_object('desired', 'fulfilled', 'order_id', g::text,
         'amount', '{"value": 1, "currency": "EUR"}'::jsonb, 'payment', '{"provider": "stripe"}'::jsonb), 1, 1,
         '{}', '{"phase": "accepted"}' FROM generate_series(1, 3) g`,
    );
    await young.database.query(
      `INSERT INTO operation_attempts (operation, step, target, ordinal, effect_key, parameters, generation, fencing_token,
         worker, started_at)
       SELECT id, 'create_payment', 'payment/1', 1, 'op_' || id, '{}', 1, 1, 'w', now() FROM order_operations`,
    );
    await young.database.query('ANALYZE');
    const once: readonly [string, string][] = [
      [CLAIM.text, CLAIMING],
      [RECORD.text, WRITING],
      [MATCHING.text, `'a', '{}', '{}'`],
    ];
    for (const [text, values] of once) {
      expect(readWhole(await planOnce(text, values, LOOKS_UP, young.url))).toEqual([]);
    }
    // That it would be otherwise: else nothing was tested.
    expect(readWhole(await planOnce(RECORD.text, WRITING, undefined, young.url))).toContain(
      'operation_attempts',
    );
  } finally {
    await young.drop();
  }
});

// Beside 200,000 orders that are due, compiling a claim took forty times as long as carrying it out.
test('no statement is compiled, however much the planner expects it to read', async () => {
  expect(await query('SHOW jit')).toEqual([{ jit: 'off' }]);
});
