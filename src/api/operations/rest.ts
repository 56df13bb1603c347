/** When nothing moves by itself any more, so that waiting longer would show nothing new. Pure. */
import { decisionsOf } from '../../operation/decisions.js';
import type { Operation } from '../../operation/operation.js';

export function isAtRest({ status, wish, facts }: Operation): boolean {
  const isStopped =
    wish.paused !== null || facts.account_paused !== undefined || decisionsOf(wish).given_up !== null;
  if (status.attention !== null || isStopped) return true;
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
