/** Declines, and the customer who tries again: each wish is confirmed exactly once. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { reconcile } from '../../src/reconciler/reconcile.js';
import { refusal } from '../support/api.js';
import type { Fault } from '../support/sandbox-control.js';
import { aShop, type Shop } from '../support/shop.js';
import { TEST_TIMEOUT_MS } from '../support/world.js';

let shop: Shop;
beforeAll(async () => {
  shop = await aShop();
});
afterAll(() => shop.stop());
beforeEach(() => shop.control.clearFaults());

const DECLINES = { payment: { payment_method: 'pm_card_chargeDeclined' } };
const THREE_D_SECURE = 'pm_card_threeDSecure2Required';

const declined = async (id: string, spec: Record<string, unknown> = DECLINES): Promise<void> => {
  await shop.order(id, spec);
  expect((await shop.settle(id)).status.phase).toBe('payment_failed');
};
const accepted = async (id: string, method?: string): Promise<void> => {
  const answer = await shop.payAgain(id, method);
  expect([answer.status, answer.text.slice(0, 200)]).toEqual([202, expect.any(String)]);
};
/** Confirmations that did something, whoever saw their answers. */
const confirms = async (id: string): Promise<number> => (await shop.control.ledger(id)).effects.confirms;
const paidOnce = async (id: string): Promise<void> => {
  expect((await shop.get(id)).status).toMatchObject({ phase: 'fulfilled', attention: null });
  const ledger = await shop.control.ledger(id);
  expect(ledger).toMatchObject({ captured: 10_000, refunded: 0, violations: [], effects: { creates: 1 } });
  expect(ledger.stock).toMatchObject({ reserved: 1, committed: 1, released: 0 });
};

describe('after a decline', () => {
  test('nothing is tried again by itself, however often it is looked at', async () => {
    await declined('waits');
    for (let look = 0; look < 3; look += 1) await shop.pass('waits');
    expect((await shop.get('waits')).status).toMatchObject({
      condition: 'PaymentDeclined',
      attention: null,
      retry_budget: { used: 0 },
    });
    expect(await confirms('waits')).toBe(1);
    expect(await shop.control.stock('tea')).toBeLessThan(1_000_000);
  });

  test('another method: one more confirmation, and the order goes on', async () => {
    await declined('another');
    await accepted('another', 'pm_card_visa');
    expect((await shop.get('another')).status.phase).toBe('payment_pending');
    await shop.settle('another');
    await paidOnce('another');
    expect(await confirms('another')).toBe(2);
  });

  test('the same method: the bank is asked once more', async () => {
    await declined('same');
    await accepted('same');
    expect((await shop.settle('same')).status.phase).toBe('payment_failed');
    expect(await confirms('same')).toBe(2);
    expect((await shop.get('same')).metadata.generation).toBe(1);
  });

  test('a double click is one try', async () => {
    await declined('double');
    const answers = await Promise.all([1, 2, 3, 4].map(() => shop.payAgain('double')));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    await shop.settle('double');
    expect(await confirms('double')).toBe(2);
  });

  test('several declines, then a method that pays', async () => {
    await declined('several');
    for (const method of [
      'pm_card_chargeDeclinedInsufficientFunds',
      undefined,
      'pm_card_chargeDeclinedExpiredCard',
    ]) {
      await accepted('several', method);
      expect((await shop.settle('several')).status.phase).toBe('payment_failed');
    }
    await accepted('several', 'pm_card_mastercard');
    await shop.settle('several');
    await paidOnce('several');
    expect(await confirms('several')).toBe(5);
  });

  test('a failure that is told late changes nothing once the order is paid', async () => {
    await declined('late word');
    await accepted('late word', 'pm_card_visa');
    const before = await shop.settle('late word');
    const sent = await shop.control.journalSequence();
    for (let look = 0; look < 3; look += 1) await shop.pass('late word');
    const journal = await shop.control.journal({ after: sent, operation_id: 'late word' });
    expect(journal.filter(({ method }) => method !== 'GET')).toEqual([]);
    expect(await shop.get('late word')).toMatchObject({
      metadata: { resource_version: before.metadata.resource_version },
    });
  });

  test('a pass that began before the wish does not write its old word over the new one', async () => {
    await declined('overlap');
    await shop.world.hurry('overlap');
    const { claims } = await shop.world.passes.claim(
      1,
      shop.worker.worker,
      shop.worker.lease_ms,
      shop.worker.accounts.ceiling,
    );
    await accepted('overlap');
    for (const claim of claims) await reconcile(claim, shop.worker);
    // A shop that waits for the outcome of its try would take the old decline for the new answer.
    expect((await shop.get('overlap')).status.phase).toBe('payment_pending');
    await shop.settle('overlap');
    expect(await confirms('overlap')).toBe(2);
  });
});

describe('while the customer has to act', () => {
  test('the same method again asks the customer anew, with one payment', async () => {
    await shop.order('anew', { payment: { payment_method: THREE_D_SECURE } });
    await shop.settle('anew');
    await accepted('anew');
    expect((await shop.settle('anew')).status.phase).toBe('awaiting_customer');
    expect(await confirms('anew')).toBe(2);
    await shop.control.dashboard('complete_authentication', { operation_id: 'anew' });
    await shop.settle('anew');
    await paidOnce('anew');
  });

  test('another method replaces the abandoned one', async () => {
    await shop.order('replaced', { payment: { payment_method: THREE_D_SECURE } });
    await shop.settle('replaced');
    await accepted('replaced', 'pm_card_visa');
    await shop.settle('replaced');
    await paidOnce('replaced');
  });

  test('the customer completes the first one while the second is being asked for', async () => {
    await shop.order('crossing', { payment: { payment_method: THREE_D_SECURE } });
    await shop.settle('crossing');
    await accepted('crossing', 'pm_card_mastercard');
    await shop.control.dashboard('complete_authentication', { operation_id: 'crossing' });
    await shop.settle('crossing');
    await paidOnce('crossing');
    expect(await confirms('crossing')).toBe(1);
  });
});

describe('refused while a payment lives', () => {
  test.each([
    ['in process', { payment: { payment_method: 'pm_sepaDebit' } }, 'payment_alive'],
    ['authorized', { desired: 'authorized' }, 'payment_alive'],
    ['captured', {}, 'payment_alive'],
  ])('%s', async (name, spec, code) => {
    const id = `lives ${name}`;
    await shop.order(id, spec);
    await shop.settle(id);
    expect(refusal(await shop.payAgain(id, 'pm_card_mastercard'))).toEqual([409, code]);
    expect(await confirms(id)).toBe(1);
  });
});

describe('the answer to the second confirmation is lost', () => {
  const BEYOND_TIMEOUT_MS = TEST_TIMEOUT_MS + 300;
  const faults: Omit<Fault, 'route'>[] = [
    { kind: 'effect_then_drop', times: 2 },
    { kind: 'drop_before', times: 2 },
    { kind: 'effect_then_500' },
    { kind: '500_no_effect' },
    { kind: 'truncated_json' },
    { kind: '503_message' },
    { kind: 'delay_after', delay_ms: BEYOND_TIMEOUT_MS },
    { kind: 'delay_before', delay_ms: BEYOND_TIMEOUT_MS },
  ];
  const methods = [
    ['pays', 'pm_card_visa'],
    ['is declined', 'pm_card_chargeDeclinedInsufficientFunds'],
    ['asks the customer', THREE_D_SECURE],
  ] as const;
  const rows = faults.flatMap((fault) => methods.map((method) => [fault.kind, ...method, fault] as const));

  test.each(rows)('%s, and the method %s', async (kind, what, method, fault) => {
    const id = `lost ${kind} ${what}`;
    await declined(id);
    await shop.control.inject({ route: 'payment_intents.confirm', ...fault, match: { operation_id: id } });
    await accepted(id, method);
    // In real time where a request is slow and must come to its end.
    if (fault.delay_ms !== undefined) await shop.world.settle(id, shop.worker);
    const record = await shop.settle(id);

    expect(record.status.attention).toBeNull();
    // Twice in all, the first decline included: what was lost is neither forgotten nor repeated.
    expect(await confirms(id)).toBe(2);
    if (what === 'pays') await paidOnce(id);
    else {
      expect(record.status.phase).toBe(what === 'is declined' ? 'payment_failed' : 'awaiting_customer');
      expect((await shop.control.ledger(id)).captured).toBe(0);
      // And the customer is not shut out.
      await accepted(id, 'pm_card_visa');
      await shop.settle(id);
      await paidOnce(id);
    }
  });
});

describe('a method that the provider refuses', () => {
  const UNKNOWN = 'pm_does_not_exist';

  test('at the very first try: another one is taken', async () => {
    await shop.order('unknown at once', { payment: { payment_method: UNKNOWN } });
    expect((await shop.settle('unknown at once')).status.attention?.reason).toBe('ProviderRejected');
    expect(refusal(await shop.payAgain('unknown at once'))).toEqual([409, 'command_not_available']);
    await accepted('unknown at once', 'pm_card_visa');
    await shop.settle('unknown at once');
    await paidOnce('unknown at once');
  });

  test('at the second try: another one is taken, and the refused one was never confirmed', async () => {
    await declined('unknown later');
    await accepted('unknown later', UNKNOWN);
    expect((await shop.settle('unknown later')).status.attention?.reason).toBe('ProviderRejected');
    expect(refusal(await shop.payAgain('unknown later'))).toEqual([409, 'command_not_available']);
    await accepted('unknown later', 'pm_card_visa');
    await shop.settle('unknown later');
    await paidOnce('unknown later');
    expect(await confirms('unknown later')).toBe(2);
  });
});

describe('other terms for the same spec', () => {
  const updates = async (reference: string): Promise<number> =>
    (await shop.requests(reference)).filter(({ route }) => route === 'payment_intents.update').length;

  test('what is to be taken at once is known with the customer’s next try only', async () => {
    await declined('later all', { ...DECLINES, desired: 'authorized' });
    await shop.change('later all', { desired: 'fulfilled', amount: { value: 9_000 } });
    const { status } = await shop.settle('later all');
    await accepted('later all', 'pm_card_visa');
    expect((await shop.settle('later all')).status).toMatchObject({ phase: 'fulfilled', attention: null });
    expect(await shop.control.ledger('later all')).toMatchObject({ captured: 9_000, violations: [] });
    expect(await updates(status.provider_reference ?? '')).toBeLessThanOrEqual(2);
  });

  test('the same method again, which changes no member of the spec', async () => {
    await declined('later same', { ...DECLINES, desired: 'authorized' });
    await shop.change('later same', { desired: 'fulfilled', amount: { value: 9_000 } });
    const { status } = await shop.settle('later same');
    await accepted('later same');
    expect((await shop.settle('later same')).status).toMatchObject({
      phase: 'payment_failed',
      attention: null,
    });
    expect(await confirms('later same')).toBe(2);
    expect(await updates(status.provider_reference ?? '')).toBe(2);
  });
});

describe('the customer is known only later', () => {
  const NOT_NOW = [422, 'spec_member_immutable', '/payment/customer'];
  const known = (customer: string | null) => ({ payment: { customer } });

  test('the payment becomes theirs before it is confirmed again, and nobody else’s after that', async () => {
    await declined('guest');
    expect((await shop.change('guest', known('cus_1'))).status).toBe(200);
    const { status } = await shop.settle('guest');
    expect(status).toMatchObject({ phase: 'payment_failed', attention: null });
    const reference = status.provider_reference ?? '';
    expect(await shop.intent(reference)).toMatchObject({ customer: 'cus_1' });
    expect(refusal(await shop.change('guest', known('cus_2')))).toEqual(NOT_NOW);
    expect(refusal(await shop.change('guest', known(null)))).toEqual(NOT_NOW);
    await accepted('guest', 'pm_card_visa');
    await shop.settle('guest');
    await paidOnce('guest');
    expect(await shop.intent(reference)).toMatchObject({ customer: 'cus_1', status: 'succeeded' });
    const updates = (await shop.requests(reference)).filter(
      ({ route }) => route === 'payment_intents.update',
    );
    expect(updates).toHaveLength(1);
  });

  test('a payment that is paid as a guest’s stays one', async () => {
    await shop.order('paid guest');
    await shop.settle('paid guest');
    expect(refusal(await shop.change('paid guest', known('cus_1')))).toEqual(NOT_NOW);
  });

  test.each(['effect_then_drop', 'drop_before', '500_no_effect'] as const)(
    'the answer to giving it to them is lost (%s)',
    async (kind) => {
      const id = `guest ${kind}`;
      await declined(id);
      await shop.change(id, known('cus_1'));
      const match = { operation_id: id };
      await shop.control.inject({ route: 'payment_intents.update', kind, times: 1, match });
      const { status } = await shop.settle(id);
      expect(status).toMatchObject({ phase: 'payment_failed', attention: null });
      expect(await shop.intent(status.provider_reference ?? '')).toMatchObject({ customer: 'cus_1' });
    },
  );
});
