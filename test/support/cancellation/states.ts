/** The states in which a cancellation can arrive, each reached over the modelled world as an order would reach it. */
import { askFor, begin, doOutside, HOUR, type Ask, type Outside, type Start } from '../modelled-history.js';
import { GOOD_CHANCE, type ModelledLoop } from '../modelled-loop.js';
import type { Fault } from '../modelled-world.js';

type Deed = (loop: ModelledLoop) => void;

/** One pass for each fault, and one effect a pass at most. */
const passes =
  (...faults: readonly Fault[]): Deed =>
  (loop) => {
    for (const fault of faults) loop.wholePass({ ...GOOD_CHANCE, fault });
  };
const asks =
  (ask: Ask): Deed =>
  (loop) => {
    askFor(loop, ask);
  };
const meanwhile =
  (doing: Outside): Deed =>
  (loop) => {
    doOutside(loop.world, doing);
  };
const later =
  (ms: number): Deed =>
  (loop) => {
    loop.world.pass(ms);
  };

const usual: Start = {
  desired: 'fulfilled',
  capture: 'automatic',
  method: 'pm_pays',
  lines: 2,
  adopts: null,
};
const manual: Start = { ...usual, capture: 'manual' };

const CREATED: readonly Deed[] = [passes('none', 'none')];
const CONFIRMED: readonly Deed[] = [...CREATED, passes('none')];
const FULFILLED: readonly Deed[] = [...CONFIRMED, passes('none', 'none')];
const REFUNDING: readonly Deed[] = [
  ...FULFILLED,
  asks({ kind: 'refund', id: 'r1', amount: 30 }),
  passes('none'),
];
const CAPTURE_ASKED: readonly Deed[] = [...CONFIRMED, asks({ kind: 'capture', amount: undefined })];

export interface State {
  readonly start: Start;
  readonly deeds: readonly Deed[];
  /** As the record says it when the cancellation arrives: phase and headline. */
  readonly shows: string;
}
const state = (start: Start, deeds: readonly Deed[], shows: string): State => ({ start, deeds, shows });

export const STATES = {
  'no payment yet': state(usual, [], 'accepted Accepted'),
  'stock reserved': state(usual, [passes('none')], 'accepted CreatingPayment'),
  'being created, made': state(
    usual,
    [passes('none', 'lost_after')],
    'payment_unknown AwaitingProviderReconciliation',
  ),
  'being created, not made': state(
    usual,
    [passes('none', 'lost_before')],
    'payment_unknown AwaitingProviderReconciliation',
  ),
  'being created, on its way': state(
    usual,
    [passes('none', 'late')],
    'payment_unknown AwaitingProviderReconciliation',
  ),
  created: state(usual, CREATED, 'payment_pending ConfirmingPayment'),
  'awaiting the customer': state(
    { ...usual, method: 'pm_asks' },
    CONFIRMED,
    'awaiting_customer AwaitingCustomer',
  ),
  declined: state({ ...usual, method: 'pm_declines' }, CONFIRMED, 'payment_failed PaymentDeclined'),
  'being confirmed, paid': state(
    usual,
    [...CREATED, passes('lost_after')],
    'payment_unknown AwaitingProviderReconciliation',
  ),
  'being confirmed, not paid': state(
    usual,
    [...CREATED, passes('lost_before')],
    'payment_unknown AwaitingProviderReconciliation',
  ),
  'being confirmed, on its way': state(
    usual,
    [...CREATED, passes('late')],
    'payment_unknown AwaitingProviderReconciliation',
  ),
  processing: state({ ...usual, method: 'pm_slow' }, CONFIRMED, 'payment_pending PaymentProcessing'),
  authorized: state(manual, CONFIRMED, 'authorized Authorized'),
  'being captured, taken': state(
    manual,
    [...CAPTURE_ASKED, passes('lost_after')],
    'payment_unknown AwaitingProviderReconciliation',
  ),
  'being captured, not taken': state(
    manual,
    [...CAPTURE_ASKED, passes('lost_before')],
    'payment_unknown AwaitingProviderReconciliation',
  ),
  'being captured, on its way': state(
    manual,
    [...CAPTURE_ASKED, passes('late')],
    'payment_unknown AwaitingProviderReconciliation',
  ),
  captured: state(usual, CONFIRMED, 'fulfilling CommittingStock'),
  fulfilled: state(usual, FULFILLED, 'fulfilled Fulfilled'),
  'partly refunded': state(
    usual,
    [...REFUNDING, meanwhile({ kind: 'refunds_succeed' }), passes('none')],
    'fulfilled Fulfilled',
  ),
  'refund not sent': state(
    usual,
    [...FULFILLED, asks({ kind: 'refund', id: 'r1', amount: 30 })],
    'fulfilled Refunding',
  ),
  'refund pending': state(usual, REFUNDING, 'fulfilled Refunding'),
  'refund in doubt, made': state(
    usual,
    [...FULFILLED, asks({ kind: 'refund', id: 'r1', amount: 30 }), passes('lost_after')],
    'payment_unknown AwaitingProviderReconciliation',
  ),
  'refund failed': state(
    usual,
    [...REFUNDING, meanwhile({ kind: 'refund_fails' }), passes('none')],
    'fulfilled RefundFailed',
  ),
  'all refunded elsewhere': state(
    usual,
    [...FULFILLED, meanwhile({ kind: 'refund', amount: 100 }), meanwhile({ kind: 'refunds_succeed' })],
    'fulfilled Fulfilled',
  ),
  'canceled elsewhere': state(manual, [...CONFIRMED, meanwhile({ kind: 'cancel' })], 'authorized Authorized'),
  lapsed: state(
    manual,
    [...CONFIRMED, meanwhile({ kind: 'lapse' }), passes('none')],
    'payment_failed AuthorizationExpired',
  ),
  disputed: state(usual, [...FULFILLED, meanwhile({ kind: 'dispute', amount: 100 })], 'fulfilled Fulfilled'),
  'dispute lost': state(
    usual,
    [...FULFILLED, meanwhile({ kind: 'dispute', amount: 100 }), meanwhile({ kind: 'lose' })],
    'fulfilled Fulfilled',
  ),
  'goods gone': state(usual, [...FULFILLED, meanwhile({ kind: 'ship' })], 'fulfilled Fulfilled'),
  'out of stock': state({ ...usual, lines: 11 }, [passes('none')], 'accepted OutOfStock'),
  'out of stock, rejected': state(
    { ...usual, lines: 11 },
    [passes('none', 'none', 'none')],
    'rejected OutOfStock',
  ),
  'unpaid, rejected': state(
    { ...usual, method: 'pm_declines' },
    [...CONFIRMED, later(25 * HOUR), passes('none', 'none', 'none')],
    'rejected PaymentDeadlinePassed',
  ),
  paused: state(manual, [...CONFIRMED, asks({ kind: 'pause' })], 'authorized Authorized'),
  'budget exhausted': state(
    usual,
    [...CREATED, passes(...Array<Fault>(8).fill('not_sent'))],
    'payment_pending RetryBudgetExhausted',
  ),
} as const satisfies Record<string, State>;
export type StateName = keyof typeof STATES;

export function reach({ start, deeds }: State): ModelledLoop {
  const loop = begin(start, 1);
  for (const deed of deeds) deed(loop);
  return loop;
}
