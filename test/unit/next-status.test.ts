import { describe, expect, test } from '@jest/globals';
import { INITIAL_STATUS, nextStatus } from '../../src/operation/next-status.js';
import type { Facts, Operation, Phase, RefundFact, Status } from '../../src/operation/operation.js';
import type { PaymentState } from '../../src/operation/observation.js';
import { REASONS, type Reason } from '../../src/operation/reason.js';
import { allRefunds, heldAtProvider, isGivenBackByOthers, refundTotals } from '../../src/operation/refund.js';
import { transitions } from '../../src/reconciler/events.js';
import {
  anOperation,
  aRefund,
  aSpec,
  aWish,
  cancelled,
  NOW,
  POLICY,
  type FactsPatch,
} from '../support/operations.js';

const AT = NOW.toISOString();
const LATER = new Date(NOW.getTime() + 60_000);
const DEADLINE = new Date(NOW.getTime() + POLICY.payment_deadline_ms);
const LINES = [{ sku: 'tea-500', quantity: 2 }];
const STOPPED = { by: 'lead', reason: 'a look', at: AT };

type SpecPatch = NonNullable<Parameters<typeof aSpec>[0]>;
interface Order extends FactsPatch {
  readonly spec?: SpecPatch;
  readonly cancels?: boolean;
  readonly paused?: boolean;
  readonly confirmation?: number;
  readonly reference?: string | null;
  readonly before?: Partial<Status>;
}
function order(given: Order): Operation {
  const { spec, cancels, paused, confirmation, reference, before, ...facts } = given;
  const wish = aWish(aSpec(spec), {
    confirmation: confirmation ?? 1,
    paused: paused === true ? { by: 'support', reason: 'a look', at: AT } : null,
  });
  return anOperation({
    wish: cancels === true ? cancelled(wish) : wish,
    provider_reference: reference === undefined ? (facts.payment === undefined ? null : 'pi_1') : reference,
    status: { ...INITIAL_STATUS, ...before },
    facts,
  });
}
const payment = (state: PaymentState, patch: Partial<Facts['payment']> = {}): Partial<Facts['payment']> => ({
  state,
  amount: 12_900,
  currency: 'EUR',
  capture: 'automatic',
  authorized: state === 'authorized' ? 12_900 : 0,
  captured: state === 'captured' ? 12_900 : 0,
  answered_confirmation: state === 'created' ? 0 : 1,
  ...patch,
});
const stock = (state: Facts['inventory']['state']): Partial<Facts['inventory']> => ({
  state,
  requested: state !== 'none',
  lines: LINES,
});
const reserved = stock('reserved');
const committed = stock('committed');
const released = stock('released');
const failed = (
  cls: NonNullable<Facts['failure']>['class'],
  step: NonNullable<Facts['failure']>['step'],
  code = 'code',
): Facts['failure'] => ({ class: cls, code, message: 'why', step });
const inDoubt = (step: NonNullable<Facts['unresolved']>['step']): Facts['unresolved'] => ({
  step,
  target: 'pi_1/1',
  since: AT,
});
const refunded = (patch: Partial<RefundFact> = {}): RefundFact[] => [
  aRefund({ refund_id: 'cancellation', source: 'cancellation', amount: 12_900, ...patch }),
];

interface Row {
  readonly name: string;
  readonly given: Order;
  readonly at?: Date;
  readonly phase: Phase;
  readonly condition: Reason;
  /** Asks for a person. */
  readonly person?: true;
  readonly settled?: true;
}

describe('phase and headline', () => {
  const rows: Row[] = [
    { name: 'nothing yet', given: {}, phase: 'accepted', condition: 'Accepted' },
    {
      name: 'stock reserved',
      given: { inventory: reserved },
      phase: 'accepted',
      condition: 'CreatingPayment',
    },
    {
      name: 'the payment of the front end, not read yet',
      given: { spec: { lines: [], payment: { reference: 'pi_1', payment_method: null } } },
      phase: 'accepted',
      condition: 'Accepted',
    },
    {
      name: 'created',
      given: { payment: payment('created'), inventory: reserved },
      phase: 'payment_pending',
      condition: 'ConfirmingPayment',
    },
    {
      name: 'declined by the answer only',
      given: { payment: payment('created', { answered_confirmation: 1 }), inventory: reserved },
      phase: 'payment_failed',
      condition: 'PaymentDeclined',
    },
    {
      name: 'declined',
      given: {
        payment: payment('failed'),
        inventory: reserved,
        failure: failed('declined', 'confirm_payment'),
      },
      phase: 'payment_failed',
      condition: 'PaymentDeclined',
    },
    {
      name: 'declined, the customer tries again',
      given: { payment: payment('failed'), inventory: reserved, confirmation: 2 },
      phase: 'payment_pending',
      condition: 'ConfirmingPayment',
    },
    {
      name: '3-D Secure',
      given: { payment: payment('awaiting_customer'), inventory: reserved },
      phase: 'awaiting_customer',
      condition: 'AwaitingCustomer',
    },
    {
      name: 'processing',
      given: { payment: payment('processing'), inventory: reserved },
      phase: 'payment_pending',
      condition: 'PaymentProcessing',
    },
    {
      name: 'authorized as wanted',
      given: { payment: payment('authorized'), inventory: reserved, spec: { desired: 'authorized' } },
      phase: 'authorized',
      condition: 'Authorized',
    },
    {
      name: 'authorized, manual capture',
      given: {
        payment: payment('authorized'),
        inventory: reserved,
        spec: { payment: { capture: 'manual' } },
      },
      phase: 'authorized',
      condition: 'Authorized',
    },
    {
      name: 'authorized, being captured',
      given: { payment: payment('authorized'), inventory: reserved },
      phase: 'authorized',
      condition: 'Capturing',
    },
    {
      name: 'authorized below what is wanted',
      given: { payment: payment('authorized', { authorized: 1 }), inventory: reserved },
      phase: 'authorized',
      condition: 'AmountAboveAuthorization',
      person: true,
    },
    {
      name: 'captured',
      given: { payment: payment('captured'), inventory: reserved },
      phase: 'fulfilling',
      condition: 'CommittingStock',
    },
    {
      name: 'captured short',
      given: { payment: payment('captured', { captured: 1 }), inventory: reserved },
      phase: 'fulfilling',
      condition: 'CapturedShort',
      person: true,
    },
    {
      name: 'captured, stock lost',
      given: { payment: payment('captured'), inventory: released },
      phase: 'fulfilling',
      condition: 'StockLostAfterPayment',
      person: true,
    },
    {
      name: 'fulfilled',
      given: { payment: payment('captured'), inventory: committed },
      phase: 'fulfilled',
      condition: 'Fulfilled',
      settled: true,
    },
    {
      name: 'fulfilled, a refund to be sent',
      given: {
        payment: payment('captured'),
        inventory: committed,
        spec: { refunds: [{ refund_id: 'r1', amount: 1 }] },
      },
      phase: 'fulfilled',
      condition: 'Refunding',
    },
    {
      name: 'fulfilled, a refund pending',
      given: {
        payment: payment('captured'),
        inventory: committed,
        spec: { refunds: [{ refund_id: 'r1', amount: 1 }] },
        refunds: [aRefund({ amount: 1, state: 'pending' })],
      },
      phase: 'fulfilled',
      condition: 'Refunding',
    },
    {
      name: 'fulfilled, a refund held up by a dispute',
      given: {
        payment: payment('captured', { disputed: true }),
        inventory: committed,
        spec: { refunds: [{ refund_id: 'r1', amount: 1 }] },
      },
      phase: 'fulfilled',
      condition: 'DisputeOpen',
    },
    {
      name: 'fulfilled, a refund failed',
      given: {
        payment: payment('captured'),
        inventory: committed,
        spec: { refunds: [{ refund_id: 'r1', amount: 1 }] },
        refunds: [aRefund({ amount: 1, state: 'failed' })],
      },
      phase: 'fulfilled',
      condition: 'RefundFailed',
      person: true,
      settled: true,
    },
    {
      name: 'fulfilled, a refund exists twice',
      given: {
        payment: payment('captured'),
        inventory: committed,
        spec: { refunds: [{ refund_id: 'r1', amount: 1 }] },
        refunds: [aRefund({ amount: 1 }), aRefund({ amount: 1, provider_reference: 're_2' })],
      },
      phase: 'fulfilled',
      condition: 'RefundedTwice',
      person: true,
      settled: true,
    },
    {
      name: 'fulfilled, a refund is not possible',
      given: {
        payment: payment('captured'),
        inventory: committed,
        spec: { refunds: [{ refund_id: 'r1', amount: 99_999 }] },
      },
      phase: 'fulfilled',
      condition: 'RefundNotPossible',
      person: true,
    },
    {
      name: 'the authorization lapsed',
      given: { payment: payment('canceled', { canceled_because: 'expired' }), inventory: reserved },
      phase: 'payment_failed',
      condition: 'AuthorizationExpired',
      person: true,
    },
    {
      name: 'canceled elsewhere',
      given: { payment: payment('canceled'), inventory: reserved },
      phase: 'payment_failed',
      condition: 'PaymentCanceledElsewhere',
      person: true,
    },
    {
      name: 'a status that is not known',
      given: { payment: payment('unknown'), inventory: reserved },
      phase: 'payment_unknown',
      condition: 'UnknownProviderStatus',
      person: true,
    },
    ...(['create_payment', 'confirm_payment', 'capture_payment'] as const).map((step): Row => ({
      name: `${step} in doubt`,
      given: { payment: payment('created'), inventory: reserved, unresolved: inDoubt(step) },
      phase: 'payment_unknown',
      condition: 'AwaitingProviderReconciliation',
    })),
    {
      name: 'an update in doubt moves no money',
      given: { payment: payment('created'), inventory: reserved, unresolved: inDoubt('update_payment') },
      phase: 'payment_pending',
      condition: 'AwaitingProviderReconciliation',
    },
    {
      name: 'a commitment in doubt',
      given: { payment: payment('captured'), inventory: reserved, unresolved: inDoubt('commit_inventory') },
      phase: 'fulfilling',
      condition: 'AwaitingProviderReconciliation',
    },
    {
      name: 'paused',
      given: { payment: payment('created'), inventory: reserved, paused: true },
      phase: 'payment_pending',
      condition: 'Paused',
    },
    {
      name: 'its account is stopped',
      given: { payment: payment('created'), inventory: reserved, account_paused: STOPPED },
      phase: 'payment_pending',
      condition: 'AccountPaused',
    },
    {
      name: 'its account is stopped, and nothing is missing',
      given: { payment: payment('captured'), inventory: committed, account_paused: STOPPED },
      phase: 'fulfilled',
      condition: 'Fulfilled',
      settled: true,
    },
    {
      name: 'out of stock, payment to be canceled',
      given: {
        payment: payment('created'),
        inventory: { state: 'insufficient', requested: true, refused_generation: 1 },
      },
      phase: 'payment_pending',
      condition: 'OutOfStock',
    },
    {
      name: 'out of stock, all clean',
      given: {
        payment: payment('canceled'),
        inventory: { state: 'released', requested: true, refused_generation: 1 },
      },
      phase: 'rejected',
      condition: 'OutOfStock',
      settled: true,
    },
    {
      name: 'deadline passed, the stock still held',
      given: { payment: payment('canceled'), inventory: reserved },
      at: DEADLINE,
      phase: 'payment_failed',
      condition: 'PaymentDeadlinePassed',
    },
    {
      name: 'deadline passed, all clean',
      given: { payment: payment('canceled'), inventory: released },
      at: DEADLINE,
      phase: 'rejected',
      condition: 'PaymentDeadlinePassed',
      settled: true,
    },
    {
      name: 'deadline passed, and it was paid',
      given: { payment: payment('captured'), inventory: committed },
      at: DEADLINE,
      phase: 'fulfilled',
      condition: 'Fulfilled',
      settled: true,
    },
    {
      name: 'deadline passed, the payment of the front end was never read',
      given: { spec: { payment: { reference: 'pi_1', payment_method: null } } },
      at: DEADLINE,
      phase: 'accepted',
      condition: 'PaymentDeadlinePassed',
    },
    {
      name: 'cancelled at once: nothing was done',
      given: { cancels: true },
      phase: 'cancelled',
      condition: 'Cancelled',
      settled: true,
    },
    {
      name: 'cancelling the payment of the front end that was never read',
      given: { cancels: true, spec: { payment: { reference: 'pi_1', payment_method: null } } },
      phase: 'cancelling',
      condition: 'Cancelling',
    },
    {
      name: 'cancelling what may have been created',
      given: { cancels: true, unresolved: inDoubt('create_payment') },
      phase: 'cancelling',
      condition: 'AwaitingProviderReconciliation',
    },
    {
      name: 'cancelling an authorization',
      given: { cancels: true, payment: payment('authorized'), inventory: reserved },
      phase: 'cancelling',
      condition: 'CancelingPayment',
    },
    {
      name: 'cancelling what is processing',
      given: { cancels: true, payment: payment('processing'), inventory: reserved },
      phase: 'cancelling',
      condition: 'PaymentProcessing',
    },
    {
      name: 'cancelling, refund pending',
      given: {
        cancels: true,
        payment: payment('captured'),
        inventory: reserved,
        refunds: refunded({ state: 'pending' }),
      },
      phase: 'cancelling',
      condition: 'RefundPending',
    },
    {
      name: 'cancelling, disputed',
      given: { cancels: true, payment: payment('captured', { disputed: true }), inventory: reserved },
      phase: 'cancelling',
      condition: 'DisputeOpen',
    },
    {
      name: 'cancelling, stock to be released',
      given: { cancels: true, payment: payment('captured'), inventory: reserved, refunds: refunded() },
      phase: 'cancelling',
      condition: 'ReleasingStock',
    },
    {
      name: 'cancelled',
      given: { cancels: true, payment: payment('captured'), inventory: released, refunds: refunded() },
      phase: 'cancelled',
      condition: 'Cancelled',
      settled: true,
    },
    {
      name: 'cancelled by a lost dispute',
      given: {
        cancels: true,
        payment: payment('captured', { disputed: true, lost: 12_900 }),
        inventory: released,
      },
      phase: 'cancelled',
      condition: 'Cancelled',
      settled: true,
    },
    {
      name: 'cancelled, and a refund of the caller was overtaken',
      given: {
        cancels: true,
        payment: payment('captured'),
        inventory: released,
        spec: { refunds: [{ refund_id: 'r1', amount: 1 }] },
        refunds: [aRefund({ refund_id: 're_9', source: 'external', amount: 12_900 })],
      },
      phase: 'cancelled',
      condition: 'Cancelled',
      settled: true,
    },
    {
      name: 'a refund that fails after the cancellation',
      given: {
        cancels: true,
        payment: payment('captured'),
        inventory: released,
        refunds: refunded({ state: 'failed' }),
        before: { phase: 'cancelled', cancelled_at: AT, settled_at: AT },
      },
      phase: 'cancelling',
      condition: 'RefundFailed',
      person: true,
    },
    {
      name: 'cancelled, and the refund exists twice',
      given: {
        cancels: true,
        payment: payment('captured'),
        inventory: released,
        refunds: [...refunded(), ...refunded({ provider_reference: 're_2' })],
      },
      phase: 'cancelled',
      condition: 'RefundedTwice',
      person: true,
      settled: true,
    },
    {
      name: 'cancelling, a refund exists twice and more is held',
      given: {
        cancels: true,
        payment: payment('captured'),
        inventory: reserved,
        refunds: [...refunded({ amount: 100 }), ...refunded({ amount: 100, provider_reference: 're_2' })],
      },
      phase: 'cancelling',
      condition: 'RefundedTwice',
      person: true,
    },
    {
      name: 'cancelling somebody else’s payment',
      given: {
        cancels: true,
        payment: payment('captured', { operation_id: 'op-2' }),
        inventory: reserved,
      },
      phase: 'cancelling',
      condition: 'PaymentMismatch',
      person: true,
    },
  ];
  test.each(rows)('$name: $phase, $condition', ({ given, at, phase, condition, person, settled }) => {
    const status = nextStatus(order(given), at ?? NOW, POLICY);
    const now = (at ?? NOW).toISOString();
    expect(status).toMatchObject({
      phase,
      condition,
      settled_at: settled === true ? now : null,
      cancelled_at: phase === 'cancelled' ? now : null,
    });
    expect(status.attention?.reason).toBe(person === true ? condition : undefined);
  });
});

describe('what keeps it from converging', () => {
  const rows: [string, Facts['failure'], Reason][] = [
    ['the provider cannot be read', failed('unknown', 'observe_payment'), 'ProviderUnreachable'],
    ['the provider throttles reading', failed('throttled', 'observe_payment'), 'ProviderThrottled'],
    ['our key is refused', failed('authorization', 'observe_payment'), 'ProviderRefusesCredential'],
    ['the warehouse cannot be read', failed('unknown', 'observe_inventory'), 'InventoryUnreachable'],
    ['the provider throttles', failed('throttled', 'confirm_payment'), 'ProviderThrottled'],
    ['an outage', failed('outage', 'confirm_payment'), 'ProviderUnreachable'],
    ['no connection', failed('transient', 'confirm_payment'), 'StepFailed'],
    ['no answer', failed('unknown', 'confirm_payment'), 'AwaitingProviderReconciliation'],
    ['one rejection', failed('rejected', 'confirm_payment'), 'StepFailed'],
    ['a conflict', failed('conflict', 'confirm_payment'), 'StepFailed'],
    ['a setting is missing', failed('prerequisite', 'reserve_inventory'), 'InventoryUnreachable'],
  ];
  test.each(rows)('%s', (_name, failure, condition) => {
    const given = order({ payment: payment('created'), inventory: reserved, failure });
    const status = nextStatus(given, NOW, POLICY);
    expect(status.condition).toBe(condition);
    expect(status.attention).toBeNull();
    const reading = failure?.step.startsWith('observe_') === true;
    expect(status.conditions).toMatchObject([
      { type: 'Synced', status: reading ? 'Unknown' : 'False', reason: condition, message: 'why' },
      { type: 'Ready', status: 'False', reason: condition, message: 'why' },
    ]);
  });

  test('a failure that matters no more does not hide that all is as wanted', () => {
    const given = order({
      payment: payment('captured'),
      inventory: committed,
      failure: failed('unknown', 'observe_payment'),
    });
    expect(nextStatus(given, NOW, POLICY)).toMatchObject({ phase: 'fulfilled', condition: 'Fulfilled' });
  });
});

describe('conditions', () => {
  test('say nothing of a reading before there was one', () => {
    const [synced] = nextStatus(order({}), NOW, POLICY).conditions;
    expect(synced).toMatchObject({ type: 'Synced', status: 'Unknown', observed_version: 0 });
  });

  test('say what was observed and whether it is what is wanted', () => {
    const status = nextStatus(order({ payment: payment('captured'), inventory: committed }), NOW, POLICY, 1);
    expect(status.conditions).toEqual([
      {
        type: 'Synced',
        status: 'True',
        reason: 'Observed',
        message: REASONS.Observed.meaning,
        since: AT,
        observed_version: 1,
      },
      {
        type: 'Ready',
        status: 'True',
        reason: 'Fulfilled',
        message: REASONS.Fulfilled.meaning,
        since: AT,
        observed_version: 1,
      },
    ]);
  });

  test('are unknown while something is in doubt', () => {
    const given = order({ payment: payment('created'), unresolved: inDoubt('confirm_payment') });
    expect(nextStatus(given, NOW, POLICY).conditions.map(({ status }) => status)).toEqual([
      'Unknown',
      'Unknown',
    ]);
  });
});

test('which wish was evaluated last is for the pass to say', () => {
  const given = { ...order({ before: { observed_version: 3 } }), generation: 4 };
  expect(nextStatus(given, NOW, POLICY).observed_version).toBe(3);
});

describe('the end of an authorization', () => {
  const DAY = 24 * 3_600_000;
  const held = (days: number): Order => ({
    inventory: reserved,
    payment: payment('authorized', { capture_before: new Date(NOW.getTime() + days * DAY).toISOString() }),
  });
  const byHand: SpecPatch = { payment: { capture: 'manual' } };
  const rows: { name: string; given: Order; warned: boolean }[] = [
    { name: 'in a day, captured by hand', given: { ...held(1), spec: byHand }, warned: true },
    { name: 'in more than a day', given: { ...held(1.01), spec: byHand }, warned: false },
    { name: 'over, and not yet seen', given: { ...held(-0.01), spec: byHand }, warned: true },
    {
      name: 'only an authorization is wanted',
      given: { ...held(0.5), spec: { desired: 'authorized' } },
      warned: true,
    },
    { name: 'captured by itself', given: held(0.5), warned: false },
    {
      name: 'the capture was asked for',
      given: { ...held(0.5), spec: { payment: { capture: 'manual', capture_amount: 5_000 } } },
      warned: false,
    },
    { name: 'would be captured by itself, paused', given: { ...held(0.5), paused: true }, warned: true },
    {
      name: 'would be captured by itself, its account is stopped',
      given: { ...held(0.5), account_paused: STOPPED },
      warned: true,
    },
    {
      name: 'would be captured by itself, needs a person',
      given: { ...held(0.5), spec: { amount: { value: 20_000, currency: 'EUR' } } },
      warned: true,
    },
    { name: 'cancelling', given: { ...held(0.5), spec: byHand, cancels: true }, warned: false },
    {
      name: 'stock is being reserved anew',
      given: { ...held(0.5), inventory: stock('none'), spec: byHand },
      warned: true,
    },
    {
      name: 'not known',
      given: { payment: payment('authorized'), inventory: reserved, spec: byHand },
      warned: false,
    },
    {
      name: 'captured',
      given: { ...held(0.5), payment: payment('captured', { capture_before: AT }), spec: byHand },
      warned: false,
    },
  ];
  test.each(rows)('$name: $warned', ({ given, warned }) => {
    const [, , warning, ...more] = nextStatus(order(given), NOW, POLICY).conditions;
    expect(more).toEqual([]);
    if (!warned) {
      expect(warning).toBeUndefined();
      return;
    }
    expect(warning).toMatchObject({
      type: 'AuthorizationExpiring',
      status: 'True',
      reason: 'AuthorizationExpiring',
      since: AT,
    });
    expect(warning?.message).toContain(given.payment?.capture_before);
  });

  test('is said once: the same warning later is the same, with its beginning', () => {
    const given = order({ ...held(0.5), spec: byHand });
    const first = nextStatus(given, NOW, POLICY);
    const later = new Date(NOW.getTime() + 3_600_000);
    expect(transitions(given.status, first).map(({ type }) => type)).toContain('authorization_expiring');
    const second = nextStatus({ ...given, status: first }, later, POLICY);
    expect(second).toEqual(first);
    expect(transitions(first, second)).toEqual([]);
  });
});

describe('since when', () => {
  test('nothing has changed: all times stay', () => {
    const rows: Order[] = [
      { payment: payment('captured'), inventory: committed },
      { payment: payment('captured', { captured: 1 }), inventory: reserved },
      {
        cancels: true,
        payment: payment('captured'),
        inventory: reserved,
        refunds: refunded({ state: 'pending' }),
      },
      { cancels: true, payment: payment('captured'), inventory: released, refunds: refunded() },
    ];
    for (const given of rows) {
      const status = nextStatus(order(given), NOW, POLICY);
      expect(nextStatus(order({ ...given, before: status }), LATER, POLICY)).toEqual(status);
    }
  });

  test('another reason begins anew', () => {
    const before = nextStatus(order({ payment: payment('captured', { captured: 1 }) }), NOW, POLICY, 1);
    const after = nextStatus(
      order({ payment: payment('captured', { captured: 99_999 }), inventory: reserved, before }),
      LATER,
      POLICY,
    );
    expect(after.attention).toMatchObject({ reason: 'CapturedAbove', since: LATER.toISOString() });
    expect(after.conditions[1]?.since).toBe(LATER.toISOString());
    // Reading works as before.
    expect(after.conditions[0]?.since).toBe(AT);
  });

  test('attention, settlement and completion end with their cause', () => {
    const before = nextStatus(
      order({ cancels: true, payment: payment('captured'), inventory: released, refunds: refunded() }),
      NOW,
      POLICY,
    );
    const reopened = order({
      cancels: true,
      payment: payment('captured'),
      inventory: released,
      refunds: refunded({ state: 'failed' }),
      before,
    });
    const after = nextStatus(reopened, LATER, POLICY);
    expect(after).toMatchObject({
      settled_at: null,
      cancelled_at: null,
      attention: { since: LATER.toISOString() },
    });
    const fixed = nextStatus(
      {
        ...reopened,
        facts: order({ payment: payment('canceled'), inventory: released }).facts,
        status: after,
      },
      LATER,
      POLICY,
    );
    expect(fixed).toMatchObject({
      attention: null,
      settled_at: LATER.toISOString(),
      cancelled_at: LATER.toISOString(),
    });
  });
});

describe('finalizers', () => {
  const rows: { name: string; given: Order; want: [string, Reason][] }[] = [
    {
      name: 'an authorization and stock',
      given: { payment: payment('authorized'), inventory: reserved },
      want: [
        ['payment', 'CancelingPayment'],
        ['inventory', 'WaitsForPayment'],
      ],
    },
    {
      name: 'a refund pending',
      given: { payment: payment('captured'), inventory: reserved, refunds: refunded({ state: 'pending' }) },
      want: [
        ['payment', 'RefundPending'],
        ['inventory', 'WaitsForPayment'],
      ],
    },
    {
      name: 'a refund that failed after all else was clean',
      given: { payment: payment('captured'), inventory: released, refunds: refunded({ state: 'failed' }) },
      want: [['payment', 'RefundFailed']],
    },
    {
      name: 'a dispute',
      given: { payment: payment('captured', { disputed: true }), inventory: released },
      want: [['payment', 'DisputeOpen']],
    },
    {
      name: 'a refund that the money-out brake holds back',
      given: { payment: payment('captured'), inventory: reserved, braked: { until: AT, message: 'why' } },
      want: [
        ['payment', 'RefundBrake'],
        ['inventory', 'WaitsForPayment'],
      ],
    },
    {
      name: 'a payment that was never read',
      given: { reference: 'pi_1', inventory: reserved },
      want: [
        ['payment', 'Cancelling'],
        ['inventory', 'WaitsForPayment'],
      ],
    },
    {
      name: 'somebody else’s payment',
      given: { payment: payment('authorized', { operation_id: 'op-2' }), inventory: reserved },
      want: [
        ['payment', 'PaymentMismatch'],
        ['inventory', 'WaitsForPayment'],
      ],
    },
    {
      name: 'stock only',
      given: { payment: payment('canceled'), inventory: reserved },
      want: [['inventory', 'ReleasingStock']],
    },
    {
      name: 'goods that are gone',
      given: {
        payment: payment('canceled'),
        inventory: committed,
        failure: failed('conflict', 'release_inventory', 'goods_gone'),
        budget: { generation: 1 },
      },
      want: [['inventory', 'GoodsGone']],
    },
    { name: 'nothing', given: { payment: payment('canceled'), inventory: released }, want: [] },
  ];
  test.each(rows)('$name', ({ given, want }) => {
    const { finalizers } = nextStatus(order({ ...given, cancels: true }), NOW, POLICY);
    expect(finalizers.map(({ name, reason }) => [name, reason])).toEqual(want);
    expect(finalizers.every(({ since }) => since === AT)).toBe(true);
  });

  test('there are none before cancellation is asked for', () => {
    const given = order({ payment: payment('authorized'), inventory: reserved });
    expect(nextStatus(given, NOW, POLICY).finalizers).toEqual([]);
  });
});

describe('sums over refunds', () => {
  const captured = (patch: Order): Operation => order({ payment: payment('captured'), ...patch });
  const asked = (...amounts: number[]): SpecPatch => ({
    refunds: amounts.map((amount, index) => ({ refund_id: `r${index + 1}`, amount })),
  });
  const rows: { name: string; given: Operation; want: ReturnType<typeof refundTotals> & { held: number } }[] =
    [
      {
        name: 'none',
        given: captured({}),
        want: { refunded: 0, pending: 0, refundable: 12_900, held: 12_900 },
      },
      {
        name: 'asked for, not sent: promised, and still at the provider',
        given: captured({ spec: asked(7_000) }),
        want: { refunded: 0, pending: 7_000, refundable: 5_900, held: 12_900 },
      },
      {
        name: 'pending and in need of an action count as given',
        given: captured({
          spec: asked(7_000, 900),
          refunds: [
            aRefund({ amount: 7_000, state: 'pending' }),
            aRefund({ refund_id: 'r2', amount: 900, state: 'requires_action' }),
          ],
        }),
        want: { refunded: 0, pending: 7_900, refundable: 5_000, held: 5_000 },
      },
      {
        name: 'failed and canceled ones left the money here',
        given: captured({
          refunds: [aRefund({ amount: 7_000, state: 'failed' }), aRefund({ amount: 900, state: 'canceled' })],
        }),
        want: { refunded: 0, pending: 0, refundable: 12_900, held: 12_900 },
      },
      {
        name: 'external ones count',
        given: captured({ refunds: [aRefund({ refund_id: 're_1', source: 'external', amount: 12_000 })] }),
        want: { refunded: 12_000, pending: 0, refundable: 900, held: 900 },
      },
      {
        name: 'one that exists twice counts twice',
        given: captured({
          spec: asked(900),
          refunds: [aRefund({ amount: 900 }), aRefund({ amount: 900, provider_reference: 're_2' })],
        }),
        want: { refunded: 1_800, pending: 0, refundable: 11_100, held: 11_100 },
      },
      {
        name: 'three thirds leave a cent',
        given: order({
          payment: payment('captured', { captured: 1_000 }),
          refunds: [1, 2, 3].map((n) => aRefund({ refund_id: `r${n}`, amount: 333 })),
        }),
        want: { refunded: 999, pending: 0, refundable: 1, held: 1 },
      },
      {
        name: 'what a dispute took is not refundable',
        given: order({ payment: payment('captured', { lost: 900 }) }),
        want: { refunded: 0, pending: 0, refundable: 12_000, held: 12_000 },
      },
      {
        name: 'refunded and then lost: never below zero for readers',
        given: order({
          payment: payment('captured', { lost: 12_900 }),
          refunds: [aRefund({ amount: 12_900 })],
        }),
        want: { refunded: 12_900, pending: 0, refundable: 0, held: -12_900 },
      },
    ];
  test.each(rows)('$name', ({ given, want }) => {
    expect({ ...refundTotals(given), held: heldAtProvider(given) }).toEqual(want);
  });

  test('a reader sees what is still to be sent, once', () => {
    const given = captured({ spec: asked(1, 2), refunds: [aRefund({ amount: 1 })] });
    expect(allRefunds(given).map(({ refund_id, state }) => [refund_id, state])).toEqual([
      ['r1', 'succeeded'],
      ['r2', 'requested'],
    ]);
  });

  test('a reader sees that what was overtaken is not sent any more', () => {
    const given = captured({
      cancels: true,
      spec: asked(1),
      refunds: [aRefund({ refund_id: 're_9', source: 'external', amount: 12_900 })],
    });
    expect(allRefunds(given)[1]).toMatchObject({
      refund_id: 'r1',
      state: 'canceled',
      provider_reference: null,
    });
    expect(refundTotals(given).pending).toBe(0);
  });

  test.each([
    ['all by others', {}, [12_900], true],
    ['a part by others', {}, [12_899], false],
    ['all by wish', asked(12_900), [12_900], false],
    ['a part by wish, the rest by others', asked(900), [900, 12_000], true],
  ] as const)('given back by others: %s', (_name, spec, amounts, want) => {
    const refunds = amounts.map((amount, index) => aRefund({ refund_id: `r${index + 1}`, amount }));
    expect(isGivenBackByOthers(captured({ spec, refunds }))).toBe(want);
  });
});
