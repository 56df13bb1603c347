/** The connection to Postgres: it may be away at any moment, also at start, and comes back by itself. */
import { Pool, type PoolClient, type PoolConfig, type QueryConfig } from 'pg';
import type { DataSource, EntityTarget, ObjectLiteral, Repository } from 'typeorm';
import { MIGRATIONS } from '../../migrations/index.js';

/**
 * A statement that each connection parses once, and of which it soon keeps one plan: see LOOKS_UP. Its result columns are named
 * one by one: with `*`, a column added by a later version would break the statement in processes of this one.
 */
export interface Prepared {
  readonly name: string;
  readonly text: string;
}

/** Postgres could not be reached, did not answer in time or has no room; nothing is known to have been written. */
export class StoreUnavailable extends Error {
  constructor(cause: unknown) {
    const { code, message } = described(cause);
    super(`the database is not available: ${message || code}`, { cause });
    this.name = 'StoreUnavailable';
  }
}

export interface DatabaseOptions {
  readonly url: string;
  /** Of statements that do not wait; those that wait for a lock have as many again. Opened when they are needed. */
  readonly pool_size?: number;
  readonly application_name?: string;
  /** How long a patient statement waits for a row that somebody else keeps locked. */
  readonly lock_timeout_ms?: number;
  /** Told of lost idle connections; the pool replaces them by itself. */
  readonly on_connection_lost?: (error: unknown) => void;
}

/** Connections for prepared statements, and for the mapper. */
const MOST_PREPARED = 5;
const MOST_MAPPED = 3;

/** A caller should get its answer, also a bad one, within two seconds or so. */
const CONNECT_TIMEOUT_MS = 2_000;
/** Our statements take milliseconds; one that takes so long waits for something that does not come. */
const STATEMENT_TIMEOUT_MS = 10_000;
/**
 * Ours hold a row for milliseconds. What waits for longer waits for an outsider, and everything that shares its statement,
 * its locks or its connection would wait as well.
 */
const HURRY_MS = 250;
/** Postgres ends a statement by itself before; a connection that says nothing for so long is dropped. */
const SILENCE_MS = STATEMENT_TIMEOUT_MS + 2_000;

/**
 * Of statements whose plan a connection keeps: rows are looked up by an index, also if the tables were so small when it was
 * made that reading them whole would have been cheaper.
 */
export const LOOKS_UP = '-c enable_seqscan=off';

/** SQLSTATEs that say "not now" rather than "not so": connection, resources, an operator, a schema yet to be made. */
const UNAVAILABLE_STATES = /^(08|53|57P|57014|55P03|42P01|42703)/;
/** SQLSTATEs that say "not so" and say it again: data exceptions and constraints. */
const REFUSED_STATES = /^2[23]/;
/** A lock that could not be had in time. */
const LOCKED = '55P03';
/** Of these, the ones of a single statement that waited for too long. */
const WAITED_TOO_LONG = new Set(['57014', LOCKED]);
/** Deadlock and serialization failure. */
const COLLISIONS = new Set(['40P01', '40001']);
const MOST_TRIES = 5;
/** What pg says without a code when a connection is lost or cannot be had in time. */
const UNAVAILABLE_MESSAGES =
  /connection terminated|timeout exceeded when trying to connect|client has encountered a connection error|query read timeout/i;
const UNAVAILABLE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ECONNABORTED',
]);

/**
 * Whether a statement that meets a locked row goes on waiting, on a connection that only such statements use. `hurried`: of
 * many rows, where one must not hold up the others.
 */
export type Patience = 'patient' | 'hurried';

export class Database {
  readonly #usual: Pool;
  readonly #prepared: Pool;
  /** For what waits. */
  readonly #patient: Pool;
  readonly #mapping: () => Promise<DataSource>;
  #mapper: Promise<DataSource> | null = null;

  constructor(options: DatabaseOptions) {
    const name = options.application_name ?? 'order-reconciler';
    const lost = (error: unknown): void => options.on_connection_lost?.(error);
    const patience = options.lock_timeout_ms ?? STATEMENT_TIMEOUT_MS;
    const usual = {
      connectionString: options.url,
      application_name: name,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      max: options.pool_size ?? 10,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      keepAlive: true,
      lock_timeout: Math.min(HURRY_MS, patience),
      // Compiling a statement anew at each call pays for reports; ours are short, whatever the planner expects of a backlog.
      options: '-c jit=off',
    };
    const pool = (own: PoolConfig): Pool => new Pool({ ...usual, ...own }).on('error', lost);
    this.#usual = pool({});
    // Batches take turns, so few are enough; one stays open, for a create that comes after a silence.
    this.#prepared = pool({
      max: Math.min(MOST_PREPARED, usual.max),
      min: 1,
      options: `${usual.options} ${LOOKS_UP}`,
    });
    this.#patient = pool({ lock_timeout: patience });
    // A worker that comes back needs none of it to begin, and it takes a fifth of the time until then to load.
    this.#mapping = async () => {
      const { dataSource } = await import('./mapper.js');
      const settings = { ...usual, max: Math.min(MOST_MAPPED, usual.max) };
      return dataSource(settings, lost).initialize();
    };
  }

  /** Runs one statement and returns its rows. Throws StoreUnavailable, or what Postgres said. */
  async query<Row>(
    sql: string | Prepared,
    parameters: readonly unknown[] = [],
    patience: Patience = 'patient',
  ): Promise<Row[]> {
    const pool = typeof sql === 'string' ? this.#usual : this.#prepared;
    try {
      return await this.#run<Row>(pool, sql, parameters);
    } catch (error) {
      // Postgres undid it. It waits where nobody else's statement waits for a connection meanwhile.
      if (patience === 'hurried' || !isLocked(error)) throw error;
      return await this.#run<Row>(this.#patient, sql, parameters);
    }
  }

  async #run<Row>(pool: Pool, sql: string | Prepared, parameters: readonly unknown[]): Promise<Row[]> {
    const statement = typeof sql === 'string' ? { text: sql } : sql;
    const query = { ...statement, values: [...parameters], query_timeout: SILENCE_MS };
    for (let tried = 1; ; tried += 1) {
      try {
        return await ask<Row>(pool, query);
      } catch (error) {
        // Postgres undid the whole statement so that another could go on: it is simply run again.
        if (tried >= MOST_TRIES || !COLLISIONS.has(described(error).code)) throw error;
      }
    }
  }

  /** Runs a read through a repository with the errors of `query`. */
  async guarded<Result>(read: () => Promise<Result>): Promise<Result> {
    try {
      return await read();
    } catch (error) {
      throw translated(error);
    }
  }

  async repository<Entity extends ObjectLiteral>(entity: EntityTarget<Entity>): Promise<Repository<Entity>> {
    return (await this.#map()).getRepository(entity);
  }

  /** Connects the mapper when that has not been done; callers share one try. */
  async #map(): Promise<DataSource> {
    const mapper = (this.#mapper ??= this.#mapping());
    try {
      return await mapper;
    } catch (error) {
      if (this.#mapper === mapper) this.#mapper = null;
      throw new StoreUnavailable(error);
    }
  }

  /**
   * Brings the schema up. Several processes may do so at once: the lock makes them take turns, and the later ones
   * find nothing left to do. Returns the names of the migrations that this call ran.
   */
  async migrate(): Promise<string[]> {
    const source = await this.#map();
    const { runMigrations } = await import('./mapper.js');
    return this.guarded(() => runMigrations(source, STATEMENT_TIMEOUT_MS));
  }

  /** Names of the migrations that this code has and the database has not. */
  async pendingMigrations(): Promise<string[]> {
    const [table] = await this.query<{ name: string | null }>(
      `SELECT to_regclass('schema_migrations')::text AS name`,
    );
    const done =
      table?.name == null ? [] : await this.query<{ name: string }>('SELECT name FROM schema_migrations');
    const names = new Set(done.map((row) => row.name));
    return MIGRATIONS.map(({ name }) => name).filter((name) => !names.has(name));
  }

  async close(): Promise<void> {
    const pools = [this.#usual, this.#prepared, this.#patient].filter(({ ended }) => !ended);
    await Promise.all(pools.map((pool) => pool.end()));
    const mapper = await this.#mapper?.catch(() => null);
    if (mapper?.isInitialized) await mapper.destroy();
  }
}

/** One statement on a connection of `pool`. Throws StoreUnavailable, also where none can be had, for whatever reason. */
async function ask<Row>(pool: Pool, query: QueryConfig): Promise<Row[]> {
  let connection: PoolClient;
  try {
    connection = await pool.connect();
  } catch (error) {
    throw new StoreUnavailable(error);
  }
  connection.on('error', toldToTheQuery);
  let failed = true;
  try {
    const { rows } = await connection.query<Row & object>(query);
    failed = false;
    return rows;
  } catch (error) {
    throw translated(error);
  } finally {
    connection.off('error', toldToTheQuery);
    connection.release(failed);
  }
}

/** Without a listener the process would end. */
const toldToTheQuery = (): void => undefined;

function translated(error: unknown): unknown {
  // As the mapper tells it.
  const driver: unknown = error instanceof Error && 'driverError' in error ? error.driverError : error;
  const { code, message } = described(driver);
  const away =
    UNAVAILABLE_STATES.test(code) || UNAVAILABLE_CODES.has(code) || UNAVAILABLE_MESSAGES.test(message);
  return away ? new StoreUnavailable(driver) : driver;
}

/** Whether a failure is one of the database as a whole and not of what the statement was about. */
export const isAway = (error: unknown): boolean =>
  error instanceof StoreUnavailable && !WAITED_TOO_LONG.has(described(error.cause).code);

/** Somebody else keeps a row locked that the statement needs. */
export const isLocked = (error: unknown): boolean =>
  error instanceof StoreUnavailable && described(error.cause).code === LOCKED;

/** The statement can never be carried out as it stands: data that is none, or a rule of the schema. */
export const isRefused = (error: unknown): boolean => REFUSED_STATES.test(described(error).code);

/** The name of the constraint that a statement ran into, or null. */
export function violatedConstraint(error: unknown): string | null {
  const { code, constraint } = described(error);
  return code === '23505' ? constraint : null;
}

/** The members that tell errors apart, whatever made them: pg, Node, or another realm than this one. */
function described(error: unknown): { code: string; message: string; constraint: string } {
  const members =
    typeof error === 'object' && error !== null ? (error as Readonly<Record<string, unknown>>) : {};
  const text = (name: string): string => (typeof members[name] === 'string' ? members[name] : '');
  return { code: text('code'), message: text('message'), constraint: text('constraint') };
}
