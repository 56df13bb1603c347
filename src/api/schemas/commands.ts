/** Commands of support staff: what is asked, what is shown before, what became of it. */
import { z } from 'zod';
import { COMMAND_NAMES, PARAMETERS, type Command, type CommandName } from '../../operation/command-rule.js';
import { OUTCOMES, STEPS } from '../../operation/attempt.js';
import { printable, ReasonText } from '../../operation/spec.js';
import { readingOf } from './journal.js';
import { REASON_NAMES } from './names.js';
import { Timestamp } from './operation.js';

/** Each command with its own parameters, and `more`; an error points at what is missing. */
export function bodyOf<More extends z.ZodRawShape>(names: readonly CommandName[], more: More) {
  const one = (name: CommandName) =>
    z.strictObject({
      command: z.literal(name),
      parameters: (PARAMETERS[name] as z.ZodObject).prefault({}),
      ...more,
    });
  const all = names.map(one) as unknown as [ReturnType<typeof one>, ...ReturnType<typeof one>[]];
  return z.discriminatedUnion('command', all, { error: `must be one of ${names.join(', ')}` });
}

export const PreviewBody = bodyOf(COMMAND_NAMES, {}) as unknown as z.ZodType<Command>;

export const ConfirmBody = z.strictObject({ preview_id: printable(64), reason: ReasonText }).meta({
  id: 'Command',
  examples: [{ preview_id: '6f9c…', reason: 'the bank confirmed the refund failed' }],
});
export type ConfirmBody = z.infer<typeof ConfirmBody>;

export const ApprovalBody = z
  .strictObject({ reason: ReasonText.nullable().default(null) })
  .meta({ id: 'Approval', examples: [{ reason: 'checked with the bank' }] });
export type ApprovalBody = z.infer<typeof ApprovalBody>;

export const Seen = z.record(z.string(), z.unknown());
export const Tried = z.strictObject({
  step: z.enum(STEPS),
  target: z.string(),
  ordinal: z.int(),
  effect_key: z.string(),
  started_at: Timestamp,
  outcome: z.enum(OUTCOMES).nullable(),
  request_id: z.string().nullable(),
});
export const Evidence = z.strictObject({
  observed: z
    .strictObject({ at: Timestamp, payment: readingOf(Seen), inventory: readingOf(Seen) })
    .describe('As provider and warehouse were read for this preview, with their own words'),
  recorded: z.strictObject({
    phase: z.string(),
    condition: z.enum(REASON_NAMES),
    attention: z.strictObject({ reason: z.string(), message: z.string() }).nullable(),
    provider_reference: z.string().nullable(),
    payment: Seen.describe('State and amounts; minor units of spec.amount.currency'),
    inventory: z.string(),
    refunds: z.array(Seen),
    observed_at: Timestamp.nullable(),
  }),
  open_attempts: z.array(Tried).describe('Calls of which it is not known whether they took effect'),
  last_attempt: Tried.nullable(),
});

const previewed = {
  preview_id: z.string(),
  resource_version: z.int().describe('The version that was previewed'),
  evidence: Evidence,
  effects: z.array(z.string()).describe('What will happen, in plain words'),
  expires_at: Timestamp,
};
export const PreviewOut = z.strictObject(previewed).meta({ id: 'CommandPreviewed' });
export type PreviewOut = z.infer<typeof PreviewOut>;

export const Outcome = z.strictObject({
  summary: z.string(),
  phase: z.string(),
  condition: z.enum(REASON_NAMES),
  attention: z.string().nullable(),
  payment: Seen,
  refunds: z.array(Seen),
  inventory: z.string(),
  attempts: z.array(Tried).describe('What was sent since'),
  observed_at: Timestamp.describe(
    'When what is told was seen; of a payment that could not be read, when it was seen last',
  ),
});

export const CommandOut = z
  .strictObject({
    ...previewed,
    operation_id: z.string(),
    command: z.enum(COMMAND_NAMES),
    parameters: Seen,
    state: z
      .enum(['awaiting_approval', 'accepted', 'observed'])
      .describe(
        'accepted: carried out, not looked at since · observed: outcome says what was seen afterwards',
      ),
    reason: z.string(),
    requested_by: z.string(),
    requested_at: Timestamp,
    approved_by: z.string().nullable(),
    approved_at: Timestamp.nullable(),
    outcome: Outcome.nullable().describe(
      'What was observed after it was carried out; send it again to see it',
    ),
  })
  .meta({ id: 'CommandState' });
export type CommandOut = z.infer<typeof CommandOut>;
