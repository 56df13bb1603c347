/** All writes of one account stopped by a person: nothing is sent, nothing is lost, and it goes on little by little. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { AccountList, type AccountOut } from '../../src/api/schemas/accounts.js';
import { reconcile } from '../../src/reconciler/reconcile.js';
import { AccountStore } from '../../src/store/account-store.js';
import { collectStatistics } from '../../src/store/statistics.js';
import { pathOf, refusal } from '../support/api.js';
import { aShop, type Shop } from '../support/shop.js';

const ids = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${name}-${index}`);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

let shop: Shop;
beforeEach(async () => {
  shop = await aShop();
});
afterEach(() => shop.stop());

const stop = async (reason = 'a wrong price list'): Promise<AccountOut> =>
  (await shop.as('lead')('POST', '/v1/accounts/default/pause', { body: { reason } })).json<AccountOut>();
const goOn = async (): Promise<AccountOut> =>
  (await shop.as('lead')('POST', '/v1/accounts/default/resume', { body: { reason: 'repaired' } })).json();
/** Requests that could have changed something, at the provider and in the warehouse. */
const writes = async (after = 0): Promise<string[]> =>
  (await shop.control.journal({ after }))
    .filter(({ method }) => method !== 'GET')
    .map(({ method, path }) => `${method} ${path}`);
const claim = (limit = 50) => shop.world.passes.claim(limit, shop.worker.worker, 60_000, 1_000);
const makeDue = (): Promise<unknown> =>
  shop.world.db.database.query('UPDATE order_operations SET next_attempt_at = now()');

describe('while all writes of an account are stopped', () => {
  test('new orders, captures and cancellations are accepted and wait, and say for whom', async () => {
    await shop.order('paid');
    await shop.order('held', { payment: { capture: 'manual' } });
    await shop.world.run(shop.worker, 2);
    const before = await shop.control.journalSequence();
    expect((await stop()).paused).toMatchObject({ by: 'lead', reason: 'a wrong price list' });

    await shop.order('new');
    expect((await shop.cancel('paid')).status).toBe(202);
    expect((await shop.call('POST', pathOf('held', '/capture'))).status).toBe(202);
    for (const name of ['paid', 'held', 'new']) {
      const { status } = await shop.pass(name);
      expect(status).toMatchObject({
        condition: 'AccountPaused',
        attention: null,
        retry_budget: { used: 0 },
      });
      const ready = status.conditions.find(({ type }) => type === 'Ready');
      expect(ready?.message).toBe('lead stopped all writes of the account "default": a wrong price list');
      // Reading goes on, in its slow turn.
      expect(Date.parse(status.next_attempt_at ?? '')).toBeGreaterThan(shop.clock.now().getTime() + 600_000);
    }
    expect(await writes(before)).toEqual([]);
    const reads = await shop.control.journal({ after: before, method: 'GET' });
    expect(reads.length).toBeGreaterThan(0);

    // Looking once more is nothing new to a reader, and a wait ends at once: nothing moves by itself.
    const { metadata } = await shop.get('new');
    expect((await shop.pass('new')).metadata.resource_version).toBe(metadata.resource_version);
    const asked = Date.now();
    await shop.call('GET', pathOf('new', '?wait=5'));
    expect(Date.now() - asked).toBeLessThan(2_000);

    const plan = (await shop.asSupport('GET', pathOf('new', '/plan'))).json();
    expect(plan).toMatchObject({ decision: { kind: 'wait', reason: 'AccountPaused' } });
    expect((await collectStatistics(shop.world.db.database, ['default'])).accounts.get('default')).toBe(3);
  });

  test('a pass that was under way on another worker begins no effect any more', async () => {
    await shop.order('under way');
    const { claims } = await claim();
    const [first] = claims;
    if (first === undefined) throw new Error('nothing was claimed');
    await stop();
    await reconcile(first, shop.worker);
    expect(await writes()).toEqual([]);
    expect(await shop.world.store.attempts('under way')).toEqual([]);
    // It is released, and what comes next knows.
    expect((await shop.pass('under way')).status).toMatchObject({ condition: 'AccountPaused', task: null });
  });

  test('it is stopped for processes that start later, and other accounts go on', async () => {
    await new AccountStore(shop.world.db.database).register(['other']);
    await stop();
    await shop.order('stopped');
    await shop.world.run(shop.world.worker({ clock: shop.clock }), 2);
    expect((await shop.get('stopped')).status.condition).toBe('AccountPaused');
    const accounts = AccountList.parse((await shop.asSupport('GET', '/v1/accounts')).json());
    expect(accounts.items.map(({ account, paused }) => [account, paused?.by])).toEqual([
      ['default', 'lead'],
      ['other', undefined],
    ]);
  });

  test('an answer that was under way is kept, and what it did is counted until then', async () => {
    await shop.order('sent');
    await shop.control.inject({
      route: 'payment_intents.confirm',
      kind: 'delay_after',
      delay_ms: 400,
      times: 1,
    });
    const passes = shop.world.run(shop.worker, 1);
    let account: AccountOut | undefined;
    for (let turn = 0; turn < 100 && (account?.writes_under_way ?? 0) === 0; turn += 1) {
      await pause(10);
      account = AccountList.parse((await shop.asSupport('GET', '/v1/accounts')).json()).items[0];
      const attempts = await shop.world.store.attempts('sent');
      if (!attempts.some(({ step, outcome }) => step === 'confirm_payment' && outcome === null))
        account = undefined;
    }
    expect(account?.writes_under_way).toBe(1);
    expect((await stop()).writes_under_way).toBe(1);
    await passes;
    // The money that was on its way is known; the stock is not committed.
    const { status } = await shop.pass('sent');
    expect(status).toMatchObject({ condition: 'AccountPaused', payment: { state: 'captured' } });
    expect((await stop()).writes_under_way).toBe(0);
    await goOn();
    await shop.world.db.database.query('UPDATE provider_accounts SET rate = NULL, rate_since = NULL');
    expect((await shop.settle('sent')).status.phase).toBe('fulfilled');
    expect((await shop.control.ledger('sent')).violations).toEqual([]);
  });
});

test('from the answer on no intent is recorded, however many workers are at it', async () => {
  const names = ids('storm', 40);
  await Promise.all(names.map((name) => shop.order(name)));
  const workers = ids('worker', 4).map(() => shop.world.worker({ clock: shop.clock }));
  const running = Promise.all(workers.map((by) => shop.world.run(by, 40)));
  await pause(60);
  await stop();
  const attempts = async (): Promise<string> => {
    const [row] = await shop.world.db.database.query<{ n: string }>(
      'SELECT count(*) AS n FROM operation_attempts',
    );
    return row?.n ?? '';
  };
  const atTheAnswer = await attempts();
  await running;
  await makeDue();
  await Promise.all(workers.map((by) => shop.world.run(by, 20)));
  expect(await attempts()).toBe(atTheAnswer);

  await goOn();
  const limited = (await new AccountStore(shop.world.db.database).list())[0];
  expect(limited?.limited).toBe(true);
  // All that waited are due, and let go by turns: five a second at first.
  const first = await claim();
  expect(first.claims.length).toBeLessThan(10);
  await Promise.all(first.claims.map((one) => reconcile(one, shop.worker)));
  const by = shop.world.worker();
  for (let turn = 0; turn < 400; turn += 1) {
    await shop.world.run(by, 60);
    const [row] = await shop.world.db.database.query<{ n: string }>(
      `SELECT count(*) AS n FROM order_operations WHERE phase <> 'fulfilled'`,
    );
    if (row?.n === '0') break;
    if (turn === 4) await shop.world.db.database.query('UPDATE provider_accounts SET rate = 200');
    await pause(50);
  }
  const books = await Promise.all(names.map((name) => shop.control.ledger(name)));
  expect(books.map(({ captured }) => captured)).toEqual(names.map(() => 10_000));
  expect(books.flatMap(({ violations }) => violations)).toEqual([]);
}, 60_000);

test('a pass that saw the stop and ends after the resume does not leave its order waiting', async () => {
  await shop.order('late');
  await stop();
  const { claims } = await claim();
  await goOn();
  const [late] = claims;
  if (late === undefined) throw new Error('nothing was claimed');
  await reconcile(late, shop.worker);
  expect((await shop.get('late')).status.condition).toBe('AccountPaused');
  const [row] = await shop.world.db.database.query<{ due: boolean }>(
    'SELECT next_attempt_at <= now() AS due FROM order_operations',
  );
  expect(row?.due).toBe(true);
});

describe('who may, and what is told', () => {
  test('a lead stops and resumes; each change is told once, with who and why', async () => {
    const body = { reason: 'a look' };
    expect(refusal(await shop.asSupport('POST', '/v1/accounts/default/pause', { body }))).toEqual([
      403,
      'scope_missing',
    ]);
    expect(refusal(await shop.call('GET', '/v1/accounts'))).toEqual([403, 'scope_missing']);
    expect(refusal(await shop.as('lead')('POST', '/v1/accounts/nobody/pause', { body }))).toEqual([
      404,
      'not_found',
    ]);
    expect(refusal(await shop.as('lead')('POST', '/v1/accounts/%00/resume', { body }))).toEqual([
      404,
      'not_found',
    ]);
    expect(refusal(await shop.as('lead')('POST', '/v1/accounts/default/pause', { body: {} }))).toEqual([
      400,
      'invalid_request',
      '/reason',
    ]);
    await stop('first');
    expect((await stop('second')).paused?.reason).toBe('first');
    expect((await goOn()).paused).toBeNull();
    const { events, paused } = await goOn();
    expect(paused).toBeNull();
    expect(events.map(({ type, reason, actor }) => [type, reason, actor.name])).toEqual([
      ['resumed', 'repaired', 'lead'],
      ['paused', 'first', 'lead'],
    ]);
    expect(shop.logged.filter((line) => line.includes('all writes of the account are stopped'))).toHaveLength(
      1,
    );
  });

  test('an account shows who it is, how it is and what its brake has used', async () => {
    const contacted = AccountList.parse((await shop.asSupport('GET', '/v1/accounts')).json()).items[0];
    expect(contacted).toMatchObject({ configured: true, identity: { state: 'not_contacted' }, rate: null });
    await shop.order('refunded');
    await shop.world.run(shop.worker, 1);
    const refund = { refund_id: 'r1', amount: 2_500 };
    await shop.call('POST', pathOf('refunded', '/refunds'), { body: refund });
    await shop.pass('refunded');
    const store = new AccountStore(shop.world.db.database);
    await store.stop('default', 'refused', 'The key is refused.');
    await store.throttled('default', 60_000, 10);
    const [account] = AccountList.parse((await shop.asSupport('GET', '/v1/accounts')).json()).items;
    expect(account).toMatchObject({
      identity: { state: 'verified', livemode: false },
      breaker: { state: 'open', reason: 'refused', message: 'The key is refused.' },
      refund_brake: {
        limits: { refunds: 1_000 },
        used: { refunds: 1, amounts: { EUR: 2_500 } },
        met_at: null,
      },
      rate: 5,
      writes_under_way: 0,
    });
    expect(account?.throttled_until).not.toBeNull();
  });
});
