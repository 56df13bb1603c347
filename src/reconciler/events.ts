/** What a pass writes to the timeline, but for the answers to its tries, which are told where they are recorded. */
import type { Attempt, Resolution } from '../operation/attempt.js';
import { differences } from '../operation/drift.js';
import type { DisputeReading, PaymentState } from '../operation/observation.js';
import { moneyOf, type Condition, type Operation, type Status } from '../operation/operation.js';
import { REASONS } from '../operation/reason.js';
import type { Actor, EventDraft } from '../store/record.js';

export const SYSTEM: Actor = { kind: 'system', name: 'reconciler' };

/** A worker died or was cut off during a step; what it may have left is looked at now. */
export function interrupted(attempt: Attempt): EventDraft {
  return {
    type: 'interrupted_step_found',
    actor: SYSTEM,
    message: `${attempt.step} was begun and its answer was never recorded: it may or may not have taken effect.`,
    data: { step: attempt.step, attempt_id: attempt.attempt_id, started_at: attempt.started_at },
  };
}

const FOUND: Readonly<Record<Resolution, string>> = {
  effect_observed: 'did take effect',
  no_effect_observed: 'did not take effect',
  overtaken: 'can no longer take effect',
};

/** What reading showed of a try whose answer was lost. */
export function observed(attempt: Attempt, resolution: Resolution): EventDraft {
  return {
    type: resolution === 'overtaken' ? 'effect_overtaken' : resolution,
    actor: SYSTEM,
    message: `${attempt.step} ${FOUND[resolution]}: its answer was lost, and the world was read.`,
    data: { step: attempt.step, attempt_id: attempt.attempt_id },
  };
}

const MONEY: ReadonlySet<PaymentState> = new Set(['processing', 'authorized', 'captured']);

/** What others did, as a look showed it. */
export function outside(before: Operation, after: Operation): EventDraft[] {
  const drafts: EventDraft[] = [];
  const told = before.status.phase;
  const { state } = after.facts.payment;
  const closed = told === 'cancelled' || told === 'rejected';
  if (closed && MONEY.has(state) && !MONEY.has(before.facts.payment.state)) {
    drafts.push({
      type: 'late_money',
      actor: SYSTEM,
      message: `The payment is ${state} although the order was ${told}: what arrives is given back.`,
      data: { state, captured: after.facts.payment.captured, authorized: after.facts.payment.authorized },
    });
  }
  const { drift } = after.facts;
  if (drift !== undefined && before.facts.drift?.since !== drift.since) {
    const { wanted, recorded, seen, generation } = drift;
    drafts.push({
      type: 'drift_found',
      actor: SYSTEM,
      message: `It was as wanted, and others changed it: ${differences(drift).join(', ')}.`,
      data: { generation, wanted, recorded, seen },
    });
  }
  const known = new Map(before.facts.payment.disputes?.map((dispute) => [dispute.reference, dispute.state]));
  for (const dispute of after.facts.payment.disputes ?? []) {
    if (known.get(dispute.reference) !== dispute.state) drafts.push(disputeEvent(dispute, moneyOf(after)));
  }
  return drafts;
}

const DISPUTE_TEXT: Readonly<Record<DisputeReading['state'], string>> = {
  inquiry: 'is an inquiry of the bank: no money was taken',
  open: 'is a chargeback: its amount is withdrawn until it is decided',
  won: 'ended without the money being taken',
  lost: 'is lost: the bank gave its amount back to the customer',
};

const disputeEvent = (
  { reference, amount, state }: DisputeReading,
  money: (value: number) => string,
): EventDraft => ({
  type: `dispute_${state}`,
  actor: SYSTEM,
  message: `Dispute ${reference} of ${money(amount)} ${DISPUTE_TEXT[state]}.`,
  data: { reference, amount, state },
});

/** Differences between two statuses that people follow. */
export function transitions(before: Status, after: Status): EventDraft[] {
  const drafts: EventDraft[] = [];
  if (before.phase !== after.phase) {
    drafts.push({
      type: 'phase_changed',
      actor: SYSTEM,
      message: `${before.phase} → ${after.phase}: ${REASONS[after.condition].meaning}`,
      data: { from: before.phase, to: after.phase, reason: after.condition },
    });
  }
  if (before.attention?.reason !== after.attention?.reason) {
    drafts.push(
      after.attention === null
        ? { type: 'attention_resolved', actor: SYSTEM, message: 'No person is needed any more.' }
        : {
            type: 'attention_needed',
            actor: SYSTEM,
            message: after.attention.message,
            data: { reason: after.attention.reason },
          },
    );
  }
  const drifted = ({ conditions }: Status): boolean => conditions.some(({ type }) => type === 'Drifted');
  if (drifted(before) && !drifted(after)) {
    drafts.push({
      type: 'drift_resolved',
      actor: SYSTEM,
      message: 'It is as wanted again, or wanted otherwise.',
    });
  }
  const expiring = ({ conditions }: Status): Condition | undefined =>
    conditions.find(({ type }) => type === 'AuthorizationExpiring');
  const warning = expiring(after);
  if (warning !== undefined && expiring(before) === undefined) {
    drafts.push({ type: 'authorization_expiring', actor: SYSTEM, message: warning.message });
  }
  return drafts;
}
