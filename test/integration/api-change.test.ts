import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { anApi, operation, pathOf, problem, refusal, type TestApi } from '../support/api.js';
import type { Call } from '../support/http.js';
import { aRefund, AUTHORIZED, CAPTURED } from '../support/orders.js';

let api: TestApi;
beforeAll(async () => {
  api = await anApi();
});
afterAll(() => api.stop());

const act = (id: string, route: string, call?: Call) => api.call('POST', pathOf(id, `/${route}`), call);
const patch = (id: string, body: unknown, headers: Record<string, string> = { 'if-match': '*' }) =>
  api.call('PATCH', pathOf(id), { body, headers });
const read = async (id: string) => operation(await api.call('GET', pathOf(id)), 200);
const eventsOf = async (id: string) =>
  (await api.call('GET', pathOf(id, '/events'))).json<{ items: { type: string; data: unknown }[] }>().items;

describe('PATCH', () => {
  test('changes the spec, raises generation and version, and tells the timeline', async () => {
    await api.create('patch-1');
    const rings = api.rings();
    const shown = operation(await patch('patch-1', { amount: { value: 8_000 } }, { 'if-match': '"1"' }), 200);
    expect(shown).toMatchObject({
      metadata: { generation: 2, resource_version: 2 },
      spec: { amount: { value: 8_000, currency: 'EUR' } },
    });
    expect(await read('patch-1')).toEqual(shown);
    expect(api.rings()).toBe(rings + 1);
    expect((await eventsOf('patch-1')).at(-1)).toMatchObject({
      type: 'spec_changed',
      actor: { kind: 'key', name: 'shop' },
      data: { members: ['amount.value'] },
    });
  });

  test('takes the media type of merge patches', async () => {
    await api.create('patch-2');
    const answer = await api.call('PATCH', pathOf('patch-2'), {
      body: JSON.stringify({ desired: 'authorized' }),
      headers: { 'if-match': '"1"', 'content-type': 'application/merge-patch+json; charset=utf-8' },
    });
    expect(operation(answer, 200).spec.desired).toBe('authorized');
  });

  test('that asks for what is wanted already writes nothing', async () => {
    const first = await api.create('patch-3');
    const rings = api.rings();
    expect(operation(await patch('patch-3', { desired: 'fulfilled' }, { 'if-match': '"1"' }), 200)).toEqual(
      first,
    );
    expect(operation(await patch('patch-3', {}), 200)).toEqual(first);
    expect(operation(await patch('patch-3', undefined), 200)).toEqual(first);
    expect(api.rings()).toBe(rings);
    expect(await eventsOf('patch-3')).toHaveLength(1);
  });

  test('needs If-Match, and the current one', async () => {
    await api.create('patch-4');
    expect(refusal(await patch('patch-4', { desired: 'authorized' }, {}))).toEqual([
      428,
      'precondition_required',
    ]);
    const stale = await patch('patch-4', { desired: 'authorized' }, { 'if-match': '"9"' });
    expect(refusal(stale)).toEqual([412, 'version_mismatch']);
    expect(stale.headers.etag).toBe('"1"');
    expect(refusal(await patch('patch-4', { desired: 'authorized' }, { 'if-match': 'W/"1"' }))).toEqual([
      412,
      'version_mismatch',
    ]);
    expect(refusal(await patch('patch-4', { desired: 'authorized' }, { 'if-match': '1' }))).toEqual([
      400,
      'invalid_request',
    ]);
    expect((await read('patch-4')).metadata.resource_version).toBe(1);
    operation(await patch('patch-4', { desired: 'authorized' }, { 'if-match': '"9", "1"' }), 200);
  });

  test('is checked as a whole, with pointers into the patch', async () => {
    await api.create('patch-5');
    expect(refusal(await patch('patch-5', { amount: { value: 1.5 }, x: 1 }))).toEqual([
      400,
      'invalid_request',
      '/amount/value',
      '/x',
    ]);
    expect(refusal(await patch('patch-5', []))).toEqual([400, 'invalid_request', '']);
    expect(refusal(await patch('patch-5', { amount: { value: 1_234, currency: 'KWD' } }))).toEqual([
      400,
      'invalid_request',
      '/amount/value',
    ]);
    expect(refusal(await patch('patch-5', { order_id: 'other' }))).toEqual([
      422,
      'spec_member_immutable',
      '/order_id',
    ]);
    expect((await read('patch-5')).metadata.resource_version).toBe(1);
  });

  test('appends refunds under the rules of refunds', async () => {
    await api.create('patch-6');
    await api.observe('patch-6', { payment: CAPTURED });
    const refunds = [{ refund_id: 'a', amount: 9_000 }];
    expect(operation(await patch('patch-6', { refunds }), 200).status.payment.refundable).toBe(1_000);
    const more = [...refunds, { refund_id: 'b', amount: 1_001 }];
    expect(refusal(await patch('patch-6', { refunds: more }))).toEqual([
      422,
      'amount_not_refundable',
      '/refunds/1',
    ]);
    expect(refusal(await patch('patch-6', { refunds: [] }))).toEqual([
      422,
      'spec_member_immutable',
      '/refunds',
    ]);
  });

  test('of the amount: before capture yes, after it no', async () => {
    await api.create('patch-7', { payment: { capture: 'manual' } });
    await api.observe('patch-7', { payment: AUTHORIZED });
    operation(await patch('patch-7', { amount: { value: 12_000 } }), 200);
    await api.observe('patch-7', { payment: CAPTURED });
    expect(refusal(await patch('patch-7', { amount: { value: 10_000 } }))).toEqual([
      422,
      'spec_member_immutable',
      '/amount/value',
    ]);
  });
});

describe('cancel', () => {
  test.each([
    ['without a body', undefined],
    ['with an empty body', { body: '', headers: { 'content-type': 'application/json' } }],
    ['with white space', { body: ' \n', headers: { 'content-type': 'application/json' } }],
    ['with {}', { body: {} }],
    ['with {} and no media type', { body: '{}' }],
    [
      'with a media type and nothing else',
      { headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    ],
    ['with a reason', { body: { reason: 'customer withdrew' } }],
  ] as [string, Call | undefined][])('%s', async (name, call) => {
    await api.create(name);
    await api.observe(name, { payment: CAPTURED });
    const shown = operation(await act(name, 'cancel', call), 202);
    expect(shown).toMatchObject({
      spec: { desired: 'cancelled' },
      status: { phase: 'cancelling', cancellation: { completed_at: null } },
    });
    expect(shown.status.cancellation?.finalizers.map((finalizer) => finalizer.name)).toContain('payment');
  });

  test('again is the same cancellation: 202 until it is done, 200 then', async () => {
    await api.create('cancel-1');
    await api.observe('cancel-1', { payment: CAPTURED });
    const first = operation(await act('cancel-1', 'cancel', { body: { reason: 'first' } }), 202);
    const rings = api.rings();
    expect(operation(await act('cancel-1', 'cancel', { body: { reason: 'second' } }), 202)).toEqual(first);
    expect(api.rings()).toBe(rings);
    const events = await eventsOf('cancel-1');
    expect(events.filter(({ type }) => type === 'cancellation_requested')).toMatchObject([
      { data: { reason: 'first' } },
    ]);
    await api.observe('cancel-1', {
      payment: CAPTURED,
      refunds: [aRefund({ refund_id: 'cancellation', source: 'cancellation', amount: 10_000 })],
    });
    const done = operation(await act('cancel-1', 'cancel'), 200);
    expect(done.status).toMatchObject({ phase: 'cancelled', cancellation: { finalizers: [] } });
    expect(done.status.cancellation?.completed_at).not.toBeNull();
  });

  test('of an order for which nothing was done is done at once', async () => {
    await api.create('cancel-2');
    expect(operation(await act('cancel-2', 'cancel'), 200).status.phase).toBe('cancelled');
  });

  test('of a rejected order makes it cancelled', async () => {
    await api.create('cancel-3', { lines: [{ sku: 'a', quantity: 1 }] });
    await api.observe('cancel-3', {
      inventory: { state: 'insufficient', refused_generation: 1, requested: false },
    });
    expect((await read('cancel-3')).status.phase).toBe('rejected');
    expect(operation(await act('cancel-3', 'cancel'), 200).status.phase).toBe('cancelled');
  });

  test('is never undone', async () => {
    await api.create('cancel-4');
    await act('cancel-4', 'cancel');
    expect(refusal(await patch('cancel-4', { desired: 'fulfilled' }))).toEqual([
      422,
      'spec_member_immutable',
      '/desired',
    ]);
    expect(refusal(await act('cancel-4', 'payment'))).toEqual([409, 'command_not_available']);
    expect(refusal(await act('cancel-4', 'capture'))).toEqual([422, 'amount_not_capturable']);
  });

  test('honours If-Match where it is sent', async () => {
    await api.create('cancel-5');
    expect(refusal(await act('cancel-5', 'cancel', { headers: { 'if-match': '"9"' } }))).toEqual([
      412,
      'version_mismatch',
    ]);
    expect((await read('cancel-5')).status.cancellation).toBeNull();
    operation(await act('cancel-5', 'cancel', { headers: { 'if-match': '"1"' } }), 200);
  });

  test.each([
    ['a reason that is no text', { reason: 1 }, '/reason'],
    ['NUL', { reason: 'a\u0000' }, '/reason'],
    ['an unknown member', { force: true }, '/force'],
    ['a list', [], ''],
  ])('with %s is refused', async (name, body, pointer) => {
    await api.create(`cancel with ${name}`);
    expect(refusal(await act(`cancel with ${name}`, 'cancel', { body }))).toEqual([
      400,
      'invalid_request',
      pointer,
    ]);
    expect((await read(`cancel with ${name}`)).status.cancellation).toBeNull();
  });
});

describe('refunds', () => {
  const refund = (id: string, refund_id: unknown, amount: unknown) =>
    act(id, 'refunds', { body: { refund_id, amount } });
  const captured = async (id: string): Promise<void> => {
    await api.create(id);
    await api.observe(id, { payment: CAPTURED });
  };

  test('are accepted once, and shown before they are sent', async () => {
    await captured('refund-1');
    const shown = operation(
      await act('refund-1', 'refunds', { body: { refund_id: 'r1', amount: 2_500, reason: 'broken' } }),
      202,
    );
    expect(shown.status.refunds).toEqual([
      {
        refund_id: 'r1',
        amount: 2_500,
        state: 'requested',
        source: 'operation',
        provider_reference: null,
        reason: 'broken',
      },
    ]);
    expect(shown.status.payment).toMatchObject({ refund_pending: 2_500, refundable: 7_500 });
    expect(operation(await refund('refund-1', 'r1', 2_500), 202)).toEqual(shown);
    expect(refusal(await refund('refund-1', 'r1', 2_501))).toEqual([409, 'refund_conflict']);
    expect(refusal(await refund('refund-1', 'r2', 7_501))).toEqual([422, 'amount_not_refundable']);
    operation(await refund('refund-1', 'r2', 7_500), 202);
    expect((await read('refund-1')).spec.refunds).toHaveLength(2);
  });

  test('sum up to the unit: three times 3.33 of 10.00, then the rest', async () => {
    await api.create('refund-2', { amount: { value: 1_000, currency: 'EUR' } });
    await api.observe('refund-2', { payment: { ...CAPTURED, amount: 1_000, captured: 1_000 } });
    for (const id of ['a', 'b', 'c']) operation(await refund('refund-2', id, 333), 202);
    expect(refusal(await refund('refund-2', 'd', 2))).toEqual([422, 'amount_not_refundable']);
    expect(operation(await refund('refund-2', 'd', 1), 202).status.payment.refundable).toBe(0);
  });

  test('before the capture are refused: the authorization is voided by cancelling', async () => {
    await api.create('refund-3');
    await api.observe('refund-3', { payment: AUTHORIZED });
    const answer = await refund('refund-3', 'r', 1);
    expect(refusal(answer)).toEqual([422, 'amount_not_refundable']);
    expect(problem(answer).retryable).toBe(false);
  });

  test('must be possible at the provider', async () => {
    await api.create('refund-4', { amount: { value: 7_350, currency: 'KWD' } });
    await api.observe('refund-4', {
      payment: { ...CAPTURED, amount: 7_350, captured: 7_350, currency: 'KWD' },
    });
    expect(refusal(await refund('refund-4', 'r', 1_234))).toEqual([400, 'invalid_request', '/amount']);
    operation(await refund('refund-4', 'r', 1_230), 202);
  });

  test.each([
    ['no id', { amount: 1 }, '/refund_id'],
    ['no amount', { refund_id: 'r' }, '/amount'],
    ['nothing', undefined, '/refund_id', '/amount'],
    ['zero', { refund_id: 'r', amount: 0 }, '/amount'],
    ['a negative amount', { refund_id: 'r', amount: -5 }, '/amount'],
    ['a fraction', { refund_id: 'r', amount: 0.5 }, '/amount'],
    ['an unsafe amount', { refund_id: 'r', amount: 2 ** 53 }, '/amount'],
    ['an id like those of cancellations', { refund_id: 'cancellation-2', amount: 1 }, '/refund_id'],
    ['an id like those of the provider', { refund_id: 're_1', amount: 1 }, '/refund_id'],
    ['an unknown member', { refund_id: 'r', amount: 1, currency: 'EUR' }, '/currency'],
  ] as [string, unknown, ...string[]][])('with %s are refused', async (name, body, ...pointers) => {
    await captured(`refund with ${name}`);
    const call = body === undefined ? undefined : { body };
    expect(refusal(await act(`refund with ${name}`, 'refunds', call))).toEqual([
      400,
      'invalid_request',
      ...pointers,
    ]);
    expect((await read(`refund with ${name}`)).spec.refunds).toEqual([]);
  });

  test('at the same time never exceed what is refundable', async () => {
    await captured('refund-5');
    const answers = await Promise.all([...Array(30).keys()].map((n) => refund('refund-5', `r${n}`, 700)));
    const accepted = answers.filter(({ status }) => status === 202);
    const refused = answers.filter(({ status }) => status === 422);
    expect(accepted).toHaveLength(14);
    expect(refused).toHaveLength(16);
    const shown = await read('refund-5');
    expect(shown.spec.refunds.reduce((sum, { amount }) => sum + amount, 0)).toBe(9_800);
    expect(shown.status.payment.refundable).toBe(200);
  });

  test('the same one at the same time is one refund', async () => {
    await captured('refund-6');
    const answers = await Promise.all([...Array(30).keys()].map(() => refund('refund-6', 'r', 7_000)));
    expect(answers.map(({ status }) => status)).toEqual(Array(30).fill(202));
    expect((await read('refund-6')).spec.refunds).toHaveLength(1);
  });
});

describe('capture', () => {
  const authorized = async (id: string, spec: Record<string, unknown> = {}): Promise<void> => {
    await api.create(id, {
      amount: { value: 9_000, currency: 'EUR' },
      ...spec,
      payment: { capture: 'manual' },
    });
    await api.observe(id, { payment: { ...AUTHORIZED, amount: 9_000, authorized: 9_000 } });
  };
  const capture = (id: string, amount?: unknown) =>
    act(id, 'capture', amount === undefined ? undefined : { body: { amount } });

  test('of a part, once: the rest is released by the provider', async () => {
    await authorized('capture-1');
    const shown = operation(await capture('capture-1', 6_500), 202);
    expect(shown).toMatchObject({
      spec: { payment: { capture_amount: 6_500 } },
      metadata: { generation: 2 },
    });
    expect(operation(await capture('capture-1', 6_500), 202)).toEqual(shown);
    expect(refusal(await capture('capture-1', 2_500))).toEqual([422, 'amount_not_capturable']);
    await api.observe('capture-1', { payment: { ...CAPTURED, amount: 9_000, captured: 6_500 } });
    expect(refusal(await capture('capture-1', 2_500))).toEqual([422, 'amount_not_capturable']);
    expect((await read('capture-1')).status.payment).toMatchObject({ captured: 6_500, short: 0 });
  });

  test('of the whole, without saying how much', async () => {
    await authorized('capture-2', { desired: 'authorized' });
    expect(operation(await capture('capture-2'), 202).spec).toMatchObject({
      desired: 'fulfilled',
      payment: { capture_amount: 9_000 },
    });
  });

  test('is refused above what is authorized, and before it is', async () => {
    await authorized('capture-3');
    expect(refusal(await capture('capture-3', 9_001))).toEqual([422, 'amount_not_capturable']);
    await api.create('capture-4', { payment: { capture: 'manual' } });
    expect(refusal(await capture('capture-4'))).toEqual([422, 'amount_not_capturable']);
    await api.create('capture-5');
    await api.observe('capture-5', { payment: { ...AUTHORIZED, capture: 'automatic' } });
    expect(refusal(await capture('capture-5'))).toEqual([422, 'amount_not_capturable']);
  });

  test.each([0, -5, 1.5, '1', null, 2 ** 53])('of %j is no amount', async (amount) => {
    await authorized(`capture of ${JSON.stringify(amount)}`);
    expect(
      refusal(await act(`capture of ${JSON.stringify(amount)}`, 'capture', { body: { amount } })),
    ).toEqual([400, 'invalid_request', '/amount']);
  });

  test('two at the same time with different amounts: one wins', async () => {
    await authorized('capture-6');
    const answers = await Promise.all([...Array(20).keys()].map((n) => capture('capture-6', 1_000 + n)));
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 422)).toHaveLength(19);
  });
});

describe('payment', () => {
  const confirmations = async (id: string): Promise<number> => {
    const [row] = await api.db.database.query<{ confirmation: number }>(
      'SELECT confirmation FROM order_operations WHERE operation_id = $1',
      [id],
    );
    return row?.confirmation ?? 0;
  };
  const FAILED = { payment: { state: 'failed' as const, answered_confirmation: 1 } };

  test('after a decline asks for one more confirmation, however often it is clicked', async () => {
    await api.create('pay-1');
    await api.observe('pay-1', FAILED);
    expect((await read('pay-1')).status.phase).toBe('payment_failed');
    const shown = operation(await act('pay-1', 'payment'), 202);
    expect(shown).toMatchObject({
      metadata: { generation: 1, resource_version: 3 },
      status: { phase: 'payment_pending' },
    });
    expect(operation(await act('pay-1', 'payment', { body: {} }), 202)).toEqual(shown);
    const clicks = await Promise.all([...Array(10).keys()].map(() => act('pay-1', 'payment')));
    expect(clicks.map(({ status }) => status)).toEqual(Array(10).fill(202));
    expect(await confirmations('pay-1')).toBe(2);
  });

  test('with another method changes the spec', async () => {
    await api.create('pay-2');
    await api.observe('pay-2', FAILED);
    const shown = operation(await act('pay-2', 'payment', { body: { payment_method: 'pm_other' } }), 202);
    expect(shown).toMatchObject({
      metadata: { generation: 2 },
      spec: { payment: { payment_method: 'pm_other' } },
    });
    expect(refusal(await act('pay-2', 'payment', { body: { payment_method: 'pm_third' } }))).toEqual([
      409,
      'payment_alive',
    ]);
  });

  test('is possible while the customer has to act', async () => {
    await api.create('pay-3');
    await api.observe('pay-3', { payment: { state: 'awaiting_customer', answered_confirmation: 1 } });
    operation(await act('pay-3', 'payment', { body: { payment_method: 'pm_other' } }), 202);
    expect(await confirmations('pay-3')).toBe(2);
  });

  test.each(['none', 'created', 'processing', 'authorized', 'captured', 'unknown'] as const)(
    'while the payment is %s is refused',
    async (state) => {
      await api.create(`pay while ${state}`);
      await api.observe(`pay while ${state}`, { payment: { state } });
      expect(refusal(await act(`pay while ${state}`, 'payment'))).toEqual([409, 'payment_alive']);
      expect(await confirmations(`pay while ${state}`)).toBe(1);
    },
  );

  test.each([[{ payment_method: null }], [{ payment_method: 'pm x' }], [{ payment_method: 1 }]])(
    '%j is refused',
    async (body) => {
      await api.create(`pay ${JSON.stringify(body)}`);
      await api.observe(`pay ${JSON.stringify(body)}`, FAILED);
      expect(refusal(await act(`pay ${JSON.stringify(body)}`, 'payment', { body }))).toEqual([
        400,
        'invalid_request',
        '/payment_method',
      ]);
    },
  );
});

describe('an operation that does not exist', () => {
  test.each([
    ['GET', ''],
    ['GET', '/events'],
    ['GET', '/attempts'],
    ['PATCH', ''],
    ['POST', '/cancel'],
    ['POST', '/refunds'],
    ['POST', '/capture'],
    ['POST', '/payment'],
  ])('%s %s', async (method, rest) => {
    const body = rest === '/refunds' ? { refund_id: 'r', amount: 1 } : {};
    const call = method === 'GET' ? {} : { body, headers: { 'if-match': '*' } };
    for (const id of ['missing', 'x'.repeat(129), 'x'.repeat(4_000), '\u0001', '..']) {
      expect(refusal(await api.call(method, pathOf(id, rest), call))).toEqual([404, 'not_found']);
    }
  });
});
