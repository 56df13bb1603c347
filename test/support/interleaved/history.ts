/** One order, several workers, callers, the provider and time, in any order that a scheduler gives them turns. */
import fc from 'fast-check';
import { withTask } from '../../../src/operation/absorb-journal.js';
import { nextStatus } from '../../../src/operation/next-status.js';
import type { Policy } from '../../../src/operation/operation.js';
import { reconcile } from '../../../src/reconciler/reconcile.js';
import {
  ask,
  beginning,
  decisionOf,
  disagreements,
  doOutside,
  HOUR,
  outside,
  start,
  theBankFinishes,
  type Ask,
  type Outside,
  type Start,
} from '../modelled-history.js';
import { FAULTS } from '../modelled-world.js';
import { Rules } from './rules.js';
import { ModelledStore } from './store.js';
import { aWorker, LEASE_MS, type Luck, type Turn } from './worker.js';

/** The turn after which something is begun at the earliest. */
interface After {
  readonly after: number;
}
export interface Plan {
  readonly start: Start;
  readonly workers: readonly (Luck & { readonly diesAt: number | null })[];
  readonly asks: readonly (After & { readonly ask: Ask })[];
  /** `hook`: an event tells of it; otherwise only reading does. */
  readonly outside: readonly (After & { readonly doing: Outside; readonly hook: boolean })[];
  readonly times: readonly (After & { readonly ms: number })[];
}

const after = fc.nat(120);
const cancel = fc.constant({ kind: 'cancel' as const });
const refunds = fc.record({
  kind: fc.constant('refund' as const),
  id: fc.constantFrom('r1', 'r2', 'r3'),
  amount: fc.constantFrom(30, 50, 80),
});
const worker = fc.record({
  faults: fc.array(
    fc.oneof({ weight: 3, arbitrary: fc.constant('none' as const) }, fc.constantFrom(...FAULTS)),
    {
      maxLength: 6,
    },
  ),
  unread: fc.array(fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)), {
    maxLength: 8,
  }),
  diesAt: fc.option(fc.nat(40), { freq: 2 }),
});
export const plans: fc.Arbitrary<Plan> = fc.record({
  start,
  workers: fc.array(worker, { minLength: 2, maxLength: 3 }),
  asks: fc.array(
    fc.record({
      after,
      ask: fc.oneof(
        { weight: 12, arbitrary: ask },
        { weight: 2, arbitrary: refunds },
        { weight: 1, arbitrary: cancel },
      ),
    }),
    { maxLength: 7 },
  ),
  outside: fc.array(fc.record({ after, doing: outside, hook: fc.boolean() }), { maxLength: 5 }),
  times: fc.array(
    fc.record({ after, ms: fc.constantFrom(2_000, 31_000, 31_000, 31_000, 40 * 60_000, 25 * HOUR) }),
    { maxLength: 6 },
  ),
});

const PASSES = 8;
const MOST_TRIES = 20;
/** As long as the longest pause between tries; what waits for longer waits for something else. */
const MOST_IDLE_MS = 5 * 60_000;
/** Lets everything run that waits for nothing but its turn. */
const settled = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

class History {
  readonly store: ModelledStore;
  readonly rules: Rules;
  readonly #policy: Policy;
  readonly #plan: Plan;
  readonly #scheduler: fc.Scheduler;
  readonly #failures: unknown[] = [];

  constructor(plan: Plan, scheduler: fc.Scheduler) {
    const { world, wish, policy } = beginning(plan.start);
    this.#plan = plan;
    this.#policy = policy;
    this.#scheduler = scheduler;
    this.store = new ModelledStore(world, wish, policy);
    this.rules = new Rules(this.store);
  }

  #turn: Turn = (doing) => this.#scheduler.schedule(Promise.resolve(), doing);

  async play(): Promise<void> {
    const idle = this.#plan.workers.map((luck, index) => this.#worker(`worker ${index}`, luck));
    const waiting = [...this.#actors()].sort((a, b) => a.after - b.after);
    for (let turns = 0; turns < 1_000; turns += 1) {
      if (this.#scheduler.count() === 0) this.#passTheTime();
      while (waiting[0] !== undefined && (waiting[0].after <= turns || this.#idle(idle))) {
        const actor = waiting.shift();
        this.#begin(actor?.act());
        await settled();
      }
      for (const one of idle) if (one.free() && this.store.claimable) this.#begin(one.work());
      await settled();
      if (this.#scheduler.count() === 0) {
        if (waiting.length === 0) break;
        continue;
      }
      await this.#scheduler.waitOne();
      await settled();
      this.rules.check();
    }
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  /** Nobody has anything to do now: pauses and leases run out. */
  #passTheTime(): void {
    const { world, claimableAt } = this.store;
    const pause = claimableAt - world.now;
    if (pause > 0 && pause <= MOST_IDLE_MS) world.pass(pause);
  }

  #idle(workers: readonly { free(): boolean }[]): boolean {
    const somebodyCan = this.store.claimable && workers.some((one) => one.free());
    return this.#scheduler.count() === 0 && !somebodyCan;
  }

  #begin(doing: Promise<void> | undefined): void {
    doing?.catch((error: unknown) => this.#failures.push(error));
  }

  #worker(name: string, { faults, unread, diesAt }: Plan['workers'][number]) {
    let turns = 0;
    let passes = 0;
    let busy = false;
    // A process that stops gets no turn any more: what it had begun is left as it is.
    const turn: Turn = (doing) => {
      turns += 1;
      return diesAt !== null && turns > diesAt ? new Promise<void>(() => undefined) : this.#turn(doing);
    };
    const luck: Luck = { faults: [...faults], unread: [...unread] };
    const loop = aWorker(name, this.store, this.#policy, luck, turn);
    return {
      free: () => !busy && passes < PASSES,
      work: async (): Promise<void> => {
        busy = true;
        passes += 1;
        await turn(`${name}: claim`);
        const claim = this.store.claim(name, LEASE_MS);
        if (claim !== null) {
          await turn(`${name}: claimed`);
          await reconcile(claim, loop);
          this.store.ended(name);
        }
        busy = false;
      },
    };
  }

  *#actors(): Generator<After & { act: () => Promise<void> }> {
    const { world } = this.store;
    for (const { after: begins, ask: wanted } of this.#plan.asks)
      yield { after: begins, act: () => this.#request(wanted) };
    for (const { after: begins, doing, hook } of this.#plan.outside)
      yield {
        after: begins,
        act: async () => {
          await this.#turn(`outside: ${doing.kind}`);
          doOutside(world, doing);
          if (!hook) return;
          await this.#turn('a webhook');
          this.store.wake();
        },
      };
    for (const { after: begins, ms } of this.#plan.times)
      yield {
        after: begins,
        act: async () => {
          await this.#turn(`${ms} ms pass`);
          world.pass(ms);
        },
      };
  }

  /** As the API does it: read, decide, write against the version that was read, and anew when that was lost. */
  async #request(wanted: Ask): Promise<void> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      await this.#turn(`${wanted.kind}: read`);
      const record = this.store.row;
      const now = new Date(this.store.world.now);
      const seen = withTask(record, record.task, now);
      const change = decisionOf(wanted)(seen, { by: 'checkout', now, policy: this.#policy });
      if (change.kind !== 'changed') return;
      const generation = record.generation + (change.spec_changed ? 1 : 0);
      await this.#turn(`${wanted.kind}: write`);
      const stored = this.store.changeWish({
        operation_id: 'op-1',
        resource_version: record.resource_version,
        wish: change.wish,
        status: nextStatus({ ...seen, wish: change.wish, generation }, now, this.#policy),
        spec_changed: change.spec_changed,
        transitions: [],
        event: { ...change.event, actor: { kind: 'key', name: 'checkout' } },
      });
      if (stored === null) continue;
      this.rules.accepted(wanted);
      return;
    }
  }

  /** From here on nothing fails, and everybody does what is theirs to do. Returns what is wrong at rest. */
  async heal(): Promise<string[]> {
    const { store } = this;
    const { world } = store;
    world.outside += 1;
    world.pass(HOUR);
    for (const payment of world.payments) world.decide(payment, 'won', false);
    if (store.row.wish.paused !== null) {
      const { row } = store;
      store.row = { ...row, wish: { ...row.wish, paused: null } };
    }
    store.wake();
    const loop = aWorker('the last', store, this.#policy, { faults: [], unread: [] }, () =>
      Promise.resolve(),
    );
    const begun = store.attempts.length;
    for (let passes = 0; passes < 130; passes += 1) {
      const before = JSON.stringify(store.row.status);
      if (store.claimableAt === Infinity) break;
      world.pass(Math.max(0, store.claimableAt - world.now));
      const claim = store.claim('the last', LEASE_MS);
      if (claim === null) return ['it is due and cannot be claimed'];
      await reconcile(claim, loop);
      this.rules.check();
      theBankFinishes(world);
      if (store.attempts.length - begun > 30) return ['it keeps sending'];
      const { phase, settled_at, attention } = store.row.status;
      const waits = phase === 'authorized' || settled_at !== null || attention !== null;
      const same = before === JSON.stringify(store.row.status);
      if (waits && same && store.claimableAt > world.now) return this.#atRest();
    }
    const { status } = store.row;
    return store.due === null ? this.#atRest() : [`it is still ${status.phase} (${status.condition})`];
  }

  #atRest(): string[] {
    const { world, row: record, attempts } = this.store;
    const found = disagreements({ world, record });
    // Refused by the provider only where others gave money back, or took less of it, behind our back.
    const refused = attempts.some(
      ({ step, failure }) => step === 'create_refund' && failure?.code === 'amount_too_large',
    );
    return refused && this.#plan.outside.length === 0
      ? [...found, 'more was asked back than is held']
      : found;
  }
}

/** What is wrong with a history, in words; empty when nothing is. */
export async function wrongWith(plan: Plan, scheduler: fc.Scheduler): Promise<string[]> {
  const history = new History(plan, scheduler);
  await history.play();
  const atRest = await history.heal();
  return [...new Set([...history.rules.broken(), ...atRest])];
}
