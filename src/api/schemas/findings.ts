/** What the two-sided sweep found. */
import { z } from 'zod';
import {
  type FindingCommand,
  FINDING_KIND_NAMES,
  FINDING_KINDS,
  FINDING_STATES,
} from '../../findings/finding.js';
import type { CommandName } from '../../operation/command-rule.js';
import { Account, printable } from '../../operation/spec.js';
import { Timestamp } from './operation.js';
import { PageSize } from './requests.js';

export const FindingsQuery = z.strictObject({
  kind: z.enum(FINDING_KIND_NAMES).exactOptional(),
  account: Account.exactOptional(),
  state: z.enum(FINDING_STATES).default('open').describe('Resolved ones are those whose reason is gone'),
  cursor: printable(512).exactOptional().describe('`next_cursor` of the page before'),
  limit: PageSize,
});
export type FindingsQuery = z.infer<typeof FindingsQuery>;

/** Of what could be done about a finding, what `POST …/commands` takes. */
export const SuggestedCommand = z.enum([
  'adopt_payment',
  'check_provider',
] as const satisfies readonly (FindingCommand & CommandName)[]);

const Side = z.record(z.string(), z.unknown()).nullable();

export const FindingOut = z
  .strictObject({
    finding_id: z.string(),
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
    suggested_command: SuggestedCommand.nullable().describe(
      'A command of the operation that is named; null: there is none, and a person decides. Nothing is done by itself',
    ),
    first_seen_at: Timestamp,
    last_seen_at: Timestamp,
    resolved_at: Timestamp.nullable(),
  })
  .meta({ id: 'Finding' });
export type FindingOut = z.infer<typeof FindingOut>;

export const FindingList = z
  .strictObject({ items: z.array(FindingOut), next_cursor: z.string().nullable() })
  .meta({ id: 'FindingList' });
export type FindingList = z.infer<typeof FindingList>;
