/** Who decides, and how a decision that was not taken is answered. */
import { refusalOf, type Person, type Refused } from '../../reconciler/commands.js';
import { actorOf, mayCall, type Caller } from '../http/authentication.js';
import { ProblemError, unavailable } from '../http/problem.js';

export const personOf = (caller: Caller): Person => ({
  ...actorOf(caller),
  lead: mayCall(caller, ['support_lead']),
});

export function refuse(answer: Refused): never {
  const { problem, why, changes } = refusalOf(answer);
  if (problem === 'unavailable') throw unavailable(why);
  throw new ProblemError(problem, why, changes === undefined ? {} : { changes });
}
