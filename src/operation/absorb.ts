/** Knowledge: how readings and answers become facts. Pure; what is unknown never overwrites what is known. */
import { adoptable, withPayment, withRefund, withoutMoney } from './absorb-payment.js';
import { isFinal, type Outcome } from './attempt.js';
import { freshBudget, spend } from './budget.js';
import { withDrift } from './drift.js';
import { effectSeen } from './effect-seen.js';
import { NOT_FOUND, isLasting, type Failure } from './failure.js';
import type { Observation, ReservationReading } from './observation.js';
import type { Facts, InventoryFacts, Known, Operation, PaymentFacts } from './operation.js';
import { isOfInventory, isReading, type Reader, type Step } from './step.js';

/** Takes in one look at the world. `operation` is as it was before the look. */
export function absorbObservation(operation: Operation, observation: Observation): Known {
  const { payment, inventory, at } = observation;
  let facts: Facts = operation.facts;
  let reference = operation.provider_reference;

  if (payment.kind === 'present') {
    facts = withPayment(operation, withBrakeOver(facts, at), payment.value, at);
    reference ??= adoptable(facts, operation, payment.value) ? payment.value.reference : null;
    if (reference === null) facts = withoutMoney(operation, facts);
  }
  if (inventory.kind === 'present')
    facts = { ...facts, inventory: withReservation(facts.inventory, inventory.value, at) };
  if (inventory.kind === 'absent') facts = { ...facts, inventory: withoutReservation(facts.inventory, at) };

  facts = withProgress(operation, facts);
  facts = withDrift(operation, withLate(operation, facts, reference, at), at);

  facts = withReadFailure(operation, facts, 'observe_payment', paymentFailure(operation, observation));
  facts = withReadFailure(
    operation,
    facts,
    'observe_inventory',
    inventory.kind === 'unknown' ? inventory.failure : null,
  );
  return { facts: settleUnresolved(facts, reference, operation), provider_reference: reference };
}

/** As a rejected order leaves its payment. */
const CLOSED: ReadonlySet<PaymentFacts['state']> = new Set(['none', 'canceled']);

/**
 * The order was told to be rejected, or was about to be: its payment is canceled, its stock given back or on its way. Money that
 * arrives after that has nothing to buy. Money and stock alone do not show what was told, so it is noted here.
 */
function withLate(
  { status, facts: before }: Operation,
  facts: Facts,
  // As it is known now: a payment whose creation was lost may be found by this reading only.
  reference: string | null,
  at: string,
): Facts {
  const gone = before.inventory.state === 'released' || before.unresolved?.step === 'release_inventory';
  const closed = status.phase === 'rejected' || (gone && before.payment.state === 'canceled');
  const isLate = closed && reference !== null && !CLOSED.has(facts.payment.state);
  return isLate && facts.late === undefined ? { ...facts, late: at } : facts;
}

/** The hour of the money-out brake has moved on: whether it has room now is asked before the refund is sent. */
function withBrakeOver(facts: Facts, at: string): Facts {
  const { braked, ...rest } = facts;
  return braked === undefined || Date.parse(at) < Date.parse(braked.until) ? facts : rest;
}

/** Why the payment could not be seen, or null. That an id which we recorded does not exist is not believed. */
export function paymentFailure(operation: Operation, observation: Observation): Failure | null {
  const { payment } = observation;
  if (payment.kind === 'unknown') return payment.failure;
  const expected = operation.provider_reference ?? operation.wish.spec.payment.reference;
  if (payment.kind === 'absent' && expected !== null) {
    return {
      class: 'authorization',
      code: NOT_FOUND,
      message:
        operation.provider_reference === null
          ? `The provider does not know ${expected} in this account and mode.`
          : `The provider does not know ${expected}: wrong account or mode until proven otherwise.`,
    };
  }
  return null;
}

/** Takes in the answer to one of our own writes. */
export function absorbOutcome(operation: Operation, step: Step, outcome: Outcome, at: string): Known {
  let facts = operation.facts;
  let reference = operation.provider_reference;
  const { shown } = outcome;

  if (shown?.payment !== undefined) {
    facts = withPayment(operation, facts, shown.payment, at);
    if (step.name === 'create_payment') {
      reference = shown.payment.reference;
      facts = { ...facts, payment: { ...facts.payment, sent_method: step.payment_method } };
    }
    // As the answer shows it, or as it was sent to a server that does not show it.
    if (shown.payment.customer === undefined && 'customer' in step && step.customer !== undefined)
      facts = { ...facts, payment: { ...facts.payment, customer: step.customer } };
  }
  if (shown?.refund !== undefined)
    facts = { ...facts, refunds: withRefund(operation, facts.refunds, shown.refund) };
  if (shown?.reservation !== undefined) {
    const reservation = {
      ...shown.reservation,
      ...(step.name === 'reserve_inventory' ? { lines: step.lines } : {}),
    };
    facts = { ...facts, inventory: withReservation(facts.inventory, reservation, at) };
  }
  if (step.name === 'reserve_inventory') {
    const refused = outcome.kind === 'declined' ? { refused_generation: operation.generation } : {};
    // A reservation may exist under our key from now on, whatever came back.
    facts = { ...facts, inventory: { ...facts.inventory, requested: true, ...refused } };
  }
  if (
    step.name === 'confirm_payment' &&
    (outcome.kind === 'done' || outcome.kind === 'pending' || outcome.kind === 'declined')
  ) {
    facts = { ...facts, payment: { ...facts.payment, answered_confirmation: step.confirmation } };
  }

  facts = { ...facts, unresolved: doubtAfter(step, outcome, facts.unresolved, at) };
  if (!('failure' in outcome)) {
    facts = { ...facts, failure: null, budget: freshBudget(operation) };
  } else if (outcome.failure.class === 'conflict' && !isLasting(outcome.failure) && moved(operation, facts)) {
    // Somebody else was faster, and what was shown says how it stands.
    facts = { ...facts, failure: null, budget: freshBudget(operation) };
  } else {
    const failure = asRefusal(step, outcome.failure);
    facts = {
      ...facts,
      failure: { ...failure, step: step.name },
      budget: spend(operation, facts.budget, failure, step.name),
    };
  }
  return { facts: settleUnresolved(facts, reference, operation), provider_reference: reference };
}

/** The customer can answer a declined confirmation, and the order a lack of stock; another "no" is one to the request. */
const asRefusal = (step: Step, failure: Failure): Failure =>
  failure.class === 'declined' && step.name !== 'confirm_payment' && step.name !== 'reserve_inventory'
    ? { ...failure, class: 'rejected' }
    : failure;

function doubtAfter(
  { name, target }: Step,
  { kind, key_spent }: Outcome,
  before: Facts['unresolved'],
  at: string,
): Facts['unresolved'] {
  const same = before?.step === name && before.target === target;
  if (kind === 'unknown') return same ? before : { step: name, target, since: at };
  return same && isFinal({ step: name, outcome: kind, key_spent: key_spent ?? false }) ? null : before;
}

function withReadFailure(
  operation: Operation,
  facts: Facts,
  reading: Reader,
  failure: Failure | null,
): Facts {
  if (failure !== null) {
    const { failure: known } = facts;
    const stays = known !== null && !isReading(known.step) && isLasting(known);
    return {
      ...facts,
      failure: stays ? known : { ...failure, step: reading },
      budget: spend(operation, facts.budget, failure, reading),
    };
  }
  if (facts.failure?.step !== reading) return facts;
  return { ...facts, failure: null, budget: { ...facts.budget, reads: 0, streak: 0 } };
}

/** Something moved, whoever moved it: former failures no longer say what keeps the operation from converging. */
function withProgress(operation: Operation, facts: Facts): Facts {
  if (!moved(operation, facts)) return facts;
  const { failure } = facts;
  const movedThere = failure !== null && isOfInventory(failure.step) ? stockMoved : moneyMoved;
  const stays = failure !== null && isLasting(failure) && !movedThere(operation.facts, facts);
  return { ...facts, failure: stays ? failure : null, budget: freshBudget(operation) };
}

const stockMoved = (before: Facts, after: Facts): boolean => before.inventory.state !== after.inventory.state;

const moneyMoved = (before: Facts, after: Facts): boolean =>
  before.payment.state !== after.payment.state ||
  JSON.stringify(before.refunds) !== JSON.stringify(after.refunds);

const moved = ({ facts: before }: Operation, after: Facts): boolean =>
  stockMoved(before, after) || moneyMoved(before, after);

function withReservation(before: InventoryFacts, reading: ReservationReading, at: string): InventoryFacts {
  return { ...before, state: reading.state, lines: reading.lines ?? before.lines, observed_at: at };
}

/** Nothing is there: after a refusal or a release that is what we know already, and it stays the better word. */
function withoutReservation(before: InventoryFacts, at: string): InventoryFacts {
  const state = before.state === 'insufficient' || before.state === 'released' ? before.state : 'none';
  return { ...before, state, observed_at: at };
}

/** An effect that is visible is no longer in doubt, whoever sent it and whatever was answered. */
function settleUnresolved(facts: Facts, reference: string | null, operation: Operation): Facts {
  const { unresolved } = facts;
  if (unresolved === null || !effectSeen(unresolved, facts, reference, operation)) return facts;
  return { ...facts, unresolved: null, failure: null, budget: freshBudget(operation) };
}
