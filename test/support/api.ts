/** The API over a real database, listening on a free port; the loop is absent, so nothing moves by itself. */
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApi } from '../../src/api/create-api.js';
import type { ApiDependencies, SupportDesk } from '../../src/api/dependencies.js';
import { OperationOut } from '../../src/api/schemas/operation.js';
import { Problem } from '../../src/api/schemas/problem.js';
import { systemClock } from '../../src/clock.js';
import { nextStatus } from '../../src/operation/next-status.js';
import type { Facts, Status } from '../../src/operation/operation.js';
import { FindingStore } from '../../src/store/finding-store.js';
import { AccountDesk } from '../../src/store/account-desk.js';
import type { Database } from '../../src/store/database.js';
import { Eraser } from '../../src/retention/eraser.js';
import { ErasureStore } from '../../src/store/erasure-store.js';
import { EventInbox } from '../../src/store/event-inbox.js';
import { PostgresOperationStore } from '../../src/store/postgres-operation-store.js';
import { RefundBrake } from '../../src/store/refund-brake.js';
import { TriageStore } from '../../src/store/triage-store.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { Metrics } from '../../src/telemetry/metrics.js';
import { freshDatabase, type TestDatabase } from './database.js';
import { clientOf, listen, type Answer, type Client } from './http.js';
import { POLICY, someFacts, type FactsPatch } from './operations.js';

export interface TestApi {
  readonly db: TestDatabase;
  readonly app: NestFastifyApplication;
  readonly port: number;
  /** With the scope `checkout`. */
  readonly call: Client;
  readonly asSupport: Client;
  readonly asLead: Client;
  readonly anonymous: Client;
  /** How often the bell was rung. */
  rings(): number;
  rows(table: 'order_operations' | 'operation_events'): Promise<number>;
  /** Creates an order of EUR 100.00 (unless changed) and returns it as answered. */
  create(operationId: string, spec?: Record<string, unknown>): Promise<OperationOut>;
  /** Stands for the loop: writes what it would have seen, and what follows from it. */
  observe(operationId: string, facts: FactsPatch, extra?: ObservedExtra): Promise<void>;
  stop(): Promise<void>;
}

/** Where no command is tested. */
export const NO_COMMANDS: ApiDependencies['commands'] & ApiDependencies['findingCommands'] = {
  preview: () => Promise.resolve({ kind: 'not_found' }),
  confirm: () => Promise.resolve({ kind: 'not_found' }),
  approve: () => Promise.resolve({ kind: 'not_found' }),
};

export const NO_BULK: ApiDependencies['bulk'] = {
  preview: () => Promise.resolve({ kind: 'not_found' }),
  confirm: () => Promise.resolve({ kind: 'not_found' }),
  approve: () => Promise.resolve({ kind: 'not_found' }),
  find: () => Promise.resolve({ kind: 'not_found' }),
};

export interface ObservedExtra {
  readonly provider_reference?: string;
  readonly status?: Partial<Status>;
}

export const keyed = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` });

export const aDesk = (database: Database): SupportDesk => ({
  accounts: new AccountDesk(database, 1_000),
  brake: new RefundBrake(database, { refunds: 1_000, amounts: {} }),
  triage: new TriageStore(database),
});

export async function anApi(changes: Partial<ApiDependencies> = {}): Promise<TestApi> {
  const db = await freshDatabase();
  const store = new PostgresOperationStore(db.database);
  let rings = 0;
  const app = await createApi({
    store,
    findings: new FindingStore(db.database),
    bell: { ring: () => void (rings += 1) },
    planner: { plan: () => Promise.resolve(null) },
    commands: NO_COMMANDS,
    bulk: NO_BULK,
    findingCommands: NO_COMMANDS,
    clientSecrets: { read: () => Promise.resolve(null) },
    clock: systemClock,
    policy: POLICY,
    apiKeys: [
      { name: 'shop', scopes: ['checkout'], secret: 'shop-secret' },
      { name: 'desk', scopes: ['support'], secret: 'desk-secret' },
      { name: 'lead', scopes: ['support_lead'], secret: 'lead-secret' },
      { name: 'root', scopes: ['admin'], secret: 'root-secret' },
      { name: 'both', scopes: ['checkout', 'support'], secret: 'both-secret' },
    ],
    accounts: ['default', 'second'],
    // As the provider's adapter would: the last digit of three decimals must be 0.
    amountProblem: (_provider, value, currency) =>
      currency === 'KWD' && value % 10 !== 0 ? 'the provider needs a multiple of 10' : null,
    desk: aDesk(db.database),
    eraser: new Eraser(new ErasureStore(db.database), systemClock, POLICY),
    inbox: new EventInbox(db.database),
    webhookSecrets: new Map(),
    readiness: { check: () => Promise.resolve({ ready: true, checks: { postgres: 'ok' } }) },
    metrics: new Metrics(),
    logger: createLogger('silent'),
    ...changes,
  });
  const port = await listen(app);
  const call = clientOf(port, keyed('shop-secret'));

  return {
    db,
    app,
    port,
    call,
    asSupport: clientOf(port, keyed('desk-secret')),
    asLead: clientOf(port, keyed('lead-secret')),
    anonymous: clientOf(port),
    rings: () => rings,
    async rows(table) {
      const [row] = await db.database.query<{ n: string }>(`SELECT count(*) AS n FROM ${table}`);
      return Number(row?.n);
    },
    async create(operationId, spec = {}) {
      return operation(await call('POST', '/v1/operations', { body: aBody(operationId, spec) }), 201);
    },
    async observe(operationId, patch, { provider_reference = 'pi_1', status = {} } = {}) {
      const facts: Facts = someFacts(patch);
      const record = await store.find(operationId);
      if (record === null) throw new Error(`there is no ${operationId}`);
      const reference = facts.payment.state === 'none' ? null : `${provider_reference}_${operationId}`;
      const now = systemClock.now();
      const derived = nextStatus({ ...record, facts, provider_reference: reference }, now, POLICY);
      await db.database.query(
        `UPDATE order_operations SET facts = $2, status = $3, provider_reference = $4,
           resource_version = resource_version + 1 WHERE operation_id = $1`,
        [operationId, JSON.stringify(facts), JSON.stringify({ ...derived, ...status }), reference],
      );
    },
    async stop() {
      await app.close();
      await db.drop();
    },
  };
}

/** A create body: EUR 100.00 by card; `spec.payment` is merged, everything else replaced. */
export function aBody(operationId: string, spec: Record<string, unknown> = {}): Record<string, unknown> {
  const { payment, ...rest } = spec;
  return {
    operation_id: operationId,
    spec: {
      order_id: `order of ${operationId}`.slice(0, 128),
      amount: { value: 10_000, currency: 'EUR' },
      ...rest,
      payment: { provider: 'stripe', payment_method: 'pm_card_visa', ...(payment as object | undefined) },
    },
  };
}

export const pathOf = (operationId: string, rest = ''): string =>
  `/v1/operations/${encodeURIComponent(operationId)}${rest}`;

/** The answer as an operation; fails unless it has the status, the documented form and the matching ETag. */
export function operation(answer: Answer, status: number): OperationOut {
  if (answer.status !== status) throw new Error(`expected ${status}, got ${answer.status}: ${answer.text}`);
  const shown = OperationOut.parse(answer.json());
  if (answer.headers.etag !== `"${shown.metadata.resource_version}"`) {
    throw new Error(
      `the ETag ${answer.headers.etag} is not that of version ${shown.metadata.resource_version}`,
    );
  }
  return shown;
}

/** The answer as a problem; fails unless it has the documented form. */
export function problem(answer: Answer): Problem {
  if (answer.headers['content-type'] !== 'application/problem+json; charset=utf-8') {
    throw new Error(
      `expected a problem, got ${answer.status} ${answer.headers['content-type']}: ${answer.text}`,
    );
  }
  const shown = Problem.parse(answer.json());
  if (shown.status !== answer.status || shown.request_id !== answer.headers['x-request-id']) {
    throw new Error(`the problem does not fit its answer: ${answer.status} ${answer.text}`);
  }
  return shown;
}

/** Status, code and pointers: what most tests of refusals are about. */
export function refusal(answer: Answer): [number, string, ...string[]] {
  const { status, code, errors = [] } = problem(answer);
  return [status, code, ...errors.map(({ pointer }) => pointer)];
}
