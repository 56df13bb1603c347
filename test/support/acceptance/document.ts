/** `docs/acceptance.md`: every run with what it came to, written from the tables that the tests are driven by. */
import { CREDENTIAL_RUN, LOCKED_RUN, THROTTLED_RUN } from './account.js';
import { BLOCKED_RUNS } from './blocked.js';
import { HEALED_BY_CHANGE, HEALED_BY_HOOK, LOOKED_AT_OFTEN } from './budget.js';
import { RESTART_RUNS } from './postgres.js';
import { BOUNDED_RUNS, LOSS_RUNS, POLICY_RUN, ROLLED_RUNS } from './queue.js';
import type { AcceptanceRecord, Facts, Run } from './record.js';
import { ZONES_RUN } from './zones.js';

interface Chapter {
  readonly title: string;
  readonly test: string;
  readonly runs: readonly Run[];
}

export const CHAPTERS: readonly Chapter[] = [
  { title: 'The provider is blocked', test: 'acceptance-blocked', runs: BLOCKED_RUNS },
  { title: 'The credential', test: 'acceptance-credential', runs: [CREDENTIAL_RUN] },
  { title: 'Throttling', test: 'acceptance-throttled', runs: [THROTTLED_RUN, LOCKED_RUN] },
  { title: 'Postgres', test: 'acceptance-postgres', runs: RESTART_RUNS },
  { title: 'The queue', test: 'acceptance-queue', runs: [...LOSS_RUNS, ...BOUNDED_RUNS, POLICY_RUN] },
  { title: 'Deployments', test: 'acceptance-schedule', runs: ROLLED_RUNS },
  {
    title: 'One order’s own trouble',
    test: 'acceptance-budget',
    runs: [HEALED_BY_HOOK, HEALED_BY_CHANGE, LOOKED_AT_OFTEN],
  },
  { title: 'Zones and sums', test: 'acceptance-zones', runs: [ZONES_RUN] },
];

const HEAD = `# Acceptance records of the failure-injection runs

Each run injects a failure into the product as deployed (its processes, a real Postgres, a real Redis where it says so, the
sandbox over HTTP) and is compared in full with its record below: the rows, the API, the provider’s ledger and journal, the
stock and the logs, as they were observed. Written from the tables that drive the tests, and checked by them: do not edit;
\`UPDATE_DOCS=1 npm test -- test/unit/acceptance-document\` writes it anew.

- **Injected**: what was done to the world, as it was seen there.
- **Shown**: what the product says meanwhile: phase and reason of the orders, class and code of failures, the account.
- **Checkpoint**: the last that was confirmed before.
- **Recovery**: what happened by itself, and what it cost.
- **Final**: where orders, money (minor units) and goods came to.
- **Left behind**: normally nothing.
`;

const PARTS: Readonly<Record<keyof AcceptanceRecord, string>> = {
  injected: 'Injected',
  shown: 'Shown',
  checkpoint: 'Checkpoint',
  recovery: 'Recovery',
  final: 'Final',
  left: 'Left behind',
};

export const acceptanceDocument = (): string =>
  `${HEAD}${CHAPTERS.map(({ title, test, runs }) => `\n## ${title}\n\n\`test/e2e/${test}.test.ts\`\n${runs.map(section).join('')}`).join('')}`;

function section({ title, story, cases, expected }: Run): string {
  const parts = (Object.keys(PARTS) as (keyof AcceptanceRecord)[]).filter(
    (part) => Object.keys(expected[part]).length > 0,
  );
  const lines = parts.map(
    (part) =>
      `- **${PARTS[part]}**: ${part === 'left' ? leftInWords(expected.left) : inWords(expected[part])}`,
  );
  const ranks = cases.length === 0 ? '' : ` (case ${cases.join(', ')})`;
  return `\n### ${title}\n\n${story}${ranks}\n\n${lines.join('\n')}\n`;
}

/** Only what is not nothing, so that it is seen. */
function leftInWords(left: Facts): string {
  const something = Object.entries(left).filter(
    ([, value]) => value !== 0 && value !== false && value !== 'closed',
  );
  const looked = Object.keys(left).join(', ');
  return something.length === 0 ? `nothing (looked at: ${looked})` : inWords(Object.fromEntries(something));
}

const inWords = (facts: Facts): string =>
  Object.entries(facts)
    .map(([name, value]) => `${name} ${valueInWords(value)}`)
    .join('; ');

function valueInWords(value: Facts[string]): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return `\`${value}\``;
  if (typeof value === 'string') return `\`${value}\``;
  if (value instanceof Array)
    return value.length === 0 ? 'none' : value.map((one) => `\`${one}\``).join(', ');
  const members = Object.entries(value);
  return members.length === 0
    ? 'none'
    : `(${members.map(([name, inner]) => `${name} ${valueInWords(inner)}`).join(', ')})`;
}
