/** Whether a retry budget is that of the present wish: a new wish, and a person's retry, begin with a fresh one. */
import { decisionsOf } from './decisions.js';
import type { Budget, Operation } from './operation.js';

export const isCurrent = ({ generation, wish }: Operation, budget: Budget): boolean =>
  budget.generation === generation && (budget.retries ?? 0) === decisionsOf(wish).retries;
