/** An account that answers, but not to one kind of call; and an order that is alone while the account does not answer. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { requestCancellation } from '../../src/operation/change.js';
import { nextStatus } from '../../src/operation/next-status.js';
import { stripeClient } from '../../src/payment/stripe/client.js';
import { StripeProvider } from '../../src/payment/stripe/stripe-provider.js';
import { Accounts } from '../../src/reconciler/accounts.js';
import type { LoopDependencies } from '../../src/reconciler/ports.js';
import { AccountDesk } from '../../src/store/account-desk.js';
import { AccountStore } from '../../src/store/account-store.js';
import { collectStatistics } from '../../src/store/statistics.js';
import { aWorld, TEST_POLICY, TEST_TIMEOUT_MS, type World } from '../support/world.js';

const STEP = {
  'payment_intents.create': 'create_payment',
  'payment_intents.confirm': 'confirm_payment',
  'refunds.create': 'create_refund',
} as const;

/** Few tries, so that a budget is soon spent where one is. */
const POLICY = { ...TEST_POLICY, retry_limit: 3, backoff_max_ms: 200 };
const ids = (name: string): string[] => Array.from({ length: 5 }, (_, index) => `${name}-${index}`);

let world: World;
let by: LoopDependencies;
let alerts: string[];
beforeEach(async () => {
  world = await aWorld(POLICY);
  alerts = [];
  by = worker('sk_test_world');
});
afterEach(() => world.stop());

function worker(secret: string): LoopDependencies {
  const client = stripeClient({ secret, base: new URL(world.sandbox.url), timeout_ms: TEST_TIMEOUT_MS });
  const log = {
    info: () => undefined,
    warn: () => undefined,
    error: (_data: object, message: string) => void alerts.push(message),
  };
  return world.worker({
    accounts: new Accounts({
      store: new AccountStore(world.db.database),
      providers: new Map([['default', new StripeProvider(client)]]),
      ceiling: 1_000,
      patience_ms: TEST_TIMEOUT_MS / 2,
      log,
    }),
  });
}

/** Passes for so long, or until `done`. */
async function work(ms: number, done: () => Promise<boolean> = () => Promise.resolve(false)): Promise<void> {
  const end = performance.now() + ms;
  while (performance.now() < end && !(await done())) {
    await world.run(by, 20);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}
const phases = async (names: readonly string[]): Promise<string[]> =>
  (await world.store.findMany(names)).map(
    ({ status }) => `${status.phase} ${status.attention?.reason ?? ''}`,
  );
const all = (names: readonly string[], phase: string) => async (): Promise<boolean> =>
  (await phases(names)).every((one) => one === `${phase} `);
const triesOf = async (id: string): Promise<number> => (await world.store.attempts(id)).length;
const tries = async (route: string): Promise<number> => (await world.control.journal({ route })).length;
const breaker = async (): Promise<string | undefined> =>
  (await new AccountStore(world.db.database).list())[0]?.breaker;

async function cancel(id: string): Promise<void> {
  const record = await world.get(id);
  const now = by.clock.now();
  const change = requestCancellation(record, null, { by: 'checkout', now, policy: POLICY });
  if (change.kind !== 'changed') throw new Error(change.kind);
  const { wish, event } = change;
  const after = { ...record, wish, generation: record.generation + 1 };
  await world.store.changeWish({
    operation_id: id,
    resource_version: record.resource_version,
    wish,
    status: nextStatus(after, now, POLICY),
    spec_changed: true,
    event: { ...event, actor: { kind: 'key', name: 'checkout' } },
    transitions: [],
  });
}

test.each([
  ['payment_intents.confirm', '500_no_effect'],
  ['payment_intents.confirm', '503_html'],
  ['payment_intents.create', '503_html'],
  ['refunds.create', '503_html'],
] as const)(
  '%s answers all with %s: no order is blamed, others go on, and it ends by itself',
  async (route, kind) => {
    const names = ids('order');
    const refunds = route === 'refunds.create';
    for (const name of names) await world.create(name);
    if (refunds) {
      await work(10_000, all(names, 'fulfilled'));
      for (const name of names) await cancel(name);
    }
    const { id } = await world.control.inject({ route, kind, times: null });
    // Many times what the budget of one order would take.
    await work(60_000, async () => (await Promise.all(names.map(triesOf))).every((tries) => tries > 8));
    // One try finds out for all: in a second or two at most one more.
    const seconds = 3;
    const before = await tries(route);
    await work(seconds * 1_000);
    expect((await tries(route)) - before).toBeLessThanOrEqual(seconds);
    expect((await phases(names)).filter((one) => !one.endsWith(' '))).toEqual([]);
    expect(await breaker()).toBe('closed');
    expect(alerts).toEqual(['the account answers, but not to this step: orders that need it wait']);
    const [account] = await new AccountDesk(world.db.database, 1_000).list();
    expect(account?.steps_out).toMatchObject([{ step: STEP[route], reason: 'outage' }]);
    const { steps_out } = await collectStatistics(world.db.database, ['default']);
    expect(steps_out).toEqual([{ account: 'default', step: STEP[route] }]);
    if (refunds) {
      await world.create('meanwhile');
      await work(5_000, all(['meanwhile'], 'fulfilled'));
      expect(await phases(['meanwhile'])).toEqual(['fulfilled ']);
    }

    await world.control.removeFault(id);
    await work(30_000, all(names, refunds ? 'cancelled' : 'fulfilled'));
    expect(await phases(names)).toEqual(names.map(() => (refunds ? 'cancelled ' : 'fulfilled ')));
    for (const name of names)
      expect(await world.control.ledger(name)).toMatchObject({
        captured: 12_900,
        refunded: refunds ? 12_900 : 0,
        effects: { confirms: 1, refunds: refunds ? 1 : 0 },
        violations: [],
      });
    expect(await world.db.database.query('SELECT step FROM account_steps')).toEqual([]);
  },
  120_000,
);

test('an order that is alone while nothing answers is not blamed, and goes on by itself', async () => {
  await world.create('first contact');
  await work(5_000, all(['first contact'], 'fulfilled'));
  await world.control.outage({ mode: 'drop', surface: 'payments' });
  await world.create('lonely');
  await work(4_000);
  expect((await world.get('lonely')).facts.budget).toMatchObject({ used: 0, reads: 0 });
  expect(await phases(['lonely'])).toEqual(['payment_unknown ']);
  await world.control.outage({ mode: 'none' });
  await work(20_000, all(['lonely'], 'fulfilled'));
  expect((await world.control.ledger('lonely')).effects).toMatchObject({ creates: 1, confirms: 1 });
}, 60_000);

test('an order whose own calls fail at an account that answers is told to a person', async () => {
  await world.create('unlucky');
  await world.control.inject({ route: 'payment_intents.confirm', kind: '503_html', times: null });
  await work(10_000, async () => (await world.get('unlucky')).status.attention !== null);
  expect((await world.get('unlucky')).status.attention?.reason).toBe('RetryBudgetExhausted');
}, 60_000);

test('a key that may not give back: one alert, the refund waits for nobody but the key, all else goes on', async () => {
  await world.control.addKey('sk_test_restricted', 'acct_1SandboxDefault0', {
    denied_routes: ['refunds.create'],
  });
  by = worker('sk_test_restricted');
  await world.create('paid');
  await work(5_000, all(['paid'], 'fulfilled'));
  await cancel('paid');
  await work(3_000);
  expect(await phases(['paid'])).toEqual(['cancelling ']);
  expect((await world.get('paid')).status.condition).toBe('ProviderRefusesCredential');
  await world.create('next');
  await work(5_000, all(['next'], 'fulfilled'));
  expect(await phases(['next'])).toEqual(['fulfilled ']);
  expect(alerts).toEqual(['the account answers, but not to this step: orders that need it wait']);
  expect(await breaker()).toBe('closed');

  by = worker('sk_test_world');
  await work(10_000, all(['paid'], 'cancelled'));
  expect(await world.control.ledger('paid')).toMatchObject({ refunded: 12_900, effects: { refunds: 1 } });
}, 60_000);
