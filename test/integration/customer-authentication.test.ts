/** 3-D Secure and other actions of the customer: completed, failed, abandoned, and at the moment of expiry. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Accounts } from '../../src/reconciler/accounts.js';
import { stripeClient } from '../../src/payment/stripe/client.js';
import { StripeProvider } from '../../src/payment/stripe/stripe-provider.js';
import { AccountStore } from '../../src/store/account-store.js';
import type { PaymentCall } from '../../src/payment/port.js';
import { pathOf, refusal } from '../support/api.js';
import { TEST_TIMEOUT_MS } from '../support/world.js';
import { aShop, HOUR, type Shop } from '../support/shop.js';

let shop: Shop;
beforeAll(async () => {
  shop = await aShop();
});
afterAll(() => shop.stop());
beforeEach(() => shop.control.clearFaults());

const THREE_D_SECURE = { payment: { payment_method: 'pm_card_threeDSecure2Required' } };
const LATE = 25 * HOUR;

const asked = async (id: string, spec: Record<string, unknown> = THREE_D_SECURE): Promise<void> => {
  await shop.order(id, spec);
  expect((await shop.settle(id)).status.phase).toBe('awaiting_customer');
};
const act = (
  action: 'complete_authentication' | 'fail_authentication' | 'settle_payment' | 'fail_payment',
  operation_id: string,
) => shop.control.dashboard(action, { operation_id });
const routes = async (id: string): Promise<string[]> =>
  (await shop.control.journal({ operation_id: id, method: 'POST' })).map(({ route }) => route);
/** Position of the last request of a route in the journal. */
const place = async (id: string, route: string): Promise<number> =>
  (await shop.control.journal({ operation_id: id })).findLast((line) => line.route === route)?.sequence ?? -1;

describe('what the customer must do', () => {
  test('is told, with the stock held and no money moved; nothing is captured meanwhile', async () => {
    await asked('told', { ...THREE_D_SECURE, payment: { ...THREE_D_SECURE.payment, capture: 'manual' } });
    for (let look = 0; look < 3; look += 1) await shop.pass('told');
    expect((await shop.get('told')).status).toMatchObject({
      condition: 'AwaitingCustomer',
      payment: { state: 'awaiting_customer', next_action: { type: 'use_stripe_sdk', redirect_url: null } },
      inventory: { state: 'reserved' },
      money_moved: { verdict: 'none' },
      attention: null,
    });
    expect(await routes('told')).not.toContain('payment_intents.capture');
    expect(refusal(await shop.call('POST', pathOf('told', '/capture')))).toEqual([
      422,
      'amount_not_capturable',
    ]);
  });

  test('the page of the bank, where the order says where the customer comes back to', async () => {
    const return_url = 'https://shop.example/thanks?order=1';
    await asked('page', { payment: { payment_method: 'pm_ideal', return_url } });
    const { next_action } = (await shop.get('page')).status.payment;
    expect(next_action).toMatchObject({
      type: 'redirect_to_url',
      redirect_url: expect.stringMatching(/^https:/),
    });
    const { status } = await shop.get('page');
    const intent = await shop.intent(status.provider_reference ?? '');
    expect(intent['next_action']).toMatchObject({ redirect_to_url: { return_url } });
    await act('complete_authentication', 'page');
    expect((await shop.settle('page')).status.phase).toBe('fulfilled');
  });

  test('without a return_url no method that redirects is let in', async () => {
    await shop.order('nowhere', { payment: { payment_method: 'pm_ideal' } });
    const { status } = await shop.settle('nowhere');
    expect(status).toMatchObject({
      attention: { reason: 'ProviderRejected' },
      money_moved: { verdict: 'none' },
    });
    const intent = await shop.intent(status.provider_reference ?? '');
    expect(intent['automatic_payment_methods']).toEqual({ enabled: true, allow_redirects: 'never' });
  });

  test('a strict server that refuses automatic_payment_methods is not sent them, when so configured', async () => {
    const client = stripeClient({
      secret: 'sk_test_world',
      base: new URL(shop.world.sandbox.url),
      timeout_ms: 1_000,
    });
    const accounts = new Accounts({
      store: new AccountStore(shop.world.db.database),
      providers: new Map([['default', new StripeProvider(client, { automatic_methods: false })]]),
      ceiling: 1_000,
      patience_ms: TEST_TIMEOUT_MS / 2,
      log: shop.worker.log,
    });
    await shop.control.settings({
      refused_parameters: ['automatic_payment_methods'],
      redirect_methods: false,
    });
    await shop.order('strict', THREE_D_SECURE);
    await shop.world.run(shop.world.worker({ clock: shop.clock, accounts }), 1);
    await shop.control.settings({ refused_parameters: [], redirect_methods: true });
    expect((await shop.get('strict')).status.phase).toBe('awaiting_customer');
    const attempts = await shop.world.store.attempts('strict');
    expect(attempts.find(({ step }) => step === 'create_payment')?.parameters).not.toHaveProperty(
      'automatic_payment_methods',
    );
  });

  test('off_session: nobody is there to act, so it is a decline; the way back is the front end’s', async () => {
    await shop.order('away', {
      payment: { payment_method: 'pm_card_authenticationRequired', off_session: true },
    });
    const { status } = await shop.settle('away');
    expect(status).toMatchObject({ phase: 'payment_failed', condition: 'PaymentDeclined', attention: null });
    expect((await shop.secret('away')).status).toBe(200);
    const payment_intent = status.provider_reference;
    await shop.control.dashboard('confirm', {
      payment_intent,
      payment_method: 'pm_card_authenticationRequired',
    });
    expect((await shop.settle('away')).status.phase).toBe('awaiting_customer');
    await act('complete_authentication', 'away');
    expect((await shop.settle('away')).status.phase).toBe('fulfilled');
    expect(await shop.control.ledger('away')).toMatchObject({ captured: 10_000, violations: [] });
  });
});

describe('the customer acts', () => {
  test('completed: the order goes on, once', async () => {
    await asked('done');
    await act('complete_authentication', 'done');
    expect((await shop.settle('done')).status).toMatchObject({ phase: 'fulfilled', attention: null });
    expect(await shop.control.ledger('done')).toMatchObject({
      captured: 10_000,
      effects: { confirms: 1 },
      violations: [],
    });
  });

  test('completed under capture: manual: held, and captured when asked', async () => {
    await asked('held', { payment: { ...THREE_D_SECURE.payment, capture: 'manual' } });
    await act('complete_authentication', 'held');
    expect((await shop.settle('held')).status.phase).toBe('authorized');
    expect((await shop.call('POST', pathOf('held', '/capture'))).status).toBe(202);
    expect((await shop.settle('held')).status.phase).toBe('fulfilled');
  });

  test.each([
    ['failed', THREE_D_SECURE, 'fail_authentication'],
    [
      'declined by the bank behind it',
      { payment: { payment_method: 'pm_card_threeDSecureRequiredChargeDeclined' } },
      'complete_authentication',
    ],
  ] as const)('%s: a decline, which is not tried again by itself', async (id, spec, how) => {
    await asked(id, spec);
    await act(how, id);
    expect((await shop.settle(id)).status).toMatchObject({
      phase: 'payment_failed',
      condition: 'PaymentDeclined',
      inventory: { state: 'reserved' },
      attention: null,
    });
    expect((await shop.control.ledger(id)).effects.confirms).toBe(1);
    expect((await shop.payAgain(id, 'pm_card_visa')).status).toBe(202);
    expect((await shop.settle(id)).status.phase).toBe('fulfilled');
  });
});

describe('abandoned until the deadline', () => {
  test('the payment is canceled before the stock is released, and the order rejected', async () => {
    const before = await shop.control.stock('tea');
    await asked('left');
    await shop.later(LATE);
    expect((await shop.settle('left')).status).toMatchObject({
      phase: 'rejected',
      condition: 'PaymentDeadlinePassed',
      payment: { state: 'canceled', next_action: null },
      inventory: { state: 'released' },
      attention: null,
    });
    expect(await place('left', 'payment_intents.cancel')).toBeGreaterThan(0);
    expect(await place('left', 'payment_intents.cancel')).toBeLessThan(
      await place('left', 'reservations.delete'),
    );
    expect(await shop.control.stock('tea')).toBe(before);
    expect((await shop.control.ledger('left')).stock).toMatchObject({ released: 1 });
  });

  test('the deadline of the order itself is kept to', async () => {
    const payment_deadline = new Date(shop.clock.now().getTime() + HOUR).toISOString();
    await asked('own', { ...THREE_D_SECURE, payment_deadline });
    const waiting = await shop.get('own');
    // The next look is at the deadline, or before it.
    expect(Date.parse(waiting.status.next_attempt_at ?? '') - Date.now()).toBeLessThan(HOUR);
    await shop.later(HOUR + 1);
    expect((await shop.settle('own')).status.phase).toBe('rejected');
  });

  test('the stock is kept while the provider does not answer to the cancellation', async () => {
    await asked('mute');
    await shop.later(LATE);
    await shop.control.inject({ route: 'payment_intents.cancel', kind: 'drop_before', times: 4 });
    await shop.pass('mute');
    await shop.pass('mute');
    expect((await shop.control.ledger('mute')).stock.state).toBe('reserved');
    await shop.control.clearFaults();
    expect((await shop.settle('mute')).status.phase).toBe('rejected');
    expect((await shop.control.ledger('mute')).stock).toMatchObject({ released: 1 });
  });

  test('an order that nobody could read at its deadline is not given up', async () => {
    await asked('unread');
    await shop.later(LATE);
    await shop.control.inject({ route: 'payment_intents.retrieve', kind: '503_html', times: null });
    await shop.pass('unread');
    expect(await routes('unread')).not.toContain('payment_intents.cancel');
    await act('complete_authentication', 'unread');
    await shop.control.clearFaults();
    expect((await shop.settle('unread')).status.phase).toBe('fulfilled');
  });

  test('paid, and all news of it lost: the deadline reads first, and the order goes on', async () => {
    await asked('unheard');
    await act('complete_authentication', 'unheard');
    await shop.later(LATE);
    expect((await shop.settle('unheard')).status.phase).toBe('fulfilled');
    expect(await routes('unheard')).not.toContain('payment_intents.cancel');
  });

  test('a customer who is declined after the deadline cannot try again', async () => {
    await asked('too late');
    await act('fail_authentication', 'too late');
    await shop.later(LATE);
    expect(refusal(await shop.payAgain('too late', 'pm_card_visa'))).toEqual([409, 'command_not_available']);
    expect((await shop.settle('too late')).status.phase).toBe('rejected');
  });
});

describe('the customer confirms at the very moment of expiry', () => {
  /** A worker between whose reading and whose cancellation something happens at the provider. */
  const overtaken = (id: string, happens: () => Promise<unknown>) => {
    const client = stripeClient({
      secret: 'sk_test_world',
      base: new URL(shop.world.sandbox.url),
      timeout_ms: 1_000,
    });
    class Overtaken extends StripeProvider {
      override async apply(call: PaymentCall): ReturnType<StripeProvider['apply']> {
        if (call.step === 'cancel_payment') await happens();
        return super.apply(call);
      }
    }
    const accounts = new Accounts({
      store: new AccountStore(shop.world.db.database),
      providers: new Map([['default', new Overtaken(client)]]),
      ceiling: 1_000,
      patience_ms: TEST_TIMEOUT_MS / 2,
      log: shop.worker.log,
    });
    return shop.world.worker({ clock: shop.clock, accounts, worker: `overtaken by ${id}` });
  };
  const expire = async (id: string, happens: () => Promise<unknown>): Promise<void> => {
    await shop.later(LATE);
    await shop.world.hurry(id);
    await shop.world.run(overtaken(id, happens), 1);
    expect(await routes(id)).toContain('payment_intents.cancel');
  };

  test.each([
    ['as usual', undefined],
    [
      'with an error that shows nothing',
      { status: 400, body: { error: { type: 'invalid_request_error', message: 'No.' } } },
    ],
  ])('cancelling is refused since it succeeded: the order is paid and goes on (%s)', async (how, answer) => {
    const id = `moment ${how}`;
    await asked(id);
    if (answer !== undefined) {
      await shop.control.inject({
        route: 'payment_intents.cancel',
        kind: 'answer',
        match: { operation_id: id },
        ...answer,
      });
    }
    await expire(id, () => act('complete_authentication', id));
    expect((await shop.control.ledger(id)).stock.state).toBe('reserved');
    expect((await shop.settle(id)).status).toMatchObject({ phase: 'fulfilled', attention: null });
    expect(await shop.control.ledger(id)).toMatchObject({
      captured: 10_000,
      refunded: 0,
      violations: [],
      stock: { committed: 1, released: 0 },
    });
  });

  test('a debit that was begun at that moment is waited for, and the stock is kept', async () => {
    await asked('debit');
    const { status } = await shop.get('debit');
    const confirm = { payment_intent: status.provider_reference, payment_method: 'pm_sepaDebit' };
    await expire('debit', () => shop.control.dashboard('confirm', confirm));
    expect((await shop.settle('debit')).status).toMatchObject({
      phase: 'payment_pending',
      condition: 'PaymentProcessing',
      inventory: { state: 'reserved' },
    });
    await act('settle_payment', 'debit');
    expect((await shop.settle('debit')).status.phase).toBe('fulfilled');
  });

  test('held at that moment: the hold is given back before the stock, and no money is taken', async () => {
    await asked('hold', { payment: { ...THREE_D_SECURE.payment, capture: 'manual' } });
    await expire('hold', () => act('complete_authentication', 'hold'));
    expect((await shop.settle('hold')).status).toMatchObject({ phase: 'rejected', attention: null });
    expect(await shop.control.ledger('hold')).toMatchObject({ captured: 0, held: 0 });
  });

  test('cancelled outside at that moment: rejected all the same', async () => {
    await asked('elsewhere');
    await expire('elsewhere', () => shop.control.dashboard('cancel', { operation_id: 'elsewhere' }));
    expect((await shop.settle('elsewhere')).status).toMatchObject({ phase: 'rejected', attention: null });
    expect((await shop.control.ledger('elsewhere')).stock).toMatchObject({ released: 1 });
  });
});

describe('cancelled by the shop while the customer has to act', () => {
  test('the payment is canceled, then the stock is released; the customer comes too late', async () => {
    await asked('withdrawn');
    await shop.cancel('withdrawn');
    expect((await shop.settle('withdrawn')).status.phase).toBe('cancelled');
    await expect(act('complete_authentication', 'withdrawn')).rejects.toThrow();
    expect(await place('withdrawn', 'payment_intents.cancel')).toBeLessThan(
      await place('withdrawn', 'reservations.delete'),
    );
  });

  test('canceled at the provider already, by somebody else: 0 or 1 refused requests, and it is done', async () => {
    await asked('twice');
    await shop.control.dashboard('cancel', { operation_id: 'twice' });
    await shop.cancel('twice');
    expect((await shop.settle('twice')).status.phase).toBe('cancelled');
    const refused = (await shop.control.journal({ operation_id: 'twice', method: 'POST' })).filter(
      ({ status }) => status !== null && status >= 400,
    );
    expect(refused.length).toBeLessThanOrEqual(1);
    expect((await shop.control.ledger('twice')).stock).toMatchObject({ released: 1 });
  });
});
