/** Disputes and drift, by tables: what is held, what is owed, what a reader is told. EUR 100.00 captured unless said. */
import { describe, expect, test } from '@jest/globals';
import { absorbObservation } from '../../src/operation/absorb.js';
import { nextStatus } from '../../src/operation/next-status.js';
import { nextStep } from '../../src/operation/next-step.js';
import { ALL_SEEN, type DisputeState } from '../../src/operation/observation.js';
import type { Operation, PaymentFacts, RefundFact } from '../../src/operation/operation.js';
import { refundTotals } from '../../src/operation/refund.js';
import { cancelled, NOW, POLICY } from '../support/operations.js';
import { anOrder, aRefund, CAPTURED, LATER } from '../support/orders.js';

const disputed = (bars: boolean, ...disputes: [DisputeState, number][]): Partial<PaymentFacts> => ({
  ...CAPTURED,
  disputed: bars,
  lost: disputes.filter(([state]) => state === 'lost').reduce((sum, [, amount]) => sum + amount, 0),
  disputes: disputes.map(([state, amount], at) => ({ reference: `du_${at}`, state, amount })),
});
interface Given {
  readonly payment: Partial<PaymentFacts>;
  readonly refunds?: readonly RefundFact[];
  readonly cancels?: boolean;
}
function order({ payment, refunds, cancels = false }: Given): Operation {
  const given = anOrder({
    payment,
    ...(refunds !== undefined && { refunds }),
    spec: { lines: [] },
    provider_reference: 'pi_1',
  });
  return cancels ? { ...given, wish: cancelled(given.wish) } : given;
}
const told = (operation: Operation): string => {
  const next = nextStep(operation, ALL_SEEN, NOW, POLICY);
  if (next.kind === 'agreed') return 'agreed';
  if (next.kind !== 'step') return `${next.kind} ${next.reason}`;
  return 'amount' in next.step ? `${next.step.name} ${next.step.amount}` : next.step.name;
};

describe('a cancellation', () => {
  test.each<[string, Partial<PaymentFacts>, string]>([
    ['during an inquiry refunds all', disputed(false, ['inquiry', 10_000]), 'create_refund 10000'],
    ['waits for a chargeback', disputed(true, ['open', 10_000]), 'wait DisputeOpen'],
    ['waits where disputes cannot be listed', { ...CAPTURED, disputed: true }, 'wait DisputeOpen'],
    ['asks a person where none is shown', disputed(true), 'person NotRefundable'],
    ['refunds after a won one', disputed(false, ['won', 10_000]), 'create_refund 10000'],
    ['has nothing to refund after a lost one', disputed(true, ['lost', 10_000]), 'agreed'],
    ['refunds what a lost one left', disputed(false, ['lost', 3_000]), 'create_refund 7000'],
    ['asks a person where it left something barred', disputed(true, ['lost', 3_000]), 'person NotRefundable'],
    ['asks a person where a won one stays barred', disputed(true, ['won', 10_000]), 'person NotRefundable'],
    ['refunds what an open one does not touch', disputed(false, ['open', 3_000]), 'create_refund 7000'],
    ['waits for the second of two', disputed(true, ['lost', 3_000], ['open', 2_000]), 'wait DisputeOpen'],
  ])('%s', (_name, payment, want) => {
    expect(told(order({ payment, cancels: true }))).toBe(want);
  });

  test('the part that an open dispute withdrew goes back only once it is won', () => {
    const refunds = [aRefund({ refund_id: 'cancellation', source: 'cancellation', amount: 7_000 })];
    const open = { payment: disputed(false, ['open', 3_000]), refunds, cancels: true };
    expect(told(order(open))).toBe('wait DisputeOpen');
    expect(told(order({ ...open, payment: disputed(false, ['won', 3_000]) }))).toBe('create_refund 3000');
    expect(told(order({ ...open, payment: disputed(true, ['lost', 3_000]) }))).toBe('agreed');
  });
});

describe('refunded, and charged back', () => {
  test.each<[string, number, Partial<PaymentFacts>, string]>([
    ['all of it, open', 10_000, disputed(true, ['open', 10_000]), 'person DisputedAfterRefund'],
    ['all of it, lost', 10_000, disputed(true, ['lost', 10_000]), 'person DisputedAfterRefund'],
    ['all of it, won', 10_000, disputed(false, ['won', 10_000]), 'agreed'],
    ['all of it, only asked about', 10_000, disputed(false, ['inquiry', 10_000]), 'agreed'],
    ['nothing, and the bank took more than was captured', 0, disputed(true, ['lost', 10_300]), 'agreed'],
    ['different parts', 3_000, disputed(true, ['open', 7_000]), 'agreed'],
    ['parts that overlap', 3_000, disputed(true, ['lost', 7_001]), 'person DisputedAfterRefund'],
  ])('%s', (_name, amount, payment, want) => {
    const refunds = [aRefund({ amount, source: 'external', refund_id: 're_1' })];
    expect(told(order({ payment, refunds }))).toBe(want);
    const closed = order({ payment, refunds, cancels: true });
    if (amount === 10_000) expect(nextStatus(closed, NOW, POLICY).phase).toBe('cancelled');
  });
});

test('withdrawn money cannot be refunded', () => {
  expect(refundTotals(order({ payment: disputed(false, ['open', 3_000]) })).refundable).toBe(7_000);
  expect(refundTotals(order({ payment: disputed(false, ['inquiry', 3_000]) })).refundable).toBe(10_000);
});

describe('drift', () => {
  const agreed = (): Operation => {
    const given = order({ payment: CAPTURED });
    return { ...given, status: nextStatus(given, NOW, POLICY, 1) };
  };
  const look = (before: Operation, captured: number): Operation => {
    const reading = {
      ...CAPTURED,
      reference: 'pi_1',
      state: 'captured',
      provider_status: 'succeeded',
      authorized: 0,
      captured,
      refunds: null,
      disputed: false,
      operation_id: 'op-1',
    };
    const { facts } = absorbObservation(before, {
      payment: { kind: 'present', value: reading as never },
      inventory: { kind: 'absent' },
      at: LATER.toISOString(),
    });
    return { ...before, facts };
  };
  const conditionOf = (operation: Operation) =>
    nextStatus(operation, LATER, POLICY, 1).conditions.find(({ type }) => type === 'Drifted');

  test('says what was wanted, recorded and seen, since when and under which wish', () => {
    const drifted = look(agreed(), 9_000);
    expect(drifted.facts.drift).toMatchObject({
      since: LATER.toISOString(),
      generation: 1,
      wanted: { desired: 'fulfilled', amount: { value: 10_000 } },
      recorded: { captured: 10_000 },
      seen: { captured: 9_000 },
    });
    expect(conditionOf(drifted)).toMatchObject({ status: 'True', reason: 'Drifted' });
  });
  test('is over when it is as it was', () => {
    expect(look(look(agreed(), 9_000), 10_000).facts.drift).toBeUndefined();
  });
  test('is none under a newer wish, nor before it was as wanted', () => {
    const drifted = look(agreed(), 9_000);
    expect(conditionOf({ ...drifted, generation: 2 })).toBeUndefined();
    expect(look({ ...agreed(), generation: 2 }, 9_000).facts.drift).toBeUndefined();
    expect(look(order({ payment: CAPTURED }), 9_000).facts.drift).toBeUndefined();
  });
});
