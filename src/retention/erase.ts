/** One order with its journal, without personal data; or why it must not be erased yet. Pure. */
import { sameJson } from '../operation/json.js';
import { nextStatus } from '../operation/next-status.js';
import type { Policy } from '../operation/operation.js';
import { erased, erasedLine, ERASURES } from '../operation/personal-data.js';
import { REASONS } from '../operation/reason.js';
import type { Erasable, ErasedDocuments, Obstacles } from '../store/erasure-store.js';
import { toRecord } from '../store/mapping.js';
import { storedStatus } from '../store/stored.js';

export type Erasing =
  | { readonly kind: 'not_yet'; readonly why: string }
  /** It holds none any more. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'erase'; readonly documents: ErasedDocuments };

export function erase(one: Erasable, now: Date, policy: Policy): Erasing {
  const why = whyNotYet(one);
  if (why !== null) return { kind: 'not_yet', why };
  const rules = ERASURES.order_operations;
  const { labels, spec, first_spec, cancellation, paused, decisions, facts } = one.row;
  const kept = {
    labels: erased(labels, rules.labels),
    spec: erased(spec, rules.spec),
    first_spec: erased(first_spec, rules.first_spec),
    cancellation: erased(cancellation, rules.cancellation),
    paused: erased(paused, rules.paused),
    decisions: erased(decisions, rules.decisions),
    facts: erased(facts, rules.facts),
  };
  const before = toRecord(one.row);
  const status = nextStatus(toRecord({ ...one.row, ...kept }), now, policy);
  if (status.phase !== before.status.phase || status.attention !== null || status.settled_at === null) {
    return { kind: 'not_yet', why: 'It is about to change: with what is known, it is settled no longer.' };
  }
  const attempts = one.attempts.map((attempt) => eachOf(attempt, ERASURES.operation_attempts));
  const commands = one.commands.map((command) => eachOf(command, ERASURES.commands));
  const events = one.events.map(erasedLine);
  const documents: ErasedDocuments = {
    row: one.row.id,
    resource_version: one.row.resource_version,
    last_event: one.events.at(-1)?.sequence ?? '0',
    ...kept,
    status: storedStatus(status),
    attempts: attempts.filter((attempt, at) => !sameJson(attempt, one.attempts[at])),
    events: events.filter((event, at) => !sameJson(event, one.events[at])),
    commands: commands.filter((command, at) => !sameJson(command, one.commands[at])),
  };
  const isSame =
    one.row.erased_at !== null &&
    sameJson({ labels, spec, first_spec, cancellation, paused, decisions, facts }, kept) &&
    documents.attempts.length + documents.events.length + documents.commands.length === 0;
  return isSame ? { kind: 'nothing' } : { kind: 'erase', documents };
}

/** The columns that `rules` name, each erased by its own; the others stay. */
const eachOf = <Row extends object>(
  row: Row,
  rules: Readonly<Record<string, Parameters<typeof erased>[1]>>,
): Row =>
  Object.fromEntries(
    Object.entries(row).map(([column, value]) => [column, erased(value, rules[column] ?? [])]),
  ) as Row;

/** In the order in which a person would ask. */
function whyNotYet({ row, obstacles }: Erasable): string | null {
  const { status } = toRecord(row);
  if (status.settled_at === null)
    return `It is ${status.phase} and not settled: ${REASONS[status.condition].meaning}`;
  if (status.attention !== null) return `It needs a person: ${REASONS[status.attention.reason].meaning}`;
  const met = (Object.keys(OBSTACLES) as (keyof Obstacles)[]).find((name) => obstacles[name]);
  return met === undefined ? null : OBSTACLES[met];
}

const OBSTACLES: Readonly<Record<keyof Obstacles, string>> = {
  held: 'It is being worked on at this moment. Ask again.',
  dispute: 'The bank has not decided a dispute: its evidence may be asked for.',
  finding: 'A finding of it is not resolved: money at the provider and the record do not fit together.',
  command: 'A command of it was previewed or asked for, and is not over. Ask again when it is.',
  call: 'A call was sent within the last day: under its key it may have to be sent again with the same bytes.',
};
