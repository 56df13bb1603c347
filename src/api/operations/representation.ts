/** The stored record as the public JSON; pure. */
import { withTask } from '../../operation/absorb-journal.js';
import { refundable } from '../../operation/change.js';
import { isCurrent } from '../../operation/budget.js';
import { availabilities, closedOf } from '../../operation/command.js';
import { decisionsOf } from '../../operation/decisions.js';
import { wantedCapture } from '../../operation/terms.js';
import { UNREADABLE_FACTS, type Operation, type Policy } from '../../operation/operation.js';
import { allRefunds, refundTotals } from '../../operation/refund.js';
import type { StepName } from '../../operation/attempt.js';
import type { OperationRecord } from '../../store/record.js';
import type { OperationOut } from '../schemas/operation.js';

/** Steps whose unknown outcome makes it unknown whether, or how much, money has moved. */
const MOVES_MONEY: ReadonlySet<StepName> = new Set([
  'confirm_payment',
  'capture_payment',
  'cancel_payment',
  'create_refund',
]);

type Status = OperationOut['status'];

export function toOperationOut(record: OperationRecord, policy: Policy): OperationOut {
  const { wish } = record;
  return {
    operation_id: record.operation_id,
    metadata: {
      account: record.account,
      generation: record.generation,
      resource_version: record.resource_version,
      labels: { ...record.labels },
      requested_by: record.requested_by,
      created_at: record.created_at,
      updated_at: record.updated_at,
      paused: wish.paused,
      closed: closedOf(record),
    },
    spec: wish.spec,
    status: readableStatusOf(record, policy),
  };
}

/** One record that cannot be read must not keep those that are listed with it from being shown. */
function readableStatusOf(record: OperationRecord, policy: Policy): Status {
  try {
    return statusOf(record, policy);
  } catch {
    return statusOf({ ...record, facts: UNREADABLE_FACTS }, policy);
  }
}

function statusOf(record: OperationRecord, policy: Policy): Status {
  const { status, facts, wish } = record;
  const { budget } = facts;
  return {
    phase: status.phase,
    condition: status.condition,
    observed_version: status.observed_version,
    provider_reference: record.provider_reference,
    next_attempt_at: record.next_attempt_at,
    task: record.task,
    payment: paymentOf(record),
    inventory: { state: facts.inventory.state, observed_at: facts.inventory.observed_at },
    refunds: allRefunds(record).map(({ refund_id, amount, state, source, provider_reference, reason }) => ({
      refund_id,
      amount,
      state,
      source,
      provider_reference,
      reason,
    })),
    conditions: status.conditions.map((condition) => ({ ...condition })),
    cancellation:
      wish.cancellation === null
        ? null
        : {
            requested_at: wish.cancellation.requested_at,
            completed_at: status.cancelled_at,
            finalizers: status.finalizers.map((finalizer) => ({ ...finalizer })),
          },
    retry_budget: {
      limit: policy.retry_limit,
      used: isCurrent(record, budget) ? Math.max(budget.used, budget.reads) : 0,
    },
    // A step in progress may be moving money at this moment.
    money_moved: moneyMoved(withTask(record, record.task, new Date(record.updated_at))),
    attention:
      status.attention === null ? null : { ...status.attention, commands: commandsFor(record, policy) },
  };
}

/** As of the last write: a preview judges anew. */
function commandsFor(record: OperationRecord, policy: Policy): NonNullable<Status['attention']>['commands'] {
  const now = new Date(record.updated_at);
  return availabilities(withTask(record, record.task, now), { by: '', now, policy });
}

function paymentOf(operation: Operation): Status['payment'] {
  const { payment } = operation.facts;
  const { refunded, pending } = refundTotals(operation);
  return {
    state: payment.state,
    authorized: payment.authorized,
    captured: payment.captured,
    refunded,
    refund_pending: pending,
    refundable: refundable(operation),
    short: shortOf(operation),
    disputed: payment.disputed,
    capture_before: payment.capture_before,
    next_action: payment.next_action,
    observed_at: payment.observed_at,
  };
}

/** A provider captures once: what a captured payment lacks can no longer be captured on it. */
function shortOf(operation: Operation): number {
  const { payment } = operation.facts;
  if (payment.state !== 'captured' || operation.wish.cancellation !== null || isNotOurs(operation)) return 0;
  return Math.max(0, wantedCapture(operation) - payment.captured);
}

/** The payment that the caller named, or that was made, is not, or not yet, taken for this order's. */
const isNotOurs = ({ provider_reference, wish, facts }: Operation): boolean =>
  provider_reference === null &&
  (wish.spec.payment.reference !== null || facts.payment.taken_by !== undefined);

/** Whether the customer's money has moved, and how much of it is here now. Doubt is said, not guessed away. */
function moneyMoved(operation: Operation): Status['money_moved'] {
  const { payment, unresolved } = operation.facts;
  const as_of = payment.observed_at;
  // A person's word ends a doubt of the machine; that money moved, or did not, is for a reading to say.
  const unread = decisionsOf(operation.wish).asserted.some(
    ({ step, at }) => MOVES_MONEY.has(step) && (as_of === null || Date.parse(as_of) <= Date.parse(at)),
  );
  const inDoubt = unread || (unresolved !== null && MOVES_MONEY.has(unresolved.step));
  if (isNotOurs(operation) || inDoubt || payment.state === 'processing' || payment.state === 'unknown') {
    return { verdict: 'unknown', amount: null, as_of };
  }
  return payment.captured > 0
    ? {
        verdict: 'moved',
        amount: Math.max(0, payment.captured - payment.lost - refundTotals(operation).refunded),
        as_of,
      }
    : { verdict: 'none', amount: 0, as_of };
}
