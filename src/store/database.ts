/** The connection to Postgres: it may be away at any moment, also at start, and comes back by itself. */
import { Pool } from 'pg';
import {
  DataSource,
  type EntityTarget,
  MigrationExecutor,
  type ObjectLiteral,
  QueryFailedError,
  type Repository,
} from 'typeorm';
import { Operations1700000000001 } from '../../migrations/0001-operations.js';
import { ProviderEvents1700000000002 } from '../../migrations/0002-provider-events.js';
import { Accounts1700000000003 } from '../../migrations/0003-accounts.js';
import { Deadlines1700000000004 } from '../../migrations/0004-deadlines.js';
import { CheapWrites1700000000005 } from '../../migrations/0005-cheap-writes.js';
import { MoneyOutBrake1700000000006 } from '../../migrations/0006-money-out-brake.js';
import { BrokenPasses1700000000007 } from '../../migrations/0007-broken-passes.js';
import { Commands1700000000008 } from '../../migrations/0008-commands.js';
import { Support1700000000009 } from '../../migrations/0009-support.js';
import { Findings1700000000010 } from '../../migrations/0010-findings.js';
import { MoneyOutTurns1700000000012 } from '../../migrations/0012-money-out-turns.js';
import { LeanRows1700000000013 } from '../../migrations/0013-lean-rows.js';
import { FindingCommands1700000000014 } from '../../migrations/0014-finding-commands.js';
import { BulkCommands1700000000015 } from '../../migrations/0015-bulk-commands.js';
import { AccountSteps1700000000017 } from '../../migrations/0017-account-steps.js';
import { Deciding1700000000018 } from '../../migrations/0018-deciding.js';
import { Retention1700000000016 } from '../../migrations/0016-retention.js';
import { OperationAttemptRow, OperationEventRow, OrderOperationRow } from './entities.js';

/**
 * A statement that each connection parses and plans once. Its result columns are named one by one: with `*`, a column
 * added by a later version would break the statement in processes of this one.
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
  /** Of statements that do not wait; those that wait for a lock have as many again, opened when one does. */
  readonly pool_size?: number;
  readonly application_name?: string;
  /** How long a patient statement waits for a row that somebody else keeps locked. */
  readonly lock_timeout_ms?: number;
  /** Told of lost idle connections; the pool replaces them by itself. */
  readonly on_connection_lost?: (error: unknown) => void;
}

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
  readonly #source: DataSource;
  /** For what waits. */
  readonly #patient: Pool;
  #connecting: Promise<void> | null = null;

  constructor(options: DatabaseOptions) {
    const name = options.application_name ?? 'order-reconciler';
    const connections = options.pool_size ?? 10;
    const lost = (error: unknown): void => options.on_connection_lost?.(error);
    // Compiling a statement anew at each call pays for reports; ours are short, whatever the planner expects of a backlog.
    const settings = { statement_timeout: STATEMENT_TIMEOUT_MS, keepAlive: true, options: '-c jit=off' };
    const patience = options.lock_timeout_ms ?? STATEMENT_TIMEOUT_MS;
    this.#patient = new Pool({
      connectionString: options.url,
      application_name: name,
      max: connections,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      ...settings,
      lock_timeout: patience,
    });
    this.#patient.on('error', lost);
    this.#source = new DataSource({
      type: 'postgres',
      url: options.url,
      applicationName: name,
      poolSize: connections,
      connectTimeoutMS: CONNECT_TIMEOUT_MS,
      poolErrorHandler: lost,
      extra: { ...settings, lock_timeout: Math.min(HURRY_MS, patience) },
      entities: [OrderOperationRow, OperationAttemptRow, OperationEventRow],
      migrations: [
        Operations1700000000001,
        ProviderEvents1700000000002,
        Accounts1700000000003,
        Deadlines1700000000004,
        CheapWrites1700000000005,
        MoneyOutBrake1700000000006,
        BrokenPasses1700000000007,
        Commands1700000000008,
        Support1700000000009,
        Findings1700000000010,
        MoneyOutTurns1700000000012,
        LeanRows1700000000013,
        FindingCommands1700000000014,
        BulkCommands1700000000015,
        Retention1700000000016,
        AccountSteps1700000000017,
        Deciding1700000000018,
      ],
      migrationsTableName: 'schema_migrations',
      synchronize: false,
      logging: false,
    });
  }

  /** Runs one statement and returns its rows. Throws StoreUnavailable, or what Postgres said. */
  async query<Row>(
    sql: string | Prepared,
    parameters: readonly unknown[] = [],
    patience: Patience = 'patient',
  ): Promise<Row[]> {
    await this.connect();
    const { master } = this.#source.driver as unknown as { readonly master: Pool };
    try {
      return await this.#run<Row>(master, sql, parameters);
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
        return await this.guarded(() => pool.query<Row & object>(query).then(({ rows }) => rows));
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
    await this.connect();
    return this.#source.getRepository(entity);
  }

  /** Connects when that has not been done; callers share one try. */
  async connect(): Promise<void> {
    if (this.#source.isInitialized) return;
    this.#connecting ??= this.#source
      .initialize()
      .then(() => undefined)
      .finally(() => {
        this.#connecting = null;
      });
    try {
      await this.#connecting;
    } catch (error) {
      throw new StoreUnavailable(error);
    }
  }

  /**
   * Brings the schema up. Several processes may do so at once: the lock makes them take turns, and the later ones
   * find nothing left to do. Returns the names of the migrations that this call ran.
   */
  async migrate(): Promise<string[]> {
    await this.connect();
    const runner = this.#source.createQueryRunner();
    try {
      await runner.connect();
      await runner.query('SET statement_timeout = 0; SET lock_timeout = 0');
      await runner.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
      // A change of a table that waits for a lock holds up everybody who comes after it.
      await runner.query(`SET lock_timeout = ${STATEMENT_TIMEOUT_MS}`);
      // On this connection, without the time limit of the others: with large tables it takes its time.
      const executor = new MigrationExecutor(this.#source, runner);
      executor.transaction = 'each';
      const ran = await executor.executePendingMigrations();
      return ran.map((migration) => migration.name);
    } catch (error) {
      throw translated(error);
    } finally {
      await runner.query('SELECT pg_advisory_unlock_all()').catch(() => undefined);
      await runner.query('RESET statement_timeout; RESET lock_timeout').catch(() => undefined);
      await runner.release();
    }
  }

  /** Names of the migrations that this code has and the database has not. */
  async pendingMigrations(): Promise<string[]> {
    const [table] = await this.query<{ name: string | null }>(
      `SELECT to_regclass('schema_migrations')::text AS name`,
    );
    const done =
      table?.name == null ? [] : await this.query<{ name: string }>('SELECT name FROM schema_migrations');
    const names = new Set(done.map((row) => row.name));
    return this.#source.migrations
      .map((m) => m.name ?? m.constructor.name)
      .filter((name) => !names.has(name));
  }

  async close(): Promise<void> {
    await this.#connecting?.catch(() => undefined);
    if (!this.#patient.ended) await this.#patient.end();
    if (this.#source.isInitialized) await this.#source.destroy();
  }
}

/** Any constant that other users of the same database are unlikely to lock: the first bytes of "order-reconciler". */
const MIGRATION_LOCK = 0x6f72646572;

function translated(error: unknown): unknown {
  const driver: unknown = error instanceof QueryFailedError ? error.driverError : error;
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
