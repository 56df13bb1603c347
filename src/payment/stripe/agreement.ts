/**
 * Whether an answer agrees with what was sent: each function gives the first disagreement in words, or null. Members
 * that the answer leaves out cannot disagree; servers are free to omit them. Amounts here are in Stripe's unit.
 */
import type { PaymentCall } from '../port.js';
import { members } from './provider-error.js';
import { metadataText, type WirePayment, type WireRefund } from './wire.js';

export function paymentDisagreement({ step, parameters }: PaymentCall, payment: WirePayment): string | null {
  const asked = members(parameters);
  switch (step) {
    case 'create_payment':
      return (
        differs('amount', asked['amount'], payment.amount) ??
        differs('currency', asked['currency'], payment.currency.toLowerCase()) ??
        // Captured at once instead of held: money would move earlier than was wanted.
        (payment.capture_method === null
          ? null
          : differs('capture_method', asked['capture_method'], payment.capture_method)) ??
        metadataDiffers(asked, payment.metadata, 'operation_id')
      );
    case 'update_payment':
      return (
        differs('amount', asked['amount'], payment.amount) ??
        (payment.capture_method === null
          ? null
          : differs('capture_method', asked['capture_method'], payment.capture_method)) ??
        differs('payment_method', asked['payment_method'], payment.payment_method) ??
        (payment.customer === undefined ? null : differs('customer', asked['customer'], payment.customer))
      );
    case 'capture_payment':
      return payment.status === 'succeeded' && payment.amount_received !== null
        ? differs('amount_received', asked['amount_to_capture'], payment.amount_received)
        : null;
    case 'confirm_payment':
    case 'cancel_payment':
    case 'create_refund':
      return null;
  }
}

export function refundDisagreement(
  { parameters, reference }: PaymentCall,
  refund: WireRefund,
): string | null {
  const asked = members(parameters);
  return (
    differs('amount', asked['amount'], refund.amount) ??
    (refund.payment_intent === null
      ? null
      : differs('payment_intent', reference ?? undefined, refund.payment_intent)) ??
    metadataDiffers(asked, refund.metadata, 'operation_id') ??
    metadataDiffers(asked, refund.metadata, 'refund_id')
  );
}

/** What was not asked for cannot be answered wrongly. */
function differs(name: string, asked: unknown, answered: string | number | null): string | null {
  if (asked === undefined || asked === answered) return null;
  return `The answer has another ${name} (${String(answered)}) than was asked for (${JSON.stringify(asked)}).`;
}

function metadataDiffers(
  asked: Readonly<Record<string, unknown>>,
  answered: Readonly<Record<string, unknown>> | null,
  name: string,
): string | null {
  if (answered === null) return null;
  return differs(`metadata.${name}`, members(asked['metadata'])[name], metadataText(answered, name));
}
