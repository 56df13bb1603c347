/** The retry budget of one wish: a new wish, and a person's retry, begin with a fresh one. */
import type { StepName } from './attempt.js';
import { decisionsOf } from './decisions.js';
import { spendsBudget, type Failure } from './failure.js';
import type { Budget, Operation } from './operation.js';
import { isReading, type Reader } from './step.js';

export const isCurrent = ({ generation, wish }: Operation, budget: Budget): boolean =>
  budget.generation === generation && (budget.retries ?? 0) === decisionsOf(wish).retries;

export const freshBudget = (operation: Operation): Budget => ({
  generation: operation.generation,
  ...withRetries(decisionsOf(operation.wish).retries),
  step: null,
  used: 0,
  reads: 0,
  rejections: 0,
  streak: 0,
});

const withRetries = (retries: number): Pick<Budget, 'retries'> => (retries === 0 ? {} : { retries });

export function spend(operation: Operation, budget: Budget, failure: Failure, on: StepName | Reader): Budget {
  const current = isCurrent(operation, budget) ? budget : freshBudget(operation);
  const cost = spendsBudget(failure) ? 1 : 0;
  const streak = current.streak + 1;
  if (isReading(on)) {
    return { ...current, reads: current.reads + cost, streak };
  }
  const { refusal: before, ...others } = current;
  const same = current.step === on;
  const refusal = failure.class === 'rejected' ? failure : same ? before : undefined;
  return {
    ...others,
    step: on,
    used: (same ? current.used : 0) + cost,
    rejections: (same ? current.rejections : 0) + (failure.class === 'rejected' ? 1 : 0),
    ...(refusal !== undefined && { refusal }),
    streak,
  };
}
