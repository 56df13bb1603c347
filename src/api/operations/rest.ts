/** When nothing moves by itself any more, so that waiting longer would show nothing new. Pure. */
import type { Operation } from '../../operation/operation.js';

export function isAtRest({ status, wish, facts }: Operation): boolean {
  if (status.attention !== null || wish.paused !== null || facts.account_paused !== undefined) return true;
  switch (status.phase) {
    case 'fulfilled':
    case 'cancelled':
    case 'rejected':
    case 'awaiting_customer':
    case 'payment_failed':
      return true;
    case 'authorized': {
      const { desired, payment } = wish.spec;
      return desired === 'authorized' || (payment.capture === 'manual' && payment.capture_amount === null);
    }
    case 'accepted':
    case 'payment_pending':
    case 'payment_unknown':
    case 'fulfilling':
    case 'cancelling':
      return false;
  }
}
