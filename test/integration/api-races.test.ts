import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { anApi, operation, pathOf, type TestApi } from '../support/api.js';

let api: TestApi;
beforeAll(async () => {
  api = await anApi();
});
afterAll(() => api.stop());

const patch = (id: string, body: unknown, ifMatch: string) =>
  api.call('PATCH', pathOf(id), { body, headers: { 'if-match': ifMatch } });
const cancel = (id: string) => api.call('POST', pathOf(id, '/cancel'));
const read = async (id: string) => operation(await api.call('GET', pathOf(id)), 200);
/** Stands for the loop, which writes what it has seen while people write what they want. */
const status = (id: string) => api.observe(id, { payment: { state: 'created' } });

describe('fifty rounds on one order each', () => {
  test('cancel against a patch of the version that both have read: cancel wins, no accepted write is lost', async () => {
    for (let round = 0; round < 50; round++) {
      const id = `cancel-patch-${round}`;
      await api.create(id);
      const patched = { payment_method: `pm_${round}` };
      const [patchAnswer, cancelAnswer] = await Promise.all([
        patch(id, { payment: patched }, '"1"'),
        cancel(id),
        round % 2 === 0 ? status(id) : Promise.resolve(),
      ]);
      const shown = await read(id);
      expect([200, 202]).toContain(cancelAnswer.status);
      expect(shown.spec.desired).toBe('cancelled');
      expect(shown.status.cancellation).not.toBeNull();
      // 422: the cancellation was there first; 412: somebody wrote in between.
      expect([200, 412, 422]).toContain(patchAnswer.status);
      expect(shown.spec.payment.payment_method === `pm_${round}`).toBe(patchAnswer.status === 200);
      expect(shown.metadata.generation).toBe(patchAnswer.status === 200 ? 3 : 2);
    }
  }, 60_000);

  test('cancel against "fulfil", whatever the version: never both', async () => {
    for (let round = 0; round < 50; round++) {
      const id = `cancel-fulfil-${round}`;
      await api.create(id, { desired: 'authorized' });
      const [fulfil, cancelled] = await Promise.all([patch(id, { desired: 'fulfilled' }, '*'), cancel(id)]);
      expect([200, 422]).toContain(fulfil.status);
      expect([200, 202]).toContain(cancelled.status);
      expect((await read(id)).spec.desired).toBe('cancelled');
    }
  }, 60_000);

  test('two patches of the version that both have read: exactly one is accepted', async () => {
    for (let round = 0; round < 50; round++) {
      const id = `two-patches-${round}`;
      await api.create(id);
      const answers = await Promise.all([
        patch(id, { amount: { value: 5_000 } }, '"1"'),
        patch(id, { payment: { customer: 'cus_1' } }, '"1"'),
      ]);
      expect(answers.map((answer) => answer.status).sort()).toEqual([200, 412]);
      const shown = await read(id);
      expect(shown.spec.amount.value === 5_000).toBe(answers[0]?.status === 200);
      expect(shown.spec.payment.customer === 'cus_1').toBe(answers[1]?.status === 200);
      const late = answers.find((answer) => answer.status === 412);
      expect(late?.headers.etag).toBe('"2"');
    }
  }, 60_000);

  test('two patches of different members, whatever the version: both are kept', async () => {
    for (let round = 0; round < 50; round++) {
      const id = `both-kept-${round}`;
      await api.create(id);
      const answers = await Promise.all([
        patch(id, { amount: { value: 5_000 } }, '*'),
        patch(id, { payment: { customer: 'cus_1' } }, '*'),
        status(id),
      ]);
      expect(answers.slice(0, 2).map((answer) => answer?.status)).toEqual([200, 200]);
      const shown = await read(id);
      expect(shown).toMatchObject({
        spec: { amount: { value: 5_000 }, payment: { customer: 'cus_1' } },
        metadata: { generation: 3 },
      });
    }
  }, 60_000);
});

test('forty cancellations at once are one', async () => {
  await api.create('storm');
  const answers = await Promise.all(Array.from({ length: 40 }, () => cancel('storm')));
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect((await read('storm')).metadata).toMatchObject({ generation: 2, resource_version: 2 });
  const events = (await api.call('GET', pathOf('storm', '/events'))).json<{ items: { type: string }[] }>();
  expect(events.items.map(({ type }) => type)).toEqual([
    'operation_created',
    'cancellation_requested',
    'phase_changed',
  ]);
});
