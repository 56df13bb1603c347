import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { PROBLEM_CODES, problemBody, ProblemError } from '../../src/api/http/problem.js';
import { anchorName, anchorOf } from '../../src/api/support/anchors.js';
import { FAILURE_TABLES, failuresPage } from '../../src/api/support/failures.js';
import { FAILURE_CLASSES } from '../../src/operation/failure.js';
import { FAILURE_CODES } from '../../src/operation/guidance.js';
import { REASONS } from '../../src/operation/reason.js';
import { filled, marksOf } from '../support/lifecycle/document.js';
import { table } from '../support/lifecycle/tables.js';

const FILE = new URL('../../docs/failures.md', import.meta.url);
const SOURCES = new URL('../../src/', import.meta.url);

const sections = Object.fromEntries(
  FAILURE_TABLES.map(({ kind, head, rows }) => [
    kind,
    table(
      head,
      rows.map(({ word, cells }) => [`<a id="${anchorName(kind, word)}"></a>\`${word}\``, ...cells]),
    ),
  ]),
);

describe('docs/failures.md', () => {
  test('says what the code does; UPDATE_DOCS=1 writes its tables anew', () => {
    const document = readFileSync(FILE, 'utf8');
    expect(marksOf(document).sort()).toEqual(Object.keys(sections).sort());
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync(FILE, filled(document, sections));
    expect(readFileSync(FILE, 'utf8')).toBe(filled(document, sections));
  });

  test('every word has a place, in the file and on the page, where its links lead', () => {
    const document = readFileSync(FILE, 'utf8');
    const page = failuresPage();
    const links = [
      ...Object.keys(REASONS).map((reason) => anchorOf('reason', reason)),
      ...FAILURE_CLASSES.map((cls) => anchorOf('class', cls)),
      ...PROBLEM_CODES.map((code) => problemBody(new ProblemError(code, 'x'), 'id')['type'] as string),
    ];
    for (const link of links) {
      const [path, anchor = ''] = link.split('#');
      expect(path).toBe('/docs/failures');
      expect(document).toContain(`<a id="${anchor}"></a>`);
      expect(page).toContain(`id="${anchor}"`);
    }
  });

  test('knows every code that our own adapters and the loop give out', () => {
    const files = ['payment', 'inventory', 'reconciler', 'outgoing'].flatMap((folder) =>
      readdirSync(new URL(folder, SOURCES), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => readFileSync(new URL(`${folder}/${name}`, SOURCES), 'utf8')),
    );
    const given = files.flatMap((text) =>
      [...text.matchAll(/\bcode: '([a-z_]+)'/g)].map(([, code]) => code ?? ''),
    );
    expect(given.length).toBeGreaterThan(10);
    expect([...new Set(given)].filter((code) => FAILURE_CODES[code] === undefined)).toEqual([]);
  });
});
