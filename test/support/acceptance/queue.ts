/** Runs in which the queue loses all it holds, or is changed under running processes. */
import type { Backend } from '../queue-view.js';
import { NOTHING_LEFT, type Facts, type Run } from './record.js';

export type Loss = 'emptied' | 'restarted empty';

export interface QueueRun extends Run {
  readonly backend: Backend;
}

export interface LossRun extends QueueRun {
  readonly loss: Loss;
}

export const LOSS_SWEEP_MS = 1_000;
export const WAITING_ORDERS = 6;

function loss(backend: Backend, how: Loss, title: string, story: string): LossRun {
  return {
    backend,
    loss: how,
    title,
    cases: how === 'emptied' ? [17] : [17, 21],
    story,
    expected: {
      injected: { queue: backend, 'a mark in it survived': false },
      shown: {
        orders: { 'accepted: ProviderThrottled': WAITING_ORDERS },
        failures: ['throttled lock_timeout'],
        account: 'closed',
        'orders that need a person': 0,
        'new order answered': 201,
      },
      checkpoint: {
        'orders that wait for their retry': WAITING_ORDERS,
        'of these due before the loss': 0,
        schedules: ['sweep every 1000 ms'],
      },
      recovery: {
        'retries later than a sweep interval': 0,
        alerts: 0,
        'alerts that it is over': 0,
        'acts of people': 0,
        'processes that went on': 2,
      },
      final: {
        orders: { 'fulfilled: Fulfilled': WAITING_ORDERS + 1 },
        captured: (WAITING_ORDERS + 1) * 12_900,
        refunded: 0,
        effects: { creates: WAITING_ORDERS + 1, confirms: WAITING_ORDERS + 1 },
        stock: { committed: WAITING_ORDERS + 1 },
        schedules: ['sweep every 1000 ms'],
        'it ticks': true,
        'all processes ready': true,
      },
      left: { ...NOTHING_LEFT, 'waiting ticks beyond one': 0 },
    },
  };
}

const STORY = 'Six orders wait for a retry that is due in 5 s.';

export const LOSS_RUNS: readonly LossRun[] = [
  loss('redis', 'emptied', 'Redis is flushed', `${STORY} FLUSHALL; another order comes in.`),
  loss(
    'redis',
    'restarted empty',
    'Redis is stopped and started again, empty',
    `${STORY} Redis stops; another order comes in; Redis starts, with nothing in it.`,
  ),
  loss(
    'postgres',
    'emptied',
    'The queue’s tables in Postgres are emptied',
    `${STORY} TRUNCATE of all tables of the queue; another order comes in.`,
  ),
];

const LONG_MS = 900;
const SHORT_MS = 500;
export const INTERVALS = { before: LONG_MS, after: SHORT_MS } as const;

export interface RolledRun extends QueueRun {
  /** That many begin at once, and as many take their places. */
  readonly processes: number;
}

const rolled = (backend: Backend, processes: number, inWords: string): RolledRun => ({
  backend,
  processes,
  title: `${2 * processes} starts of processes, with another sweep interval in between (${backend})`,
  cases: [45],
  story: `${inWords} processes start at once with SWEEP_INTERVAL_MS=900. As many more start at once with 500, while the first ones run; then those are stopped.`,
  expected: {
    injected: { queue: backend, starts: 2 * processes, stops: processes },
    shown: { 'schedules at any moment, least and most': [1, 1].map(String) },
    checkpoint: { schedules: ['sweep every 900 ms'], 'waiting ticks': 1 },
    recovery: { 'exit codes of the replaced': { '0': processes }, 'processes that went on': processes },
    final: { schedules: ['sweep every 500 ms'], 'ticks in 4 s, from 8, beyond ±1': 0 },
    left: { 'waiting ticks beyond one': 0 },
  },
});
export const ROLLED_RUNS: readonly RolledRun[] = [rolled('redis', 5, 'Five'), rolled('postgres', 2, 'Two')];

export const BATCH = 60;

const bounded = (backend: Backend, what: string): QueueRun => ({
  backend,
  title: `The queue does not grow with the work (${backend})`,
  cases: [17],
  story: `${BATCH} orders are worked, and as many again, the calls taken by one process and the work done by another: hundreds of bells and passes.`,
  expected: {
    injected: { queue: backend, 'passes, at least': 4 * BATCH },
    shown: {},
    checkpoint: { orders: { 'fulfilled: Fulfilled': BATCH } },
    recovery: {},
    final: { orders: { 'fulfilled: Fulfilled': BATCH } },
    left: { [`${what} beyond 40`]: 0, 'grown by the second half': false } satisfies Facts,
  },
});
export const BOUNDED_RUNS: readonly QueueRun[] = [bounded('redis', 'keys'), bounded('postgres', 'rows')];

export const POLICY_RUN: Run = {
  title: 'Redis may evict keys',
  cases: [17],
  story: 'A process starts beside a Redis whose maxmemory-policy is allkeys-lru.',
  expected: {
    injected: { 'maxmemory-policy': 'allkeys-lru' },
    shown: { 'complains of': ['allkeys-lru', 'noeviction'], readyz: 200 },
    checkpoint: {},
    recovery: {},
    final: { orders: { 'fulfilled: Fulfilled': 1 } },
    left: NOTHING_LEFT,
  },
};
