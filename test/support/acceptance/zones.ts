/** Processes and the database in zones far apart, around the hour that New York skips; and large and many amounts. */
import { NOTHING_LEFT, type Run } from './record.js';

/** In Tokyo's time; 02:30 of that night does not exist in New York. */
export const DEADLINE = { given: '2030-03-10T16:30:00+09:00', utc: '2030-03-10T07:30:00.000Z' } as const;
export const LARGE = 3_000_000_019;

export const ZONES_RUN: Run = {
  title: 'The processes run in Tokyo, the database in New York; an amount above 2^31',
  cases: [47],
  story:
    'One order has a deadline in 2030 and is refunded 9.00 and 1.00 of 10.00; one is of 30 000 000.19; one waits for its customer until a deadline some seconds ahead, written in Tokyo’s time.',
  expected: {
    injected: { 'zone of the database': 'America/New_York', 'zone of the processes': 'Asia/Tokyo' },
    shown: {
      payment_deadline: DEADLINE.utc,
      'created_at, off by more than a second': false,
      'created_at as the database has it': true,
      'times that are not UTC': 0,
    },
    checkpoint: { refunded: 0, captured: 1_000 },
    recovery: { 'seconds that the missed deadline was early': 0, 'seconds that it was late, beyond 5': 0 },
    final: {
      orders: { 'fulfilled: Fulfilled': 2, 'rejected: PaymentDeadlinePassed': 1 },
      captured: 1_000 + LARGE,
      refunded: 1_000,
      effects: { creates: 3, confirms: 3, refunds: 2, voids: 1 },
      stock: { committed: 2, released: 1 },
      'refunded and refundable in JSON': '{"refunded":1000,"refundable":0}',
      'captured in JSON': `{"captured":${LARGE}}`,
    },
    left: NOTHING_LEFT,
  },
};
