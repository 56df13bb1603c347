/** Provider accounts as people see and stop them. */
import { z } from 'zod';
import { STEPS } from '../../operation/attempt.js';
import { Currency } from '../../operation/money.js';
import { ReasonText } from '../../operation/spec.js';
import { Timestamp } from './operation.js';

const ByCurrency = z.record(Currency, z.int().min(0)).describe('Minor units by currency');

export const AccountOut = z
  .strictObject({
    account: z.string(),
    configured: z.boolean().describe('This process has its key'),
    identity: z.strictObject({
      state: z
        .enum(['verified', 'unverified', 'not_contacted'])
        .describe(
          'verified: pinned at first contact, and another one stops the account · unverified: the provider does not tell, as to a restricted key · not_contacted: no call was made yet',
        ),
      provider_account: z.string().nullable(),
      livemode: z.boolean().nullable().describe('Null: the provider does not tell'),
      since: Timestamp.nullable(),
    }),
    breaker: z.strictObject({
      state: z.enum(['closed', 'open']).describe('open: nothing works, a probe now and then'),
      reason: z
        .enum(['outage', 'refused', 'wrong_account'])
        .nullable()
        .describe('refused, wrong_account: until the key is repaired; then by itself'),
      message: z.string().nullable(),
      since: Timestamp.nullable(),
    }),
    steps_out: z
      .array(
        z.strictObject({
          step: z.enum(STEPS),
          reason: z.enum(['outage', 'refused']),
          message: z.string(),
          since: Timestamp,
        }),
      )
      .describe('Calls that the account does not take although it answers; orders that need them wait'),
    throttled_until: Timestamp.nullable().describe('As the provider asked'),
    rate: z
      .number()
      .nullable()
      .describe('Orders a second that are worked on while the account is let go little by little; null: all'),
    refund_brake: z.strictObject({
      limits: z.strictObject({ refunds: z.int(), amounts: ByCurrency }),
      used: z.strictObject({ refunds: z.int(), amounts: ByCurrency }).describe('Within the last hour'),
      met_at: Timestamp.nullable().describe('When a refund last had to wait'),
    }),
    paused: z.strictObject({ by: z.string(), reason: z.string(), at: Timestamp }).nullable(),
    writes_under_way: z
      .int()
      .describe('Calls that were begun and are not answered; after a pause those that may still take effect'),
    events: z
      .array(
        z.strictObject({
          at: Timestamp,
          type: z.enum(['paused', 'resumed']),
          actor: z.strictObject({ kind: z.enum(['key', 'person', 'provider', 'system']), name: z.string() }),
          reason: z.string(),
        }),
      )
      .describe('The latest, newest first'),
  })
  .meta({ id: 'Account' });
export type AccountOut = z.infer<typeof AccountOut>;

export const AccountList = z.strictObject({ items: z.array(AccountOut) }).meta({ id: 'AccountList' });
export type AccountList = z.infer<typeof AccountList>;

export const AccountSwitch = z
  .strictObject({ reason: ReasonText })
  .meta({ id: 'AccountSwitch', examples: [{ reason: 'prices of the new season are wrong' }] });
export type AccountSwitch = z.infer<typeof AccountSwitch>;
