/** What was read of the world, in our words. Adapters map the provider's answers to these types, totally. */
import type { Failure } from './failure.js';

/**
 * One look at something outside. `absent` is knowledge (it was looked for and is not there);
 * `unknown` is not, and must never overwrite knowledge.
 */
export type Reading<T> =
  | { readonly kind: 'present'; readonly value: T }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unknown'; readonly failure: Failure };

/**
 * The provider's last word on the payment. `created`: exists, no money asked for yet. `failed`: the last
 * confirmation was declined, another may follow. `unknown`: a status this version does not know.
 */
export const PAYMENT_STATES = [
  'none',
  'created',
  'awaiting_customer',
  'processing',
  'authorized',
  'captured',
  'failed',
  'canceled',
  'unknown',
] as const;
export type PaymentState = (typeof PAYMENT_STATES)[number];

/** A payment as read from the provider. Amounts: ISO 4217 minor units of `currency`. */
export interface PaymentReading {
  readonly reference: string;
  readonly state: Exclude<PaymentState, 'none'>;
  /** The provider's own status word, kept as evidence. */
  readonly provider_status: string;
  readonly amount: number;
  readonly currency: string;
  /** Null where the provider does not say. */
  readonly capture: 'automatic' | 'manual' | null;
  readonly payment_method: string | null;
  /** Null: it has none. Absent where not told. */
  readonly customer?: string | null;
  /** Approved and not yet captured, voided or lapsed. */
  readonly authorized: number;
  /** Gross, never lowered by refunds. */
  readonly captured: number;
  /** All refunds of this payment, whoever made them; null when they were not asked for. */
  readonly refunds: readonly RefundReading[] | null;
  /** A dispute stands against refunds now: open, lost, or won without the provider allowing refunds again. */
  readonly disputed: boolean;
  /** All of this payment, whatever became of them; absent where they were not read, empty where none is shown to us. */
  readonly disputes?: readonly DisputeReading[];
  /** Taken back for good by lost disputes; absent where there was none. */
  readonly lost?: number;
  /** RFC 3339; until when an authorization can be captured. */
  readonly capture_before: string | null;
  readonly next_action: NextAction | null;
  /** Why the last confirmation did not succeed. */
  readonly last_error: { readonly code: string; readonly message: string } | null;
  /** Id of the last try to take the money; another one means that the bank was asked again. Absent where not told. */
  readonly charge?: string;
  /** Why the payment was canceled; `expired` and `automatic` are the provider's own doing. */
  readonly canceled_because: string | null;
  /** `metadata.operation_id`, null when the payment does not carry one. */
  readonly operation_id: string | null;
  readonly livemode: boolean | null;
}

/**
 * `inquiry`: the bank asks, and no money has moved. `open`: the money is withdrawn until it is decided. `won`: it is back, or
 * was never taken. `lost`: it is gone for good.
 */
export type DisputeState = 'inquiry' | 'open' | 'won' | 'lost';

export interface DisputeReading {
  readonly reference: string;
  readonly amount: number;
  readonly state: DisputeState;
}

/** What the customer must do. The address may carry a secret, for the customer's browser only. */
export interface NextAction {
  readonly type: string;
  readonly redirect_url: string | null;
}

/** As it may be kept and shown beyond the customer: without the address of their page. */
export const withoutPage = (payment: PaymentReading): PaymentReading =>
  payment.next_action === null
    ? payment
    : { ...payment, next_action: { ...payment.next_action, redirect_url: null } };

export type RefundState = 'requested' | 'pending' | 'requires_action' | 'succeeded' | 'failed' | 'canceled';

export interface RefundReading {
  readonly reference: string;
  /** `metadata.refund_id`; null on a refund made outside. */
  readonly refund_id: string | null;
  readonly operation_id: string | null;
  readonly amount: number;
  readonly state: Exclude<RefundState, 'requested'>;
  /** The provider's failure or pending reason. */
  readonly reason: string | null;
}

export const INVENTORY_STATES = [
  'none',
  'reserved',
  'committed',
  'released',
  'insufficient',
  'unknown',
] as const;
export type InventoryState = (typeof INVENTORY_STATES)[number];

/** A reservation as read from the warehouse; `insufficient` is known only from the answer to our own request. */
export interface ReservationReading {
  readonly state: 'reserved' | 'committed' | 'released' | 'insufficient';
  readonly lines: readonly { readonly sku: string; readonly quantity: number }[] | null;
}

/** What one pass saw, before deciding. `at`: RFC 3339, when the looking was done. */
export interface Observation {
  readonly payment: Reading<PaymentReading>;
  readonly inventory: Reading<ReservationReading>;
  readonly at: string;
}

/** Whether this pass could read each side; without a reading nothing that depends on it is written. */
export interface Seen {
  readonly payment: boolean;
  readonly inventory: boolean;
}

/** For decisions about what is recorded, as the API shows them. */
export const ALL_SEEN: Seen = { payment: true, inventory: true };
