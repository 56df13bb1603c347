/** What another person needs to go on with an operation. */
import { z } from 'zod';
import { OUTCOMES, RESOLUTIONS, STEPS } from '../../operation/attempt.js';
import { FAILURE_CLASSES } from '../../operation/failure.js';
import { ACTS, type Act } from '../../operation/guidance.js';
import { INVENTORY_STATES, PAYMENT_STATES } from '../../operation/observation.js';
import { PHASES } from '../../operation/operation.js';
import { COMMAND_NAMES } from '../../operation/command-rule.js';
import { REASON_NAMES } from './names.js';
import { Timestamp } from './operation.js';

const Amount = z.int().describe('Minor units of intent.amount.currency');
const ReasonWord = z.enum(REASON_NAMES);
const ActWord = z.enum(Object.keys(ACTS) as [Act, ...Act[]]);

export const HandoverOut = z
  .strictObject({
    operation_id: z.string(),
    as_of: Timestamp,
    resource_version: z.int(),
    account: z.string(),
    phase: z.enum(PHASES),
    reason: ReasonWord.describe('Why it needs a person, or what best explains the phase'),
    message: z.string(),
    since: Timestamp.nullable(),
    needs_person: z.boolean(),
    intent: z.strictObject({
      order_id: z.string(),
      desired: z.string(),
      amount: z.strictObject({ value: z.int(), currency: z.string() }),
      capture: z.string(),
      refunds: z.array(z.strictObject({ refund_id: z.string(), amount: Amount })),
      requested_by: z.string(),
      requested_at: Timestamp,
      cancellation: z
        .strictObject({ requested_at: Timestamp, by: z.string(), reason: z.string().nullable() })
        .nullable(),
      paused: z.strictObject({ by: z.string(), reason: z.string(), at: Timestamp }).nullable(),
    }),
    observed: z.strictObject({
      payment: z.strictObject({
        reference: z.string().nullable(),
        state: z.enum(PAYMENT_STATES),
        authorized: Amount,
        captured: Amount,
        refunded: Amount,
        refundable: Amount,
        disputed: z.boolean(),
        at: Timestamp.nullable(),
      }),
      inventory: z.strictObject({ state: z.enum(INVENTORY_STATES), at: Timestamp.nullable() }),
      money_moved: z.enum(['none', 'moved', 'unknown']),
    }),
    checkpoint: z
      .strictObject({ at: Timestamp, what: z.string() })
      .nullable()
      .describe('The last effect that is known to have happened'),
    uncertain: z.array(
      z.strictObject({ what: z.string(), since: Timestamp.nullable(), effect_key: z.string().nullable() }),
    ),
    failure: z
      .strictObject({
        step: z.string(),
        class: z.enum(FAILURE_CLASSES),
        code: z.string(),
        message: z.string(),
        request_id: z.string().nullable(),
        meaning: z.string(),
        by_itself: z.string(),
        see: z.string(),
      })
      .nullable(),
    attempts: z
      .array(
        z.strictObject({
          step: z.enum(STEPS),
          target: z.string(),
          ordinal: z.int(),
          effect_key: z.string(),
          started_at: Timestamp,
          completed_at: Timestamp.nullable(),
          outcome: z.enum(OUTCOMES).nullable(),
          code: z.string().nullable(),
          request_id: z.string().nullable(),
          resolution: z.enum(RESOLUTIONS).nullable(),
        }),
      )
      .describe('The latest, oldest first'),
    tried: z
      .array(z.strictObject({ at: Timestamp, by: z.string(), what: z.string() }))
      .describe('What callers and people asked for; the latest, oldest first'),
    by_itself: z.strictObject({
      what: z.string(),
      step: z.enum(STEPS).nullable().describe('The next step, if the next reading shows the same'),
      next_look_at: Timestamp.nullable(),
    }),
    safe_next: z
      .array(
        z.strictObject({
          act: ActWord,
          how: z.string(),
          available: z.boolean(),
          why_not: z.string().nullable(),
          moves_money: z.boolean(),
        }),
      )
      .describe('The safest first'),
    avoid: z.array(z.string()),
    commands: z.array(
      z.strictObject({ name: z.enum(COMMAND_NAMES), available: z.boolean(), why_not: z.string().nullable() }),
    ),
    triage: z.strictObject({
      assignee: z.string().nullable(),
      snooze_until: Timestamp.nullable(),
      notes: z.array(z.strictObject({ at: Timestamp, by: z.string(), note: z.string() })),
    }),
    see: z.array(z.string()).describe('Pages of this service that explain'),
  })
  .meta({ id: 'Handover' });
export type HandoverOut = z.infer<typeof HandoverOut>;
