/** Orders broken in as many ways, and a person who was not there: each is settled, or closed with a verdict. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Reason } from '../../src/operation/reason.js';
import { pathOf } from '../support/api.js';
import { aDesk, type Desk } from '../support/desk.js';
import { resolveAll } from '../support/person.js';
import { until } from '../support/product.js';
import { aShop, HOUR, type Shop } from '../support/shop.js';

let shop: Shop;
let desk: Desk;
beforeAll(async () => {
  // Only the refund in francs is above what the account gives back by itself.
  shop = await aShop({ works: true, patience_ms: 5_000, brake: { refunds: 1_000, amounts: { CHF: 1_000 } } });
  desk = aDesk(shop);
});
afterAll(() => shop.stop());

interface Case {
  readonly reason: Reason;
  /** Makes the order `id`, and breaks it. */
  readonly breaks: (id: string) => Promise<unknown>;
  /** What caused it ends, where that is nobody's decision. */
  readonly heals?: (id: string) => Promise<unknown>;
  /** What the person did about it. */
  readonly acts: readonly string[];
  readonly ends: {
    readonly phase: string;
    readonly verdict: 'baseline' | 'known_deviation' | null;
    /** What the provider took and gave back in all. */
    readonly books: readonly [captured: number, refunded: number];
  };
}

const MANUAL = { payment: { capture: 'manual' } };
const fails = (id: string, route: string, kind: 'drop_before' | '503_message' | '400_insufficient_funds') =>
  shop.control.inject({ route, kind, times: null, match: { operation_id: id } });
const heals = async (id: string): Promise<void> => {
  for (const fault of await shop.control.faults())
    if (fault.match?.operation_id === id) await shop.control.removeFault(fault.id);
};
const paid = async (id: string, spec: Record<string, unknown> = {}): Promise<void> => {
  await shop.order(id, spec);
  expect((await shop.settle(id)).status.phase).toBe('fulfilled');
};
const refund = (id: string, amount: number) =>
  shop.call('POST', pathOf(id, '/refunds'), { body: { refund_id: 'r1', amount } });
const note = (id: string, text: string) =>
  shop.asSupport('PUT', pathOf(id, '/triage'), { body: { note: text } });

const BROKEN: readonly Case[] = [
  {
    reason: 'RefundFailed',
    async breaks(id) {
      await paid(id, { payment: { payment_method: 'pm_card_refundFail' } });
      await refund(id, 3_000);
      const [sent] = (await shop.settle(id)).status.refunds;
      await shop.control.dashboard('fail_refund', { refund: sent?.provider_reference });
    },
    acts: ['retry_refund'],
    ends: { phase: 'fulfilled', verdict: 'baseline', books: [10_000, 3_000] },
  },
  {
    reason: 'RetryBudgetExhausted',
    async breaks(id) {
      await fails(id, 'payment_intents.confirm', '503_message');
      await shop.order(id);
    },
    heals,
    acts: ['retry'],
    ends: { phase: 'fulfilled', verdict: 'baseline', books: [10_000, 0] },
  },
  {
    reason: 'RefundBrake',
    async breaks(id) {
      await paid(id, { amount: { value: 10_000, currency: 'CHF' } });
      await refund(id, 4_000);
    },
    acts: ['retry'],
    ends: { phase: 'fulfilled', verdict: 'baseline', books: [10_000, 4_000] },
  },
  {
    reason: 'GoodsGone',
    async breaks(id) {
      await paid(id);
      await shop.control.dashboard('ship', { operation_id: id });
      await shop.cancel(id);
    },
    acts: ['release_finalizer'],
    ends: { phase: 'cancelled', verdict: 'known_deviation', books: [10_000, 10_000] },
  },
  {
    reason: 'AuthorizationExpired',
    async breaks(id) {
      await shop.order(id, MANUAL);
      await shop.settle(id);
      await shop.control.dashboard('expire_authorization', { operation_id: id });
    },
    acts: ['reauthorize'],
    ends: { phase: 'authorized', verdict: null, books: [0, 0] },
  },
  {
    reason: 'PaymentNotFound',
    async breaks(id) {
      await shop.adopt(id, 'pi_1ofAnotherSystem');
      const { id: reference } = await shop.checkout({
        payment_method: 'pm_card_visa',
        metadata: { operation_id: id },
      });
      await note(id, `The customer paid by ${reference}; the front end had stored another id.`);
    },
    acts: ['adopt_payment'],
    ends: { phase: 'fulfilled', verdict: 'baseline', books: [10_000, 0] },
  },
  {
    reason: 'AssertionRefuted',
    async breaks(id) {
      await fails(id, 'payment_intents.confirm', 'drop_before');
      await shop.order(id);
      await shop.settle(id);
      await desk.command(id, 'pause');
      const word = { step: 'confirm_payment', outcome: 'no_effect', evidence: 'said on the telephone' };
      await desk.command(id, 'record_outcome', word, 'lead');
      await shop.control.dashboard('confirm', { operation_id: id, payment_method: 'pm_card_visa' });
    },
    heals,
    acts: ['record_outcome', 'resume'],
    ends: { phase: 'fulfilled', verdict: 'baseline', books: [10_000, 0] },
  },
  {
    reason: 'Paused',
    async breaks(id) {
      await shop.order(id, MANUAL);
      await shop.settle(id);
      await desk.command(id, 'pause');
      await shop.call('POST', pathOf(id, '/capture'));
    },
    acts: ['resume'],
    ends: { phase: 'fulfilled', verdict: null, books: [10_000, 0] },
  },
  {
    reason: 'AmountAboveAuthorization',
    async breaks(id) {
      await shop.order(id, { desired: 'authorized' });
      await shop.settle(id);
      await shop.change(id, { amount: { value: 12_000 } });
    },
    acts: ['lower_amount'],
    ends: { phase: 'authorized', verdict: null, books: [0, 0] },
  },
  {
    reason: 'CapturedShort',
    async breaks(id) {
      await shop.order(id, MANUAL);
      await shop.settle(id);
      await shop.control.dashboard('capture', { operation_id: id, amount: 6_000 });
    },
    acts: ['cancel'],
    ends: { phase: 'cancelled', verdict: null, books: [6_000, 6_000] },
  },
  {
    // A script took over our metadata, and gave back once more.
    reason: 'RefundedTwice',
    async breaks(id) {
      await paid(id);
      await refund(id, 2_000);
      const { provider_reference } = (await shop.settle(id)).status;
      const body = new URLSearchParams({
        payment_intent: provider_reference ?? '',
        amount: '2000',
        'metadata[operation_id]': id,
        'metadata[refund_id]': 'r1',
      });
      const headers = { authorization: 'Bearer sk_test_world' };
      await fetch(`${shop.world.sandbox.url}/v1/refunds`, { method: 'POST', headers, body });
      await shop.cancel(id);
    },
    acts: ['give_up'],
    // What went twice before stays; the rest of a cancelled order is left to whoever finds it closed so.
    ends: { phase: 'cancelling', verdict: 'known_deviation', books: [10_000, 4_000] },
  },
  {
    reason: 'StockLostAfterPayment',
    async breaks(id) {
      await paid(id);
      await shop.control.dashboard('lose_reservation', { operation_id: id });
    },
    acts: ['cancel'],
    ends: { phase: 'cancelled', verdict: null, books: [10_000, 10_000] },
  },
  {
    reason: 'ProviderRejected',
    async breaks(id) {
      await fails(id, 'refunds.create', '400_insufficient_funds');
      await paid(id);
      await refund(id, 2_000);
    },
    heals,
    acts: ['retry'],
    ends: { phase: 'fulfilled', verdict: 'baseline', books: [10_000, 2_000] },
  },
  {
    // The last: it stops all others as well.
    reason: 'AccountPaused',
    async breaks(id) {
      await shop.as('lead')('POST', '/v1/accounts/default/pause', { body: { reason: 'a wrong price list' } });
      await shop.order(id);
    },
    acts: ['resume_account'],
    ends: { phase: 'fulfilled', verdict: null, books: [10_000, 0] },
  },
];
/** Also while the account lets go little by little what was stopped. */
const workedOff = async (): Promise<void> => {
  await until(async () => {
    await shop.world.run(shop.worker);
    const due = `SELECT 1 FROM order_operations WHERE next_attempt_at <= now() OR lease_holder IS NOT NULL`;
    return (await shop.world.db.database.query(due)).length === 0;
  }, 'the workers to be done');
};
const idOf = ({ reason }: Case): string => `broken by ${reason}`;

test('each of them, by what the API says alone, and nobody pays or is paid twice', async () => {
  for (const one of BROKEN) {
    await one.breaks(idOf(one));
    await shop.settle(idOf(one));
  }
  const settleAll = async (): Promise<void> => {
    for (const one of BROKEN) await shop.settle(idOf(one));
  };
  const reasons: string[] = [];
  for (const one of BROKEN) {
    const { status } = await shop.get(idOf(one));
    reasons.push(status.attention?.reason ?? status.condition);
  }
  expect(reasons).toEqual(BROKEN.map(({ reason }) => reason));
  for (const one of BROKEN) await one.heals?.(idOf(one));

  const deeds = await resolveAll({
    support: shop.asSupport,
    lead: shop.as('lead'),
    checkout: shop.call,
    rest: workedOff,
  });
  // Whatever came of it is not undone by time.
  await shop.later(24 * HOUR);
  await settleAll();

  for (const one of BROKEN) {
    const id = idOf(one);
    const { status, metadata } = await shop.get(id);
    const { captured, refunded, violations } = await shop.control.ledger(id);
    expect({
      id,
      acts: deeds.filter(({ operation_id }) => operation_id === id).map(({ act }) => act),
      attention: status.attention,
      ends: { phase: status.phase, verdict: metadata.closed?.verdict ?? null, books: [captured, refunded] },
      violations,
    }).toEqual({ id, acts: one.acts, attention: null, ends: one.ends, violations: [] });
  }
  expect((await shop.control.ledgerSummary()).violations).toEqual([]);
  const queue = (await shop.asSupport('GET', '/v1/attention')).json<{ total: number }>();
  expect(queue.total).toBe(0);
}, 120_000);
