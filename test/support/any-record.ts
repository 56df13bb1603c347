/** Records of every kind, also such as no history leads to: for properties of total functions. */
import fc from 'fast-check';
import { STEPS } from '../../src/operation/attempt.js';
import { FAILURE_CLASSES } from '../../src/operation/failure.js';
import { INVENTORY_STATES, PAYMENT_STATES } from '../../src/operation/observation.js';
import type { Facts, Operation, Wish } from '../../src/operation/operation.js';
import type { SpecInput } from '../../src/operation/spec.js';
import { anOperation, aSpec, aWish, cancelled, NOW } from './operations.js';

const HOUR = 3_600_000;

export const moment = fc
  .integer({ min: -400, max: 400 })
  .map((hours) => new Date(NOW.getTime() + hours * HOUR));
const iso = moment.map((time) => time.toISOString());
const money = fc.constantFrom(0, 30, 70, 100, 130);
const facts: fc.Arbitrary<Facts> = fc.record({
  payment: fc.record({
    state: fc.constantFrom(...PAYMENT_STATES),
    provider_status: fc.constantFrom(null, 'any'),
    amount: fc.option(money),
    currency: fc.constantFrom(null, 'EUR', 'EUR', 'USD'),
    capture: fc.constantFrom(null, 'automatic' as const, 'manual' as const),
    payment_method: fc.constantFrom(null, 'pm_card_visa'),
    sent_method: fc.constantFrom(null, 'pm_card_visa'),
    authorized: money,
    captured: money,
    disputed: fc.boolean(),
    lost: fc.constantFrom(0, 0, 0, 100),
    capture_before: fc.option(iso),
    next_action: fc.constant(null),
    last_error: fc.constant(null),
    canceled_because: fc.constantFrom(null, 'expired', 'automatic', 'abandoned'),
    operation_id: fc.constantFrom(null, 'op-1', 'op-1', 'op-2'),
    answered_confirmation: fc.nat(2),
    observed_at: fc.option(iso),
  }),
  inventory: fc.record({
    state: fc.constantFrom(...INVENTORY_STATES),
    requested: fc.boolean(),
    lines: fc.constantFrom(null, [{ sku: 'tea', quantity: 2 }], [{ sku: 'tea', quantity: 3 }]),
    refused_generation: fc.constantFrom(null, null, 1, 2),
    observed_at: fc.option(iso),
  }),
  refunds: fc.array(
    fc.record({
      refund_id: fc.constantFrom('r1', 'r2', 'cancellation', 're_9'),
      amount: money,
      state: fc.constantFrom(
        'pending' as const,
        'requires_action' as const,
        'succeeded' as const,
        'failed' as const,
      ),
      source: fc.constantFrom('operation' as const, 'cancellation' as const, 'external' as const),
      provider_reference: fc.constant('re_1'),
      reason: fc.constant(null),
    }),
    { maxLength: 3 },
  ),
  unresolved: fc.option(
    fc.record({ step: fc.constantFrom(...STEPS), target: fc.constant('pi_1/1'), since: iso }),
  ),
  failure: fc.option(
    fc.record({
      class: fc.constantFrom(...FAILURE_CLASSES),
      code: fc.constantFrom('any', 'idempotency_mismatch', 'goods_gone'),
      message: fc.constant('why'),
      step: fc.constantFrom(...STEPS, 'observe_payment' as const, 'observe_inventory' as const),
    }),
  ),
  budget: fc.record({
    generation: fc.nat(2),
    step: fc.option(fc.constantFrom(...STEPS)),
    used: fc.nat(9),
    reads: fc.nat(9),
    rejections: fc.nat(3),
    streak: fc.nat(40),
  }),
});
const wishes: fc.Arbitrary<Wish> = fc
  .record({
    desired: fc.constantFrom('fulfilled' as const, 'authorized' as const),
    capture: fc.constantFrom('automatic' as const, 'manual' as const),
    captures: fc.option(money.filter((value) => value > 0)),
    reference: fc.constantFrom(null, null, 'pi_1'),
    lines: fc.constantFrom<SpecInput['lines']>([], [{ sku: 'tea', quantity: 2 }]),
    refunds: fc.constantFrom<SpecInput['refunds']>(
      [],
      [{ refund_id: 'r1', amount: 30 }],
      [{ refund_id: 'r1', amount: 130 }],
    ),
    cancels: fc.boolean(),
    paused: fc.boolean(),
    confirmation: fc.integer({ min: 1, max: 3 }),
  })
  .map(({ desired, capture, captures, reference, lines, refunds, cancels, paused: holds, confirmation }) => {
    const spec = aSpec({
      desired,
      amount: { value: 100, currency: 'EUR' },
      lines,
      refunds,
      payment: { capture, capture_amount: captures, reference },
    });
    const wish = aWish(spec, {
      confirmation,
      paused: holds ? { by: 'support', reason: 'a look', at: NOW.toISOString() } : null,
    });
    return cancels ? cancelled(wish) : wish;
  });
export const records: fc.Arbitrary<Operation> = fc
  .record({
    wish: wishes,
    facts,
    braked: fc.option(iso),
    stopped: fc.boolean(),
    known: fc.boolean(),
    generation: fc.integer({ min: 1, max: 2 }),
  })
  .map(({ wish, facts: seen, braked: until, stopped, known, generation }) => ({
    ...anOperation({ wish, generation, provider_reference: known ? 'pi_1' : null }),
    facts: {
      ...seen,
      ...(until === null ? {} : { braked: { until, message: 'why' } }),
      ...(stopped ? { account_paused: { by: 'lead', reason: 'a look', at: NOW.toISOString() } } : {}),
    },
  }));
