/** The public form of an operation. Every member is always there; what is not known is null. */
import { z } from 'zod';
import { STEPS } from '../../operation/attempt.js';
import { INVENTORY_STATES, PAYMENT_STATES } from '../../operation/observation.js';
import { COMMAND_NAMES } from '../../operation/command-rule.js';
import { VERDICTS } from '../../operation/decisions.js';
import { CONDITION_TYPES, PHASES } from '../../operation/operation.js';
import { OperationId, Spec } from '../../operation/spec.js';
import { REASON_NAMES } from './names.js';

export const Timestamp = z.iso.datetime().describe('RFC 3339, UTC');
const ReasonWord = z.enum(REASON_NAMES);
const Amount = z.int().min(0).describe('Minor units of spec.amount.currency');

const Metadata = z.strictObject({
  account: z.string(),
  generation: z.int().min(1).describe('+1 on each change of the spec'),
  resource_version: z.int().min(1).describe('+1 on each change that a reader sees; the ETag'),
  labels: z.record(z.string(), z.string()),
  requested_by: z.string().describe('Name of the API key that created it'),
  created_at: Timestamp,
  updated_at: Timestamp,
  paused: z.strictObject({ by: z.string(), reason: z.string(), at: Timestamp }).nullable(),
  closed: z
    .strictObject({
      verdict: z.enum(VERDICTS),
      by: z.string(),
      reason: z.string(),
      at: Timestamp,
    })
    .nullable(),
});

const Payment = z.strictObject({
  state: z.enum(PAYMENT_STATES),
  authorized: Amount.describe('Approved on the living payment; 0 after void or expiry'),
  captured: Amount.describe('Gross: refunds do not lower it'),
  refunded: Amount.describe('Refunds that succeeded'),
  refund_pending: Amount.describe('Refunds accepted here or at the provider and not final'),
  refundable: Amount,
  short: Amount.describe('Wanted, not captured, and no longer capturable'),
  disputed: z.boolean(),
  capture_before: Timestamp.nullable(),
  next_action: z.strictObject({ type: z.string(), redirect_url: z.string().nullable() }).nullable(),
  observed_at: Timestamp.nullable(),
});

const Refund = z.strictObject({
  refund_id: z.string(),
  amount: Amount,
  state: z.enum(['requested', 'pending', 'requires_action', 'succeeded', 'failed', 'canceled']),
  source: z.enum(['operation', 'cancellation', 'external']),
  provider_reference: z.string().nullable(),
  reason: z.string().nullable(),
});

const Condition = z.strictObject({
  type: z.enum(CONDITION_TYPES),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: ReasonWord,
  message: z.string(),
  since: Timestamp,
  observed_version: z.int().min(0),
});

const Cancellation = z.strictObject({
  requested_at: Timestamp,
  completed_at: Timestamp.nullable(),
  finalizers: z.array(
    z.strictObject({ name: z.enum(['payment', 'inventory']), reason: ReasonWord, since: Timestamp }),
  ),
});

const Attention = z.strictObject({
  reason: ReasonWord,
  message: z.string(),
  since: Timestamp,
  commands: z.array(
    z.strictObject({ name: z.enum(COMMAND_NAMES), available: z.boolean(), why_not: z.string().nullable() }),
  ),
});

const Status = z.strictObject({
  phase: z.enum(PHASES),
  condition: ReasonWord,
  observed_version: z.int().min(0).describe('Generation that was last fully evaluated'),
  provider_reference: z.string().nullable(),
  next_attempt_at: Timestamp.nullable(),
  task: z.enum(STEPS).nullable().describe('The step in progress'),
  payment: Payment,
  inventory: z.strictObject({ state: z.enum(INVENTORY_STATES), observed_at: Timestamp.nullable() }),
  refunds: z.array(Refund),
  conditions: z.array(Condition),
  cancellation: Cancellation.nullable(),
  retry_budget: z.strictObject({ limit: z.int(), used: z.int() }),
  money_moved: z.strictObject({
    verdict: z.enum(['none', 'moved', 'unknown']),
    amount: Amount.nullable().describe('Captured minus refunded and lost to disputes; null when unknown'),
    as_of: Timestamp.nullable(),
  }),
  attention: Attention.nullable(),
});

/** The spec as it leaves: times are normalised already. */
const SpecOut = Spec.extend({ payment_deadline: Timestamp.nullable() });

export const OperationOut = z
  .strictObject({ operation_id: OperationId, metadata: Metadata, spec: SpecOut, status: Status })
  .meta({ id: 'Operation' });
export type OperationOut = z.infer<typeof OperationOut>;

export const OperationList = z
  .strictObject({ items: z.array(OperationOut), next_cursor: z.string().nullable() })
  .meta({ id: 'OperationList' });
export type OperationList = z.infer<typeof OperationList>;
