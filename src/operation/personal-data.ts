/**
 * What a record holds of persons, and what becomes of it when that is erased: one table, by which documents are erased and
 * of which docs/retention.md is written. Pure.
 */
import type { Outcome } from './attempt.js';
import type { Failure } from './failure.js';
import type { Observation, PaymentReading, Reading } from './observation.js';

/** Stands where a text was. */
export const ERASED = '(erased)';

/** `null`, `absent`: the member says nothing any more. `text`: ERASED. `{}`, `[]`: nothing is in it. A null stays one. */
type Becomes = 'null' | 'absent' | 'text' | '{}' | '[]';

interface Erasure {
  /** Members by `.`; `[]` stands for each item of a list, '' for the whole. */
  readonly path: string;
  readonly becomes: Becomes;
  readonly why: string;
}

const under = (prefix: string, rows: readonly Erasure[]): Erasure[] =>
  rows.map((row) => ({ ...row, path: `${prefix}.${row.path}` }));

const MEANS = 'names how a person pays; the payment names it at the provider, as long as it is kept there';
const PERSON = 'names a person at the provider';
const PAGE = 'may carry a name or a session of the customer';
const FREE = 'free text: people write names into it';
const PROVIDER = 'words of the other side, which may quote what was sent; class and code are kept';
const SUMMARY = 'made of texts that may be free; the facts that it speaks of are kept';

const SPEC: readonly Erasure[] = [
  { path: 'payment.payment_method', becomes: 'null', why: MEANS },
  { path: 'payment.customer', becomes: 'null', why: PERSON },
  { path: 'payment.return_url', becomes: 'null', why: PAGE },
  { path: 'refunds[].reason', becomes: 'null', why: FREE },
];

/** Of a payment as it was read. */
const READING: readonly Erasure[] = [
  { path: 'payment_method', becomes: 'null', why: MEANS },
  { path: 'customer', becomes: 'absent', why: PERSON },
  { path: 'last_error.message', becomes: 'text', why: PROVIDER },
  { path: 'next_action.redirect_url', becomes: 'null', why: PAGE },
];

const DECISIONS: readonly Erasure[] = [
  { path: 'asserted[].evidence', becomes: 'text', why: FREE },
  { path: 'asserted[].reason', becomes: 'text', why: FREE },
  { path: 'left[].left_behind', becomes: 'text', why: FREE },
  { path: 'left[].reason', becomes: 'text', why: FREE },
  { path: 'given_up.reason', becomes: 'text', why: FREE },
  { path: 'last.reason', becomes: 'text', why: FREE },
];

const FAILURE: readonly Erasure[] = [{ path: 'message', becomes: 'text', why: PROVIDER }];

/** By table and column, as it is stored. What is derived from these (`status`), and lines of the timeline, see below. */
export const ERASURES = {
  order_operations: {
    labels: [{ path: '', becomes: '{}', why: 'texts of the caller, of any kind' }],
    spec: SPEC,
    first_spec: SPEC,
    cancellation: [{ path: 'reason', becomes: 'null', why: FREE }],
    paused: [{ path: 'reason', becomes: 'text', why: FREE }],
    decisions: DECISIONS,
    facts: [
      ...under('payment', READING),
      { path: 'payment.sent_method', becomes: 'null', why: MEANS },
      { path: 'refunds[].reason', becomes: 'null', why: FREE },
      ...under('failure', FAILURE),
      ...under('budget.refusal', FAILURE),
      { path: 'account_paused.reason', becomes: 'text', why: FREE },
    ],
  },
  operation_attempts: {
    parameters: [
      { path: 'payment_method', becomes: 'absent', why: MEANS },
      { path: 'customer', becomes: 'absent', why: PERSON },
      { path: 'return_url', becomes: 'absent', why: PAGE },
    ],
    failure: FAILURE,
    shown: under('payment', READING),
  },
  commands: {
    parameters: [
      { path: 'payment_method', becomes: 'text', why: MEANS },
      { path: 'evidence', becomes: 'text', why: FREE },
      { path: 'left_behind', becomes: 'text', why: FREE },
    ],
    evidence: [
      ...under('observed.payment.value', READING),
      ...under('observed.payment.failure', FAILURE),
      ...under('observed.inventory.failure', FAILURE),
      { path: 'recorded.attention.message', becomes: 'text', why: SUMMARY },
      { path: 'recorded.refunds[].reason', becomes: 'null', why: FREE },
    ],
    bound: [
      ...under('spec', SPEC),
      { path: 'cancellation.reason', becomes: 'null', why: FREE },
      { path: 'paused.reason', becomes: 'text', why: FREE },
      ...under('decisions', DECISIONS),
    ],
    effects: [{ path: '', becomes: '[]', why: SUMMARY }],
    reason: [{ path: '', becomes: 'text', why: FREE }],
    refused: [
      { path: 'why', becomes: 'text', why: SUMMARY },
      { path: 'changes', becomes: 'absent', why: 'what the wish was before and after' },
    ],
    outcome: [
      { path: 'summary', becomes: 'text', why: SUMMARY },
      { path: 'refunds[].reason', becomes: 'null', why: FREE },
    ],
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, readonly Erasure[]>>>>;

const VALUES: Readonly<Record<Exclude<Becomes, 'absent'>, unknown>> = {
  null: null,
  text: ERASED,
  '{}': {},
  '[]': [],
};

function withErased(value: unknown, [member, ...rest]: readonly string[], becomes: Becomes): unknown {
  if (value === null || value === undefined) return value;
  if (member === undefined) return becomes === 'absent' ? undefined : VALUES[becomes];
  if (member === '[]')
    return Array.isArray(value) ? value.map((item) => withErased(item, rest, becomes)) : value;
  if (typeof value !== 'object' || !Object.hasOwn(value, member)) return value;
  const { [member]: before, ...others } = value as Readonly<Record<string, unknown>>;
  const after = withErased(before, rest, becomes);
  return after === undefined ? others : { ...value, [member]: after };
}

const membersOf = (path: string): string[] => path.match(/\[\]|[^.[\]]+/g) ?? [];

/** The document without what `erasures` names; it keeps its shape, and erasing it once more changes nothing. */
export const erased = <Document>(document: Document, erasures: readonly Erasure[]): Document =>
  erasures.reduce<unknown>(
    (left, { path, becomes }) => withErased(left, membersOf(path), becomes),
    document,
  ) as Document;

/** Types of lines whose message is made of our own words and of nothing that anybody wrote. */
const OWN_WORDS: ReadonlySet<string> = new Set([
  'operation_created',
  'spec_changed',
  'cancellation_requested',
  'refund_requested',
  'capture_requested',
  'payment_retry_requested',
  'assigned',
  'snoozed',
  'effect_done',
  'effect_pending',
  'effect_observed',
  'no_effect_observed',
  'effect_overtaken',
  'interrupted_step_found',
  'phase_changed',
  'attention_resolved',
  'authorization_expiring',
  'late_money',
  'drift_found',
  'drift_resolved',
  'dispute_inquiry',
  'dispute_open',
  'dispute_won',
  'dispute_lost',
  'personal_data_erased',
  'journal_deleted',
]);

/** Members of a line's data that are kept: ids, amounts, times, and words out of closed sets. */
const DATA_KEPT: ReadonlySet<string> = new Set([
  'amount',
  'attempt_id',
  'authorized',
  'because',
  'bulk_id',
  'captured',
  'class',
  'code',
  'command',
  'confirmation',
  'days',
  'former_payment',
  'from',
  'generation',
  'members',
  'preview_id',
  'recorded',
  'reference',
  'refund_id',
  'requested_by',
  'seen',
  'started_at',
  'state',
  'step',
  'to',
  'wanted',
]);
/** Where `reason` is one of our words and not somebody's. */
const REASON_IS_A_WORD: ReadonlySet<string> = new Set(['phase_changed', 'attention_needed']);

interface Line {
  readonly type: string;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>> | null;
}

/** A line of the timeline: who, when and what kind of thing is kept, whatever type a later version writes. */
export function erasedLine<L extends Line>({ type, message, data, ...rest }: L): L {
  const isKept = (member: string): boolean =>
    DATA_KEPT.has(member) || (member === 'reason' && REASON_IS_A_WORD.has(type));
  return {
    ...rest,
    type,
    message: OWN_WORDS.has(type) ? message : ERASED,
    data:
      data === null ? null : Object.fromEntries(Object.entries(data).filter(([member]) => isKept(member))),
  } as L;
}

/** A person who looks at it later has the code to go by. */
const withoutWords = (failure: Failure): Failure => ({
  ...failure,
  message: `${failure.code}; more is not kept of an order whose personal data was erased.`,
});

/** A payment as it may be kept beside the orders, where nothing is erased later. */
export const withoutPerson = (payment: PaymentReading): PaymentReading => erased(payment, READING);

/** As an erased record takes in what is read of the world: its money and its stock, and no person. */
export function erasedObservation({ payment, inventory, at }: Observation): Observation {
  const asKept = <T>(reading: Reading<T>): Reading<T> =>
    reading.kind === 'unknown' ? { ...reading, failure: withoutWords(reading.failure) } : reading;
  return {
    payment:
      payment.kind === 'present' ? { ...payment, value: withoutPerson(payment.value) } : asKept(payment),
    inventory: asKept(inventory),
    at,
  };
}

/** The same of an answer to one of our own calls. */
export function erasedOutcome(outcome: Outcome): Outcome {
  const kept = erased(outcome, under('shown.payment', READING));
  return 'failure' in kept ? { ...kept, failure: withoutWords(kept.failure) } : kept;
}
