/** What a service (payments, warehouse) offers to the request flow: open a call, then run it under a plan. */
import { type Answer, type Exchange } from './exchange.js';

/** How a call is to be carried out; faults change it. */
export interface ExecutionPlan {
  delayBeforeMs: number;
  /** False: no effect takes place, `replace` alone makes the answer. */
  run: boolean;
  /** Changes the answer before it is stored under the idempotency key, so a replay repeats the changed one. */
  replace: ((answer: Answer) => Answer) | null;
  delayAfterMs: number;
}

export const AS_USUAL: ExecutionPlan = { delayBeforeMs: 0, run: true, replace: null, delayAfterMs: 0 };

export interface Served {
  answer: Answer;
  replayed: boolean;
  hadEffect: boolean;
}

export interface Call {
  /** Name of the route, as fault rules and the journal know it. */
  route: string;
  operationId: string | null;
  idempotencyKey: string | null;
  requestId: string | null;
  /** True when the idempotency key alone decides the answer, so no execution takes place. */
  decidedByKey: boolean;
  run(plan: ExecutionPlan): Promise<Served>;
}

export interface Surface {
  name: 'payments' | 'warehouse';
  open(exchange: Exchange): Call;
}
