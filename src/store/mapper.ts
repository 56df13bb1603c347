/** TypeORM, which maps rows for repositories and runs the migrations. Loaded when one of these is asked for. */
import type { PoolConfig } from 'pg';
import { DataSource, MigrationExecutor } from 'typeorm';
import { MIGRATIONS } from '../../migrations/index.js';
import { OperationAttemptRow, OperationEventRow, OrderOperationRow } from './entities.js';

/** `lost`: told of idle connections that broke. */
export const dataSource = (
  { connectionString, ...settings }: PoolConfig & { readonly connectionString: string },
  lost: (error: unknown) => void,
): DataSource =>
  new DataSource({
    type: 'postgres',
    url: connectionString,
    extra: settings,
    poolErrorHandler: lost,
    entities: [OrderOperationRow, OperationAttemptRow, OperationEventRow],
    migrations: [...MIGRATIONS],
    migrationsTableName: 'schema_migrations',
    synchronize: false,
    logging: false,
  });

/** Any constant that other users of the same database are unlikely to lock: the first bytes of "order-reconciler". */
const MIGRATION_LOCK = 0x6f72646572;

/** `lock_timeout_ms`: of a change of a table, for a table that somebody uses. Returns the names of those that were run. */
export async function runMigrations(source: DataSource, lock_timeout_ms: number): Promise<string[]> {
  const runner = source.createQueryRunner();
  try {
    await runner.connect();
    await runner.query('SET statement_timeout = 0; SET lock_timeout = 0');
    await runner.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    // A change of a table that waits for a lock holds up everybody who comes after it.
    await runner.query(`SET lock_timeout = ${lock_timeout_ms}`);
    // On this connection, without the time limit of the others: with large tables it takes its time.
    const executor = new MigrationExecutor(source, runner);
    executor.transaction = 'each';
    const ran = await executor.executePendingMigrations();
    return ran.map((migration) => migration.name);
  } finally {
    await runner.query('SELECT pg_advisory_unlock_all()').catch(() => undefined);
    await runner.query('RESET statement_timeout; RESET lock_timeout').catch(() => undefined);
    await runner.release();
  }
}
