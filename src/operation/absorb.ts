/** Knowledge: how readings and answers become facts. Pure; what is unknown never overwrites what is known. */
import {
  isFinal,
  openAttempts,
  type Attempt,
  type Outcome,
  type StepName,
  type Resolution,
} from './attempt.js';
import { isCurrent } from './budget.js';
import { assertionOf, decisionsOf, isAsserted, isSameEffect } from './decisions.js';
import { isLasting, NOT_FOUND, spendsBudget, type Failure } from './failure.js';
import { withDrift } from './drift.js';
import { isOutdated, updateTarget } from './next-step.js';
import type { Budget, Facts, InventoryFacts, Operation, PaymentFacts, RefundFact } from './operation.js';
import type { Observation, PaymentReading, RefundReading, ReservationReading } from './observation.js';
import { heldAtProvider, standingRefunds } from './refund.js';
import { sameLines } from './spec.js';
import { isOfInventory, isReading, type Reader, type Step } from './step.js';

/** What a pass knows now: facts, and the payment's identity once it is known. */
export interface Known {
  readonly facts: Facts;
  readonly provider_reference: string | null;
}

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

/**
 * Takes in the journal at the start of a pass: tries without an answer (their worker died or is late), and answers
 * that came after their worker had lost the lease. A lost create may be known by its late answer only.
 */
export function absorbJournal(operation: Operation, attempts: readonly Attempt[]): Known {
  const { facts } = operation;
  const payment = `payment/${operation.wish.payment_number}`;
  const { wish } = operation;
  const open = openAttempts(attempts).filter((attempt) => !isAsserted(wish, attempt, attempts));
  const doubt = facts.unresolved;
  const isSettled =
    doubt !== null &&
    assertionOf(wish, doubt) !== undefined &&
    !open.some((attempt) => isSameEffect(attempt, doubt));
  const known = isSettled ? null : doubt;
  // Of several doubts the payment without a known identity comes first: it alone cannot be looked at.
  const nameless = open.find((attempt) => attempt.step === 'create_payment' && attempt.target === payment);
  const created = attempts.find(
    (attempt) =>
      attempt.step === 'create_payment' && attempt.target === payment && attempt.shown?.payment !== undefined,
  );
  // What our own create was answered with may be recorded as another order's all the same.
  const isTaken = facts.payment.taken_by !== undefined;
  const reference =
    operation.provider_reference ?? (isTaken ? null : (created?.shown?.payment?.reference ?? null));
  const answered_confirmation = attempts
    .filter((attempt) => attempt.step === 'confirm_payment' && isAnswered(attempt))
    .filter((attempt) => attempt.target.startsWith(`${reference}/`))
    .reduce(
      (last, attempt) => Math.max(last, confirmationOf(attempt.target)),
      facts.payment.answered_confirmation,
    );
  return {
    facts: {
      ...facts,
      // An answer that came too late for its own pass still says that the bank was asked.
      payment: { ...facts.payment, answered_confirmation },
      unresolved: doubtAbout(nameless) ?? known ?? doubtAbout(open[0]),
      inventory: {
        ...facts.inventory,
        requested:
          facts.inventory.requested || attempts.some((attempt) => attempt.step === 'reserve_inventory'),
      },
    },
    provider_reference: reference,
  };
}

/**
 * A call to the payment of which the journal does not say what became of it, or undefined. Another payment waits for that:
 * its facts begin anew, and the doubt would come back from the journal as one about the new payment.
 */
export const openPayment = (wish: Operation['wish'], journal: readonly Attempt[]): Attempt | undefined =>
  openAttempts(journal).find(
    (attempt) => !isOfInventory(attempt.step) && !isAsserted(wish, attempt, journal),
  );

/** The bank gave its answer, whatever it was. */
const isAnswered = ({ outcome }: Attempt): boolean =>
  outcome === 'done' || outcome === 'pending' || outcome === 'declined';

const doubtAbout = (attempt: Attempt | undefined): Facts['unresolved'] =>
  attempt === undefined ? null : { step: attempt.step, target: attempt.target, since: attempt.started_at };

/** Steps after which more money may be held than was seen. */
const TAKES_MONEY: ReadonlySet<StepName> = new Set(['confirm_payment', 'capture_payment']);

/**
 * The record as everybody but the pass that takes the step must read it: a step in progress may have taken effect.
 * `task`: the step in progress as the record names it, or null.
 */
export function withTask(operation: Operation, task: StepName | null, now: Date): Operation {
  const { facts } = operation;
  if (task === null) return operation;
  const begun = { step: task, target: '', since: now.toISOString() };
  // Of an older doubt and a step that may be taking money now, the latter binds the rules more.
  const unresolved = TAKES_MONEY.has(task) ? begun : (facts.unresolved ?? begun);
  const requested = facts.inventory.requested || task === 'reserve_inventory';
  return { ...operation, facts: { ...facts, unresolved, inventory: { ...facts.inventory, requested } } };
}

const freshBudget = (operation: Operation): Budget => ({
  generation: operation.generation,
  ...withRetries(decisionsOf(operation.wish).retries),
  step: null,
  used: 0,
  reads: 0,
  rejections: 0,
  streak: 0,
});

const withRetries = (retries: number): Pick<Budget, 'retries'> => (retries === 0 ? {} : { retries });

function spend(operation: Operation, budget: Budget, failure: Failure, on: StepName | Reader): Budget {
  const current = isCurrent(operation, budget) ? budget : freshBudget(operation);
  const cost = spendsBudget(failure) ? 1 : 0;
  const streak = current.streak + 1;
  if (isReading(on)) {
    return { ...current, reads: current.reads + cost, streak };
  }
  const { used, rejections } = current.step === on ? current : { used: 0, rejections: 0 };
  return {
    ...current,
    step: on,
    used: used + cost,
    rejections: rejections + (failure.class === 'rejected' ? 1 : 0),
    streak,
  };
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

function withPayment(operation: Operation, facts: Facts, reading: PaymentReading, at: string): Facts {
  const before = facts.payment;
  const customer = reading.customer === undefined ? before.customer : reading.customer;
  const payment: PaymentFacts = {
    state: reading.state,
    provider_status: reading.provider_status,
    amount: reading.amount,
    currency: reading.currency,
    capture: reading.capture,
    payment_method: reading.payment_method,
    sent_method: before.sent_method,
    ...(customer !== undefined && { customer }),
    authorized: reading.authorized,
    captured: reading.captured,
    disputed: reading.disputed,
    ...disputesAfter(before, reading),
    capture_before: reading.capture_before,
    next_action: reading.next_action,
    last_error: reading.last_error,
    ...(reading.charge !== undefined && { charge: reading.charge }),
    canceled_because: reading.canceled_because,
    operation_id: reading.operation_id,
    ...(before.taken_by !== undefined && { taken_by: before.taken_by }),
    answered_confirmation: answeredAfter(facts, reading),
    observed_at: at,
  };
  return {
    ...facts,
    payment,
    refunds:
      reading.refunds === null ? facts.refunds : listedRefunds(operation, facts.refunds, reading.refunds),
  };
}

/** An answer to a write shows that there was a dispute and not how it stands: then what was listed stays. */
function disputesAfter(
  before: PaymentFacts,
  reading: PaymentReading,
): Pick<PaymentFacts, 'disputes' | 'lost'> {
  const { disputes, lost = 0, disputed } = reading;
  if (disputes !== undefined) return { disputes, lost };
  if (!disputed || before.disputes === undefined) return { lost };
  return { disputes: before.disputes, lost: before.lost };
}

/** The last confirmation that a reading proves to have been answered, whatever became of its own answer. */
function answeredAfter({ payment: before, unresolved }: Facts, reading: PaymentReading): number {
  // Any state but `created` proves that one was answered, ours or the front end's; a word that we do not know, nothing.
  const silent = reading.state === 'created' || reading.state === 'unknown';
  const known = silent ? before.answered_confirmation : Math.max(1, before.answered_confirmation);
  // From these states nothing but a confirmation leads away. Awaiting the customer is none: they move it, too.
  const still = before.state === 'created' || before.state === 'failed';
  if (silent || !still || unresolved?.step !== 'confirm_payment') return known;
  const askedAgain = before.charge !== undefined && reading.charge !== before.charge;
  return reading.state !== before.state || askedAgain
    ? Math.max(known, confirmationOf(unresolved.target))
    : known;
}

const confirmationOf = (target: string): number => Number(target.split('/').at(-1));

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

/** A payment that is not this order's is seen, to say why; its money and its refunds are none of this order's. */
const withoutMoney = (operation: Operation, facts: Facts): Facts => ({
  ...facts,
  payment: withoutAmounts(facts.payment),
  refunds: operation.facts.refunds,
});

/**
 * The payment that was to become this order's is recorded as that of the operation `other`. `refunds`: as they were known
 * before it was seen.
 */
export function takenPayment({ facts }: Operation, refunds: Facts['refunds'], other: string): Known {
  const { payment } = facts;
  return {
    facts: { ...facts, payment: { ...withoutAmounts(payment), taken_by: other }, refunds },
    provider_reference: null,
  };
}

const withoutAmounts = (payment: PaymentFacts): PaymentFacts => ({
  ...payment,
  authorized: 0,
  captured: 0,
  lost: 0,
  next_action: null,
  capture_before: null,
});

/** A payment of the front end is ours only when everything that can be compared agrees. */
function adoptable(facts: Facts, operation: Operation, reading: PaymentReading): boolean {
  const { amount, payment } = operation.wish.spec;
  if (facts.payment.state === 'unknown' || facts.payment.taken_by !== undefined) return false;
  if (reading.currency !== amount.currency) return false;
  // Found by what we sent ourselves; the amount that is wanted may have changed since.
  if (payment.reference === null) return reading.operation_id === operation.operation_id;
  return (
    (reading.operation_id === null || reading.operation_id === operation.operation_id) &&
    reading.amount === amount.value
  );
}

function toRefundFact(operation: Operation, reading: RefundReading): RefundFact {
  const ours = reading.refund_id !== null && reading.operation_id === operation.operation_id;
  const refundId = ours && reading.refund_id !== null ? reading.refund_id : reading.reference;
  const asked = operation.wish.spec.refunds.some((request) => request.refund_id === refundId);
  return {
    refund_id: refundId,
    amount: reading.amount,
    state: reading.state,
    source: asked ? 'operation' : ours && refundId.startsWith('cancellation') ? 'cancellation' : 'external',
    provider_reference: reading.reference,
    reason: reading.reason,
  };
}

/** A full list replaces what was known, but a refund once seen is kept: lists do not forget, readers do. */
function listedRefunds(
  operation: Operation,
  known: readonly RefundFact[],
  listed: readonly RefundReading[],
): readonly RefundFact[] {
  return listed.reduce((facts, reading) => withRefund(operation, facts, reading), known);
}

function withRefund(
  operation: Operation,
  known: readonly RefundFact[],
  reading: RefundReading,
): readonly RefundFact[] {
  const fact = toRefundFact(operation, reading);
  const at = known.findIndex((refund) => refund.provider_reference === fact.provider_reference);
  return at < 0 ? [...known, fact] : known.map((refund, index) => (index === at ? fact : refund));
}

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

/** A confirmation was answered for good, so the terms of the payment stand. */
const MOVED_ON: ReadonlySet<PaymentFacts['state']> = new Set([
  'processing',
  'authorized',
  'captured',
  'canceled',
]);

/** No request stays under way for so long; client libraries give up after minutes. */
const LOST_MS = 60 * 60 * 1000;

const age = (since: string | undefined, at: string | null): number =>
  since === undefined || at === null ? 0 : Date.parse(at) - Date.parse(since);

/** Whether what was seen shows the effect of a step, or that it can no longer happen. */
export function effectSeen(
  effect: Pick<Attempt, 'step' | 'target'> & { readonly since?: string; readonly started_at?: string },
  facts: Facts,
  reference: string | null,
  operation: Operation,
): boolean {
  const { state } = facts.payment;
  const stock = facts.inventory.state;
  switch (effect.step) {
    case 'create_payment':
      return reference !== null;
    case 'update_payment':
      // One to former terms is not refuted by the present ones: it may still be on its way.
      return MOVED_ON.has(state) || isUpToDate(effect, facts, reference, operation);
    case 'confirm_payment':
      return MOVED_ON.has(state) || facts.payment.answered_confirmation >= confirmationOf(effect.target);
    case 'capture_payment':
      return state === 'captured' || state === 'canceled';
    case 'cancel_payment':
      return (
        state === 'captured' ||
        state === 'canceled' ||
        // The customer was faster, and what has been on the wire for so long does not arrive any more.
        (state === 'authorized' &&
          age(effect.since ?? effect.started_at, facts.payment.observed_at) > LOST_MS)
      );
    case 'create_refund':
      // When everything has gone back otherwise, the provider would refuse it.
      return (
        standingRefunds({ ...operation, facts }).some((refund) => refund.refund_id === effect.target) ||
        (state === 'captured' && heldAtProvider({ ...operation, facts }) <= 0)
      );
    case 'reserve_inventory':
      return (
        (stock === 'reserved' && sameLines(facts.inventory.lines, operation.wish.spec.lines)) ||
        stock === 'committed' ||
        stock === 'released'
      );
    case 'commit_inventory':
      return stock === 'committed' || stock === 'released';
    case 'release_inventory':
      return stock === 'released';
  }
}

/** What reading says of a try whose answer was lost, or null while it is in doubt. */
export function resolutionOf(
  attempt: Attempt,
  facts: Facts,
  reference: string | null,
  operation: Operation,
): Resolution | null {
  if (!effectSeen(attempt, facts, reference, operation)) return null;
  return isShown(attempt, facts, reference, operation) ? 'effect_observed' : 'overtaken';
}

/** The terms of the payment are those of this update, which are the ones that are wanted. */
const isUpToDate = (
  update: Pick<Attempt, 'target'>,
  facts: Facts,
  reference: string | null,
  operation: Operation,
): boolean =>
  update.target === updateTarget(reference ?? '', operation) && !isOutdated(facts.payment, operation.wish);

/** Whether the world, as it was seen, is as the effect leaves it. */
function isShown(
  effect: Pick<Attempt, 'step' | 'target'>,
  facts: Facts,
  reference: string | null,
  operation: Operation,
): boolean {
  const { state } = facts.payment;
  const stock = facts.inventory.state;
  switch (effect.step) {
    case 'create_payment':
      return true;
    case 'update_payment':
      return isUpToDate(effect, facts, reference, operation);
    case 'confirm_payment':
      return state !== 'canceled';
    case 'capture_payment':
      return state === 'captured';
    case 'cancel_payment':
      return state === 'canceled';
    case 'create_refund':
      return standingRefunds({ ...operation, facts }).some((refund) => refund.refund_id === effect.target);
    case 'reserve_inventory':
      return stock === 'reserved' || stock === 'committed';
    case 'commit_inventory':
      return stock === 'committed';
    case 'release_inventory':
      return stock === 'released';
  }
}
