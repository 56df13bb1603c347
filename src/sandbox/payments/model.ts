/** The records of the payments books. Amounts are in the provider's unit of the currency, times in seconds. */
import { type TestMethod } from './methods.js';

/** Which account, and which of its two worlds (live or test), a record belongs to. */
export interface Owner {
  account: string;
  livemode: boolean;
}

/** Who caused a change: a caller of the API, a person in the dashboard, or the provider itself. */
export interface Cause {
  source: 'api' | 'dashboard' | 'provider';
  requestId: string | null;
  idempotencyKey: string | null;
}

export type IntentStatus =
  | 'requires_payment_method'
  | 'requires_confirmation'
  | 'requires_action'
  | 'processing'
  | 'requires_capture'
  | 'succeeded'
  | 'canceled';

export interface PaymentMethod {
  id: string;
  owner: Owner;
  created: number;
  method: TestMethod;
}

export interface PaymentError {
  code: string;
  declineCode: string | null;
  adviceCode: string | null;
  message: string;
  chargeId: string | null;
  paymentMethod: PaymentMethod | null;
}

/** What was done to a payment, counted; the ledger sums these. */
export interface EffectCounts {
  /** Executed confirmations, whatever their outcome. */
  confirms: number;
  /** Explicit captures; an automatic capture is part of its confirmation. */
  captures: number;
  refunds: number;
  /** Cancellations, of whatever state. */
  voids: number;
}

export interface Intent {
  id: string;
  owner: Owner;
  created: number;
  amount: number;
  currency: string;
  status: IntentStatus;
  captureMethod: string;
  confirmationMethod: 'automatic' | 'manual';
  automaticMethods: { allowRedirects: 'always' | 'never' } | null;
  methodTypes: string[];
  /** As given by the caller; null: whatever the dashboard offers. */
  allowedMethodTypes: string[] | null;
  paymentMethod: PaymentMethod | null;
  customer: string | null;
  description: string | null;
  metadata: Record<string, string>;
  receiptEmail: string | null;
  setupFutureUsage: string | null;
  statementDescriptor: string | null;
  statementDescriptorSuffix: string | null;
  shipping: unknown;
  clientSecret: string;
  charges: Charge[];
  returnUrl: string | null;
  nextAction: 'redirect_to_url' | 'use_stripe_sdk' | null;
  /** With confirmation_method manual an authenticated payment waits for one more confirmation. */
  authenticated: boolean;
  lastError: PaymentError | null;
  canceledAt: number | null;
  cancellationReason: string | null;
  source: Cause['source'];
  effects: Record<Cause['source'], EffectCounts>;
  /** Every status it ever had, with its millisecond, for searches that lag. */
  statusLog: { at: number; status: IntentStatus }[];
}

export interface Charge {
  id: string;
  owner: Owner;
  created: number;
  intent: Intent;
  amount: number;
  status: 'succeeded' | 'pending' | 'failed';
  captured: boolean;
  amountCaptured: number;
  /** Authorized but given back without capture. */
  amountReleased: number;
  captureBefore: number | null;
  paymentMethod: PaymentMethod;
  error: PaymentError | null;
  authenticated: boolean;
  balanceTransaction: string | null;
  refunds: Refund[];
  disputes: Dispute[];
}

export type RefundStatus = 'pending' | 'requires_action' | 'succeeded' | 'failed' | 'canceled';

export interface Refund {
  id: string;
  owner: Owner;
  created: number;
  charge: Charge;
  amount: number;
  status: RefundStatus;
  reason: string | null;
  failureReason: string | null;
  pendingReason: string | null;
  metadata: Record<string, string>;
  balanceTransaction: string | null;
  failureBalanceTransaction: string | null;
  source: Cause['source'];
}

export interface BalanceTransaction {
  id: string;
  created: number;
  amount: number;
  fee: number;
  currency: string;
  description: string;
}

export interface Dispute {
  id: string;
  owner: Owner;
  created: number;
  charge: Charge;
  amount: number;
  reason: string;
  status: string;
  refundable: boolean;
  dueBy: number;
  balanceTransactions: BalanceTransaction[];
  metadata: Record<string, string>;
}
