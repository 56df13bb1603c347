/** The decision: from what is wanted and what was seen to the one effect that is missing. Pure and total. */
import { goalOf, authorizationLapsed, type Goal } from './goal.js';
import { isCurrent } from './budget.js';
import { assertionOf, decisionsOf } from './decisions.js';
import { isLasting, NOT_FOUND } from './failure.js';
import {
  knownReference,
  referenceOf,
  type Operation,
  type PaymentFacts,
  type Policy,
  type Wish,
} from './operation.js';
import { givenTwice, inHand, isGivenBackByOthers, isLeft } from './refund.js';
import { giveBack, openRefunds, refundedTwice, sendRefund } from './refund-step.js';
import { sameLines, type Spec } from './spec.js';
import {
  AGREED,
  isInventoryStep,
  isOfInventory,
  person,
  step,
  wait,
  type Decision,
  type Step,
} from './step.js';

/** Whether this pass could read each side; without a reading nothing that depends on it is written. */
export interface Seen {
  readonly payment: boolean;
  readonly inventory: boolean;
}
/** For decisions about what is recorded, as the API shows them. */
export const ALL_SEEN: Seen = { payment: true, inventory: true };

/**
 * The next step towards the goal. Each call looks at the whole record anew, so it does not matter who did what
 * before, in which order, or how often this is called.
 */
export function nextStep(operation: Operation, seen: Seen, now: Date, policy: Policy): Decision {
  return asGivenUp(
    operation,
    refuted(operation) ??
      untouched(operation, seen) ??
      towards(operation, goalOf(operation, now, policy), seen, policy),
  );
}

function towards(operation: Operation, goal: Goal, seen: Seen, policy: Policy): Decision {
  const next =
    goal.kind === 'clear' ? clear(operation, seen, policy) : forward(operation, goal, seen, policy);
  if (next.kind === 'step') return permitted(operation, next, policy);
  return next.kind === 'agreed' ? (disputedAfterRefund(operation) ?? next) : next;
}

/** Why nothing is done to a payment that cannot be seen, or is not this order's as far as can be seen; or null. */
function untouched(operation: Operation, seen: Seen): Decision | null {
  if (isLeft(operation, 'payment')) return null;
  const missing = neverFound(operation);
  if (missing !== null) return person('PaymentNotFound', missing);
  if (!seen.payment) return wait('ProviderUnreachable');
  const mismatch = mismatchOf(operation);
  if (mismatch !== null && !(mismatch.foreign && operation.wish.cancellation !== null)) {
    return person('PaymentMismatch', mismatch.why);
  }
  if (mismatch === null && operation.facts.payment.state === 'unknown') {
    const word = operation.facts.payment.provider_status ?? '';
    return person('UnknownProviderStatus', `The provider reports the status "${word}".`);
  }
  return null;
}

/** What a person said of a call, and what turned out not to be so. */
function refuted({ wish, facts }: Operation): Decision | null {
  if (facts.refuted === undefined) return null;
  const { asserted_at } = facts.refuted;
  const assertion = assertionOf(wish, facts.refuted);
  return assertion?.at === asserted_at && assertion.outcome === 'no_effect'
    ? person(
        'AssertionRefuted',
        `${assertion.by} recorded that ${assertion.step} had no effect; it did take effect.`,
      )
    : null;
}

/** Given up is read only: what was known then asks nobody any more, anything else does. */
function asGivenUp(operation: Operation, next: Decision): Decision {
  const { given_up } = decisionsOf(operation.wish);
  if (given_up === null || next.kind === 'agreed' || next.kind === 'wait') return next;
  const { by, at, generation, covers, reason_word } = given_up;
  if (generation !== operation.generation)
    return person('GivenUp', `${by} gave it up at ${at}; the wish that came since is not carried out.`);
  if (inHand(operation) > covers)
    return person('GivenUp', `More money is in hand than when ${by} gave it up at ${at}.`);
  return next.kind === 'step' || next.reason === reason_word ? wait('GivenUp') : next;
}

/** Nothing is to be done, and somebody has to know: the bank may give, or gave, to the customer once more. Or null. */
function disputedAfterRefund({ facts }: Operation): Decision | null {
  const twice = givenTwice(facts);
  return twice > 0
    ? person('DisputedAfterRefund', `${twice} (minor units) was refunded, and is charged back as well.`)
    : null;
}

/** It is as wanted; what a person is told of stands beside it and keeps nothing open. */
export const isReached = (decision: Decision): boolean =>
  decision.kind === 'agreed' || (decision.kind === 'person' && decision.reason === 'DisputedAfterRefund');

/** What is said of a payment that a caller named, and that was never seen: nothing shows that it exists. Or null. */
function neverFound({ facts, wish, provider_reference }: Operation): string | null {
  const { failure, payment } = facts;
  const named =
    wish.spec.payment.reference !== null && provider_reference === null && payment.state === 'none';
  return named && failure?.step === 'observe_payment' && failure.code === NOT_FOUND ? failure.message : null;
}

/** A step is missing; may it be taken now? */
function permitted(operation: Operation, missing: Decision & { kind: 'step' }, policy: Policy): Decision {
  const { wish, facts } = operation;
  if (wish.paused !== null) return wait('Paused');
  if (facts.account_paused !== undefined) return wait('AccountPaused');
  const { failure, budget } = facts;
  const asserted = assertedOf(operation, missing.step);
  if (asserted !== null) return asserted;
  if (failure?.code === 'idempotency_mismatch') {
    return person(
      'ProviderRejected',
      'The provider has other parameters stored under this key; nothing is sent.',
    );
  }
  if (!isCurrent(operation, budget)) return missing;
  if (failure !== null && isLasting(failure) && concerns(failure, missing.step)) {
    return person(failure.code === 'goods_gone' ? 'GoodsGone' : 'UnknownProviderStatus', failure.message);
  }
  // What another step used up does not hold back this one: an order that cannot be paid can still be given up.
  const { used, rejections } =
    budget.step === null || budget.step === missing.step.name ? budget : { used: 0, rejections: 0 };
  if (rejections >= 2)
    return person('ProviderRejected', failure?.message ?? 'The request was refused twice.');
  if (Math.max(used, budget.reads) >= policy.retry_limit) {
    const failed =
      used >= policy.retry_limit
        ? `${missing.step.name} failed ${used} times`
        : // Not how often by now: it is read on, and failing once more is nothing new to a reader.
          `Reading failed ${policy.retry_limit} times`;
    return person('RetryBudgetExhausted', failure === null ? failed : `${failed}: ${failure.message}`);
  }
  return missing;
}

/** A step that a person said is done is not sent again: a reading has to agree, or a person looks once more. */
function assertedOf({ wish, facts }: Operation, { name, target }: Step): Decision | null {
  const assertion = assertionOf(wish, { step: name, target });
  if (assertion?.outcome !== 'done') return null;
  const { observed_at } = isOfInventory(name) ? facts.inventory : facts.payment;
  return observed_at !== null && Date.parse(observed_at) > Date.parse(assertion.at)
    ? person(
        'AssertionRefuted',
        `${assertion.by} recorded that ${name} is done; it is not, as was read since.`,
      )
    : wait('OutcomeAsserted');
}

/** Whether a failure stands in the way of a step: of the same step, or of the reading that it needs. */
const concerns = (failure: NonNullable<Operation['facts']['failure']>, effect: Step): boolean =>
  failure.step === effect.name ||
  failure.step === 'observe_payment' ||
  (failure.step === 'observe_inventory' && isInventoryStep(effect));

export interface Mismatch {
  readonly why: string;
  /** It serves another order and never served this one, so that nothing of it is this order's to give back. */
  readonly foreign: boolean;
}

/** Why the payment that was read cannot be this order's, or null. */
export function mismatchOf(operation: Operation): Mismatch | null {
  const { facts, wish, operation_id } = operation;
  const { payment } = facts;
  if (payment.state === 'none') return null;
  const because = (why: string, foreign = false): Mismatch => ({ why, foreign });
  const foreign = operation.provider_reference === null;
  if (payment.taken_by !== undefined) {
    return because(`The payment serves the operation "${payment.taken_by}" already.`, foreign);
  }
  if (knownReference(operation) === null) return because('The payment was seen, and its id is not recorded.');
  if (payment.operation_id !== null && payment.operation_id !== operation_id) {
    return because('The payment belongs to another operation.', foreign);
  }
  if (payment.currency !== null && payment.currency !== wish.spec.amount.currency) {
    return because(`The payment is in ${payment.currency}, wanted is ${wish.spec.amount.currency}.`);
  }
  if (
    operation.provider_reference === null &&
    payment.amount !== null &&
    payment.amount !== wish.spec.amount.value
  ) {
    return because(
      `The payment asks for ${payment.amount}, wanted is ${wish.spec.amount.value} (minor units).`,
    );
  }
  return null;
}

/** `automatic` at the provider saves a call; it is right only when the whole is wanted at once. */
const captureMode = (spec: Spec): 'automatic' | 'manual' =>
  spec.payment.capture === 'automatic' && spec.desired === 'fulfilled' ? 'automatic' : 'manual';

const amountDiffers = ({ amount }: PaymentFacts, spec: Spec): boolean =>
  amount !== null && amount !== spec.amount.value;
/** Taking where holding is wanted must not be; holding costs a call of ours, which only a confirmation of ours is worth. */
function captureDiffers({ capture, answered_confirmation }: PaymentFacts, wish: Wish): boolean {
  if (capture === null || capture === captureMode(wish.spec)) return false;
  return (
    capture === 'automatic' ||
    (wish.spec.payment.reference === null && wish.confirmation > answered_confirmation)
  );
}

/** Once a payment is somebody's the provider keeps it so, and the front end says whose its payments are. */
const customerIsMissing = ({ customer }: PaymentFacts, { payment }: Spec): boolean =>
  customer === null && payment.customer !== null && payment.reference === null;

/** The payment was made on other terms than are wanted now. */
export const isOutdated = (payment: PaymentFacts, wish: Wish): boolean =>
  amountDiffers(payment, wish.spec) || captureDiffers(payment, wish) || customerIsMissing(payment, wish.spec);

/** Of the update to what is wanted now. */
export const updateTarget = (reference: string, { generation }: Operation): string =>
  `${reference}/${generation}`;

const needsStock = (operation: Operation, policy: Policy): boolean =>
  policy.inventory && operation.wish.spec.lines.length > 0;

function createPayment(operation: Operation): Decision {
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

function forward(operation: Operation, goal: Goal, seen: Seen, policy: Policy): Decision {
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
  if (wanted > operation.facts.payment.authorized) {
    return person(
      'AmountAboveAuthorization',
      `${wanted} is wanted, ${operation.facts.payment.authorized} is authorized.`,
    );
  }
  if (goal.kind === 'authorize') return AGREED;
  const { capture: mode, capture_amount } = operation.wish.spec.payment;
  return mode === 'manual' && capture_amount === null ? wait('Authorized') : capture(operation);
}

function capture(operation: Operation): Decision {
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

/** What is to be captured in the end, in minor units. */
export const wantedCapture = (operation: Operation): number =>
  Math.min(operation.wish.spec.payment.capture_amount ?? Infinity, operation.wish.spec.amount.value);

function afterCapture(operation: Operation, goal: Goal, seen: Seen, policy: Policy): Decision {
  const refund = refundedTwice(operation) ?? sendRefund(operation) ?? openRefunds(operation, 'Refunding');
  if (refund?.kind === 'step') return refund;
  return unfulfilled(operation, goal, seen, policy) ?? refund ?? AGREED;
}

/** What a captured payment lacks to be a fulfilled order, or null. Refunds do not take back that it was fulfilled. */
export function unfulfilled(operation: Operation, goal: Goal, seen: Seen, policy: Policy): Decision | null {
  const { captured } = operation.facts.payment;
  const wanted = wantedCapture(operation);
  if (captured < wanted) {
    return person(
      'CapturedShort',
      `${captured} was captured of ${wanted}; the rest can no longer be captured.`,
    );
  }
  if (captured > wanted || goal.kind === 'authorize') {
    return person(
      'CapturedAbove',
      `${captured} was captured, wanted is ${goal.kind === 'authorize' ? 0 : wanted}.`,
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

/** Towards no money and no stock: money first, and stock only when no money can arrive any more. */
function clear(operation: Operation, seen: Seen, policy: Policy): Decision {
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
