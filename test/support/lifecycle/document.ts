/** `docs/lifecycle.md`: prose by hand, and between marks what the core answers. */
import type { Lifecycle } from './explore.js';
import { lookTable } from './looks.js';
import { diagram, moveTable, phaseTable, reasonTable, stepTable } from './tables.js';

export const sectionsOf = (lifecycle: Lifecycle): Readonly<Record<string, string>> => ({
  phases: phaseTable(lifecycle),
  'drawing: usual': diagram(lifecycle, 'usual'),
  'drawing: giving up': diagram(lifecycle, 'giving up'),
  'drawing: trouble': diagram(lifecycle, 'trouble'),
  moves: moveTable(lifecycle),
  'steps: authorized': stepTable('authorized'),
  'steps: fulfilled': stepTable('fulfilled'),
  'steps: cancelled': stepTable('cancelled'),
  looks: lookTable(),
  reasons: reasonTable(lifecycle),
});

const MARKED = /<!-- from the code: (.+?) -->\n[^]*?<!-- end -->/g;

export const marksOf = (document: string): string[] =>
  [...document.matchAll(MARKED)].map(([, name]) => name ?? '');

/** The document with each marked section written anew. */
export const filled = (document: string, sections: Readonly<Record<string, string>>): string =>
  document.replace(MARKED, (whole, name: string) => {
    const text = sections[name];
    return text === undefined ? whole : `<!-- from the code: ${name} -->\n\n${text}\n\n<!-- end -->`;
  });
