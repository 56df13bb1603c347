/** Runs in which Postgres itself is stopped and started again on its data, with orders in flight. */
import { NOTHING_LEFT, type Run } from './record.js';

export interface RestartRun extends Run {
  readonly signal: 'SIGINT' | 'SIGQUIT';
}

export const RESTART_ORDERS = 60;

const run = (title: string, signal: RestartRun['signal']): RestartRun => ({
  title,
  signal,
  cases: [48],
  story:
    'Sixty orders are on their way, calls to the provider under way among them. Postgres stops, a caller is refused, Postgres starts again on the same data and port.',
  expected: {
    injected: { 'connections at its port meanwhile': 'refused' },
    shown: { create: '503 unavailable', livez: 200, readyz: 503 },
    checkpoint: {
      'orders stored': RESTART_ORDERS,
      'some fulfilled': true,
      'some not yet': true,
      'some calls under way': true,
    },
    recovery: { alerts: 0, 'alerts that it is over': 0, 'acts of people': 0, 'processes that went on': 3 },
    final: {
      orders: { 'fulfilled: Fulfilled': RESTART_ORDERS + 1 },
      captured: (RESTART_ORDERS + 1) * 12_900,
      refunded: 0,
      effects: { creates: RESTART_ORDERS + 1, confirms: RESTART_ORDERS + 1 },
      stock: { committed: RESTART_ORDERS + 1 },
    },
    left: NOTHING_LEFT,
  },
});

export const RESTART_RUNS: readonly RestartRun[] = [
  run('Postgres is restarted: sessions are cut (fast)', 'SIGINT'),
  run('Postgres is restarted: as after a crash (immediate)', 'SIGQUIT'),
];
