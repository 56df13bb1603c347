/**
 * One record and its workers over a modelled world: the loop's order of reading, intent, effect and record, cut into
 * moments, so that workers interleave, die and go on with stale views. The record keeps the store's conditions: the
 * fence for facts, the version for an intent, the generation for a status.
 */
import { paymentFailure } from '../../src/operation/absorb.js';
import { openPayment, withTask } from '../../src/operation/absorb-journal.js';
import {
  chooseKey,
  effectKey,
  lostCreates,
  type KeyChoice,
  type Outcome,
  type StepName,
} from '../../src/operation/attempt.js';
import type { Asking, Change } from '../../src/operation/change.js';
import { carryOut, type Commanded } from '../../src/operation/command.js';
import type { Command } from '../../src/operation/command-rule.js';
import { decisionsOf, firstOrdinal } from '../../src/operation/decisions.js';
import type { Failure } from '../../src/operation/failure.js';
import { INITIAL_STATUS, nextStatus } from '../../src/operation/next-status.js';
import { nextStep } from '../../src/operation/next-step.js';
import { ALL_SEEN, type Seen, type Observation, type Reading } from '../../src/operation/observation.js';
import { NO_FACTS, type Operation, type Policy, type Wish } from '../../src/operation/operation.js';
import { nextLook } from '../../src/operation/schedule.js';
import type { Decision, Step } from '../../src/operation/step.js';
import {
  beginPass,
  withBrake,
  withObservation,
  withOutcome,
  withStatus,
  type Pass,
} from '../../src/reconciler/pass.js';
import { refundsMatter } from '../../src/reconciler/observe.js';
import type { JournalAttempt, OperationRecord } from '../../src/store/record.js';
import { heldOn, isBarred, withdrawnOf, type Fault, type ModelledWorld } from './modelled-world.js';

export const READS = ['both', 'no_payment', 'no_stock', 'none'] as const;
export type Reads = (typeof READS)[number];
export type Crash = 'never' | 'before_sending' | 'before_recording';

export interface Chance {
  readonly fault: Fault;
  readonly reads: Reads;
  readonly crash: Crash;
  /** The account's hour has no room for a refund. */
  readonly braked?: boolean;
}
export const GOOD_CHANCE: Chance = { fault: 'none', reads: 'both', crash: 'never' };

const OUT_OF_SIGHT: Failure = { class: 'unknown', code: 'timeout', message: 'No answer came.' };
const STEPS_PER_PASS = 12;
const LEASE_MS = 30_000;
const HOUR_MS = 3_600_000;
const FORGOTTEN_MS = 30 * 24 * HOUR_MS;

const found = <T>(value: T | null): Reading<T> =>
  value === null ? { kind: 'absent' } : { kind: 'present', value };

/** What a reader sees of a record. */
function visible({ facts, status, provider_reference }: Pass['written']): string {
  const payment = { ...facts.payment, observed_at: null };
  const inventory = { ...facts.inventory, observed_at: null };
  const budget = { ...facts.budget, streak: 0 };
  return JSON.stringify([{ ...facts, payment, inventory, budget }, status, provider_reference]);
}

interface Work {
  readonly pass: Pass;
  readonly seen: Seen;
  readonly refunds: boolean;
  readonly steps: number;
  /** Others' doings that this pass cannot have seen began after this count. */
  readonly outside: number;
  readonly next:
    | { readonly kind: 'look' }
    | { readonly kind: 'decide' }
    | { readonly kind: 'send'; readonly attempt: JournalAttempt; readonly step: Step }
    | {
        readonly kind: 'take_in';
        readonly attempt: JournalAttempt;
        readonly step: Step;
        readonly outcome: Outcome;
      };
}

export class ModelledLoop {
  record: OperationRecord;
  attempts: JournalAttempt[] = [];
  /** Milliseconds until the next look after the last release; null: watched no longer. */
  look_in_ms: number | null = 0;
  sends = 0;
  passes = 0;
  readonly violations: string[] = [];
  #holder: number | null = null;
  #leaseEnds = 0;
  #token = 0;
  #wake = 0;
  #claimedWake = 0;
  /** Others' doings up to this count are recorded. */
  #seen = 0;
  readonly #working = new Map<number, Work>();

  constructor(
    readonly world: ModelledWorld,
    wish: Wish,
    readonly policy: Policy,
    readonly steps_per_pass = STEPS_PER_PASS,
  ) {
    const created_at = this.#at();
    const operation: Operation = {
      operation_id: 'op-1',
      account: 'default',
      created_at,
      generation: 1,
      wish,
      provider_reference: null,
      facts: NO_FACTS,
      status: INITIAL_STATUS,
    };
    this.record = {
      ...operation,
      status: nextStatus(operation, this.#now(), policy),
      resource_version: 1,
      labels: {},
      requested_by: 'checkout',
      updated_at: created_at,
      task: null,
      next_attempt_at: created_at,
    };
  }

  #now = (): Date => new Date(this.world.now);
  #at = (): string => this.#now().toISOString();

  /** The same record once more, over a world of its own; nobody may be at work on it. */
  copy(): ModelledLoop {
    if (this.#working.size > 0) throw new Error('somebody is at work');
    const loop = new ModelledLoop(this.world.copy(), this.record.wish, this.policy, this.steps_per_pass);
    loop.record = this.record;
    loop.attempts = this.attempts;
    loop.look_in_ms = this.look_in_ms;
    loop.sends = this.sends;
    loop.passes = this.passes;
    loop.violations.push(...this.violations);
    loop.#holder = this.#holder;
    loop.#leaseEnds = this.#leaseEnds;
    loop.#token = this.#token;
    loop.#wake = this.#wake;
    loop.#claimedWake = this.#claimedWake;
    loop.#seen = this.#seen;
    return loop;
  }

  /** What a caller asks for, decided on the record as it is. */
  ask(decide: (operation: Operation, asking: Asking) => Change): Change {
    const now = this.#now();
    const operation = withTask(this.record, this.record.task, now);
    const change = decide(operation, { by: 'checkout', now, policy: this.policy });
    if (change.kind !== 'changed') return change;
    const generation = this.record.generation + (change.spec_changed ? 1 : 0);
    const status = nextStatus({ ...operation, wish: change.wish, generation }, now, this.policy);
    const resource_version = this.record.resource_version + 1;
    this.#wake += 1;
    this.look_in_ms = 0;
    this.record = { ...this.record, wish: change.wish, generation, status, resource_version };
    if (this.#seen === this.world.outside) this.#judge();
    return change;
  }

  /** What a person commands, decided on the record as it is read at this moment. */
  command(command: Command): Commanded {
    const now = this.#now();
    const begun = beginPass({ row: '', fencing_token: 0, record: this.record, attempts: this.attempts });
    const observation = this.#observation(begun, true, 'both');
    const { operation, attempts } = withObservation(begun, observation, now);
    const asking = { by: 'lead', reason: 'seen', now, policy: this.policy, seen: ALL_SEEN };
    const made = carryOut({ operation, attempts }, command, asking);
    if (made.kind === 'refused') return made;
    if (made.another_payment && openPayment(this.record.wish, this.attempts) !== undefined)
      return { kind: 'refused', why: 'It is not known yet what became of a call.' };
    if (made.operation.wish === operation.wish) {
      this.wake();
      return made;
    }
    const { wish, generation } = made.operation;
    const known = withTask(this.record, this.record.task, now);
    const { provider_reference, facts } = made.another_payment ? made.operation : known;
    const status = nextStatus({ ...known, wish, generation, provider_reference, facts }, now, this.policy);
    const resource_version = this.record.resource_version + 1;
    this.record = { ...this.record, wish, generation, status, resource_version };
    if (made.another_payment) {
      this.record = { ...this.record, provider_reference, facts };
      this.#holder = null;
      this.#token += 1;
      for (const payment of this.world.payments) payment.former = true;
    }
    if (command.command === 'retry_refund') {
      const { refund_id } = command.parameters;
      this.world.resends.set(refund_id, (this.world.resends.get(refund_id) ?? 0) + 1);
    }
    this.wake();
    return made;
  }

  /** What housekeeping deletes of a settled order, long after its keys are over. */
  forgetJournal(): void {
    const settled = this.record.status.settled_at;
    if (settled === null || this.#working.size > 0) return;
    if (this.world.now - Date.parse(settled) > FORGOTTEN_MS) this.attempts = [];
  }

  wake(): void {
    this.#wake += 1;
    this.look_in_ms = 0;
  }

  /** Free, or the lease of whoever holds it is over; that one may still be about. */
  claim(worker: number): void {
    this.#token += 1;
    this.#holder = worker;
    this.#leaseEnds = this.world.now + LEASE_MS;
    this.#claimedWake = this.#wake;
    this.passes += 1;
    const pass = beginPass({
      row: '1',
      fencing_token: this.#token,
      record: this.record,
      attempts: this.attempts,
    });
    const seen = { payment: false, inventory: false };
    this.#working.set(worker, {
      pass,
      seen,
      refunds: false,
      steps: 0,
      outside: this.#seen,
      next: { kind: 'look' },
    });
  }

  get free(): boolean {
    return this.#holder === null;
  }

  works(worker: number): boolean {
    return this.#working.has(worker);
  }

  dies(worker: number): void {
    this.#working.delete(worker);
    if (this.#holder === worker) this.#holder = null;
  }

  /** One moment of a worker's pass. */
  moment(worker: number, chance: Chance): void {
    const work = this.#working.get(worker);
    if (work === undefined) return;
    const { next } = work;
    switch (next.kind) {
      case 'look':
        this.#working.set(worker, this.#look(work, refundsMatter(work.pass.operation), chance.reads));
        break;
      case 'decide':
        this.#decide(worker, work, chance);
        break;
      case 'send': {
        if (chance.crash === 'before_sending') return this.dies(worker);
        if (work.outside === this.world.outside) this.#weigh(next.attempt);
        // A call is not begun that could outlast the lease, so nobody sends after another has claimed.
        const outcome: Outcome =
          this.#token === work.pass.fencing_token && this.world.now < this.#leaseEnds
            ? this.world.send(
                next.attempt.parameters as unknown as Step,
                next.attempt.effect_key,
                chance.fault,
              )
            : { kind: 'not_sent', failure: { class: 'transient', code: 'lease_too_short', message: 'slow' } };
        if (chance.crash === 'before_recording') return this.dies(worker);
        this.#working.set(worker, { ...work, next: { ...next, kind: 'take_in', outcome } });
        break;
      }
      case 'take_in': {
        const { step, attempt, outcome } = next;
        const pass = withOutcome(work.pass, step, attempt, outcome, this.#at());
        const ends = 'failure' in outcome && outcome.kind !== 'declined';
        const after: Work = { ...work, pass, next: { kind: 'decide' } };
        if (ends) this.#release(worker, after, { kind: 'step', step, reason: 'Accepted' });
        else this.#working.set(worker, after);
      }
    }
  }

  /** The provider would turn it away; that it is asked at all shows that what was seen is not minded. */
  #weigh({ parameters, effect_key }: JournalAttempt): void {
    const step = parameters as unknown as Step;
    if (step.name !== 'create_refund') return;
    const payment = this.world.payment(step.reference);
    if (payment === undefined) return;
    if (isBarred(payment)) this.violations.push('a refund was sent against a dispute that was seen');
    // Once begun it is sent as it was begun, or never; the provider takes one of the two. So it is with a worker that
    // stood still between its last look and the call, while another one took over.
    const again = this.attempts.filter((attempt) => attempt.effect_key === effect_key).length > 1;
    const isOvertaken = this.attempts.at(-1)?.effect_key !== effect_key;
    if (again || isOvertaken) return;
    if (step.amount > heldOn(payment)) this.violations.push('more was asked back than was held');
    else if (step.amount > heldOn(payment) - withdrawnOf(payment))
      this.violations.push('what a chargeback has withdrawn was asked back');
  }

  /** A whole pass by a worker of its own. */
  wholePass(chance: Chance = GOOD_CHANCE): void {
    const worker = 99;
    this.claim(worker);
    for (let moments = 0; this.works(worker); moments += 1) {
      if (moments > 100) throw new Error('a pass does not end');
      this.moment(worker, chance);
    }
  }

  #observation({ operation, attempts }: Pass, refunds: boolean, reads: Reads): Observation {
    const reference = operation.provider_reference ?? operation.wish.spec.payment.reference;
    const unseen = { kind: 'unknown', failure: OUT_OF_SIGHT } as const;
    const lost = lostCreates(attempts, this.#now()).map(({ started_at }) => Date.parse(started_at));
    const payment =
      reference !== null
        ? this.world.read(reference, refunds)
        : lost.length > 0
          ? this.world.find('op-1', lost)
          : null;
    const { requested } = operation.facts.inventory;
    const stock = requested ? this.world.readStock() : null;
    const asked = reference !== null || lost.length > 0;
    const blind = (side: 'no_payment' | 'no_stock'): boolean => reads === side || reads === 'none';
    return {
      payment: asked && blind('no_payment') ? unseen : found(payment),
      inventory: requested && blind('no_stock') ? unseen : found(stock),
      at: this.#at(),
    };
  }

  #look(work: Work, refunds: boolean, reads: Reads): Work {
    const { operation } = work.pass;
    const observation = this.#observation(work.pass, refunds, reads);
    return {
      ...work,
      pass: withObservation(work.pass, observation, this.#now()),
      seen: {
        payment: paymentFailure(operation, observation) === null,
        inventory: observation.inventory.kind !== 'unknown',
      },
      refunds:
        refunds && observation.payment.kind === 'present' && observation.payment.value.refunds !== null,
      outside: reads === 'both' ? this.world.outside : work.outside,
      next: { kind: 'decide' },
    };
  }

  #decide(worker: number, work: Work, chance: Chance): void {
    const { operation } = work.pass;
    const decision = nextStep(operation, work.seen, this.#now(), this.policy);
    if (
      JSON.stringify(nextStep(operation, work.seen, this.#now(), this.policy)) !== JSON.stringify(decision)
    ) {
      this.violations.push('the same record led to two decisions');
    }
    if (decision.kind === 'step' && decision.step.name === 'create_refund' && !work.refunds) {
      this.#working.set(worker, this.#look(work, true, chance.reads));
      return;
    }
    if (decision.kind !== 'step' || work.steps >= this.steps_per_pass) {
      this.#release(worker, work, decision.kind === 'step' ? null : decision);
      return;
    }
    const { name, target } = decision.step;
    const first = firstOrdinal(operation.wish, decision.step);
    const key = chooseKey(work.pass.attempts, name, target, this.#now(), first);
    if (key.kind === 'wait') {
      this.#release(worker, work, decision);
      if (this.look_in_ms !== 0) this.look_in_ms = key.ms;
      return;
    }
    if (decision.step.name === 'create_refund' && chance.braked === true) {
      const until = new Date(this.world.now + HOUR_MS).toISOString();
      const pass = withBrake(work.pass, { until, message: 'There is no room.' });
      this.#working.set(worker, { ...work, pass, steps: work.steps + 1 });
      return;
    }
    this.#intend(worker, work, decision.step, key);
  }

  #intend(worker: number, before: Work, step: Step, choice: Exclude<KeyChoice, { kind: 'wait' }>): void {
    const { facts } = before.pass.operation;
    const marked =
      step.name === 'reserve_inventory'
        ? { ...facts, inventory: { ...facts.inventory, requested: true } }
        : facts;
    const pass = withStatus(
      { ...before.pass, operation: { ...before.pass.operation, facts: marked } },
      this.#now(),
      this.policy,
    );
    const resent = choice.kind === 'resend' ? choice.attempt : null;
    const ordinal = choice.kind === 'resend' ? choice.attempt.ordinal : choice.ordinal;
    const parameters = resent?.parameters ?? { ...step };
    const same = JSON.stringify(parameters) === JSON.stringify(step);
    const sent = !same && step.name === 'create_payment' ? { ...step, payment_method: null } : step;
    const held = this.#mine(worker, pass);
    const current =
      this.record.resource_version === pass.resource_version && this.world.now < this.#leaseEnds;
    this.#save(worker, { ...before, pass }, step.name);
    if (!held || !current) {
      if (held) {
        this.#holder = null;
        this.look_in_ms = 0;
      }
      this.#working.delete(worker);
      return;
    }
    const attempt: JournalAttempt = {
      attempt_id: String(this.attempts.length + 1),
      sequence: this.attempts.length + 1,
      step: step.name,
      target: step.target,
      ordinal,
      effect_key: resent?.effect_key ?? effectKey('op-1', step.name, step.target, ordinal),
      parameters,
      generation: pass.operation.generation,
      fencing_token: pass.fencing_token,
      request_id: null,
      started_at: this.#at(),
      completed_at: null,
      outcome: null,
      key_spent: false,
      failure: null,
      shown: null,
      resolution: null,
    };
    this.#leaseEnds = this.world.now + LEASE_MS;
    this.attempts = [...this.attempts, attempt];
    this.sends += 1;
    if (this.record.wish.paused !== null) this.violations.push(`${step.name} was begun while paused`);
    const { facts: written, status, provider_reference } = pass.operation;
    const after: Pass = {
      ...pass,
      resource_version: this.record.resource_version,
      written: { facts: written, status, provider_reference },
      completed: null,
      resolved: [],
      events: [],
    };
    this.#working.set(worker, {
      ...before,
      pass: after,
      steps: before.steps + 1,
      next: { kind: 'send', attempt, step: sent },
    });
  }

  #release(worker: number, work: Work, decision: Decision | null): void {
    const pass = withStatus(work.pass, this.#now(), this.policy);
    const look =
      decision === null ? this.#now() : nextLook(pass.operation, decision, this.#now(), 0.5, this.policy);
    const held = this.#mine(worker, pass);
    this.#save(worker, { ...work, pass }, null);
    this.#working.delete(worker);
    if (!held) return;
    this.#holder = null;
    const woken = this.#wake !== this.#claimedWake || this.record.generation !== pass.operation.generation;
    this.look_in_ms = woken ? 0 : look === null ? null : look.getTime() - this.world.now;
  }

  #mine = (worker: number, pass: Pass): boolean =>
    this.#holder === worker && this.#token === pass.fencing_token;

  #save(worker: number, { pass, outside, seen }: Work, intent: StepName | null): void {
    const { completed } = pass;
    if (completed !== null) {
      const { outcome, attempt_id } = completed;
      const answer = {
        completed_at: this.#at(),
        outcome: outcome.kind,
        key_spent: outcome.key_spent ?? false,
        failure: 'failure' in outcome ? outcome.failure : null,
        shown: outcome.shown ?? null,
      };
      this.attempts = this.attempts.map((attempt) =>
        attempt.attempt_id === attempt_id && attempt.completed_at === null
          ? { ...attempt, ...answer }
          : attempt,
      );
    }
    if (!this.#mine(worker, pass)) {
      if (completed !== null) this.wake();
      return;
    }
    this.attempts = this.attempts.map((attempt) => {
      const settled = pass.resolved.find(({ attempt_id }) => attempt_id === attempt.attempt_id);
      return settled === undefined ? attempt : { ...attempt, resolution: settled.resolution };
    });
    const { facts, status, provider_reference } = pass.operation;
    // Whoever woke the record by a write of their own, such as a command, derived the newer status.
    const untouched =
      this.record.resource_version === pass.resource_version || this.#wake === this.#claimedWake;
    const fresh = this.record.generation === pass.operation.generation && untouched;
    const written = {
      ...this.record,
      facts,
      provider_reference: provider_reference ?? this.record.provider_reference,
      status: fresh ? status : this.record.status,
      task: this.record.resource_version === pass.resource_version ? intent : null,
      resource_version:
        this.record.resource_version +
        (intent !== null || visible(pass.operation) !== visible(pass.written) ? 1 : 0),
    };
    this.record = written;
    this.#seen = outside;
    // What others did since the look, or wish since the claim, is judged after the next look.
    if (fresh && outside === this.world.outside) {
      this.#judge();
      if (seen.payment) this.#judgeRefunds(intent);
    }
  }

  /** Nobody is left in quiet when more was given back than was wanted, and no more is given back. */
  #judgeRefunds(intent: StepName | null): void {
    const { wish, facts, status, provider_reference } = this.record;
    const payment = provider_reference === null ? undefined : this.world.payment(provider_reference);
    const wanted = new Map(wish.spec.refunds.map(({ refund_id, amount }) => [refund_id, amount]));
    for (const { refund_id, amount, state } of payment?.refunds ?? []) {
      if (refund_id === null || state === 'failed' || state === 'canceled') continue;
      // Of the cancellation, and of a rejection whose money came late: once, in an amount of its own.
      const clears = wish.cancellation !== null || facts.late !== undefined;
      const left = wanted.get(refund_id) ?? (clears ? amount : 0);
      wanted.set(refund_id, left - amount);
      if (left >= amount) continue;
      const isGivenUp = decisionsOf(wish).given_up !== null;
      const quiet =
        ['fulfilled', 'cancelled'].includes(status.phase) && status.attention === null && !isGivenUp;
      if (quiet) this.violations.push(`said ${status.phase}, and ${refund_id} was given back twice`);
      if (intent === 'create_refund') this.violations.push('more was given back after a refund too many');
    }
  }

  /** What is said must be so, at the moment at which it is said. */
  #judge(): void {
    const { world, record } = this;
    const { phase, settled_at } = record.status;
    if (phase === 'cancelled' || phase === 'rejected') {
      if (world.held() > world.bounced) this.violations.push(`said ${phase}, and money is kept`);
      if (world.alive().length > 0) this.violations.push(`said ${phase}, and money can arrive`);
      if (world.stock.state === 'reserved' || (phase === 'rejected' && world.stock.state === 'committed')) {
        this.violations.push(`said ${phase}, and stock is held`);
      }
    }
    if (phase === 'fulfilled' && world.payments.every(({ captured }) => captured === 0)) {
      this.violations.push('said fulfilled, and nothing was captured');
    }
    if (settled_at !== null && !['fulfilled', 'cancelled', 'rejected'].includes(phase)) {
      this.violations.push(`settled in ${phase}`);
    }
    const decision = nextStep(record, ALL_SEEN, this.#now(), this.policy);
    if (settled_at !== null && decision.kind === 'step') this.violations.push('settled with a step missing');
  }
}
