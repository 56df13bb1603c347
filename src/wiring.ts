/** The wiring: what each part of a process is made of, by the configuration. */
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
import { FindingDesk } from './orphans/finding-desk.js';
import { OrphanSweep } from './orphans/orphan-sweep.js';
import type { Sight } from './orphans/ports.js';
import type { Bell } from './reconciler/bell.js';
import { Accounts } from './reconciler/accounts.js';
import { BulkDesk } from './reconciler/bulk-desk.js';
import { BulkRunner } from './reconciler/bulk-runner.js';
import { ClientSecretReader } from './reconciler/client-secret-reader.js';
import { type CommandDesk } from './reconciler/command-desk.js';
import { ReadingPlanner } from './reconciler/planner.js';
import type { LoopDependencies } from './reconciler/ports.js';
import { Eraser } from './retention/eraser.js';
import { Housekeeping } from './retention/housekeeping.js';
import { AccountDesk } from './store/account-desk.js';
import { AccountStore } from './store/account-store.js';
import { BulkStore } from './store/bulk-store.js';
import { type Database } from './store/database.js';
import { ErasureStore } from './store/erasure-store.js';
import { EventInbox } from './store/event-inbox.js';
import { FindingAttemptStore } from './store/finding-attempt-store.js';
import { FindingCommandStore } from './store/finding-command-store.js';
import { FindingStore } from './store/finding-store.js';
import { HousekeepingStore } from './store/housekeeping-store.js';
import { MissingWalkStore } from './store/missing-walk-store.js';
import { OrphanSweepStore } from './store/orphan-sweep-store.js';
import { PassStore } from './store/pass-store.js';
import { type PostgresOperationStore } from './store/postgres-operation-store.js';
import { RefundBrake } from './store/refund-brake.js';
import { TriageStore } from './store/triage-store.js';
import type { Logger } from './telemetry/logger.js';
import { type Metrics } from './telemetry/metrics.js';

/** An account that needs longer to say who it is is as good as out; what failed before may have taken the whole timeout. */
const ACCOUNT_PATIENCE_MS = 5_000;

/** A plain order takes a create and a confirm; one that is resumed takes a reading as well. */
const REQUESTS_PER_PASS = 3;

/** A row of a bulk command takes a reading, which may hang, and seconds of patience for what became of it. */
const ROW_MARGIN_MS = 5_000;

/** What is created last is listed again for so long: lists may lag, and most payments get their money within minutes. */
const OVERLAP_MS = 900_000;

/** The schedule, and the bell, of what people decided about findings. */
export const DECISIONS = 'decisions';

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

export function loopOf(
  config: Config,
  database: Database,
  metrics: Metrics,
  logger: Logger,
): LoopDependencies {
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

export function orphanSweepOf(
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

export function housekeepingOf(config: Config, database: Database, loop: LoopDependencies): Housekeeping {
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

export function bulkRunnerOf(
  config: Config,
  database: Database,
  loop: LoopDependencies,
  commands: CommandDesk,
): BulkRunner {
  return new BulkRunner({
    store: new BulkStore(database),
    desk: commands,
    runner: loop.worker,
    lease_ms: 2 * config.PROVIDER_TIMEOUT_MS + ROW_MARGIN_MS,
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

export function apiDependencies(config: Config, parts: Parts): ApiDependencies {
  const { database, metrics, logger, readiness, loop, store, commands, bulk, bell } = parts;
  return {
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
