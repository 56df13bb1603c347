import { describe, expect, test } from '@jest/globals';
import { nextStep } from '../../src/operation/next-step.js';
import { ALL_SEEN, type Seen, type PaymentState } from '../../src/operation/observation.js';
import { wantedCapture } from '../../src/operation/terms.js';
import type { Facts, Operation, RefundFact } from '../../src/operation/operation.js';
import type { Decision, Step } from '../../src/operation/step.js';
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

const HOUR = 3_600_000;
const LATE = new Date(NOW.getTime() + POLICY.payment_deadline_ms);
const LINES = [{ sku: 'tea-500', quantity: 2 }];

/** What a payment of 129.00 looks like in a state. */
const payment = (state: PaymentState, patch: Partial<Facts['payment']> = {}): Partial<Facts['payment']> => ({
  state,
  amount: 12_900,
  currency: 'EUR',
  capture: 'automatic',
  operation_id: 'op-1',
  sent_method: 'pm_card_visa',
  authorized: state === 'authorized' ? 12_900 : 0,
  captured: state === 'captured' ? 12_900 : 0,
  answered_confirmation: state === 'created' || state === 'none' ? 0 : 1,
  ...patch,
});

const stock = (
  state: Facts['inventory']['state'],
  patch: Partial<Facts['inventory']> = {},
): Partial<Facts['inventory']> => ({ state, requested: state !== 'none', lines: LINES, ...patch });

const BRAKED = { until: NOW.toISOString(), message: 'why' };

type SpecPatch = NonNullable<Parameters<typeof aSpec>[0]>;
interface Order extends FactsPatch {
  readonly spec?: SpecPatch;
  readonly cancels?: boolean;
  readonly paused?: boolean;
  readonly confirmation?: number;
  readonly generation?: number;
  readonly reference?: string | null;
}
/** An order whose payment is known as pi_1 as soon as it exists. */
function order({ spec, cancels, paused, confirmation, generation, reference, ...facts }: Order): Operation {
  const wish = aWish(aSpec(spec), {
    confirmation: confirmation ?? 1,
    paused: paused === true ? { by: 'support', reason: 'a look', at: NOW.toISOString() } : null,
  });
  const known = (facts.payment?.state ?? 'none') === 'none' ? null : 'pi_1';
  return anOperation({
    wish: cancels === true ? cancelled(wish) : wish,
    generation: generation ?? 1,
    provider_reference: reference === undefined ? known : reference,
    facts,
  });
}

interface Row {
  readonly name: string;
  readonly reason: string;
  readonly given: Order;
  readonly at?: Date;
  readonly seen?: Seen;
  readonly want: string | Partial<Step>;
}

/** "wait Authorized", "person CapturedShort", "agreed", or the step. */
const short = (decision: Decision): string =>
  decision.kind === 'agreed'
    ? 'agreed'
    : decision.kind === 'step'
      ? `step ${decision.step.name}`
      : `${decision.kind} ${decision.reason}`;

function check({ reason, given, at, seen, want }: Row): void {
  const decision = nextStep(order(given), seen ?? ALL_SEEN, at ?? NOW, POLICY);
  if (typeof want === 'string') {
    expect({ reason, decision: short(decision) }).toEqual({ reason, decision: want });
    return;
  }
  const step = decision.kind === 'step' ? decision.step : short(decision);
  expect({ reason, step }).toMatchObject({ reason, step: want });
}

const reserved = stock('reserved');
const committed = stock('committed');

describe('towards fulfilled', () => {
  const rows: Row[] = [
    {
      name: 'nothing yet',
      reason: 'a lack of stock is found before any money is asked for',
      given: {},
      want: { name: 'reserve_inventory', target: 'reservation/1', lines: LINES },
    },
    {
      name: 'stock reserved',
      reason: 'the payment gets an identity before money can move',
      given: { inventory: reserved },
      want: {
        name: 'create_payment',
        target: 'payment/1',
        amount: 12_900,
        currency: 'EUR',
        capture: 'automatic',
        payment_method: 'pm_card_visa',
        operation_id: 'op-1',
      },
    },
    {
      name: 'no lines',
      reason: 'an order without goods needs no warehouse',
      given: { spec: { lines: [] } },
      want: 'step create_payment',
    },
    {
      name: 'manual capture',
      reason: 'the provider must not take the whole by itself',
      given: { inventory: reserved, spec: { payment: { capture: 'manual' } } },
      want: { name: 'create_payment', capture: 'manual' },
    },
    {
      name: 'an authorization is wanted',
      reason: 'the provider must not capture what is only to be authorized',
      given: { inventory: reserved, spec: { desired: 'authorized' } },
      want: { name: 'create_payment', capture: 'manual' },
    },
    {
      name: 'the payment of the front end was not read yet',
      reason: 'a payment that is known is never made a second time',
      given: { inventory: reserved, spec: { payment: { reference: 'pi_1', payment_method: null } } },
      want: 'wait Accepted',
    },
    {
      name: 'our payment was not read yet',
      reason: 'a payment that is known is never made a second time',
      given: { inventory: reserved, reference: 'pi_1' },
      want: 'wait Accepted',
    },
    {
      name: 'created',
      reason: 'the method that the payment was made with need not be sent again',
      given: { payment: payment('created'), inventory: reserved },
      want: {
        name: 'confirm_payment',
        target: 'pi_1/1',
        reference: 'pi_1',
        amount: 12_900,
        payment_method: null,
      },
    },
    {
      name: 'created, stock lost meanwhile',
      reason: 'money is not asked for before the stock is held',
      given: { payment: payment('created'), inventory: { state: 'none', requested: true } },
      want: 'step reserve_inventory',
    },
    {
      name: 'created, the lines have changed',
      reason: 'what is reserved is what is wanted now; the target names the wish',
      given: {
        payment: payment('created'),
        inventory: stock('reserved', { lines: [{ sku: 'tea-500', quantity: 1 }] }),
        generation: 2,
      },
      want: { name: 'reserve_inventory', target: 'reservation/2', lines: LINES },
    },
    {
      name: 'reserved, the warehouse does not tell the lines',
      reason: 'lines that are not told cannot differ',
      given: { payment: payment('created'), inventory: stock('reserved', { lines: null }) },
      want: 'step confirm_payment',
    },
    {
      name: 'created with another method than is wanted now',
      reason: 'the method that is wanted is sent with the confirmation',
      given: { payment: payment('created', { sent_method: 'pm_other' }), inventory: reserved },
      want: { name: 'confirm_payment', payment_method: 'pm_card_visa' },
    },
    {
      name: 'created, and which method was sent is not certain',
      reason: 'a resend repeats the bytes of an earlier wish, so the method is said again',
      given: { payment: payment('created', { sent_method: null }), inventory: reserved },
      want: { name: 'confirm_payment', payment_method: 'pm_card_visa' },
    },
    {
      name: 'created, the amount has changed',
      reason: 'the payment is brought up to date before money is asked for',
      given: { payment: payment('created', { amount: 8_000 }), inventory: reserved, generation: 3 },
      want: { name: 'update_payment', target: 'pi_1/3', amount: 12_900 },
    },
    {
      name: 'created, an update to former terms is in doubt',
      reason: 'it may still arrive and change what is confirmed: under its own key it happens now or never',
      given: {
        payment: payment('created'),
        inventory: reserved,
        generation: 3,
        unresolved: { step: 'update_payment', target: 'pi_1/2', since: NOW.toISOString() },
      },
      want: { name: 'update_payment', target: 'pi_1/2' },
    },
    {
      name: 'created with another capture mode',
      reason: 'an automatic payment would take what is only to be authorized',
      given: { payment: payment('created'), inventory: reserved, spec: { desired: 'authorized' } },
      want: { name: 'update_payment', capture: 'manual' },
    },
    {
      name: 'created for nobody, a customer is wanted',
      reason: 'the payment becomes theirs before it is confirmed',
      given: {
        payment: payment('created', { customer: null }),
        inventory: reserved,
        spec: { payment: { customer: 'cus_1' } },
      },
      want: { name: 'update_payment', customer: 'cus_1' },
    },
    {
      name: 'created, whose it is is not told, a customer is wanted',
      reason: 'it was created for them, and no provider lets that be changed',
      given: {
        payment: payment('created'),
        inventory: reserved,
        spec: { payment: { customer: 'cus_1' } },
      },
      want: 'step confirm_payment',
    },
    {
      name: 'created, the provider tells neither amount nor mode',
      reason: 'what is not told cannot differ',
      given: { payment: payment('created', { amount: null, capture: null }), inventory: reserved },
      want: 'step confirm_payment',
    },
    {
      name: 'created, and the decline is not kept on the payment',
      reason: 'one wish is one confirmation: the customer has to want another',
      given: { payment: payment('created', { answered_confirmation: 1 }), inventory: reserved },
      want: 'wait PaymentDeclined',
    },
    {
      name: 'failed',
      reason: 'a decline waits for the customer, with the stock held',
      given: { payment: payment('failed'), inventory: reserved },
      want: 'wait PaymentDeclined',
    },
    {
      name: 'failed, the customer tries again',
      reason: 'a decline takes the method away, so it is sent again',
      given: { payment: payment('failed'), inventory: reserved, confirmation: 2 },
      want: { name: 'confirm_payment', target: 'pi_1/2', confirmation: 2, payment_method: 'pm_card_visa' },
    },
    {
      name: 'failed, the customer tries again for another amount',
      reason: 'the second try asks for what is wanted now',
      given: { payment: payment('failed', { amount: 1 }), inventory: reserved, confirmation: 2 },
      want: { name: 'update_payment', amount: 12_900 },
    },
    {
      name: 'awaiting the customer',
      reason: '3-D Secure is under way; nothing is captured or confirmed meanwhile',
      given: { payment: payment('awaiting_customer'), inventory: reserved },
      want: 'wait AwaitingCustomer',
    },
    {
      name: 'a payment of the front end that nobody confirmed',
      reason: 'the front end confirms what it made',
      given: {
        payment: payment('created', { operation_id: null }),
        inventory: reserved,
        spec: { payment: { reference: 'pi_1', payment_method: null } },
      },
      want: 'wait AwaitingCustomer',
    },
    {
      name: 'processing',
      reason: 'money may arrive at any moment',
      given: { payment: payment('processing'), inventory: reserved },
      want: 'wait PaymentProcessing',
    },
    {
      name: 'authorized',
      reason: 'the whole is captured without naming an amount',
      given: { payment: payment('authorized'), inventory: reserved },
      want: { name: 'capture_payment', target: 'pi_1/12900', amount: 12_900, whole: true },
    },
    {
      name: 'authorized, less is wanted now',
      reason: 'the smaller sum is captured, and the target names it',
      given: { payment: payment('authorized', { authorized: 15_000, amount: 15_000 }), inventory: reserved },
      want: { name: 'capture_payment', target: 'pi_1/12900', amount: 12_900, whole: false },
    },
    {
      name: 'authorized, more is wanted now',
      reason: 'nothing is captured above the authorization; a new payment needs a person',
      given: { payment: payment('authorized', { authorized: 8_000, amount: 8_000 }), inventory: reserved },
      want: 'person AmountAboveAuthorization',
    },
    {
      name: 'authorized, stock lost',
      reason: 'the stock is held before the money is taken',
      given: { payment: payment('authorized'), inventory: { state: 'none', requested: true } },
      want: 'step reserve_inventory',
    },
    {
      name: 'authorized, manual capture',
      reason: 'the capture is a request of its own, also when fulfilled is wanted',
      given: {
        payment: payment('authorized'),
        inventory: reserved,
        spec: { payment: { capture: 'manual' } },
      },
      want: 'wait Authorized',
    },
    {
      name: 'authorized, a part is asked for',
      reason: 'what the caller asked for is captured',
      given: {
        payment: payment('authorized'),
        inventory: reserved,
        spec: { payment: { capture: 'manual', capture_amount: 6_500 } },
      },
      want: { name: 'capture_payment', target: 'pi_1/6500', amount: 6_500, whole: false },
    },
    {
      name: 'authorized, and an authorization is what is wanted',
      reason: 'nothing is missing',
      given: { payment: payment('authorized'), inventory: reserved, spec: { desired: 'authorized' } },
      want: 'agreed',
    },
    {
      name: 'authorized by the front end, without stock',
      reason: 'an authorization is only good with the stock that it is for',
      given: {
        payment: payment('authorized', { operation_id: null }),
        spec: { desired: 'authorized', payment: { reference: 'pi_1' } },
      },
      want: 'step reserve_inventory',
    },
    {
      name: 'captured',
      reason: 'the goods follow the money',
      given: { payment: payment('captured'), inventory: reserved },
      want: { name: 'commit_inventory', target: 'reservation' },
    },
    {
      name: 'captured and committed',
      reason: 'everything is as wanted',
      given: { payment: payment('captured'), inventory: committed },
      want: 'agreed',
    },
    {
      name: 'captured, other lines are wanted than are reserved',
      reason: 'what is committed is what is wanted now',
      given: {
        payment: payment('captured'),
        inventory: stock('reserved', { lines: [{ sku: 'tea-500', quantity: 9 }] }),
      },
      want: 'step reserve_inventory',
    },
    {
      name: 'captured, other lines are committed than are wanted',
      reason: 'other goods are not called fulfilled',
      given: {
        payment: payment('captured'),
        inventory: stock('committed', { lines: [{ sku: 'tea-500', quantity: 9 }] }),
      },
      want: 'person StockMismatch',
    },
    {
      name: 'captured, the warehouse cannot deliver what is wanted now',
      reason: 'asking again would go on for ever',
      given: {
        payment: payment('captured'),
        inventory: stock('reserved', { lines: [{ sku: 'tea-500', quantity: 9 }], refused_generation: 1 }),
      },
      want: 'person StockLostAfterPayment',
    },
    {
      name: 'captured by the front end, no stock was asked for',
      reason: 'the stock is asked for now',
      given: { payment: payment('captured'), inventory: { state: 'none', requested: false } },
      want: 'step reserve_inventory',
    },
    {
      name: 'captured by the front end, and the first reservation was lost on the way',
      reason: 'a reservation that never was cannot have been lost by the warehouse',
      given: { payment: payment('captured'), inventory: { state: 'none', requested: true, lines: null } },
      want: 'step reserve_inventory',
    },
    {
      name: 'captured, the reservation has gone',
      reason: 'money is here and the stock is not: a person decides',
      given: { payment: payment('captured'), inventory: stock('none', { requested: true }) },
      want: 'person StockLostAfterPayment',
    },
    {
      name: 'captured, the stock was released',
      reason: 'money is here and the stock is not: a person decides',
      given: { payment: payment('captured'), inventory: stock('released') },
      want: 'person StockLostAfterPayment',
    },
    {
      name: 'captured, out of stock',
      reason: 'money is here and the stock is not: a person decides',
      given: { payment: payment('captured'), inventory: stock('insufficient', { refused_generation: 1 }) },
      want: 'person StockLostAfterPayment',
    },
    {
      name: 'captured, the reservation is not understood',
      reason: 'what is not known is not acted on',
      given: { payment: payment('captured'), inventory: stock('unknown') },
      want: 'wait InventoryUnreachable',
    },
    {
      name: 'captured less than wanted',
      reason: 'there is no second capture, and goods do not go out for a part of the money',
      given: { payment: payment('captured', { captured: 5_000 }), inventory: reserved },
      want: 'person CapturedShort',
    },
    {
      name: 'captured the part that was asked for',
      reason: 'a partial capture by wish is what is wanted',
      given: {
        payment: payment('captured', { captured: 6_500 }),
        inventory: committed,
        spec: { payment: { capture: 'manual', capture_amount: 6_500 } },
      },
      want: 'agreed',
    },
    {
      name: 'captured more than wanted',
      reason: 'what to do with the rest is for a person',
      given: { payment: payment('captured', { captured: 15_000 }), inventory: reserved },
      want: 'person CapturedAbove',
    },
    {
      name: 'captured, and only an authorization was wanted',
      reason: 'somebody else took the money',
      given: { payment: payment('captured'), inventory: reserved, spec: { desired: 'authorized' } },
      want: 'person CapturedAbove',
    },
    {
      name: 'captured, all was refunded by somebody else before the goods were committed',
      reason: 'goods do not go out for money that is gone',
      given: {
        payment: payment('captured'),
        inventory: reserved,
        refunds: [aRefund({ refund_id: 're_1', amount: 12_900, source: 'external' })],
      },
      want: 'person RefundedElsewhere',
    },
    {
      name: 'captured, all was refunded by wish before the goods were committed',
      reason: 'the caller wanted both',
      given: {
        payment: payment('captured'),
        inventory: reserved,
        spec: { refunds: [{ refund_id: 'r1', amount: 12_900 }] },
        refunds: [aRefund({ amount: 12_900 })],
      },
      want: 'step commit_inventory',
    },
    {
      name: 'captured and fulfilled, all was refunded by somebody else later',
      reason: 'an external refund is shown and does not undo the order',
      given: {
        payment: payment('captured'),
        inventory: committed,
        refunds: [aRefund({ refund_id: 're_1', amount: 12_900, source: 'external' })],
      },
      want: 'agreed',
    },
    {
      name: 'the authorization lapsed (expired)',
      reason: 'a new payment needs a decision',
      given: { payment: payment('canceled', { canceled_because: 'expired' }), inventory: reserved },
      want: 'person AuthorizationExpired',
    },
    {
      name: 'the authorization lapsed (automatic)',
      reason: 'both words of the provider are in use',
      given: { payment: payment('canceled', { canceled_because: 'automatic' }), inventory: reserved },
      want: 'person AuthorizationExpired',
    },
    {
      name: 'canceled by somebody else',
      reason: 'nobody here wanted that',
      given: { payment: payment('canceled', { canceled_because: 'abandoned' }), inventory: reserved },
      want: 'person PaymentCanceledElsewhere',
    },
    {
      name: 'a status that is not known',
      reason: 'reads only, and a person',
      given: { payment: payment('unknown'), inventory: reserved },
      want: 'person UnknownProviderStatus',
    },
  ];
  test.each(rows)('$name: $reason', check);
});

describe('what could not be seen', () => {
  const rows: Row[] = [
    {
      name: 'the payment',
      reason: 'nothing at all is written blindly, not even towards cancellation',
      given: { payment: payment('authorized'), inventory: reserved, cancels: true },
      seen: { payment: false, inventory: true },
      want: 'wait ProviderUnreachable',
    },
    {
      name: 'the stock, before the payment',
      reason: 'no money without stock',
      given: { payment: payment('created'), inventory: reserved },
      seen: { payment: true, inventory: false },
      want: 'wait InventoryUnreachable',
    },
    {
      name: 'the stock, after the capture',
      reason: 'the money is safe; the goods wait',
      given: { payment: payment('captured'), inventory: reserved },
      seen: { payment: true, inventory: false },
      want: 'wait InventoryUnreachable',
    },
    {
      name: 'the stock, while the payment is to be voided',
      reason: 'the money of a cancelled order does not wait for the warehouse',
      given: { payment: payment('authorized'), inventory: reserved, cancels: true },
      seen: { payment: true, inventory: false },
      want: 'step cancel_payment',
    },
    {
      name: 'the stock, when only it is left to be released',
      reason: 'what cannot be seen is not released',
      given: { payment: payment('canceled'), inventory: reserved, cancels: true },
      seen: { payment: true, inventory: false },
      want: 'wait InventoryUnreachable',
    },
    {
      name: 'the stock of an order without goods',
      reason: 'it has none',
      given: { spec: { lines: [] } },
      seen: { payment: true, inventory: false },
      want: 'step create_payment',
    },
  ];
  test.each(rows)('$name: $reason', check);
});

const states = (
  want: Partial<Record<PaymentState, string>>,
  given: Order,
  reason: string,
  at?: Date,
): Row[] =>
  Object.entries(want).map(([state, decision]) => ({
    name: state,
    reason,
    given: { ...given, payment: payment(state as PaymentState, given.payment) },
    ...(at === undefined ? {} : { at }),
    want: decision,
  }));

describe('towards cancelled', () => {
  const table: Row[] = [
    ...states(
      {
        created: 'step cancel_payment',
        failed: 'step cancel_payment',
        awaiting_customer: 'step cancel_payment',
        authorized: 'step cancel_payment',
        processing: 'wait PaymentProcessing',
        captured: 'step create_refund',
        canceled: 'step release_inventory',
        unknown: 'person UnknownProviderStatus',
      },
      { inventory: reserved, cancels: true },
      'money first; stock only when none can arrive any more',
    ),
    {
      name: 'nothing was ever done',
      reason: 'nothing is held anywhere',
      given: { cancels: true },
      want: 'agreed',
    },
    {
      name: 'stock was asked for, no payment was ever made',
      reason: 'also a lost request may have reserved',
      given: { cancels: true, inventory: { state: 'none', requested: true } },
      want: { name: 'release_inventory', target: 'reservation' },
    },
    {
      name: 'a payment may have been created',
      reason: 'its identity is learnt under the same key, so that it can be canceled',
      given: {
        cancels: true,
        inventory: reserved,
        unresolved: { step: 'create_payment', target: 'payment/1', since: NOW.toISOString() },
      },
      want: 'step create_payment',
    },
    {
      name: 'the payment of the front end was not read yet',
      reason: 'it may hold money, so nothing is clean',
      given: { cancels: true, spec: { payment: { reference: 'pi_1', payment_method: null } } },
      want: 'wait Cancelling',
    },
    {
      name: 'our payment was not read yet',
      reason: 'it may hold money, so nothing is clean',
      given: { cancels: true, inventory: reserved, reference: 'pi_1' },
      want: 'wait Cancelling',
    },
    {
      name: 'all clean',
      reason: 'observed that no money is held and no stock',
      given: { cancels: true, payment: payment('canceled'), inventory: stock('released') },
      want: 'agreed',
    },
    {
      name: 'insufficient stock',
      reason: 'the release leaves a mark, so a late reservation cannot come to be',
      given: { cancels: true, payment: payment('canceled'), inventory: stock('insufficient') },
      want: 'step release_inventory',
    },
    {
      name: 'committed stock',
      reason: 'the warehouse may still take it back',
      given: { cancels: true, payment: payment('canceled'), inventory: committed },
      want: 'step release_inventory',
    },
    {
      name: 'the goods are gone',
      reason: 'the warehouse said so; a person has to name what is left behind',
      given: {
        cancels: true,
        payment: payment('canceled'),
        inventory: committed,
        failure: { class: 'conflict', code: 'goods_gone', message: 'gone', step: 'release_inventory' },
        budget: { generation: 1 },
      },
      want: 'person GoodsGone',
    },
  ];
  test.each(table)('$name: $reason', check);
});

describe('refunds of a cancelled order', () => {
  const captured = (refunds: RefundFact[], patch: Order = {}): Order => ({
    cancels: true,
    inventory: reserved,
    refunds,
    ...patch,
    payment: payment('captured', patch.payment),
  });
  const twoAsked: SpecPatch = { refunds: [{ refund_id: 'r1', amount: 4_000 }] };
  const rows: Row[] = [
    {
      name: 'nothing went back yet',
      reason: 'all that was captured, under an id of its own',
      given: captured([]),
      want: {
        name: 'create_refund',
        target: 'cancellation',
        refund_id: 'cancellation',
        amount: 12_900,
        reference: 'pi_1',
      },
    },
    {
      name: 'a refund of the caller was not sent yet',
      reason: 'it goes under its own id, so it is never made twice',
      given: captured([], { spec: twoAsked }),
      want: { name: 'create_refund', target: 'r1', amount: 4_000 },
    },
    {
      name: 'a refund of the caller is under way',
      reason: 'what is promised is not refunded again',
      given: captured([aRefund({ amount: 4_000, state: 'pending' })], { spec: twoAsked }),
      want: { name: 'create_refund', target: 'cancellation', amount: 8_900 },
    },
    {
      name: 'somebody refunded a part in the dashboard',
      reason: 'only the rest is owed',
      given: captured([aRefund({ refund_id: 're_7', amount: 900, source: 'external' })]),
      want: { name: 'create_refund', amount: 12_000 },
    },
    {
      name: 'a refund in the dashboard failed',
      reason: 'money that did not go back is still owed',
      given: captured([aRefund({ refund_id: 're_7', amount: 900, source: 'external', state: 'failed' })]),
      want: { name: 'create_refund', amount: 12_900 },
    },
    {
      name: 'somebody refunded all in the dashboard',
      reason: 'nothing is sent; the stock goes back',
      given: captured([aRefund({ refund_id: 're_7', amount: 12_900, source: 'external' })]),
      want: 'step release_inventory',
    },
    {
      name: 'somebody refunded all, and a refund of the caller was never sent',
      reason: 'it cannot be sent any more, and nothing is kept: the cancellation is not held up',
      given: captured([aRefund({ refund_id: 're_7', amount: 12_900, source: 'external' })], {
        spec: twoAsked,
      }),
      want: 'step release_inventory',
    },
    {
      name: 'less is left than a refund of the caller needs',
      reason: 'the rest goes back by the cancellation, nothing is kept',
      given: captured([aRefund({ refund_id: 're_7', amount: 10_000, source: 'external' })], {
        spec: twoAsked,
      }),
      want: { name: 'create_refund', target: 'cancellation', amount: 2_900 },
    },
    {
      name: 'the refund of the cancellation is pending',
      reason: 'pending is neither done nor failed: the stock waits',
      given: captured([
        aRefund({ refund_id: 'cancellation', source: 'cancellation', amount: 12_900, state: 'pending' }),
      ]),
      want: 'wait RefundPending',
    },
    {
      name: 'the refund of the cancellation needs an action',
      reason: 'it counts as committed',
      given: captured([
        aRefund({
          refund_id: 'cancellation',
          source: 'cancellation',
          amount: 12_900,
          state: 'requires_action',
        }),
      ]),
      want: 'wait RefundPending',
    },
    {
      name: 'the refund of the cancellation succeeded',
      reason: 'no money is held any more',
      given: captured([aRefund({ refund_id: 'cancellation', source: 'cancellation', amount: 12_900 })]),
      want: 'step release_inventory',
    },
    {
      name: 'the refund of the cancellation failed',
      reason: 'a refund that failed is never sent again by itself',
      given: captured([
        aRefund({ refund_id: 'cancellation', source: 'cancellation', amount: 12_900, state: 'failed' }),
      ]),
      want: 'person RefundFailed',
    },
    {
      name: 'the refund of the cancellation failed, and a person made it good in the dashboard',
      reason: 'nothing is kept any more, whoever gave it back',
      given: captured([
        aRefund({ refund_id: 'cancellation', source: 'cancellation', amount: 12_900, state: 'failed' }),
        aRefund({ refund_id: 're_8', provider_reference: 're_8', source: 'external', amount: 12_900 }),
      ]),
      want: 'step release_inventory',
    },
    {
      name: 'a refund of the caller failed before',
      reason: 'its money is for a person; the rest goes back',
      given: captured([aRefund({ amount: 4_000, state: 'failed' })], { spec: twoAsked }),
      want: { name: 'create_refund', target: 'cancellation', amount: 8_900 },
    },
    {
      name: 'a refund of the caller was canceled, the rest went back',
      reason: 'its money is still here',
      given: captured(
        [
          aRefund({ amount: 4_000, state: 'canceled' }),
          aRefund({
            refund_id: 'cancellation',
            provider_reference: 're_2',
            source: 'cancellation',
            amount: 8_900,
          }),
        ],
        { spec: twoAsked },
      ),
      want: 'person RefundFailed',
    },
    {
      name: 'a failed refund was repeated and succeeded',
      reason: 'it is made good under the same id; the rest is owed',
      given: captured(
        [aRefund({ amount: 4_000, state: 'failed' }), aRefund({ amount: 4_000, provider_reference: 're_2' })],
        { spec: twoAsked },
      ),
      want: { name: 'create_refund', target: 'cancellation', amount: 8_900 },
    },
    {
      name: 'a refund of the caller exists twice, and more is held',
      reason: 'no more is sent before a person has looked',
      given: captured([aRefund({ amount: 4_000 }), aRefund({ amount: 4_000, provider_reference: 're_2' })], {
        spec: twoAsked,
      }),
      want: 'person RefundedTwice',
    },
    {
      name: 'the refund of the cancellation exists twice, one of them pending, and nothing is held',
      reason: 'a person can still stop it',
      given: captured([
        aRefund({ refund_id: 'cancellation', source: 'cancellation', amount: 12_900 }),
        aRefund({
          refund_id: 'cancellation',
          source: 'cancellation',
          amount: 12_900,
          provider_reference: 're_2',
          state: 'pending',
        }),
      ]),
      want: 'person RefundedTwice',
    },
    {
      name: 'the refund of the cancellation exists twice, and stock is held',
      reason: 'no money is held, so the goods are not wanted here any more',
      given: captured(
        [
          aRefund({ refund_id: 'cancellation', source: 'cancellation', amount: 6_450 }),
          aRefund({
            refund_id: 'cancellation',
            source: 'cancellation',
            amount: 6_450,
            provider_reference: 're_2',
          }),
        ],
        { inventory: reserved },
      ),
      want: 'step release_inventory',
    },
    {
      name: 'an earlier refund of the cancellation, and more is owed now',
      reason: 'another effect needs another id',
      given: captured([aRefund({ refund_id: 'cancellation', source: 'cancellation', amount: 8_900 })]),
      want: { name: 'create_refund', target: 'cancellation-2', refund_id: 'cancellation-2', amount: 4_000 },
    },
    {
      name: 'a partial capture',
      reason: 'what was captured is owed, not what was asked for',
      given: captured([], { payment: { captured: 1_200 } }),
      want: { name: 'create_refund', amount: 1_200 },
    },
    {
      name: 'a dispute stands',
      reason: 'refunding and losing would pay twice',
      given: captured([], { payment: { disputed: true } }),
      want: 'wait DisputeOpen',
    },
    {
      name: 'the money-out brake holds it back',
      reason: 'the money stays until there is room, and so does the stock',
      given: captured([], { braked: BRAKED }),
      want: 'person RefundBrake',
    },
    {
      name: 'the money-out brake held a refund back, and somebody else gave the money back',
      reason: 'nothing is left to send, so nothing waits',
      given: captured([aRefund({ refund_id: 're_5', amount: 12_900, source: 'external' })], {
        braked: BRAKED,
      }),
      want: 'step release_inventory',
    },
    {
      name: 'a dispute was lost',
      reason: 'the money is back already: nothing is owed and nothing is sent',
      given: captured([], { payment: { disputed: true, lost: 12_900 } }),
      want: 'step release_inventory',
    },
    {
      name: 'a dispute was won',
      reason: 'one refund of all',
      given: captured([], { payment: { disputed: false } }),
      want: { name: 'create_refund', amount: 12_900 },
    },
    {
      name: 'a dispute about a part was lost',
      reason: 'the rest is owed, once the provider refunds this charge again',
      given: captured([], { payment: { disputed: false, lost: 2_900 } }),
      want: { name: 'create_refund', amount: 10_000 },
    },
    {
      name: 'refunded, and a dispute lost on top of it',
      reason: 'more than all went back; nothing is sent',
      given: captured([aRefund({ refund_id: 'cancellation', source: 'cancellation', amount: 12_900 })], {
        payment: { disputed: true, lost: 12_900 },
      }),
      want: 'step release_inventory',
    },
  ];
  test.each(rows)('$name: $reason', check);
});

describe('refunds of a fulfilled order', () => {
  const fulfilled = (refunds: RefundFact[], patch: Order = {}): Order => ({
    inventory: committed,
    refunds,
    ...patch,
    payment: payment('captured', patch.payment),
  });
  const asked: SpecPatch = {
    refunds: [
      { refund_id: 'r1', amount: 2_500 },
      { refund_id: 'r2', amount: 2_500 },
    ],
  };
  const rows: Row[] = [
    {
      name: 'two of the same amount',
      reason: 'two ids are two refunds: the first',
      given: fulfilled([], { spec: asked }),
      want: { name: 'create_refund', target: 'r1', amount: 2_500 },
    },
    {
      name: 'the first is pending',
      reason: 'the second does not wait for it',
      given: fulfilled([aRefund({ amount: 2_500, state: 'pending' })], { spec: asked }),
      want: { name: 'create_refund', target: 'r2' },
    },
    {
      name: 'both were sent',
      reason: 'a pending refund is waited for',
      given: fulfilled(
        [
          aRefund({ amount: 2_500, state: 'pending' }),
          aRefund({ refund_id: 'r2', provider_reference: 're_2', amount: 2_500 }),
        ],
        { spec: asked },
      ),
      want: 'wait Refunding',
    },
    {
      name: 'both succeeded',
      reason: 'everything is as wanted',
      given: fulfilled(
        [aRefund({ amount: 2_500 }), aRefund({ refund_id: 'r2', provider_reference: 're_2', amount: 2_500 })],
        { spec: asked },
      ),
      want: 'agreed',
    },
    {
      name: 'one failed',
      reason: 'never sent again by itself',
      given: fulfilled(
        [
          aRefund({ amount: 2_500, state: 'failed' }),
          aRefund({ refund_id: 'r2', provider_reference: 're_2', amount: 2_500 }),
        ],
        { spec: asked },
      ),
      want: 'person RefundFailed',
    },
    {
      name: 'less is left than is wanted',
      reason: 'somebody else refunded meanwhile; no request is sent that must fail',
      given: fulfilled([aRefund({ refund_id: 're_5', amount: 12_000, source: 'external' })], { spec: asked }),
      want: 'person RefundNotPossible',
    },
    {
      name: 'a dispute stands',
      reason: 'refunding and losing would pay twice',
      given: fulfilled([], { spec: asked, payment: { disputed: true } }),
      want: 'wait DisputeOpen',
    },
    {
      name: 'the money-out brake holds it back',
      reason: 'it waits for room, or for a person',
      given: fulfilled([], { spec: asked, braked: BRAKED }),
      want: 'person RefundBrake',
    },
    {
      name: 'the goods are not committed yet, the money-out brake holds a refund back',
      reason: 'a refund that waits does not hold up the goods',
      given: fulfilled([], { spec: asked, braked: BRAKED, inventory: reserved }),
      want: 'step commit_inventory',
    },
    {
      name: 'the goods are not committed yet, a refund failed',
      reason: 'a failed refund does not hold up the goods',
      given: fulfilled([aRefund({ amount: 2_500, state: 'failed' })], { spec: asked, inventory: reserved }),
      want: { name: 'create_refund', target: 'r2' },
    },
    {
      name: 'the goods are not committed yet, all refunds are sent',
      reason: 'an open refund does not hold up the goods',
      given: fulfilled([aRefund({ amount: 2_500, state: 'failed' })], {
        spec: { refunds: [{ refund_id: 'r1', amount: 2_500 }] },
        inventory: reserved,
      }),
      want: 'step commit_inventory',
    },
    {
      name: 'one exists twice, the other was not sent yet',
      reason: 'whatever made it twice may do so again: no more is sent',
      given: fulfilled([aRefund({ amount: 2_500 }), aRefund({ amount: 2_500, provider_reference: 're_2' })], {
        spec: asked,
      }),
      want: 'person RefundedTwice',
    },
    {
      name: 'one exists twice, the second is under way',
      reason: 'a person can still stop it',
      given: fulfilled(
        [
          aRefund({ amount: 2_500 }),
          aRefund({ amount: 2_500, provider_reference: 're_2', state: 'pending' }),
        ],
        { spec: { refunds: [{ refund_id: 'r1', amount: 2_500 }] } },
      ),
      want: 'person RefundedTwice',
    },
    {
      name: 'one existed twice, and the second came to nothing',
      reason: 'it resolves by itself, and is no failed refund either',
      given: fulfilled(
        [aRefund({ amount: 2_500 }), aRefund({ amount: 2_500, provider_reference: 're_2', state: 'failed' })],
        { spec: { refunds: [{ refund_id: 'r1', amount: 2_500 }] } },
      ),
      want: 'agreed',
    },
    {
      name: 'one gave back more than was asked for',
      reason: 'somebody sent it in our name',
      given: fulfilled([aRefund({ amount: 2_501 })], { spec: asked }),
      want: 'person RefundedTwice',
    },
    {
      name: 'one gave back less than was asked for',
      reason: 'no more than wanted went back',
      given: fulfilled([aRefund({ amount: 2_499 })], {
        spec: { refunds: [{ refund_id: 'r1', amount: 2_500 }] },
      }),
      want: 'agreed',
    },
    {
      name: 'a cancellation refund, and nobody cancelled',
      reason: 'it is of ours, and nothing of it was wanted',
      given: fulfilled([aRefund({ refund_id: 'cancellation', source: 'cancellation', amount: 100 })]),
      want: 'person RefundedTwice',
    },
    {
      name: 'the goods are not committed yet, one exists twice',
      reason: 'what is paid for goes out',
      given: fulfilled([aRefund({ amount: 2_500 }), aRefund({ amount: 2_500, provider_reference: 're_2' })], {
        spec: asked,
        inventory: reserved,
      }),
      want: 'step commit_inventory',
    },
    {
      name: 'the goods are not committed yet, one exists twice and took all money',
      reason: 'nothing is paid any more, and it was not somebody else',
      given: fulfilled([aRefund({ amount: 6_450 }), aRefund({ amount: 6_450, provider_reference: 're_2' })], {
        spec: { refunds: [{ refund_id: 'r1', amount: 6_450 }] },
        inventory: reserved,
      }),
      want: 'person RefundedTwice',
    },
    {
      name: 'two external refunds',
      reason: 'they are no effects of ours, and stay what they are',
      given: fulfilled([
        aRefund({ refund_id: 're_5', provider_reference: 're_5', amount: 100, source: 'external' }),
        aRefund({ refund_id: 're_6', provider_reference: 're_6', amount: 100, source: 'external' }),
      ]),
      want: 'agreed',
    },
    {
      name: 'an external refund',
      reason: 'it is shown and changes nothing that is wanted',
      given: fulfilled([aRefund({ refund_id: 're_5', amount: 100, source: 'external', state: 'failed' })]),
      want: 'agreed',
    },
  ];
  test.each(rows)('$name: $reason', check);
});

describe('out of stock', () => {
  const refused = stock('insufficient', { refused_generation: 1 });
  const table: Row[] = [
    ...states(
      {
        created: 'step cancel_payment',
        failed: 'step cancel_payment',
        awaiting_customer: 'step cancel_payment',
        authorized: 'step cancel_payment',
        processing: 'wait PaymentProcessing',
        captured: 'person StockLostAfterPayment',
        canceled: 'step release_inventory',
        unknown: 'person UnknownProviderStatus',
      },
      { inventory: refused },
      'no money is taken for goods that are not there, and none is overlooked',
    ),
    {
      name: 'no payment',
      reason: 'only the mark is left to be set',
      given: { inventory: refused },
      want: 'step release_inventory',
    },
    {
      name: 'the wish has changed since',
      reason: 'other lines may be there',
      given: { inventory: refused, generation: 2 },
      want: 'step reserve_inventory',
    },
  ];
  test.each(table)('$name: $reason', check);
});

describe('at the payment deadline', () => {
  const table: Row[] = [
    ...states(
      {
        created: 'step cancel_payment',
        failed: 'step cancel_payment',
        awaiting_customer: 'step cancel_payment',
        processing: 'wait PaymentProcessing',
        authorized: 'step capture_payment',
        captured: 'step commit_inventory',
        canceled: 'step release_inventory',
        unknown: 'person UnknownProviderStatus',
      },
      { inventory: reserved },
      'only what is seen to be unpaid is given up, payment first',
      LATE,
    ),
    {
      name: 'a lapsed authorization',
      reason: 'it was paid once: a person decides',
      given: { payment: payment('canceled', { canceled_because: 'expired' }), inventory: reserved },
      at: LATE,
      want: 'person AuthorizationExpired',
    },
    {
      name: 'the payment of the front end was not read yet',
      reason: 'it may be paid',
      given: { spec: { payment: { reference: 'pi_1', payment_method: null } } },
      at: LATE,
      want: 'wait Cancelling',
    },
    {
      name: 'one millisecond before',
      reason: 'the customer has all of the time',
      given: { payment: payment('failed'), inventory: reserved },
      at: new Date(LATE.getTime() - 1),
      want: 'wait PaymentDeclined',
    },
    {
      name: 'a deadline of its own',
      reason: 'it counts instead of the default',
      given: {
        payment: payment('failed'),
        inventory: reserved,
        spec: { payment_deadline: '2026-08-25T05:00:00+01:00' },
      },
      at: new Date(NOW.getTime() + HOUR),
      want: 'step cancel_payment',
    },
    {
      name: 'a longer deadline of its own',
      reason: 'it counts instead of the default',
      given: {
        payment: payment('failed'),
        inventory: reserved,
        spec: { payment_deadline: '2026-09-25T03:00:00Z' },
      },
      at: LATE,
      want: 'wait PaymentDeclined',
    },
  ];
  test.each(table)('$name: $reason', check);
});

describe('whose payment it is', () => {
  const adopted: SpecPatch = { payment: { reference: 'pi_9', payment_method: null } };
  const rows: Row[] = [
    {
      name: 'it carries another operation',
      reason: 'only this order’s own payment is acted on, also when cancelling',
      given: { payment: payment('captured', { operation_id: 'op-2' }), cancels: true },
      want: 'person PaymentMismatch',
    },
    {
      name: 'it is in another currency',
      reason: 'amounts cannot be compared',
      given: { payment: payment('authorized', { currency: 'USD' }), inventory: reserved },
      want: 'person PaymentMismatch',
    },
    {
      name: 'the front end asked for another amount',
      reason: 'it is not adopted, so it is not captured, refunded or voided',
      given: { payment: payment('captured', { amount: 1 }), spec: adopted, reference: null, cancels: true },
      want: 'person PaymentMismatch',
    },
    {
      name: 'adopted, and the wanted amount changed later',
      reason: 'once adopted it is ours',
      given: {
        payment: payment('authorized', { amount: 15_000, authorized: 15_000, operation_id: null }),
        inventory: reserved,
        spec: adopted,
        reference: 'pi_9',
      },
      want: { name: 'capture_payment', reference: 'pi_9', amount: 12_900 },
    },
    {
      name: 'seen without an id',
      reason: 'total: a record that no history leads to is shown to a person',
      given: { payment: payment('authorized'), inventory: reserved, reference: null },
      want: 'person PaymentMismatch',
    },
  ];
  test.each(rows)('$name: $reason', check);
});

describe('whether the step may be taken now', () => {
  const missing: Order = { payment: payment('authorized'), inventory: reserved };
  const failed = (
    code: string,
    step: NonNullable<Facts['failure']>['step'] = 'capture_payment',
    cls: NonNullable<Facts['failure']>['class'] = 'unknown',
  ): Facts['failure'] => ({ class: cls, code, message: 'why', step });
  const rows: Row[] = [
    {
      name: 'paused',
      reason: 'a person stopped the writes',
      given: { ...missing, paused: true },
      want: 'wait Paused',
    },
    {
      name: 'the account is stopped',
      reason: 'a person stopped the writes of all its orders',
      given: { ...missing, account_paused: { by: 'lead', reason: 'a look', at: NOW.toISOString() } },
      want: 'wait AccountPaused',
    },
    {
      name: 'paused, nothing is missing',
      reason: 'there is nothing to hold back',
      given: { payment: payment('captured'), inventory: committed, paused: true },
      want: 'agreed',
    },
    {
      name: 'seven failures',
      reason: 'the limit is eight',
      given: {
        ...missing,
        failure: failed('timeout'),
        budget: { generation: 1, step: 'capture_payment', used: 7 },
      },
      want: 'step capture_payment',
    },
    {
      name: 'eight failures',
      reason: 'giving up means that writes stop',
      given: {
        ...missing,
        failure: failed('timeout'),
        budget: { generation: 1, step: 'capture_payment', used: 8 },
      },
      want: 'person RetryBudgetExhausted',
    },
    {
      name: 'eight failures of another step',
      reason: 'an order that could not be paid can still be given up',
      given: { ...missing, budget: { generation: 1, step: 'confirm_payment', used: 8, rejections: 2 } },
      want: 'step capture_payment',
    },
    {
      name: 'eight failures under an earlier wish',
      reason: 'a new wish starts with a fresh budget',
      given: { ...missing, generation: 2, budget: { generation: 1, step: 'capture_payment', used: 8 } },
      want: 'step capture_payment',
    },
    {
      name: 'eight failed readings',
      reason: 'writes stop when reading fails as often as allowed',
      given: {
        ...missing,
        failure: failed('timeout', 'observe_payment'),
        budget: { generation: 1, reads: 8 },
      },
      want: 'person RetryBudgetExhausted',
    },
    {
      name: 'one rejection',
      reason: 'it is planned once more from a fresh reading',
      given: {
        ...missing,
        failure: failed('x'),
        budget: { generation: 1, step: 'capture_payment', rejections: 1 },
      },
      want: 'step capture_payment',
    },
    {
      name: 'two rejections',
      reason: 'repeating it would not help',
      given: {
        ...missing,
        failure: failed('x'),
        budget: { generation: 1, step: 'capture_payment', rejections: 2 },
      },
      want: 'person ProviderRejected',
    },
    {
      name: 'other parameters under the key',
      reason: 'our own fault: at once a person, under any wish, and never another key',
      given: {
        ...missing,
        generation: 2,
        failure: failed('idempotency_mismatch', 'capture_payment', 'rejected'),
        budget: { generation: 1, rejections: 1 },
      },
      want: 'person ProviderRejected',
    },
    {
      name: 'an answer with a word that this version does not know',
      reason: 'reads only, and a person',
      given: {
        payment: payment('captured'),
        inventory: reserved,
        failure: failed('unknown_status', 'commit_inventory', 'compatibility'),
        budget: { generation: 1 },
      },
      want: 'person UnknownProviderStatus',
    },
    {
      name: 'the warehouse cannot be understood, and money is to be voided',
      reason: 'it does not stand in the way of the payment',
      given: {
        payment: payment('authorized'),
        inventory: reserved,
        cancels: true,
        failure: failed('unknown_status', 'observe_inventory', 'compatibility'),
        budget: { generation: 1 },
      },
      want: 'step cancel_payment',
    },
    {
      name: 'the warehouse cannot be understood, and stock is to be released',
      reason: 'a person, since reading again would not help',
      given: {
        payment: payment('canceled'),
        inventory: reserved,
        cancels: true,
        failure: failed('unknown_status', 'observe_inventory', 'compatibility'),
        budget: { generation: 1 },
      },
      want: 'person UnknownProviderStatus',
    },
    {
      name: 'goods gone, and the payment is still to be voided',
      reason: 'money is not held up by goods',
      given: {
        ...missing,
        cancels: true,
        failure: failed('goods_gone', 'release_inventory', 'conflict'),
        budget: { generation: 1 },
      },
      want: 'step cancel_payment',
    },
  ];
  test.each(rows)('$name: $reason', check);

  test('the message says what failed and how often', () => {
    const used = order({ ...missing, budget: { generation: 1, step: 'capture_payment', used: 8 } });
    const reads = order({
      ...missing,
      budget: { generation: 1, reads: 9 },
      failure: failed('x', 'observe_payment'),
    });
    expect(nextStep(used, ALL_SEEN, NOW, POLICY)).toMatchObject({
      message: 'capture_payment failed 8 times',
    });
    expect(nextStep(reads, ALL_SEEN, NOW, POLICY)).toMatchObject({ message: 'Reading failed 8 times: why' });
  });
});

test('without a warehouse, lines are reserved nowhere', () => {
  const policy = { ...POLICY, inventory: false };
  const decide = (given: Order): string => short(nextStep(order(given), ALL_SEEN, NOW, policy));
  expect(decide({})).toBe('step create_payment');
  expect(decide({ payment: payment('captured') })).toBe('agreed');
  expect(decide({ payment: payment('canceled'), cancels: true })).toBe('agreed');
});

test.each([
  { reason: 'the whole by default', given: {}, want: 12_900 },
  { reason: 'the part that was asked for', given: { capture: 'manual', capture_amount: 500 }, want: 500 },
  { reason: 'never above the amount', given: { capture: 'manual', capture_amount: 99_999 }, want: 12_900 },
] as const)('wanted capture: $reason', ({ given, want }) => {
  expect(wantedCapture(order({ spec: { payment: given } }))).toBe(want);
});
