/** Bookkeeping: what a reader sees, derived from wish and facts wherever either is written. Pure and total. */
import { decisionsOf } from './decisions.js';
import { standingDispute, withdrawn } from './dispute.js';
import { differences } from './drift.js';
import type { FailureClass } from './failure.js';
import { deadlineOf, expiryWarning, goalOf, type Goal } from './goal.js';
import { clearInventory, clearPayment } from './clear.js';
import { unfulfilled } from './forward.js';
import { isReached, nextStep } from './next-step.js';
import { ALL_SEEN } from './observation.js';
import { REASONS, type Reason } from './reason.js';
import {
  moneyOf,
  type Condition,
  type Finalizer,
  type FinalizerName,
  type Operation,
  type Phase,
  type Policy,
  type Status,
} from './operation.js';
import { allRefunds, isOpen } from './refund.js';
import { isOfInventory, isReading, type Decision } from './step.js';

/** The status of an operation that nothing was done for yet. */
export const INITIAL_STATUS: Status = {
  phase: 'accepted',
  condition: 'Accepted',
  conditions: [],
  finalizers: [],
  cancelled_at: null,
  attention: null,
  settled_at: null,
  deadline_at: null,
  observed_version: 0,
};

/**
 * `operation.status` is the former status: since-times are carried over where nothing changed. `evaluated`: the spec
 * generation that a pass has evaluated last; only a pass raises it.
 */
export function nextStatus(
  operation: Operation,
  now: Date,
  policy: Policy,
  evaluated: number = operation.status.observed_version,
): Status {
  const at = now.toISOString();
  const before = operation.status;
  const decision = nextStep(operation, ALL_SEEN, now, policy);
  const goal = goalOf(operation, now, policy);
  const phase = phaseOf(operation, goal, decision, policy);
  const reason = headline(operation, goal, phase, decision);
  const cancelled = phase === 'cancelled';
  const settled = isSettled(operation, phase);
  const deadline = deadlineOf(operation, policy);
  return {
    phase,
    condition: reason,
    conditions: [
      ...conditionsOf(operation, reason, decision, at, evaluated),
      ...expiryOf(operation, goal, decision, at, evaluated),
      ...disputeOf(operation, at, evaluated),
      ...driftOf(operation, decision, at, evaluated),
      ...byPeople(operation, at, evaluated),
    ],
    finalizers: finalizersOf(operation, at, policy),
    cancelled_at: cancelled ? (before.cancelled_at ?? at) : null,
    attention: attentionOf(operation, decision, at),
    settled_at: settled ? (before.settled_at ?? at) : null,
    deadline_at: settled || deadline === null ? null : new Date(deadline).toISOString(),
    observed_version: evaluated,
  };
}

/** Nothing is left to do or to wait for; the record is only watched. */
const isSettled = (operation: Operation, phase: Phase): boolean =>
  (phase === 'fulfilled' || phase === 'cancelled' || phase === 'rejected') &&
  !allRefunds(operation).some(isOpen);

function phaseOf(operation: Operation, goal: Goal, decision: Decision, policy: Policy): Phase {
  if (goal.kind === 'clear') {
    // That more went back than was wanted is for a person, and makes it no less clear.
    const tooMuch = decision.kind === 'person' && decision.reason === 'RefundedTwice';
    const clean = isReached(decision) || (tooMuch && clearPayment(operation) === null);
    if (goal.why === 'Cancelling') return clean ? 'cancelled' : 'cancelling';
    if (clean) return 'rejected';
    // Closed once, and money came after all: it is given back.
    if (operation.facts.late !== undefined) return 'cancelling';
  }
  const { facts } = operation;
  const doubt = facts.unresolved?.step;
  if (doubt !== undefined && doubt !== 'update_payment' && !isOfInventory(doubt)) return 'payment_unknown';
  // Seen, and not taken for this order's payment.
  const isNamed = operation.wish.spec.payment.reference !== null || facts.payment.taken_by !== undefined;
  if (isNamed && operation.provider_reference === null && facts.payment.state !== 'unknown')
    return 'accepted';
  switch (facts.payment.state) {
    case 'none':
      return operation.provider_reference === null ? 'accepted' : 'payment_pending';
    case 'created':
      if (decision.kind === 'wait' && decision.reason === 'AwaitingCustomer') return 'awaiting_customer';
      // Declined, and the provider does not keep the decline on the payment.
      return facts.payment.answered_confirmation >= operation.wish.confirmation
        ? 'payment_failed'
        : 'payment_pending';
    case 'failed':
      return facts.payment.answered_confirmation < operation.wish.confirmation
        ? 'payment_pending'
        : 'payment_failed';
    case 'processing':
      return 'payment_pending';
    case 'awaiting_customer':
      return 'awaiting_customer';
    case 'authorized':
      return 'authorized';
    case 'captured':
      return unfulfilled(operation, goal, ALL_SEEN, policy) === null ? 'fulfilled' : 'fulfilling';
    case 'canceled':
      return 'payment_failed';
    case 'unknown':
      return 'payment_unknown';
  }
}

/** The reason of a step that could not be taken, by why it could not. */
const FAILURE_REASON: Readonly<Record<FailureClass, Reason>> = {
  transient: 'StepFailed',
  throttled: 'ProviderThrottled',
  outage: 'ProviderUnreachable',
  unknown: 'AwaitingProviderReconciliation',
  declined: 'PaymentDeclined',
  rejected: 'StepFailed',
  authorization: 'ProviderRefusesCredential',
  conflict: 'StepFailed',
  compatibility: 'UnknownProviderStatus',
  prerequisite: 'InventoryUnreachable',
  partial: 'StepFailed',
  cancelled_by_operator: 'Paused',
};

function headline(operation: Operation, goal: Goal, phase: Phase, decision: Decision): Reason {
  if (decision.kind === 'person') return decision.reason;
  const { facts } = operation;
  if (facts.unresolved !== null) return 'AwaitingProviderReconciliation';
  // An effect that failed says why only while an effect is missing: what waits for others says for whom.
  const hindered =
    facts.failure !== null &&
    (isReading(facts.failure.step) ||
      (decision.kind === 'step' && (goal.kind !== 'clear' || decision.step.name === facts.failure.step)));
  if (
    facts.failure !== null &&
    decision.kind !== 'agreed' &&
    hindered &&
    facts.failure.class !== 'declined'
  ) {
    if (facts.failure.step === 'observe_payment') {
      return facts.failure.class === 'unknown' ? 'ProviderUnreachable' : FAILURE_REASON[facts.failure.class];
    }
    if (facts.failure.step === 'observe_inventory') return 'InventoryUnreachable';
    return FAILURE_REASON[facts.failure.class];
  }
  if (goal.kind === 'clear' && goal.why !== 'Cancelling') return goal.why;
  if (decision.kind === 'wait' || decision.kind === 'step') {
    return phase === 'accepted' &&
      decision.kind === 'step' &&
      facts.inventory.state === 'none' &&
      !facts.inventory.requested
      ? 'Accepted'
      : decision.reason;
  }
  if (phase === 'cancelled') return 'Cancelled';
  return phase === 'fulfilled' ? 'Fulfilled' : 'Authorized';
}

function conditionsOf(
  operation: Operation,
  reason: Reason,
  decision: Decision,
  at: string,
  evaluated: number,
): Condition[] {
  const { facts } = operation;
  const doubt = facts.unresolved !== null;
  const unread = facts.failure !== null && isReading(facts.failure.step);
  const message =
    decision.kind === 'person'
      ? decision.message
      : reason === 'AccountPaused'
        ? accountPaused(operation)
        : (facts.failure?.message ?? REASONS[reason].meaning);
  const ready: Condition['status'] = doubt ? 'Unknown' : decision.kind === 'agreed' ? 'True' : 'False';
  const synced: Condition =
    doubt || unread || (evaluated === 0 && facts.failure === null)
      ? condition('Synced', 'Unknown', reason, message, operation, at, evaluated)
      : facts.failure === null
        ? condition('Synced', 'True', 'Observed', REASONS.Observed.meaning, operation, at, evaluated)
        : condition('Synced', 'False', reason, message, operation, at, evaluated);
  return [synced, condition('Ready', ready, reason, message, operation, at, evaluated)];
}

function accountPaused({ account, facts }: Operation): string {
  const { by = '', reason = '' } = facts.account_paused ?? {};
  return `${by} stopped all writes of the account "${account}": ${reason}`;
}

/** A warning of the authorization's end, unless it is captured by itself before. */
function expiryOf(
  operation: Operation,
  goal: Goal,
  decision: Decision,
  at: string,
  evaluated: number,
): Condition[] {
  const warning = expiryWarning(operation);
  if (warning === null || Date.parse(at) < warning || goal.kind === 'clear') return [];
  const { spec, paused } = operation.wish;
  const { capture, capture_amount } = spec.payment;
  const kept = goal.kind === 'authorize' || (capture === 'manual' && capture_amount === null);
  // What holds back a capture of our own holds it back beyond its time as well.
  const held = paused !== null || decision.kind === 'person' || isOfAccount(decision);
  if (!kept && !held) return [];
  const ends = operation.facts.payment.capture_before ?? '';
  const message = `The authorization ends at ${ends}; what is not captured by then has to be paid anew.`;
  return [
    condition('AuthorizationExpiring', 'True', 'AuthorizationExpiring', message, operation, at, evaluated),
  ];
}

const DISPUTE_REASON = { open: 'DisputeOpen', inquiry: 'DisputeInquiry', lost: 'DisputeLost' } as const;

function disputeOf(operation: Operation, at: string, evaluated: number): Condition[] {
  const { facts } = operation;
  const standing = standingDispute(facts.payment);
  if (standing === null) return [];
  const reason = DISPUTE_REASON[standing];
  const money = moneyOf(operation);
  const message = `${REASONS[reason].meaning} Withdrawn: ${money(withdrawn(facts.payment))}, lost: ${money(facts.payment.lost)}.`;
  return [condition('Disputed', 'True', reason, message, operation, at, evaluated)];
}

/** Only while something is missing: what others did and nobody has to answer is told by the timeline. */
function driftOf(operation: Operation, decision: Decision, at: string, evaluated: number): Condition[] {
  const { drift } = operation.facts;
  if (drift?.generation !== operation.generation || decision.kind === 'agreed') return [];
  const message = `It was as wanted, and is not since ${drift.since}: ${differences(drift).join(', ')}.`;
  return [condition('Drifted', 'True', 'Drifted', message, operation, at, evaluated)];
}

/** What rests on a person's word, and what a person left behind: for as long as the order is kept. */
function byPeople(operation: Operation, at: string, evaluated: number): Condition[] {
  const { asserted, left } = decisionsOf(operation.wish);
  const told = (type: 'Asserted' | 'LeftBehind', reason: Reason, lines: readonly string[]): Condition[] =>
    lines.length === 0 ? [] : [condition(type, 'True', reason, lines.join(' '), operation, at, evaluated)];
  return [
    ...told(
      'Asserted',
      'OutcomeAsserted',
      asserted.map(({ step, outcome, by, evidence }) => `${step}: ${outcome}, says ${by}: ${evidence}`),
    ),
    ...told(
      'LeftBehind',
      'LeftBehind',
      left.map(({ name, left_behind, by }) => `${name}: ${left_behind} (${by})`),
    ),
  ];
}
const isOfAccount = (decision: Decision): boolean =>
  decision.kind === 'wait' && decision.reason === 'AccountPaused';

function condition(
  type: Condition['type'],
  status: Condition['status'],
  reason: Reason,
  message: string,
  operation: Operation,
  at: string,
  evaluated: number,
): Condition {
  const before = operation.status.conditions.find((other) => other.type === type);
  const since = before?.status === status && before.reason === reason ? before.since : at;
  return { type, status, reason, message, since, observed_version: evaluated };
}

/** Each holds cancellation open until an observed fact removes it. */
function finalizersOf(operation: Operation, at: string, policy: Policy): Finalizer[] {
  if (operation.wish.cancellation === null) return [];
  const payment = clearPayment(operation);
  const inventory = clearInventory(operation, ALL_SEEN, policy);
  const waiting: { name: FinalizerName; reason: Reason }[] = [];
  if (payment !== null) waiting.push({ name: 'payment', reason: finalizerReason(operation, payment) });
  if (inventory !== null) {
    waiting.push({
      name: 'inventory',
      reason: payment === null ? finalizerReason(operation, inventory) : 'WaitsForPayment',
    });
  }
  return waiting.map(({ name, reason }) => {
    const before = operation.status.finalizers.find((other) => other.name === name);
    return { name, reason, since: before?.reason === reason ? before.since : at };
  });
}

function finalizerReason(operation: Operation, missing: Decision): Reason {
  if (missing.kind === 'agreed') return 'Cancelling';
  const goneWithTheGoods = operation.facts.failure?.code === 'goods_gone';
  return missing.reason === 'ReleasingStock' && goneWithTheGoods ? 'GoodsGone' : missing.reason;
}

function attentionOf(operation: Operation, decision: Decision, at: string): Status['attention'] {
  if (decision.kind !== 'person') return null;
  const { reason, message } = decision;
  const before = operation.status.attention;
  return { reason, message, since: before?.reason === reason ? before.since : at };
}
