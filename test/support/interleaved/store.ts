/**
 * The hot row and its journal as the statements of src/store treat them: each call is one statement, and names what it
 * expects. Written anew in ten lines each, so that a history can be cut between any two of them in microseconds; that
 * the statements themselves do this is shown on Postgres (integration/store-*).
 */
import { NO_FACTS, type Operation, type Policy, type Wish } from '../../../src/operation/operation.js';
import { INITIAL_STATUS, nextStatus } from '../../../src/operation/next-status.js';
import type { StepName } from '../../../src/operation/attempt.js';
import { isOfInventory } from '../../../src/operation/step.js';
import type { Claim, Entry, Recorded } from '../../../src/store/pass-store.js';
import type { JournalAttempt, OperationRecord, WishChange } from '../../../src/store/record.js';
import type { ModelledWorld } from '../modelled-world.js';

/** What an accepted cancellation forbids to begin. */
const TOWARDS_MORE: ReadonlySet<StepName> = new Set([
  'reserve_inventory',
  'update_payment',
  'confirm_payment',
  'capture_payment',
  'commit_inventory',
]);

/** The provider said what became of it. The warehouse keeps no keys: what it is asked twice it does once. */
const isAnswered = ({ step, outcome }: JournalAttempt): boolean =>
  !isOfInventory(step) && (outcome === 'done' || outcome === 'pending' || outcome === 'declined');

export class ModelledStore {
  row: OperationRecord;
  attempts: readonly JournalAttempt[] = [];
  /** When it is due, on the world's clock; null: watched no longer. */
  due: number | null;
  token = 0;
  readonly violations: string[] = [];
  #holder: string | null = null;
  #leaseEnds = 0;
  #wake = 0;
  #claimedWake = 0;
  /** What the journal told whoever holds the record. */
  #told: readonly JournalAttempt[] = [];
  /** Workers that gave an answer without holding the record, and have not woken it yet. */
  readonly #owing = new Set<string>();

  constructor(
    readonly world: ModelledWorld,
    wish: Wish,
    policy: Policy,
  ) {
    const now = new Date(world.now);
    const operation: Operation = {
      operation_id: 'op-1',
      account: 'default',
      created_at: now.toISOString(),
      generation: 1,
      wish,
      provider_reference: null,
      facts: NO_FACTS,
      status: INITIAL_STATUS,
    };
    this.row = {
      ...operation,
      status: nextStatus(operation, now, policy),
      resource_version: 1,
      labels: {},
      requested_by: 'checkout',
      updated_at: operation.created_at,
      task: null,
      next_attempt_at: operation.created_at,
    };
    this.due = world.now;
  }

  get claimable(): boolean {
    const free = this.#holder === null || this.#leaseEnds <= this.world.now;
    return free && this.due !== null && this.due <= this.world.now;
  }

  /** When it can be claimed next, if nothing happens. */
  get claimableAt(): number {
    return Math.max(this.due ?? Infinity, this.#holder === null ? 0 : this.#leaseEnds);
  }

  claim(worker: string, leaseMs: number): Claim | null {
    if (!this.claimable) return null;
    this.token += 1;
    this.#holder = worker;
    this.#leaseEnds = this.world.now + leaseMs;
    this.#claimedWake = this.#wake;
    this.#told = this.attempts;
    return { row: '1', fencing_token: this.token, broken: 0, record: this.row, attempts: this.attempts };
  }

  wake(): void {
    this.#wake += 1;
    this.due = this.world.now;
  }

  wakeBy(worker: string): void {
    this.#owing.delete(worker);
    this.wake();
  }

  /** A worker ended its pass, and did not die in it. */
  ended(worker: string): void {
    if (this.#owing.delete(worker)) this.violations.push('an answer that came late woke nobody');
  }

  /** A worker is about to send. */
  begins(worker: string, step: StepName, atMostMs: number): void {
    if (this.#holder !== worker || this.#leaseEnds - this.world.now < atMostMs)
      this.violations.push(`${step} was begun, and may outlast its lease`);
  }

  changeWish(change: WishChange): OperationRecord | null {
    const { row } = this;
    if (row.resource_version !== change.resource_version) return null;
    this.row = {
      ...row,
      wish: change.wish,
      status: change.status,
      generation: row.generation + (change.spec_changed ? 1 : 0),
      resource_version: row.resource_version + 1,
    };
    this.wake();
    return this.row;
  }

  record(entry: Entry): Recorded {
    this.#complete(entry);
    const { row } = this;
    const { next, worker, fencing_token } = entry;
    if (this.#holder !== worker || this.token !== fencing_token) {
      if (entry.completed !== null) this.#owing.add(worker);
      return { held: false, woken: false, resource_version: entry.resource_version, attempt: null };
    }

    const unmoved = row.resource_version === entry.resource_version;
    const woken = this.#wake !== this.#claimedWake;
    const derived = row.generation === entry.generation && (unmoved || !woken);
    const intent = next.kind === 'intent' ? next.intent : null;
    this.row = {
      ...row,
      facts: entry.facts,
      provider_reference: entry.provider_reference ?? row.provider_reference,
      status: derived ? entry.status : row.status,
      task: unmoved && intent !== null ? intent.step : null,
      resource_version: row.resource_version + (entry.changed || intent !== null ? 1 : 0),
    };
    this.attempts = this.attempts.map((attempt) => {
      const settled = entry.resolved.find(({ attempt_id }) => attempt_id === attempt.attempt_id);
      return settled === undefined ? attempt : { ...attempt, resolution: settled.resolution };
    });
    const { resource_version } = this.row;
    if (next.kind === 'release') {
      this.#holder = null;
      const moved = woken || row.generation !== entry.generation;
      if (moved) this.due = this.world.now;
      else this.due = next.look_in_ms === null ? null : this.world.now + next.look_in_ms;
      return { held: true, woken, resource_version, attempt: null };
    }
    if (!unmoved || this.#leaseEnds <= this.world.now)
      return { held: true, woken, resource_version, attempt: null };
    this.#leaseEnds = this.world.now + next.lease_ms;
    return { held: true, woken, resource_version, attempt: this.#open(entry, next.intent) };
  }

  #complete({ completed }: Entry): void {
    if (completed === null) return;
    const { outcome } = completed;
    this.attempts = this.attempts.map((attempt) =>
      attempt.attempt_id === completed.attempt_id && attempt.completed_at === null
        ? {
            ...attempt,
            completed_at: new Date(this.world.now).toISOString(),
            outcome: outcome.kind,
            key_spent: outcome.key_spent ?? false,
            failure: 'failure' in outcome ? outcome.failure : null,
            shown: outcome.shown ?? null,
          }
        : attempt,
    );
  }

  #open(entry: Entry, intent: (Entry['next'] & { kind: 'intent' })['intent']): JournalAttempt {
    const { wish } = this.row;
    if (wish.paused !== null) this.violations.push(`${intent.step} was begun while paused`);
    if (wish.cancellation !== null && TOWARDS_MORE.has(intent.step))
      this.violations.push(`${intent.step} was begun after the cancellation was accepted`);
    if (this.#told.some((one) => one.effect_key === intent.effect_key && isAnswered(one)))
      this.violations.push(`${intent.step} was sent again although its answer was known`);
    const sequence = this.attempts.length + 1;
    const attempt: JournalAttempt = {
      ...intent,
      attempt_id: String(sequence),
      sequence,
      generation: entry.generation,
      fencing_token: entry.fencing_token,
      request_id: null,
      started_at: new Date(this.world.now).toISOString(),
      completed_at: null,
      outcome: null,
      key_spent: false,
      failure: null,
      shown: null,
      resolution: null,
    };
    this.attempts = [...this.attempts, attempt];
    return attempt;
  }
}
