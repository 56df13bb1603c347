/** What needs a person, counted, and who looks after it. */
import { z } from 'zod';
import { Currency } from '../../operation/money.js';
import { printable } from '../../operation/spec.js';
import { AGE_BANDS } from '../../store/triage-store.js';
import { REASON_NAMES } from './names.js';
import { Timestamp } from './operation.js';

const LONGEST_NOTE = 2_000;
/** Control characters but line breaks and tabs, and what does not travel. */
const UNPRINTABLE = /[^\P{Cc}\n\t]|[\p{Zl}\p{Zp}\p{Cs}]/u;

const Note = z
  .string()
  .refine((text) => text.trim() !== '' && [...text].length <= LONGEST_NOTE, {
    error: `must have 1 to ${LONGEST_NOTE} characters`,
  })
  .refine((text) => !UNPRINTABLE.test(text), {
    error: 'must not contain control characters (but line breaks and tabs) or lone surrogates',
  });

export const TriageBody = z
  .strictObject({
    assignee: printable(128).nullable().describe('Who looks after it; null: nobody').exactOptional(),
    snooze_until: z.iso
      .datetime({ offset: true })
      .transform((text) => new Date(text).toISOString())
      .nullable()
      .describe(
        'Out of the queue until then, or until something else needs a person; null: back in the queue',
      )
      .exactOptional(),
    note: Note.describe('Added to the timeline; the same note again is added once').exactOptional(),
  })
  .meta({ id: 'TriageChange', examples: [{ assignee: 'ana', note: 'Asked the bank.' }] });
export type TriageBody = z.infer<typeof TriageBody>;

const NoteOut = z.strictObject({
  at: Timestamp,
  actor: z.strictObject({ kind: z.enum(['key', 'person', 'provider', 'system']), name: z.string() }),
  note: z.string(),
});

export const TriageOut = z
  .strictObject({
    operation_id: z.string(),
    assignee: z.string().nullable(),
    snooze_until: Timestamp.nullable(),
    snoozed: z.boolean().describe('False also when something else needs a person than was snoozed'),
    updated_at: Timestamp.nullable(),
    updated_by: z.string().nullable(),
    notes: z.array(NoteOut).describe('The latest, oldest first'),
  })
  .meta({ id: 'Triage' });
export type TriageOut = z.infer<typeof TriageOut>;

const Count = z.int().min(0);
const Money = z.record(Currency, z.int().min(0)).describe('Amounts of the orders, minor units by currency');

export const AttentionOut = z
  .strictObject({
    as_of: Timestamp,
    total: Count.describe('Operations that need a person and are not snoozed; the other counts are of these'),
    snoozed: Count,
    unassigned: Count,
    money_at_stake: Money,
    by_reason: z.array(
      z.strictObject({
        reason: z.enum(REASON_NAMES),
        count: Count,
        oldest: Timestamp.describe('Since when the oldest needs a person'),
        money_at_stake: Money,
      }),
    ),
    by_account: z.array(
      z.strictObject({ account: z.string(), count: Count, oldest: Timestamp, money_at_stake: Money }),
    ),
    by_age: z.array(z.strictObject({ age: z.enum(AGE_BANDS), count: Count, money_at_stake: Money })),
    by_assignee: z.array(z.strictObject({ assignee: z.string(), count: Count, oldest: Timestamp })),
    approvals: z
      .array(
        z.strictObject({
          about: z.enum(['operation', 'bulk', 'finding']),
          id: z.string(),
          command: z.string(),
          reason: z.string(),
          requested_by: z.string(),
          requested_at: Timestamp,
          expires_at: Timestamp,
          approve: z.string().describe('The path to POST to, as another person with the scope support_lead'),
        }),
      )
      .describe('Decisions that wait for a second person, the most urgent first, at most 100'),
  })
  .meta({ id: 'Attention' });
export type AttentionOut = z.infer<typeof AttentionOut>;
