/** A bank's "no" in words that may be shown. Source: Stripe's "Decline codes" and "Error codes". */
import { safeText } from './redact.js';

/** Stripe asks not to tell the customer more than "declined" for these. */
const KEPT_QUIET: ReadonlySet<string> = new Set([
  'fraudulent',
  'lost_card',
  'stolen_card',
  'pickup_card',
  'restricted_card',
  'merchant_blacklist',
]);

export interface Decline {
  readonly code: string | null;
  readonly decline_code: string | null;
  readonly message: string | null;
}

/** `code` is the provider's error code; the bank's finer reason stands in the message where it may be known. */
export function describeDecline({ code, decline_code, message }: Decline): { code: string; message: string } {
  const words = safeText(message ?? 'The payment was declined.');
  const detail =
    decline_code !== null && !KEPT_QUIET.has(decline_code) && decline_code !== code ? decline_code : null;
  return { code: code ?? 'payment_declined', message: detail === null ? words : `${words} (${detail})` };
}
