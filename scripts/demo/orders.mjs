// The orders of the demonstration: what is wanted of each, what is made to go wrong, and what must come out.

const TEA = [{ sku: 'tea-500', quantity: 2 }];
const RARE_SKU = 'tea-first-flush';

const CONFIRM = 'payment_intents.confirm';

/**
 * `fault`: a rule for the sandbox, which hits the first such calls (one, unless it says how many) of this order. `expected`: the phase it comes to
 * rest in, and what the provider's and the warehouse's books must say then (amounts in minor units).
 */
export const ORDERS = [
  {
    title: 'nothing goes wrong',
    amount: 12900,
    expected: paid(12900),
  },
  {
    title: 'the provider takes the money, then the connection breaks',
    amount: 4500,
    // Twice, since the client sends once more, under the same key, when a connection breaks.
    fault: { route: CONFIRM, kind: 'effect_then_drop', times: 2 },
    expected: paid(4500),
  },
  {
    title: 'the provider takes the money and answers 500, now and to every repetition',
    amount: 7800,
    fault: { route: CONFIRM, kind: 'effect_then_500' },
    expected: paid(7800),
  },
  {
    title: 'the provider takes nothing and answers 500, now and to every repetition',
    amount: 3300,
    fault: { route: CONFIRM, kind: '500_no_effect' },
    expected: paid(3300),
  },
  {
    title: 'the provider takes the money and answers after we have stopped waiting',
    amount: 9900,
    fault: { route: CONFIRM, kind: 'delay_after', delay_ms: 3500 },
    expected: paid(9900),
  },
  {
    title: 'two are ordered, one is in stock',
    amount: 6400,
    lines: [{ sku: RARE_SKU, quantity: 2 }],
    stock: { sku: RARE_SKU, available: 1 },
    expected: { phase: 'rejected', captured: 0, refunded: 0, stock: 'not held' },
  },
  {
    title: 'the card is declined',
    amount: 2500,
    method: 'pm_card_chargeDeclined',
    // The goods are kept for the customer, who may try another card.
    expected: { phase: 'payment_failed', captured: 0, refunded: 0, stock: 'reserved' },
  },
  {
    title: 'paid, then cancelled by the customer, and the answer to the refund is lost',
    amount: 5200,
    cancelWhenPaid: true,
    fault: { route: 'refunds.create', kind: 'effect_then_drop', times: 2 },
    expected: { phase: 'cancelled', captured: 5200, refunded: 5200, stock: 'not held' },
  },
];

export const CURRENCY = 'EUR';

function paid(amount) {
  return { phase: 'fulfilled', captured: amount, refunded: 0, stock: 'committed' };
}

/** The body of POST /v1/operations. */
export function orderBody(order, operationId) {
  return {
    operation_id: operationId,
    spec: {
      order_id: operationId,
      amount: { value: order.amount, currency: CURRENCY },
      payment: { provider: 'stripe', payment_method: order.method ?? 'pm_card_visa' },
      lines: order.lines ?? TEA,
    },
  };
}
