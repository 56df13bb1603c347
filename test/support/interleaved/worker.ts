/** A worker's dependencies over the model: the real loop runs on them, and every call of it is two points to be cut at. */
import type { Outcome } from '../../../src/operation/attempt.js';
import type { Failure } from '../../../src/operation/failure.js';
import type { Reading } from '../../../src/operation/observation.js';
import type { Policy } from '../../../src/operation/operation.js';
import type { Step } from '../../../src/operation/step.js';
import type { LoopDependencies } from '../../../src/reconciler/ports.js';
import type { Entry } from '../../../src/store/pass-store.js';
import type { Fault } from '../modelled-world.js';
import type { ModelledStore } from './store.js';

export const TIMEOUT_MS = 10_000;
export const LEASE_MS = 30_000;
/** No request stays on the wire for longer. */
const LOST_MS = 30 * 60_000;
const WINDOW_MS = 120_000;

/** Waits for its turn: once on the way there and once on the way back. */
export type Turn = (doing: string) => Promise<void>;

export interface Luck {
  /** What happens to the next effect; used up one by one, then nothing does. */
  readonly faults: Fault[];
  /** Whether the next reading is answered. */
  readonly unread: boolean[];
}

const UNREAD: Failure = { class: 'unknown', code: 'timeout', message: 'No answer came.' };
const found = <T>(value: T | null): Reading<T> =>
  value === null ? { kind: 'absent' } : { kind: 'present', value };

export function aWorker(
  name: string,
  store: ModelledStore,
  policy: Policy,
  luck: Luck,
  turn: Turn,
): LoopDependencies {
  const { world } = store;
  const call = async <T>(doing: string, act: () => T): Promise<T> => {
    await turn(`${name}: ${doing}`);
    const result = act();
    await turn(`${name}: ${doing}, answered`);
    return result;
  };
  const read = <T>(doing: string, look: () => T | null): Promise<Reading<T>> => {
    const began = world.now;
    return call(doing, () => {
      const unread = luck.unread.shift() === true || world.now - began > TIMEOUT_MS;
      return unread ? { kind: 'unknown', failure: UNREAD } : found(look());
    });
  };
  const send = (step: Step, key: string): Promise<Outcome> => {
    const began = world.now;
    const fault = luck.faults.shift() ?? 'none';
    store.begins(name, step.name, 2 * TIMEOUT_MS);
    return call(`send ${step.name}`, () => {
      // The client has given up by now: what still arrives is heard of by nobody.
      const age = world.now - began;
      if (age > LOST_MS) return world.send(step, key, 'lost_before');
      return world.send(step, key, age > TIMEOUT_MS ? 'lost_after' : fault);
    });
  };
  const provider = {
    prepare: (step: Step) => ({ ...step }),
    observe: (query: { reference: string; refunds: boolean }) =>
      read('read the payment', () => world.read(query.reference, query.refunds)),
    find: (query: { created_from: string; created_to: string; refunds: boolean }) =>
      read('look for the payment', () =>
        world.find(
          'op-1',
          [Date.parse(query.created_from) + WINDOW_MS, Date.parse(query.created_to) - WINDOW_MS],
          query.refunds,
        ),
      ),
    apply: ({ key, parameters }: { key: string; parameters: unknown }) => send(parameters as Step, key),
  };
  const record = (entry: Entry) =>
    call(entry.next.kind === 'intent' ? `intend ${entry.next.intent.step}` : 'release', () =>
      store.record(entry),
    );
  const dependencies = {
    store: {
      record,
      recordAgain: record,
      adopt: (_row: string, token: number, reference: string) =>
        call('adopt', () => {
          const { row } = store;
          if (store.token === token && row.provider_reference === null)
            store.row = { ...row, provider_reference: reference };
          return { kind: store.row.provider_reference === reference ? 'own' : 'given_back' };
        }),
      wake: () =>
        call('wake', () => {
          store.wakeBy(name);
        }),
      // No pass of a history breaks off: it would hide what is wrong with it.
      breakOff: () => Promise.reject(new Error('a pass broke off')),
    },
    accounts: {
      steps: { heldBack: () => null },
      provider: () => provider,
      admit: () => Promise.resolve(null),
      read: (_account: string, _operation: string, reading: unknown) => Promise.resolve(reading),
      applied: (_account: string, _operation: string, outcome: unknown) => Promise.resolve(outcome),
    },
    brake: { admit: () => Promise.resolve({ kind: 'admitted' }) },
    inventory: {
      prepare: provider.prepare,
      observe: () => read('read the stock', () => world.readStock()),
      apply: ({ parameters }: { parameters: unknown }) => send(parameters as Step, ''),
    },
    clock: { now: () => new Date(world.now), random: () => 0.5 },
    policy,
    worker: name,
    lease_ms: LEASE_MS,
    provider_timeout_ms: TIMEOUT_MS,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    observer: {
      request: () => undefined,
      effect: () => undefined,
      pass: () => undefined,
      settled: () => undefined,
    },
  };
  // Of the classes behind these ports the loop uses the methods above and no more.
  return dependencies as unknown as LoopDependencies;
}
