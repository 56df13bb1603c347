import { describe, expect, test } from '@jest/globals';
import { absorbObservation, absorbOutcome, paymentFailure } from '../../src/operation/absorb.js';
import { absorbJournal, withTask } from '../../src/operation/absorb-journal.js';
import { takenPayment } from '../../src/operation/absorb-payment.js';
import { tryPaymentAgain } from '../../src/operation/change.js';
import { effectSeen, resolutionOf } from '../../src/operation/effect-seen.js';
import type { Attempt, Outcome, Resolution } from '../../src/operation/attempt.js';
import type { Failure, FailureClass } from '../../src/operation/failure.js';
import {
  ALL_SEEN,
  type Observation,
  type PaymentReading,
  type RefundReading,
} from '../../src/operation/observation.js';
import { nextStep } from '../../src/operation/next-step.js';
import type { Known, Operation } from '../../src/operation/operation.js';
import type { Step } from '../../src/operation/step.js';
import {
  anAttempt,
  anOperation,
  aRefund,
  aSpec,
  aWish,
  NOW,
  POLICY,
  type OperationPatch,
} from '../support/operations.js';

const AT = NOW.toISOString();
const LATER = new Date(NOW.getTime() + 3 * 3_600_000).toISOString();
const LINES = [{ sku: 'tea-500', quantity: 2 }];

const failure = (cls: FailureClass, code: string = cls): Failure => ({ class: cls, code, message: 'why' });

const aReading = (patch: Partial<PaymentReading> = {}): PaymentReading => ({
  reference: 'pi_1',
  state: 'created',
  provider_status: 'word',
  amount: 12_900,
  currency: 'EUR',
  capture: 'automatic',
  payment_method: 'pm_1',
  authorized: 0,
  captured: 0,
  refunds: null,
  disputed: false,
  capture_before: null,
  next_action: null,
  last_error: null,
  canceled_because: null,
  operation_id: 'op-1',
  livemode: false,
  ...patch,
});
const aRefundReading = (patch: Partial<RefundReading> = {}): RefundReading => ({
  reference: 're_1',
  refund_id: 'r1',
  operation_id: 'op-1',
  amount: 2_500,
  state: 'succeeded',
  reason: null,
  ...patch,
});

const look = (patch: Partial<Observation> = {}): Observation => ({
  payment: { kind: 'absent' },
  inventory: { kind: 'absent' },
  at: AT,
  ...patch,
});
const sees = (patch: Partial<PaymentReading>): Observation =>
  look({ payment: { kind: 'present', value: aReading(patch) } });
const unread = look({
  payment: { kind: 'unknown', failure: failure('unknown', 'timeout') },
  inventory: { kind: 'unknown', failure: failure('prerequisite', 'inventory_unreachable') },
});

const paid = (patch: OperationPatch = {}): Operation =>
  anOperation({
    provider_reference: 'pi_1',
    ...patch,
    facts: {
      ...patch.facts,
      payment: {
        state: 'captured',
        amount: 12_900,
        currency: 'EUR',
        captured: 12_900,
        answered_confirmation: 1,
        ...patch.facts?.payment,
      },
      inventory: { state: 'reserved', requested: true, lines: LINES, ...patch.facts?.inventory },
    },
  });

describe('a reading', () => {
  test('that failed changes nothing that is known', () => {
    const before = paid({ facts: { refunds: [aRefund()] } });
    const { facts, provider_reference } = absorbObservation(before, unread);
    expect(provider_reference).toBe('pi_1');
    expect(facts.payment).toEqual(before.facts.payment);
    expect(facts.inventory).toEqual(before.facts.inventory);
    expect(facts.refunds).toEqual(before.facts.refunds);
    expect(facts.failure).toMatchObject({ step: 'observe_inventory', code: 'inventory_unreachable' });
    // The timeout of the payment counts; that the warehouse is away is not the order's fault.
    expect(facts.budget).toMatchObject({ generation: 1, reads: 1, used: 0, streak: 2 });
  });

  test('that says the recorded payment does not exist is not believed', () => {
    const observation = look();
    expect(paymentFailure(paid(), observation)).toMatchObject({
      class: 'authorization',
      code: 'payment_not_found',
    });
    const { facts } = absorbObservation(paid(), observation);
    expect(facts.payment).toMatchObject({ state: 'captured', captured: 12_900 });
    // It is nobody's outage: when it stays so, a person has to look.
    expect(facts.budget.reads).toBe(1);
  });

  test.each([
    ['before its time', '2026-08-25T02:59:59.999Z', sees({}), true],
    ['at its time', '2026-08-25T03:00:00.000Z', sees({}), false],
    ['at its time, nothing was seen', '2026-08-25T03:00:00.000Z', unread, true],
  ])('lifts the money-out brake %s', (_name, at, observation, stays) => {
    const braked = { until: '2026-08-25T03:00:00.000Z', message: 'why' };
    const { facts } = absorbObservation(paid({ facts: { braked } }), { ...observation, at });
    expect(facts.braked).toEqual(stays ? braked : undefined);
  });

  test('that finds nothing where nothing was made is no failure', () => {
    expect(paymentFailure(anOperation(), look())).toBeNull();
    expect(absorbObservation(anOperation(), look()).facts.failure).toBeNull();
  });

  test('that succeeds ends the failures of that reading only', () => {
    const before = absorbObservation(paid(), unread);
    const good = absorbObservation(
      { ...paid(), ...before },
      { ...sees({ state: 'captured', captured: 12_900 }), inventory: unread.inventory },
    );
    expect(good.facts.failure).toMatchObject({ step: 'observe_inventory' });
    const step = { ...failure('unknown', 'timeout'), step: 'capture_payment' } as const;
    const kept = absorbObservation(
      paid({ facts: { failure: step, budget: { generation: 1, step: 'capture_payment', used: 3 } } }),
      {
        ...sees({ state: 'captured', captured: 12_900 }),
        inventory: { kind: 'present', value: { state: 'reserved', lines: LINES } },
      },
    );
    expect(kept.facts.failure).toEqual(step);
    expect(kept.facts.budget.used).toBe(3);
  });

  test.each(['idempotency_mismatch', 'goods_gone'])('that fails does not hide %s', (code) => {
    const lasting = { ...failure('rejected', code), step: 'release_inventory' } as const;
    const blind = absorbObservation(paid({ facts: { failure: lasting } }), unread);
    expect(blind.facts.failure).toEqual(lasting);
    expect(blind.facts.budget.streak).toBe(2);
    const asBefore = {
      ...sees({ state: 'captured', captured: 12_900 }),
      inventory: { kind: 'present', value: { state: 'reserved', lines: LINES } },
    } as const;
    expect(absorbObservation({ ...paid(), ...blind }, asBefore).facts.failure).toMatchObject({ code });
  });

  test('that shows progress elsewhere does not hide that the goods are gone', () => {
    const lasting = { ...failure('conflict', 'goods_gone'), step: 'release_inventory' } as const;
    const before = paid({ facts: { failure: lasting } });
    const refunded = { ...sees({ state: 'captured', captured: 12_900, refunds: [aRefundReading()] }) };
    const reserved = { kind: 'present', value: { state: 'reserved', lines: LINES } } as const;
    expect(absorbObservation(before, { ...refunded, inventory: reserved }).facts.failure).toEqual(lasting);
    const back = { kind: 'present', value: { state: 'released', lines: LINES } } as const;
    expect(absorbObservation(before, { ...refunded, inventory: back }).facts.failure).toBeNull();
  });

  test('that shows progress gives a fresh budget and forgets the failure', () => {
    const before = paid({
      facts: {
        payment: { state: 'processing', captured: 0 },
        failure: { ...failure('unknown', 'timeout'), step: 'capture_payment' },
        budget: { generation: 1, step: 'capture_payment', used: 8, rejections: 1, streak: 9 },
      },
    });
    const { facts } = absorbObservation(before, sees({ state: 'captured', captured: 12_900 }));
    expect(facts.failure).toBeNull();
    expect(facts.budget).toEqual({ generation: 1, step: null, used: 0, reads: 0, rejections: 0, streak: 0 });
  });

  test.each([
    { state: 'created', before: 0, want: 0, reason: 'nobody confirmed it yet' },
    { state: 'failed', before: 0, want: 1, reason: 'a decline answers a confirmation' },
    { state: 'captured', before: 0, want: 1, reason: 'money answers a confirmation' },
    { state: 'failed', before: 2, want: 2, reason: 'never counted back' },
  ] as const)('answered confirmations in $state: $reason', ({ state, before, want }) => {
    const operation = paid({ facts: { payment: { answered_confirmation: before } } });
    expect(absorbObservation(operation, sees({ state })).facts.payment.answered_confirmation).toBe(want);
  });

  test('keeps what a lost dispute took', () => {
    const seen = absorbObservation(paid(), sees({ state: 'captured', captured: 12_900, lost: 900 }));
    expect(seen.facts.payment.lost).toBe(900);
    const none = absorbObservation(paid(), sees({ state: 'captured', captured: 12_900 }));
    expect(none.facts.payment.lost).toBe(0);
  });

  test.each([
    { state: 'none', want: 'none' },
    { state: 'reserved', want: 'none' },
    { state: 'insufficient', want: 'insufficient' },
    { state: 'released', want: 'released' },
  ] as const)('of no reservation after $state says $want', ({ state, want }) => {
    const { facts } = absorbObservation(
      paid({ facts: { inventory: { state } } }),
      sees({ state: 'captured' }),
    );
    expect(facts.inventory).toMatchObject({ state: want, observed_at: AT });
  });

  test('of a reservation keeps the lines that the warehouse does not tell', () => {
    const { facts } = absorbObservation(paid(), {
      ...sees({ state: 'captured' }),
      inventory: { kind: 'present', value: { state: 'committed', lines: null } },
    });
    expect(facts.inventory).toMatchObject({ state: 'committed', lines: LINES });
  });
});

describe('the payment of the front end', () => {
  const adopting = (patch: OperationPatch = {}): Operation =>
    anOperation({
      wish: aWish(aSpec({ payment: { reference: 'pi_1', payment_method: null } })),
      ...patch,
    });
  const rows: { name: string; reading: Partial<PaymentReading>; want: string | null }[] = [
    { name: 'carries no operation', reading: { operation_id: null }, want: 'pi_1' },
    { name: 'carries this operation', reading: {}, want: 'pi_1' },
    { name: 'carries another operation', reading: { operation_id: 'op-2' }, want: null },
    { name: 'asks for another amount', reading: { operation_id: null, amount: 12_901 }, want: null },
    { name: 'is in another currency', reading: { operation_id: null, currency: 'USD' }, want: null },
    {
      name: 'is in a state that is not known',
      reading: { operation_id: null, state: 'unknown' },
      want: null,
    },
  ];
  test.each(rows)('$name: adopted as $want', ({ reading, want }) => {
    expect(absorbObservation(adopting(), sees(reading)).provider_reference).toBe(want);
  });

  test('once adopted stays, whatever changes on it', () => {
    const known = absorbObservation(adopting({ provider_reference: 'pi_1' }), sees({ amount: 1 }));
    expect(known.provider_reference).toBe('pi_1');
  });

  test('that does not exist is no knowledge', () => {
    expect(paymentFailure(adopting(), look())).toMatchObject({ class: 'authorization' });
  });
});

describe('refunds', () => {
  const asked = aWish(aSpec({ refunds: [{ refund_id: 'r1', amount: 2_500 }] }));
  const listed = (
    refunds: RefundReading[],
    before: Operation = paid({ wish: asked }),
  ): Known['facts']['refunds'] =>
    absorbObservation(before, sees({ state: 'captured', captured: 12_900, refunds })).facts.refunds;

  test.each([
    { name: 'asked for by the caller', reading: {}, want: { refund_id: 'r1', source: 'operation' } },
    {
      name: 'the cancellation’s own',
      reading: { refund_id: 'cancellation-2' },
      want: { refund_id: 'cancellation-2', source: 'cancellation' },
    },
    {
      name: 'made in the dashboard',
      reading: { refund_id: null, operation_id: null },
      want: { refund_id: 're_1', source: 'external' },
    },
    {
      name: 'under an id of ours, for another operation',
      reading: { operation_id: 'op-2' },
      want: { refund_id: 're_1', source: 'external' },
    },
    {
      name: 'under an id that nobody asked for',
      reading: { refund_id: 'r9' },
      want: { refund_id: 'r9', source: 'external' },
    },
  ])('$name', ({ reading, want }) => {
    expect(listed([aRefundReading(reading)])).toMatchObject([want]);
  });

  test('once seen are kept when a list forgets them', () => {
    const before = paid({ wish: asked, facts: { refunds: [aRefund()] } });
    expect(listed([], before)).toEqual([aRefund()]);
  });

  test('that fail after they succeeded are failed, and that is progress', () => {
    const before = paid({
      wish: asked,
      facts: { refunds: [aRefund()], budget: { generation: 1, step: 'commit_inventory', used: 4 } },
    });
    const { facts } = absorbObservation(
      before,
      sees({
        state: 'captured',
        captured: 12_900,
        refunds: [aRefundReading({ state: 'failed', reason: 'declined' })],
      }),
    );
    expect(facts.refunds).toEqual([aRefund({ state: 'failed', reason: 'declined' })]);
    expect(facts.budget.used).toBe(0);
  });

  test('that were not asked for do not erase those that are known', () => {
    const before = paid({ wish: asked, facts: { refunds: [aRefund()] } });
    expect(absorbObservation(before, sees({ state: 'captured', refunds: null })).facts.refunds).toEqual([
      aRefund(),
    ]);
  });
});

const create: Step = {
  name: 'create_payment',
  target: 'payment/1',
  operation_id: 'op-1',
  amount: 12_900,
  currency: 'EUR',
  capture: 'automatic',
  payment_method: 'pm_card_visa',
  customer: null,
  return_url: null,
};
const confirm = (confirmation = 1): Step => ({
  name: 'confirm_payment',
  target: `pi_1/${confirmation}`,
  reference: 'pi_1',
  confirmation,
  amount: 12_900,
  currency: 'EUR',
  payment_method: null,
  return_url: null,
  off_session: false,
});
const capture: Step = {
  name: 'capture_payment',
  target: 'pi_1/12900',
  reference: 'pi_1',
  amount: 12_900,
  currency: 'EUR',
  whole: true,
};
const cancel: Step = { name: 'cancel_payment', target: 'pi_1', reference: 'pi_1' };
const reserve: Step = { name: 'reserve_inventory', target: 'reservation/1', lines: LINES };
const release: Step = { name: 'release_inventory', target: 'reservation' };
const refund: Step = {
  name: 'create_refund',
  target: 'r1',
  reference: 'pi_1',
  operation_id: 'op-1',
  refund_id: 'r1',
  amount: 2_500,
  currency: 'EUR',
};
const update: Step = {
  name: 'update_payment',
  target: 'pi_1/1',
  reference: 'pi_1',
  currency: 'EUR',
  capture: 'automatic',
};

const unknown: Outcome = { kind: 'unknown', failure: failure('unknown', 'timeout') };
const waiting = (patch: OperationPatch = {}): Operation =>
  anOperation({
    provider_reference: 'pi_1',
    ...patch,
    facts: {
      ...patch.facts,
      payment: {
        state: 'created',
        amount: 12_900,
        currency: 'EUR',
        capture: 'automatic',
        ...patch.facts?.payment,
      },
    },
  });

describe('an answer', () => {
  test('to the creation names the payment, and the method that it carries', () => {
    const known = absorbOutcome(anOperation(), create, { kind: 'done', shown: { payment: aReading() } }, AT);
    expect(known.provider_reference).toBe('pi_1');
    expect(known.facts.payment).toMatchObject({ state: 'created', sent_method: 'pm_card_visa' });
  });

  test('that says nothing leaves the step in doubt, since its first try', () => {
    const once = absorbOutcome(waiting(), confirm(), unknown, AT);
    expect(once.facts.unresolved).toEqual({ step: 'confirm_payment', target: 'pi_1/1', since: AT });
    expect(once.facts.budget).toMatchObject({ step: 'confirm_payment', used: 1, streak: 1 });
    const twice = absorbOutcome({ ...waiting(), ...once }, confirm(), unknown, LATER);
    expect(twice.facts.unresolved?.since).toBe(AT);
    expect(twice.facts.budget).toMatchObject({ used: 2, streak: 2 });
  });

  const doubted = waiting({
    facts: { unresolved: { step: 'confirm_payment', target: 'pi_1/1', since: AT } },
  });
  const rows: { name: string; reason: string; outcome: Outcome; stays: boolean }[] = [
    {
      name: 'not sent',
      reason: 'that this try did not leave says nothing about the former one',
      outcome: { kind: 'not_sent', failure: failure('transient') },
      stays: true,
    },
    {
      name: 'throttled',
      reason: 'that this try was turned away says nothing about the former one',
      outcome: { kind: 'not_sent', failure: failure('throttled') },
      stays: true,
    },
    {
      name: 'refused for the credential',
      reason: 'that this try was turned away says nothing about the former one',
      outcome: { kind: 'rejected', failure: failure('authorization', 'api_key_expired') },
      stays: true,
    },
    {
      name: 'other parameters under the key',
      reason: 'the former one was carried out, or still is',
      outcome: { kind: 'rejected', failure: failure('rejected', 'idempotency_mismatch') },
      stays: true,
    },
    {
      name: 'rejected for good',
      reason: 'the answer is final for all tries under the key',
      outcome: { kind: 'rejected', key_spent: true, failure: failure('rejected', 'parameter_invalid') },
      stays: false,
    },
    {
      name: 'declined',
      reason: 'the answer is final for all tries under the key',
      outcome: { kind: 'declined', key_spent: true, failure: failure('declined') },
      stays: false,
    },
    { name: 'pending', reason: 'accepted', outcome: { kind: 'pending' }, stays: false },
    { name: 'done', reason: 'seen', outcome: { kind: 'done' }, stays: false },
  ];
  test.each(rows)('after a lost one, $name: $reason', ({ outcome, stays }) => {
    const { facts } = absorbOutcome(doubted, confirm(), outcome, LATER);
    expect(facts.unresolved !== null).toBe(stays);
  });

  test('to another step leaves the doubt', () => {
    const { facts } = absorbOutcome(doubted, reserve, { kind: 'done' }, LATER);
    expect(facts.unresolved).toMatchObject({ step: 'confirm_payment' });
  });

  test('that succeeds ends all failures', () => {
    const before = waiting({
      facts: {
        failure: { ...failure('unknown'), step: 'confirm_payment' },
        budget: { generation: 1, step: 'confirm_payment', used: 5, rejections: 1, reads: 2, streak: 7 },
      },
    });
    const { facts } = absorbOutcome(before, confirm(), { kind: 'done' }, AT);
    expect(facts.failure).toBeNull();
    expect(facts.budget).toMatchObject({ used: 0, rejections: 0, reads: 0, streak: 0 });
  });

  test.each([
    ['transient', 1, 0],
    ['unknown', 1, 0],
    ['conflict', 1, 0],
    ['partial', 1, 0],
    ['rejected', 1, 1],
    ['throttled', 0, 0],
    ['outage', 0, 0],
    ['authorization', 0, 0],
    ['prerequisite', 0, 0],
    ['compatibility', 0, 0],
    ['cancelled_by_operator', 0, 0],
  ] as const)('of class %s costs %i of the budget and counts %i rejections', (cls, used, rejections) => {
    const kind = cls === 'rejected' ? 'rejected' : 'unknown';
    const { facts } = absorbOutcome(waiting(), confirm(), { kind, failure: failure(cls) }, AT);
    expect(facts.budget).toMatchObject({ generation: 1, used, rejections, streak: 1 });
  });

  test('that refuses is still told of after a reading failed in between, and another method can be given', () => {
    const bad: Outcome = { kind: 'rejected', failure: failure('rejected', 'resource_missing') };
    const refusedOnce = { ...waiting(), ...absorbOutcome(waiting(), confirm(), bad, AT) };
    const refusedTwice = { ...refusedOnce, ...absorbOutcome(refusedOnce, confirm(), bad, AT) };
    const blind = { ...refusedTwice, ...absorbObservation(refusedTwice, unread) };
    const again = { ...blind, ...absorbObservation(blind, sees({ state: 'created' })) };
    expect(nextStep(again, ALL_SEEN, NOW, { ...POLICY, inventory: false })).toEqual({
      kind: 'person',
      reason: 'ProviderRejected',
      message: 'why',
    });
    const asking = { by: 'checkout', now: NOW, policy: POLICY };
    expect(tryPaymentAgain(again, 'pm_other', asking)).toMatchObject({ kind: 'changed' });
    const moved = { ...again, ...absorbObservation(again, sees({ state: 'processing' })) };
    expect(moved.facts.budget).not.toHaveProperty('refusal');
  });

  test('spends anew under another wish and for another step', () => {
    const budget = {
      generation: 1,
      step: 'confirm_payment',
      used: 7,
      reads: 1,
      rejections: 1,
      streak: 8,
    } as const;
    const next = absorbOutcome(waiting({ generation: 2, facts: { budget } }), confirm(), unknown, AT);
    expect(next.facts.budget).toMatchObject({ generation: 2, used: 1, rejections: 0, streak: 1 });
    const other = absorbOutcome(waiting({ facts: { budget } }), cancel, unknown, AT);
    expect(other.facts.budget).toMatchObject({
      step: 'cancel_payment',
      used: 1,
      rejections: 0,
      reads: 1,
      streak: 9,
    });
  });

  test.each([capture, create, update, cancel, refund])(
    'that declines $name is a refusal: it is not asked again and again',
    (step) => {
      const before = waiting({ facts: { payment: { state: 'authorized', authorized: 12_900 } } });
      const { facts } = absorbOutcome(before, step, { kind: 'declined', failure: failure('declined') }, AT);
      expect(facts.failure?.class).toBe('rejected');
      expect(facts.budget).toMatchObject({ rejections: 1, used: 1 });
    },
  );

  test.each([
    { name: 'confirmed', outcome: { kind: 'done' }, want: 2 },
    { name: 'under way', outcome: { kind: 'pending' }, want: 2 },
    { name: 'declined', outcome: { kind: 'declined', failure: failure('declined') }, want: 2 },
    { name: 'lost', outcome: unknown, want: 1 },
    { name: 'not sent', outcome: { kind: 'not_sent', failure: failure('transient') }, want: 1 },
    { name: 'refused', outcome: { kind: 'rejected', failure: failure('rejected') }, want: 1 },
  ] as const)('to the second confirmation, $name', ({ outcome, want }) => {
    const before = waiting({ facts: { payment: { state: 'failed', answered_confirmation: 1 } } });
    expect(absorbOutcome(before, confirm(2), outcome, AT).facts.payment.answered_confirmation).toBe(want);
  });

  test('that the stock is insufficient is kept for this wish', () => {
    const refused: Outcome = {
      kind: 'declined',
      failure: failure('declined', 'insufficient_stock'),
      shown: { reservation: { state: 'insufficient', lines: null } },
    };
    const { facts } = absorbOutcome(anOperation({ generation: 3 }), reserve, refused, AT);
    expect(facts.inventory).toMatchObject({ state: 'insufficient', refused_generation: 3 });
    expect(facts.budget.rejections).toBe(0);
  });

  test('to a reservation keeps the lines that were asked for', () => {
    const done: Outcome = { kind: 'done', shown: { reservation: { state: 'reserved', lines: null } } };
    expect(absorbOutcome(anOperation(), reserve, done, AT).facts.inventory.lines).toEqual(LINES);
  });

  test('that somebody was faster is a reading, and no failure', () => {
    const overtaken: Outcome = {
      kind: 'rejected',
      key_spent: true,
      failure: failure('conflict', 'payment_captured'),
      shown: { payment: aReading({ state: 'captured', captured: 12_900 }) },
    };
    const before = waiting({ facts: { payment: { state: 'authorized' } } });
    const { facts } = absorbOutcome(before, cancel, overtaken, AT);
    expect(facts.payment).toMatchObject({ state: 'captured', captured: 12_900 });
    expect(facts.failure).toBeNull();
    expect(facts.budget.used).toBe(0);
  });

  test('that somebody was faster, and shows nothing new, counts', () => {
    const conflict: Outcome = { kind: 'rejected', key_spent: true, failure: failure('conflict') };
    const { facts } = absorbOutcome(waiting(), cancel, conflict, AT);
    expect(facts.failure).toMatchObject({ class: 'conflict', step: 'cancel_payment' });
    expect(facts.budget.used).toBe(1);
  });

  test('that the goods are gone stays, also when it shows that they were committed', () => {
    const gone: Outcome = {
      kind: 'rejected',
      failure: failure('conflict', 'goods_gone'),
      shown: { reservation: { state: 'committed', lines: null } },
    };
    expect(absorbOutcome(paid(), release, gone, AT).facts.failure).toMatchObject({ code: 'goods_gone' });
  });

  test('that is lost is settled by what it shows', () => {
    const shown: Outcome = {
      ...unknown,
      shown: { payment: aReading({ state: 'captured', captured: 12_900 }) },
    };
    const { facts } = absorbOutcome(
      waiting({ facts: { payment: { state: 'authorized' } } }),
      capture,
      shown,
      AT,
    );
    expect(facts.unresolved).toBeNull();
    expect(facts.failure).toBeNull();
  });

  test('that is lost is not settled by what was there before', () => {
    // Only the capture mode differs, so the amount proves nothing.
    const before = waiting({ facts: { payment: { capture: 'manual' } } });
    const { facts } = absorbOutcome(before, update, unknown, AT);
    expect(facts.unresolved).toMatchObject({ step: 'update_payment' });
    expect(facts.budget.used).toBe(1);
    const held = { state: 'reserved', requested: true, lines: [{ sku: 'tea-500', quantity: 9 }] } as const;
    const lines = absorbOutcome(waiting({ facts: { inventory: held } }), reserve, unknown, AT);
    expect(lines.facts.unresolved).toMatchObject({ step: 'reserve_inventory' });
    expect(lines.facts.budget.used).toBe(1);
  });
});

describe('the journal', () => {
  const attempt = (step: Step, patch: Partial<Attempt> = {}): Attempt =>
    anAttempt({ step: step.name, target: step.target, effect_key: `${step.name}/${step.target}`, ...patch });

  test('of an interrupted step leaves it in doubt', () => {
    const known = absorbJournal(waiting(), [attempt(confirm())]);
    expect(known.facts.unresolved).toEqual({ step: 'confirm_payment', target: 'pi_1/1', since: AT });
  });

  test('keeps a doubt that is known already', () => {
    const since = '2026-08-25T01:00:00.000Z';
    const before = waiting({ facts: { unresolved: { step: 'capture_payment', target: 'pi_1/1', since } } });
    expect(absorbJournal(before, [attempt(confirm())]).facts.unresolved?.since).toBe(since);
  });

  test('puts a payment without an identity first', () => {
    const before = anOperation({
      facts: { unresolved: { step: 'reserve_inventory', target: 'reservation/1', since: AT } },
    });
    const known = absorbJournal(before, [attempt(reserve), attempt(create)]);
    expect(known.facts.unresolved?.step).toBe('create_payment');
  });

  test('names a payment that only a late answer knows', () => {
    const late = attempt(create, { outcome: 'done', completed_at: AT, shown: { payment: aReading() } });
    expect(absorbJournal(anOperation(), [late]).provider_reference).toBe('pi_1');
    expect(absorbJournal(anOperation({ provider_reference: 'pi_7' }), [late]).provider_reference).toBe(
      'pi_7',
    );
  });

  test('tells of a confirmation that was answered too late for its own pass', () => {
    const answeredBy = (outcome: Attempt['outcome']): number =>
      absorbJournal(waiting(), [attempt(confirm(), { outcome, completed_at: AT })]).facts.payment
        .answered_confirmation;
    expect((['done', 'pending', 'declined'] as const).map(answeredBy)).toEqual([1, 1, 1]);
    expect(([null, 'unknown', 'not_sent'] as const).map(answeredBy)).toEqual([0, 0, 0]);
    const ofAnother = attempt({ ...confirm(), target: 'pi_7/3' }, { outcome: 'declined', completed_at: AT });
    expect(absorbJournal(waiting(), [ofAnother]).facts.payment.answered_confirmation).toBe(0);
  });

  test('does not bring back a payment of ours that another order has', () => {
    const late = attempt(create, { outcome: 'done', completed_at: AT, shown: { payment: aReading() } });
    const seen = anOperation({ provider_reference: 'pi_1', facts: { payment: { captured: 500 } } });
    const taken = { ...seen, ...takenPayment(seen, [], 'op-2') };
    expect(taken).toMatchObject({
      provider_reference: null,
      facts: { payment: { taken_by: 'op-2', captured: 0 }, refunds: [] },
    });
    expect(absorbJournal(taken, [late]).provider_reference).toBeNull();
  });

  test('does not bring back the payment that a person had replaced', () => {
    const former = attempt(create, { outcome: 'done', completed_at: AT, shown: { payment: aReading() } });
    const next = anOperation({ wish: aWish(aSpec(), { payment_number: 2 }) });
    expect(absorbJournal(next, [former]).provider_reference).toBeNull();
  });

  test('tells that stock was asked for', () => {
    expect(absorbJournal(anOperation(), [attempt(reserve)]).facts.inventory.requested).toBe(true);
    expect(absorbJournal(anOperation(), [attempt(create)]).facts.inventory.requested).toBe(false);
  });
});

describe('a step in progress', () => {
  test('is in doubt for everybody else', () => {
    expect(withTask(waiting(), 'confirm_payment', NOW).facts.unresolved).toMatchObject({
      step: 'confirm_payment',
      since: AT,
    });
  });
  test('does not replace a doubt that is known, but for a step that takes money; none adds none', () => {
    const since = AT;
    const doubted = waiting({ facts: { unresolved: { step: 'cancel_payment', target: 'x', since } } });
    expect(withTask(doubted, 'commit_inventory', NOW)).toEqual(doubted);
    expect(withTask(doubted, 'capture_payment', NOW).facts.unresolved?.step).toBe('capture_payment');
    expect(withTask(waiting(), null, NOW).facts.unresolved).toBeNull();
  });

  test('says that stock may have been asked for', () => {
    const { facts } = withTask(anOperation(), 'reserve_inventory', NOW);
    expect(facts.inventory.requested).toBe(true);
  });
});

describe('a word that this version does not know', () => {
  test('proves nothing about a confirmation, so that it is asked for once the word is known again', () => {
    const unknown = absorbObservation(waiting(), sees({ state: 'unknown', provider_status: 'pondering' }));
    expect(unknown.facts.payment.answered_confirmation).toBe(0);
    const known = absorbObservation({ ...waiting(), ...unknown }, sees({ state: 'created' }));
    expect(known.facts.payment.answered_confirmation).toBe(0);
  });
});

describe('whether an effect was seen', () => {
  const changed = aWish(aSpec({ lines: [{ sku: 'tea-500', quantity: 3 }] }));
  const rows: { name: string; step: Step; given: Operation; want: boolean; at?: string }[] = [
    { name: 'created, and the id is known', step: create, given: waiting(), want: true },
    { name: 'created, and the id is not known', step: create, given: anOperation(), want: false },
    { name: 'updated', step: update, given: waiting(), want: true },
    {
      name: 'not updated: the amount differs',
      step: update,
      given: waiting({ facts: { payment: { amount: 1 } } }),
      want: false,
    },
    {
      name: 'not updated: the mode differs',
      step: update,
      given: waiting({ facts: { payment: { capture: 'manual' } } }),
      want: false,
    },
    {
      name: 'an update to former terms, while the present ones are there',
      step: { ...update, target: 'pi_1/0' },
      given: waiting(),
      want: false,
    },
    {
      name: 'an update that is overtaken by the money',
      step: update,
      given: waiting({ facts: { payment: { state: 'authorized', amount: 1 } } }),
      want: true,
    },
    { name: 'not confirmed', step: confirm(), given: waiting(), want: false },
    ...(['processing', 'authorized', 'captured', 'canceled'] as const).map((state) => ({
      name: `second confirmation, ${state}`,
      step: confirm(2),
      given: waiting({ facts: { payment: { state, answered_confirmation: 1 } } }),
      want: true,
    })),
    ...(['failed', 'awaiting_customer'] as const).flatMap((state) => [
      {
        name: `first confirmation, ${state}`,
        step: confirm(1),
        given: waiting({ facts: { payment: { state, answered_confirmation: 1 } } }),
        want: true,
      },
      {
        name: `second confirmation, ${state} perhaps by the first`,
        step: confirm(2),
        given: waiting({ facts: { payment: { state, answered_confirmation: 1 } } }),
        want: false,
      },
      {
        name: `eleventh confirmation, ${state}`,
        step: confirm(11),
        given: waiting({ facts: { payment: { state, answered_confirmation: 1 } } }),
        want: false,
      },
    ]),
    { name: 'captured', step: capture, given: paid(), want: true },
    {
      name: 'not captured',
      step: capture,
      given: waiting({ facts: { payment: { state: 'authorized' } } }),
      want: false,
    },
    {
      name: 'a capture that lapse made impossible',
      step: capture,
      given: waiting({ facts: { payment: { state: 'canceled' } } }),
      want: true,
    },
    {
      name: 'canceled',
      step: cancel,
      given: waiting({ facts: { payment: { state: 'canceled' } } }),
      want: true,
    },
    { name: 'a void that the capture made impossible', step: cancel, given: paid(), want: true },
    {
      name: 'a void that may still arrive',
      step: cancel,
      given: waiting({ facts: { payment: { state: 'authorized', observed_at: AT } } }),
      want: false,
    },
    {
      name: 'a void that was lost long ago',
      step: cancel,
      given: waiting({ facts: { payment: { state: 'authorized', observed_at: LATER } } }),
      want: true,
    },
    { name: 'refunded', step: refund, given: paid({ facts: { refunds: [aRefund()] } }), want: true },
    {
      name: 'refunded, and it failed',
      step: refund,
      given: paid({ facts: { refunds: [aRefund({ state: 'failed' })] } }),
      want: true,
    },
    { name: 'not refunded', step: refund, given: paid(), want: false },
    {
      name: 'a refund for which nothing is left',
      step: refund,
      given: paid({ facts: { refunds: [aRefund({ refund_id: 're_9', amount: 12_900 })] } }),
      want: true,
    },
    { name: 'reserved', step: reserve, given: paid(), want: true },
    { name: 'other lines are reserved', step: reserve, given: paid({ wish: changed }), want: false },
    {
      name: 'a reservation that the release made impossible',
      step: reserve,
      given: paid({ facts: { inventory: { state: 'released' } } }),
      want: true,
    },
    {
      name: 'not reserved',
      step: reserve,
      given: paid({ facts: { inventory: { state: 'none' } } }),
      want: false,
    },
    {
      name: 'committed',
      step: { name: 'commit_inventory', target: 'reservation' },
      given: paid({ facts: { inventory: { state: 'committed' } } }),
      want: true,
    },
    {
      name: 'not committed',
      step: { name: 'commit_inventory', target: 'reservation' },
      given: paid(),
      want: false,
    },
    {
      name: 'released',
      step: release,
      given: paid({ facts: { inventory: { state: 'released' } } }),
      want: true,
    },
    { name: 'not released', step: release, given: paid(), want: false },
  ];
  test.each(rows)('$name', ({ step, given, want }) => {
    const attempt = anAttempt({ step: step.name, target: step.target });
    expect(effectSeen(attempt, given.facts, given.provider_reference, given)).toBe(want);
  });

  const told: { name: string; step: Step; given: Operation; want: Resolution | null }[] = [
    {
      name: 'the payment is there, whatever its terms',
      step: create,
      given: paid({ generation: 2 }),
      want: 'effect_observed',
    },
    { name: 'the terms are those of the update', step: update, given: waiting(), want: 'effect_observed' },
    {
      name: 'the money came on other terms than those of the update',
      step: { ...update, target: 'pi_1/0' },
      given: paid(),
      want: 'overtaken',
    },
    {
      name: 'the payment was canceled instead of captured',
      step: capture,
      given: paid({ facts: { payment: { state: 'canceled' } } }),
      want: 'overtaken',
    },
  ];
  test.each(told)('is told: $name', ({ step, given, want }) => {
    const attempt = anAttempt({ step: step.name, target: step.target });
    expect(resolutionOf(attempt, given.facts, given.provider_reference, given)).toBe(want);
  });
});
