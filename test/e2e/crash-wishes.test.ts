import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { anArena, LEASE_MS, type Arena, type Evidence } from '../support/crash-arena.js';
import { patch, STEP_CASES, type StepCase } from '../support/crash-steps.js';
import { until, type Process } from '../support/product.js';

/** What a shop asks for while a call is under way whose worker is gone. */
interface Wish {
  readonly name: string;
  ask(arena: Arena, id: string): Promise<void>;
}

const asked = (arena: Arena, id: string, action: string, body?: unknown): Promise<number> =>
  arena.client.call('POST', `/v1/operations/${id}/${action}`, body).then(({ status }) => status);
const refund = (arena: Arena, id: string, refund_id: string, amount: number): Promise<number> =>
  asked(arena, id, 'refunds', { refund_id, amount });
/** Refusals are answers, too: what counts is what becomes of the order. */
const changed = (arena: Arena, id: string, change: Record<string, unknown>): Promise<void> =>
  patch(arena, id, change).catch((error: unknown) => {
    if (!/answered (400|422)/.test(String(error))) throw error;
  });

const WISHES: readonly Wish[] = [
  {
    name: 'cancel',
    ask: async (arena, id) => void (await asked(arena, id, 'cancel')),
  },
  {
    name: 'two refunds and cancel',
    async ask(arena, id) {
      await Promise.all([
        refund(arena, id, 'r8', 4_000),
        refund(arena, id, 'r9', 4_000),
        refund(arena, id, 'r9', 4_000),
      ]);
      await Promise.all([asked(arena, id, 'cancel'), asked(arena, id, 'cancel')]);
    },
  },
  { name: 'a lower amount', ask: (arena, id) => changed(arena, id, { amount: { value: 8_800 } }) },
  { name: 'a higher amount', ask: (arena, id) => changed(arena, id, { amount: { value: 15_500 } }) },
  {
    name: 'other goods',
    ask: (arena, id) => changed(arena, id, { lines: [{ sku: 'tea-500', quantity: 3 }] }),
  },
  {
    name: 'another try',
    ask: async (arena, id) =>
      void (await asked(arena, id, 'payment', { payment_method: 'pm_card_mastercard' })),
  },
];

type Held = 'delay_before' | 'delay_after';
interface Order {
  readonly id: string;
  readonly kind: StepCase;
  readonly held: Held;
  readonly wish: Wish;
}
const HELD: readonly Held[] = ['delay_before', 'delay_after'];
const ORDERS: readonly Order[] = WISHES.flatMap((wish) =>
  HELD.flatMap((held) =>
    STEP_CASES.map((kind) => ({
      wish,
      held,
      kind,
      id: `${wish.name}, ${held}, ${kind.step}`.replaceAll(/\W+/g, '-'),
    })),
  ),
);

/** Orders at a time: as many as one process brings to their points before the first call is given up. */
const AT_ONCE = { killed: 27, alive: 54 } as const;
/** The call ends after its worker's lease, or while its worker waits for it. */
const HELD_MS = { killed: LEASE_MS + 1_000, alive: 1_500 } as const;

interface Found extends Evidence {
  readonly spec: Spec;
  readonly attention: string | null;
}

describe.each(['killed', 'alive'] as const)('the worker is %s', (worker) => {
  let arena: Arena;
  let current: Process;
  let alive = false;
  const found = new Map<string, Found>();
  beforeAll(async () => {
    arena = await anArena();
  }, 60_000);
  afterAll(() => arena.stop());

  const size = AT_ONCE[worker];
  const rounds = Array.from({ length: ORDERS.length / size }, (_, index) => ({
    round: index + 1,
    orders: ORDERS.slice(index * size, (index + 1) * size),
  }));

  describe.each(rounds)('round $round', ({ orders }) => {
    beforeAll(async () => {
      if (!alive) current = await arena.worker();
      alive = true;
      for (let at = 0; at < orders.length; at += 9) {
        await Promise.all(orders.slice(at, at + 9).map(({ kind, id }) => kind.prepare(arena, id)));
      }
      const after = await arena.control.journalSequence();
      await callsAreUnderWay(arena, orders, HELD_MS[worker], after);
      if (worker === 'killed') {
        current.kill('SIGKILL');
        alive = false;
        await current.exited;
      }
      await Promise.all(orders.map(({ wish, id }) => wish.ask(arena, id)));
      if (worker === 'killed') current = await arena.worker();
      alive = true;
      await comesToRest(arena, orders, after);
      for (const [id, one] of await all(arena, orders)) found.set(id, one);
    }, 90_000);

    test.each(orders.map((order) => [order.wish.name, order.kind.step, order.held, order] as const))(
      '%s during %s, %s',
      (_wish, _step, _held, { id }) => {
        const seen = found.get(id);
        if (seen === undefined) throw new Error(`${id} was not seen`);
        theMoneyIsRight(seen);
        theRecordIsTrue(seen);
        theWishIsKept(seen);
      },
    );
  });
});

async function callsAreUnderWay(
  arena: Arena,
  orders: readonly Order[],
  delay_ms: number,
  after: number,
): Promise<void> {
  const { control } = arena;
  for (const { id, kind, held } of orders) {
    await control.inject({ route: kind.route, kind: held, delay_ms, match: { operation_id: id } });
  }
  await Promise.all(orders.map(({ kind, id }) => kind.trigger(arena, id)));
  await until(async () => {
    const held = new Set(
      (await control.journal({ after }))
        .filter(({ fault }) => fault !== null)
        .map(({ operation_id }) => operation_id),
    );
    const missing = orders.filter(({ id }) => !held.has(id));
    if (missing.length > 0) throw new Error(missing.map(({ id }) => id).join(', '));
    return true;
  }, 'all calls to be under way');
}

/** Nobody works on it, all calls have ended, and the next regular reading has been. */
async function comesToRest(arena: Arena, orders: readonly Order[], after: number): Promise<void> {
  const ids = orders.map(({ id }) => id);
  const rest = (): Promise<unknown> =>
    until(
      async () => {
        const rows = await arena.query<{ operation_id: string }>(
          `SELECT operation_id || ' ' || phase || ' ' || condition AS operation_id FROM order_operations
           WHERE operation_id = ANY ($1)
             AND (lease_holder IS NOT NULL OR next_attempt_at <= now() + interval '10 seconds')`,
          [ids],
        );
        if (rows.length > 0) throw new Error(rows.map((row) => row.operation_id).join(', '));
        return true;
      },
      'all orders to rest',
      40_000,
    );
  await rest();
  await until(
    async () => (await arena.control.journal({ after })).every((request) => request.status !== null),
    'all calls to end',
  );
  await rest();
  await arena.query('UPDATE order_operations SET next_attempt_at = now() WHERE operation_id = ANY ($1)', [
    ids,
  ]);
  await rest();
}

async function all(arena: Arena, orders: readonly Order[]): Promise<Map<string, Found>> {
  const ids = orders.map(({ id }) => id);
  const evidence = await arena.gather(ids);
  const rows = await arena.query<{ operation_id: string; spec: Spec; attention_reason: string | null }>(
    'SELECT operation_id, spec, attention_reason FROM order_operations WHERE operation_id = ANY ($1)',
    [ids],
  );
  return new Map(
    rows.flatMap(({ operation_id, spec, attention_reason }): [string, Found][] => {
      const seen = evidence.get(operation_id);
      return seen === undefined ? [] : [[operation_id, { ...seen, spec, attention: attention_reason }]];
    }),
  );
}

interface Spec {
  readonly desired: string;
  readonly amount: { readonly value: number };
  readonly payment: { readonly capture_amount: number | null };
  readonly lines: readonly { readonly sku: string; readonly quantity: number }[];
  readonly refunds: readonly { readonly refund_id: string; readonly amount: number }[];
}

const ROUTES = new Map<string, string>(STEP_CASES.map(({ step, route }) => [step, route]));

/** No effect twice, whatever was asked and whenever. */
function theMoneyIsRight({ ledger, spec }: Found): void {
  expect(ledger.violations).toEqual([]);
  expect(ledger.intents.length).toBeLessThanOrEqual(1);
  const given = ledger.refunds.filter((one) => one.status !== 'failed' && one.status !== 'canceled');
  const names = given.map((one) => one.metadata['refund_id']);
  expect(new Set(names).size).toBe(names.length);
  for (const { refund_id, amount } of spec.refunds) {
    const [sent] = given.filter(({ metadata }) => metadata['refund_id'] === refund_id);
    if (sent !== undefined) expect(sent.amount).toBe(amount);
  }
}

/** What is said is what is, and no doubt is left. */
function theRecordIsTrue({ ledger, status, tries, requests }: Found): void {
  const { captured, refunded } = ledger;
  expect(status).toMatchObject({
    payment: { captured, refunded },
    inventory: { state: ledger.stock.state },
    money_moved: { verdict: captured > 0 ? 'moved' : 'none', amount: captured - refunded },
    conditions: [{ type: 'Synced', status: 'True' }, { type: 'Ready' }],
  });
  for (const [index, one] of tries.entries()) {
    const later = tries.slice(index).filter((other) => other.effect_key === one.effect_key);
    const answered = later.some(({ outcome }) => outcome !== null && outcome !== 'unknown');
    expect({ one, ended: answered || one.resolution !== null }).toEqual({ one, ended: true });
    // Overtaken: whether it happened can no longer be seen, and does not matter any more.
    if (one.resolution === null || one.resolution === 'overtaken') continue;
    const happened = requests.some(
      ({ route, had_effect, idempotency_key }) =>
        had_effect &&
        route === ROUTES.get(one.step) &&
        (idempotency_key === null || idempotency_key === one.effect_key),
    );
    const said = happened ? 'effect_observed' : 'no_effect_observed';
    expect({ one, said: one.resolution }).toEqual({ one, said });
  }
}

function theWishIsKept({ ledger, spec, status, attention }: Found): void {
  const { captured, refunded, held, stock } = ledger;
  const phase = status['phase'];
  if (spec.desired === 'cancelled') {
    expect({ phase, attention, held, kept: captured - refunded }).toEqual({
      phase: 'cancelled',
      attention: null,
      held: 0,
      kept: 0,
    });
    expect(['none', 'released']).toContain(stock.state);
    return;
  }
  if (attention !== null) {
    // The money or the goods had moved on the former terms, and a person is told so.
    expect(['CapturedAbove', 'CapturedShort', 'StockMismatch']).toContain(attention);
    return;
  }
  if (phase === 'fulfilled') {
    expect(captured).toBe(Math.min(spec.amount.value, spec.payment.capture_amount ?? Infinity));
    expect(refunded).toBe(spec.refunds.reduce((sum, { amount }) => sum + amount, 0));
    if (spec.lines.length > 0) {
      expect(stock).toMatchObject({ state: 'committed', lines: spec.lines, committed: 1 });
    }
    return;
  }
  expect(['authorized', 'payment_failed']).toContain(phase);
}
