// The orders that are posted: all alike, EUR 129.00 for two of one thing.

export const anOrder = (id) => ({
  operation_id: id,
  spec: {
    order_id: id,
    amount: { value: 12900, currency: 'EUR' },
    payment: { provider: 'stripe', payment_method: 'pm_card_visa' },
    lines: [{ sku: 'tea-500', quantity: 2 }],
  },
});

/** Ids of `count` orders that no other window has. */
export function someIds(count) {
  windows += 1;
  return Array.from({ length: count }, (_, index) => `w${windows}-${index}`);
}

let windows = 0;
