/** One entry: `node .` runs the roles named by ROLE, `node . migrate` brings the schema up and exits. */
import 'reflect-metadata';
import { migrate, startApplication } from './application.js';
import { readConfig, readMigrateConfig } from './config.js';
import { Database } from './store/database.js';
import { createLogger } from './telemetry/logger.js';

async function runMigrate(): Promise<void> {
  const config = readMigrateConfig();
  const logger = createLogger(config.LOG_LEVEL);
  const database = new Database({ url: config.DATABASE_URL, pool_size: 2 });
  const { queueBackend } = await import('./queue/backend.js');
  try {
    const ran = await migrate(
      database,
      queueBackend({ redis: config.REDIS_URL, database: config.DATABASE_URL }),
    );
    logger.info({ ran }, 'the schema is up to date');
  } finally {
    await database.close();
  }
}

async function run(): Promise<void> {
  const config = readConfig();
  const logger = createLogger(config.LOG_LEVEL);
  let stopping = false;
  const starting = startApplication(config, logger);

  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) {
      // Asked twice: what is under way is found again by reading.
      logger.warn({ signal }, 'stopping at once');
      process.exit(1);
    }
    stopping = true;
    logger.info({ signal }, 'stopping');
    const overdue = setTimeout(() => {
      logger.error({}, 'the grace period is over; what is under way is found again by reading');
      process.exit(1);
    }, config.SHUTDOWN_GRACE_MS);
    overdue.unref();
    starting
      .then((application) => application.stop())
      .then(
        () => process.exit(0),
        (error: unknown) => {
          logger.error({ err: error }, 'stopping failed');
          process.exit(1);
        },
      );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  await starting;
}

const [command, ...rest] = process.argv.slice(2);
if ((command !== undefined && command !== 'migrate') || rest.length > 0) {
  process.stderr.write('usage: node . [migrate]\n');
  process.exitCode = 2;
} else {
  (command === 'migrate' ? runMigrate() : run()).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  });
}
