/** Towards a paid order: the next effect that is missing, from the reservation to the refunds that the caller asked for. */
import { authorizationLapsed, type Goal } from './goal.js';
import type { Seen } from './observation.js';
import { knownReference, moneyOf, referenceOf, type Operation, type Policy } from './operation.js';
import { openRefunds, refundedTwice, sendRefund } from './refund-step.js';
import { isGivenBackByOthers } from './refund.js';
import { sameLines } from './spec.js';
import { AGREED, person, step, wait, type Decision } from './step.js';
import {
  amountDiffers,
  captureDiffers,
  captureMode,
  customerIsMissing,
  isOutdated,
  updateTarget,
  wantedCapture,
} from './terms.js';

export function forward(operation: Operation, goal: Goal, seen: Seen, policy: Policy): Decision {
  switch (operation.facts.payment.state) {
    case 'none':
      return reserve(operation, seen, policy) ?? createPayment(operation);
    case 'created':
    case 'failed':
    case 'awaiting_customer':
      return reserve(operation, seen, policy) ?? askForMoney(operation);
    case 'processing': {
      // It may take days, and for a payment that the front end made no stock is held yet.
      const stock = reserve(operation, seen, policy);
      return stock?.kind === 'step' ? stock : wait('PaymentProcessing');
    }
    case 'authorized':
      // The stock as it is wanted now, also under money that the front end had authorized.
      return reserve(operation, seen, policy) ?? withAuthorization(operation, goal);
    case 'captured':
      return afterCapture(operation, goal, seen, policy);
    case 'canceled':
      return authorizationLapsed(operation)
        ? person('AuthorizationExpired', 'The authorization lapsed before it was captured.')
        : person(
            'PaymentCanceledElsewhere',
            'The payment was canceled at the provider, not by this service.',
          );
    case 'unknown':
      return person(
        'UnknownProviderStatus',
        'The provider reports a status that this version does not know.',
      );
  }
}

export function createPayment(operation: Operation): Decision {
  const { wish, operation_id } = operation;
  const { amount, payment } = wish.spec;
  // A payment that is known and was not read yet is never made a second time.
  if (knownReference(operation) !== null) return wait('Accepted');
  return step('CreatingPayment', {
    name: 'create_payment',
    target: `payment/${wish.payment_number}`,
    operation_id,
    amount: amount.value,
    currency: amount.currency,
    capture: captureMode(wish.spec),
    payment_method: payment.payment_method,
    customer: payment.customer,
    return_url: payment.return_url,
  });
}

/** Stock is held as wanted: null. Otherwise what has to happen first. */
function reserve(operation: Operation, seen: Seen, policy: Policy): Decision | null {
  if (!needsStock(operation, policy)) return null;
  if (!seen.inventory) return wait('InventoryUnreachable');
  const { inventory } = operation.facts;
  const { lines } = operation.wish.spec;
  const asWanted = sameLines(inventory.lines, lines);
  if (inventory.state === 'committed') {
    return asWanted
      ? null
      : person('StockMismatch', 'The warehouse has committed other goods than are wanted.');
  }
  if (inventory.state === 'reserved' && asWanted) return null;
  // Under money that is on its way or here; without any this order is given up, see goalOf.
  if (inventory.state === 'released') {
    return person('StockLostAfterPayment', 'The warehouse has given the stock away that is paid for.');
  }
  // Without money this order is given up, see goalOf.
  if (inventory.refused_generation === operation.generation) {
    return person('StockLostAfterPayment', 'The warehouse cannot deliver what is wanted now.');
  }
  return step('ReservingStock', {
    name: 'reserve_inventory',
    target: `reservation/${operation.generation}`,
    lines,
  });
}

const needsStock = (operation: Operation, policy: Policy): boolean =>
  policy.inventory && operation.wish.spec.lines.length > 0;

/** The payment exists and no money is on its way: bring it up to date, then confirm it, once a wish. */
function askForMoney(operation: Operation): Decision {
  const { facts, wish } = operation;
  const { payment } = facts;
  const { amount } = wish.spec;
  const reference = referenceOf(operation);
  const target = updateTarget(reference, operation);
  const doubt = facts.unresolved;
  // An update to former terms that may still be on its way would change the payment again, at the worst just before it
  // is confirmed. Under its own key it happens now or never: what was sent then is sent once more, and then what is wanted.
  if (doubt?.step === 'update_payment' && doubt.target !== target) {
    return step('CreatingPayment', {
      name: 'update_payment',
      target: doubt.target,
      reference,
      currency: amount.currency,
    });
  }
  // Whoever confirms, and be it the customer who was asked already: money is not to come on terms of former days.
  if (isOutdated(payment, wish)) {
    return step('CreatingPayment', {
      name: 'update_payment',
      target,
      reference,
      currency: amount.currency,
      ...(amountDiffers(payment, wish.spec) ? { amount: amount.value } : {}),
      ...(captureDiffers(payment, wish) ? { capture: captureMode(wish.spec) } : {}),
      ...(customerIsMissing(payment, wish.spec) && wish.spec.payment.customer !== null
        ? { customer: wish.spec.payment.customer }
        : {}),
    });
  }
  // A payment that the front end made is confirmed by the front end.
  if (wish.spec.payment.reference !== null || wish.confirmation <= payment.answered_confirmation) {
    return wait(isDeclined(operation) ? 'PaymentDeclined' : 'AwaitingCustomer');
  }
  const wanted = wish.spec.payment.payment_method;
  // Before its first confirmation the payment carries the method that it was created with; a decline takes it away.
  const carried = payment.state === 'created' && wanted !== null && wanted === payment.sent_method;
  return step('ConfirmingPayment', {
    name: 'confirm_payment',
    target: `${reference}/${wish.confirmation}`,
    reference,
    confirmation: wish.confirmation,
    amount: amount.value,
    currency: amount.currency,
    payment_method: carried ? null : wanted,
    return_url: wish.spec.payment.return_url,
    off_session: wish.spec.payment.off_session,
  });
}

/** Also at a server that does not keep the decline on the payment; it takes the method away all the same. */
function isDeclined({ facts: { payment, failure }, wish }: Operation): boolean {
  if (payment.state !== 'created') return payment.state === 'failed';
  const answered = payment.answered_confirmation >= wish.confirmation;
  return answered && (payment.payment_method === null || failure?.class === 'declined');
}

function withAuthorization(operation: Operation, goal: Goal): Decision {
  const wanted = wantedCapture(operation);
  const { authorized } = operation.facts.payment;
  if (wanted > authorized) {
    const money = moneyOf(operation);
    return person(
      'AmountAboveAuthorization',
      `${money(wanted)} is wanted, ${money(authorized)} is authorized.`,
    );
  }
  if (goal.kind === 'authorize') return AGREED;
  const { capture: mode, capture_amount } = operation.wish.spec.payment;
  return mode === 'manual' && capture_amount === null ? wait('Authorized') : capture(operation);
}

export function capture(operation: Operation): Decision {
  const { facts, wish } = operation;
  const wanted = wantedCapture(operation);
  const reference = referenceOf(operation);
  return step('Capturing', {
    name: 'capture_payment',
    // The amount belongs to the effect: another amount is another capture, and the provider allows only one.
    target: `${reference}/${wanted}`,
    reference,
    amount: wanted,
    currency: wish.spec.amount.currency,
    whole: wanted === facts.payment.authorized,
  });
}

function afterCapture(operation: Operation, goal: Goal, seen: Seen, policy: Policy): Decision {
  const refund = refundedTwice(operation) ?? sendRefund(operation) ?? openRefunds(operation, 'Refunding');
  if (refund?.kind === 'step') return refund;
  return unfulfilled(operation, goal, seen, policy) ?? refund ?? AGREED;
}

/** What a captured payment lacks to be a fulfilled order, or null. Refunds do not take back that it was fulfilled. */
export function unfulfilled(operation: Operation, goal: Goal, seen: Seen, policy: Policy): Decision | null {
  const { captured } = operation.facts.payment;
  const wanted = wantedCapture(operation);
  const money = moneyOf(operation);
  if (captured < wanted) {
    return person(
      'CapturedShort',
      `${money(captured)} was captured of ${money(wanted)}; the rest can no longer be captured.`,
    );
  }
  if (captured > wanted || goal.kind === 'authorize') {
    return person(
      'CapturedAbove',
      `${money(captured)} was captured, wanted is ${money(goal.kind === 'authorize' ? 0 : wanted)}.`,
    );
  }
  return commit(operation, seen, policy);
}

function commit(operation: Operation, seen: Seen, policy: Policy): Decision | null {
  if (!needsStock(operation, policy)) return null;
  if (!seen.inventory) return wait('InventoryUnreachable');
  const { inventory } = operation.facts;
  switch (inventory.state) {
    case 'committed':
      return reserve(operation, seen, policy);
    case 'reserved':
      if (isGivenBackByOthers(operation)) {
        return (
          refundedTwice(operation) ??
          person('RefundedElsewhere', 'All money was refunded, and not by this order.')
        );
      }
      // Other lines may have been asked for while the money was on its way.
      return (
        reserve(operation, seen, policy) ??
        step('CommittingStock', { name: 'commit_inventory', target: 'reservation' })
      );
    case 'none':
      // Money that the front end took: the stock is asked for now, until it was held once.
      if (inventory.lines === null) return reserve(operation, seen, policy);
      return person('StockLostAfterPayment', 'The warehouse no longer knows the reservation.');
    case 'released':
    case 'insufficient':
      return person('StockLostAfterPayment', 'The warehouse does not hold the stock that was paid for.');
    case 'unknown':
      return wait('InventoryUnreachable');
  }
}
