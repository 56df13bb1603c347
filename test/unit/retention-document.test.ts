import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { ERASURES } from '../../src/operation/personal-data.js';
import { KEPT_DATA, KEPT_MEMBERS, RETENTION_RULES, VARIABLES } from '../../src/retention/rules.js';
import { readConfig } from '../../src/config.js';
import { filled, marksOf } from '../support/lifecycle/document.js';
import { table } from '../support/lifecycle/tables.js';

const FILE = new URL('../../docs/retention.md', import.meta.url);
const config: Readonly<Record<string, unknown>> = readConfig({
  DATABASE_URL: 'postgres://127.0.0.1/x',
  STRIPE_SECRET_KEY: 'sk_test_x',
});
const code = (word: string): string => `\`${word}\``;
const SINCE = {
  webhooks: 'after it came',
  findings: 'after it was resolved',
  journal: 'after the order settled',
  personal_data: 'after its watch ended',
} as const;

/** Rows that differ in one cell only, as one row. */
function joined(rows: readonly (readonly [string, string, string])[]): string[][] {
  const byRest = new Map<string, string[]>();
  for (const [where, what, why] of rows) {
    const key = JSON.stringify([where, why]);
    byRest.set(key, [...(byRest.get(key) ?? []), what]);
  }
  return [...byRest].map(([key, members]) => {
    const [where = '', why = ''] = JSON.parse(key) as string[];
    return [where, members.map(code).join(', '), why];
  });
}

const erased = Object.entries(ERASURES).flatMap(([name, columns]) =>
  Object.entries(columns).flatMap(([column, rules]) =>
    rules.map(({ path, why }): [string, string, string] => [
      code(name),
      path === '' ? column : `${column}.${path}`,
      why,
    ]),
  ),
);

const sections = {
  tables: table(
    ['table', 'what', 'kept', 'not while', 'why'],
    RETENTION_RULES.map(({ table: name, holds, kept, unless, why }) => [
      code(name),
      holds,
      typeof kept === 'string'
        ? `${String(config[VARIABLES[kept]])} days ${SINCE[kept]}: ${code(VARIABLES[kept])}`
        : kept.always,
      unless ?? '–',
      why,
    ]),
  ),
  erased: table(['table', 'what', 'why'], joined(erased)),
  kept: table(
    ['table', 'what', 'why'],
    [
      ...KEPT_MEMBERS.map(({ table: name, column, members, why }) => [
        code(name),
        members.map((member) => code(`${column}.${member}`)).join(', '),
        why,
      ]),
      ...KEPT_DATA.map(({ table: name, columns, why }) => [code(name), columns.map(code).join(', '), why]),
    ],
  ),
};

test('docs/retention.md says what the code does; UPDATE_DOCS=1 writes its tables anew', () => {
  const document = readFileSync(FILE, 'utf8');
  expect(marksOf(document).sort()).toEqual(Object.keys(sections).sort());
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(FILE, filled(document, sections));
  expect(readFileSync(FILE, 'utf8')).toBe(filled(document, sections));
});
