/** What the loop would do now, without doing it: the same reading and the same decision as a pass. */
import type { Decision } from '../operation/step.js';
import type { Observation } from '../operation/observation.js';
import type { OperationRecord } from '../store/record.js';

export interface Plan {
  readonly record: OperationRecord;
  readonly observation: Observation;
  readonly decision: Decision;
  /** One line a difference, for people: what is wanted, what is seen. */
  readonly differences: readonly string[];
}

export interface Planner {
  /** Null for an operation that does not exist. Reads the provider and the warehouse; writes nothing. */
  plan(operationId: string): Promise<Plan | null>;
}
