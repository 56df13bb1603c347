/** A process of each role: what it consists of, how it starts and how it stops. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { ApiDependencies, Readiness } from './api/dependencies.js';
import { probeServer, stopped } from './api/probes/probe-server.js';
import type { Probed } from './api/probes/probes.js';
import { systemClock } from './clock.js';
import type { Config } from './config.js';
import type { QueueBackend } from './queue/backend.js';
import { ClockWork, SWEEP } from './queue/clock-work.js';
import { QueueBell } from './queue/queue-bell.js';
import type { Bell } from './reconciler/bell.js';
import { CommandDesk } from './reconciler/command-desk.js';
import { Sweep } from './reconciler/sweep.js';
import { AccountStore } from './store/account-store.js';
import { CommandStore } from './store/command-store.js';
import { Database } from './store/database.js';
import { type PassStore } from './store/pass-store.js';
import { PostgresOperationStore } from './store/postgres-operation-store.js';
import { collectStatistics } from './store/statistics.js';
import type { Logger } from './telemetry/logger.js';
import { Metrics } from './telemetry/metrics.js';
import { within } from './within.js';
import { apiDependencies, bulkRunnerOf, DECISIONS, housekeepingOf, loopOf, orphanSweepOf } from './wiring.js';

/** Between tries of a start that waits for Postgres. */
const START_PAUSE_MS = 500;

/** A dependency that needs longer to say that it is there is not there. */
const PROBE_PATIENCE_MS = 1_000;

/** A worker whose database is away listens after that, so that its probes can say so. */
const WORK_FIRST_MS = 2_000;

/** As what does the work is asked, on its connections: a pooler may refuse their settings. */
const PREPARED_QUESTION = { name: 'ready', text: 'SELECT 1' };

export interface Application {
  readonly port: number;
  stop(): Promise<void>;
}

/** Listens whatever is away; works as soon as what it needs is there. */
export async function startApplication(config: Config, logger: Logger): Promise<Application> {
  const worker = config.ROLE !== 'api';
  const database = new Database({
    url: config.DATABASE_URL,
    on_connection_lost: (error) => logger.warn({ err: error }, 'an idle database connection was lost'),
  });
  const metrics = new Metrics(() => collectStatistics(database, [...config.accounts.keys()]));
  const loop = loopOf(config, database, metrics, logger);
  let queueBell: Bell | null = null;
  const sweep = worker
    ? new Sweep(
        loop,
        { ring: () => queueBell?.ring() },
        { concurrency: config.WORKER_CONCURRENCY, interval_ms: config.SWEEP_INTERVAL_MS },
      )
    : null;
  const orphans = worker ? orphanSweepOf(config, database, loop, metrics) : null;
  const housekeeping = worker ? housekeepingOf(config, database, loop) : null;
  let draining = false;
  const begin = async (backend: QueueBackend | null): Promise<void> => {
    while (!draining && !(await prepared(config, database, backend, logger))) await pause(START_PAUSE_MS);
    if (draining || sweep === null) return;
    await goOn(config, loop.store, logger);
    await sweep.tick().catch((error: unknown) => logger.warn({ err: error }, 'the first sweep failed'));
  };
  // A worker that comes back has left orders in the middle: it claims before it loads the queue.
  const early = config.ROLE === 'worker' ? begin(null) : null;
  // While it connects: the orders that it claims first would wait for the answer.
  if (early !== null) loop.accounts.meet();
  if (early !== null) await Promise.race([early, pause(WORK_FIRST_MS)]);

  const { queueBackend } = await import('./queue/backend.js');
  const backend = queueBackend({ redis: config.REDIS_URL, database: config.DATABASE_URL });
  const queue = backend.queue((error) => logger.debug({ err: error }, 'the queue connection failed'));
  const bell = new QueueBell(queue, logger);
  queueBell = bell;
  let clockWork: ClockWork | null = null;
  const store = new PostgresOperationStore(database);
  const nearest = sweep === null ? bell : nearBell(sweep, bell, logger);
  const commands = new CommandDesk(store, new CommandStore(database), loop, nearest, {
    approval_amount: config.APPROVAL_AMOUNT,
  });
  const bulk = bulkRunnerOf(config, database, loop, commands);

  const readiness: Readiness = {
    async check() {
      const [postgres, schema, redis] = await Promise.all([
        answerOf(database.query(PREPARED_QUESTION).then(() => 'ok')),
        answerOf(database.pendingMigrations().then((pending) => (pending.length === 0 ? 'ok' : 'behind'))),
        answerOf(backend.ping().then(() => 'ok')),
      ]);
      // The API stores wishes without the queue; a worker without it is late, which its operator should see.
      const ready = !draining && postgres === 'ok' && schema === 'ok' && (!worker || redis === 'ok');
      return { ready, checks: { postgres, schema, queue: redis, process: draining ? 'draining' : 'ok' } };
    },
  };
  const listening =
    config.ROLE === 'worker'
      ? listenForProbes(config, { readiness, metrics }, logger)
      : listenForAll(
          config,
          apiDependencies(config, {
            database,
            metrics,
            logger,
            readiness,
            loop,
            store,
            commands,
            bulk,
            bell: nearest,
            orphans,
            decisionsBell: new QueueBell(queue, logger, DECISIONS),
          }),
        );
  const { port, close } = await listening.catch(async (error: unknown) => {
    // What was begun already is ended first: it would wait for the end of its leases.
    draining = true;
    await sweep?.drain();
    throw error;
  });
  logger.info({ port, role: config.ROLE, queue: backend.kind }, 'listening');

  const started = (early ?? begin(backend)).then(async () => {
    if (draining || sweep === null || orphans === null || housekeeping === null) return;
    clockWork = new ClockWork({
      backend,
      queue,
      schedules: {
        [SWEEP]: { interval_ms: config.SWEEP_INTERVAL_MS, tick: (lasts_ms) => sweep.tick(lasts_ms) },
        orphans: { interval_ms: config.ORPHAN_SWEEP_INTERVAL_MS, tick: () => orphans.tick() },
        // Whoever began one may be gone.
        bulk: { interval_ms: config.SWEEP_INTERVAL_MS, tick: () => bulk.tick() },
        [DECISIONS]: { interval_ms: config.SWEEP_INTERVAL_MS, tick: () => orphans.decided() },
        housekeeping: { interval_ms: config.HOUSEKEEPING_INTERVAL_MS, tick: () => housekeeping.tick() },
      },
      clock: systemClock,
      log: logger,
    });
    await orphans.tick();
  });

  return {
    port,
    async stop() {
      draining = true;
      await started;
      // The API answers what it has begun while passes finish their calls; then nobody uses the connections.
      await Promise.all([
        close(),
        sweep?.drain(),
        orphans?.drain(),
        bulk.drain(),
        housekeeping?.drain(),
        answerOf(clockWork?.close() ?? Promise.resolve('')),
      ]);
      await answerOf(queue.close());
      await backend.close();
      await database.close();
    },
  };
}

interface Listening {
  readonly port: number;
  /** Resolves when no connection is left. */
  readonly close: () => Promise<unknown>;
}

async function listenForProbes({ PORT, HOST }: Config, probed: Probed, logger: Logger): Promise<Listening> {
  const server = probeServer(probed, logger);
  server.listen(PORT, HOST);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () => stopped(server),
  };
}

async function listenForAll({ PORT, HOST }: Config, dependencies: ApiDependencies): Promise<Listening> {
  // What lists records, too: the first who asks would wait for it.
  const [{ createApi }] = await Promise.all([
    import('./api/create-api.js'),
    import('./store/operation-list.js'),
  ]);
  const api = await createApi(dependencies);
  await api.listen(PORT, HOST);
  return { port: (api.getHttpServer().address() as AddressInfo).port, close: () => api.close() };
}

/**
 * True when the schema is as this code needs it and the accounts are known; `all` brings it up by itself. `backend` null:
 * the queue is not loaded yet.
 */
async function prepared(
  config: Config,
  database: Database,
  backend: QueueBackend | null,
  logger: Logger,
): Promise<boolean> {
  try {
    if (config.ROLE === 'all' && backend !== null) await migrate(database, backend);
    if ((await database.pendingMigrations()).length > 0) return false;
    await new AccountStore(database).register([...config.accounts.keys()]);
    return true;
  } catch (error) {
    logger.warn({ error: String(error) }, 'waiting for the database');
    return false;
  }
}

/** A worker that has the name of a former one goes on with what that one held, without waiting for its leases. */
async function goOn({ WORKER_ID }: Config, store: PassStore, logger: Logger): Promise<void> {
  if (WORKER_ID === undefined) return;
  try {
    const leases = await store.freeLeasesOf(`${WORKER_ID}/`);
    if (leases > 0) logger.info({ leases, worker: WORKER_ID }, 'went on with what the former process held');
  } catch (error) {
    logger.warn({ err: error }, 'the leases of the former process run out by themselves');
  }
}

/** Brings the schemas up and returns what was run. */
export async function migrate(database: Database, backend: QueueBackend): Promise<string[]> {
  const ran = await database.migrate();
  await backend.migrate();
  return ran;
}

/** A process that also works need not go through the queue to wake itself; what it has no room for, others are told. */
function nearBell(sweep: Sweep, far: Bell, logger: Logger): Bell {
  return {
    ring() {
      if (sweep.room <= 0) return far.ring();
      sweep
        .tick()
        .catch((error: unknown) => logger.warn({ err: error }, 'claiming failed; the next tick tries again'));
    },
  };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The answer, or `away` when it does not come in time. */
const answerOf = (answer: Promise<unknown>): Promise<string> =>
  within(PROBE_PATIENCE_MS, answer).then(String, () => 'away');
