/** The warehouse adapter against real HTTP: every row of the protocol, what breaks it, and the sandbox. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { InventoryStep } from '../../src/operation/step.js';
import { HttpInventory } from '../../src/inventory/http/http-inventory.js';
import { startTestSandbox, type TestSandbox } from '../support/sandbox-control.js';
import {
  closedPort,
  startScriptedServer,
  type Script,
  type ScriptedServer,
} from '../support/scripted-server.js';

/** Patience for answers that come, on a loaded machine, and for those that never do. */
const TIMEOUT_MS = 10_000;
const SHORT_MS = 200;
const patience = (...scripts: readonly Script[]) =>
  scripts.some(({ fault }) => fault === 'hang' || fault === 'drip') ? SHORT_MS : TIMEOUT_MS;

const LINES = [
  { sku: 'tea-500', quantity: 2 },
  { sku: 'cup', quantity: 1 },
];
const PARAMETERS: Record<InventoryStep['name'], Record<string, unknown>> = {
  reserve_inventory: { lines: LINES },
  commit_inventory: {},
  release_inventory: {},
};
const [RESERVE, COMMIT, RELEASE] = ['reserve_inventory', 'commit_inventory', 'release_inventory'] as const;

const inventoryAt = (base: URL, timeout_ms = TIMEOUT_MS) => new HttpInventory({ base, timeout_ms });
const json = (state: string, lines: unknown = LINES) => ({ operation_id: 'op-1', state, lines });
const page = {
  headers: { 'content-type': 'text/html' },
  body: '<!DOCTYPE html><pre>Cannot GET /reservations</pre>',
};

interface Want {
  kind: string;
  class?: string;
  code?: string;
  state?: string;
  lines?: unknown;
}

describe('answers to a write', () => {
  let server: ScriptedServer;

  beforeEach(async () => {
    server = await startScriptedServer();
  });
  afterEach(() => server.stop());

  const cases: { name: string; reason: string; step: InventoryStep['name']; given: Script[]; want: Want }[] =
    [
      {
        name: '201',
        reason: 'reserved',
        step: RESERVE,
        given: [{ status: 201, body: json('reserved') }],
        want: { kind: 'done', state: 'reserved', lines: LINES },
      },
      {
        name: '200',
        reason: 'reserved before',
        step: RESERVE,
        given: [{ body: json('reserved', [...LINES].reverse()) }],
        want: { kind: 'done', state: 'reserved' },
      },
      {
        name: '201 with nothing',
        reason: 'the status says it',
        step: RESERVE,
        given: [{ status: 201 }],
        want: { kind: 'done', state: 'reserved', lines: null },
      },
      {
        name: '200 committed',
        reason: 'further than asked for',
        step: RESERVE,
        given: [{ body: json('committed') }],
        want: { kind: 'done', state: 'committed' },
      },
      {
        name: 'a split sku',
        reason: 'the same goods',
        step: RESERVE,
        given: [
          {
            body: json('reserved', [
              { sku: 'cup', quantity: 1 },
              { sku: 'tea-500', quantity: 1 },
              { sku: 'tea-500', quantity: 1 },
            ]),
          },
        ],
        want: { kind: 'done' },
      },
      {
        name: 'other lines',
        reason: 'held, but not what was asked for',
        step: RESERVE,
        given: [{ body: json('reserved', [{ sku: 'cup', quantity: 1 }]) }],
        want: { kind: 'rejected', class: 'conflict', code: 'reservation_differs', state: 'reserved' },
      },
      {
        name: '200 released',
        reason: 'nothing is held',
        step: RESERVE,
        given: [{ body: json('released') }],
        want: { kind: 'rejected', class: 'conflict', code: 'reservation_released', state: 'released' },
      },
      {
        name: '409 insufficient',
        reason: 'a final no of the warehouse',
        step: RESERVE,
        given: [{ status: 409, body: { code: 'insufficient', message: 'Only 1 left.' } }],
        want: { kind: 'declined', class: 'declined', code: 'insufficient_stock', state: 'insufficient' },
      },
      {
        name: '409 INSUFFICIENT_STOCK',
        reason: 'whatever the member is called',
        step: RESERVE,
        given: [{ status: 409, body: { error: 'INSUFFICIENT_STOCK' } }],
        want: { kind: 'declined', state: 'insufficient' },
      },
      {
        name: '409 Out of stock',
        reason: 'in whatever writing',
        step: RESERVE,
        given: [{ status: 409, body: { reason: 'Out of stock' } }],
        want: { kind: 'declined', state: 'insufficient' },
      },
      {
        name: '409 released',
        reason: 'the tombstone',
        step: RESERVE,
        given: [{ status: 409, body: { code: 'released' } }],
        want: { kind: 'rejected', class: 'conflict', code: 'reservation_released', state: 'released' },
      },
      {
        name: '409 committed',
        reason: 'too late for other lines',
        step: RESERVE,
        given: [{ status: 409, body: { code: 'committed' } }],
        want: { kind: 'rejected', class: 'conflict', code: 'reservation_committed' },
      },
      {
        name: '409 with nothing, nothing there',
        reason: 'a refusal for lack of stock leaves nothing behind',
        step: RESERVE,
        given: [{ status: 409 }, { status: 404 }],
        want: { kind: 'declined', code: 'insufficient_stock', state: 'insufficient' },
      },
      {
        name: '409 with nothing, released there',
        reason: 'a release leaves a tombstone',
        step: RESERVE,
        given: [{ status: 409 }, { body: json('released', []) }],
        want: { kind: 'rejected', class: 'conflict', code: 'reservation_released', state: 'released' },
      },
      {
        name: '409 with nothing, reserved there',
        reason: 'told as it is',
        step: RESERVE,
        given: [{ status: 409 }, { body: json('reserved') }],
        want: { kind: 'rejected', class: 'conflict', code: 'reservation_refused', state: 'reserved' },
      },
      {
        name: '409 with nothing, then silence',
        reason: 'a no, whatever its reason',
        step: RESERVE,
        given: [{ status: 409 }, { fault: 'hang' }],
        want: { kind: 'rejected', class: 'conflict', code: 'reservation_refused' },
      },
      {
        name: '404',
        reason: 'there is no such route',
        step: RESERVE,
        given: [{ status: 404 }],
        want: { kind: 'not_sent', class: 'prerequisite', code: 'inventory_http_404' },
      },
      {
        name: '400',
        reason: 'the request is wrong',
        step: RESERVE,
        given: [{ status: 400, body: { message: 'no sku' } }],
        want: { kind: 'rejected', class: 'rejected', code: 'inventory_http_400' },
      },

      {
        name: '200',
        reason: 'committed',
        step: COMMIT,
        given: [{ body: json('committed') }],
        want: { kind: 'done', state: 'committed', lines: LINES },
      },
      {
        name: '204',
        reason: 'the status says it',
        step: COMMIT,
        given: [{ status: 204 }],
        want: { kind: 'done', state: 'committed', lines: null },
      },
      {
        name: '200 still reserved',
        reason: 'accepted is not done',
        step: COMMIT,
        given: [{ body: json('reserved') }],
        want: { kind: 'unknown', class: 'unknown', code: 'effect_not_seen', state: 'reserved' },
      },
      {
        name: '404',
        reason: 'the stock was lost',
        step: COMMIT,
        given: [{ status: 404, body: { code: 'not_found' } }],
        want: { kind: 'rejected', class: 'conflict', code: 'reservation_missing' },
      },
      {
        name: '404 as a page',
        reason: 'not the warehouse’s word',
        step: COMMIT,
        given: [{ status: 404, ...page }],
        want: { kind: 'not_sent', class: 'prerequisite' },
      },
      {
        name: '409',
        reason: 'released meanwhile',
        step: COMMIT,
        given: [{ status: 409, body: { code: 'released' } }],
        want: { kind: 'rejected', class: 'conflict', code: 'commit_refused' },
      },

      {
        name: '200',
        reason: 'released',
        step: RELEASE,
        given: [{ body: json('released') }],
        want: { kind: 'done', state: 'released' },
      },
      {
        name: '404',
        reason: 'unknown there, with a tombstone',
        step: RELEASE,
        given: [{ status: 404, body: { code: 'not_found' } }],
        want: { kind: 'done', state: 'released', lines: null },
      },
      {
        name: '404 as a page',
        reason: 'a wrong address must not pass for a release',
        step: RELEASE,
        given: [{ status: 404, ...page }],
        want: { kind: 'not_sent', class: 'prerequisite' },
      },
      {
        name: '409',
        reason: 'the goods have left',
        step: RELEASE,
        given: [{ status: 409, body: { message: 'Shipped.' } }],
        want: { kind: 'rejected', class: 'conflict', code: 'goods_gone' },
      },
      {
        name: '200 still committed',
        reason: 'accepted is not done',
        step: RELEASE,
        given: [{ body: json('committed') }],
        want: { kind: 'unknown', code: 'effect_not_seen', state: 'committed' },
      },

      ...[RESERVE, COMMIT, RELEASE].flatMap((step) => [
        {
          name: '500',
          reason: 'it may be done',
          step,
          given: [{ status: 500, body: { code: 'oops' } }],
          want: { kind: 'unknown', class: 'unknown', code: 'inventory_http_500' },
        },
        {
          name: '503 as a page',
          reason: 'it may be done',
          step,
          given: [{ status: 503, ...page }],
          want: { kind: 'unknown', class: 'unknown' },
        },
        {
          name: 'a page with 200',
          reason: 'not the warehouse’s word',
          step,
          given: [page],
          want: { kind: 'unknown', class: 'unknown', code: 'inventory_unexpected_body' },
        },
        {
          name: 'an empty object',
          reason: 'a gateway says that too',
          step,
          given: [{ body: {} }],
          want: { kind: 'unknown', class: 'unknown', code: 'inventory_unexpected_body' },
        },
        {
          name: 'null',
          reason: 'no object',
          step,
          given: [{ body: 'null' }],
          want: { kind: 'unknown', class: 'unknown', code: 'inventory_unexpected_body' },
        },
        {
          name: 'quantities as text',
          reason: 'not the protocol',
          step,
          given: [{ body: json('reserved', [{ sku: 'cup', quantity: '1' }]) }],
          want: { kind: 'unknown', class: 'unknown', code: 'inventory_unexpected_body' },
        },
        {
          name: 'a word of tomorrow',
          reason: 'this version does not know it',
          step,
          given: [{ body: json('on_a_boat') }],
          want: { kind: 'unknown', class: 'compatibility', code: 'unknown_status' },
        },
        {
          name: 'a body without end',
          reason: 'read within bounds',
          step,
          given: [{ body: { ...json('reserved'), more: 'x'.repeat(1_100_000) } }],
          want: { kind: 'unknown', class: 'unknown', code: 'inventory_unexpected_body' },
        },
        {
          name: 'a broken body',
          reason: 'it may be done',
          step,
          given: [{ body: '{"state":', fault: 'cut' as const }],
          want: { kind: 'unknown', class: 'unknown', code: 'inventory_connection_lost' },
        },
        {
          name: 'a reset',
          reason: 'it may be done',
          step,
          given: [{ fault: 'reset' as const }],
          want: { kind: 'unknown', class: 'unknown', code: 'inventory_connection_lost' },
        },
        {
          name: 'silence',
          reason: 'it may be done',
          step,
          given: [{ fault: 'hang' as const }],
          want: { kind: 'unknown', class: 'unknown', code: 'inventory_timeout' },
        },
        {
          name: 'a body that drips',
          reason: 'the limit is for all of it',
          step,
          given: [{ fault: 'drip' as const }],
          want: { kind: 'unknown', class: 'unknown', code: 'inventory_timeout' },
        },
        {
          name: '401',
          reason: 'somebody must repair the set-up',
          step,
          given: [{ status: 401 }],
          want: { kind: 'not_sent', class: 'prerequisite', code: 'inventory_http_401' },
        },
        {
          name: '403',
          reason: 'somebody must repair the set-up',
          step,
          given: [{ status: 403 }],
          want: { kind: 'not_sent', class: 'prerequisite', code: 'inventory_http_403' },
        },
        {
          name: '429',
          reason: 'wait as told',
          step,
          given: [{ status: 429, headers: { 'retry-after': '2' } }],
          want: { kind: 'not_sent', class: 'throttled', code: 'inventory_throttled' },
        },
        {
          name: 'a redirect',
          reason: 'not followed: it could become a GET of something else',
          step,
          given: [{ status: 302, headers: { location: '/elsewhere' } }, { body: json('released') }],
          want: { kind: 'unknown', class: 'prerequisite', code: 'inventory_http_302' },
        },
      ]),
    ];

  test.each(cases)('$step: $name: $reason', async ({ step, given, want }) => {
    server.answer(...given);
    const outcome = await inventoryAt(server.url, patience(...given)).apply({
      step,
      operation_id: 'op-1',
      parameters: PARAMETERS[step],
    });
    const failure = 'failure' in outcome ? outcome.failure : undefined;
    expect({ kind: outcome.kind, state: outcome.shown?.reservation?.state }).toEqual({
      kind: want.kind,
      state: want.state ?? (want.kind === 'done' ? 'reserved' : undefined),
    });
    if (want.class !== undefined) expect(failure?.class).toBe(want.class);
    if (want.code !== undefined) expect(failure?.code).toBe(want.code);
    if (want.lines !== undefined) expect(outcome.shown?.reservation?.lines).toEqual(want.lines);
  });

  test('a mark of the byte order before the body is no part of it', async () => {
    server.answer({ body: `\uFEFF${JSON.stringify(json('reserved'))}` });
    const outcome = await inventoryAt(server.url).apply({
      step: RESERVE,
      operation_id: 'op-1',
      parameters: PARAMETERS[RESERVE],
    });
    expect(outcome).toMatchObject({ kind: 'done', shown: { reservation: { state: 'reserved' } } });
  });

  test('an answer that switches protocols is none, and is told at once', async () => {
    server.answer({ fault: 'switch' });
    const outcome = await inventoryAt(server.url, 60_000).apply({
      step: COMMIT,
      operation_id: 'op-1',
      parameters: {},
    });
    expect(outcome).toMatchObject({ kind: 'unknown', failure: { code: 'inventory_connection_lost' } });
  }, 5_000);

  test('how long to wait, and why, is told', async () => {
    server.answer({ status: 429, headers: { 'retry-after': '2' }, body: { message: 'Stock-taking.' } });
    const outcome = await inventoryAt(server.url).apply({
      step: COMMIT,
      operation_id: 'op-1',
      parameters: {},
    });
    expect(outcome).toMatchObject({
      failure: { retry_after_ms: 2000, message: expect.stringContaining('Stock-taking') as unknown },
    });
  });

  test.each(['shop:1/order 7', 'ä%2F€', 'a?b#c', '..%', '12345', '🍵'])(
    'the id %s is one segment of the path',
    async (operation_id) => {
      const inventory = inventoryAt(new URL('/warehouse/', server.url));
      server.answer({ body: json('reserved') });
      await inventory.apply({ step: RESERVE, operation_id, parameters: PARAMETERS[RESERVE] });
      await inventory.apply({ step: COMMIT, operation_id, parameters: {} });
      await inventory.apply({ step: RELEASE, operation_id, parameters: {} });
      await inventory.observe(operation_id);
      const path = `/warehouse/reservations/${encodeURIComponent(operation_id)}`;
      expect(server.received.map(({ method, path: to, body }) => [method, to, body])).toEqual([
        ['PUT', path, JSON.stringify({ lines: LINES })],
        ['POST', `${path}/commit`, ''],
        ['DELETE', path, ''],
        ['GET', path, ''],
      ]);
    },
  );

  test.each([
    {
      name: 'nobody listens',
      base: async () => `http://127.0.0.1:${await closedPort()}`,
      code: 'inventory_unreachable',
    },
    {
      name: 'the name does not exist',
      base: () => Promise.resolve('http://warehouse.invalid'),
      code: 'inventory_unreachable',
    },
    {
      name: 'nobody listens, at a port that browsers refuse',
      base: () => Promise.resolve('http://127.0.0.1:6000'),
      code: 'inventory_unreachable',
    },
  ])('$name: nothing was sent, and a setting may be wrong', async ({ base, code }) => {
    const inventory = inventoryAt(new URL(await base()), 5000);
    const failure = { class: 'prerequisite', code };
    expect(
      await inventory.apply({ step: RESERVE, operation_id: 'op-1', parameters: PARAMETERS[RESERVE] }),
    ).toMatchObject({ kind: 'not_sent', failure });
    expect(await inventory.observe('op-1')).toMatchObject({ kind: 'unknown', failure });
  });

  const reads: { name: string; given: Script; want: object }[] = [
    {
      name: 'reserved',
      given: { body: json('reserved') },
      want: { kind: 'present', value: { state: 'reserved', lines: LINES } },
    },
    {
      name: 'without lines',
      given: { body: { state: 'released' } },
      want: { kind: 'present', value: { state: 'released', lines: null } },
    },
    { name: '404', given: { status: 404 }, want: { kind: 'absent' } },
    { name: '404 in JSON', given: { status: 404, body: { code: 'not_found' } }, want: { kind: 'absent' } },
    {
      name: '404 as a page',
      given: { status: 404, ...page },
      want: { kind: 'unknown', failure: { class: 'prerequisite' } },
    },
    { name: '200 with nothing', given: {}, want: { kind: 'unknown', failure: { class: 'unknown' } } },
    {
      name: 'a word of tomorrow',
      given: { body: json('on_a_boat') },
      want: { kind: 'unknown', failure: { class: 'compatibility' } },
    },
    { name: '401', given: { status: 401 }, want: { kind: 'unknown', failure: { class: 'prerequisite' } } },
    { name: '429', given: { status: 429 }, want: { kind: 'unknown', failure: { class: 'throttled' } } },
    { name: '500', given: { status: 500 }, want: { kind: 'unknown', failure: { class: 'unknown' } } },
    {
      name: '302',
      given: { status: 302, headers: { location: '/' } },
      want: { kind: 'unknown', failure: { class: 'prerequisite' } },
    },
    {
      name: 'silence',
      given: { fault: 'hang' },
      want: { kind: 'unknown', failure: { class: 'unknown', code: 'inventory_timeout' } },
    },
  ];

  test.each(reads)('a reading: $name', async ({ given, want }) => {
    server.answer(given);
    expect(await inventoryAt(server.url, patience(given)).observe('op-1')).toMatchObject(want);
  });
});

describe('against the sandbox', () => {
  let sandbox: TestSandbox;
  let inventory: HttpInventory;
  let operation_id: string;
  let count = 0;

  beforeAll(async () => {
    sandbox = await startTestSandbox();
    inventory = inventoryAt(new URL('/warehouse', sandbox.url), 2000);
  });
  afterAll(() => sandbox.stop());
  beforeEach(() => {
    operation_id = `ord/ä ${(count += 1)}`;
  });

  const reserve = (quantity = 2) => {
    const step: InventoryStep = {
      name: RESERVE,
      target: 'reservation',
      lines: [{ sku: 'tea-500', quantity }],
    };
    return inventory.apply({ step: RESERVE, operation_id, parameters: inventory.prepare(step) });
  };
  const apply = (step: typeof COMMIT | typeof RELEASE) =>
    inventory.apply({
      step,
      operation_id,
      parameters: inventory.prepare({ name: step, target: 'reservation' }),
    });

  test('reserved, committed, taken back; each call twice', async () => {
    const before = await sandbox.control.stock('tea-500');
    for (const again of [false, true]) {
      expect({ again, outcome: await reserve() }).toMatchObject({
        again,
        outcome: { kind: 'done', shown: { reservation: { state: 'reserved' } } },
      });
    }
    expect(await sandbox.control.stock('tea-500')).toBe(before - 2);
    expect(await inventory.observe(operation_id)).toEqual({
      kind: 'present',
      value: { state: 'reserved', lines: [{ sku: 'tea-500', quantity: 2 }] },
    });
    expect(await apply(COMMIT)).toMatchObject({
      kind: 'done',
      shown: { reservation: { state: 'committed' } },
    });
    expect(await apply(COMMIT)).toMatchObject({ kind: 'done' });
    expect(await apply(RELEASE)).toMatchObject({
      kind: 'done',
      shown: { reservation: { state: 'released' } },
    });
    expect(await apply(RELEASE)).toMatchObject({ kind: 'done' });
    expect(await sandbox.control.stock('tea-500')).toBe(before);
  });

  test('too little stock leaves nothing behind', async () => {
    await sandbox.control.setStock('tea-500', 1);
    expect(await reserve(2)).toMatchObject({
      kind: 'declined',
      shown: { reservation: { state: 'insufficient' } },
    });
    expect(await inventory.observe(operation_id)).toEqual({ kind: 'absent' });
    await sandbox.control.setStock('tea-500', 100);
  });

  test('a release of what never came leaves a tombstone', async () => {
    expect(await apply(RELEASE)).toMatchObject({
      kind: 'done',
      shown: { reservation: { state: 'released' } },
    });
    expect(await reserve()).toMatchObject({
      kind: 'rejected',
      failure: { class: 'conflict', code: 'reservation_released' },
    });
    expect(await apply(COMMIT)).toMatchObject({
      kind: 'rejected',
      failure: { class: 'conflict', code: 'reservation_missing' },
    });
  });

  test('goods that have left cannot be released', async () => {
    await reserve();
    await apply(COMMIT);
    await sandbox.control.dashboard('ship', { operation_id });
    expect(await apply(RELEASE)).toMatchObject({
      kind: 'rejected',
      failure: { class: 'conflict', code: 'goods_gone' },
    });
  });

  test('a reservation whose answer was lost is seen, and is one', async () => {
    const before = await sandbox.control.stock('tea-500');
    // Also that of the resend, which a kept connection that breaks is worth.
    await sandbox.control.inject({ route: 'reservations.put', kind: 'effect_then_drop', times: 2 });
    expect(await reserve()).toMatchObject({ kind: 'unknown', failure: { class: 'unknown' } });
    expect(await inventory.observe(operation_id)).toMatchObject({
      kind: 'present',
      value: { state: 'reserved' },
    });
    expect(await reserve()).toMatchObject({ kind: 'done' });
    expect(await sandbox.control.stock('tea-500')).toBe(before - 2);
  });
});
