/** The product with a worker that is lost on purpose: what it takes to stop it at a point, and to see what came of it. */
import { Client as Session } from 'pg';
import type { Stage } from './crash-steps.js';
import { aProduct, Client, until, type Process, type Product } from './product.js';
import type { JournalEntry, LedgerEntry } from './sandbox-control.js';

/** Long enough to bring 27 orders to their points on two slow cores, before the first of them gives up. */
export const PROVIDER_TIMEOUT_MS = 3_000;
export const LEASE_MS = 7_000;
export const SWEEP_INTERVAL_MS = 300;

export interface TryRow {
  readonly attempt_id: number;
  readonly operation_id: string;
  readonly step: string;
  readonly effect_key: string;
  readonly parameters: string;
  readonly fencing_token: number;
  readonly started_at: Date;
  readonly outcome: string | null;
  readonly failure: { readonly code: string } | null;
  readonly request_id: string | null;
  readonly resolution: string | null;
}
export interface EventRow {
  readonly sequence: number;
  readonly operation_id: string;
  readonly at: Date;
  readonly type: string;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>> | null;
}
/** Everything there is to know about some orders, from the records and from the world. */
export interface Evidence {
  readonly tries: readonly TryRow[];
  readonly events: readonly EventRow[];
  /** As the API shows it, without the times of readings. */
  readonly status: Readonly<Record<string, unknown>>;
  readonly ledger: LedgerEntry;
  readonly requests: readonly JournalEntry[];
}

export interface Arena extends Stage {
  readonly product: Product;
  /** A connection of its own, whose transactions span several statements. */
  readonly lock: JournalLock;
  worker(): Promise<Process>;
  /** Waits until the orders are held, and whoever holds them has done all that it can do without writing. */
  standing(ids: readonly string[]): Promise<void>;
  /** On the clock of the database. */
  now(): Promise<Date>;
  query<Row>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>;
  triesOf(ids: readonly string[]): Promise<TryRow[]>;
  gather(ids: readonly string[]): Promise<Map<string, Evidence>>;
  /** Waits until the orders have settled, or wait for their customer, and nobody holds or looks at them. */
  quiet(ids: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Keeps every worker from writing what it knows: claims and wishes go through, while what records answers, facts and
 * intents waits in Postgres. A statement for many orders does so for a moment only; then each of them waits with a
 * statement of its own. No hook in the product: a SHARE lock on the table of attempts.
 */
export interface JournalLock {
  take(): Promise<void>;
  /** How many statements wait for it, each for one order, and will not give up soon. */
  waiting(): Promise<number>;
  /** Breaks the connections of those that wait: their statements never happen. */
  cutOff(): Promise<void>;
  /** Lets those that wait go through, also for a process that is dead by now: Postgres has their statements. */
  free(): Promise<void>;
}

/** More than can be under way when somebody begins to wait. */
const RECENT_REQUESTS = 200;
/** So many looks in a row without a request, 25 ms apart, are no pause between two of them. */
const STILL_LOOKS = 12;

/** Longer than a statement for many orders waits. */
const PATIENT_MS = 350;

const WAITING = `FROM pg_stat_activity
  WHERE datname = current_database()
    AND pid IN (SELECT pid FROM pg_locks WHERE relation = 'operation_attempts'::regclass AND NOT granted)`;

export async function anArena(environment: Record<string, string> = {}): Promise<Arena> {
  const product = await aProduct({
    PROVIDER_TIMEOUT_MS: String(PROVIDER_TIMEOUT_MS),
    LEASE_MS: String(LEASE_MS),
    SWEEP_INTERVAL_MS: String(SWEEP_INTERVAL_MS),
    ...environment,
  });
  const api = await product.start('api');
  const { database } = product.db;
  const holder = new Session({ connectionString: product.db.url, application_name: 'test' });
  await holder.connect();
  const query = <Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> =>
    database.query<Row>(sql, parameters);
  const client = new Client(api);
  const { control } = product;

  const waiting = async (): Promise<number> => {
    const [row] = await query<{ n: number }>(
      `SELECT count(*)::int AS n ${WAITING} AND query_start < clock_timestamp() - make_interval(secs => $1::float8 / 1000)`,
      [PATIENT_MS],
    );
    return row?.n ?? 0;
  };
  const triesOf = (ids: readonly string[]): Promise<TryRow[]> =>
    query<TryRow>(
      `SELECT o.operation_id, a.attempt_id::int, a.step, a.effect_key, a.parameters::text, a.fencing_token::int,
         a.started_at, a.outcome, a.failure, a.request_id, a.resolution
       FROM operation_attempts a JOIN order_operations o ON o.id = a.operation
       WHERE o.operation_id = ANY ($1) ORDER BY a.attempt_id`,
      [ids],
    );

  return {
    product,
    url: api.url,
    client,
    control,
    query,
    triesOf,
    lock: {
      async take() {
        await holder.query('BEGIN');
        await holder.query('LOCK TABLE operation_attempts IN SHARE MODE');
      },
      waiting,
      async cutOff() {
        await query(`SELECT pg_terminate_backend(pid) ${WAITING}`);
        await until(
          async () => (await query(`SELECT 1 ${WAITING}`)).length === 0,
          'the broken connections to be gone',
        );
      },
      free: () => holder.query('COMMIT').then(() => undefined),
    },
    worker: () => product.start('worker'),
    async standing(ids) {
      let still = 0;
      let last = -1;
      const after = Math.max(0, (await control.journalSequence()) - RECENT_REQUESTS);
      await until(async () => {
        const held = await query(
          'SELECT 1 FROM order_operations WHERE operation_id = ANY ($1) AND lease_holder IS NOT NULL',
          [ids],
        );
        const requests = await control.journal({ after });
        const done = held.length === ids.length && requests.every(({ status }) => status !== null);
        still = done && requests.length === last ? still + 1 : 0;
        last = requests.length;
        return still >= STILL_LOOKS || null;
      }, 'the worker to stand still');
    },
    async now() {
      const [row] = await query<{ now: Date }>('SELECT clock_timestamp() AS now');
      return row?.now ?? new Date(0);
    },
    async gather(ids) {
      const [tries, events, requests] = await Promise.all([
        triesOf(ids),
        query<EventRow>(
          `SELECT o.operation_id, e.sequence::int, e.at, e.type, e.message, e.data
           FROM operation_events e JOIN order_operations o ON o.id = e.operation
           WHERE o.operation_id = ANY ($1) ORDER BY e.sequence`,
          [ids],
        ),
        control.journal(),
      ]);
      const evidence = await Promise.all(
        ids.map(async (id): Promise<[string, Evidence]> => {
          const [answer, ledger] = await Promise.all([client.get(id), control.ledger(id)]);
          const of = <Item extends { operation_id: string | null }>(items: readonly Item[]): Item[] =>
            items.filter((item) => item.operation_id === id);
          return [
            id,
            {
              tries: of(tries),
              events: of(events),
              requests: of(requests),
              ledger,
              status: timeless(answer.body.status),
            },
          ];
        }),
      );
      return new Map(evidence);
    },
    async quiet(ids) {
      await until(
        async () => {
          const rows = await query<{ operation_id: string }>(
            `SELECT operation_id FROM order_operations
             WHERE operation_id = ANY ($1)
               AND (settled_at IS NULL AND phase <> 'payment_failed'
                 OR lease_holder IS NOT NULL OR next_attempt_at <= now() + interval '5 seconds')`,
            [ids],
          );
          if (rows.length > 0) throw new Error(rows.map((row) => row.operation_id).join(', '));
          return true;
        },
        'all orders to rest',
        30_000,
      );
    },
    async stop() {
      await holder.end();
      await product.stop();
    },
  };
}

/** Without what a look changes that finds nothing new. */
function timeless(status: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return JSON.parse(
    JSON.stringify(status, (name, value: unknown) =>
      name === 'observed_at' || name === 'next_attempt_at' || name === 'as_of' ? undefined : value,
    ),
  ) as Readonly<Record<string, unknown>>;
}
