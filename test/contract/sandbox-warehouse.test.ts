/** The sandbox's warehouse, over HTTP, judged by its stock and its ledger. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { startTestSandbox, type TestSandbox } from '../support/sandbox-control.js';

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startTestSandbox();
});
beforeEach(async () => {
  await sandbox.control.reset();
  await sandbox.control.setStock('tea', 10);
});
afterAll(() => sandbox.stop());

type Method = 'PUT' | 'GET' | 'DELETE' | 'COMMIT';

/** `COMMIT` stands for POST …/commit. Returns the status, and the state where there is one. */
async function call(method: Method, id: string, quantity = 2): Promise<[number, string | undefined]> {
  const path = `/warehouse/reservations/${encodeURIComponent(id)}${method === 'COMMIT' ? '/commit' : ''}`;
  const response = await fetch(`${sandbox.url}${path}`, {
    method: method === 'COMMIT' ? 'POST' : method,
    ...(method === 'PUT' ? { body: JSON.stringify({ lines: [{ sku: 'tea', quantity }] }) } : {}),
  });
  const body = (await response.json()) as { state?: string; code?: string };
  return [response.status, body.state ?? body.code];
}

test.each<{ name: string; steps: [Method, number, string][]; left: number }>([
  {
    name: 'reserve, commit, each repeated',
    steps: [
      ['PUT', 201, 'reserved'],
      ['PUT', 200, 'reserved'],
      ['GET', 200, 'reserved'],
      ['COMMIT', 200, 'committed'],
      ['COMMIT', 200, 'committed'],
      ['PUT', 200, 'committed'],
    ],
    left: 8,
  },
  {
    name: 'release, repeated; nothing comes after it',
    steps: [
      ['PUT', 201, 'reserved'],
      ['DELETE', 200, 'released'],
      ['DELETE', 200, 'released'],
      ['GET', 200, 'released'],
      ['PUT', 409, 'released'],
      ['COMMIT', 409, 'released'],
    ],
    left: 10,
  },
  {
    name: 'a release that overtakes its reservation keeps it out',
    steps: [
      ['GET', 404, 'not_found'],
      ['DELETE', 404, 'not_found'],
      ['PUT', 409, 'released'],
      ['DELETE', 404, 'not_found'],
      ['COMMIT', 404, 'not_found'],
      ['GET', 200, 'released'],
    ],
    left: 10,
  },
  {
    name: 'committed goods that are still there come back once',
    steps: [
      ['PUT', 201, 'reserved'],
      ['COMMIT', 200, 'committed'],
      ['DELETE', 200, 'released'],
      ['DELETE', 200, 'released'],
      ['COMMIT', 409, 'released'],
    ],
    left: 10,
  },
  { name: 'nothing to commit', steps: [['COMMIT', 404, 'not_found']], left: 10 },
])('$name', async ({ steps, left }) => {
  for (const [method, status, word] of steps) expect(await call(method, 'o1')).toEqual([status, word]);
  expect(await sandbox.control.stock('tea')).toBe(left);
  const { stock, violations } = await sandbox.control.ledger('o1');
  expect(violations).toEqual([]);
  expect(stock.released).toBeLessThanOrEqual(1);
  expect(stock.delta).toEqual(left === 10 ? {} : { tea: left - 10 });
});

test('goods that are gone cannot be taken back', async () => {
  await call('PUT', 'o1');
  await call('COMMIT', 'o1');
  await sandbox.control.dashboard('ship', { operation_id: 'o1' });
  expect(await call('DELETE', 'o1')).toEqual([409, 'goods_gone']);
  expect((await sandbox.control.ledger('o1')).stock).toMatchObject({
    state: 'committed',
    shipped: true,
    released: 0,
  });
});

test('other lines replace a reservation in one step, as long as it is only that', async () => {
  await call('PUT', 'o1', 2);
  expect(await call('PUT', 'o1', 9)).toEqual([200, 'reserved']);
  expect(await sandbox.control.stock('tea')).toBe(1);
  expect(await call('PUT', 'o1', 11)).toEqual([409, 'insufficient']);
  expect((await sandbox.control.ledger('o1')).stock.lines).toEqual([{ sku: 'tea', quantity: 9 }]);
  await call('COMMIT', 'o1');
  expect(await call('PUT', 'o1', 1)).toEqual([409, 'committed']);
});

test('too little of one line takes nothing of any', async () => {
  const lines = [
    { sku: 'coffee', quantity: 3 },
    { sku: 'tea', quantity: 6 },
    { sku: 'tea', quantity: 5 },
  ];
  const response = await fetch(`${sandbox.url}/warehouse/reservations/o1`, {
    method: 'PUT',
    body: JSON.stringify({ lines }),
  });
  expect(response.status).toBe(409);
  expect(await sandbox.control.stock('coffee')).toBe(1_000_000);
  expect(await call('GET', 'o1')).toEqual([404, 'not_found']);
});

test('parallel reservations never sell more than there is', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => call('PUT', `o${i}`, 3)));
  expect(answers.filter(([status]) => status === 201)).toHaveLength(3);
  expect(await sandbox.control.stock('tea')).toBe(1);
});

test.each(['shop:1:order:7', 'order/ä 7', 'a/commit', '12345', '日本語', '%2F', 'x?y#z', 'é', 'e\u0301'])(
  'id %j travels as one segment',
  async (id) => {
    expect(await call('PUT', id)).toEqual([201, 'reserved']);
    expect(await call('COMMIT', id)).toEqual([200, 'committed']);
    expect((await sandbox.control.ledger(id)).stock.state).toBe('committed');
    expect((await sandbox.control.journal({ operation_id: id })).map((entry) => entry.route)).toEqual([
      'reservations.put',
      'reservations.commit',
    ]);
  },
);

test.each([
  ['', 400],
  ['not json', 400],
  ['{"lines":[]}', 400],
  ['{"lines":[{"sku":"tea","quantity":0}]}', 400],
  ['{"lines":[{"sku":"tea","quantity":1.5}]}', 400],
  ['{"lines":[{"sku":"tea","quantity":1}],"extra":1}', 400],
])('body %j is refused', async (body, status) => {
  const response = await fetch(`${sandbox.url}/warehouse/reservations/o1`, { method: 'PUT', body });
  expect(response.status).toBe(status);
  expect(await call('GET', 'o1')).toEqual([404, 'not_found']);
});

test('a reservation that the warehouse loses', async () => {
  await call('PUT', 'o1');
  await sandbox.control.dashboard('lose_reservation', { operation_id: 'o1' });
  expect(await call('GET', 'o1')).toEqual([200, 'released']);
  expect(await sandbox.control.stock('tea')).toBe(8);
  await call('PUT', 'o2');
  await sandbox.control.dashboard('lose_reservation', { operation_id: 'o2', forget: true });
  expect(await call('GET', 'o2')).toEqual([404, 'not_found']);
});
