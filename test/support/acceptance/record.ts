/**
 * The acceptance record of a failure-injection run. Every member is built from what was observed (rows, the API, the
 * provider's ledger and journal, the stock, logs), never from what the test did, and is compared in full.
 */
import type { Process, Product } from '../product.js';
import type { SandboxControl } from '../sandbox-control.js';

export type Tally = Readonly<Record<string, number>>;
export interface Facts {
  readonly [name: string]: string | number | boolean | readonly string[] | Facts;
}

export interface AcceptanceRecord {
  readonly injected: Facts;
  /** What the product shows meanwhile: phases with their reasons, failure classes with their codes, the account. */
  readonly shown: Facts;
  /** The last that was confirmed before. */
  readonly checkpoint: Facts;
  /** What happened by itself, and what it cost. */
  readonly recovery: Facts;
  readonly final: Facts;
  /** Normally nothing but zeros. */
  readonly left: Facts;
}

/** One row of a table of runs: the test is driven by it, and `docs/acceptance.md` is written from it. */
export interface Run {
  readonly title: string;
  /** Ranks in docs/cases.md; none where the run belongs to no report. */
  readonly cases: readonly number[];
  /** What is done to the product, for a reader. */
  readonly story: string;
  readonly expected: AcceptanceRecord;
}

/** Where a run's orders are. */
export interface Scene {
  readonly ids: readonly string[];
  readonly query: <Row>(sql: string, parameters?: readonly unknown[]) => Promise<Row[]>;
  /** The provider of these orders, and the warehouse; mostly one sandbox. */
  readonly provider: SandboxControl;
  readonly warehouse: SandboxControl;
  readonly account: string;
}

export const sceneOf = (product: Product, ids: readonly string[]): Scene => ({
  ids,
  query: (sql, parameters) => product.db.database.query(sql, parameters),
  provider: product.control,
  warehouse: product.control,
  account: 'default',
});

export function tally(words: Iterable<string>): Tally {
  const counts: Record<string, number> = {};
  for (const word of [...words].sort()) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

const OF_THESE = 'FROM order_operations WHERE operation_id = ANY ($1)';

async function count(scene: Scene, sql: string): Promise<number> {
  const [row] = await scene.query<{ n: number }>(`SELECT count(*)::int AS n ${sql}`, [scene.ids]);
  return row?.n ?? 0;
}

/** Orders by `phase: reason`. */
export async function ordersOf(scene: Scene): Promise<Tally> {
  const rows = await scene.query<{ shown: string }>(
    `SELECT phase || ': ' || condition AS shown ${OF_THESE}`,
    [scene.ids],
  );
  return tally(rows.map((row) => row.shown));
}

/** `class code` of every failure that stands in the way of an order. */
export async function failuresOf(scene: Scene): Promise<string[]> {
  const rows = await scene.query<{ shown: string }>(
    `SELECT DISTINCT (facts->'failure'->>'class') || ' ' || (facts->'failure'->>'code') AS shown ${OF_THESE}
     AND facts->'failure' <> 'null' ORDER BY 1`,
    [scene.ids],
  );
  return rows.map((row) => row.shown);
}

export const failingWith = (scene: Scene, failureClass: string): Promise<number> =>
  count(scene, `${OF_THESE} AND facts->'failure'->>'class' = '${failureClass}'`);

const needingAPerson = (scene: Scene): Promise<number> =>
  count(scene, `${OF_THESE} AND attention_reason IS NOT NULL`);

/** What support and operators are shown of the orders and their account at this moment. */
export const shownOf = async (scene: Scene): Promise<Facts> => ({
  orders: await ordersOf(scene),
  failures: await failuresOf(scene),
  account: await accountOf(scene),
  'orders that need a person': await needingAPerson(scene),
});

/** What it took to get over it: alerts, people, new processes. `alert` and `over` are parts of the log lines. */
export async function recoveryOf(
  scene: Scene,
  processes: readonly Process[],
  alert: readonly string[],
  over: readonly string[],
): Promise<Facts> {
  const outputs = processes.map((one) => one.output());
  const people = `FROM operation_events e JOIN order_operations o ON o.id = e.operation
    WHERE o.operation_id = ANY ($1) AND e.actor_kind = 'person'`;
  return {
    alerts: linesWith(outputs, ...alert),
    'alerts that it is over': linesWith(outputs, ...over),
    'acts of people': await count(scene, people),
    'processes that went on': processes.filter(isAlive).length,
  };
}

function isAlive({ pid }: Process): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The most that any order's own retry budget was used. */
export async function budgetUsed(scene: Scene): Promise<number> {
  const [row] = await scene.query<{ used: number | null }>(
    `SELECT max(greatest((facts->'budget'->>'used')::int, (facts->'budget'->>'reads')::int)) AS used ${OF_THESE}`,
    [scene.ids],
  );
  return row?.used ?? 0;
}

/** `closed`, or `open: reason`; `limited` while less than possible is begun. */
export async function accountOf(scene: Scene): Promise<string> {
  const [row] = await scene.query<{ shown: string }>(
    `SELECT CASE WHEN breaker = 'open' THEN 'open: ' || reason
       WHEN rate IS NOT NULL OR throttled_until > now() THEN 'limited' ELSE breaker END AS shown
     FROM provider_accounts WHERE account = $1`,
    [scene.account],
  );
  return row?.shown ?? 'unknown';
}

/** Orders that are not in `phase`, or that somebody still works on or should. */
export async function unfinished(scene: Scene, phase: string): Promise<number> {
  const [row] = await scene.query<{ n: number }>(
    `SELECT count(*)::int AS n ${OF_THESE}
     AND (phase <> $2 OR lease_holder IS NOT NULL OR next_attempt_at <= now() + interval '1 second')`,
    [scene.ids, phase],
  );
  return row?.n ?? 0;
}

/** Money and goods as the provider and the warehouse have them, and where the orders have come to. */
export async function finalOf(scene: Scene): Promise<Facts> {
  const money = await Promise.all(scene.ids.map((id) => scene.provider.ledger(id)));
  const goods = await Promise.all(scene.ids.map((id) => scene.warehouse.ledger(id)));
  const effects: Record<string, number> = {};
  for (const { effects: done } of money) {
    for (const [name, times] of Object.entries<number>({ ...done })) {
      if (times > 0) effects[name] = (effects[name] ?? 0) + times;
    }
  }
  return {
    orders: await ordersOf(scene),
    captured: money.reduce((sum, entry) => sum + entry.captured, 0),
    refunded: money.reduce((sum, entry) => sum + entry.refunded, 0),
    effects,
    stock: tally(goods.map(({ stock }) => stock.state)),
  };
}

/** A try without an answer whose key was not used again with one, and of which no reading told more. */
const UNKNOWN_TRIES = `FROM operation_attempts a JOIN order_operations o ON o.id = a.operation
  WHERE o.operation_id = ANY ($1) AND coalesce(a.outcome, 'unknown') = 'unknown' AND a.resolution IS NULL
    AND NOT EXISTS (SELECT 1 FROM operation_attempts b WHERE b.operation = a.operation AND b.effect_key = a.effect_key
      AND b.outcome IN ('done', 'pending', 'declined', 'rejected'))`;

export async function leftBy(scene: Scene): Promise<Facts> {
  const money = await Promise.all(scene.ids.map((id) => scene.provider.ledger(id)));
  const goods = await Promise.all(scene.ids.map((id) => scene.warehouse.ledger(id)));
  const known = await scene.query<{ id: string | null }>(`SELECT provider_reference AS id ${OF_THESE}`, [
    scene.ids,
  ]);
  const ours = new Set(known.map((row) => row.id));
  return {
    'tries of unknown outcome': await count(scene, UNKNOWN_TRIES),
    'orders in doubt': await count(scene, `${OF_THESE} AND facts->'unresolved' <> 'null'`),
    'orders that need a person': await needingAPerson(scene),
    'leases held': await count(scene, `${OF_THESE} AND lease_holder IS NOT NULL`),
    'payments of no order': money.flatMap(({ intents }) => intents).filter(({ id }) => !ours.has(id)).length,
    'rules broken': [...money, ...goods].flatMap(({ violations }) => violations).length,
    account: await accountOf(scene),
  };
}

export const NOTHING_LEFT: Facts = {
  'tries of unknown outcome': 0,
  'orders in doubt': 0,
  'orders that need a person': 0,
  'leases held': 0,
  'payments of no order': 0,
  'rules broken': 0,
  account: 'closed',
};

/** Lines of one message in what processes logged. */
const linesWith = (outputs: readonly string[], ...parts: readonly string[]): number =>
  outputs.flatMap((output) => output.split('\n')).filter((line) => parts.every((part) => line.includes(part)))
    .length;
