/** One look for people: the same reading and the same decision as a pass, with nothing done and nothing written. */
import { paymentFailure } from '../operation/absorb.js';
import type { Look } from '../operation/evidence.js';
import { mismatchOf, nextStep, type Seen } from '../operation/next-step.js';
import type { Observation } from '../operation/observation.js';
import type { Operation } from '../operation/operation.js';
import type { JournalAttempt, OperationRecord } from '../store/record.js';
import { observe } from './observe.js';
import { beginPass, withObservation } from './pass.js';
import type { LoopDependencies } from './ports.js';

export type Eyes = Pick<LoopDependencies, 'accounts' | 'inventory' | 'clock' | 'observer' | 'policy'>;

export interface Looked extends Look {
  readonly recorded: OperationRecord;
  /** Which sides could be read. */
  readonly sides: Seen;
}

export async function lookAt(
  recorded: OperationRecord,
  attempts: readonly JournalAttempt[],
  eyes: Eyes,
): Promise<Looked> {
  const pass = beginPass({ row: '', fencing_token: 0, record: recorded, attempts });
  const observation = await observe(pass, eyes, true);
  const now = eyes.clock.now();
  const after = withObservation(pass, observation, now);
  const sides = sidesOf(pass.operation, observation);
  return {
    recorded,
    seen: { operation: after.operation, attempts: after.attempts },
    observation,
    sides,
    decision: nextStep(after.operation, sides, now, eyes.policy),
  };
}

const sidesOf = (operation: Operation, observation: Observation): Seen => ({
  payment: paymentFailure(operation, observation) === null,
  inventory: observation.inventory.kind !== 'unknown',
});

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
