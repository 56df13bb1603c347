/** When to look again. Pure; `random` is uniform in [0, 1). */
import { backoff } from './backoff.js';
import { decisionsOf } from './decisions.js';
import { deadlineOf, expiryWarning } from './goal.js';
import type { Operation, Policy } from './operation.js';
import { isReading, type Decision } from './step.js';

/** Settled records are watched for so many days: refunds fail and chargebacks arrive late, nearly all within 120. */
export const WATCH_DAYS = 180;

/** A record that nothing happens to is read again after a tenth of its quiet time: about 25 readings a decade of time. */
const DECAY = 10;

/** A refund that waits for room asks again within two hours: that it does not tells that none waits any more. */
const MOST_SPREAD_MS = 60 * 60 * 1000;

/**
 * It waits because something could not be read. An effect that failed and is no longer what is missing (the wish went
 * back, the order is paused, a dispute came up) is no reason to look sooner: nothing is about to be tried again.
 */
function isBlind({ facts: { failure } }: Operation, decision: Decision): boolean {
  if (decision.kind !== 'wait' || failure === null) return false;
  const { reason } = decision;
  return isReading(failure.step) || reason === 'ProviderUnreachable' || reason === 'InventoryUnreachable';
}

/**
 * The next look at an operation after a pass that ended with `decision`, or null when it is watched no longer.
 * `operation` carries the facts and the status that the pass recorded.
 */
export function nextLook(
  operation: Operation,
  decision: Decision,
  now: Date,
  random: number,
  policy: Policy,
): Date | null {
  const time = now.getTime();
  const { facts, status } = operation;

  const { given_up } = decisionsOf(operation.wish);
  const atWork = status.settled_at === null && status.attention === null && given_up === null;
  if (atWork && (decision.kind === 'step' || isBlind(operation, decision))) {
    const { backoff_base_ms, backoff_max_ms } = policy;
    const pause = backoff(facts.budget.streak, { base_ms: backoff_base_ms, max_ms: backoff_max_ms }, random);
    return new Date(time + Math.max(pause, facts.failure?.retry_after_ms ?? 0));
  }

  const quietSince = status.settled_at ?? status.attention?.since ?? given_up?.at ?? null;
  const quiet = quietSince === null ? 0 : time - Date.parse(quietSince);
  const turn = Math.max(policy.resync_interval_ms, quiet / DECAY);
  const unread = facts.failure !== null && isReading(facts.failure.step);
  const inDoubt = facts.unresolved !== null && status.attention !== null && quiet < policy.watch_ms;
  if (unread || inDoubt) {
    // It was read for a reason, perhaps a webhook that does not come twice, and nothing was seen; or nothing is sent any
    // more, and a reading alone can tell a person whether money moved. What is settled or waits for a person has time:
    // the pauses double up to its slow turn, so that an outage is no storm.
    const pause = backoff(facts.budget.streak, { base_ms: policy.backoff_base_ms, max_ms: turn }, random);
    return new Date(time + Math.max(pause, facts.failure?.retry_after_ms ?? 0, unread ? 0 : quiet / DECAY));
  }
  if (decision.kind === 'person' && decision.reason === 'RefundBrake' && facts.braked !== undefined) {
    // All that wait are told of the same moment: spread out, they do not fall over the provider to see one of them win.
    const room = Math.max(time, Date.parse(facts.braked.until));
    return new Date(room + random * Math.min(turn, MOST_SPREAD_MS));
  }
  if (quiet >= policy.watch_ms) return null;
  const deadline = status.settled_at === null ? deadlineOf(operation, policy) : null;
  // The last look is at the end of the watch: what happened on its last day is seen, and nothing is read after it.
  const watched = quietSince === null ? null : Date.parse(quietSince) + policy.watch_ms;
  const moments = [deadline, expiryWarning(operation), watched].filter(
    (moment): moment is number => moment !== null && moment > time,
  );
  return new Date(Math.min(time + turn, ...moments));
}
