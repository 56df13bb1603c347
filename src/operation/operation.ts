/** The record of one order: what is wanted (spec), what was seen (facts), and what follows from both. */
import type { Failure } from './failure.js';
import type { Attempt, StepName } from './attempt.js';
import type { Decisions } from './decisions.js';
import { formatMoney } from './money.js';
import type { DisputeReading, InventoryState, NextAction, PaymentState, RefundState } from './observation.js';
import type { Reason } from './reason.js';
import type { Line, Spec } from './spec.js';
import type { Reader } from './step.js';

export const PHASES = [
  'accepted',
  'payment_pending',
  'awaiting_customer',
  'payment_failed',
  'payment_unknown',
  'authorized',
  'fulfilling',
  'fulfilled',
  'cancelling',
  'cancelled',
  'rejected',
] as const;
export type Phase = (typeof PHASES)[number];

/** What callers and people want, owned by the API. */
export interface Wish {
  readonly spec: Spec;
  /** Null until cancellation is requested, exactly while spec.desired is not `cancelled`; never withdrawn. */
  readonly cancellation: CancellationRequest | null;
  readonly paused: Pause | null;
  /** Which confirmation is wanted: 1, then +1 each time that the customer tries again. */
  readonly confirmation: number;
  /** Which payment is wanted: 1, then +1 each time that a person asks for a new one. */
  readonly payment_number: number;
  /** What people decided by commands; absent while none did. */
  readonly decisions?: Decisions;
}

/** That a person stopped writes: who, why and when. */
export interface Pause {
  readonly by: string;
  readonly reason: string;
  readonly at: string;
}

export interface CancellationRequest {
  readonly requested_at: string;
  readonly by: string;
  readonly reason: string | null;
}

/** What was last seen, owned by the holder of the lease. Amounts: minor units of spec.amount.currency. */
export interface Facts {
  readonly payment: PaymentFacts;
  readonly inventory: InventoryFacts;
  readonly refunds: readonly RefundFact[];
  /** The money-out brake of the account holds a refund back; leave is asked for again at the first look after `until`. */
  readonly braked?: { readonly until: string; readonly message: string };
  /** What others changed after it had been as wanted, until it is so again; see drift.ts. */
  readonly drift?: Drift;
  /** Since when the payment of a rejected order is not as it was closed: what arrives by it goes back. */
  readonly late?: string;
  /** A step is missing, and a person has stopped all writes of the account; seen anew by each pass. */
  readonly account_paused?: Pause;
  /** A step whose effect may or may not have happened; null when a reading or an answer has settled it. */
  readonly unresolved: { readonly step: StepName; readonly target: string; readonly since: string } | null;
  /** What keeps the operation from converging; null after progress. */
  readonly failure: (Failure & { readonly step: StepName | Reader }) | null;
  /** An assertion of a person (by its time) that a reading or an answer has refuted. */
  readonly refuted?: { readonly step: StepName; readonly target: string; readonly asserted_at: string };
  readonly budget: Budget;
}

/** Failures in a row, under one spec generation and since the last fresh budget that a person gave. */
export interface Budget {
  readonly generation: number;
  /** How many fresh budgets had been given; absent: none. */
  readonly retries?: number;
  /** Which step `used` and `rejections` count; another one starts anew. */
  readonly step: StepName | null;
  /** Failed tries of effects that count against the retry limit; back to 0 by progress. */
  readonly used: number;
  /** Failed readings that count; back to 0 by a good one. */
  readonly reads: number;
  /** Answers that refuse the request as it stands; the second needs a person. */
  readonly rejections: number;
  /** The last of them; absent: none. */
  readonly refusal?: Failure;
  /** All failures, also those that are not the order's fault; sets the backoff. */
  readonly streak: number;
}

export interface InventoryFacts {
  readonly state: InventoryState;
  /** A reservation was asked for under our key, so a request that was lost may still arrive. */
  readonly requested: boolean;
  /** What is reserved, as far as the warehouse or our own request tells. */
  readonly lines: readonly Line[] | null;
  /** Spec generation whose lines the warehouse refused for want of stock. */
  readonly refused_generation: number | null;
  readonly observed_at: string | null;
}

export interface PaymentFacts {
  readonly state: PaymentState;
  readonly provider_status: string | null;
  readonly amount: number | null;
  readonly currency: string | null;
  readonly capture: 'automatic' | 'manual' | null;
  readonly payment_method: string | null;
  /** The method as we last sent it; the provider may show it under another id. Null when that is not certain. */
  readonly sent_method: string | null;
  /** Whose payment it is at the provider, which cannot be changed once it is somebody's; null: nobody's yet. Absent: not known. */
  readonly customer?: string | null;
  readonly authorized: number;
  readonly captured: number;
  readonly disputed: boolean;
  /** As they were last listed; absent while none was seen, empty where there is one and the provider shows none. */
  readonly disputes?: readonly DisputeReading[];
  /** Taken back for good by lost disputes. */
  readonly lost: number;
  readonly capture_before: string | null;
  readonly next_action: NextAction | null;
  readonly last_error: { readonly code: string; readonly message: string } | null;
  readonly charge?: string;
  readonly canceled_because: string | null;
  readonly operation_id: string | null;
  /** Another operation has this payment recorded as its own; neither can change, so this stays. */
  readonly taken_by?: string;
  /** The last confirmation (wish.confirmation) that is known to have been answered; 0 when none was. */
  readonly answered_confirmation: number;
  readonly observed_at: string | null;
}

/** Money and stock at one moment; amounts in minor units. */
export interface Holdings {
  readonly payment: PaymentState;
  readonly authorized: number;
  readonly captured: number;
  /** By refunds that have not failed. */
  readonly refunded: number;
  readonly disputed: boolean;
  readonly lost: number;
  readonly stock: InventoryState;
}

export interface Drift {
  /** When it was first seen, RFC 3339. */
  readonly since: string;
  /** Spec generation that had been reached; a newer wish ends the drift. */
  readonly generation: number;
  readonly wanted: Pick<Spec, 'desired' | 'amount' | 'lines'>;
  /** As it was recorded while it was as wanted. */
  readonly recorded: Holdings;
  /** As it was seen last. */
  readonly seen: Holdings;
}

export interface RefundFact {
  readonly refund_id: string;
  readonly amount: number;
  readonly state: RefundState;
  readonly source: 'operation' | 'cancellation' | 'external';
  readonly provider_reference: string | null;
  readonly reason: string | null;
}

export const NO_FACTS: Facts = {
  payment: {
    state: 'none',
    provider_status: null,
    amount: null,
    currency: null,
    capture: null,
    payment_method: null,
    sent_method: null,
    authorized: 0,
    captured: 0,
    disputed: false,
    lost: 0,
    capture_before: null,
    next_action: null,
    last_error: null,
    canceled_because: null,
    operation_id: null,
    answered_confirmation: 0,
    observed_at: null,
  },
  inventory: { state: 'none', requested: false, lines: null, refused_generation: null, observed_at: null },
  refunds: [],
  unresolved: null,
  failure: null,
  budget: { generation: 0, step: null, used: 0, reads: 0, rejections: 0, streak: 0 },
};

/** What is said of facts that this version cannot read: nothing is known. */
export const UNREADABLE_FACTS: Facts = { ...NO_FACTS, payment: { ...NO_FACTS.payment, state: 'unknown' } };

/**
 * A pass over facts of another version breaks off and tells a person. Whoever only looks, or takes a wish, goes on
 * without them: one such record must keep neither its own cancellation nor other records waiting.
 */
export function readable<Record extends { readonly facts: Facts }>(record: Record): Record {
  const { payment, inventory, refunds } = record.facts as Partial<Facts>;
  const isRead = typeof payment?.captured === 'number' && inventory !== undefined && Array.isArray(refunds);
  return isRead ? record : { ...record, facts: UNREADABLE_FACTS };
}

export type FinalizerName = 'payment' | 'inventory';
export interface Finalizer {
  readonly name: FinalizerName;
  readonly reason: Reason;
  readonly since: string;
}

/**
 * Synced: what is recorded is what is. Ready: what is, is what is wanted. The others are there only while they hold:
 * AuthorizationExpiring, a warning; Disputed, an inquiry, a chargeback or a lost one; Drifted, it was as wanted, the wish is
 * the same, and others made it differ; Asserted, what rests on a person's word; LeftBehind, what nobody waits for any more.
 */
export const CONDITION_TYPES = [
  'Synced',
  'Ready',
  'AuthorizationExpiring',
  'Disputed',
  'Drifted',
  'Asserted',
  'LeftBehind',
] as const;
export interface Condition {
  readonly type: (typeof CONDITION_TYPES)[number];
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: Reason;
  readonly message: string;
  readonly since: string;
  /** Spec generation that it was evaluated for. */
  readonly observed_version: number;
}

/** What follows from wish and facts; computed by nextStatus wherever either is written. */
export interface Status {
  readonly phase: Phase;
  /** The reason that best explains the phase. */
  readonly condition: Reason;
  readonly conditions: readonly Condition[];
  readonly finalizers: readonly Finalizer[];
  readonly cancelled_at: string | null;
  readonly attention: { readonly reason: Reason; readonly message: string; readonly since: string } | null;
  readonly settled_at: string | null;
  /** When time alone changes what is to be done: the payment deadline, or the end of an authorization. */
  readonly deadline_at: string | null;
  /** Spec generation that a pass has last evaluated; a new wish is ahead of it until then. */
  readonly observed_version: number;
}

export interface Operation {
  readonly operation_id: string;
  readonly account: string;
  readonly created_at: string;
  readonly generation: number;
  readonly wish: Wish;
  readonly provider_reference: string | null;
  readonly facts: Facts;
  readonly status: Status;
  /** When personal data was erased: from then on none is taken in, see personal-data.ts. Absent: it was not. */
  readonly erased_at?: string;
}

/** An operation together with its journal, as one pass works on it. */
export interface Journaled {
  readonly operation: Operation;
  /** Ordered by their sequence, oldest first. */
  readonly attempts: readonly Attempt[];
}

/** The numbers that decisions depend on; read from the configuration once. */
export interface Policy {
  readonly retry_limit: number;
  readonly backoff_base_ms: number;
  readonly backoff_max_ms: number;
  /** How often waiting and settled records are read again. */
  readonly resync_interval_ms: number;
  /** Default of spec.payment_deadline, counted from creation. */
  readonly payment_deadline_ms: number;
  /** A settled record is watched for so long: refunds fail and chargebacks arrive late. */
  readonly watch_ms: number;
  /** False: no warehouse is configured, and lines are not reserved anywhere. */
  readonly inventory: boolean;
}

/** The payment's id: recorded, or the one that is being adopted. */
export const knownReference = (operation: Operation): string | null =>
  operation.provider_reference ?? operation.wish.spec.payment.reference;

/** Of a payment that was seen; one without an id is a mismatch, for which no step is decided. */
export const referenceOf = (operation: Operation): string => knownReference(operation) ?? '';

/** What a pass knows now: facts, and the payment's identity once it is known. */
export interface Known {
  readonly facts: Facts;
  readonly provider_reference: string | null;
}

/** Amounts of an order for messages that people read. */
export const moneyOf =
  ({ wish }: Pick<Operation, 'wish'>) =>
  (value: number): string =>
    formatMoney(value, wish.spec.amount.currency);
