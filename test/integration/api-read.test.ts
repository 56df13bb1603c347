import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PlanOut, AttemptList, EventList } from '../../src/api/schemas/journal.js';
import { OperationList } from '../../src/api/schemas/operation.js';
import type { Plan } from '../../src/reconciler/plan.js';
import { anApi, keyed, operation, pathOf, refusal, type TestApi } from '../support/api.js';
import { clientOf } from '../support/http.js';
import { aRecord, CAPTURED } from '../support/orders.js';

let api: TestApi;
let plan: Plan | null = null;
beforeAll(async () => {
  api = await anApi({ planner: { plan: () => Promise.resolve(plan) } });
});
afterAll(() => api.stop());

const elapsed = async <T>(work: Promise<T>): Promise<{ ms: number; answer: T }> => {
  const started = performance.now();
  const answer = await work;
  return { ms: performance.now() - started, answer };
};

describe('wait', () => {
  const wait = (id: string, seconds: number) => elapsed(api.call('GET', pathOf(id, `?wait=${seconds}`)));

  test('answers at once when nothing will move by itself', async () => {
    await api.create('rest');
    await api.observe('rest', { payment: CAPTURED });
    const { ms, answer } = await wait('rest', 30);
    expect(operation(answer, 200).status.phase).toBe('fulfilled');
    expect(ms).toBeLessThan(1_000);
  });

  test('ends early when the operation comes to rest', async () => {
    await api.create('moves');
    const waiting = wait('moves', 20);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await api.observe('moves', { payment: CAPTURED });
    const { ms, answer } = await waiting;
    expect(operation(answer, 200).status.phase).toBe('fulfilled');
    expect(ms).toBeGreaterThan(250);
    expect(ms).toBeLessThan(3_000);
  });

  test('ends early when a person is needed', async () => {
    await api.create('person');
    const waiting = wait('person', 20);
    await api.observe('person', {
      payment: { ...CAPTURED, captured: 4_000 },
    });
    const { ms, answer } = await waiting;
    expect(operation(answer, 200).status.attention?.reason).toBe('CapturedShort');
    expect(ms).toBeLessThan(3_000);
  });

  test('answers with the state as it is when the time is over', async () => {
    await api.create('stays');
    const { ms, answer } = await wait('stays', 1);
    expect(operation(answer, 200).status.phase).toBe('accepted');
    expect(ms).toBeGreaterThan(950);
    expect(ms).toBeLessThan(3_000);
  });

  test('of 0 does not wait', async () => {
    const { ms, answer } = await wait('stays', 0);
    operation(answer, 200);
    expect(ms).toBeLessThan(900);
  });

  test.each(['31', '-1', '1.5', 'x', '', '1&wait=2', '1e1', '%00'])('of %j is refused', async (value) => {
    expect(refusal(await api.call('GET', pathOf('stays', `?wait=${value}`)))).toEqual([
      400,
      'invalid_request',
      '?wait',
    ]);
  });
});

describe('the list', () => {
  const list = async (query: string, call = api.call) => {
    const answer = await call('GET', `/v1/operations?${query}`);
    if (answer.status !== 200) throw new Error(answer.text);
    return OperationList.parse(answer.json());
  };
  const idsOf = ({ items }: OperationList): string[] => items.map(({ operation_id }) => operation_id);

  test('goes through all pages, newest first, each operation once', async () => {
    const ids = Array.from({ length: 7 }, (_, n) => `page-${n}`);
    for (const id of ids) await api.create(id);
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: OperationList = await list(
        `limit=3${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      expect(page.items.length).toBeLessThanOrEqual(3);
      seen.push(...idsOf(page));
      cursor = page.next_cursor;
    }
    expect(seen.slice(0, 7)).toEqual([...ids].reverse());
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toHaveLength(await api.rows('order_operations'));
  });

  test('filters', async () => {
    await api.create('filter-1', { order_id: 'the order ä/1' });
    await api.observe('filter-1', { payment: { ...CAPTURED, captured: 1 } });
    expect(idsOf(await list(`order_id=${encodeURIComponent('the order ä/1')}`))).toEqual(['filter-1']);
    expect(idsOf(await list('attention=true'))).toContain('filter-1');
    expect(idsOf(await list('attention=true'))).not.toContain('page-1');
    expect(idsOf(await list('attention=false'))).not.toContain('filter-1');
    expect(idsOf(await list('reason=CapturedShort'))).toContain('filter-1');
    expect(idsOf(await list('phase=accepted&limit=200'))).toContain('page-1');
    expect(idsOf(await list('phase=accepted&limit=200'))).not.toContain('filter-1');
    expect(idsOf(await list('account=second'))).toEqual([]);
    expect(idsOf(await list('order_id=nothing'))).toEqual([]);
  });

  test('is open to support', async () => {
    expect((await list('limit=1', api.asSupport)).items).toHaveLength(1);
  });

  test.each([
    ['limit=0', '?limit'],
    ['limit=201', '?limit'],
    ['limit=ten', '?limit'],
    ['phase=done', '?phase'],
    ['reason=Nope', '?reason'],
    ['attention=yes', '?attention'],
    ['cursor=abc', '?cursor'],
    ['cursor=', '?cursor'],
    ['cursor=bzoxOw', '?cursor'],
    ['order_id=a&order_id=b', '?order_id'],
    ['order_id=%00', '?order_id'],
    ['account=A', '?account'],
    ['state=x', '?state'],
    ['__proto__=x', '?__proto__'],
  ])('%s is refused', async (query, pointer) => {
    expect(refusal(await api.call('GET', `/v1/operations?${query}`))).toEqual([
      400,
      'invalid_request',
      pointer,
    ]);
  });
});

describe('journal and timeline', () => {
  test('attempts are shown as they were recorded, in order', async () => {
    await api.create('journal');
    const insert = (step: string, outcome: string | null) =>
      api.db.database.query(
        `INSERT INTO operation_attempts (operation, step, target, ordinal, effect_key, parameters, generation,
           fencing_token, worker, started_at, completed_at, outcome, failure, request_id)
         SELECT id, $2, 'pi_1', 1, 'op_key', '{"b":1,"a":{"c":[]}}', 1, 4, 'w', now(), CASE WHEN $3::text IS NULL THEN NULL ELSE now() END,
           $3, $4, 'req_1' FROM order_operations WHERE operation_id = $1`,
        [
          'journal',
          step,
          outcome,
          outcome === 'unknown'
            ? JSON.stringify({ class: 'unknown', code: 'timeout', message: 'no answer' })
            : null,
        ],
      );
    await insert('create_payment', 'done');
    await insert('confirm_payment', 'unknown');
    await insert('confirm_payment', null);
    const answer = await api.asSupport('GET', pathOf('journal', '/attempts'));
    const { items } = AttemptList.parse(answer.json());
    expect(items.map(({ step, outcome }) => [step, outcome])).toEqual([
      ['create_payment', 'done'],
      ['confirm_payment', 'unknown'],
      ['confirm_payment', null],
    ]);
    expect(items[1]).toMatchObject({
      parameters: { b: 1, a: { c: [] } },
      failure: { code: 'timeout' },
      fencing_token: 4,
    });
    expect([...items].sort((a, b) => a.sequence - b.sequence)).toEqual(items);
  });

  test('events name who did what, in order', async () => {
    await api.create('timeline');
    await api.call('POST', pathOf('timeline', '/cancel'), { body: { reason: 'why' } });
    const { items } = EventList.parse((await api.asSupport('GET', pathOf('timeline', '/events'))).json());
    expect(items.map(({ type, actor, data }) => [type, actor.name, data])).toEqual([
      ['operation_created', 'shop', null],
      ['cancellation_requested', 'shop', { reason: 'why' }],
      ['phase_changed', 'reconciler', { from: 'accepted', to: 'cancelled', reason: 'Cancelled' }],
    ]);
  });

  test('an operation without attempts has an empty journal', async () => {
    await api.create('quiet');
    expect((await api.call('GET', pathOf('quiet', '/attempts'))).json()).toEqual({ items: [] });
  });
});

describe('plan', () => {
  test('shows the reading, the differences and the step; for support only', async () => {
    plan = {
      record: aRecord(),
      observation: {
        at: '2026-08-25T03:00:00.000Z',
        payment: { kind: 'absent' },
        inventory: { kind: 'unknown', failure: { class: 'unknown', code: 'timeout', message: 'no answer' } },
      },
      decision: {
        kind: 'step',
        step: { name: 'cancel_payment', target: 'pi_1', reference: 'pi_1' },
        reason: 'CancelingPayment',
      },
      differences: ['wanted: nothing; seen: a payment'],
    };
    const answer = await api.asSupport('GET', pathOf('any', '/plan'));
    expect(answer.status).toBe(200);
    expect(PlanOut.parse(answer.json())).toMatchObject({
      observed: { payment: { kind: 'absent' }, inventory: { kind: 'unknown' } },
      differences: ['wanted: nothing; seen: a payment'],
      decision: { step: { name: 'cancel_payment', reference: 'pi_1' } },
    });
    expect(refusal(await api.call('GET', pathOf('any', '/plan')))).toEqual([403, 'scope_missing']);
    plan = null;
    expect(refusal(await api.asSupport('GET', pathOf('any', '/plan')))).toEqual([404, 'not_found']);
  });
});

describe('HEAD and OPTIONS', () => {
  test('HEAD answers like GET, without the body', async () => {
    await api.create('head');
    const got = await api.call('GET', pathOf('head'));
    const head = await api.call('HEAD', pathOf('head'));
    expect([head.status, head.headers.etag, head.headers['content-length'], head.text]).toEqual([
      200,
      got.headers.etag,
      got.headers['content-length'],
      '',
    ]);
    expect((await api.call('HEAD', pathOf('no-such'))).status).toBe(404);
    expect((await api.anonymous('HEAD', pathOf('head'))).status).toBe(401);
  });
  test.each([
    ['/v1/operations', 'GET, HEAD, OPTIONS, POST'],
    ['/v1/operations/x', 'GET, HEAD, OPTIONS, PATCH'],
    ['/v1/operations/x/cancel', 'OPTIONS, POST'],
    ['/v1/operations/x/plan', 'GET, HEAD, OPTIONS'],
    ['/livez', 'GET, HEAD, OPTIONS'],
  ])('OPTIONS %s', async (path, allow) => {
    const answer = await api.anonymous('OPTIONS', path);
    expect([answer.status, answer.headers.allow]).toEqual([204, allow]);
  });
});

test('every key sees only what its scopes allow', async () => {
  await api.create('scopes');
  const routes: [string, string, unknown][] = [
    ['POST', '/v1/operations', {}],
    ['PATCH', pathOf('scopes'), {}],
    ['POST', pathOf('scopes', '/cancel'), {}],
    ['POST', pathOf('scopes', '/refunds'), {}],
    ['POST', pathOf('scopes', '/capture'), {}],
    ['POST', pathOf('scopes', '/payment'), {}],
    ['GET', pathOf('scopes', '/plan'), undefined],
    ['GET', pathOf('scopes'), undefined],
    ['GET', '/v1/operations', undefined],
    ['GET', pathOf('scopes', '/events'), undefined],
    ['GET', pathOf('scopes', '/attempts'), undefined],
  ];
  const refusedFor = async (secret: string): Promise<string[]> => {
    const call = clientOf(api.port, keyed(secret));
    const answers = await Promise.all(
      routes.map(async ([method, path, body]) => {
        // If-Match that never fits: what is allowed is not carried out.
        const headers = { 'if-match': '"999"' };
        const { status } = await call(method, path, body === undefined ? { headers } : { body, headers });
        expect(status).not.toBe(401);
        return status === 403 ? `${method} ${path.split('/').at(-1)}` : null;
      }),
    );
    return answers.filter((answer) => answer !== null);
  };
  const writes = [
    'POST operations',
    'PATCH scopes',
    'POST cancel',
    'POST refunds',
    'POST capture',
    'POST payment',
  ];
  expect(await refusedFor('shop-secret')).toEqual(['GET plan']);
  expect(await refusedFor('desk-secret')).toEqual(writes);
  expect(await refusedFor('lead-secret')).toEqual(writes);
  expect(await refusedFor('both-secret')).toEqual([]);
  expect(await refusedFor('root-secret')).toEqual([]);
});
