import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { OperationOut } from '../../src/api/schemas/operation.js';
import { anApi, pathOf, problem, refusal, type TestApi } from '../support/api.js';
import type { Answer } from '../support/http.js';
import { aShop, HOUR, type Shop } from '../support/shop.js';

/** Of the payment in the sandbox, whatever the service says. */
const secretOf = async (shop: Shop, operationId: string): Promise<string> => {
  const { status } = await shop.get(operationId);
  return String((await shop.intent(status.provider_reference ?? ''))['client_secret']);
};
const THREE_D_SECURE = { payment_method: 'pm_card_threeDSecure2Required' };

describe('GET …/client_secret', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await aShop();
  });
  afterAll(() => shop.stop());

  const shown = (answer: Answer): unknown => {
    expect(answer.status).toBe(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    return answer.json();
  };

  test('while the customer has to act: the secret that the provider has', async () => {
    await shop.order('acts', { payment: THREE_D_SECURE });
    expect((await shop.settle('acts')).status.phase).toBe('awaiting_customer');
    expect(shown(await shop.secret('acts'))).toEqual({ client_secret: await secretOf(shop, 'acts') });
  });

  test('after a decline: the front end may try again by itself', async () => {
    await shop.order('declined', { payment: { payment_method: 'pm_card_chargeDeclined' } });
    await shop.settle('declined');
    expect(shown(await shop.secret('declined'))).toEqual({ client_secret: await secretOf(shop, 'declined') });
  });

  test('of a payment that the front end made, once it is adopted', async () => {
    const { id, client_secret } = await shop.checkout();
    await shop.adopt('adopted', id);
    expect(refusal(await shop.secret('adopted'))).toEqual([409, 'command_not_available']);
    await shop.settle('adopted');
    expect(shown(await shop.secret('adopted'))).toEqual({ client_secret });
  });

  test('it is judged by the provider at that moment, not by what was recorded', async () => {
    await shop.order('acted', { payment: THREE_D_SECURE });
    await shop.settle('acted');
    await shop.control.dashboard('complete_authentication', { operation_id: 'acted' });
    expect((await shop.get('acted')).status.phase).toBe('awaiting_customer');
    const answer = await shop.secret('acted');
    expect(refusal(answer)).toEqual([409, 'command_not_available']);
    expect(problem(answer).detail).toContain('captured');
  });

  test.each<[string, (id: string) => Promise<unknown>]>([
    ['before there is a payment', () => Promise.resolve()],
    ['once it is paid', (id) => shop.settle(id)],
    [
      'while cancelling',
      async (id) => {
        await shop.settle(id);
        await shop.cancel(id);
      },
    ],
    [
      'in process',
      async (id) => {
        await shop.change(id, { payment: { payment_method: 'pm_sepaDebit' } });
        await shop.settle(id);
      },
    ],
    [
      'of a payment that is marked as another order’s',
      async (id) => {
        await shop.change(id, { payment: THREE_D_SECURE });
        const { status } = await shop.settle(id);
        await fetch(`${shop.world.sandbox.url}/v1/payment_intents/${status.provider_reference}`, {
          method: 'POST',
          headers: { authorization: 'Bearer sk_test_world' },
          body: new URLSearchParams({ 'metadata[operation_id]': 'another' }),
        });
      },
    ],
  ])('409 %s', async (name, come) => {
    const id = `409 ${name}`;
    await shop.order(id);
    await come(id);
    expect(refusal(await shop.secret(id))).toEqual([409, 'command_not_available']);
  });

  test('409 once the deadline has passed, also before a pass has seen it', async () => {
    await shop.order('late', { payment: THREE_D_SECURE });
    await shop.settle('late');
    await shop.later(25 * HOUR);
    expect(refusal(await shop.secret('late'))).toEqual([409, 'command_not_available']);
  });

  test('404 for no such operation, 403 for other scopes, 400 for parameters', async () => {
    expect(refusal(await shop.secret('nobody'))).toEqual([404, 'not_found']);
    expect(refusal(await shop.asSupport('GET', pathOf('acts', '/client_secret')))).toEqual([
      403,
      'scope_missing',
    ]);
    expect(refusal(await shop.call('GET', pathOf('acts', '/client_secret?x=1')))).toEqual([
      400,
      'invalid_request',
      '?x',
    ]);
  });

  test.each([
    '503_html',
    '401_message',
    'drop_before',
    'empty_object',
    'html_200',
    'hang',
    'unknown_status',
  ] as const)('no secret while the provider answers %s', async (kind) => {
    await shop.order(kind, { payment: THREE_D_SECURE });
    await shop.settle(kind);
    await shop.control.inject({ route: 'payment_intents.retrieve', kind, times: null });
    const answer = await shop.secret(kind);
    await shop.control.clearFaults();
    expect(refusal(answer)).toEqual(
      kind === 'unknown_status' ? [409, 'command_not_available'] : [503, 'unavailable'],
    );
    expect(answer.text).not.toContain('_secret_');
  });
});

describe('the secret', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await aShop();
  });
  afterAll(() => shop.stop());

  /** Every row of every table, as text. */
  const everyRow = async (): Promise<string> => {
    const { database } = shop.world.db;
    const tables = await database.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE relkind = 'r' AND nspname = 'public'`,
    );
    expect(tables.map(({ name }) => name)).toContain('operation_attempts');
    const texts = await Promise.all(
      tables.map(async ({ name }) => {
        const rows = await database.query<{ row: string }>(`SELECT t::text AS row FROM "${name}" t`);
        return rows.map(({ row }) => row).join('\n');
      }),
    );
    return texts.join('\n');
  };

  test('is in no row, no line of the log and no answer but its own', async () => {
    const kinds = {
      sdk: { payment: THREE_D_SECURE },
      paid: {},
      declined: { payment: { payment_method: 'pm_card_chargeDeclined' } },
      held: { desired: 'authorized' },
      refused: { payment: { payment_method: 'pm_does_not_exist' } },
    };
    const secrets: string[] = [];
    for (const [id, spec] of Object.entries(kinds)) {
      await shop.order(id, spec);
      await shop.settle(id);
      const { status } = await shop.get(id);
      if (status.provider_reference !== null) secrets.push(await secretOf(shop, id));
      await shop.secret(id);
    }
    // An error that carries the payment: the provider refuses to cancel what has succeeded.
    await shop.control.inject({ route: 'payment_intents.retrieve', kind: '503_html', times: 1 });
    await shop.secret('sdk');
    const { id, client_secret } = await shop.checkout({ payment_method: 'pm_card_threeDSecure2Required' });
    secrets.push(String(client_secret));
    await shop.adopt('adopted', id);
    await shop.settle('adopted');
    await shop.later(25 * HOUR);
    await shop.settle('adopted');

    expect(secrets.length).toBeGreaterThan(4);
    const rows = await everyRow();
    const answers = await Promise.all(
      Object.keys(kinds).flatMap((key) =>
        ['', '/events', '/attempts'].map(async (rest) => (await shop.call('GET', pathOf(key, rest))).text),
      ),
    );
    const plan = (await shop.asSupport('GET', pathOf('held', '/plan'))).text;
    for (const text of [rows, shop.logged.join('\n'), ...answers, plan]) {
      expect(secrets.filter((secret) => text.includes(secret.split('_secret_')[1] ?? secret))).toEqual([]);
    }
  });

  test('inside the page that the customer is sent to, it is where the page is told and nowhere else', async () => {
    const return_url = 'https://shop.example/thanks';
    await shop.order('page', { payment: { ...THREE_D_SECURE, return_url } });
    const { status } = await shop.settle('page');
    const secret = (await secretOf(shop, 'page')).split('_secret_')[1] ?? '';
    expect(status.payment.next_action).toMatchObject({ type: 'redirect_to_url' });
    // As live: the page finds its payment by the secret in its address.
    expect(status.payment.next_action?.redirect_url).toContain(secret);

    const journal = await shop.world.store.attempts('page');
    expect(journal.map(({ step }) => step)).toContain('confirm_payment');
    expect(JSON.stringify(journal)).not.toContain(secret);
    expect(JSON.stringify(await shop.world.store.events('page'))).not.toContain(secret);
    expect(shop.logged.join('\n')).not.toContain(secret);
    const plan = await shop.asSupport('GET', pathOf('page', '/plan'));
    expect(plan.json()).toMatchObject({ observed: { payment: { value: { state: 'awaiting_customer' } } } });
    expect(plan.text).not.toContain(secret);

    await shop.control.dashboard('complete_authentication', { operation_id: 'page' });
    expect((await shop.settle('page')).status).toMatchObject({
      phase: 'fulfilled',
      payment: { next_action: null },
    });
    expect(await everyRow()).not.toContain(secret);
  });
});

describe('the route over a reader that fails', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await anApi({ clientSecrets: { read: () => Promise.reject(new Error('pi_1_secret_abc')) } });
  });
  afterAll(() => api.stop());

  test('tells nothing of why', async () => {
    await api.create('fails');
    const answer = await api.call('GET', pathOf('fails', '/client_secret'));
    expect(refusal(answer)).toEqual([500, 'internal']);
    expect(answer.text).not.toContain('secret_abc');
  });

  test('the secret is no part of an operation', () => {
    expect(JSON.stringify(OperationOut.shape)).not.toContain('client_secret');
  });
});
