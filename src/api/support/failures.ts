/** The page of failures: every class, code, reason and problem, from the tables that the code itself works by. */
import { FAILURE_CLASSES, POSTURES } from '../../operation/failure.js';
import { ACTS, FAILURE_CODES, FAILURE_GUIDANCE, REASON_GUIDANCE } from '../../operation/guidance.js';
import { REASONS } from '../../operation/reason.js';
import { PROBLEM_GUIDANCE } from '../http/problem-guidance.js';
import { PROBLEM_CODES, PROBLEMS } from '../http/problem.js';
import { REASON_NAMES } from '../schemas/names.js';
import { anchorName } from './anchors.js';

export interface FailureTable {
  readonly kind: Parameters<typeof anchorName>[0];
  readonly title: string;
  readonly about: string;
  readonly head: readonly string[];
  readonly rows: readonly { readonly word: string; readonly cells: readonly string[] }[];
}

const THEN = {
  backoff: 'tried or read again by itself',
  customer: 'the customer',
  person: 'a person',
} as const;

export const FAILURE_TABLES: readonly FailureTable[] = [
  {
    kind: 'reason',
    title: 'Reasons',
    about: 'Why an operation stands where it stands, or needs a person.',
    head: ['reason', 'meaning', 'by itself', 'what a person can do, the safest first'],
    rows: REASON_NAMES.map((reason) => {
      const { by_itself, person } = REASON_GUIDANCE[reason];
      const acts = person.map((act) => ACTS[act].how).join(' ');
      return {
        word: reason,
        cells: [REASONS[reason].meaning, by_itself, acts === '' ? 'Nothing has to be done.' : acts],
      };
    }),
  },
  {
    kind: 'class',
    title: 'Classes of failure',
    about: 'What a failure permits; anything that is not recognised is `unknown`.',
    head: ['class', 'meaning', 'by itself', 'spends the retry budget', 'who is next'],
    rows: FAILURE_CLASSES.map((cls) => {
      const { meaning, by_itself } = FAILURE_GUIDANCE[cls];
      const { spendsBudget, then } = POSTURES[cls];
      return { word: cls, cells: [meaning, by_itself, spendsBudget ? 'yes' : 'no', THEN[then]] };
    }),
  },
  {
    kind: 'code',
    title: 'Codes of failures',
    about: 'Our own; all others are the words of the provider or the warehouse, or `http_…` with a status.',
    head: ['code', 'meaning'],
    rows: Object.entries(FAILURE_CODES).map(([word, meaning]) => ({ word, cells: [meaning] })),
  },
  {
    kind: 'problem',
    title: 'Problems',
    about: 'Answers of the API that are errors, by their `code`; `type` leads here.',
    head: ['code', 'status', 'title', 'the same request again may succeed', 'what the caller does'],
    rows: PROBLEM_CODES.map((code) => {
      const { status, title, retryable } = PROBLEMS[code];
      return { word: code, cells: [String(status), title, retryable ? 'yes' : 'no', PROBLEM_GUIDANCE[code]] };
    }),
  },
];

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const html = (text: string): string =>
  text
    .replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character)
    .replace(/`([^`]+)`/g, '<code>$1</code>');

function tableHtml({ kind, title, about, head, rows }: FailureTable): string {
  const line = (cells: readonly string[], tag: 'td' | 'th'): string =>
    cells.map((cell) => `<${tag}>${cell}</${tag}>`).join('');
  const body = rows.map(
    ({ word, cells }) =>
      `<tr id="${anchorName(kind, word)}">${line([`<code>${html(word)}</code>`, ...cells.map(html)], 'td')}</tr>`,
  );
  return (
    `<h2>${html(title)}</h2>\n<p>${html(about)}</p>\n<table>\n<thead><tr>${line(head.map(html), 'th')}</tr></thead>\n` +
    `<tbody>\n${body.join('\n')}\n</tbody>\n</table>`
  );
}

/** The page as this service serves it, without a script. */
export const failuresPage = (): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Order reconciler: what its words mean</title>
<style>
body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
table { border-collapse: collapse; }
th, td { border: 1px solid #bbb; padding: .3rem .6rem; text-align: left; vertical-align: top; }
:target { background: #fff3c4; color: #222; }
</style>
</head>
<body>
<h1>What its words mean</h1>
${FAILURE_TABLES.map(tableHtml).join('\n')}
</body>
</html>
`;
