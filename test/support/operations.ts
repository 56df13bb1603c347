/** Builders that are valid by default. */
import type { Attempt } from '../../src/operation/attempt.js';
import { INITIAL_STATUS } from '../../src/operation/next-status.js';
import {
  NO_FACTS,
  type Facts,
  type Operation,
  type Policy,
  type RefundFact,
  type Wish,
} from '../../src/operation/operation.js';
import { Spec, type SpecInput } from '../../src/operation/spec.js';

export const NOW = new Date('2026-08-25T03:00:00.000Z');

export const POLICY: Policy = {
  retry_limit: 8,
  backoff_base_ms: 1_000,
  backoff_max_ms: 300_000,
  resync_interval_ms: 900_000,
  payment_deadline_ms: 86_400_000,
  watch_ms: 180 * 86_400_000,
  inventory: true,
};

type SpecPatch = Partial<Omit<SpecInput, 'payment'>> & { payment?: Partial<SpecInput['payment']> };

/** A card payment of EUR 129.00 for two packets of tea. */
export function aSpec({ payment, ...patch }: SpecPatch = {}): Spec {
  return Spec.parse({
    order_id: 'order-001',
    amount: { value: 12_900, currency: 'EUR' },
    lines: [{ sku: 'tea-500', quantity: 2 }],
    ...patch,
    payment: { provider: 'stripe', payment_method: 'pm_card_visa', ...payment },
  });
}

export const aWish = (spec: Spec = aSpec(), patch: Partial<Wish> = {}): Wish => ({
  spec,
  cancellation: null,
  paused: null,
  confirmation: 1,
  payment_number: 1,
  ...patch,
});

/** The wish after a cancellation was accepted. */
export const cancelled = (wish: Wish): Wish => ({
  ...wish,
  spec: { ...wish.spec, desired: 'cancelled' },
  cancellation: { requested_at: NOW.toISOString(), by: 'checkout', reason: null },
});

export interface FactsPatch {
  payment?: Partial<Facts['payment']>;
  inventory?: Partial<Facts['inventory']>;
  refunds?: Facts['refunds'];
  braked?: NonNullable<Facts['braked']>;
  account_paused?: NonNullable<Facts['account_paused']>;
  unresolved?: Facts['unresolved'];
  failure?: Facts['failure'];
  budget?: Partial<Facts['budget']>;
}

export const someFacts = (patch: FactsPatch = {}): Facts => ({
  ...NO_FACTS,
  ...patch,
  payment: { ...NO_FACTS.payment, ...patch.payment },
  inventory: { ...NO_FACTS.inventory, ...patch.inventory },
  budget: { ...NO_FACTS.budget, ...patch.budget },
});

export interface OperationPatch extends Partial<Omit<Operation, 'facts'>> {
  facts?: FactsPatch;
}

export const anOperation = ({ facts, ...patch }: OperationPatch = {}): Operation => ({
  operation_id: 'op-1',
  account: 'default',
  created_at: NOW.toISOString(),
  generation: 1,
  wish: aWish(),
  provider_reference: null,
  status: INITIAL_STATUS,
  ...patch,
  facts: someFacts(facts),
});

/** A refund of the caller that succeeded. */
export const aRefund = (patch: Partial<RefundFact> = {}): RefundFact => ({
  refund_id: 'r1',
  amount: 2_500,
  state: 'succeeded',
  source: 'operation',
  provider_reference: 're_1',
  reason: null,
  ...patch,
});

export const anAttempt = (patch: Partial<Attempt> = {}): Attempt => ({
  attempt_id: '1',
  step: 'confirm_payment',
  target: 'pi_1/1',
  ordinal: 1,
  effect_key: 'op_key',
  parameters: {},
  generation: 1,
  started_at: NOW.toISOString(),
  completed_at: null,
  outcome: null,
  key_spent: false,
  failure: null,
  shown: null,
  resolution: null,
  ...patch,
});
