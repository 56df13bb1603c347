/** The attention queue: counts, who looks after what, and snoozes that end when something else needs a person. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { HandoverOut } from '../../src/api/schemas/handover.js';
import { AttentionOut, TriageOut } from '../../src/api/schemas/triage.js';
import type { OperationList } from '../../src/api/schemas/operation.js';
import { StoreUnavailable } from '../../src/store/database.js';
import { anApi, keyed, operation, pathOf, refusal, type TestApi } from '../support/api.js';
import { clientOf } from '../support/http.js';
import type { FactsPatch } from '../support/operations.js';

let api: TestApi;
beforeAll(async () => {
  api = await anApi({
    people: [
      {
        identify(header) {
          if (header === 'Bearer away') return Promise.reject(new StoreUnavailable(new Error('away')));
          const ana = { kind: 'person', name: 'ana@desk', scopes: ['support'] } as const;
          return Promise.resolve(header === 'Bearer token-of-ana' ? ana : null);
        },
      },
    ],
  });
});
afterAll(() => api.stop());

const CAPTURED = { state: 'captured', amount: 10_000, currency: 'EUR', captured: 10_000 } as const;
const SHORT: FactsPatch = { payment: { ...CAPTURED, captured: 4_000 } };
const ABOVE: FactsPatch = { payment: { ...CAPTURED, captured: 12_000 } };

/** An operation that needs a person since `age` ago. */
async function needing(name: string, facts: FactsPatch = SHORT, age = '1 minute'): Promise<void> {
  await api.create(name);
  await api.observe(name, facts);
  await api.db.database.query(
    `UPDATE order_operations SET status = jsonb_set(status, '{attention,since}', to_jsonb(
       to_char((now() - $2::interval) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) WHERE operation_id = $1`,
    [name, age],
  );
}
const counts = async (): Promise<AttentionOut> =>
  AttentionOut.parse((await api.asSupport('GET', '/v1/attention')).json());
const triage = async (name: string, body: unknown): Promise<TriageOut> => {
  const answer = await api.asSupport('PUT', pathOf(name, '/triage'), { body });
  expect([answer.status, answer.text]).toEqual([200, answer.text]);
  return TriageOut.parse(answer.json());
};
const queue = async (query = ''): Promise<string[]> =>
  (await api.asSupport('GET', `/v1/operations?attention=true${query}`))
    .json<OperationList>()
    .items.map(({ operation_id }) => operation_id);
const inHours = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();

test('counts by reason, account, age and assignee, with the money at stake', async () => {
  await needing('short-1');
  await needing('short-2', SHORT, '3 hours');
  await needing('above-1', ABOVE, '2 days');
  await needing('above-old', ABOVE, '30 days');
  await api.create('well');
  await triage('short-1', { assignee: 'ana' });
  const attention = await counts();
  expect(attention).toMatchObject({
    total: 4,
    snoozed: 0,
    unassigned: 3,
    money_at_stake: { EUR: 40_000 },
    by_reason: [
      { reason: 'CapturedAbove', count: 2, money_at_stake: { EUR: 20_000 } },
      { reason: 'CapturedShort', count: 2, money_at_stake: { EUR: 20_000 } },
    ],
    by_account: [{ account: 'default', count: 4 }],
    by_age: [
      { age: 'under_1h', count: 1 },
      { age: '1h_to_1d', count: 1 },
      { age: '1d_to_7d', count: 1 },
      { age: 'over_7d', count: 1 },
    ],
    by_assignee: [{ assignee: 'ana', count: 1 }],
  });
  expect(Date.now() - Date.parse(attention.by_reason[0]?.oldest ?? '')).toBeGreaterThan(29 * 86_400_000);
  expect(await queue('&reason=CapturedShort')).toEqual(['short-2', 'short-1']);
  expect(await queue('&assignee=ana')).toEqual(['short-1']);
});

describe('a snooze', () => {
  test('takes an operation out of the queue until its time', async () => {
    await needing('later');
    const before = (await counts()).total;
    expect((await triage('later', { snooze_until: inHours(2) })).snoozed).toBe(true);
    expect(await queue()).not.toContain('later');
    expect(await queue('&snoozed=only')).toEqual(['later']);
    expect(await queue('&snoozed=include')).toContain('later');
    expect(await counts()).toMatchObject({ total: before - 1, snoozed: 1 });
    await api.db.database.query(
      `UPDATE operation_triage SET snooze_until = now() - interval '1 second' WHERE snooze_until IS NOT NULL`,
    );
    expect(await queue()).toContain('later');
    expect(await counts()).toMatchObject({ total: before, snoozed: 0 });
  });

  test.each([
    ['it needs a person for another reason', () => api.observe('changes-reason', ABOVE), 'changes-reason'],
    [
      'it was well and needs one again',
      async () => {
        await api.observe('comes-again', { payment: CAPTURED, inventory: { state: 'committed' } });
        await new Promise((resolve) => setTimeout(resolve, 5));
        await api.observe('comes-again', SHORT);
      },
      'comes-again',
    ],
    [
      'its wish is another one',
      async () => void (await api.call('POST', pathOf('new-wish', '/cancel'))),
      'new-wish',
    ],
  ])('is over when %s', async (_what, happens, name) => {
    await needing(name);
    await triage(name, { snooze_until: inHours(24) });
    expect(await queue()).not.toContain(name);
    await happens();
    const shown = TriageOut.parse((await api.asSupport('GET', pathOf(name, '/triage'))).json());
    expect(shown.snoozed).toBe(false);
    if (name !== 'new-wish') expect(await queue()).toContain(name);
  });

  test('survives what changes nothing for a person', async () => {
    await needing('same');
    await triage('same', { snooze_until: inHours(24) });
    await api.observe('same', { payment: { ...SHORT.payment, observed_at: inHours(0) } });
    expect(await queue()).not.toContain('same');
  });

  test('ends by null, and its time is near and ahead', async () => {
    await needing('woken');
    await triage('woken', { snooze_until: inHours(24) });
    expect((await triage('woken', { snooze_until: null })).snoozed).toBe(false);
    for (const snooze_until of [inHours(-1), inHours(24 * 91), 'tomorrow']) {
      const answer = await api.asSupport('PUT', pathOf('woken', '/triage'), { body: { snooze_until } });
      expect(refusal(answer)).toEqual([400, 'invalid_request', '/snooze_until']);
    }
  });
});

test('assigning and notes are told in the timeline, and disturb nobody', async () => {
  await needing('noted');
  const before = operation(await api.call('GET', pathOf('noted')), 200);
  const rings = api.rings();
  const due = await api.db.database.query('SELECT wake, next_attempt_at FROM order_operations');
  await triage('noted', { assignee: 'ana', note: 'Asked the bank.\nThey call back.' });
  // The answer was lost, and the request is sent again.
  await triage('noted', { assignee: 'ana', note: 'Asked the bank.\nThey call back.' });
  await triage('noted', { note: 'They called.' });
  const shown = await triage('noted', {});
  expect(shown).toMatchObject({ assignee: 'ana', snooze_until: null, updated_by: 'desk' });
  expect(shown.notes.map(({ note, actor }) => [note, actor.name])).toEqual([
    ['Asked the bank.\nThey call back.', 'desk'],
    ['They called.', 'desk'],
  ]);
  const { items } = (await api.asSupport('GET', pathOf('noted', '/events'))).json<{
    items: { type: string; message: string; actor: object }[];
  }>();
  expect(items.slice(-3).map(({ type, message }) => [type, message])).toEqual([
    ['assigned', 'ana looks after it.'],
    ['note_added', 'Asked the bank.\nThey call back.'],
    ['note_added', 'They called.'],
  ]);
  expect(operation(await api.call('GET', pathOf('noted')), 200)).toEqual(before);
  expect(api.rings()).toBe(rings);
  expect(await api.db.database.query('SELECT wake, next_attempt_at FROM order_operations')).toEqual(due);
});

test('a person who signed in is named as one, and a sign-in that cannot be checked now is no refusal', async () => {
  await needing('signed');
  const asAna = clientOf(api.port, keyed('token-of-ana'));
  const answer = await asAna('PUT', pathOf('signed', '/triage'), { body: { note: 'Mine.' } });
  expect(TriageOut.parse(answer.json()).notes).toMatchObject([
    { actor: { kind: 'person', name: 'ana@desk' }, note: 'Mine.' },
  ]);
  expect(refusal(await clientOf(api.port, keyed('away'))('GET', pathOf('signed')))).toEqual([
    503,
    'unavailable',
  ]);
  expect(refusal(await clientOf(api.port, keyed('nobody'))('GET', pathOf('signed')))).toEqual([
    401,
    'unauthorized',
  ]);
});

test('an operation is handed over, as JSON and as Markdown', async () => {
  await needing('handed');
  await triage('handed', { assignee: 'ana', note: 'Asked the bank.' });
  const json = await api.asSupport('GET', pathOf('handed', '/handover'));
  expect(HandoverOut.parse(json.json())).toMatchObject({
    reason: 'CapturedShort',
    intent: { requested_by: 'shop' },
    observed: { payment: { captured: 4_000 } },
    triage: { assignee: 'ana', notes: [{ by: 'desk', note: 'Asked the bank.' }] },
  });
  const headers = { accept: 'text/markdown, */*' };
  const markdown = await api.asSupport('GET', pathOf('handed', '/handover'), { headers });
  expect(markdown.headers['content-type']).toBe('text/markdown; charset=utf-8');
  expect(markdown.text).toMatch(/^# Handover of `handed`\n/);
  expect(markdown.text).toContain('captured 40.00 EUR');
  expect(refusal(await api.asSupport('GET', pathOf('nobody', '/handover')))).toEqual([404, 'not_found']);
});

test('who may, and what is refused', async () => {
  await needing('guarded');
  const put = (body: unknown, name = 'guarded') => api.asSupport('PUT', pathOf(name, '/triage'), { body });
  expect(refusal(await api.call('PUT', pathOf('guarded', '/triage'), { body: {} }))).toEqual([
    403,
    'scope_missing',
  ]);
  expect(refusal(await api.call('GET', '/v1/attention'))).toEqual([403, 'scope_missing']);
  expect(refusal(await put({ note: 'x' }, 'nobody'))).toEqual([404, 'not_found']);
  expect(refusal(await put({ note: ' ' }))).toEqual([400, 'invalid_request', '/note']);
  expect(refusal(await put({ note: 'a\u0000b' }))).toEqual([400, 'invalid_request', '/note']);
  expect(refusal(await put({ assignee: 'a\nb' }))).toEqual([400, 'invalid_request', '/assignee']);
  expect(refusal(await put({ generation: 7 }))).toEqual([400, 'invalid_request', '/generation']);
  expect(await api.rows('operation_events')).toBeGreaterThan(0);
});
