/** The plan of an operation: one look and one decision, as a pass would make them, with nothing done. */
import { paymentFailure } from '../operation/absorb.js';
import { withoutPage, type Observation } from '../operation/observation.js';
import type { Operation } from '../operation/operation.js';
import { allRefunds } from '../operation/refund.js';
import { formatMoney } from '../operation/money.js';
import type { OperationStore } from '../store/operation-store.js';
import { observe } from './observe.js';
import { beginPass, decide, withObservation } from './pass.js';
import type { Plan, Planner } from './plan.js';
import type { LoopDependencies } from './ports.js';

type Eyes = Pick<LoopDependencies, 'accounts' | 'inventory' | 'clock' | 'observer' | 'policy'>;

export class ReadingPlanner implements Planner {
  readonly #store: OperationStore;
  readonly #eyes: Eyes;

  constructor(store: OperationStore, eyes: Eyes) {
    this.#store = store;
    this.#eyes = eyes;
  }

  async plan(operationId: string): Promise<Plan | null> {
    const record = await this.#store.find(operationId);
    if (record === null) return null;
    const [attempts, paused] = await Promise.all([
      this.#store.attempts(operationId),
      this.#eyes.accounts.pauseOf(record.account),
    ]);
    const account = paused === null ? {} : { account_paused: paused };
    const pass = beginPass({ row: '', fencing_token: 0, record, attempts, ...account });
    const observation = await observe(pass, this.#eyes, true);
    const after = withObservation(pass, observation, this.#eyes.clock.now());
    const seen = {
      payment: paymentFailure(pass.operation, observation) === null,
      inventory: observation.inventory.kind !== 'unknown',
    };
    const { decision } = decide(after, seen, this.#eyes.clock.now(), this.#eyes.policy);
    return {
      record,
      observation: evidence(observation),
      decision,
      differences: differences(after.operation),
    };
  }
}

const evidence = (observation: Observation): Observation =>
  observation.payment.kind === 'present'
    ? { ...observation, payment: { kind: 'present', value: withoutPage(observation.payment.value) } }
    : observation;

/** What is wanted beside what is seen, where they differ. */
function differences(operation: Operation): string[] {
  const { wish, facts } = operation;
  const { value, currency } = wish.spec.amount;
  const money = (amount: number): string => formatMoney(amount, currency);
  const lines: string[] = [];
  if (wish.cancellation !== null) {
    if (facts.payment.captured > 0)
      lines.push(`no money is wanted; ${money(facts.payment.captured)} was captured`);
    if (facts.payment.authorized > 0)
      lines.push(`no money is wanted; ${money(facts.payment.authorized)} is authorized`);
    if (facts.inventory.state === 'reserved') lines.push('no stock is wanted; stock is reserved');
  } else {
    const wanted = Math.min(value, wish.spec.payment.capture_amount ?? value);
    const seen = wish.spec.desired === 'authorized' ? facts.payment.authorized : facts.payment.captured;
    if (seen !== wanted)
      lines.push(
        `${money(wanted)} is wanted ${wish.spec.desired}; ${money(seen)} is (${facts.payment.state})`,
      );
    if (wish.spec.lines.length > 0 && facts.inventory.state !== 'committed') {
      lines.push(`stock for ${wish.spec.lines.length} lines is wanted; it is ${facts.inventory.state}`);
    }
  }
  for (const refund of allRefunds(operation).filter((one) => one.state !== 'succeeded')) {
    lines.push(`refund ${refund.refund_id} of ${money(refund.amount)} is ${refund.state}`);
  }
  return lines;
}
