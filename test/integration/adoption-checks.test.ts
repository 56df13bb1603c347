/** Only this order's payment is adopted: account, mode, amount, currency and owner are checked before anything is done. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { reconcile } from '../../src/reconciler/reconcile.js';
import { pathOf, refusal } from '../support/api.js';
import { aShop, type Shop } from '../support/shop.js';

let shop: Shop;
beforeAll(async () => {
  shop = await aShop();
});
afterAll(() => shop.stop());

const pays = { payment_method: 'pm_card_visa' };
const effects = async (after: number): Promise<string[]> =>
  (await shop.control.journal({ after })).filter(({ method }) => method !== 'GET').map(({ route }) => route);
/** The queue rests: the next look is far away. */
const rests = async (id: string): Promise<void> => {
  const { status } = await shop.get(id);
  expect(Date.parse(status.next_attempt_at ?? '') - Date.now()).toBeGreaterThan(60_000);
};

describe('what does not agree is told, and left alone', () => {
  test.each<[string, Record<string, unknown>, Record<string, unknown>, RegExp]>([
    ['another amount', { ...pays, amount: 9_999 }, {}, /asks for 99.99 EUR, wanted is 100.00 EUR/],
    ['another amount, not paid yet', { amount: 9_999 }, {}, /asks for 99.99 EUR/],
    ['another currency', { ...pays, currency: 'usd' }, {}, /in USD, wanted is EUR/],
    [
      'another order’s mark',
      { ...pays, metadata: { operation_id: 'other' } },
      {},
      /belongs to another operation/,
    ],
    [
      'held for another amount',
      { ...pays, capture_method: 'manual', amount: 12_000 },
      { desired: 'authorized' },
      /asks for 120.00 EUR/,
    ],
  ])('%s', async (name, payment, spec, message) => {
    const id = `differs ${name}`;
    const { id: reference, status: before } = await shop.checkout(payment);
    await shop.adopt(id, reference, spec);
    const sent = await shop.control.journalSequence();
    const { status } = await shop.settle(id);
    expect(status).toMatchObject({
      phase: 'accepted',
      condition: 'PaymentMismatch',
      provider_reference: null,
      attention: { reason: 'PaymentMismatch', message: expect.stringMatching(message) },
      // Of whom that money is, nobody knows; this order can give nothing of it back.
      payment: { authorized: 0, captured: 0, refundable: 0, short: 0 },
      money_moved: { verdict: 'unknown' },
      inventory: { state: 'none' },
    });
    expect(await effects(sent)).toEqual([]);
    expect((await shop.intent(reference)).status).toBe(before);
    await rests(id);
    expect(refusal(await shop.secret(id))).toEqual([409, 'command_not_available']);
    const refund = { body: { refund_id: 'r1', amount: 1 } };
    expect(refusal(await shop.call('POST', pathOf(id, '/refunds'), refund))).toEqual([
      422,
      'amount_not_refundable',
    ]);
  });

  test('its own mark is no stranger', async () => {
    const { id } = await shop.checkout({ ...pays, metadata: { operation_id: 'marked' } });
    await shop.adopt('marked', id);
    expect((await shop.settle('marked')).status).toMatchObject({ phase: 'fulfilled', attention: null });
    expect(await shop.control.ledger('marked')).toMatchObject({ captured: 10_000, violations: [] });
  });

  test('a wrong total can be put right', async () => {
    const { id } = await shop.checkout({ ...pays, amount: 12_500 });
    await shop.adopt('put right', id);
    expect((await shop.settle('put right')).status.attention?.reason).toBe('PaymentMismatch');
    expect((await shop.change('put right', { amount: { value: 12_500 } })).status).toBe(200);
    expect((await shop.settle('put right')).status).toMatchObject({ phase: 'fulfilled', attention: null });
  });

  test('cancelling waits for a person: the customer’s money may be on it', async () => {
    const { id } = await shop.checkout({ ...pays, amount: 9_000 });
    await shop.adopt('cancelled', id);
    await shop.settle('cancelled');
    await shop.cancel('cancelled');
    expect((await shop.settle('cancelled')).status).toMatchObject({
      phase: 'cancelling',
      attention: { reason: 'PaymentMismatch' },
    });
    expect((await shop.intent(id)).status).toBe('succeeded');
  });
});

describe('a payment that the provider does not know here', () => {
  const unknownTo = async (id: string, reference: string): Promise<void> => {
    await shop.adopt(id, reference);
    const sent = await shop.control.journalSequence();
    expect((await shop.settle(id)).status).toMatchObject({
      phase: 'accepted',
      provider_reference: null,
      attention: { reason: 'PaymentNotFound' },
      inventory: { state: 'none' },
      money_moved: { verdict: 'unknown' },
    });
    expect(await effects(sent)).toEqual([]);
    // The pauses double up to the slow turn.
    for (let look = 0; look < 12; look += 1) await shop.pass(id);
    await rests(id);
    // It is this order's trouble: the others of the account go on.
    await shop.order(`beside ${id}`);
    expect((await shop.settle(`beside ${id}`)).status.phase).toBe('fulfilled');
  };

  test('mistyped', () => unknownTo('mistyped', 'pi_nobody_has_this'));

  test('of another account', async () => {
    const { id } = await shop.control.dashboard('create_stray', {
      amount: 10_000,
      currency: 'eur',
      account: 'acct_other',
    });
    await unknownTo('other account', id);
  });

  test('of the other mode', async () => {
    const { id } = await shop.control.dashboard('create_stray', {
      amount: 10_000,
      currency: 'eur',
      livemode: true,
    });
    await unknownTo('other mode', id);
    expect((await shop.get('other mode')).status.attention?.message).toMatch(/live mode/);
  });

  test('that is not believed for ever: what turns up is adopted', async () => {
    await shop.control.inject({
      route: 'payment_intents.retrieve',
      kind: 'answer',
      status: 404,
      body: {
        error: {
          type: 'invalid_request_error',
          code: 'resource_missing',
          message: 'No such payment_intent',
          param: 'intent',
        },
      },
      times: null,
    });
    const { id } = await shop.control.dashboard('create_stray', { amount: 10_000, currency: 'eur', ...pays });
    await shop.adopt('turns up', id);
    expect((await shop.settle('turns up')).status.attention?.reason).toBe('PaymentNotFound');
    await shop.cancel('turns up');
    // Cancelled is said only when it is known that no money is kept.
    expect((await shop.settle('turns up')).status).toMatchObject({
      phase: 'cancelling',
      attention: { reason: 'PaymentNotFound' },
    });
    await shop.control.clearFaults();
    expect((await shop.settle('turns up')).status).toMatchObject({
      phase: 'cancelled',
      attention: null,
      payment: { refunded: 10_000 },
    });
  });
});

describe('one payment serves one order', () => {
  test('the second order that names it is told so, and rests; the first one is not touched', async () => {
    const { id } = await shop.checkout(pays);
    await shop.adopt('first', id);
    expect((await shop.settle('first')).status.phase).toBe('fulfilled');
    await shop.adopt('second', id);
    const sent = await shop.control.journalSequence();
    expect((await shop.settle('second')).status).toMatchObject({
      phase: 'accepted',
      condition: 'PaymentMismatch',
      provider_reference: null,
      attention: { message: 'The payment serves the operation "first" already.' },
      payment: { captured: 0, refundable: 0 },
      money_moved: { verdict: 'unknown' },
    });
    await rests('second');
    const plan = await shop.asSupport('GET', pathOf('second', '/plan'));
    expect(plan.json()).toMatchObject({ decision: { kind: 'person', reason: 'PaymentMismatch' } });

    // Nothing of it is the second order's, so giving that up is complete.
    await shop.cancel('second');
    expect((await shop.settle('second')).status).toMatchObject({ phase: 'cancelled', attention: null });
    expect(await effects(sent)).toEqual([]);
    expect(await shop.get('first')).toMatchObject({ status: { phase: 'fulfilled' } });
    expect((await shop.intent(id)).status).toBe('succeeded');
  });

  test('a payment that this service made for another order', async () => {
    await shop.order('made');
    const { status } = await shop.settle('made');
    await shop.adopt('claims', status.provider_reference ?? '');
    expect((await shop.settle('claims')).status.attention?.reason).toBe('PaymentMismatch');
    await shop.cancel('claims');
    expect((await shop.settle('claims')).status.phase).toBe('cancelled');
    expect(await shop.control.ledger('made')).toMatchObject({ captured: 10_000, refunded: 0 });
  });

  test('ten at the same moment: one has it, nine are told, no pass breaks off', async () => {
    const { id } = await shop.checkout({ ...pays, capture_method: 'manual' });
    const orders = Array.from({ length: 10 }, (_one, index) => `race ${index}`);
    await Promise.all(orders.map((order) => shop.adopt(order, id)));
    const { claims } = await shop.world.passes.claim(
      10,
      shop.worker.worker,
      shop.worker.lease_ms,
      shop.worker.accounts.ceiling,
    );
    expect(claims).toHaveLength(10);
    await Promise.all(claims.map((claim) => reconcile(claim, shop.worker)));
    const ended = await Promise.all(orders.map((order) => shop.settle(order)));
    const phases = ended.map(({ status }) => status.attention?.reason ?? status.phase).sort();
    expect(phases).toEqual([...Array.from({ length: 9 }, () => 'PaymentMismatch'), 'fulfilled']);
    const owner = ended.find(({ status }) => status.phase === 'fulfilled');
    expect(owner?.status.provider_reference).toBe(id);
    expect((await shop.requests(id)).map(({ path }) => path.split('/').at(-1))).toEqual(['capture']);
  });

  test('a worker that dies right after it has it leaves a payment with one owner', async () => {
    const { id } = await shop.checkout(pays);
    await shop.adopt('dies', id);
    const [claim] = (await shop.world.passes.claim(1, 'dead', 1, shop.worker.accounts.ceiling)).claims;
    expect(await shop.world.passes.adopt(claim?.row ?? '', claim?.fencing_token ?? 0, id)).toEqual({
      kind: 'own',
    });
    await new Promise((resolve) => setTimeout(resolve, 10));
    await shop.adopt('heir', id);
    expect((await shop.settle('heir')).status.attention?.reason).toBe('PaymentMismatch');
    expect((await shop.settle('dies')).status.phase).toBe('fulfilled');
  });

  test('a stale worker takes nothing', async () => {
    const { id } = await shop.checkout(pays);
    await shop.adopt('stale', id);
    const { claims } = await shop.world.passes.claim(1, 'stale', 1, shop.worker.accounts.ceiling);
    const [claim] = claims;
    await shop.world.passes.adopt(claim?.row ?? '', (claim?.fencing_token ?? 0) - 1, id);
    expect((await shop.get('stale')).status.provider_reference).toBeNull();
  });
});
