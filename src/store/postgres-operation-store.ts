/** The API's side of the record: reads, creates, and changes of the wish. Each write is one statement. */
import { Coalescer } from './coalescer.js';
import { rowsOf, valuesOf, type Columns } from './columns.js';
import { isAway, type Database, type Patience } from './database.js';
import type { OperationAttemptRow, OperationEventRow, OrderOperationRow } from './entities.js';
import { toAttempt, toEvent, toRecord } from './mapping.js';
import { NO_FACTS } from '../operation/operation.js';
import type { Listed, OperationStore } from './operation-store.js';
import type {
  Created,
  JournalAttempt,
  ListFilter,
  NewOperation,
  OperationEvent,
  OperationRecord,
  WishChange,
} from './record.js';
import { readStatus, storedFacts, storedStatus } from './stored.js';

/** What CREATE is given of a new operation. */
const COLUMNS: Columns<NewOperation> = {
  operation_id: ['text', ({ operation_id }) => operation_id],
  account: ['text', ({ account }) => account],
  labels: ['jsonb', ({ labels }) => labels],
  actor_kind: ['text', ({ requested_by }) => requested_by.kind],
  actor_name: ['text', ({ requested_by }) => requested_by.name],
  created_at: ['timestamptz', ({ created_at }) => created_at],
  spec: ['jsonb', ({ wish }) => wish.spec],
  cancellation: ['jsonb', ({ wish }) => wish.cancellation],
  paused: ['jsonb', ({ wish }) => wish.paused],
  confirmation: ['integer', ({ wish }) => wish.confirmation],
  payment_number: ['integer', ({ wish }) => wish.payment_number],
  status: ['jsonb', ({ status }) => storedStatus(status)],
  deadline_at: ['timestamptz', ({ status }) => status.deadline_at],
};

/** Due at once: each row is inserted together with its first event, so that neither exists alone. */
const CREATE = {
  name: 'create',
  text: `
WITH input AS (
  SELECT * FROM ${rowsOf(COLUMNS, 2)}
), created AS (
  INSERT INTO order_operations (operation_id, account, labels, requested_by, created_at, updated_at, spec,
    cancellation, paused, confirmation, payment_number, facts, status, deadline_at, next_attempt_at)
  SELECT operation_id, account, labels, actor_name, created_at, created_at, spec,
    cancellation, paused, confirmation, payment_number, $1::jsonb, status, deadline_at, now()
  FROM input
  ON CONFLICT DO NOTHING
  RETURNING id, operation_id, created_at, labels, spec, status, next_attempt_at
), event AS (
  INSERT INTO operation_events (operation, at, type, actor_kind, actor_name, message)
  SELECT id, created.created_at, 'operation_created', actor_kind, actor_name, 'The wish was stored.'
  FROM created JOIN input USING (operation_id)
)
SELECT operation_id, labels, spec, status, next_attempt_at FROM created`,
};

/** The new wish on the row of version $2 of $1, which wakes it; parameters are those of `wishParameters`. */
export const SET_WISH = `
    spec = $3, first_spec = coalesce(first_spec, spec), cancellation = $4, paused = $5, confirmation = $6, payment_number = $7, status = $8,
    settled_at = ($8::jsonb->>'settled_at')::timestamptz, deadline_at = ($8::jsonb->>'deadline_at')::timestamptz,
    generation = generation + CASE WHEN $9::boolean THEN 1 ELSE 0 END,
    decisions = $11::jsonb,
    facts = coalesce($12::jsonb, facts), provider_reference = CASE WHEN $12::jsonb IS NULL THEN provider_reference END,
    fencing_token = fencing_token + CASE WHEN $12::jsonb IS NULL THEN 0 ELSE 1 END,
    lease_holder = CASE WHEN $12::jsonb IS NULL THEN lease_holder END,
    lease_expires_at = CASE WHEN $12::jsonb IS NULL THEN lease_expires_at END,
    resource_version = resource_version + 1, updated_at = now(),
    wake = wake + 1, next_attempt_at = now()`;

/** Writes the lines of a parameter to the timeline of the row in the CTE `changed`. */
export const tell = (lines: number): string => `
  INSERT INTO operation_events (operation, at, type, actor_kind, actor_name, message, data)
  SELECT id, updated_at, e.type, e.actor->>'kind', e.actor->>'name', e.message, e.data
  FROM changed, ROWS FROM (json_to_recordset($${lines}::json) AS (type text, actor json, message text, data jsonb))
    WITH ORDINALITY AS e(type, actor, message, data, place)
  ORDER BY e.place`;

/** Loses against any write since the version that the change was computed from; wakes the record. */
const CHANGE_WISH = `
WITH changed AS (
  UPDATE order_operations SET ${SET_WISH}
  WHERE operation_id = $1 AND resource_version = $2
  RETURNING *
), event AS (${tell(10)})
SELECT * FROM changed`;

const json = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));

export const wishParameters = ({ wish, event, ...change }: WishChange): unknown[] => [
  change.operation_id,
  change.resource_version,
  json(wish.spec),
  json(wish.cancellation),
  json(wish.paused),
  wish.confirmation,
  wish.payment_number,
  json(storedStatus(change.status)),
  change.spec_changed,
  json([event, ...change.transitions]),
  json(wish.decisions ?? null),
  json(change.another_payment === undefined ? null : storedFacts(change.another_payment)),
];

/** Operations in one statement: with the largest specs some megabytes, as a rule some tens of kilobytes. */
const MOST_CREATES = 64;

export class PostgresOperationStore implements OperationStore {
  readonly #database: Database;
  readonly #creates: Coalescer<NewOperation, OperationRecord | null>;

  constructor(database: Database) {
    this.#database = database;
    this.#creates = new Coalescer({
      run: (operations, alone) => this.#insert(operations, alone ? 'patient' : 'hurried'),
      keyOf: ({ operation_id }) => operation_id,
      isFailureOfAll: isAway,
      most: MOST_CREATES,
      gather_ms: 5,
    });
  }

  async create(operation: NewOperation): Promise<Created> {
    const record = await this.#creates.add(operation);
    return record === null ? this.#existing(operation) : { kind: 'created', record };
  }

  /** Null for each that cannot be inserted: its key exists, or another operation has its order. */
  async #insert(
    operations: readonly NewOperation[],
    patience: Patience,
  ): Promise<(OperationRecord | null)[]> {
    // In one order everywhere, so that two batches that repeat each other do not wait for each other.
    const inOrder = operations.toSorted((a, b) => (a.operation_id < b.operation_id ? -1 : 1));
    const parameters = [JSON.stringify(storedFacts(NO_FACTS)), ...valuesOf(COLUMNS, inOrder)];
    const rows = await this.#database.query<CreatedRow>(CREATE, parameters, patience);
    const created = new Map(rows.map((row) => [row.operation_id, row]));
    return operations.map((operation) => {
      const row = created.get(operation.operation_id);
      return row === undefined ? null : newRecord(operation, row);
    });
  }

  async #existing(operation: NewOperation): Promise<Created> {
    const [row] = await this.#database.query<OrderOperationRow>(
      'SELECT * FROM order_operations WHERE operation_id = $1',
      [operation.operation_id],
    );
    if (row !== undefined)
      return { kind: 'exists', record: toRecord(row), first_spec: row.first_spec ?? row.spec };
    const [other] = await this.#database.query<{ operation_id: string }>(
      'SELECT operation_id FROM order_operations WHERE account = $1 AND order_id = $2',
      [operation.account, operation.wish.spec.order_id],
    );
    if (other === undefined)
      throw new Error('an operation conflicted and is not there; operations are never deleted');
    return { kind: 'order_taken', operation_id: other.operation_id };
  }

  async find(operationId: string): Promise<OperationRecord | null> {
    const rows = await this.findMany([operationId]);
    return rows[0] ?? null;
  }

  async findMany(operationIds: readonly string[]): Promise<OperationRecord[]> {
    const rows = await this.#database.query<OrderOperationRow>(
      'SELECT * FROM order_operations WHERE operation_id = ANY ($1)',
      [operationIds],
    );
    return rows.map(toRecord);
  }

  /** Its reader is loaded with the mapper that it uses: see Database. */
  async list(filter: ListFilter): Promise<Listed | null> {
    const { listIn } = await import('./operation-list.js');
    return listIn(this.#database, filter);
  }

  async changeWish(change: WishChange): Promise<OperationRecord | null> {
    const [row] = await this.#database.query<OrderOperationRow>(CHANGE_WISH, wishParameters(change));
    return row === undefined ? null : toRecord(row);
  }

  async events(operationId: string): Promise<OperationEvent[]> {
    const rows = await this.#database.query<OperationEventRow>(
      `SELECT e.* FROM operation_events e JOIN order_operations o ON o.id = e.operation
       WHERE o.operation_id = $1 ORDER BY e.sequence`,
      [operationId],
    );
    return rows.map(toEvent);
  }

  async attempts(operationId: string): Promise<JournalAttempt[]> {
    const rows = await this.#database.query<OperationAttemptRow>(
      `SELECT a.* FROM operation_attempts a JOIN order_operations o ON o.id = a.operation
       WHERE o.operation_id = $1 ORDER BY a.attempt_id`,
      [operationId],
    );
    return rows.map(toAttempt);
  }
}

interface CreatedRow extends Pick<OrderOperationRow, 'operation_id' | 'labels' | 'spec' | 'status'> {
  readonly next_attempt_at: Date;
}

/** What is read back is what Postgres has its own order of members for, so that a record always looks the same. */
const newRecord = (
  operation: NewOperation,
  { labels, spec, status, next_attempt_at }: CreatedRow,
): OperationRecord => ({
  ...operation,
  labels,
  wish: { ...operation.wish, spec },
  status: readStatus(status),
  requested_by: operation.requested_by.name,
  updated_at: operation.created_at,
  generation: 1,
  resource_version: 1,
  provider_reference: null,
  facts: NO_FACTS,
  task: null,
  next_attempt_at: next_attempt_at.toISOString(),
});
