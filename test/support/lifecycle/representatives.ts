/** Records that stand for many: every state of payment and stock, and the troubles that no short history leads to. */
import type { Failure } from '../../../src/operation/failure.js';
import type { InventoryState, PaymentState } from '../../../src/operation/observation.js';
import type { Operation } from '../../../src/operation/operation.js';
import { anOrder, aRefund, AUTHORIZED, CAPTURED } from '../orders.js';
import { NO_DECISIONS, type Decisions } from '../../../src/operation/decisions.js';
import { aSpec, aWish, cancelled, NOW } from '../operations.js';

export const GOALS = ['authorized', 'fulfilled', 'cancelled'] as const;
export type GoalName = (typeof GOALS)[number];

export const LINES = [{ sku: 'tea-500', quantity: 2 }];
const HELD: ReadonlySet<InventoryState> = new Set(['reserved', 'committed', 'released']);

/** An order of EUR 100.00 as recorded; the payment of each state is one that this service made. */
export function inState(goal: GoalName, payment: PaymentState, stock: InventoryState): Operation {
  const wish = aWish(
    aSpec({
      amount: { value: 10_000, currency: 'EUR' },
      desired: goal === 'authorized' ? 'authorized' : 'fulfilled',
    }),
  );
  const order = anOrder({
    payment:
      payment === 'none'
        ? {}
        : {
            state: payment,
            amount: 10_000,
            currency: 'EUR',
            capture: goal === 'fulfilled' ? 'automatic' : 'manual',
            operation_id: 'op-1',
            sent_method: 'pm_card_visa',
            answered_confirmation: payment === 'created' ? 0 : 1,
            ...(payment === 'captured' ? { captured: 10_000 } : {}),
            ...(payment === 'authorized' ? { authorized: 10_000 } : {}),
          },
    inventory: {
      state: stock,
      requested: stock !== 'none',
      lines: HELD.has(stock) ? LINES : null,
      ...(stock === 'insufficient' ? { refused_generation: 1 } : {}),
    },
    ...(payment === 'none' ? {} : { provider_reference: 'pi_1' }),
  });
  return { ...order, wish: goal === 'cancelled' ? cancelled(wish) : wish };
}

const adopting = { payment: { payment_method: null, reference: 'pi_1' } };
const failing = (operation: Operation, step: 'confirm_payment' | 'observe_payment', failure: Failure) => ({
  ...operation,
  facts: { ...operation.facts, failure: { ...failure, step } },
});
const spent = (operation: Operation, budget: Partial<Operation['facts']['budget']>): Operation => ({
  ...operation,
  facts: { ...operation.facts, budget: { ...operation.facts.budget, generation: 1, ...budget } },
});
const braked = (operation: Operation): Operation => ({
  ...operation,
  facts: {
    ...operation.facts,
    braked: { until: NOW.toISOString(), message: 'The account gives back no more.' },
  },
});
const decided = (operation: Operation, decisions: Partial<Decisions>): Operation => ({
  ...operation,
  wish: { ...operation.wish, decisions: { ...NO_DECISIONS, ...decisions } },
});
const WORD = { by: 'lead', reason: 'seen there', at: NOW.toISOString() };
const CONFIRMED = {
  ...WORD,
  step: 'confirm_payment' as const,
  target: 'pi_1/1',
  outcome: 'done' as const,
  evidence: 'the dashboard shows it',
  last_attempt: null,
};
const stopped = (operation: Operation): Operation => ({
  ...operation,
  facts: {
    ...operation.facts,
    account_paused: { by: 'lead', reason: 'a wrong price list', at: NOW.toISOString() },
  },
});
const READY = inState('fulfilled', 'created', 'reserved');
const REFUSAL: Failure = { class: 'rejected', code: 'parameter_invalid', message: 'Refused.' };

/** Each leads to a reason that takes more than a few happenings, or a provider stranger than the modelled one. */
export const TROUBLED: readonly Operation[] = [
  spent(failing(READY, 'confirm_payment', { class: 'unknown', code: 'timeout', message: 'No answer.' }), {
    step: 'confirm_payment',
    used: 8,
    streak: 8,
  }),
  spent(failing(READY, 'confirm_payment', REFUSAL), { step: 'confirm_payment', rejections: 2 }),
  inState('fulfilled', 'unknown', 'reserved'),
  stopped(inState('fulfilled', 'none', 'none')),
  stopped(READY),
  stopped(inState('cancelled', 'captured', 'reserved')),
  failing(anOrder({ spec: adopting }), 'observe_payment', {
    class: 'authorization',
    code: 'payment_not_found',
    message: 'The provider does not know pi_1 in this account and mode.',
  }),
  anOrder({
    spec: { payment: { capture: 'manual', capture_amount: 5_000 } },
    payment: CAPTURED,
    inventory: { state: 'reserved', requested: true, lines: LINES },
    provider_reference: 'pi_1',
  }),
  inState('fulfilled', 'captured', 'released'),
  anOrder({
    payment: CAPTURED,
    inventory: { state: 'committed', requested: true, lines: [{ sku: 'tea-500', quantity: 3 }] },
    provider_reference: 'pi_1',
  }),
  anOrder({
    spec: { desired: 'authorized' },
    payment: { ...AUTHORIZED, authorized: 5_000, amount: 10_000 },
    inventory: { state: 'reserved', requested: true, lines: LINES },
    provider_reference: 'pi_1',
  }),
  braked(
    anOrder({
      spec: { refunds: [{ refund_id: 'r1', amount: 1_000 }] },
      payment: CAPTURED,
      inventory: { state: 'committed', requested: true, lines: LINES },
      provider_reference: 'pi_1',
    }),
  ),
  anOrder({
    spec: { desired: 'authorized' },
    payment: { ...AUTHORIZED, capture_before: new Date(NOW.getTime() + 6 * 3_600_000).toISOString() },
    inventory: { state: 'reserved', requested: true, lines: LINES },
    provider_reference: 'pi_1',
  }),
  anOrder({
    wish: cancelled(aWish()),
    payment: CAPTURED,
    inventory: { state: 'released', requested: true, lines: LINES },
    refunds: ['re_1', 're_2'].map((provider_reference) =>
      aRefund({ refund_id: 'cancellation', source: 'cancellation', amount: 5_000, provider_reference }),
    ),
    provider_reference: 'pi_1',
  }),
  decided(READY, { asserted: [CONFIRMED] }),
  decided(
    {
      ...READY,
      facts: { ...READY.facts, payment: { ...READY.facts.payment, observed_at: '2026-08-25T04:00:00.000Z' } },
    },
    { asserted: [CONFIRMED] },
  ),
  decided(READY, {
    given_up: { ...WORD, verdict: 'escalated', generation: 1, reason_word: null, covers: 10_000 },
  }),
  decided(inState('cancelled', 'captured', 'committed'), {
    left: [
      { ...WORD, name: 'payment', left_behind: 'refunded by bank transfer', covers: 10_000 },
      { ...WORD, name: 'inventory', left_behind: 'the customer keeps the goods', covers: 0 },
    ],
  }),
];
