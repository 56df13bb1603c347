/** The total changes after the payment was made: what is taken is what is wanted, and never more than was approved. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { aBody, pathOf, refusal } from '../support/api.js';
import { aShop, type Shop } from '../support/shop.js';

let shop: Shop;
beforeAll(async () => {
  shop = await aShop();
});
afterAll(() => shop.stop());

const amount = (value: number) => ({ amount: { value } });
const THREE_D_SECURE = 'pm_card_threeDSecure2Required';
const changed = async (id: string, patch: unknown): Promise<void> => {
  const answer = await shop.change(id, patch);
  expect([answer.status, answer.text.slice(0, 300)]).toEqual([200, expect.any(String)]);
};
/** Passes until a step has been taken. */
const until = async (id: string, step: string): Promise<void> => {
  const fault = await shop.control.inject({
    route: step,
    kind: 'lock_timeout',
    times: null,
    match: { operation_id: id },
  });
  await shop.pass(id);
  await shop.control.removeFault(fault.id);
};

describe('before any money is approved', () => {
  test.each([8_000, 12_000])('%i instead of 10000: the payment is updated, then confirmed', async (value) => {
    const id = `early ${value}`;
    await shop.order(id);
    await until(id, 'payment_intents.confirm');
    expect((await shop.get(id)).status.payment.state).toBe('created');
    await changed(id, amount(value));
    expect((await shop.settle(id)).status).toMatchObject({ phase: 'fulfilled', attention: null });
    expect(await shop.control.ledger(id)).toMatchObject({
      captured: value,
      effects: { creates: 1, confirms: 1 },
      violations: [],
    });
  });

  test('after a decline: what the customer then pays is the new total', async () => {
    await shop.order('declined', { payment: { payment_method: 'pm_card_chargeDeclined' } });
    await shop.settle('declined');
    await changed('declined', amount(8_000));
    const updated = await shop.settle('declined');
    expect(updated.status.phase).toBe('payment_failed');
    // The front end holds the secret and may confirm by itself, so the payment must not lag behind.
    expect((await shop.intent(updated.status.provider_reference ?? ''))['amount']).toBe(8_000);
    await shop.payAgain('declined', 'pm_card_visa');
    expect((await shop.settle('declined')).status.phase).toBe('fulfilled');
    expect((await shop.control.ledger('declined')).captured).toBe(8_000);
  });

  test.each([8_000, 12_000])(
    'while the customer has to act, %i: they are not led to approve the old total',
    async (value) => {
      const id = `asked ${value}`;
      await shop.order(id, { payment: { payment_method: THREE_D_SECURE } });
      await shop.settle(id);
      await changed(id, amount(value));
      const restarted = await shop.settle(id);
      expect(restarted.status).toMatchObject({
        phase: 'awaiting_customer',
        condition: 'AwaitingCustomer',
        payment: { state: 'created', next_action: null },
        attention: null,
      });
      await expect(shop.control.dashboard('complete_authentication', { operation_id: id })).rejects.toThrow();
      // Not confirmed anew by itself: the customer approved of another total.
      expect((await shop.control.ledger(id)).effects.confirms).toBe(1);

      expect((await shop.payAgain(id)).status).toBe(202);
      expect((await shop.settle(id)).status.phase).toBe('awaiting_customer');
      await shop.control.dashboard('complete_authentication', { operation_id: id });
      expect((await shop.settle(id)).status).toMatchObject({ phase: 'fulfilled', attention: null });
      expect(await shop.control.ledger(id)).toMatchObject({ captured: value, violations: [] });
    },
  );

  test('the customer was faster than the update: what was taken is told, and left to a person', async () => {
    await shop.order('faster', { payment: { payment_method: THREE_D_SECURE } });
    await shop.settle('faster');
    await changed('faster', amount(8_000));
    await shop.control.dashboard('complete_authentication', { operation_id: 'faster' });
    expect((await shop.settle('faster')).status).toMatchObject({
      attention: { reason: 'CapturedAbove' },
      payment: { captured: 10_000 },
    });
    expect(await shop.control.ledger('faster')).toMatchObject({ captured: 10_000, refunded: 0 });
  });

  test('only an authorization wanted while the customer has to act: what they approve is held, not taken', async () => {
    await shop.order('held', { payment: { payment_method: THREE_D_SECURE } });
    await shop.settle('held');
    await changed('held', { desired: 'authorized' });
    await shop.settle('held');
    await shop.payAgain('held');
    await shop.settle('held');
    await shop.control.dashboard('complete_authentication', { operation_id: 'held' });
    expect((await shop.settle('held')).status.phase).toBe('authorized');
    expect(await shop.control.ledger('held')).toMatchObject({ captured: 0, held: 10_000 });
  });
});

describe('after the authorization', () => {
  const held = async (
    id: string,
    spec: Record<string, unknown> = { desired: 'authorized' },
  ): Promise<void> => {
    await shop.order(id, spec);
    expect((await shop.settle(id)).status.phase).toBe('authorized');
  };

  test('80 of 100 wanted: 80 are captured, the rest is released', async () => {
    await held('less');
    await changed('less', { ...amount(8_000), desired: 'fulfilled' });
    const { status } = await shop.settle('less');
    expect(status).toMatchObject({
      phase: 'fulfilled',
      attention: null,
      payment: { captured: 8_000, short: 0 },
    });
    expect(await shop.control.ledger('less')).toMatchObject({ captured: 8_000, held: 0, refunded: 0 });
  });

  test('120 of 100 wanted: told at once, and nothing is ever captured above', async () => {
    await held('more');
    await changed('more', amount(12_000));
    expect((await shop.settle('more')).status.attention?.reason).toBe('AmountAboveAuthorization');
    await changed('more', { desired: 'fulfilled' });
    expect((await shop.settle('more')).status).toMatchObject({
      attention: { reason: 'AmountAboveAuthorization' },
      payment: { authorized: 10_000, captured: 0 },
    });
    for (let look = 0; look < 3; look += 1) await shop.pass('more');
    expect(await shop.control.journal({ operation_id: 'more', route: 'payment_intents.capture' })).toEqual(
      [],
    );
    // Back within what is approved: no command is needed.
    await changed('more', amount(9_000));
    expect((await shop.settle('more')).status).toMatchObject({ phase: 'fulfilled', attention: null });
    expect((await shop.control.ledger('more')).captured).toBe(9_000);
  });

  test('120 of 100 under capture: manual: no more than what is approved can be asked for', async () => {
    await held('manual', { payment: { capture: 'manual' } });
    await changed('manual', amount(12_000));
    await shop.settle('manual');
    const capture = (body: object) => shop.call('POST', pathOf('manual', '/capture'), { body });
    expect(refusal(await capture({}))).toEqual([422, 'amount_not_capturable']);
    expect((await capture({ amount: 10_000 })).status).toBe(202);
    expect((await shop.settle('manual')).status).toMatchObject({ phase: 'fulfilled', attention: null });
    expect((await shop.control.ledger('manual')).captured).toBe(10_000);
  });

  test('not while a capture is on its way', async () => {
    await held('crossing');
    await changed('crossing', { desired: 'fulfilled' });
    await shop.control.inject({
      route: 'payment_intents.capture',
      kind: 'delay_after',
      delay_ms: 600,
      match: { operation_id: 'crossing' },
    });
    const pass = shop.pass('crossing');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(refusal(await shop.change('crossing', amount(8_000)))).toEqual([
      422,
      'spec_member_immutable',
      '/amount/value',
    ]);
    await pass;
    expect((await shop.settle('crossing')).status).toMatchObject({ phase: 'fulfilled', attention: null });
  });
});

describe('after the money is taken', () => {
  test('the total cannot change, and the same key with another total is another order', async () => {
    await shop.order('taken');
    await shop.settle('taken');
    expect(refusal(await shop.change('taken', amount(8_000)))).toEqual([
      422,
      'spec_member_immutable',
      '/amount/value',
    ]);
    const body = aBody('taken', { amount: { value: 8_000, currency: 'EUR' } });
    expect(refusal(await shop.call('POST', '/v1/operations', { body }))).toEqual([409, 'operation_conflict']);
  });
});
