import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { acceptanceDocument, CHAPTERS } from '../support/acceptance/document.js';

const FILE = new URL('../../docs/acceptance.md', import.meta.url);

test('docs/acceptance.md says what the runs are held to; UPDATE_DOCS=1 writes it anew', () => {
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(FILE, acceptanceDocument());
  expect(readFileSync(FILE, 'utf8')).toBe(acceptanceDocument());
});

test('each chapter names the test that makes its runs, and each run is told apart', () => {
  for (const { test: name } of CHAPTERS)
    expect([name, existsSync(new URL(`../e2e/${name}.test.ts`, import.meta.url))]).toEqual([name, true]);
  const titles = CHAPTERS.flatMap(({ runs }) => runs.map(({ title }) => title));
  expect(new Set(titles).size).toBe(titles.length);
});
