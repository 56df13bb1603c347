/** The customer and the front end, in pure code: what may be asked of a payment, and whose payment it is. */
import { describe, expect, test } from '@jest/globals';
import { absorbObservation } from '../../src/operation/absorb.js';
import { forJournal, type Outcome } from '../../src/operation/attempt.js';
import { spend } from '../../src/operation/budget.js';
import { tryPaymentAgain, type Asking } from '../../src/operation/change.js';
import { whyCustomerCannotAct } from '../../src/operation/customer.js';
import type { Failure } from '../../src/operation/failure.js';
import { nextStatus } from '../../src/operation/next-status.js';
import { mismatchOf } from '../../src/operation/mismatch.js';
import { nextStep } from '../../src/operation/next-step.js';
import { ALL_SEEN, type Observation, type PaymentReading } from '../../src/operation/observation.js';
import type { Operation, PaymentFacts } from '../../src/operation/operation.js';
import type { Decision } from '../../src/operation/step.js';
import { cancelled, NOW, POLICY } from '../support/operations.js';
import { anOrder, AUTHORIZED, CAPTURED, LATER, type OrderChanges } from '../support/orders.js';

const NO_STOCK = { ...POLICY, inventory: false };
const asking: Asking = { by: 'checkout', now: LATER, policy: NO_STOCK };
const named = { payment: { payment_method: null, reference: 'pi_1' } };
const ours = { payment: { payment_method: 'pm_1', reference: null } };
const made: Partial<PaymentFacts> = {
  state: 'created',
  amount: 10_000,
  currency: 'EUR',
  payment_method: 'pm_1',
};
const own = (changes: OrderChanges): Operation => anOrder({ provider_reference: 'pi_1', ...changes });
const short = (decision: Decision): string =>
  decision.kind === 'step'
    ? decision.step.name
    : decision.kind === 'agreed'
      ? 'agreed'
      : `${decision.kind} ${decision.reason}`;
const decided = (operation: Operation): string => short(nextStep(operation, ALL_SEEN, LATER, NO_STOCK));

const aReading = (patch: Partial<PaymentReading> = {}): PaymentReading => ({
  reference: 'pi_1',
  state: 'created',
  provider_status: 'requires_confirmation',
  amount: 10_000,
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
  operation_id: null,
  livemode: false,
  ...patch,
});
const sees = (patch: Partial<PaymentReading>): Observation => ({
  payment: { kind: 'present', value: aReading(patch) },
  inventory: { kind: 'absent' },
  at: LATER.toISOString(),
});

describe('whether the customer can act', () => {
  test.each<[string, Operation, RegExp | null]>([
    ['created', own({ payment: made }), null],
    ['awaiting the customer', own({ payment: { ...made, state: 'awaiting_customer' } }), null],
    ['declined', own({ payment: { ...made, state: 'failed' } }), null],
    ['adopted, not confirmed', own({ spec: named, payment: made }), null],
    ['named, not adopted', anOrder({ spec: named, payment: made }), /no payment yet/],
    ['none', anOrder(), /no payment yet/],
    ['in process', own({ payment: { ...made, state: 'processing' } }), /in process/],
    ['authorized', own({ payment: AUTHORIZED }), /authorized/],
    ['captured', own({ payment: CAPTURED }), /captured/],
    ['canceled', own({ payment: { ...made, state: 'canceled' } }), /canceled/],
    ['not known', own({ payment: { ...made, state: 'unknown' } }), /not known/],
    ['another’s mark', own({ payment: { ...made, operation_id: 'op-2' } }), /another operation/],
    [
      'after the deadline',
      own({ payment: made, spec: { payment_deadline: NOW.toISOString() } }),
      /deadline has passed/,
    ],
    ['cancelling', { ...own({ payment: made }), wish: cancelled(own({}).wish) }, /Cancellation/],
  ])('%s', (_name, operation, why) => {
    const said = whyCustomerCannotAct(operation, LATER, NO_STOCK);
    if (why === null) expect(said).toBeNull();
    else expect(said).toMatch(why);
  });
});

describe('a payment that a caller names', () => {
  const notFound: Failure & { step: 'observe_payment' } = {
    class: 'authorization',
    code: 'payment_not_found',
    message: 'unknown here',
    step: 'observe_payment',
  };
  const unread = (failure: typeof notFound): Operation => {
    const order = anOrder({ spec: named });
    return { ...order, facts: { ...order.facts, failure } };
  };

  test.each<[string, string, Operation, string]>([
    ['never found', 'a wrong id must not go unnoticed', unread(notFound), 'person PaymentNotFound'],
    [
      'not readable for now',
      'an outage is not the order’s fault',
      unread({ ...notFound, class: 'unknown', code: 'http_503' }),
      'wait Accepted',
    ],
    [
      'found once, and then not any more',
      'what was recorded is not doubted because of a 404',
      { ...unread(notFound), provider_reference: 'pi_1' },
      'wait Accepted',
    ],
  ])('%s', (_name, reason, operation, want) => {
    expect({ reason, decided: decided(operation) }).toEqual({ reason, decided: want });
  });

  test.each<[string, OrderChanges, boolean | null]>([
    ['agrees', { payment: made }, null],
    ['another amount', { payment: { ...made, amount: 1 } }, false],
    ['another currency', { payment: { ...made, currency: 'USD' } }, false],
    ['another’s mark', { payment: { ...made, operation_id: 'op-2' } }, true],
    ['recorded by another', { payment: { ...made, taken_by: 'op-2' } }, true],
    ['made by us, and recorded by another', { spec: ours, payment: { ...made, taken_by: 'op-2' } }, true],
    [
      'another’s mark on a payment that was ours',
      { payment: { ...made, operation_id: 'op-2' }, provider_reference: 'pi_1' },
      false,
    ],
    [
      'another amount of a payment that is ours',
      { payment: { ...made, amount: 1 }, provider_reference: 'pi_1' },
      null,
    ],
  ])('%s', (_name, changes, foreign) => {
    const operation = anOrder({ spec: named, ...changes });
    expect(mismatchOf(operation)?.foreign ?? null).toBe(foreign);
    if (foreign !== null) expect(decided(operation)).toBe('person PaymentMismatch');
    const given = { ...operation, wish: cancelled(operation.wish) };
    // Another's payment is nothing to give back; one that may hold this customer's money is.
    if (foreign === true) expect(decided(given)).toBe('agreed');
    if (foreign === false) expect(decided(given)).toBe('person PaymentMismatch');
  });

  test('one that disagrees brings neither money nor refunds nor a page into the record', () => {
    const known = absorbObservation(
      anOrder({ spec: named }),
      sees({
        state: 'captured',
        amount: 1,
        captured: 1,
        refunds: [
          {
            reference: 're_1',
            refund_id: null,
            operation_id: null,
            amount: 1,
            state: 'succeeded',
            reason: null,
          },
        ],
      }),
    );
    expect(known.provider_reference).toBeNull();
    expect(known.facts.payment).toMatchObject({ state: 'captured', amount: 1, captured: 0 });
    expect(known.facts.refunds).toEqual([]);
  });

  test('one that is taken stays so, whatever is read', () => {
    const order = anOrder({ spec: named, payment: { taken_by: 'op-2' } });
    const known = absorbObservation(order, sees({}));
    expect(known).toMatchObject({ provider_reference: null, facts: { payment: { taken_by: 'op-2' } } });
  });

  test.each<[string, Operation, string]>([
    ['not confirmed', own({ spec: named, payment: made }), 'awaiting_customer'],
    [
      'without a method yet',
      own({ spec: named, payment: { ...made, payment_method: null } }),
      'awaiting_customer',
    ],
    ['seen, not taken', anOrder({ spec: named, payment: { ...CAPTURED, amount: 1 } }), 'accepted'],
  ])('phase: %s', (_name, operation, phase) => {
    expect(nextStatus(operation, LATER, NO_STOCK).phase).toBe(phase);
  });
});

describe('the terms of a payment while it can be asked for', () => {
  const asked = { ...made, answered_confirmation: 1 };
  test.each<[string, string, OrderChanges, string]>([
    [
      'failed, another amount',
      'the front end may confirm at any moment',
      { payment: { ...asked, state: 'failed', amount: 1 } },
      'update_payment',
    ],
    [
      'awaiting, another amount',
      'the customer is not led to approve what is not wanted',
      { payment: { ...asked, state: 'awaiting_customer', amount: 1 } },
      'update_payment',
    ],
    [
      'named, another amount',
      'the order decides about its payment, whoever made it',
      { spec: named, payment: { ...made, amount: 1 } },
      'update_payment',
    ],
    [
      'named, would be taken at once',
      'only a hold is wanted',
      { spec: { ...named, desired: 'authorized' }, payment: { ...made, capture: 'automatic' } },
      'update_payment',
    ],
    [
      'named, would be held',
      'we capture it; nothing need change',
      { spec: named, payment: { ...made, capture: 'manual' } },
      'wait AwaitingCustomer',
    ],
    [
      'awaiting, would be held',
      'the same',
      { payment: { ...asked, state: 'awaiting_customer', capture: 'manual' } },
      'wait AwaitingCustomer',
    ],
    [
      'ours, would be held, not confirmed',
      'it saves a call, and some methods need it',
      { payment: { ...made, capture: 'manual' } },
      'update_payment',
    ],
    [
      'changed after the customer was asked',
      'approval of another total is none: the customer has to want it',
      { payment: asked },
      'wait AwaitingCustomer',
    ],
    [
      'declined, which is not kept on the payment',
      'the method is taken away',
      { payment: { ...asked, payment_method: null } },
      'wait PaymentDeclined',
    ],
  ])('%s', (_name, reason, changes, want) => {
    expect({ reason, decided: decided(own(changes)) }).toEqual({ reason, decided: want });
  });

  test.each<[string, OrderChanges['spec'], string]>([
    ['authorized', { desired: 'authorized' }, 'person AmountAboveAuthorization'],
    ['captured by request', { payment: { capture: 'manual' } }, 'person AmountAboveAuthorization'],
    [
      'captured by request of less',
      { payment: { capture: 'manual', capture_amount: 9_000 } },
      'capture_payment',
    ],
    ['fulfilled', {}, 'person AmountAboveAuthorization'],
  ])('more is wanted than is held, to be %s', (_name, spec, want) => {
    const order = own({ payment: AUTHORIZED, spec: { ...spec, amount: { value: 12_000, currency: 'EUR' } } });
    expect(decided(order)).toBe(want);
  });
});

describe('what proves that a second confirmation was answered', () => {
  const before: Partial<PaymentFacts> = {
    ...made,
    state: 'failed',
    answered_confirmation: 1,
    charge: 'ch_1',
  };
  const doubt = { step: 'confirm_payment', target: 'pi_1/2', since: NOW.toISOString() } as const;
  const answered = (patch: Partial<PaymentReading>, payment = before): number => {
    const order = own({ payment, wish: { confirmation: 2 }, unresolved: doubt });
    return absorbObservation(order, sees({ operation_id: 'op-1', ...patch })).facts.payment
      .answered_confirmation;
  };
  test.each<[string, Partial<PaymentReading>, Partial<PaymentFacts>, number]>([
    ['declined under another charge', { state: 'failed', charge: 'ch_2' }, before, 2],
    ['the customer is asked', { state: 'awaiting_customer', charge: 'ch_1' }, before, 2],
    ['declined as before', { state: 'failed', charge: 'ch_1' }, before, 1],
    [
      'no server tells the charge',
      { state: 'failed' },
      { ...made, state: 'failed', answered_confirmation: 1 },
      1,
    ],
    [
      'the customer failed the first one',
      { state: 'failed', charge: 'ch_2' },
      { ...before, state: 'awaiting_customer' },
      1,
    ],
  ])('%s', (_name, reading, payment, want) => {
    expect(answered(reading, payment)).toBe(want);
  });
});

describe('a method that the provider refused', () => {
  const refused = (step: 'create_payment' | 'confirm_payment', changes: OrderChanges): Operation => {
    const order = own(changes);
    const failure = { class: 'rejected', code: 'resource_missing', message: 'No such method', step } as const;
    const budget = spend(order, order.facts.budget, failure, step);
    return { ...order, facts: { ...order.facts, failure, budget } };
  };
  const declined = {
    payment: { ...made, state: 'failed' as const, answered_confirmation: 1 },
    wish: { confirmation: 2 },
  };
  const again = (operation: Operation, method?: string) => tryPaymentAgain(operation, method, asking);

  test.each<[string, Operation, string | undefined, object]>([
    ['at creation, the same', refused('create_payment', {}), undefined, { code: 'command_not_available' }],
    [
      'at creation, another',
      refused('create_payment', {}),
      'pm_2',
      { kind: 'changed', wish: { confirmation: 1 } },
    ],
    [
      'at the second try, the same',
      refused('confirm_payment', declined),
      'pm_card_visa',
      { code: 'command_not_available' },
    ],
    [
      'at the second try, another',
      refused('confirm_payment', declined),
      'pm_2',
      { kind: 'changed', wish: { confirmation: 2 } },
    ],
    [
      'and another try is on its way',
      refused('confirm_payment', {
        ...declined,
        unresolved: { step: 'confirm_payment', target: '', since: NOW.toISOString() },
      }),
      'pm_2',
      { code: 'payment_alive' },
    ],
    [
      'but the money came',
      refused('confirm_payment', { ...declined, payment: CAPTURED }),
      'pm_2',
      { code: 'payment_alive' },
    ],
  ])('%s', (_name, operation, method, want) => {
    expect(again(operation, method)).toMatchObject(want);
  });
});

test('the journal keeps no page of the customer', () => {
  const page = { type: 'redirect_to_url', redirect_url: 'https://bank.example/?client_secret=pi_1_secret_2' };
  const outcome: Outcome = { kind: 'pending', shown: { payment: aReading({ next_action: page }) } };
  expect(forJournal(outcome).shown?.payment?.next_action).toEqual({
    type: 'redirect_to_url',
    redirect_url: null,
  });
  const other: Outcome = { kind: 'done', shown: { payment: aReading() } };
  expect(forJournal(other)).toEqual(other);
});
