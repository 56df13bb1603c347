/** What the two-sided sweep found. */
import { z } from 'zod';
import {
  FINDING_COMMANDS,
  FINDING_KIND_NAMES,
  FINDING_KINDS,
  FINDING_STATES,
} from '../../findings/finding.js';
import { Account, printable } from '../../operation/spec.js';
import { Timestamp } from './operation.js';
import { PageSize } from './requests.js';

export const FindingsQuery = z.strictObject({
  kind: z.enum(FINDING_KIND_NAMES).exactOptional(),
  account: Account.exactOptional(),
  state: z
    .enum(FINDING_STATES)
    .default('open')
    .describe('dismissed: a person said that nothing is to be done · resolved: its reason is gone'),
  cursor: printable(512).exactOptional().describe('`next_cursor` of the page before'),
  limit: PageSize,
});
export type FindingsQuery = z.infer<typeof FindingsQuery>;

const Side = z.record(z.string(), z.unknown()).nullable();

export const FindingOut = z
  .strictObject({
    finding_id: z.string(),
    resource_version: z.int().describe('+1 with each change'),
    kind: z.enum(FINDING_KIND_NAMES).describe(
      Object.entries(FINDING_KINDS)
        .map(([kind, text]) => `\`${kind}\`: ${text}`)
        .join(' '),
    ),
    account: z.string(),
    state: z.enum(FINDING_STATES),
    provider_reference: z.string().describe('The payment that it is about'),
    operation_id: z.string().nullable().describe('The operation that the payment names or belongs to'),
    amount: z
      .strictObject({ value: z.int().nonnegative(), currency: z.string() })
      .describe('What is at stake'),
    message: z.string(),
    evidence: z
      .strictObject({ provider: Side, recorded: Side, proof: z.record(z.string(), z.unknown()).optional() })
      .describe('Facts of both sides as last seen; null: that side has nothing'),
    suggested_command: z
      .enum(FINDING_COMMANDS)
      .describe('What most often helps; its preview says whether it can be done. Nothing is done by itself'),
    first_seen_at: Timestamp,
    last_seen_at: Timestamp,
    resolved_at: Timestamp.nullable(),
    dismissed: z
      .strictObject({ by: z.string(), reason: z.string(), at: Timestamp })
      .nullable()
      .describe('Who said that nothing is to be done, while it is dismissed'),
    last_command: z
      .strictObject({
        preview_id: z.string(),
        command: z.enum(FINDING_COMMANDS),
        state: z.enum(['awaiting_approval', 'accepted', 'observed']),
        reason: z.string(),
        requested_by: z.string(),
        requested_at: Timestamp,
        approved_by: z.string().nullable(),
        waits_for: z.string().nullable(),
        outcome: z.string().nullable(),
      })
      .nullable()
      .describe('What somebody last decided about it, and what was observed afterwards'),
  })
  .meta({ id: 'Finding' });
export type FindingOut = z.infer<typeof FindingOut>;

export const FindingList = z
  .strictObject({ items: z.array(FindingOut), next_cursor: z.string().nullable() })
  .meta({ id: 'FindingList' });
export type FindingList = z.infer<typeof FindingList>;
