/** Runs in which the provider refuses our key, or asks us to slow down. */
import { NOTHING_LEFT, type Run } from './record.js';

export const CREDENTIAL_RUN: Run = {
  title: 'The credential is revoked and restored',
  cases: [],
  story:
    'Three orders are authorized. The key is revoked; the three are to be captured and three more come in. It is restored.',
  expected: {
    injected: { answers: ['401'] },
    shown: {
      orders: { 'accepted: ProviderRefusesCredential': 3, 'authorized: ProviderRefusesCredential': 3 },
      failures: ['authorization api_key_expired'],
      account: 'open: refused',
      'orders that need a person': 0,
      'budget used': 0,
      order_account_state: 2,
      'requests in 4 s beyond the probes': 0,
    },
    checkpoint: { orders: { 'authorized: Authorized': 3 }, effects: { creates: 3, confirms: 3 } },
    recovery: { alerts: 1, 'alerts that it is over': 1, 'acts of people': 0, 'processes that went on': 3 },
    final: {
      orders: { 'fulfilled: Fulfilled': 6 },
      captured: 6 * 12_900,
      refunded: 0,
      effects: { creates: 6, confirms: 6, captures: 3 },
      stock: { committed: 6 },
    },
    left: NOTHING_LEFT,
  },
};

export const THROTTLED_ORDERS = 200;
export const THROTTLED_MS = 10_000;
export const RETRY_AFTER_S = 2;

export const THROTTLED_RUN: Run = {
  title: 'The provider answers 429 for 10 s and asks for 2 s each time',
  cases: [26],
  story: '200 orders come in while every call is answered 429 with Retry-After: 2.',
  expected: {
    injected: { answers: ['429'], 'orders that met it': 'some' },
    shown: {
      phases: { accepted: THROTTLED_ORDERS },
      failures: ['throttled rate_limit'],
      account: 'limited',
      'orders that need a person': 0,
      'budget used': 0,
      'requests beyond those in flight, first 2 s': 0,
      'requests beyond half of that, each 2 s after that': 0,
      'requests beyond a quarter of that, the last 2 s': 0,
      'requests in the second half of such a time': 0,
    },
    checkpoint: { orders: { 'accepted: Accepted': THROTTLED_ORDERS }, effects: {} },
    recovery: { alerts: 0, 'alerts that it is over': 0, 'acts of people': 0, 'processes that went on': 3 },
    final: {
      orders: { 'fulfilled: Fulfilled': THROTTLED_ORDERS },
      captured: THROTTLED_ORDERS * 12_900,
      refunded: 0,
      effects: { creates: THROTTLED_ORDERS, confirms: THROTTLED_ORDERS },
      stock: { committed: THROTTLED_ORDERS },
    },
    left: NOTHING_LEFT,
  },
};

export const LOCK_ROUTES = [
  'payment_intents.create',
  'payment_intents.confirm',
  'payment_intents.capture',
  'payment_intents.cancel',
  'refunds.create',
] as const;

export const LOCKED_RUN: Run = {
  title: 'One lock_timeout at every call',
  cases: [26],
  story:
    'One order is authorized, captured and refunded in part, another authorized and cancelled; the first call of each step is answered 429 lock_timeout.',
  expected: {
    injected: {
      'payment_intents.create': 2,
      'payment_intents.confirm': 2,
      'payment_intents.capture': 1,
      'payment_intents.cancel': 1,
      'refunds.create': 1,
    },
    shown: {
      'tries refused': [
        'cancel_payment: throttled lock_timeout',
        'capture_payment: throttled lock_timeout',
        'confirm_payment: throttled lock_timeout',
        'create_payment: throttled lock_timeout',
        'create_refund: throttled lock_timeout',
      ],
      account: 'closed',
      'budget used': 0,
    },
    checkpoint: { orders: { 'authorized: Authorized': 2 }, effects: { creates: 2, confirms: 2 } },
    recovery: { alerts: 0, 'alerts that it is over': 0, 'acts of people': 0, 'processes that went on': 3 },
    final: {
      orders: { 'cancelled: Cancelled': 1, 'fulfilled: Fulfilled': 1 },
      captured: 12_900,
      refunded: 2_500,
      effects: { creates: 2, confirms: 2, captures: 1, refunds: 1, voids: 1 },
      stock: { committed: 1, released: 1 },
    },
    left: NOTHING_LEFT,
  },
};
