/** Rows to records: bigint arrives as text and timestamps as Date; both leave as the types that are documented. */
import type { OperationAttemptRow, OperationEventRow, OrderOperationRow } from './entities.js';
import type { JournalAttempt, OperationEvent, OperationRecord } from './record.js';
import { readFacts, readShown, readStatus } from './stored.js';

const iso = (time: Date | string | null): string | null => (time === null ? null : isoOf(time));

/** A time that no Date can hold (`infinity`) stays as it is: mapping one row must not fail those that are read with it. */
function isoOf(time: Date | string | number): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : date.toISOString();
}

export function toRecord(row: OrderOperationRow): OperationRecord {
  return {
    operation_id: row.operation_id,
    account: row.account,
    labels: row.labels,
    requested_by: row.requested_by,
    created_at: isoOf(row.created_at),
    updated_at: isoOf(row.updated_at),
    generation: row.generation,
    resource_version: Number(row.resource_version),
    wish: {
      spec: row.spec,
      cancellation: row.cancellation,
      paused: row.paused,
      confirmation: row.confirmation,
      payment_number: row.payment_number,
      ...(row.decisions == null ? {} : { decisions: row.decisions }),
    },
    provider_reference: row.provider_reference,
    facts: readFacts(row.facts),
    status: readStatus(row.status),
    task: row.task,
    next_attempt_at: iso(row.next_attempt_at),
    ...(row.erased_at == null ? {} : { erased_at: isoOf(row.erased_at) }),
  };
}

export function toAttempt(row: OperationAttemptRow): JournalAttempt {
  return {
    attempt_id: row.attempt_id.toString(),
    sequence: Number(row.attempt_id),
    step: row.step,
    target: row.target,
    ordinal: row.ordinal,
    effect_key: row.effect_key,
    parameters: row.parameters,
    generation: row.generation,
    fencing_token: Number(row.fencing_token),
    started_at: isoOf(row.started_at),
    completed_at: iso(row.completed_at),
    outcome: row.outcome,
    key_spent: row.key_spent,
    failure: row.failure,
    shown: row.shown === null ? null : readShown(row.shown),
    request_id: row.request_id,
    resolution: row.resolution,
  };
}

export function toEvent(row: OperationEventRow): OperationEvent {
  return {
    sequence: Number(row.sequence),
    at: isoOf(row.at),
    type: row.type,
    actor: { kind: row.actor_kind, name: row.actor_name },
    message: row.message,
    ...(row.data === null ? {} : { data: row.data }),
  };
}
