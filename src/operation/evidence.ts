/** What a person is shown before they decide, and what of it must still be so when the decision is carried out. Pure. */
import { openAttempts, type Attempt, type OutcomeKind, type StepName } from './attempt.js';
import { decisionsOf } from './decisions.js';
import { sameJson } from './json.js';
import { formatMoney } from './money.js';
import { withoutPage, type Observation, type PaymentReading, type Reading } from './observation.js';
import type { Journaled, Operation } from './operation.js';
import { REASONS } from './reason.js';
import { allRefunds, refundTotals } from './refund.js';
import { isReading, type Decision } from './step.js';

/** A try as the evidence names it: by its key and by the provider's id of the request. */
export interface Tried {
  readonly step: StepName;
  readonly target: string;
  readonly ordinal: number;
  readonly effect_key: string;
  readonly started_at: string;
  readonly outcome: OutcomeKind | null;
  readonly request_id: string | null;
}

/** One look: the record as it is stored, and as it reads with what was just seen. */
export interface Look {
  readonly recorded: Operation;
  readonly seen: Journaled;
  readonly observation: Observation;
  readonly decision: Decision;
}

export interface Evidence {
  /** The provider's and the warehouse's own words, just now. */
  readonly observed: {
    readonly at: string;
    readonly payment: Reading<object>;
    readonly inventory: Reading<object>;
  };
  /** Amounts: minor units of spec.amount.currency. */
  readonly recorded: {
    readonly phase: string;
    readonly condition: string;
    readonly attention: { readonly reason: string; readonly message: string } | null;
    readonly provider_reference: string | null;
    readonly payment: Readonly<Record<string, unknown>>;
    readonly inventory: string;
    readonly refunds: readonly object[];
    readonly observed_at: string | null;
  };
  readonly open_attempts: readonly Tried[];
  readonly last_attempt: Tried | null;
}

export function evidenceOf({ recorded, seen, observation }: Look): Evidence {
  const last = seen.attempts.at(-1);
  return {
    observed: {
      at: observation.at,
      payment: withoutSecrets(observation.payment),
      inventory: observation.inventory,
    },
    recorded: recordedOf(recorded),
    open_attempts: openAttempts(seen.attempts).map(triedOf),
    last_attempt: last === undefined ? null : triedOf(last),
  };
}

function recordedOf(operation: Operation): Evidence['recorded'] {
  const { status, facts, provider_reference } = operation;
  const { state, provider_status, authorized, captured, disputed, observed_at } = facts.payment;
  const { refunded, pending, refundable } = refundTotals(operation);
  const { attention } = status;
  return {
    phase: status.phase,
    condition: status.condition,
    attention: attention === null ? null : { reason: attention.reason, message: attention.message },
    provider_reference,
    payment: {
      state,
      provider_status,
      authorized,
      captured,
      refunded,
      refund_pending: pending,
      refundable,
      disputed,
    },
    inventory: facts.inventory.state,
    refunds: allRefunds(operation).map((refund) => ({ ...refund })),
    observed_at,
  };
}

const withoutSecrets = (reading: Reading<PaymentReading>): Reading<object> =>
  reading.kind === 'present' ? { kind: 'present', value: withoutPage(reading.value) } : reading;

export const triedOf = (attempt: Attempt & { readonly request_id?: string | null }): Tried => ({
  step: attempt.step,
  target: attempt.target,
  ordinal: attempt.ordinal,
  effect_key: attempt.effect_key,
  started_at: attempt.started_at,
  outcome: attempt.outcome,
  request_id: attempt.request_id ?? attempt.failure?.request_id ?? null,
});

/** Flat, so that each difference has a name; JSON values. */
export type Bound = Readonly<Record<string, unknown>>;

/** All that a decision may rest on. When it was read, and how often, is none of it. */
export function boundOf({ seen, observation, decision }: Look): Bound {
  const { operation, attempts } = seen;
  const { wish, facts } = operation;
  const { payment } = facts;
  const { last: _last, ...decisions } = decisionsOf(wish);
  const last = attempts.at(-1);
  return {
    spec: wish.spec,
    cancellation: wish.cancellation,
    paused: wish.paused,
    confirmation: wish.confirmation,
    payment_number: wish.payment_number,
    decisions,
    provider_reference: operation.provider_reference,
    'payment.read': observation.payment.kind,
    'payment.state': payment.state,
    'payment.provider_status': payment.provider_status,
    'payment.amount': payment.amount,
    'payment.authorized': payment.authorized,
    'payment.captured': payment.captured,
    'payment.disputed': payment.disputed,
    'payment.lost': payment.lost,
    refunds: facts.refunds.map(({ refund_id, amount, state, provider_reference }) => ({
      refund_id,
      amount,
      state,
      provider_reference,
    })),
    'inventory.read': observation.inventory.kind,
    'inventory.state': facts.inventory.state,
    'inventory.lines': facts.inventory.lines,
    in_doubt: facts.unresolved === null ? null : facts.unresolved.step,
    last_attempt:
      last === undefined
        ? null
        : { step: last.step, ordinal: last.ordinal, attempt_id: last.attempt_id, outcome: last.outcome },
    next: decision.kind === 'step' ? `step ${decision.step.name}` : decision.kind,
    next_reason: decision.kind === 'agreed' ? null : decision.reason,
  };
}

export interface Difference {
  readonly what: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** What is not as it was; empty when a decision still rests on the same. */
export const changesBetween = (before: Bound, after: Bound): Difference[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((what) => !sameJson(before[what] ?? null, after[what] ?? null))
    .map((what) => ({ what, before: before[what] ?? null, after: after[what] ?? null }));

/** What was observed after a command was carried out. */
export interface CommandOutcome {
  readonly summary: string;
  readonly phase: string;
  readonly condition: string;
  readonly attention: string | null;
  readonly payment: Evidence['recorded']['payment'];
  readonly refunds: readonly object[];
  readonly inventory: string;
  /** What was sent since. */
  readonly attempts: readonly Tried[];
  readonly observed_at: string;
}

/**
 * `operation`: as a look after the command left it, with the status that follows. Where not all could be read, that is what
 * became of the look, and what is recorded is told as older.
 */
export function outcomeOf(
  operation: Operation,
  sent: readonly (Attempt & { readonly request_id?: string | null })[],
  at: string,
): CommandOutcome {
  const { status, facts, wish } = operation;
  const { payment, refunds, inventory } = recordedOf(operation);
  const { currency } = wish.spec.amount;
  const money = formatMoney(facts.payment.captured, currency);
  const unread = facts.failure !== null && isReading(facts.failure.step) ? facts.failure : null;
  const sentences = [
    ...sent.map(({ step, outcome, failure }) =>
      failure === null
        ? `${step}: ${outcome ?? 'not answered yet'}.`
        : `${step}: ${outcome ?? ''}, ${failure.message}`,
    ),
    ...(unread === null
      ? [`The order is ${status.phase}: ${REASONS[status.condition].meaning}`]
      : [`Not all could be read: ${unread.message}`, `As it was last seen the order is ${status.phase}.`]),
    `The payment is ${facts.payment.state}, ${money} captured; stock is ${facts.inventory.state}.`,
    ...(status.attention === null ? [] : [`It needs a person: ${status.attention.message}`]),
  ];
  return {
    summary: sentences.join(' '),
    phase: status.phase,
    condition: status.condition,
    attention: status.attention?.reason ?? null,
    payment,
    refunds,
    inventory,
    attempts: sent.map(triedOf),
    observed_at: unread === null ? at : (facts.payment.observed_at ?? at),
  };
}
