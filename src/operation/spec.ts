/** What is wanted of an order: the caller's part of the record. Its zod schema is the only definition. */
import { z } from 'zod';
import { MinorUnits, Money } from './money.js';

/** Control characters, line and paragraph separators, lone surrogates: they do not print or do not travel. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u;

const codePoints = (text: string): number => [...text].length;

/** Text of `min`–`max` code points that survives a URL, Postgres, the queue and the provider's metadata. */
export const printable = (max: number) =>
  z
    .string()
    .refine((text) => text.length > 0 && codePoints(text) <= max, {
      error: `must have 1 to ${max} characters`,
    })
    .refine((text) => !UNPRINTABLE.test(text), {
      error: 'must not contain control characters or lone surrogates',
    });

/** `.` and `..` would be taken as path segments by clients and proxies. */
export const OperationId = printable(128)
  .refine((id) => id !== '.' && id !== '..', { error: 'must not be "." or ".."' })
  .describe('The stable key of the operation, chosen by the caller; compared code point by code point');

/** What an operation belongs to that names no account. */
export const DEFAULT_ACCOUNT = 'default';

/** As it may stand in a URL and in a metric's label. */
export const Account = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, {
    error: 'must be an account name: lower-case letters, digits, "-" and "_"',
  })
  .describe('Name of the provider account');

/** Ids that we or the provider give out, so that a caller's id is never taken for one of them. */
const RESERVED_REFUND_ID = /^(cancellation|re_)/;

export const RefundId = printable(64)
  .refine((id) => !RESERVED_REFUND_ID.test(id), { error: 'must not begin with "cancellation" or "re_"' })
  .describe("The caller's stable id of a refund");

/** The provider's metadata values hold 500 characters; a reason is shown to people and stays below that. */
export const ReasonText = printable(400);

export const RefundRequest = z.strictObject({
  refund_id: RefundId,
  amount: MinorUnits,
  reason: ReasonText.nullable().default(null),
});
export type RefundRequest = z.infer<typeof RefundRequest>;

export const Line = z.strictObject({
  sku: printable(128),
  quantity: z.int().min(1).max(1_000_000).describe('Units wanted'),
});
export type Line = z.infer<typeof Line>;

/** Lines that the warehouse does not tell cannot differ; nor does the order or the splitting of a sku. */
export const sameLines = (held: readonly Line[] | null, wanted: readonly Line[]): boolean =>
  held === null || isSameList(held, wanted) || sameMap(quantities(held), quantities(wanted));

/** As a rule, and asked many times an order. */
const isSameList = (held: readonly Line[], wanted: readonly Line[]): boolean =>
  held.length === wanted.length &&
  held.every(({ sku, quantity }, at) => sku === wanted[at]?.sku && quantity === wanted[at].quantity);

const quantities = (lines: readonly Line[]): ReadonlyMap<string, number> =>
  lines.reduce(
    (bySku, { sku, quantity }) => bySku.set(sku, (bySku.get(sku) ?? 0) + quantity),
    new Map<string, number>(),
  );
const sameMap = (a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): boolean =>
  a.size === b.size && [...a].every(([sku, quantity]) => b.get(sku) === quantity);

const uniqueSkus = (lines: readonly Line[]): boolean =>
  new Set(lines.map((l) => l.sku)).size === lines.length;

/** A provider's id as a caller may hand it in; the adapter checks that it exists and belongs here. */
const ProviderId = z
  .string()
  // It begins with a letter, so that the number of a card is never taken for one, stored and sent.
  .regex(/^[A-Za-z][A-Za-z0-9_-]{0,254}$/, { error: 'must be an id of the provider' });

const HttpUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .max(2048)
  .refine((text) => !UNPRINTABLE.test(text), {
    error: 'must not contain control characters or lone surrogates',
  });

const YEAR_0 = Date.parse('0000-01-01T00:00:00Z');
const YEAR_10000 = Date.parse('9999-12-31T23:59:59.999Z') + 1;

export const Desired = z.enum(['authorized', 'fulfilled', 'cancelled']);

export const PaymentSpec = z.strictObject({
  provider: z.literal('stripe'),
  capture: z.enum(['automatic', 'manual']).default('automatic'),
  payment_method: ProviderId.nullable().default(null),
  customer: ProviderId.nullable().default(null),
  reference: z
    .string()
    .regex(/^pi_[A-Za-z0-9_]{1,252}$/, { error: 'must be the id of a PaymentIntent (pi_…)' })
    .nullable()
    .default(null)
    .describe('Adopt this payment, made by the front end'),
  capture_amount: MinorUnits.nullable().default(null),
  return_url: HttpUrl.nullable().default(null),
  off_session: z.boolean().default(false),
});

export const Spec = z.strictObject({
  desired: Desired.default('fulfilled'),
  order_id: printable(128),
  amount: Money,
  payment: PaymentSpec,
  lines: z.array(Line).max(200).refine(uniqueSkus, { error: 'each sku may appear once' }).default([]),
  refunds: z.array(RefundRequest).max(100).default([]),
  payment_deadline: z.iso
    .datetime({ offset: true })
    // Beyond that, its UTC form could not be read back.
    .refine((text) => !(Date.parse(text) < YEAR_0 || Date.parse(text) >= YEAR_10000), {
      error: 'must be in the years 0 to 9999',
    })
    .transform((text) => new Date(text).toISOString())
    .nullable()
    .default(null)
    .describe('RFC 3339; null means the configured default after creation'),
});
export type Spec = z.infer<typeof Spec>;
/** The spec as a caller may send it, before defaults. */
export type SpecInput = z.input<typeof Spec>;
