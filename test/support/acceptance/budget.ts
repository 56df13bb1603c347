/** Runs about one order alone: its retry budget is gone, or it was looked at very often; the next trigger is heard. */
import { NOTHING_LEFT, type Facts, type Run } from './record.js';

export const LIMIT = 3;
export const LOOKS = 300;

const EXHAUSTED: Facts = {
  phase: 'payment_unknown',
  attention: `RetryBudgetExhausted: confirm_payment failed ${LIMIT} times`,
  'retry budget': { limit: LIMIT, used: LIMIT },
  'money moved': 'unknown',
};
const CHECKPOINT: Facts = { payment: 'known by its id', stock: 'reserved', captured: 0 };
const BY_ITSELF: Facts = {
  alerts: 0,
  'alerts that it is over': 0,
  'acts of people': 0,
  'processes that went on': 2,
};

const finalWith = (captured: number, confirms: number, refunded = 0): Facts => ({
  orders: { 'fulfilled: Fulfilled': 1 },
  captured,
  refunded,
  effects: { creates: 1, ...(confirms > 0 && { confirms }), ...(refunded > 0 && { refunds: 1 }) },
  stock: { committed: 1 },
});

export const HEALED_BY_HOOK: Run = {
  title: 'The budget is gone, and a webhook brings the truth',
  cases: [4],
  story:
    'The confirmation is answered 503 until the budget is gone. Somebody confirms the payment in the dashboard; its event arrives.',
  expected: {
    injected: { 'payment_intents.confirm': '503_html' },
    shown: EXHAUSTED,
    checkpoint: CHECKPOINT,
    recovery: { ...BY_ITSELF, 'requests with an effect after the event': ['reservations.commit'] },
    final: finalWith(12_900, 0),
    left: NOTHING_LEFT,
  },
};

export const HEALED_BY_CHANGE: Run = {
  title: 'The budget is gone twice, and each change of the order begins with a fresh one',
  cases: [4],
  story:
    'The confirmation is answered 503 until the budget is gone; the payment deadline is changed and the budget is gone again; 503 ends and it is changed once more.',
  expected: {
    injected: { 'payment_intents.confirm': '503_html' },
    shown: { first: EXHAUSTED, second: EXHAUSTED },
    checkpoint: CHECKPOINT,
    recovery: {
      ...BY_ITSELF,
      generation: 3,
      'tries of the confirmation, by generation': [`1: ${LIMIT}`, `2: ${LIMIT}`, '3: 1'],
    },
    final: finalWith(12_900, 1),
    left: NOTHING_LEFT,
  },
};

export const LOOKED_AT_OFTEN: Run = {
  title: `${LOOKS} completed looks at one order, and then a refund`,
  cases: [4],
  story: `Events about a fulfilled order arrive until it was read ${LOOKS} times; then a refund of 25.00 is asked for.`,
  expected: {
    injected: { 'readings, at least': LOOKS },
    shown: { 'changes that a reader sees, by all that': 0, 'requests with an effect, by all that': 0 },
    checkpoint: { orders: { 'fulfilled: Fulfilled': 1 } },
    recovery: BY_ITSELF,
    final: finalWith(12_900, 1, 2_500),
    left: NOTHING_LEFT,
  },
};
