/** An order that nothing can be done for now costs no more looks than one that waits, and says what it waits for. */
import { describe, expect, test } from '@jest/globals';
import { nextStatus } from '../../src/operation/next-status.js';
import { nextStep } from '../../src/operation/next-step.js';
import { ALL_SEEN } from '../../src/operation/observation.js';
import type { Facts, Operation } from '../../src/operation/operation.js';
import { nextLook } from '../../src/operation/schedule.js';
import { beginPass, isChanged, withObservation, withStatus, type Pass } from '../../src/reconciler/pass.js';
import { NOW, POLICY } from '../support/operations.js';
import { anOrder, aRecord, AUTHORIZED, CAPTURED } from '../support/orders.js';

const UNREAD = {
  kind: 'unknown',
  failure: { class: 'unknown', code: 'timeout', message: 'No answer came.' },
} as const;

/** One more pass in which nothing could be read. */
function lookInVain(facts: Facts, status: Pass['operation']['status'], minute: number): Pass {
  const at = new Date(NOW.getTime() + minute * 60_000);
  const record = { ...aRecord(), provider_reference: 'pi_1', facts, status };
  const pass = beginPass({ row: '1', fencing_token: 1, record, attempts: [] });
  const seen = withObservation(pass, { payment: UNREAD, inventory: UNREAD, at: at.toISOString() }, at);
  return withStatus(seen, at, POLICY);
}

test('an order that nobody can read needs a person, and then stays as it is, however long that lasts', () => {
  let { facts, status } = aRecord();
  const changed: boolean[] = [];
  for (let minute = 1; minute <= POLICY.retry_limit + 20; minute += 1) {
    const pass = lookInVain(facts, status, minute);
    changed.push(isChanged(pass));
    ({ facts, status } = pass.operation);
  }
  expect(status.attention?.reason).toBe('RetryBudgetExhausted');
  // A version that moved with every look would make every ETag and every decision of a person stale.
  expect(changed.slice(POLICY.retry_limit)).toEqual(changed.slice(POLICY.retry_limit).map(() => false));
});

describe('an effect that failed, and is not what is missing any more', () => {
  const failing = (operation: Operation, step: 'update_payment' | 'capture_payment' | 'create_refund') => ({
    ...operation,
    facts: {
      ...operation.facts,
      failure: { class: 'rejected', code: 'any', message: 'Refused.', step } as const,
      budget: { ...operation.facts.budget, generation: 1, step, used: 1, rejections: 1, streak: 1 },
    },
  });
  const stock = { state: 'reserved', requested: true } as const;
  const asks = {
    state: 'awaiting_customer',
    amount: 10_000,
    currency: 'EUR',
    answered_confirmation: 1,
  } as const;
  const provider_reference = 'pi_1';

  test.each([
    [
      'an update, and the amount is the former one again',
      failing(anOrder({ payment: asks, inventory: stock, provider_reference }), 'update_payment'),
      'AwaitingCustomer',
    ],
    [
      'a capture, and the order is paused',
      failing(
        anOrder({
          wish: { paused: { by: 'support', reason: 'a look', at: NOW.toISOString() } },
          payment: AUTHORIZED,
          inventory: stock,
          provider_reference,
        }),
        'capture_payment',
      ),
      'Paused',
    ],
    [
      'a refund, since the charge is disputed',
      failing(
        anOrder({
          spec: { refunds: [{ refund_id: 'r1', amount: 1_000 }] },
          payment: { ...CAPTURED, disputed: true },
          inventory: { ...stock, state: 'committed' },
          provider_reference,
        }),
        'create_refund',
      ),
      'DisputeOpen',
    ],
  ])('%s', (_name, operation, reason) => {
    const status = nextStatus(operation, NOW, POLICY, 1);
    expect(status.condition).toBe(reason);
    const decision = nextStep(operation, ALL_SEEN, NOW, POLICY);
    expect(decision).toMatchObject({ kind: 'wait', reason });
    const look = nextLook({ ...operation, status }, decision, NOW, 0.5, POLICY);
    expect((look?.getTime() ?? 0) - NOW.getTime()).toBe(POLICY.resync_interval_ms);
  });
});
