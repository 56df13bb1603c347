/** Stripe's objects as the API shows them, valid by default: each test states only what matters to it. */

type Members = Readonly<Record<string, unknown>>;

/** An unconfirmed payment of 129.00 EUR; `undefined` leaves a member out. */
export const aPaymentIntent = (members: Members = {}) =>
  withoutUndefined({
    id: 'pi_1',
    object: 'payment_intent',
    amount: 12900,
    amount_capturable: 0,
    amount_received: 0,
    currency: 'eur',
    capture_method: 'automatic',
    status: 'requires_confirmation',
    payment_method: 'pm_1',
    latest_charge: null,
    last_payment_error: null,
    next_action: null,
    cancellation_reason: null,
    livemode: false,
    metadata: { operation_id: 'op-1' },
    ...members,
  });

export const aCharge = (members: Members = {}) =>
  withoutUndefined({
    id: 'ch_1',
    object: 'charge',
    amount: 12900,
    amount_captured: 12900,
    amount_refunded: 0,
    captured: true,
    refunded: false,
    disputed: false,
    currency: 'eur',
    payment_method_details: { type: 'card', card: { brand: 'visa' } },
    ...members,
  });

export const aRefund = (members: Members = {}) =>
  withoutUndefined({
    id: 're_1',
    object: 'refund',
    amount: 2500,
    currency: 'eur',
    status: 'succeeded',
    payment_intent: 'pi_1',
    charge: 'ch_1',
    balance_transaction: 'txn_1',
    metadata: { operation_id: 'op-1', refund_id: 'r1' },
    ...members,
  });

export const aDispute = (members: Members = {}) => ({
  id: 'du_1',
  object: 'dispute',
  amount: 12900,
  status: 'needs_response',
  is_charge_refundable: false,
  ...members,
});

export const aList = (data: readonly unknown[], hasMore = false) => ({
  object: 'list',
  data,
  has_more: hasMore,
  url: '/v1/refunds',
});

/** The answer of a resolved SDK call: the object with `lastResponse` hung on it. */
export const resolved = (body: Members, status = 200, headers: Readonly<Record<string, string>> = {}) => ({
  kind: 'resolved' as const,
  value: Object.defineProperty({ ...body }, 'lastResponse', {
    value: { statusCode: status, headers: { 'request-id': 'req_1', ...headers } },
  }),
});

const withoutUndefined = (members: Members): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
