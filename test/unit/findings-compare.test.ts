/** Payments as listed beside the operations that they could belong to: what is a finding, and what is not. */
import { describe, expect, test } from '@jest/globals';
import { compare, type Rules } from '../../src/findings/compare.js';
import type { RecordedSide, SeenPayment } from '../../src/findings/finding.js';
import type { PaymentReading } from '../../src/operation/observation.js';
import {
  aRefund,
  aSpec,
  aWish,
  anAttempt,
  anOperation,
  NOW,
  type OperationPatch,
} from '../support/operations.js';

const RULES: Rules = { account: 'default', exclusive: false, grace_ms: 3_600_000 };
const OLD = '2026-08-24T00:00:00.000Z';

interface PaymentPatch extends Partial<Omit<SeenPayment, 'payment'>> {
  readonly payment?: Partial<PaymentReading>;
}

/** EUR 129.00, captured, with our mark. */
const aPayment = ({ payment, ...patch }: PaymentPatch = {}): SeenPayment => ({
  created_at: OLD,
  refunded: 0,
  terms: { amount: 12_900, currency: 'eur', metadata: { operation_id: 'op-1' } },
  ...patch,
  payment: {
    reference: 'pi_1',
    state: 'captured',
    provider_status: 'succeeded',
    amount: 12_900,
    currency: 'EUR',
    capture: 'automatic',
    payment_method: null,
    authorized: 0,
    captured: 12_900,
    refunds: null,
    disputed: false,
    capture_before: null,
    next_action: null,
    last_error: null,
    canceled_because: null,
    operation_id: 'op-1',
    livemode: false,
    ...payment,
  },
});

const CAPTURED = { state: 'captured', captured: 12_900, observed_at: NOW.toISOString() } as const;

const aSide = ({ facts, ...patch }: OperationPatch = {}, more: Partial<RecordedSide> = {}): RecordedSide => ({
  operation: anOperation({
    provider_reference: 'pi_1',
    ...patch,
    facts: { ...facts, payment: { ...CAPTURED, ...facts?.payment } },
  }),
  task: null,
  creates: null,
  ...more,
});

const phase = (of: 'cancelled' | 'rejected'): OperationPatch => ({
  status: { ...anOperation().status, phase: of },
});
const refund = (state: 'succeeded' | 'pending' | 'failed', amount = 12_900) => ({
  reference: 're_1',
  refund_id: null,
  operation_id: null,
  amount,
  state,
  reason: null,
});
const adopting = (reference: string): OperationPatch => ({
  provider_reference: null,
  wish: aWish(aSpec({ payment: { payment_method: null, reference } })),
});
const created: Partial<PaymentReading> = {
  reference: 'pi_2',
  state: 'created',
  provider_status: 'requires_payment_method',
  captured: 0,
};

interface Row {
  readonly name: string;
  readonly payment?: PaymentPatch;
  readonly records?: readonly RecordedSide[];
  readonly rules?: Partial<Rules>;
  /** Kind and minor units at stake. */
  readonly want: readonly [kind: string, amount: number] | null;
}

const rows: readonly Row[] = [
  { name: 'an order’s own payment, as recorded', records: [aSide()], want: null },
  { name: 'no operation of that name', want: ['orphan_payment', 12_900] },
  { name: 'no operation, given back', payment: { refunded: 12_900 }, want: null },
  { name: 'no operation, given back in part', payment: { refunded: 900 }, want: ['orphan_payment', 12_000] },
  {
    name: 'no operation, and its refund is on the way: it may fail',
    payment: { payment: { refunds: [refund('pending')] } },
    want: ['orphan_payment', 12_900],
  },
  {
    name: 'no operation, refunds one by one',
    payment: { payment: { refunds: [refund('succeeded')] } },
    want: null,
  },
  {
    name: 'no operation, taken back by a dispute',
    payment: { payment: { lost: 12_900, refunds: [] } },
    want: null,
  },
  {
    name: 'no operation, held',
    payment: { payment: { state: 'authorized', authorized: 12_900, captured: 0 } },
    want: ['orphan_payment', 12_900],
  },
  {
    name: 'no operation, money may arrive',
    payment: { payment: { state: 'processing', captured: 0 } },
    want: ['orphan_payment', 12_900],
  },
  {
    name: 'no operation, a state of which we know nothing',
    payment: { payment: { state: 'unknown', captured: 0 } },
    want: ['orphan_payment', 12_900],
  },
  ...(['created', 'awaiting_customer', 'failed', 'canceled'] as const).map((state): Row => ({
    name: `no operation and no money: ${state}`,
    payment: { payment: { state, captured: 0 } },
    want: null,
  })),
  { name: 'another system’s payment', payment: { payment: { operation_id: null } }, want: null },
  {
    name: 'another system’s payment, where there is no other system',
    payment: { payment: { operation_id: null } },
    rules: { exclusive: true },
    want: ['orphan_payment', 12_900],
  },
  {
    name: 'the operation belongs to another account',
    records: [aSide({ account: 'second' })],
    want: ['orphan_payment', 12_900],
  },
  {
    name: 'adopted without our mark',
    payment: { payment: { operation_id: null } },
    records: [aSide()],
    rules: { exclusive: true },
    want: null,
  },
  {
    name: 'about to be adopted',
    payment: { payment: { operation_id: null } },
    records: [aSide(adopting('pi_1'))],
    want: null,
  },
  {
    name: 'never adopted: its order was rejected',
    payment: { payment: { operation_id: null } },
    records: [aSide({ ...adopting('pi_1'), ...phase('rejected') })],
    want: ['second_payment', 12_900],
  },
  {
    name: 'a second payment',
    payment: { payment: { reference: 'pi_2' } },
    records: [aSide()],
    want: ['second_payment', 12_900],
  },
  {
    name: 'a second payment of an order that is cancelled',
    payment: { payment: { reference: 'pi_2' } },
    records: [aSide(phase('cancelled'))],
    want: ['second_payment', 12_900],
  },
  {
    name: 'more captured than recorded',
    payment: { payment: { captured: 13_000 } },
    records: [aSide()],
    want: ['amounts_differ', 100],
  },
  {
    name: 'given back elsewhere',
    payment: { refunded: 500 },
    records: [aSide()],
    want: ['amounts_differ', 500],
  },
  {
    name: 'a list that does not tell refunds',
    payment: { refunded: null },
    records: [aSide({ facts: { refunds: [aRefund()] } })],
    want: null,
  },
  {
    name: 'refunds on the way on both sides',
    payment: { refunded: 2_500 },
    records: [aSide({ facts: { refunds: [aRefund({ state: 'pending' })] } })],
    want: null,
  },
  {
    name: 'a refund that failed counts on neither side',
    payment: { payment: { refunds: [refund('failed', 2_500)] } },
    records: [aSide({ facts: { refunds: [aRefund({ state: 'failed' })] } })],
    want: null,
  },
  {
    name: 'a step is under way',
    payment: { refunded: 500 },
    records: [aSide({}, { task: 'create_refund' })],
    want: null,
  },
  {
    name: 'an outcome is in doubt',
    payment: { refunded: 500 },
    records: [
      aSide({ facts: { unresolved: { step: 'create_refund', target: 'r1', since: NOW.toISOString() } } }),
    ],
    want: null,
  },
  {
    name: 'money left on a cancelled order',
    records: [aSide(phase('cancelled'))],
    want: ['money_left', 12_900],
  },
  {
    name: 'money held for a rejected order',
    payment: { payment: { state: 'authorized', authorized: 12_900, captured: 0 } },
    records: [aSide({ ...phase('rejected'), facts: { payment: { captured: 0 } } })],
    want: ['money_left', 12_900],
  },
  {
    name: 'a cancelled order, all given back',
    payment: { refunded: 12_900 },
    records: [aSide({ ...phase('cancelled'), facts: { refunds: [aRefund({ amount: 12_900 })] } })],
    want: null,
  },
  {
    name: 'an unconfirmed payment beside the own one',
    payment: { payment: created },
    records: [aSide()],
    want: ['stray_unconfirmed', 0],
  },
  {
    name: 'an unconfirmed payment of an order without one: it may become its own',
    payment: { payment: created },
    records: [aSide({ provider_reference: null })],
    want: null,
  },
  {
    name: 'confirmed once and declined: not ours to cancel',
    payment: { payment: { ...created, state: 'failed' } },
    records: [aSide()],
    want: null,
  },
];

test.each(rows)('$name', ({ payment, records = [], rules, want }) => {
  const { drafts } = compare([aPayment(payment)], records, { ...RULES, ...rules });
  expect(drafts.map(({ kind, amount }) => [kind, amount])).toEqual(want === null ? [] : [want]);
});

describe('a suspicion', () => {
  const first = (payment: PaymentPatch, records: readonly RecordedSide[]) =>
    compare([aPayment(payment)], records, RULES).drafts[0];

  test('of a young payment waits for its order; a second payment beside a known one does not', () => {
    expect(first({}, [])?.ripe_at).toBe('2026-08-24T01:00:00.000Z');
    expect(first({ payment: { reference: 'pi_2' } }, [aSide()])?.ripe_at).toBe(OLD);
    expect(first({}, [aSide({ provider_reference: null })])?.ripe_at).toBe('2026-08-24T01:00:00.000Z');
  });

  test('about a record waits until that was read again', () => {
    const waits = { operation_id: 'op-1', observed_at: NOW.toISOString() };
    expect(first({ refunded: 1 }, [aSide()])?.waits_for).toEqual(waits);
    expect(first({}, [aSide(phase('cancelled'))])?.waits_for).toEqual(waits);
    expect(first({}, [])?.waits_for).toBeNull();
  });

  test('suggests adoption only for an order that wants a payment and has none that lives', () => {
    const failed = aSide({ facts: { payment: { state: 'canceled', captured: 0 } } });
    expect(first({ payment: { reference: 'pi_2' } }, [failed])?.suggested).toBe('adopt_payment');
    expect(first({ payment: { reference: 'pi_2' } }, [aSide()])?.suggested).toBe('refund_stray');
  });
});

describe('an unconfirmed payment is canceled', () => {
  const stray = aPayment({ payment: created, created_at: NOW.toISOString() });
  const sent = {
    amount: 12_900,
    currency: 'eur',
    metadata: { operation_id: 'op-1' },
    payment_method: 'pm_1',
  };
  const lost = anAttempt({
    step: 'create_payment',
    target: 'payment-1',
    parameters: sent,
    completed_at: NOW.toISOString(),
    outcome: 'unknown',
    resolution: 'no_effect_observed',
  });
  const own = anAttempt({
    ...lost,
    ordinal: 2,
    effect_key: 'op_second',
    outcome: 'done',
    shown: { payment: aPayment().payment },
  });
  const canceled = (creates: RecordedSide['creates'], seen: SeenPayment): boolean =>
    compare([seen], [aSide({}, { creates })], RULES).drafts.some(({ cancel }) => cancel);
  const later = (ms: number): string => new Date(NOW.getTime() + ms).toISOString();

  const cases: [string, boolean, RecordedSide['creates'], SeenPayment?][] = [
    ['made by a try whose answer was lost', true, [lost, own]],
    ['as long as the journal was not read', false, null],
    ['without any try of ours', false, []],
    ['beside the try that made the own one', false, [own]],
    ['when the same key has shown what it made', false, [lost, { ...own, effect_key: lost.effect_key }]],
    [
      'made under a key that lived no longer',
      true,
      [lost, { ...own, effect_key: lost.effect_key, started_at: later(86_400_000) }],
    ],
    ['while a creation is in doubt', false, [lost, own, { ...lost, ordinal: 3, resolution: null }]],
    ['when the last answer named it', false, [lost, { ...own, shown: { payment: stray.payment } }]],
    ['created an hour later', false, [lost, own], { ...stray, created_at: later(3_600_000) }],
    ['of another amount', false, [lost, own], { ...stray, terms: { ...stray.terms, amount: 1 } }],
    [
      'of another capture',
      false,
      [lost, own],
      { ...stray, terms: { ...stray.terms, capture_method: 'manual' } },
    ],
    ['of which nothing is known', false, [lost, own], { ...stray, terms: {} }],
  ];
  test.each(cases.map(([name, want, creates, seen = stray]) => [name, want, creates, seen] as const))(
    '%s: %s',
    (_name, want, creates, seen) => {
      expect(canceled(creates, seen)).toBe(want);
    },
  );
});

test('sums of both sides, by currency; another system’s money is no part of them', () => {
  const payments = [
    aPayment({ refunded: 400 }),
    aPayment({ payment: { reference: 'pi_2' } }),
    aPayment({ payment: { reference: 'pi_3', operation_id: null } }),
    aPayment({ payment: { reference: 'pi_4', operation_id: null, currency: 'USD' } }),
  ];
  const records = [aSide(), aSide({ operation_id: 'op-4', provider_reference: 'pi_4' })];
  expect(compare(payments, records, RULES).totals).toEqual({
    EUR: { provider: 25_400, recorded: 12_900 },
    USD: { provider: 12_900, recorded: 12_900 },
  });
});
