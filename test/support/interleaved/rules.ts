/** What must hold at every moment of every history, whoever did what. */
import type { Ask } from '../modelled-history.js';
import type { ModelledStore } from './store.js';

export class Rules {
  readonly #store: ModelledStore;
  readonly #broken = new Set<string>();
  #cancelled = false;
  #before = { generation: 0, resource_version: 0, observed_version: 0, token: 0 };

  constructor(store: ModelledStore) {
    this.#store = store;
  }

  /** A request that was answered with success. */
  accepted({ kind }: Ask): void {
    if (kind === 'cancel') this.#cancelled = true;
    if (kind === 'refund') this.#expectRefundable();
  }

  /** What is promised to customers is there, however much of it is still on its way. */
  #expectRefundable(): void {
    const { world, row } = this.#store;
    const refunds = world.payments.flatMap((payment) => payment.refunds);
    const promised = row.wish.spec.refunds.filter(
      ({ refund_id }) =>
        !refunds.some((refund) => refund.refund_id === refund_id && refund.state === 'failed'),
    );
    const captured = world.payments.reduce((total, payment) => total + payment.captured, 0);
    if (promised.reduce((total, { amount }) => total + amount, 0) > captured)
      this.#broken.add('more is promised back than was captured');
  }

  broken(): string[] {
    const { world, violations } = this.#store;
    return [...this.#broken, ...world.violations, ...violations];
  }

  check(): void {
    const { world, row: record, token } = this.#store;
    const expectThat = (holds: boolean, otherwise: string): void => {
      if (!holds) this.#broken.add(otherwise);
    };
    for (const { amount, authorized, captured, refunds } of world.payments) {
      expectThat(authorized <= amount, 'more is authorized than was asked');
      expectThat(captured <= amount, 'more is captured than was asked');
      const given = refunds.filter(({ state }) => state !== 'failed' && state !== 'canceled');
      const sum = given.reduce((total, refund) => total + refund.amount, 0);
      expectThat(sum <= captured, 'more is given back than was captured');
    }
    expectThat(world.payments.filter((one) => one.had_money).length <= 1, 'two payments moved money');
    expectThat(world.releases <= 1, 'stock was released twice');
    expectThat(!this.#cancelled || record.wish.cancellation !== null, 'an accepted cancellation is lost');
    expectThat(
      !this.#cancelled || ['cancelling', 'cancelled'].includes(record.status.phase),
      `cancelled, and said to be ${record.status.phase}`,
    );

    const refunds = world.payments.flatMap((payment) => payment.refunds);
    expectThat(
      record.status.attention?.reason !== 'RefundFailed' ||
        refunds.some(({ state }) => state === 'failed' || state === 'canceled'),
      'a refund is said to have failed, and none has',
    );

    const { generation, resource_version, status } = record;
    const now = { generation, resource_version, observed_version: status.observed_version, token };
    for (const name of Object.keys(now) as (keyof typeof now)[])
      expectThat(now[name] >= this.#before[name], `${name} went back`);
    expectThat(status.observed_version <= generation, 'evaluated before it was wished');
    this.#before = now;
  }
}
