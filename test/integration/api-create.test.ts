import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { aBody, anApi, operation, pathOf, problem, refusal, type TestApi } from '../support/api.js';
import { CAPTURED } from '../support/orders.js';

let api: TestApi;
beforeAll(async () => {
  api = await anApi();
});
afterAll(() => api.stop());

const post = (body: unknown, headers: Record<string, string> = {}) =>
  api.call('POST', '/v1/operations', { body, headers });

describe('a new operation', () => {
  test('is stored with its defaults, its first event, and rings the bell', async () => {
    const rings = api.rings();
    const answer = await post({
      ...aBody('new-1', { lines: [{ sku: 'tea', quantity: 2 }] }),
      labels: { shop: 'ä 1' },
    });
    const shown = operation(answer, 201);
    expect(answer.headers.location).toBe('/v1/operations/new-1');
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(shown).toMatchObject({
      operation_id: 'new-1',
      metadata: {
        account: 'default',
        generation: 1,
        resource_version: 1,
        requested_by: 'shop',
        labels: { shop: 'ä 1' },
      },
      spec: { desired: 'fulfilled', payment: { capture: 'automatic', reference: null }, refunds: [] },
      status: { phase: 'accepted', condition: 'Accepted', cancellation: null },
    });
    expect(operation(await api.call('GET', pathOf('new-1')), 200)).toEqual(shown);
    const { items } = (await api.call('GET', pathOf('new-1', '/events'))).json<{ items: unknown[] }>();
    expect(items).toMatchObject([{ type: 'operation_created', actor: { kind: 'key', name: 'shop' } }]);
    expect(api.rings()).toBe(rings + 1);
  });

  test('may be wanted cancelled from the start', async () => {
    const shown = operation(await post(aBody('born-cancelled', { desired: 'cancelled' })), 201);
    expect(shown.spec.desired).toBe('cancelled');
    expect(shown.status.cancellation).not.toBeNull();
    expect(operation(await api.call('POST', pathOf('born-cancelled', '/cancel')), 200).status.phase).toBe(
      'cancelled',
    );
  });

  test('amounts above 2^31 and the largest safe integer come back as numbers', async () => {
    const amount = { value: Number.MAX_SAFE_INTEGER, currency: 'EUR' };
    const shown = operation(await post(aBody('large', { amount })), 201);
    expect(shown.spec.amount).toEqual(amount);
    expect(operation(await api.call('GET', pathOf('large')), 200).spec.amount).toEqual(amount);
  });

  test('a deadline with an offset is the same moment in UTC', async () => {
    const shown = operation(
      await post(aBody('zone', { payment_deadline: '2031-01-01T00:30:00+09:00' })),
      201,
    );
    expect(shown.spec.payment_deadline).toBe('2030-12-31T15:30:00.000Z');
  });
});

describe('the same request again', () => {
  test('is answered with the operation as it is now, whatever the order of members', async () => {
    const body = aBody('again', { lines: [{ sku: 'a', quantity: 1 }] });
    operation(await post(body), 201);
    const { operation_id, spec } = body as { operation_id: string; spec: Record<string, unknown> };
    const shuffled = { spec: Object.fromEntries(Object.entries(spec).reverse()), operation_id };
    const answer = await post(shuffled);
    operation(answer, 200);
    expect(answer.headers.location).toBe('/v1/operations/again');
    // Defaults may be written out, labels may differ.
    operation(
      await post({ ...shuffled, labels: { x: 'y' }, spec: { ...spec, desired: 'fulfilled', refunds: [] } }),
      200,
    );
  });

  test('stays the same after edits, and never reopens a cancelled order', async () => {
    const body = aBody('edited');
    operation(await post(body), 201);
    operation(
      await api.call('PATCH', pathOf('edited'), {
        body: { amount: { value: 9_000 } },
        headers: { 'if-match': '*' },
      }),
      200,
    );
    expect(operation(await post(body), 200).spec.amount.value).toBe(9_000);
    expect(refusal(await post(aBody('edited', { amount: { value: 9_000, currency: 'EUR' } })))).toEqual([
      409,
      'operation_conflict',
    ]);
    await api.call('POST', pathOf('edited', '/cancel'));
    expect(operation(await post(body), 200).spec.desired).toBe('cancelled');
  });

  test.each([
    ['amount', { amount: { value: 10_001, currency: 'EUR' } }],
    ['currency', { amount: { value: 10_000, currency: 'USD' } }],
    ['method', { payment: { payment_method: 'pm_other' } }],
    ['lines', { lines: [{ sku: 'x', quantity: 1 }] }],
  ])('with another %s is a conflict and changes nothing', async (name, spec) => {
    const body = aBody(`conflict-${name}`);
    const first = operation(await post(body), 201);
    expect(
      refusal(await post(aBody(`conflict-${name}`, { order_id: `order of conflict-${name}`, ...spec }))),
    ).toEqual([409, 'operation_conflict']);
    expect(operation(await api.call('GET', pathOf(`conflict-${name}`)), 200)).toEqual(first);
  });

  test('for another account is a conflict', async () => {
    operation(await post(aBody('account')), 201);
    expect(refusal(await post({ ...aBody('account'), account: 'second' }))).toEqual([
      409,
      'operation_conflict',
    ]);
  });

  test('the order of another operation is a conflict, in the same account only', async () => {
    operation(await post(aBody('one', { order_id: 'shared' })), 201);
    const answer = await post(aBody('two', { order_id: 'shared' }));
    expect(refusal(answer)).toEqual([409, 'operation_conflict']);
    expect(problem(answer).detail).toContain('"one"');
    operation(await post({ ...aBody('two', { order_id: 'shared' }), account: 'second' }), 201);
  });

  test('fifty at once make one operation; all are told of it', async () => {
    const before = await api.rows('operation_events');
    const answers = await Promise.all(Array.from({ length: 50 }, () => post(aBody('parallel'))));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(49);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await api.rows('operation_events')).toBe(before + 1);
  });

  test('of fifty different ones at once, one wins and the others are conflicts', async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        post(aBody('rivals', { amount: { value: 1_000 + n, currency: 'EUR' } })),
      ),
    );
    const won = answers.filter(({ status }) => status === 201);
    expect(won).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(49);
    const value = operation(await api.call('GET', pathOf('rivals')), 200).spec.amount.value;
    expect(won[0]?.json<{ spec: { amount: { value: number } } }>().spec.amount.value).toBe(value);
  });
});

describe('ids', () => {
  const ids = [
    'shop:1:order:7',
    'a:b',
    'a-b',
    '12345',
    '0',
    'order/ä 7',
    'a/../b',
    '%2F',
    '100%',
    'a+b',
    'a b',
    ' a',
    '?x=1#y',
    'semi;colon',
    '"quoted"',
    '...',
    'é',
    'e\u0301',
    '注文-😀',
    '\u{1F468}\u200D\u{1F469}',
    'x'.repeat(128),
    '😀'.repeat(128),
    'constructor',
    '*',
    ':operation_id',
  ];
  test.each(ids)('%j survives the address, and is no other id', async (id) => {
    const answer = await post(aBody(id, { order_id: `o-${Buffer.from(id).toString('hex').slice(0, 100)}` }));
    const shown = operation(answer, 201);
    expect(shown.operation_id).toBe(id);
    expect(operation(await api.call('GET', answer.headers.location ?? ''), 200)).toEqual(shown);
    expect((await api.call('POST', pathOf(id, '/cancel'))).status).toBeLessThan(300);
    const events = (await api.call('GET', pathOf(id, '/events'))).json<{ items: unknown[] }>();
    expect(events.items).toHaveLength(3);
  });

  test.each([
    ['too long', 'x'.repeat(129)],
    ['too long in code points', '😀'.repeat(129)],
    ['empty', ''],
    ['a dot', '.'],
    ['two dots', '..'],
    ['NUL', 'a\u0000b'],
    ['a line break', 'a\nb'],
    ['a line separator', 'a\u2028b'],
    ['a C1 control', 'a\u0085b'],
    ['a lone surrogate', 'a\ud800'],
    ['a number', 7],
    ['null', null],
    ['a list', ['a']],
  ])('%s is refused', async (_name, id) => {
    const answer = await post({ ...aBody('x'), operation_id: id });
    expect(refusal(answer)).toEqual([400, 'invalid_request', '/operation_id']);
  });
});

describe('bad input stores nothing', () => {
  let before: number;
  beforeEach(async () => {
    before = await api.rows('order_operations');
  });

  const spec = (changes: Record<string, unknown>) => aBody('bad', changes);
  const without = (member: string) => {
    const body = aBody('bad') as { spec: Record<string, unknown> };
    return {
      ...body,
      spec: Object.fromEntries(Object.entries(body.spec).filter(([name]) => name !== member)),
    };
  };
  const table: [string, unknown, ...string[]][] = [
    ['no key', { spec: aBody('x')['spec'] }, '/operation_id'],
    ['no spec', { operation_id: 'bad' }, '/spec'],
    ['nothing', {}, '/operation_id', '/spec'],
    ['a list', [], ''],
    ['null', 'null', ''],
    ['text', '"x"', ''],
    ['no order', without('order_id'), '/spec/order_id'],
    ['no amount', without('amount'), '/spec/amount'],
    ['no provider', spec({ payment: { provider: undefined } }), '/spec/payment/provider'],
    ['another provider', spec({ payment: { provider: 'other' } }), '/spec/payment/provider'],
    ['no method and no payment', spec({ payment: { payment_method: null } }), '/spec/payment/payment_method'],
    ['an unknown member', { ...aBody('bad'), extra: 1 }, '/extra'],
    ['an unknown member of the spec', spec({ amonut: 1 }), '/spec/amonut'],
    ['a name that needs escapes', spec({ 'a/b~c': 1 }), '/spec/a~1b~0c'],
    ['zero', spec({ amount: { value: 0, currency: 'EUR' } }), '/spec/amount/value'],
    ['a negative amount', spec({ amount: { value: -1, currency: 'EUR' } }), '/spec/amount/value'],
    ['a fraction', spec({ amount: { value: 1.5, currency: 'EUR' } }), '/spec/amount/value'],
    ['text as amount', spec({ amount: { value: '1e2', currency: 'EUR' } }), '/spec/amount/value'],
    ['an unsafe amount', spec({ amount: { value: 2 ** 53, currency: 'EUR' } }), '/spec/amount/value'],
    ['null as amount', spec({ amount: { value: null, currency: 'EUR' } }), '/spec/amount/value'],
    ['a currency in small letters', spec({ amount: { value: 1, currency: 'eur' } }), '/spec/amount/currency'],
    ['a currency of the past', spec({ amount: { value: 1, currency: 'DEM' } }), '/spec/amount/currency'],
    [
      'what the provider cannot express',
      spec({ amount: { value: 1_234, currency: 'KWD' } }),
      '/spec/amount/value',
    ],
    [
      'a capture that it cannot express',
      spec({
        amount: { value: 1_230, currency: 'KWD' },
        payment: { capture: 'manual', capture_amount: 1_001 },
      }),
      '/spec/payment/capture_amount',
    ],
    [
      'a part of an automatic capture',
      spec({ payment: { capture_amount: 5 } }),
      '/spec/payment/capture_amount',
    ],
    [
      'a capture above the amount',
      spec({ payment: { capture: 'manual', capture_amount: 10_001 } }),
      '/spec/payment/capture_amount',
    ],
    ['refunds of nothing', spec({ refunds: [{ refund_id: 'r', amount: 1 }] }), '/spec/refunds'],
    [
      'a sku twice',
      spec({
        lines: [
          { sku: 'a', quantity: 1 },
          { sku: 'a', quantity: 2 },
        ],
      }),
      '/spec/lines',
    ],
    ['NUL in a sku', spec({ lines: [{ sku: 'a\u0000', quantity: 1 }] }), '/spec/lines/0/sku'],
    ['a lone surrogate in the order', spec({ order_id: '\udfff' }), '/spec/order_id'],
    [
      'a deadline without a zone',
      spec({ payment_deadline: '2030-01-01T00:00:00' }),
      '/spec/payment_deadline',
    ],
    [
      'a deadline that is no day',
      spec({ payment_deadline: '2030-02-30T00:00:00Z' }),
      '/spec/payment_deadline',
    ],
    ['a deadline without words', spec({ payment_deadline: 1_900_000_000 }), '/spec/payment_deadline'],
    [
      'a javascript address',
      spec({ payment: { return_url: 'javascript:alert(1)' } }),
      '/spec/payment/return_url',
    ],
    ['an account that is not configured', { ...aBody('bad'), account: 'third' }, '/account'],
    ['an account that cannot be', { ...aBody('bad'), account: '../x' }, '/account'],
    ['a label that is no text', { ...aBody('bad'), labels: { a: 1 } }, '/labels/a'],
    ['NUL in a label', { ...aBody('bad'), labels: { a: '\u0000' } }, '/labels/a'],
    ['a long label', { ...aBody('bad'), labels: { a: 'x'.repeat(257) } }, '/labels/a'],
    [
      'labels without end',
      { ...aBody('bad'), labels: Object.fromEntries([...Array(21).keys()].map((n) => [`l${n}`, 'x'])) },
      '/labels',
    ],
  ];
  test.each(table)('%s', async (_name, body, ...pointers) => {
    const rings = api.rings();
    const answer = await post(body, { 'content-type': 'application/json' });
    expect(refusal(answer)).toEqual([400, 'invalid_request', ...pointers]);
    expect(await api.rows('order_operations')).toBe(before);
    expect(api.rings()).toBe(rings);
  });

  test('1e2 and 100.0 are numbers like any other', async () => {
    const text = JSON.stringify(aBody('exponent', { amount: { value: 7_777, currency: 'EUR' } }));
    const answer = await post(text.replace('7777', '1e2'), { 'content-type': 'application/json' });
    expect(operation(answer, 201).spec.amount.value).toBe(100);
    operation(await post(text.replace('7777', '100.0'), { 'content-type': 'application/json' }), 200);
  });
});

test('names of members of objects are names like any other', async () => {
  const labels = { constructor: 'a', prototype: 'b', toString: 'c', hasOwnProperty: 'd' };
  const shown = operation(await post({ ...aBody('names'), labels }), 201);
  expect(shown.metadata.labels).toEqual(labels);
});

test('what was seen shows at once', async () => {
  await api.create('seen');
  await api.observe('seen', { payment: CAPTURED });
  expect(operation(await api.call('GET', pathOf('seen')), 200).status.payment.refundable).toBe(10_000);
});
