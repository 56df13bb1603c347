/** When to look again. Pure; `random` is uniform in [0, 1). */
import { backoff } from './backoff.js';
import { deadlineOf } from './goal.js';
import type { Operation, Policy } from './operation.js';
import { isReading, type Decision } from './step.js';

/** A record that nothing happens to is read again after a tenth of its quiet time: about 25 readings a decade of time. */
const DECAY = 10;

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

  const atWork = status.settled_at === null && status.attention === null;
  const failed = facts.failure !== null && facts.failure.class !== 'declined';
  if (atWork && (decision.kind === 'step' || (decision.kind === 'wait' && failed))) {
    const { backoff_base_ms, backoff_max_ms } = policy;
    const pause = backoff(facts.budget.streak, { base_ms: backoff_base_ms, max_ms: backoff_max_ms }, random);
    return new Date(time + Math.max(pause, facts.failure?.retry_after_ms ?? 0));
  }

  const quietSince = status.settled_at ?? status.attention?.since ?? null;
  const quiet = quietSince === null ? 0 : time - Date.parse(quietSince);
  const turn = Math.max(policy.resync_interval_ms, quiet / DECAY);
  const unread = facts.failure !== null && isReading(facts.failure.step);
  const inDoubt = facts.unresolved !== null && status.attention !== null && quiet <= policy.watch_ms;
  if (unread || inDoubt) {
    // It was read for a reason, perhaps a webhook that does not come twice, and nothing was seen; or nothing is sent any
    // more, and a reading alone can tell a person whether money moved. What is settled or waits for a person has time:
    // the pauses double up to its slow turn, so that an outage is no storm.
    const pause = backoff(facts.budget.streak, { base_ms: policy.backoff_base_ms, max_ms: turn }, random);
    return new Date(time + Math.max(pause, facts.failure?.retry_after_ms ?? 0, unread ? 0 : quiet / DECAY));
  }
  if (quiet > policy.watch_ms) return null;
  const deadline = status.settled_at === null ? deadlineOf(operation, policy) : null;
  const passed = deadline === null || deadline <= time;
  return new Date(passed ? time + turn : Math.min(time + turn, deadline));
}
