/** Bulk commands: what is frozen, and how far it is carried out. */
import { z } from 'zod';
import { BULK_COMMANDS, MOST_OPERATIONS, STOP_AFTER_FAILURES } from '../../operation/bulk.js';
import { COMMAND_NAMES, type Command } from '../../operation/command-rule.js';
import { OperationId, printable, ReasonText } from '../../operation/spec.js';
import { bodyOf, Evidence, Outcome, Seen } from './commands.js';
import { Timestamp } from './operation.js';

/** Ids of previews are ours; whatever else is sent is no such id. */
export const BulkId = printable(64);

const OperationIds = z
  .array(OperationId)
  .min(1)
  .max(MOST_OPERATIONS)
  .superRefine((ids, context) => {
    const seen = new Set<string>();
    for (const [at, id] of ids.entries()) {
      if (seen.has(id)) context.addIssue({ code: 'custom', path: [at], message: 'is listed twice' });
      seen.add(id);
    }
  })
  .describe(`1 to ${MOST_OPERATIONS} different operations, one by one: there is no "all that match"`);

export const BulkPreviewBody = bodyOf(BULK_COMMANDS, { operation_ids: OperationIds }) as unknown as z.ZodType<
  Command & { readonly operation_ids: readonly string[] }
>;

export const BulkConfirmBody = z
  .strictObject({
    bulk_id: BulkId,
    reason: ReasonText,
    stop_after_failures: z
      .int()
      .min(1)
      .max(MOST_OPERATIONS)
      .default(STOP_AFTER_FAILURES)
      .describe('So many rows that are refused or fail end it; the others are not run'),
  })
  .meta({ id: 'BulkCommand', examples: [{ bulk_id: '6f9c…', reason: 'the warehouse is back' }] });
export type BulkConfirmBody = z.infer<typeof BulkConfirmBody>;

export const BulkQuery = z.strictObject({
  evidence: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .default(false)
    .describe('With what was read for each row when it was previewed'),
});
export type BulkQuery = z.infer<typeof BulkQuery>;

const Moved = {
  amount: z.int().describe('Minor units of `currency` that it may move'),
  currency: z.string(),
};
const Previewed = z.strictObject({
  operation_id: z.string(),
  preview_id: z.string(),
  effects: z.array(z.string()).describe('What will happen to this one, in plain words'),
  ...Moved,
});
const frozen = {
  bulk_id: z.string(),
  excluded: z.array(z.strictObject({ operation_id: z.string(), why: z.string() })),
  totals: z.array(z.strictObject({ ...Moved, operations: z.int() })).describe('Of the rows, by currency'),
  approval_needed: z.boolean().describe('A second person with the scope support_lead has to approve it'),
  expires_at: Timestamp,
};
export const BulkPreviewOut = z
  .strictObject({ ...frozen, rows: z.array(Previewed) })
  .meta({ id: 'BulkCommandPreviewed' });
export type BulkPreviewOut = z.infer<typeof BulkPreviewOut>;

export const ROW_STATES = ['waiting', 'done', 'refused', 'not_run'] as const;
const Row = Previewed.extend({
  state: z
    .enum(ROW_STATES)
    .describe(
      'done: carried out; outcome says what was seen afterwards · refused: looked at again, and not carried out · not_run: ended before',
    ),
  failed: z.boolean().describe('Counts for stop_after_failures'),
  outcome: Outcome.nullable(),
  code: z.string().nullable().describe('Of the refusal, as a single command would have been answered'),
  why: z.string().nullable(),
  changes: z.array(z.strictObject({ what: z.string(), before: z.unknown(), after: z.unknown() })),
  evidence: Evidence.exactOptional(),
});
export const BulkOut = z
  .strictObject({
    ...frozen,
    command: z.enum(COMMAND_NAMES),
    parameters: Seen,
    state: z.enum(['previewed', 'awaiting_approval', 'running', 'ended']),
    stopped: z
      .enum(['failures', 'expired'])
      .nullable()
      .describe('Why it ended before all rows were begun: too many failures, or too late'),
    rows: z.array(Row),
    counts: z.strictObject({
      waiting: z.int(),
      done: z.int(),
      refused: z.int(),
      not_run: z.int(),
      failed: z.int().describe('Of those done and refused'),
    }),
    previewed_by: z.string(),
    reason: z.string().nullable(),
    stop_after_failures: z.int().nullable(),
    requested_by: z.string().nullable(),
    requested_at: Timestamp.nullable(),
    approved_by: z.string().nullable(),
    approved_at: Timestamp.nullable(),
    approval: z.string().nullable().describe('What the second person said'),
    ended_at: Timestamp.nullable(),
  })
  .meta({ id: 'BulkCommandState' });
export type BulkOut = z.infer<typeof BulkOut>;
