/** The handover of an operation: a pure function of what is recorded. Redacted: ids, and no secrets or customer data. */
import { openAttempts } from '../../operation/attempt.js';
import {
  requestCancellation,
  requestCapture,
  requestRefund,
  tryPaymentAgain,
  type Change,
} from '../../operation/change.js';
import { availabilities } from '../../operation/command.js';
import { ACTS, FAILURE_GUIDANCE, REASON_GUIDANCE, type Act } from '../../operation/guidance.js';
import { nextStep } from '../../operation/next-step.js';
import { ALL_SEEN } from '../../operation/observation.js';
import type { Operation, Policy } from '../../operation/operation.js';
import { patchSpec } from '../../operation/patch.js';
import { REASONS } from '../../operation/reason.js';
import { heldAtProvider } from '../../operation/refund.js';
import type { JournalAttempt, OperationEvent, OperationRecord } from '../../store/record.js';
import type { Triage } from '../../store/triage-store.js';
import { toOperationOut } from '../operations/representation.js';
import type { HandoverOut } from '../schemas/handover.js';
import { anchorOf } from './anchors.js';
import { redacted } from './redact.js';

export interface Recorded {
  readonly record: OperationRecord;
  readonly attempts: readonly JournalAttempt[];
  readonly events: readonly OperationEvent[];
  readonly triage: Triage;
}

/** A page that is read to the end; the whole is under …/attempts and …/events. */
const SHOWN = 50;

export function toHandover(
  { record, attempts, events, triage }: Recorded,
  now: Date,
  policy: Policy,
): HandoverOut {
  const shown = toOperationOut(record, policy);
  const { wish, facts } = record;
  const { status } = shown;
  const ready = status.conditions.find(({ type }) => type === 'Ready');
  const headline = status.attention ?? ready ?? null;
  const reason = status.attention?.reason ?? status.condition;
  const decision = nextStep(record, ALL_SEEN, now, policy);
  const uncertain = uncertainties(record, attempts, status.money_moved.verdict);
  return {
    operation_id: record.operation_id,
    as_of: now.toISOString(),
    resource_version: record.resource_version,
    account: record.account,
    phase: status.phase,
    reason,
    message: redacted(headline?.message ?? REASONS[reason].meaning),
    since: headline?.since ?? null,
    needs_person: status.attention !== null,
    intent: {
      order_id: wish.spec.order_id,
      desired: wish.spec.desired,
      amount: { ...wish.spec.amount },
      capture: wish.spec.payment.capture,
      refunds: wish.spec.refunds.map(({ refund_id, amount }) => ({ refund_id, amount })),
      requested_by: record.requested_by,
      requested_at: record.created_at,
      cancellation:
        wish.cancellation === null
          ? null
          : { ...wish.cancellation, reason: nullable(wish.cancellation.reason, redacted) },
      paused: wish.paused === null ? null : { ...wish.paused, reason: redacted(wish.paused.reason) },
    },
    observed: {
      payment: {
        reference: record.provider_reference,
        state: status.payment.state,
        authorized: status.payment.authorized,
        captured: status.payment.captured,
        refunded: status.payment.refunded,
        refundable: status.payment.refundable,
        disputed: status.payment.disputed,
        at: status.payment.observed_at,
      },
      inventory: { state: status.inventory.state, at: status.inventory.observed_at },
      money_moved: status.money_moved.verdict,
    },
    checkpoint: checkpointOf(attempts),
    uncertain,
    failure: failureOf(record),
    attempts: attempts.slice(-SHOWN).map((attempt) => ({
      step: attempt.step,
      target: attempt.target,
      ordinal: attempt.ordinal,
      effect_key: attempt.effect_key,
      started_at: attempt.started_at,
      completed_at: attempt.completed_at,
      outcome: attempt.outcome,
      code: attempt.failure?.code ?? null,
      request_id: attempt.request_id,
      resolution: attempt.resolution,
    })),
    tried: events
      .filter(({ actor, type }) => (actor.kind === 'key' || actor.kind === 'person') && type !== 'note_added')
      .slice(-SHOWN)
      .map(({ at, actor, message }) => ({ at, by: actor.name, what: redacted(message) })),
    by_itself: {
      what: REASON_GUIDANCE[reason].by_itself,
      step: decision.kind === 'step' ? decision.step.name : null,
      next_look_at: record.next_attempt_at,
    },
    safe_next: REASON_GUIDANCE[reason].person.map((act) => {
      const why_not = whyNot(act, record, now, policy);
      return { act, ...ACTS[act], available: why_not === null, why_not };
    }),
    avoid: avoid(uncertain.length > 0, status.attention !== null),
    // Whoever decides about commands says so in the operation itself.
    commands: (status.attention?.commands ?? []).map((command) => ({ ...command })),
    triage: {
      assignee: triage.assignee,
      snooze_until: triage.snooze_until,
      notes: triage.notes.map(({ at, actor, message }) => ({ at, by: actor.name, note: redacted(message) })),
    },
    see: [
      anchorOf('reason', reason),
      ...(facts.failure === null ? [] : [anchorOf('class', facts.failure.class)]),
      `/v1/operations/${encodeURIComponent(record.operation_id)}/plan`,
    ],
  };
}

const nullable = <T, R>(value: T | null, map: (value: T) => R): R | null =>
  value === null ? null : map(value);

/** The last effect that an answer or a reading showed. */
function checkpointOf(attempts: readonly JournalAttempt[]): HandoverOut['checkpoint'] {
  const known = attempts.findLast(
    ({ outcome, resolution }) =>
      outcome === 'done' || outcome === 'pending' || resolution === 'effect_observed',
  );
  if (known === undefined) return null;
  const { step, outcome, completed_at, started_at } = known;
  const how =
    outcome === 'done' ? 'answered as done' : outcome === 'pending' ? 'accepted' : 'seen by a reading';
  return { at: completed_at ?? started_at, what: `${step}: ${how}` };
}

function uncertainties(
  { facts, task, updated_at }: OperationRecord,
  attempts: readonly JournalAttempt[],
  moved: HandoverOut['observed']['money_moved'],
): HandoverOut['uncertain'] {
  const open = openAttempts(attempts).map(({ step, started_at, effect_key, outcome }) => ({
    what: `${step} ${outcome === null ? 'was begun and has no recorded answer' : 'was sent and its answer does not say'}: it may or may not have taken effect.`,
    since: started_at,
    effect_key,
  }));
  const plain = (what: string, since: string | null): HandoverOut['uncertain'][number] => ({
    what,
    since,
    effect_key: null,
  });
  return [
    ...open,
    ...(open.length === 0 && facts.unresolved !== null
      ? [plain(`${facts.unresolved.step} may or may not have taken effect.`, facts.unresolved.since)]
      : []),
    ...(task === null ? [] : [plain(`${task} is being sent at this moment.`, updated_at)]),
    ...(facts.failure?.step === 'observe_payment'
      ? [
          plain(
            'The provider could not be read: what is shown of the payment is older.',
            facts.payment.observed_at,
          ),
        ]
      : []),
    ...(facts.failure?.step === 'observe_inventory'
      ? [
          plain(
            'The warehouse could not be read: what is shown of the stock is older.',
            facts.inventory.observed_at,
          ),
        ]
      : []),
    ...(moved === 'unknown' && open.length === 0 && facts.unresolved === null
      ? [plain("It is not known whether the customer's money has moved.", facts.payment.observed_at)]
      : []),
  ];
}

function failureOf({ facts: { failure } }: OperationRecord): HandoverOut['failure'] {
  if (failure === null) return null;
  return {
    step: failure.step,
    class: failure.class,
    code: failure.code,
    message: redacted(failure.message),
    request_id: failure.request_id ?? null,
    ...FAILURE_GUIDANCE[failure.class],
    see: anchorOf('class', failure.class),
  };
}

/** Why an act is refused as things are recorded, in the words of the route itself; null: it is accepted. */
function whyNot(act: Act, operation: Operation, now: Date, policy: Policy): string | null {
  const asking = { by: 'support', now, policy };
  const refusal = (change: Change): string | null =>
    change.kind === 'refused'
      ? change.detail
      : change.kind === 'unchanged'
        ? 'It was asked for already.'
        : null;
  switch (act) {
    case 'cancel':
      return refusal(requestCancellation(operation, null, asking));
    case 'pay_again':
      return refusal(tryPaymentAgain(operation, undefined, asking));
    case 'capture':
      return refusal(requestCapture(operation, undefined, asking));
    case 'lower_amount': {
      const { authorized } = operation.facts.payment;
      return refusal(patchSpec(operation, { amount: { value: authorized } }, asking));
    }
    case 'refund_difference': {
      const amount = heldAtProvider(operation) - operation.wish.spec.amount.value;
      if (amount <= 0) return 'No more is held than is wanted.';
      return refusal(requestRefund(operation, { refund_id: '', amount, reason: null }));
    }
    case 'retry':
    case 'retry_refund':
    case 'reauthorize':
    case 'adopt_payment':
    case 'record_outcome':
    case 'release_finalizer':
    case 'give_up':
    case 'resume':
      return availabilities(operation, asking).find(({ name }) => name === act)?.why_not ?? null;
    case 'wait':
    case 'read_plan':
    case 'look_at_provider':
    case 'ask_customer':
    case 'repair_credential':
    case 'resume_account':
    case 'ask_warehouse':
    case 'raise_brake':
    case 'upgrade':
    case 'upgrade_service':
    case 'answer_dispute':
      return null;
  }
}

const avoid = (uncertain: boolean, needsPerson: boolean): string[] => [
  ...(uncertain
    ? ['Do not charge, capture or refund by hand: a call of ours may have taken effect, or may still.']
    : []),
  ...(needsPerson || uncertain
    ? ['Do not create another order for the same purchase while this one is open: it would be paid twice.']
    : []),
];
