/** Towards no money and no stock: money first, and stock only when no money can arrive any more. */
import { createPayment } from './forward.js';
import { isYetToBeTaken, mismatchOf } from './mismatch.js';
import type { Seen } from './observation.js';
import { knownReference, referenceOf, type Operation, type Policy } from './operation.js';
import { giveBack, refundedTwice } from './refund-step.js';
import { isLeft } from './refund.js';
import { AGREED, person, step, wait, type Decision } from './step.js';

export function clear(operation: Operation, seen: Seen, policy: Policy): Decision {
  return (
    clearPayment(operation) ??
    clearInventory(operation, seen, policy) ??
    // It keeps nothing from being clear, and is not passed over in silence either.
    refundedTwice(operation) ??
    AGREED
  );
}

/** Null when it is observed that no money is held and none can arrive. */
export function clearPayment(operation: Operation): Decision | null {
  if (isLeft(operation, 'payment')) return null;
  const { facts, wish } = operation;
  const mismatch = mismatchOf(operation);
  if (mismatch !== null) return mismatch.foreign ? null : person('PaymentMismatch', mismatch.why);
  if (isYetToBeTaken(operation)) return wait('Cancelling');
  switch (facts.payment.state) {
    case 'none':
      // Known and not read yet, such as one that the front end made: it may hold money.
      if (knownReference(operation) !== null) return wait('Cancelling');
      // A create whose answer was lost: learn its identity by the same key, so that it can be canceled.
      if (facts.unresolved?.step === 'create_payment') return createPayment(operation);
      return null;
    case 'created':
    case 'failed':
    case 'awaiting_customer':
    case 'authorized': {
      const reference = referenceOf(operation);
      return step('CancelingPayment', { name: 'cancel_payment', target: reference, reference });
    }
    case 'processing':
      return wait('PaymentProcessing');
    case 'captured':
      return giveBack(operation);
    case 'canceled':
      return null;
    case 'unknown':
      return person(
        'UnknownProviderStatus',
        `The provider reports a status unknown to us for ${wish.spec.order_id}.`,
      );
  }
}

/** Null when it is observed that no stock is held under our key and none can come to be. */
export function clearInventory(operation: Operation, seen: Seen, policy: Policy): Decision | null {
  const { inventory } = operation.facts;
  if (isLeft(operation, 'inventory')) return null;
  if (!policy.inventory || !inventory.requested || inventory.state === 'released') return null;
  if (!seen.inventory) return wait('InventoryUnreachable');
  // Also when nothing is seen there: the release leaves a tombstone, so a lost request cannot reserve later.
  return step('ReleasingStock', { name: 'release_inventory', target: 'reservation' });
}
