/** A bulk command outlives the process that took it. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { aProduct, Client, SUPPORT_KEY, until, type Answer, type Product } from '../support/product.js';

let product: Product;
beforeAll(async () => {
  product = await aProduct();
});
afterAll(() => product.stop());

const IDS = Array.from({ length: 8 }, (_none, n) => `kept-${n + 1}`);
const commands = (id: string, rest = '') => `/v1/operations/${id}/commands${rest}`;
const countsOf = ({ body }: Answer) => body['counts'] as Record<string, number>;

test('the API dies in the middle of a list; a worker goes on, and each order is carried out once', async () => {
  const api = await product.start('api');
  const [shop, desk] = [new Client(api), new Client(api, SUPPORT_KEY)];
  await Promise.all(
    IDS.map(async (id) => {
      expect((await shop.create(id)).status).toBe(201);
      const preview = await desk.call('POST', commands(id, '/preview'), { command: 'pause' });
      const { preview_id } = preview.body;
      expect((await desk.call('POST', commands(id), { preview_id, reason: 'look first' })).status).toBe(202);
    }),
  );
  const preview = await desk.call('POST', '/v1/bulk-commands/preview', {
    command: 'resume',
    operation_ids: IDS,
  });
  expect(preview.body['totals']).toEqual([
    { currency: 'EUR', amount: IDS.length * 12_900, operations: IDS.length },
  ]);
  const { bulk_id } = preview.body;
  const begun = await desk.call('POST', '/v1/bulk-commands', { bulk_id, reason: 'looked at' });
  expect(begun.status).toBe(202);
  // Nobody looks at what the first rows did: no more are begun than may fail.
  const where = `/v1/bulk-commands/${String(bulk_id)}`;
  await until(async () => countsOf(await desk.call('GET', where))['done'] === 3, 'the first rows');
  api.kill('SIGKILL');
  await api.exited;

  await product.start('worker');
  const again = new Client(await product.start('api'), SUPPORT_KEY);
  const ended = await until(async () => {
    const now = await again.call('GET', where);
    return now.body['state'] === 'ended' && now;
  }, 'the end of the list');
  expect(countsOf(ended)).toEqual({ waiting: 0, done: IDS.length, refused: 0, not_run: 0, failed: 0 });
  for (const id of IDS) {
    await again.reaches(id, 'fulfilled');
    const { body } = await again.call('GET', `/v1/operations/${id}/events`);
    expect(body.items.filter(({ type }) => type === 'command_resume')).toHaveLength(1);
    expect(await product.control.ledger(id)).toMatchObject({
      captured: 12_900,
      effects: { creates: 1, confirms: 1 },
      violations: [],
    });
  }
});
