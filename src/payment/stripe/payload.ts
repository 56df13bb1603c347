/**
 * What each step sends, and nothing more: servers that speak Stripe's language answer 400 to parameters that they do
 * not know, so an optional one travels only when the operation asks for it.
 */
import type { Parameters } from '../../operation/attempt.js';
import type { PaymentStep } from '../../operation/step.js';
import { toProviderAmount } from './money.js';

export interface PayloadOptions {
  /** False leaves `automatic_payment_methods` out, for servers that refuse it. */
  readonly automatic_methods: boolean;
}

/**
 * Marks parameters that must not be sent, with the reason; the intent is still recorded, so a person sees it.
 * The API refuses such amounts beforehand; they can only come from amounts that were changed at the provider.
 */
export const NOT_SENDABLE = 'not_sendable';

const notSendable = (problem: string): Parameters => ({ [NOT_SENDABLE]: problem });

/** Pure: same step and options, same result. Amounts are in Stripe's unit. */
export function prepare(step: PaymentStep, options: PayloadOptions): Parameters {
  switch (step.name) {
    case 'create_payment': {
      const amount = toProviderAmount(step.amount, step.currency);
      if (!amount.ok) return notSendable(`The amount ${amount.problem}.`);
      return {
        amount: amount.amount,
        currency: step.currency.toLowerCase(),
        metadata: { operation_id: step.operation_id },
        ...(step.capture === 'manual' && { capture_method: 'manual' }),
        ...(step.payment_method !== null && { payment_method: step.payment_method }),
        ...(step.customer !== null && { customer: step.customer }),
        // Without a return_url a method that redirects would make the confirmation fail.
        ...(step.return_url === null &&
          options.automatic_methods && {
            automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
          }),
      };
    }
    case 'update_payment': {
      const amount = step.amount === undefined ? null : toProviderAmount(step.amount, step.currency);
      if (amount !== null && !amount.ok) return notSendable(`The amount ${amount.problem}.`);
      return {
        ...(amount !== null && { amount: amount.amount }),
        ...(step.capture !== undefined && { capture_method: step.capture }),
        ...(step.payment_method !== undefined && { payment_method: step.payment_method }),
        ...(step.customer !== undefined && { customer: step.customer }),
      };
    }
    case 'confirm_payment':
      return {
        ...(step.payment_method !== null && { payment_method: step.payment_method }),
        ...(step.return_url !== null && { return_url: step.return_url }),
        ...(step.off_session && { off_session: true }),
      };
    case 'capture_payment': {
      // The default is all that is capturable, so the whole needs no amount.
      if (step.whole) return {};
      const amount = toProviderAmount(step.amount, step.currency);
      return amount.ok ? { amount_to_capture: amount.amount } : notSendable(`The amount ${amount.problem}.`);
    }
    case 'cancel_payment':
      return {};
    case 'create_refund': {
      const amount = toProviderAmount(step.amount, step.currency);
      if (!amount.ok) return notSendable(`The amount ${amount.problem}.`);
      return {
        payment_intent: step.reference,
        amount: amount.amount,
        // Metadata does not travel from a payment to its refunds.
        metadata: {
          ...(step.operation_id !== null && { operation_id: step.operation_id }),
          refund_id: step.refund_id,
        },
      };
    }
  }
}

/**
 * The same parameters with members in one order. A JSON column of the database gives them back in another order than
 * they had when they were first sent, and one key is to see the same bytes each time.
 */
export function inStableOrder(parameters: Parameters): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(parameters)
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
      .map(([name, value]) => [name, isParameters(value) ? inStableOrder(value) : value]),
  );
}

const isParameters = (value: unknown): value is Parameters =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
