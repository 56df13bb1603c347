/** Bodies and queries of the API. */
import { z } from 'zod';
import { MinorUnits } from '../../operation/money.js';
import { PHASES } from '../../operation/operation.js';
import {
  Account,
  DEFAULT_ACCOUNT,
  Desired,
  Line,
  OperationId,
  PaymentSpec,
  printable,
  ReasonText,
  RefundRequest,
  Spec,
} from '../../operation/spec.js';
import { REASON_NAMES } from './names.js';

const MOST_LABELS = 20;

/** Small marks for finding and grouping; nothing is decided by them. */
export const Labels = z
  .record(printable(64), printable(256))
  .refine((labels) => Object.keys(labels).length <= MOST_LABELS, {
    error: `must have at most ${MOST_LABELS} entries`,
  })
  .describe('Texts for finding and grouping; no part of the spec');

export const CreateBody = z
  .strictObject({
    operation_id: OperationId,
    account: Account.default(DEFAULT_ACCOUNT),
    labels: Labels.default({}),
    spec: Spec,
  })
  .meta({
    id: 'CreateOperation',
    examples: [
      {
        operation_id: 'ord-20260825-001',
        spec: {
          order_id: 'order-001',
          amount: { value: 12900, currency: 'EUR' },
          payment: { provider: 'stripe', payment_method: 'pm_card_visa' },
          lines: [{ sku: 'tea-500', quantity: 2 }],
        },
      },
    ],
  });
export type CreateBody = z.infer<typeof CreateBody>;

/** An RFC 7396 patch: null puts a member back to its default. What results is checked as a whole spec. */
export const PatchBody = z.looseObject({}).meta({ id: 'SpecPatch' });

/** How the patch is described to readers; the check is that of the result. */
export const PatchDescription = z
  .strictObject({
    desired: Desired,
    amount: Spec.shape.amount.partial(),
    payment: PaymentSpec.pick({
      payment_method: true,
      customer: true,
      capture: true,
      capture_amount: true,
      return_url: true,
    }).partial(),
    lines: z.array(Line),
    refunds: z
      .array(RefundRequest)
      .describe('All refunds: those that were asked for, and new ones after them'),
    payment_deadline: z.iso.datetime({ offset: true }).nullable(),
  })
  .partial()
  .meta({ id: 'SpecPatch', examples: [{ desired: 'fulfilled' }] });

export const CancelBody = z
  .strictObject({ reason: ReasonText.nullable().default(null) })
  .meta({ id: 'Cancel', examples: [{ reason: 'customer withdrew' }] });
export type CancelBody = z.infer<typeof CancelBody>;

export const RefundBody = RefundRequest.meta({
  id: 'Refund',
  examples: [{ refund_id: 'r1', amount: 2500, reason: 'damaged' }],
});

export const CaptureBody = z
  .strictObject({ amount: MinorUnits.optional().describe('Default: the whole amount of the order') })
  .meta({ id: 'Capture', examples: [{ amount: 6500 }] });
export type CaptureBody = z.infer<typeof CaptureBody>;

export const PaymentBody = z
  .strictObject({
    payment_method: PaymentSpec.shape.payment_method
      .unwrap()
      .unwrap()
      .optional()
      .describe('Default: the method that the spec has'),
  })
  .meta({ id: 'PaymentRetry', examples: [{ payment_method: 'pm_card_mastercard' }] });
export type PaymentBody = z.infer<typeof PaymentBody>;

const digits = (most: number, least: number, name: string) =>
  z
    .string()
    .regex(/^[0-9]{1,4}$/, { error: `must be a whole number of ${name}` })
    .transform(Number)
    .refine((value) => value >= least && value <= most, { error: `must be ${least} to ${most}` });

/** A proxy in between usually gives up after 60 s; half of that leaves room. */
const LONGEST_WAIT_SECONDS = 30;
export const ReadQuery = z.strictObject({
  wait: digits(LONGEST_WAIT_SECONDS, 0, 'seconds')
    .optional()
    .describe('Seconds to wait (at most 30) until the operation settles or needs someone'),
});
export type ReadQuery = z.infer<typeof ReadQuery>;

const PAGE = 50;
const LARGEST_PAGE = 200;
export const PageSize = digits(LARGEST_PAGE, 1, 'items').default(PAGE);
export const ListQuery = z.strictObject({
  phase: z.enum(PHASES).exactOptional(),
  reason: z
    .enum(REASON_NAMES)
    .exactOptional()
    .describe('Reason of the headline condition or of the attention'),
  attention: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .exactOptional()
    .describe('Only operations that need a person (without those that are snoozed), or only the others'),
  snoozed: z
    .enum(['exclude', 'include', 'only'])
    .exactOptional()
    .describe('Whether to list what is snoozed; by default excluded with attention=true, else included'),
  assignee: printable(128).exactOptional().describe('Who looks after it'),
  order_id: Spec.shape.order_id.exactOptional(),
  account: Account.exactOptional(),
  cursor: printable(512).exactOptional().describe('`next_cursor` of the page before'),
  limit: PageSize,
});
export type ListQuery = z.infer<typeof ListQuery>;
