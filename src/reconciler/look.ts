/** One look for people: the same reading and the same decision as a pass, with nothing done and nothing written. */
import { paymentFailure } from '../operation/absorb.js';
import type { Look } from '../operation/evidence.js';
import { mismatchOf } from '../operation/mismatch.js';
import type { Seen } from '../operation/observation.js';
import { readable } from '../operation/operation.js';
import type { JournalAttempt, OperationRecord } from '../store/record.js';
import { observe, seenIn } from './observe.js';
import { beginPass, decide, withObservation } from './pass.js';
import type { LoopDependencies } from './ports.js';

export type Eyes = Pick<LoopDependencies, 'accounts' | 'inventory' | 'clock' | 'observer' | 'policy'>;

export interface Looked extends Look {
  readonly recorded: OperationRecord;
  /** The journal as it is recorded; in `seen`, as it reads with what was just seen. */
  readonly journal: readonly JournalAttempt[];
  /** Which sides could be read. */
  readonly sides: Seen;
}

export async function lookAt(
  stored: OperationRecord,
  attempts: readonly JournalAttempt[],
  eyes: Eyes,
): Promise<Looked> {
  const recorded = readable(stored);
  const paused = await eyes.accounts.pauseOf(recorded.account);
  const account = paused === null ? {} : { account_paused: paused };
  const begun = beginPass({ row: '', fencing_token: 0, record: recorded, attempts, ...account });
  const observation = await observe(begun, eyes, true);
  const now = eyes.clock.now();
  const after = withObservation(begun, observation, now);
  const sides = seenIn(begun.operation, observation);
  const { pass, decision } = decide(after, sides, now, eyes.policy);
  return {
    recorded,
    journal: attempts,
    seen: { operation: pass.operation, attempts: pass.attempts },
    observation,
    sides,
    decision,
  };
}

/** Why the payment that an order is about to adopt cannot be its own, or null; read by the rules of a pass. */
export async function whyNotAdoptable(
  record: OperationRecord,
  attempts: readonly JournalAttempt[],
  eyes: Eyes,
): Promise<string | null> {
  const pass = beginPass({ row: '', fencing_token: 0, record, attempts });
  const observation = await observe(pass, eyes, true);
  const { operation } = withObservation(pass, observation, eyes.clock.now());
  const failure = paymentFailure(pass.operation, observation);
  if (failure !== null) return failure.message;
  if (operation.facts.payment.state === 'unknown')
    return 'The provider reports a status that this version does not know.';
  return mismatchOf(operation)?.why ?? null;
}
