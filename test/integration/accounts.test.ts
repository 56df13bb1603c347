import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { stripeClient } from '../../src/payment/stripe/client.js';
import { StripeProvider } from '../../src/payment/stripe/stripe-provider.js';
import { Accounts } from '../../src/reconciler/accounts.js';
import type { LoopDependencies } from '../../src/reconciler/ports.js';
import { AccountStore, type AccountState } from '../../src/store/account-store.js';
import { aSpec } from '../support/operations.js';
import { aWorld, TEST_TIMEOUT_MS, type World } from '../support/world.js';

const ids = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${name}-${index}`);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('an account in trouble', () => {
  let world: World;
  let store: AccountStore;
  let alerts: string[];

  beforeEach(async () => {
    world = await aWorld();
    store = new AccountStore(world.db.database);
    alerts = [];
  });
  afterEach(() => world.stop());

  /** A worker with `secret` for each of `accounts`, whose error lines are collected. */
  function worker(
    secrets: Record<string, string> = { default: 'sk_test_world' },
    ceiling = 1_000,
  ): LoopDependencies {
    const provider = (secret: string): StripeProvider =>
      new StripeProvider(
        stripeClient({ secret, base: new URL(world.sandbox.url), timeout_ms: TEST_TIMEOUT_MS }),
      );
    const providers = new Map(Object.entries(secrets).map(([name, secret]) => [name, provider(secret)]));
    const log = {
      info: () => undefined,
      warn: () => undefined,
      error: (_data: object, message: string) => void alerts.push(message),
    };
    return world.worker({
      accounts: new Accounts({ store, providers, ceiling, patience_ms: TEST_TIMEOUT_MS / 2, log }),
    });
  }

  async function state(account = 'default'): Promise<AccountState> {
    const found = (await store.list()).find((one) => one.account === account);
    if (found === undefined) throw new Error(`${account} is not known`);
    return found;
  }

  /** Runs passes until `done`, in the time that breaker and backoff want. */
  async function runUntil(done: () => Promise<boolean>, by: LoopDependencies, limit = 30_000): Promise<void> {
    const end = performance.now() + limit;
    while (!(await done())) {
      if (performance.now() > end) throw new Error('waited in vain');
      await world.run(by, 20);
      await pause(50);
    }
  }

  const allIn = (phase: string, names: readonly string[]) => async (): Promise<boolean> =>
    (await world.store.findMany(names)).every((record) => record.status.phase === phase);

  test('an outage opens the breaker once, spends nobody’s budget, needs no person, and ends by itself', async () => {
    const names = ids('outage', 12);
    for (const name of names) await world.create(name);
    const by = worker();
    await world.control.outage({ mode: 'unavailable', surface: 'payments' });
    await runUntil(async () => (await state()).breaker === 'open', by);
    expect(await state()).toMatchObject({ reason: 'outage' });

    // It stays so for a while: only probes go out, and they cost nobody anything.
    const before = await world.control.journalSequence();
    const until = performance.now() + 5_000;
    await runUntil(() => Promise.resolve(performance.now() > until), by);
    const probes = (await world.control.journal({ after: before })).filter(
      (line) => !line.route.startsWith('reservations'),
    );
    expect(probes.length).toBeGreaterThan(0);
    expect(probes.length).toBeLessThanOrEqual(8);
    const during = await world.store.findMany(names);
    expect(during.filter((record) => record.status.attention !== null)).toEqual([]);
    // Those that were under way when it began may have spent some; nobody spends more while it lasts.
    expect(Math.max(...during.map((record) => record.facts.budget.used))).toBeLessThan(by.policy.retry_limit);

    await world.control.outage({ mode: 'none' });
    await runUntil(allIn('fulfilled', names), by);
    expect((await state()).breaker).toBe('closed');
    expect(alerts.filter((line) => line.includes('the account is out'))).toHaveLength(1);
    expect((await world.control.ledgerSummary()).violations).toEqual([]);
    for (const name of names)
      expect((await world.control.ledger(name)).effects).toMatchObject({ confirms: 1 });
  }, 90_000);

  test('one operation’s own failures do not stop the account', async () => {
    const by = worker();
    await world.create('unlucky');
    await world.control.inject({
      route: 'payment_intents.create',
      kind: '503_html',
      times: null,
      match: { operation_id: 'unlucky' },
    });
    const record = await world.settle('unlucky', by);
    expect(record.status.attention?.reason).toBe('RetryBudgetExhausted');
    expect((await state()).breaker).toBe('closed');
    await world.create('lucky');
    expect((await world.settle('lucky', by)).status.phase).toBe('fulfilled');
  }, 60_000);

  test('a revoked key stops the account with one alert, fails no order, and needs no command when it works again', async () => {
    const names = ids('revoked', 5);
    const by = worker();
    await world.create('first-contact');
    await world.settle('first-contact', by);
    await world.control.revokeKey('sk_test_world');
    for (const name of names) await world.create(name);
    await runUntil(async () => (await state()).breaker === 'open', by);
    const until = performance.now() + 5_000;
    await runUntil(() => Promise.resolve(performance.now() > until), by);

    expect(await state()).toMatchObject({ reason: 'refused' });
    expect(alerts).toHaveLength(1);
    const during = await world.store.findMany(names);
    expect(during.filter((record) => record.status.attention !== null)).toEqual([]);
    expect(during.map((record) => record.facts.budget.used)).toEqual(names.map(() => 0));

    await world.control.restoreKey('sk_test_world');
    await runUntil(allIn('fulfilled', names), by);
    expect(await state()).toMatchObject({ breaker: 'closed', reason: null });
  }, 90_000);

  test('a key of another account is noticed before anything is sent under it', async () => {
    await world.create('before');
    await world.settle('before', worker());
    expect((await state()).identity).toMatch(/^acct_/);

    await world.control.addKey('sk_test_other', 'acct_1Other');
    await world.create('after');
    const mistaken = worker({ default: 'sk_test_other' });
    const before = await world.control.journalSequence();
    await world.run(mistaken, 5);
    expect(await state()).toMatchObject({ breaker: 'open', reason: 'wrong_account' });
    const sent = (await world.control.journal({ after: before })).filter(
      (line) => line.method !== 'GET' && line.route.startsWith('payment'),
    );
    expect(sent).toEqual([]);
    expect((await world.get('before')).status.phase).toBe('fulfilled');

    // The right key again: work goes on by itself.
    await runUntil(allIn('fulfilled', ['after']), worker());
    expect((await world.control.ledger('after')).captured).toBe(12_900);
  }, 60_000);

  test('a worker asks who its accounts are before an order needs it: once, and without harm when nobody answers', async () => {
    const questions = async (after: number): Promise<number> =>
      (await world.control.journal({ after })).filter(({ route }) => route === 'account.retrieve').length;
    const before = await world.control.journalSequence();
    const by = worker();
    by.accounts.meet();
    await world.create('met');
    await world.settle('met', by);
    expect(await questions(before)).toBe(1);

    await world.control.outage({ mode: 'unavailable', surface: 'payments' });
    const unanswered = worker();
    unanswered.accounts.meet();
    await pause(300);
    expect(await state()).toMatchObject({ breaker: 'closed', reason: null });
    await world.control.outage({ mode: 'none' });
    const repaired = await world.control.journalSequence();
    await world.create('met later');
    await world.settle('met later', unanswered);
    expect(await questions(repaired)).toBe(1);

    // A key of another account is noticed although nothing is due.
    await world.control.addKey('sk_test_strange', 'acct_1Strange');
    worker({ default: 'sk_test_strange' }).accounts.meet();
    await runUntil(async () => (await state()).reason === 'wrong_account', worker({}));
  }, 30_000);

  test('a throttled account is left alone for as long as it asks, spends no budget, and comes back slowly', async () => {
    const names = ids('throttled', 10);
    for (const name of names) await world.create(name);
    await world.control.inject({ route: 'payment_intents.create', kind: '429', retry_after: 2, times: 1 });
    const by = worker({ default: 'sk_test_world' }, 10);
    const began = Date.now();
    await world.run(by, 10);
    const throttled = await state();
    expect(Date.parse(throttled.throttled_until ?? '')).toBeGreaterThan(began + 1_500);
    const before = await world.control.journalSequence();
    expect(await world.run(by, 20)).toBe(0);
    expect(await world.control.journal({ after: before })).toEqual([]);

    await runUntil(allIn('fulfilled', names), by);
    expect((await world.store.findMany(names)).filter((record) => record.status.attention !== null)).toEqual(
      [],
    );
    await runUntil(async () => !(await state()).limited, by);
  }, 60_000);

  test('one account’s outage does not slow another', async () => {
    await store.register(['other']);
    await world.control.addKey('sk_test_broken', 'acct_1Broken');
    await world.control.addKey('sk_test_sound', 'acct_1Sound');
    await world.control.revokeKey('sk_test_broken');
    const by = worker({ default: 'sk_test_broken', other: 'sk_test_sound' });
    // Many of the broken account are due before the one of the sound account.
    for (const name of ids('broken', 30)) await world.create(name);
    await world.run(by, 10);
    expect((await state()).breaker).toBe('open');
    await world.create('sound', aSpec({ order_id: 'sound' }), 'other');
    await world.run(by, 5);
    expect((await world.get('sound')).status.phase).toBe('fulfilled');
  }, 60_000);

  /** Limits an account as a throttle long ago would have. */
  const meter = (account: string, rate: number, tokens: number): Promise<unknown> =>
    world.db.database.query(
      `UPDATE provider_accounts SET rate = $2, rate_since = now(), tokens = $3, tokens_at = now() WHERE account = $1`,
      [account, rate, tokens],
    );
  const claim = async (
    limit: number,
    worker_: string,
  ): Promise<{ claims: { record: { operation_id: string } }[]; drained: string[] }> =>
    world.passes.claim(limit, worker_, 60_000, 40);

  test('claims at the same moment share what a limited account may bear', async () => {
    for (const name of ids('shared', 60)) await world.create(name);
    // One is saved up, and the next comes in minutes.
    await meter('default', 0.01, 1);
    const claims = await Promise.all(ids('worker', 8).map((name) => claim(20, name)));
    expect(claims.flatMap((one) => one.claims)).toHaveLength(1);
  });

  test('a limit is kept while orders wait, although another account filled the batch', async () => {
    await store.register(['busy']);
    for (const name of ids('ahead', 10)) await world.create(name, aSpec({ order_id: name }), 'busy');
    for (const name of ids('behind', 30)) await world.create(name);
    await meter('default', 20, 5);
    const { claims, drained } = await claim(10, 'worker');
    expect(claims).toHaveLength(10);
    expect(drained).toEqual([]);
  });

  test('a worker that begins during an outage finds that it is one, and blames no order', async () => {
    const names = ids('cold', 6);
    for (const name of names) await world.create(name);
    await world.control.outage({ mode: 'unavailable', surface: 'payments' });
    try {
      // A fresh worker does not even know who the account is.
      await world.run(worker(), 6);
      expect((await state()).breaker).toBe('open');
      const records = await world.store.findMany(names);
      expect(
        records.filter(({ status, facts }) => status.attention !== null || facts.budget.reads > 2),
      ).toEqual([]);
    } finally {
      await world.control.outage({ mode: 'none' });
    }
    await runUntil(allIn('fulfilled', names), worker());
  }, 60_000);

  test('turns that are scarce go to the nearest deadline first, then to who has waited longest', async () => {
    const due = async (name: string, seconds: number, deadlineMinutes: number | null): Promise<void> => {
      const payment_deadline =
        deadlineMinutes === null ? null : new Date(Date.now() + deadlineMinutes * 60_000).toISOString();
      await world.create(name, aSpec({ order_id: name, payment_deadline }));
      await world.db.database.query(
        `UPDATE order_operations SET next_attempt_at = now() - make_interval(secs => $2) WHERE operation_id = $1`,
        [name, seconds],
      );
    };
    await due('first in line', 90, null);
    await due('second in line', 80, null);
    await due('near', 10, 30);
    await due('nearest', 5, 10);
    await due('nearest, and not due', -1_000, 1);
    const turns: string[] = [];
    for (let turn = 0; turn < 5; turn += 1) {
      await meter('default', 0.01, 1);
      const { claims } = await claim(10, 'worker');
      turns.push(...claims.map(({ record }) => record.operation_id));
    }
    expect(turns).toEqual(['nearest', 'near', 'first in line', 'second in line']);
  });

  test('reports of many workers at once are one outage', async () => {
    const results = await Promise.all(
      ids('op', 30).map((operation) => store.trouble('default', operation, 'no answer')),
    );
    expect(results.filter((result) => result.just_opened)).toHaveLength(1);
    expect(await state()).toMatchObject({ breaker: 'open', reason: 'outage' });
    const closed = await Promise.all(ids('op', 10).map(() => store.success('default')));
    expect(closed.filter((result) => result.just_closed)).toHaveLength(1);
  });
});
