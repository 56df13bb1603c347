/** A world with the API in front of it: the shop calls, customers act at the provider, workers pass when told to. */
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApi } from '../../src/api/create-api.js';
import { OperationOut } from '../../src/api/schemas/operation.js';
import { systemClock } from '../../src/clock.js';
import { BulkDesk } from '../../src/reconciler/bulk-desk.js';
import { BulkRunner, type BulkRunnerOptions } from '../../src/reconciler/bulk-runner.js';
import { CommandDesk, type DeskOptions } from '../../src/reconciler/command-desk.js';
import { ClientSecretReader } from '../../src/reconciler/client-secret-reader.js';
import { ReadingPlanner } from '../../src/reconciler/planner.js';
import type { LoopDependencies } from '../../src/reconciler/ports.js';
import { Eraser } from '../../src/retention/eraser.js';
import { BulkStore } from '../../src/store/bulk-store.js';
import { FindingDesk } from '../../src/orphans/finding-desk.js';
import { CommandStore } from '../../src/store/command-store.js';
import { FindingAttemptStore } from '../../src/store/finding-attempt-store.js';
import { FindingCommandStore } from '../../src/store/finding-command-store.js';
import { ErasureStore } from '../../src/store/erasure-store.js';
import { FindingStore } from '../../src/store/finding-store.js';
import { EventInbox } from '../../src/store/event-inbox.js';
import { RefundBrake, type BrakeLimits } from '../../src/store/refund-brake.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { Metrics } from '../../src/telemetry/metrics.js';
import { aBody, aDesk, keyed, pathOf } from './api.js';
import { clientOf, listen, type Answer, type Client } from './http.js';
import type { JournalEntry, SandboxControl } from './sandbox-control.js';
import { signed, WEBHOOK_SECRET } from './webhooks.js';
import { aWorld, standingClock, TEST_POLICY, type World } from './world.js';

/** A payment as the provider shows it. */
export type Intent = Readonly<Record<string, unknown>> & { readonly id: string; readonly status: string };

export interface Shop {
  readonly world: World;
  readonly control: SandboxControl;
  /** Of the API and the workers; it stands until `later`. */
  readonly clock: ReturnType<typeof standingClock>;
  /** With the scope `checkout`. */
  readonly call: Client;
  readonly asSupport: Client;
  /** With the key of this name: desk, colleague (support); lead, boss (support_lead). Anna is a lead who signs in. */
  as(name: 'shop' | 'desk' | 'colleague' | 'lead' | 'boss' | 'anna'): Client;
  /** Every line that the API logged, from debug on. */
  readonly logged: readonly string[];
  readonly worker: LoopDependencies;
  /** Another process that carries out bulk commands. */
  bulkRunner(patch?: Partial<BulkRunnerOptions>): BulkRunner;
  /** EUR 100.00 for a packet of tea, by card, unless changed. */
  order(operationId: string, spec?: Record<string, unknown>): Promise<OperationOut>;
  /** An order that adopts a payment. */
  adopt(operationId: string, reference: string, spec?: Record<string, unknown>): Promise<OperationOut>;
  get(operationId: string): Promise<OperationOut>;
  payAgain(operationId: string, method?: string): Promise<Answer>;
  change(operationId: string, patch: unknown): Promise<Answer>;
  cancel(operationId: string): Promise<Answer>;
  secret(operationId: string): Promise<Answer>;
  /** One pass, whatever its backoff. */
  pass(operationId: string): Promise<OperationOut>;
  /** Passes until two in a row change nothing that a reader sees. */
  settle(operationId: string): Promise<OperationOut>;
  /** Time passes here and at the provider. */
  later(ms: number): Promise<void>;
  /** What the front end does with its own key: creates a payment and does not confirm it. */
  checkout(payment?: Record<string, unknown>): Promise<Intent>;
  intent(reference: string): Promise<Intent>;
  /** The newest event of this type about the order is sent here by the provider; the result as it was answered. */
  hook(operationId: string, type: string): Promise<string>;
  /** Types of the timeline, oldest first. */
  timeline(operationId: string): Promise<string[]>;
  /** Requests of ours that tried to do something at the payment: route, status. */
  requests(reference: string): Promise<JournalEntry[]>;
  /** What follows when a person decided about a finding; nothing unless it is set. */
  onDecision(work: () => Promise<void>): void;
  /** All that followed so far. */
  decided(): Promise<void>;
  stop(): Promise<void>;
}

const KEY = 'sk_test_world';

export interface ShopOptions extends Partial<DeskOptions> {
  /** A ring is followed by passes. */
  readonly works?: boolean;
  /** Whether the process of the API carries out bulk commands; as a rule it does. */
  readonly carries_out?: boolean;
  /** See BulkDeskOptions. */
  readonly looking_ms?: number;
  /** Of the worker; as a rule it never closes. */
  readonly brake?: BrakeLimits;
  /** Accounts on which nothing else sells. */
  readonly exclusive?: ReadonlySet<string>;
}

/** `options`: how commands are taken; an answer waits for no pass unless they say so. */
export async function aShop(options: ShopOptions = {}): Promise<Shop> {
  const world = await aWorld();
  const { control } = world;
  const clock = standingClock(systemClock.now());
  const {
    works = false,
    carries_out = true,
    looking_ms = 30_000,
    brake,
    exclusive = new Set<string>(),
    ...deskOptions
  } = options;
  const worker = world.worker({
    clock,
    ...(brake === undefined ? {} : { brake: new RefundBrake(world.db.database, brake) }),
  });
  const logged: string[] = [];
  let passes = Promise.resolve(0);
  const bell = {
    ring: () => {
      if (works) passes = passes.then(() => world.run(worker, 10));
    },
  };
  const { database } = world.db;
  const commands = new CommandDesk(world.store, new CommandStore(database), worker, bell, {
    approval_amount: {},
    patience_ms: 0,
    ...deskOptions,
  });
  const bulkStore = new BulkStore(world.db.database);
  let runners = 0;
  const bulkRunner = (patch: Partial<BulkRunnerOptions> = {}): BulkRunner =>
    new BulkRunner({
      store: bulkStore,
      desk: commands,
      runner: `runner-${(runners += 1)}`,
      lease_ms: 10_000,
      log: worker.log,
      ...patch,
    });
  const runner = bulkRunner();
  let carryOut = (): Promise<void> => Promise.resolve();
  let decisions = Promise.resolve();
  const app: NestFastifyApplication = await createApi({
    store: world.store,
    findings: new FindingStore(database),
    bell,
    planner: new ReadingPlanner(world.store, worker),
    commands,
    bulk: new BulkDesk(bulkStore, commands, {
      approval_amount: deskOptions.approval_amount ?? {},
      begin: () => void (carries_out && runner.tick()),
      log: worker.log,
      looking_ms,
    }),
    findingCommands: new FindingDesk(
      {
        accounts: worker.accounts,
        findings: new FindingStore(database),
        observer: { request: () => undefined, effect: () => undefined },
        exclusive,
        grace_ms: 0,
        log: worker.log,
        commands: new FindingCommandStore(database),
        attempts: new FindingAttemptStore(database),
        operations: commands,
        bell: { ring: () => void (decisions = decisions.then(() => carryOut())) },
        clock,
      },
      { approval_amount: {}, patience_ms: 0, ...deskOptions },
    ),
    clientSecrets: new ClientSecretReader(world.store, worker),
    clock,
    policy: TEST_POLICY,
    apiKeys: [
      { name: 'shop', scopes: ['checkout'], secret: 'shop-secret' },
      { name: 'desk', scopes: ['support'], secret: 'desk-secret' },
      { name: 'colleague', scopes: ['support'], secret: 'colleague-secret' },
      { name: 'lead', scopes: ['support_lead'], secret: 'lead-secret' },
      { name: 'boss', scopes: ['support_lead'], secret: 'boss-secret' },
    ],
    people: [
      {
        identify: (authorization) =>
          Promise.resolve(
            authorization === 'Bearer anna-secret'
              ? { kind: 'person', name: 'anna', scopes: ['support_lead'] }
              : null,
          ),
      },
    ],
    accounts: ['default'],
    amountProblem: () => null,
    desk: aDesk(world.db.database),
    eraser: new Eraser(new ErasureStore(world.db.database), clock, TEST_POLICY),
    inbox: new EventInbox(world.db.database),
    webhookSecrets: new Map([['default', [WEBHOOK_SECRET]]]),
    readiness: { check: () => Promise.resolve({ ready: true, checks: {} }) },
    metrics: new Metrics(),
    logger: createLogger('debug', { write: (line) => logged.push(line) }),
  });
  const port = await listen(app);
  const call = clientOf(port, keyed('shop-secret'));

  const accepted = (answer: Answer, ...statuses: number[]): OperationOut => {
    if (!statuses.includes(answer.status)) throw new Error(`${answer.status}: ${answer.text}`);
    return OperationOut.parse(answer.json());
  };
  const shop: Shop = {
    world,
    control,
    clock,
    call,
    asSupport: clientOf(port, keyed('desk-secret')),
    logged,
    worker,
    bulkRunner,
    async order(operationId, spec = {}) {
      const body = aBody(operationId, { lines: [{ sku: 'tea', quantity: 1 }], ...spec });
      return accepted(await call('POST', '/v1/operations', { body }), 201);
    },
    adopt(operationId, reference, { payment, ...spec } = {}) {
      const adopted = { payment_method: null, reference, ...(payment as object | undefined) };
      return shop.order(operationId, { ...spec, payment: adopted });
    },
    async get(operationId) {
      return accepted(await call('GET', pathOf(operationId)), 200);
    },
    payAgain: (operationId, method) =>
      call('POST', pathOf(operationId, '/payment'), {
        body: method === undefined ? {} : { payment_method: method },
      }),
    change: (operationId, patch) =>
      call('PATCH', pathOf(operationId), { body: patch, headers: { 'if-match': '*' } }),
    cancel: (operationId) => call('POST', pathOf(operationId, '/cancel')),
    secret: (operationId) => call('GET', pathOf(operationId, '/client_secret')),
    async pass(operationId) {
      await passes;
      await world.hurry(operationId);
      await world.run(worker, 1);
      return shop.get(operationId);
    },
    async settle(operationId) {
      let before = await shop.get(operationId);
      for (let still = 0, turn = 0; still < 2 && turn < 30; turn += 1) {
        const after = await shop.pass(operationId);
        const same = after.metadata.resource_version === before.metadata.resource_version;
        still = same ? still + 1 : 0;
        before = after;
      }
      return before;
    },
    async later(ms) {
      clock.move(ms);
      await control.advanceClock(ms);
    },
    async checkout(payment = {}) {
      const { id } = await control.dashboard('create_stray', { amount: 10_000, currency: 'eur', ...payment });
      return shop.intent(id);
    },
    async intent(reference) {
      const response = await fetch(`${world.sandbox.url}/v1/payment_intents/${reference}`, {
        headers: { authorization: `Bearer ${KEY}` },
      });
      return (await response.json()) as Intent;
    },
    async hook(operationId, type) {
      const events = await control.events({ operation_id: operationId, type });
      const newest = events.sort((a, b) => a.created - b.created).at(-1);
      if (newest === undefined) throw new Error(`the provider told of no ${type}`);
      const event = await fetch(`${world.sandbox.url}/v1/events/${newest.id}`, {
        headers: { authorization: `Bearer ${KEY}` },
      });
      const skew = Math.round((clock.now().getTime() - systemClock.now().getTime()) / 1000);
      const { body, headers } = signed(await event.text(), { skew });
      const answer = await fetch(`http://127.0.0.1:${port}/v1/webhooks/stripe`, {
        method: 'POST',
        headers,
        body,
      });
      return ((await answer.json()) as { result: string }).result;
    },
    async timeline(operationId) {
      const answer = await shop.asSupport('GET', pathOf(operationId, '/events'));
      return answer.json<{ items: { type: string }[] }>().items.map(({ type }) => type);
    },
    async requests(reference) {
      const journal = await control.journal({ method: 'POST' });
      return journal.filter(({ path }) => path.includes(reference));
    },
    as: (name) => clientOf(port, keyed(`${name}-secret`)),
    onDecision(work) {
      carryOut = work;
    },
    decided: () => decisions,
    async stop() {
      await app.close();
      await runner.drain();
      await Promise.all([passes, decisions.catch(() => undefined)]);
      await world.stop();
    },
  };
  return shop;
}

export const HOUR = 3_600_000;
