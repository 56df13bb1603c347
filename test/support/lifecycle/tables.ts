/** The tables and drawings of docs/lifecycle.md, as the functions of the core answer. */
import { nextStep } from '../../../src/operation/next-step.js';
import { ALL_SEEN, INVENTORY_STATES, PAYMENT_STATES } from '../../../src/operation/observation.js';
import { nextStatus } from '../../../src/operation/next-status.js';
import { PHASES, type Phase } from '../../../src/operation/operation.js';
import { REASONS, type Reason } from '../../../src/operation/reason.js';
import type { Decision } from '../../../src/operation/step.js';
import { NOW, POLICY } from '../operations.js';
import type { Lifecycle, Transition } from './explore.js';
import { inState, TROUBLED, type GoalName } from './representatives.js';

/** Columns as wide as their widest cell, as the formatter leaves them. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(3, ...[title, ...rows.map((row) => row[column] ?? '')].map((cell) => [...cell].length)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - [...cell].length)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

const code = (word: string): string => `\`${word}\``;
const list = (words: Iterable<string>): string => [...words].sort().map(code).join(', ') || '–';

function inWords(decision: Decision): string {
  switch (decision.kind) {
    case 'step':
      return code(decision.step.name);
    case 'wait':
      return `wait: ${decision.reason}`;
    case 'person':
      return `**person**: ${decision.reason}`;
    case 'agreed':
      return 'as wanted';
  }
}

/** What is decided for an order that heads for `goal`, by what is recorded of its payment and its stock. */
export const stepTable = (goal: GoalName): string =>
  table(
    ['payment', ...INVENTORY_STATES.map((stock) => `stock ${stock}`)],
    PAYMENT_STATES.map((payment) => [
      code(payment),
      ...INVENTORY_STATES.map((stock) =>
        inWords(nextStep(inState(goal, payment, stock), ALL_SEEN, NOW, POLICY)),
      ),
    ]),
  );

export const phaseTable = ({ stays, transitions }: Lifecycle): string =>
  table(
    ['phase', 'shown with', 'steps that are taken', 'goes on to'],
    PHASES.map((phase) => {
      const stay = stays.get(phase);
      const next = new Set(transitions.filter(({ from }) => from === phase).map(({ to }) => to));
      return [code(phase), list(stay?.conditions ?? []), list(stay?.steps ?? []), list(next)];
    }),
  );

const inOrder = (a: Transition, b: Transition): number =>
  PHASES.indexOf(a.from) - PHASES.indexOf(b.from) || PHASES.indexOf(a.to) - PHASES.indexOf(b.to);

/** One row for each move between phases, with all that was seen to make it. */
export function moveTable({ transitions }: Lifecycle): string {
  const moves = new Map<string, string[]>();
  for (const { from, to, cause } of [...transitions].sort(inOrder)) {
    const key = `${code(from)} → ${code(to)}`;
    moves.set(key, [...(moves.get(key) ?? []), cause.label]);
  }
  return table(
    ['from → to', 'what makes it so'],
    [...moves].map(([key, labels]) => [key, [...new Set(labels)].sort().join('; ')]),
  );
}

export type Drawing = 'usual' | 'giving up' | 'trouble';
const ENDS_IN: ReadonlySet<Phase> = new Set(['cancelling', 'cancelled', 'rejected']);

function isDrawn({ from, to, cause }: Transition, drawing: Drawing): boolean {
  const doubt = from === 'payment_unknown' || to === 'payment_unknown';
  const givesUp = ENDS_IN.has(to) || ENDS_IN.has(from) || cause.label.startsWith('cancel_payment');
  switch (drawing) {
    case 'usual':
      // A reading repeats what an answer said that was lost; strangers and trouble have drawings of their own.
      return !doubt && !givesUp && ['service', 'caller', 'customer'].includes(cause.mover);
    case 'giving up':
      return givesUp && !doubt && cause.mover !== 'trouble';
    case 'trouble':
      return doubt && !givesUp;
  }
}

export function diagram({ transitions }: Lifecycle, drawing: Drawing): string {
  const labels = new Map<string, Set<string>>();
  for (const move of [...transitions].filter((one) => isDrawn(one, drawing)).sort(inOrder)) {
    const key = `${move.from} --> ${move.to}`;
    labels.set(key, (labels.get(key) ?? new Set()).add(move.cause.label));
  }
  const lines = [...labels].map(([key, causes]) => `  ${key}: ${[...causes].sort().join(' or ')}`);
  const start = drawing === 'usual' ? ['  [*] --> accepted'] : [];
  return ['```mermaid', 'stateDiagram-v2', ...start, ...lines, '```'].join('\n');
}

/** Where each reason is shown: in which phases, as a finalizer, or as a call for a person. */
export interface Place {
  readonly phases: Set<Phase>;
  readonly finalizers: Set<string>;
  attention: boolean;
}
export function placesOf({ stays, finalizers }: Lifecycle): ReadonlyMap<Reason, Place> {
  const places = new Map<Reason, Place>();
  const at = (reason: Reason): Place => {
    const place = places.get(reason) ?? { phases: new Set(), finalizers: new Set(), attention: false };
    places.set(reason, place);
    return place;
  };
  for (const [phase, { conditions, attention }] of stays) {
    for (const reason of conditions) at(reason).phases.add(phase);
    for (const reason of attention) at(reason).attention = true;
  }
  for (const operation of TROUBLED) {
    const { phase, condition, conditions, attention } = nextStatus(operation, NOW, POLICY, 1);
    at(condition).phases.add(phase);
    // A warning stands beside the headline, not in its place.
    for (const { type, reason } of conditions) {
      if (type !== 'Synced' && type !== 'Ready') at(reason).phases.add(phase);
    }
    if (attention !== null) at(attention.reason).attention = true;
  }
  for (const [name, reasons] of finalizers) for (const reason of reasons) at(reason).finalizers.add(name);
  return places;
}

export function reasonTable(lifecycle: Lifecycle): string {
  const places = placesOf(lifecycle);
  const rows = (Object.keys(REASONS) as Reason[]).map((reason) => {
    // Of what no decision leads to: the loop says it itself.
    const anywhere = reason === 'PassBroken';
    const place = places.get(reason);
    const phases = PHASES.filter((phase) => place?.phases.has(phase) === true);
    const shown = [
      ...phases.map(code),
      ...[...(place?.finalizers ?? [])].sort().map((name) => `finalizer ${code(name)}`),
    ];
    return [
      `[${code(reason)}](failures.md#reason-${reason})`,
      REASONS[reason].meaning,
      anywhere ? 'any phase' : shown.join(', ') || '–',
      anywhere || place?.attention === true ? 'yes' : '',
    ];
  });
  return table(['reason', 'meaning', 'shown in', 'person'], rows);
}
