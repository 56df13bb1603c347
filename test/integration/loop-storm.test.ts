/** Cancellations, refunds, captures and patches at random moments, on lost answers, in currencies of every kind. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pathOf } from '../support/api.js';
import { aShop, type Shop } from '../support/shop.js';

let shop: Shop;
beforeAll(async () => {
  shop = await aShop();
});
afterAll(() => shop.stop());

/** Per currency: the smallest amount that every provider can express, and what the sandbox counts it as. */
const CURRENCIES = {
  EUR: [100, 1],
  JPY: [1, 1],
  KWD: [10, 1],
  ISK: [1, 100],
  UGX: [1, 100],
  MGA: [100, 0.01],
} as const;
const FAULTS = ['effect_then_drop', 'drop_before', 'effect_then_500', '500_no_effect', '503_html'] as const;
const ROUTES = [
  'payment_intents.create',
  'payment_intents.confirm',
  'payment_intents.capture',
  'payment_intents.cancel',
  'payment_intents.update',
  'refunds.create',
  'reservations.put',
  'reservations.commit',
  'reservations.delete',
] as const;

/** mulberry32 */
function seededBy(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

async function storm(seed: number): Promise<string[]> {
  const random = seededBy(seed);
  const one = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const currency = one(Object.keys(CURRENCIES) as (keyof typeof CURRENCIES)[]);
  const [unit, atProvider] = CURRENCIES[currency];
  const value = 100 * unit;
  const part = (): number => unit * one([1, 30, 50, 70, 100, 120]);
  const id = `storm ${seed} ${currency}`;
  const capture = one(['automatic', 'automatic', 'manual']);
  const payment = {
    capture,
    payment_method: one(['pm_card_visa', 'pm_card_visa', 'pm_card_chargeDeclined']),
  };
  await shop.order(id, {
    amount: { value, currency },
    payment,
    desired: one(['fulfilled', 'fulfilled', 'authorized']),
  });

  const accepted = new Map<string, number>();
  let cancelled = false;
  const said: string[] = [];
  const call = async (path: string, body: unknown): Promise<number> => {
    const { status } = await shop.call('POST', pathOf(id, path), { body });
    said.push(`${path} ${JSON.stringify(body)}: ${status}`);
    if (status >= 500) throw new Error(`${path}: ${status}`);
    return status;
  };
  const patch = async (body: unknown): Promise<void> => {
    const { status } = await shop.change(id, body);
    said.push(`patch ${JSON.stringify(body)}: ${status}`);
    if (status >= 500) throw new Error(`patch: ${status}`);
  };
  const actions: Record<string, () => Promise<unknown>> = {
    pass: () => shop.pass(id),
    cancel: async () => {
      cancelled ||= (await call('/cancel', {})) < 300;
    },
    refund: async () => {
      const [refund_id, amount] = [one(['r1', 'r2', 'r3']), part()];
      if ((await call('/refunds', { refund_id, amount })) < 300) accepted.set(refund_id, amount);
    },
    capture: () => call('/capture', random() < 0.5 ? {} : { amount: part() }),
    amount: () => patch({ amount: { value: part() } }),
    desired: () => patch({ desired: one(['fulfilled', 'authorized']) }),
    again: () => call('/payment', { payment_method: 'pm_card_visa' }),
    fault: () =>
      shop.control.inject({ route: one(ROUTES), kind: one(FAULTS), times: 1, match: { operation_id: id } }),
  };
  const weights = [
    'pass',
    'pass',
    'pass',
    'pass',
    'cancel',
    'refund',
    'refund',
    'capture',
    'amount',
    'desired',
  ];
  const names = [...weights, 'again', 'fault', 'fault', 'fault'];
  for (let turn = 0; turn < 12; turn += 1) {
    const two = [one(names), one(names)];
    if (two[0] === 'pass' && two[1] === 'pass') two.pop();
    // Cancelled at the earliest after half of the time, else most orders would never be paid.
    await Promise.all(
      two.map(async (name) => (name === 'cancel' && turn < 5 ? actions['pass'] : actions[name])?.()),
    );
  }
  await shop.settle(id);
  await shop.later(60_000);
  const { status, spec } = await shop.settle(id);
  const ledger = await shop.control.ledger(id);

  const wrong: string[] = ledger.violations.map(String);
  const expectThat = (holds: boolean, otherwise: string): void => {
    if (!holds) wrong.push(otherwise);
  };
  const sum = [...accepted.values()].reduce((total, amount) => total + amount, 0);
  expectThat(ledger.refunded <= ledger.captured, 'more was given back than taken');
  expectThat(
    Math.abs(status.payment.captured * atProvider - ledger.captured) < 1e-6,
    `captured ${status.payment.captured} of ${ledger.captured}`,
  );
  expectThat(ledger.effects.captures <= 1, 'captured twice');
  if (cancelled) {
    expectThat(status.phase === 'cancelled', `cancelled, and it is ${status.phase} (${status.condition})`);
    expectThat(ledger.captured === ledger.refunded && ledger.held === 0, 'money is kept');
    expectThat(['released', 'none'].includes(ledger.stock.state), `stock ${ledger.stock.state}`);
    expectThat(ledger.stock.released <= 1, 'released twice');
  } else {
    expectThat(sum <= status.payment.captured, 'more was accepted than is captured');
    const waits =
      status.attention !== null || status.phase === 'payment_failed' || status.phase === 'authorized';
    expectThat(waits || status.phase === 'fulfilled', `at rest: ${status.phase} (${status.condition})`);
    if (status.phase === 'fulfilled') {
      expectThat(
        Math.abs(ledger.refunded - sum * atProvider) < 1e-6,
        `${ledger.refunded} given back of ${sum}`,
      );
      expectThat(ledger.refunds.length === accepted.size, 'another number of refunds');
    }
  }
  return wrong.length === 0
    ? []
    : [`${id}: ${wrong.join('; ')}\n${said.join('\n')}\n${JSON.stringify({ spec, status, ledger })}`];
}

const SEEDS = Number(process.env['STORM_SEEDS'] ?? 12);
const FIRST = Number(process.env['STORM_FIRST'] ?? 1);

test('money and stock end as wished, whatever raced', async () => {
  const found: string[] = [];
  for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) found.push(...(await storm(seed)));
  expect(found).toEqual([]);
}, 300_000);
