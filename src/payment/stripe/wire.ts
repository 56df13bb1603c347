/**
 * The parts of Stripe's objects that this service reads. What decides about money must have the right type, else the
 * whole object is refused; what is only shown to people may be missing or odd.
 */
import { z } from 'zod';
import type { Failure } from '../../operation/failure.js';
import { safeText } from './redact.js';

/** In Stripe's unit of the currency. */
const Amount = z.int().nonnegative();
/** Servers leave members out, and Stripe sends null. */
const maybe = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? null);
const shown = <T extends z.ZodType>(schema: T) =>
  schema
    .nullish()
    .catch(null)
    .transform((value) => value ?? null);
const Metadata = maybe(z.record(z.string(), z.unknown()));
const Currency = z.string().regex(/^[A-Za-z]{3}$/);
/** An id, or the object itself where it was expanded. */
const idOf = z.union([z.string(), z.object({ id: z.string() }).transform((object) => object.id)]);

export const WireCharge = z.object({
  id: z.string().regex(/^(ch|py)_/),
  object: z.literal('charge'),
  amount: Amount,
  amount_captured: maybe(Amount),
  amount_refunded: maybe(Amount),
  captured: maybe(z.boolean()),
  refunded: maybe(z.boolean()),
  disputed: maybe(z.boolean()),
  payment_method_details: shown(z.record(z.string(), z.unknown())),
});
export type WireCharge = z.output<typeof WireCharge>;

export const WirePayment = z.object({
  id: z.string().regex(/^pi_/),
  object: z.literal('payment_intent'),
  status: z.string().min(1),
  amount: Amount,
  currency: Currency,
  amount_received: maybe(Amount),
  amount_capturable: maybe(Amount),
  capture_method: shown(z.string()),
  payment_method: shown(idOf),
  /** Here null is a statement (it has none) and a missing member is none. */
  customer: idOf.nullish().catch(undefined),
  latest_charge: maybe(z.union([z.string(), WireCharge])),
  metadata: Metadata,
  livemode: maybe(z.boolean()),
  cancellation_reason: shown(z.string()),
  last_payment_error: shown(
    z.object({ code: shown(z.string()), decline_code: shown(z.string()), message: shown(z.string()) }),
  ),
  next_action: shown(z.looseObject({ type: z.string() })),
});
export type WirePayment = z.output<typeof WirePayment>;

/** In a list of the account's payments, where the time of creation places it. */
export const WireListedPayment = WirePayment.extend({
  /** Seconds since 1970 that a four-digit year can hold. */
  created: z.int().nonnegative().max(253_402_300_799),
});
export type WireListedPayment = z.output<typeof WireListedPayment>;

/** Only for the route that hands the secret on; what is read for any other purpose leaves it out. */
export const WirePaymentWithSecret = WirePayment.extend({ client_secret: shown(z.string().min(1)) });
export type WirePaymentWithSecret = z.output<typeof WirePaymentWithSecret>;

export const WireRefund = z.object({
  id: z.string().regex(/^(re|pyr)_/),
  object: z.literal('refund'),
  amount: Amount,
  currency: maybe(Currency),
  status: maybe(z.string()),
  payment_intent: maybe(idOf),
  charge: maybe(idOf),
  metadata: Metadata,
  failure_reason: shown(z.string()),
  pending_reason: shown(z.string()),
  /** Here null is a statement (no money moved) and a missing member is none. */
  balance_transaction: z.union([idOf, z.null()]).optional(),
});
export type WireRefund = z.output<typeof WireRefund>;

export const WireAccount = z.object({ id: z.string().regex(/^acct_/), object: z.literal('account') });
export type WireAccount = z.output<typeof WireAccount>;

export const WireBalance = z.object({ object: z.literal('balance'), livemode: z.boolean() });
export type WireBalance = z.output<typeof WireBalance>;

export const WireDispute = z.object({
  id: z.string(),
  object: z.literal('dispute'),
  amount: Amount,
  currency: maybe(Currency),
  status: z.string(),
  is_charge_refundable: maybe(z.boolean()),
});
export type WireDispute = z.output<typeof WireDispute>;

export const WireList = z.object({
  object: z.literal('list'),
  data: z.array(z.unknown()),
  has_more: z.boolean(),
});
export type WireList = z.output<typeof WireList>;

export type Understood<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure };

/** Never throws: what does not have the shape is a failure of class `unknown`. */
export function understand<T>(schema: z.ZodType<T>, raw: unknown): Understood<T> {
  const parsed = schema.safeParse(raw);
  if (parsed.success) return { ok: true, value: parsed.data };
  const [issue] = parsed.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? 'it' : issue.path.join('.');
  return {
    ok: false,
    failure: notUnderstood('unexpected_object', `${where}: ${issue?.message ?? 'not understood'}`),
  };
}

export const notUnderstood = (code: string, message: string): Failure => ({
  class: 'unknown',
  code,
  message: safeText(`The provider’s answer cannot be used: ${message}`),
});

/** Text of one metadata member. */
export function metadataText(
  metadata: Readonly<Record<string, unknown>> | null,
  name: string,
): string | null {
  const value = metadata?.[name];
  return typeof value === 'string' ? value : null;
}
