/** Orders in the situations that requests meet: a test states only what it is about. EUR 100.00 unless it says so. */
import type {
  Facts,
  Operation,
  PaymentFacts,
  RefundFact,
  Status,
  Wish,
} from '../../src/operation/operation.js';
import type { OperationRecord } from '../../src/store/record.js';
import { anOperation, aSpec, aWish, NOW } from './operations.js';

/** Ten minutes after creation. */
export const LATER = new Date(NOW.getTime() + 600_000);

type SpecChanges = NonNullable<Parameters<typeof aSpec>[0]>;

export interface OrderChanges {
  readonly spec?: SpecChanges;
  readonly wish?: Partial<Omit<Wish, 'spec'>>;
  readonly payment?: Partial<PaymentFacts>;
  readonly inventory?: Partial<Facts['inventory']>;
  readonly refunds?: readonly RefundFact[];
  readonly unresolved?: Facts['unresolved'];
  readonly budget?: Partial<Facts['budget']>;
  readonly status?: Partial<Status>;
  readonly provider_reference?: string;
}

export function anOrder(changes: OrderChanges = {}): Operation {
  const { spec, wish, payment = {}, inventory = {}, refunds = [], unresolved = null, budget = {} } = changes;
  const operation = anOperation({
    wish: aWish(aSpec({ amount: { value: 10_000, currency: 'EUR' }, ...spec }), wish),
    facts: { payment, inventory, refunds, unresolved, budget },
    provider_reference: changes.provider_reference ?? null,
  });
  return { ...operation, status: { ...operation.status, ...changes.status } };
}

export const aRecord = (
  changes: OrderChanges = {},
  record: Partial<OperationRecord> = {},
): OperationRecord => ({
  ...anOrder(changes),
  resource_version: 1,
  labels: {},
  requested_by: 'checkout',
  updated_at: NOW.toISOString(),
  task: null,
  next_attempt_at: null,
  ...record,
});

/** Captured in full and not refunded. */
export const CAPTURED: Partial<PaymentFacts> = {
  state: 'captured',
  amount: 10_000,
  currency: 'EUR',
  captured: 10_000,
  answered_confirmation: 1,
  observed_at: NOW.toISOString(),
};
/** Authorized in full, to be captured by request. */
export const AUTHORIZED: Partial<PaymentFacts> = {
  state: 'authorized',
  amount: 10_000,
  currency: 'EUR',
  capture: 'manual',
  authorized: 10_000,
  answered_confirmation: 1,
  observed_at: NOW.toISOString(),
};

export const aRefund = (changes: Partial<RefundFact> = {}): RefundFact => ({
  refund_id: 'r1',
  amount: 1_000,
  state: 'succeeded',
  source: 'operation',
  provider_reference: 're_1',
  reason: null,
  ...changes,
});
