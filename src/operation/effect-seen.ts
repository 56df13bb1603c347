/** What the world, as it was seen, says of an effect: that it is there, or can no longer happen. */
import type { Attempt, Resolution } from './attempt.js';
import type { Facts, Operation, PaymentFacts } from './operation.js';
import { heldAtProvider, standingRefunds } from './refund.js';
import { sameLines } from './spec.js';
import { confirmationOf, isOutdated, updateTarget } from './terms.js';

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
