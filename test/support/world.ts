/** A whole small world for tests of the loop: Postgres, the sandbox over HTTP, and workers built with `new`. */
import { HttpInventory } from '../../src/inventory/http/http-inventory.js';
import { systemClock, type Clock } from '../../src/clock.js';
import { nextStatus } from '../../src/operation/next-status.js';
import type { Policy } from '../../src/operation/operation.js';
import type { Spec } from '../../src/operation/spec.js';
import { stripeClient } from '../../src/payment/stripe/client.js';
import { StripeProvider } from '../../src/payment/stripe/stripe-provider.js';
import { Accounts } from '../../src/reconciler/accounts.js';
import type { LoopDependencies } from '../../src/reconciler/ports.js';
import { reconcile } from '../../src/reconciler/reconcile.js';
import { AccountStore } from '../../src/store/account-store.js';
import { PassStore } from '../../src/store/pass-store.js';
import { PostgresOperationStore } from '../../src/store/postgres-operation-store.js';
import { RefundBrake } from '../../src/store/refund-brake.js';
import type { OperationRecord } from '../../src/store/record.js';
import { freshDatabase, type TestDatabase } from './database.js';
import { anOperation, aSpec, aWish, POLICY } from './operations.js';
import { startTestSandbox, type SandboxControl, type TestSandbox } from './sandbox-control.js';

const KEY = { kind: 'key', name: 'checkout' } as const;

/** Short enough for tests, long enough for a busy machine. */
export const TEST_TIMEOUT_MS = 1_000;
const TEST_LEASE_MS = 3_000;

export interface World {
  readonly db: TestDatabase;
  readonly sandbox: TestSandbox;
  readonly control: SandboxControl;
  readonly store: PostgresOperationStore;
  readonly passes: PassStore;
  /** A worker's dependencies; each call is another worker. */
  worker(patch?: Partial<LoopDependencies>): LoopDependencies;
  create(operationId: string, spec?: Spec, account?: string): Promise<OperationRecord>;
  get(operationId: string): Promise<OperationRecord>;
  /** Claims and reconciles what is due, until nothing is due any more or `passes` are done. */
  run(worker?: LoopDependencies, passes?: number): Promise<number>;
  /** Makes a record due now, whatever its backoff. */
  hurry(operationId: string): Promise<void>;
  /** Runs passes over one record, in its own time, until it has settled or needs someone. */
  settle(operationId: string, worker?: LoopDependencies): Promise<OperationRecord>;
  stop(): Promise<void>;
}

/** Quick, yet with patience enough for a call that outlasts its timeout. */
const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };

export const TEST_POLICY: Policy = { ...POLICY, backoff_base_ms: 100, backoff_max_ms: 1_000 };

export async function aWorld(policy: Policy = TEST_POLICY): Promise<World> {
  const db = await freshDatabase();
  const sandbox = await startTestSandbox();
  const store = new PostgresOperationStore(db.database);
  const passes = new PassStore(db.database);
  const provider = new StripeProvider(
    stripeClient({ secret: 'sk_test_world', base: new URL(sandbox.url), timeout_ms: TEST_TIMEOUT_MS }),
  );
  const inventory = new HttpInventory({
    base: new URL(`${sandbox.url}/warehouse`),
    timeout_ms: TEST_TIMEOUT_MS,
  });
  let workers = 0;

  const worker = (patch: Partial<LoopDependencies> = {}): LoopDependencies => ({
    store: passes,
    accounts: new Accounts({
      store: new AccountStore(db.database),
      providers: new Map([['default', provider]]),
      ceiling: 1_000,
      patience_ms: TEST_TIMEOUT_MS / 2,
      log: QUIET,
    }),
    brake: new RefundBrake(db.database, { refunds: 1_000, amounts: {} }),
    inventory: policy.inventory ? inventory : null,
    clock: systemClock,
    policy,
    worker: `worker-${(workers += 1)}`,
    lease_ms: TEST_LEASE_MS,
    provider_timeout_ms: TEST_TIMEOUT_MS,
    log: QUIET,
    observer: {
      request: () => undefined,
      effect: () => undefined,
      pass: () => undefined,
      settled: () => undefined,
    },
    ...patch,
  });
  const first = worker();

  const world: World = {
    db,
    sandbox,
    control: sandbox.control,
    store,
    passes,
    worker,
    async create(operationId, spec = aSpec({ order_id: `order of ${operationId}` }), account = 'default') {
      const now = systemClock.now();
      const wish = aWish(spec);
      const created_at = now.toISOString();
      const operation = anOperation({ operation_id: operationId, account, created_at, wish });
      const created = await store.create({
        ...operation,
        labels: {},
        status: nextStatus(operation, now, policy),
        requested_by: KEY,
      });
      if (created.kind !== 'created') throw new Error(`${operationId} was not created: ${created.kind}`);
      return created.record;
    },
    async get(operationId) {
      const record = await store.find(operationId);
      if (record === null) throw new Error(`${operationId} does not exist`);
      return record;
    },
    async run(by = first, limit = 50) {
      let done = 0;
      while (done < limit) {
        const { claims, probed, drained } = await passes.claim(
          10,
          by.worker,
          by.lease_ms,
          by.accounts.ceiling,
        );
        by.accounts.suspect(probed);
        if (drained.length > 0) await by.accounts.relax(drained);
        if (claims.length === 0) return done;
        await Promise.all(claims.map((claim) => reconcile(claim, by)));
        done += claims.length;
      }
      return done;
    },
    async hurry(operationId) {
      await db.database.query('UPDATE order_operations SET next_attempt_at = now() WHERE operation_id = $1', [
        operationId,
      ]);
    },
    async settle(operationId, by = first) {
      for (let turn = 0; turn < 200; turn += 1) {
        await world.run(by);
        const record = await world.get(operationId);
        const { phase, settled_at, attention } = record.status;
        const waits = ['authorized', 'awaiting_customer', 'payment_failed'].includes(phase);
        const failing = record.facts.failure !== null && record.facts.failure.class !== 'declined';
        if (settled_at !== null || attention !== null || (waits && !failing)) return record;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return world.get(operationId);
    },
    async stop() {
      await sandbox.stop();
      await db.drop();
    },
  };
  return world;
}

/** A clock that stands until it is moved. */
export function standingClock(at: Date): Clock & { move(ms: number): void } {
  let time = at.getTime();
  return {
    now: () => new Date(time),
    random: () => 0.5,
    move(ms) {
      time += ms;
    },
  };
}
