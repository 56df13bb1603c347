/** Commands on findings: what is asked, what is shown before, what became of it. */
import { z } from 'zod';
import { FINDING_COMMANDS, FINDING_KIND_NAMES, FINDING_STATES } from '../../findings/finding.js';
import { Outcome, Seen, Tried } from './commands.js';
import { readingOf } from './journal.js';
import { Timestamp } from './operation.js';

/** None takes parameters: the payment and the operation are those of the finding. */
export const FindingPreviewBody = z
  .strictObject({
    command: z
      .enum(FINDING_COMMANDS)
      .describe(
        '`adopt_payment`: the operation that is named adopts the payment, by its own command · `refund_stray`: all that the ' +
          'payment holds goes back, or its authorization is voided · `check_provider`: it is read now · `dismiss`: nothing is to be ' +
          'done; open again when an amount or a state changes',
      ),
    parameters: z.strictObject({}).prefault({}),
  })
  .meta({ id: 'FindingPreview', examples: [{ command: 'refund_stray' }] });
export type FindingPreviewBody = z.infer<typeof FindingPreviewBody>;

const Evidence = z.strictObject({
  observed: z
    .strictObject({ at: Timestamp, payment: readingOf(Seen) })
    .describe('As the provider was read for this preview, with its own words'),
  finding: z.strictObject({
    kind: z.enum(FINDING_KIND_NAMES),
    meaning: z.string(),
    state: z.enum(FINDING_STATES),
    amount: z.int(),
    currency: z.string(),
    message: z.string(),
  }),
  recorded: z.array(Seen).describe('The operations that could have to do with the payment'),
  attempts: z.array(Tried).describe('What was sent because of this finding, with its keys'),
});

const previewed = {
  preview_id: z.string(),
  resource_version: z.int().describe('The version of the finding that was previewed'),
  evidence: Evidence,
  effects: z.array(z.string()).describe('What will happen, in plain words'),
  expires_at: Timestamp,
};
export const FindingPreviewOut = z.strictObject(previewed).meta({ id: 'FindingCommandPreviewed' });
export type FindingPreviewOut = z.infer<typeof FindingPreviewOut>;

const FindingOutcome = z.strictObject({
  summary: z.string(),
  finding_state: z.enum(FINDING_STATES),
  payment: Seen.nullable().describe('As it was read afterwards'),
  attempts: z.array(Tried).describe('What was sent for it'),
  observed_at: Timestamp,
  operation: Outcome.nullable().describe('`adopt_payment`: what was observed of the operation'),
});

export const FindingCommandOut = z
  .strictObject({
    ...previewed,
    finding_id: z.string(),
    command: z.enum(FINDING_COMMANDS),
    state: z
      .enum(['awaiting_approval', 'accepted', 'observed'])
      .describe(
        'accepted: decided, and carried out as soon as it can be · observed: outcome says what was seen afterwards',
      ),
    waits_for: z.string().nullable().describe('Why it could not go on yet'),
    reason: z.string(),
    requested_by: z.string(),
    requested_at: Timestamp,
    approved_by: z.string().nullable(),
    approved_at: Timestamp.nullable(),
    outcome: FindingOutcome.nullable().describe(
      'What was observed after it was carried out; send it again to see it',
    ),
  })
  .meta({ id: 'FindingCommandState' });
export type FindingCommandOut = z.infer<typeof FindingCommandOut>;
