/** What the journal and the step in progress add to the facts: tries without an answer, and answers that came late. */
import { openAttempts, type Attempt, type StepName } from './attempt.js';
import { assertionOf, isAsserted, isSameEffect } from './decisions.js';
import type { Facts, Known, Operation } from './operation.js';
import { isOfInventory } from './step.js';
import { confirmationOf } from './terms.js';

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
