import { readFileSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { PHASES } from '../../src/operation/operation.js';
import { REASONS } from '../../src/operation/reason.js';
import { filled, marksOf, sectionsOf } from '../support/lifecycle/document.js';
import { DEPTH, explore, type Lifecycle } from '../support/lifecycle/explore.js';
import { placesOf } from '../support/lifecycle/tables.js';

const FILE = new URL('../../docs/lifecycle.md', import.meta.url);

describe('docs/lifecycle.md', () => {
  let lifecycle: Lifecycle;
  beforeAll(() => {
    lifecycle = explore();
  });

  test('says what the code does; UPDATE_DOCS=1 writes its tables and drawings anew', () => {
    const sections = sectionsOf(lifecycle);
    const document = readFileSync(FILE, 'utf8');
    expect(marksOf(document).sort()).toEqual(Object.keys(sections).sort());
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync(FILE, filled(document, sections));
    expect(readFileSync(FILE, 'utf8')).toBe(filled(document, sections));
  });

  test('is drawn from all there is to reach', () => {
    expect(explore(DEPTH + 1).situations).toBe(lifecycle.situations);
    expect([...lifecycle.stays.keys()].sort()).toEqual([...PHASES].sort());
  });

  test('shows where every reason appears', () => {
    // Of conditions that are no headline: `Observed` stands for a reading that succeeded. No decision leads to `PassBroken`.
    const shown = new Set<string>([...placesOf(lifecycle).keys(), 'Observed', 'PassBroken']);
    expect(Object.keys(REASONS).filter((reason) => !shown.has(reason))).toEqual([]);
  });
});
