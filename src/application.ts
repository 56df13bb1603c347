/** The wiring, on one screen: what a process of each role consists of, how it starts and how it stops. */
import { randomUUID } from 'node:crypto';
import type { ApiDependencies, Readiness } from './api/dependencies.js';
import { systemClock } from './clock.js';
import type { Config } from './config.js';
import { HttpInventory } from './inventory/http/http-inventory.js';
import type { Policy } from './operation/operation.js';
import { WATCH_DAYS } from './operation/schedule.js';
import { stripeClient } from './payment/stripe/client.js';
import { amountProblem } from './payment/stripe/money.js';
import type { PaymentProvider } from './payment/port.js';
import { StripeProvider } from './payment/stripe/stripe-provider.js';
import type { QueueBackend } from './queue/backend.js';
import { FindingDesk } from './orphans/finding-desk.js';
import { OrphanSweep } from './orphans/orphan-sweep.js';
import type { Sight } from './orphans/ports.js';
import { ClockWork, SWEEP } from './queue/clock-work.js';
import { QueueBell } from './queue/queue-bell.js';
import type { Bell } from './reconciler/bell.js';
import { Accounts } from './reconciler/accounts.js';
import { BulkDesk } from './reconciler/bulk-desk.js';
import { BulkRunner } from './reconciler/bulk-runner.js';
import { ClientSecretReader } from './reconciler/client-secret-reader.js';
import { CommandDesk } from './reconciler/command-desk.js';
import { ReadingPlanner } from './reconciler/planner.js';
import type { LoopDependencies } from './reconciler/ports.js';
import { Sweep } from './reconciler/sweep.js';
import { Eraser } from './retention/eraser.js';
import { Housekeeping } from './retention/housekeeping.js';
import { AccountDesk } from './store/account-desk.js';
import { AccountStore } from './store/account-store.js';
import { BulkStore } from './store/bulk-store.js';
import { CommandStore } from './store/command-store.js';
import { Database } from './store/database.js';
import { ErasureStore } from './store/erasure-store.js';
import { EventInbox } from './store/event-inbox.js';
import { FindingAttemptStore } from './store/finding-attempt-store.js';
import { FindingCommandStore } from './store/finding-command-store.js';
import { FindingStore } from './store/finding-store.js';
import { HousekeepingStore } from './store/housekeeping-store.js';
import { MissingWalkStore } from './store/missing-walk-store.js';
import { OrphanSweepStore } from './store/orphan-sweep-store.js';
import { PassStore } from './store/pass-store.js';
import { PostgresOperationStore } from './store/postgres-operation-store.js';
import { RefundBrake } from './store/refund-brake.js';
import { collectStatistics } from './store/statistics.js';
import { TriageStore } from './store/triage-store.js';
import type { Logger } from './telemetry/logger.js';
import { Metrics } from './telemetry/metrics.js';
import { within } from './within.js';

/** An account that needs longer to say who it is is as good as out; what failed before may have taken the whole timeout. */
const ACCOUNT_PATIENCE_MS = 5_000;
/** A plain order takes a create and a confirm; one that is resumed takes a reading as well. */
const REQUESTS_PER_PASS = 3;
/** Between tries of a start that waits for Postgres. */
const START_PAUSE_MS = 500;
/** A dependency that needs longer to say that it is there is not there. */
const PROBE_PATIENCE_MS = 1_000;
/** A worker whose database is away listens after that, so that its probes can say so. */
const WORK_FIRST_MS = 2_000;
/** A row of a bulk command takes a reading, which may hang, and seconds of patience for what became of it. */
const ROW_MARGIN_MS = 5_000;

export interface Application {
  readonly port: number;
  stop(): Promise<void>;
}

export function policyOf(config: Config): Policy {
  return {
    retry_limit: config.RETRY_LIMIT,
    backoff_base_ms: config.BACKOFF_BASE_MS,
    backoff_max_ms: config.BACKOFF_MAX_MS,
    resync_interval_ms: config.RESYNC_INTERVAL_MS,
    payment_deadline_ms: config.PAYMENT_DEADLINE_MS,
    watch_ms: WATCH_DAYS * 86_400_000,
    inventory: config.INVENTORY_URL !== undefined,
  };
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
  // A worker that comes back has left orders in the middle: it claims before it loads what it serves its probes with,
  // which takes longer than all the rest.
  const early = config.ROLE === 'worker' ? begin(null) : null;
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
  const bulk = new BulkRunner({
    store: new BulkStore(database),
    desk: commands,
    runner: loop.worker,
    lease_ms: 2 * config.PROVIDER_TIMEOUT_MS + ROW_MARGIN_MS,
    log: logger,
  });

  const readiness: Readiness = {
    async check() {
      const [postgres, schema, redis] = await Promise.all([
        answerOf(database.query('SELECT 1').then(() => 'ok')),
        answerOf(database.pendingMigrations().then((pending) => (pending.length === 0 ? 'ok' : 'behind'))),
        answerOf(backend.ping().then(() => 'ok')),
      ]);
      // The API stores wishes without the queue; a worker without it is late, which its operator should see.
      const ready = !draining && postgres === 'ok' && schema === 'ok' && (!worker || redis === 'ok');
      return { ready, checks: { postgres, schema, queue: redis, process: draining ? 'draining' : 'ok' } };
    },
  };
  const { createApi } = await import('./api/create-api.js');
  const api = await createApi(
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
  try {
    await api.listen(config.PORT, config.HOST);
  } catch (error) {
    // What was begun already is ended first: it would wait for the end of its leases.
    draining = true;
    await sweep?.drain();
    throw error;
  }
  const { port } = api.getHttpServer().address() as { port: number };
  logger.info({ port, role: config.ROLE, queue: backend.kind }, 'listening');

  const started = (early ?? begin(backend)).then(async () => {
    if (draining || sweep === null || orphans === null || housekeeping === null) return;
    clockWork = new ClockWork({
      backend,
      queue,
      schedules: {
        [SWEEP]: { interval_ms: config.SWEEP_INTERVAL_MS, tick: () => sweep.tick() },
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
        api.close(),
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

function loopOf(config: Config, database: Database, metrics: Metrics, logger: Logger): LoopDependencies {
  const providers = new Map<string, PaymentProvider>();
  for (const [name, { secret, base }] of config.accounts) {
    const server = base === undefined ? {} : { base: new URL(base) };
    const client = stripeClient({ secret, timeout_ms: config.PROVIDER_TIMEOUT_MS, ...server });
    providers.set(name, new StripeProvider(client, { automatic_methods: config.STRIPE_AUTOMATIC_METHODS }));
  }
  const inventory =
    config.INVENTORY_URL === undefined
      ? null
      : new HttpInventory({ base: new URL(config.INVENTORY_URL), timeout_ms: config.PROVIDER_TIMEOUT_MS });
  return {
    store: new PassStore(database),
    accounts: new Accounts({
      store: new AccountStore(database),
      providers,
      ceiling: config.PROVIDER_RATE_LIMIT / REQUESTS_PER_PASS,
      patience_ms: Math.min(config.PROVIDER_TIMEOUT_MS / 2, ACCOUNT_PATIENCE_MS),
      log: logger,
    }),
    brake: brakeOf(config, database),
    inventory,
    clock: systemClock,
    policy: policyOf(config),
    // Only a name that was given has the slash: none can be the beginning of another's.
    worker:
      config.WORKER_ID === undefined
        ? `${config.ROLE}-${randomUUID()}`
        : `${config.WORKER_ID}/${randomUUID()}`,
    lease_ms: config.LEASE_MS,
    provider_timeout_ms: config.PROVIDER_TIMEOUT_MS,
    log: logger,
    observer: {
      request: (account, step, outcome) => metrics.providerRequests.inc({ account, step, outcome }),
      effect: (step, outcome) => metrics.effects.inc({ step, outcome }),
      pass: (seconds) => metrics.reconcileSeconds.observe(seconds),
      settled: (seconds) => metrics.settleSeconds.observe(seconds),
    },
  };
}

function brakeOf(config: Config, database: Database): RefundBrake {
  const limits = { refunds: config.REFUND_BRAKE_COUNT, amounts: config.REFUND_BRAKE_AMOUNT };
  const ofAccounts = [...config.accounts].flatMap(([name, { refund_brake: own }]) =>
    own === undefined
      ? []
      : [
          [
            name,
            {
              ...(own.count !== undefined && { refunds: own.count }),
              ...(own.amount !== undefined && { amounts: own.amount }),
            },
          ] as const,
        ],
  );
  return new RefundBrake(database, limits, new Map(ofAccounts));
}

/** The schedule, and the bell, of what people decided about findings. */
const DECISIONS = 'decisions';

/** What is created last is listed again for so long: lists may lag, and most payments get their money within minutes. */
const OVERLAP_MS = 900_000;

function orphanSweepOf(
  config: Config,
  database: Database,
  loop: LoopDependencies,
  metrics: Metrics,
): OrphanSweep {
  return new OrphanSweep({
    sweeps: new OrphanSweepStore(database),
    ...sightOf(config, database, loop, metrics),
    missing: new MissingWalkStore(database),
    attempts: new FindingAttemptStore(database),
    commands: new FindingCommandStore(database),
    brake: loop.brake,
    names: [...config.accounts.keys()],
    pacing: {
      lookback_ms: config.ORPHAN_LOOKBACK_HOURS * 3_600_000,
      lookback_interval_ms: config.ORPHAN_LOOKBACK_INTERVAL_MS,
      overlap_ms: OVERLAP_MS,
    },
    interval_ms: config.ORPHAN_SWEEP_INTERVAL_MS,
    worker: loop.worker,
    lease_ms: loop.lease_ms,
    provider_timeout_ms: loop.provider_timeout_ms,
    clock: loop.clock,
  });
}

/** How a payment is looked at, by the sweep and for people. */
function sightOf(config: Config, database: Database, loop: LoopDependencies, metrics: Metrics): Sight {
  return {
    findings: new FindingStore(database),
    accounts: loop.accounts,
    exclusive: new Set(config.ORPHAN_EXCLUSIVE_ACCOUNTS),
    grace_ms: config.ORPHAN_GRACE_MS,
    log: loop.log,
    observer: {
      request: (account, step, outcome) => metrics.providerRequests.inc({ account, step, outcome }),
      effect: (step, outcome) => metrics.effects.inc({ step, outcome }),
    },
  };
}

function housekeepingOf(config: Config, database: Database, loop: LoopDependencies): Housekeeping {
  return new Housekeeping({
    store: new HousekeepingStore(database),
    eraser: new Eraser(new ErasureStore(database), loop.clock, loop.policy),
    retention: {
      webhooks: config.WEBHOOK_RETENTION_DAYS,
      findings: config.FINDING_RETENTION_DAYS,
      journal: config.JOURNAL_RETENTION_DAYS,
      personal_data: config.PERSONAL_DATA_RETENTION_DAYS,
    },
    watch_days: WATCH_DAYS,
    log: loop.log,
  });
}

interface Parts {
  readonly database: Database;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly readiness: Readiness;
  readonly loop: LoopDependencies;
  readonly store: PostgresOperationStore;
  readonly commands: CommandDesk;
  readonly bulk: BulkRunner;
  readonly bell: Bell;
  readonly orphans: OrphanSweep | null;
  readonly decisionsBell: Bell;
}

function apiDependencies(config: Config, parts: Parts): ApiDependencies {
  const { database, metrics, logger, readiness, loop, store, commands, bulk, bell } = parts;
  if (config.ROLE === 'worker') return { role: 'probes', readiness, metrics, logger };
  return {
    role: 'full',
    readiness,
    metrics,
    logger,
    store,
    findings: new FindingStore(database),
    bell,
    planner: new ReadingPlanner(store, loop),
    commands,
    bulk: new BulkDesk(new BulkStore(database), commands, {
      approval_amount: config.APPROVAL_AMOUNT,
      begin: () => void bulk.tick(),
      log: logger,
    }),
    findingCommands: findingDeskOf(config, parts),
    clientSecrets: new ClientSecretReader(store, loop),
    clock: systemClock,
    policy: loop.policy,
    apiKeys: config.API_KEYS,
    accounts: [...config.accounts.keys()],
    amountProblem: (_provider, value, currency) => amountProblem(value, currency),
    desk: {
      accounts: new AccountDesk(database, loop.accounts.ceiling),
      triage: new TriageStore(database),
      brake: loop.brake,
    },
    eraser: new Eraser(new ErasureStore(database), systemClock, loop.policy),
    inbox: new EventInbox(database),
    webhookSecrets: new Map(
      [...config.accounts].map(([name, { webhook_secret = [] }]) => [name, [webhook_secret].flat()]),
    ),
  };
}

function findingDeskOf(
  config: Config,
  { database, metrics, loop, commands, orphans, decisionsBell }: Parts,
): FindingDesk {
  return new FindingDesk(
    {
      ...sightOf(config, database, loop, metrics),
      commands: new FindingCommandStore(database),
      attempts: new FindingAttemptStore(database),
      operations: commands,
      bell: orphans === null ? decisionsBell : { ring: () => void orphans.decided() },
      clock: loop.clock,
    },
    { approval_amount: config.APPROVAL_AMOUNT },
  );
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
