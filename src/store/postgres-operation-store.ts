/** The API's side of the record: reads, creates, and changes of the wish. Each write is one statement. */
import { Brackets, In } from 'typeorm';
import type { Database } from './database.js';
import { violatedConstraint } from './database.js';
import { type OperationAttemptRow, type OperationEventRow, OrderOperationRow } from './entities.js';
import { toAttempt, toEvent, toRecord } from './mapping.js';
import { NO_FACTS } from '../operation/operation.js';
import type { OperationStore } from './operation-store.js';
import type {
  Created,
  JournalAttempt,
  ListFilter,
  NewOperation,
  OperationEvent,
  OperationRecord,
  WishChange,
} from './record.js';

/** Due at once: the row is inserted together with its first event, so that neither exists alone. */
const CREATE = `
WITH created AS (
  INSERT INTO order_operations (operation_id, account, labels, requested_by, created_at, updated_at, spec, first_spec,
    cancellation, paused, confirmation, payment_number, facts, status, deadline_at, next_attempt_at)
  VALUES ($1, $2, $3, $4, $5, $5, $6, $6, $7, $8, $9, $10, $11, $12, ($12::jsonb->>'deadline_at')::timestamptz, now())
  ON CONFLICT (operation_id) DO NOTHING
  RETURNING *
), event AS (
  INSERT INTO operation_events (operation, at, type, actor_kind, actor_name, message)
  SELECT id, created_at, 'operation_created', $13, $4, 'The wish was stored.' FROM created
)
SELECT * FROM created`;

/** Loses against any write since the version that the change was computed from; wakes the record. */
const CHANGE_WISH = `
WITH changed AS (
  UPDATE order_operations SET
    spec = $3, cancellation = $4, paused = $5, confirmation = $6, payment_number = $7, status = $8,
    settled_at = ($8::jsonb->>'settled_at')::timestamptz, deadline_at = ($8::jsonb->>'deadline_at')::timestamptz,
    generation = generation + CASE WHEN $9::boolean THEN 1 ELSE 0 END,
    resource_version = resource_version + 1, updated_at = now(),
    wake = wake + 1, next_attempt_at = now()
  WHERE operation_id = $1 AND resource_version = $2
  RETURNING *
), event AS (
  INSERT INTO operation_events (operation, at, type, actor_kind, actor_name, message, data)
  SELECT id, updated_at, e.type, e.actor->>'kind', e.actor->>'name', e.message, e.data
  FROM changed, ROWS FROM (json_to_recordset($10::json) AS (type text, actor json, message text, data jsonb))
    WITH ORDINALITY AS e(type, actor, message, data, place)
  ORDER BY e.place
)
SELECT * FROM changed`;

export class PostgresOperationStore implements OperationStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async create(operation: NewOperation): Promise<Created> {
    const { wish, requested_by } = operation;
    try {
      const [row] = await this.#database.query<OrderOperationRow>(CREATE, [
        operation.operation_id,
        operation.account,
        JSON.stringify(operation.labels),
        requested_by.name,
        operation.created_at,
        JSON.stringify(wish.spec),
        wish.cancellation === null ? null : JSON.stringify(wish.cancellation),
        wish.paused === null ? null : JSON.stringify(wish.paused),
        wish.confirmation,
        wish.payment_number,
        JSON.stringify(NO_FACTS),
        JSON.stringify(operation.status),
        requested_by.kind,
      ]);
      if (row !== undefined) return { kind: 'created', record: toRecord(row) };
    } catch (error) {
      if (violatedConstraint(error) !== 'order_operations_order_id') throw error;
    }
    return this.#existing(operation);
  }

  async #existing(operation: NewOperation): Promise<Created> {
    const [row] = await this.#database.query<OrderOperationRow>(
      'SELECT * FROM order_operations WHERE operation_id = $1',
      [operation.operation_id],
    );
    if (row !== undefined) return { kind: 'exists', record: toRecord(row), first_spec: row.first_spec };
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
    const repository = await this.#database.repository(OrderOperationRow);
    const rows = await this.#database.guarded(() =>
      repository.findBy({ operation_id: In([...operationIds]) }),
    );
    return rows.map(toRecord);
  }

  async list(filter: ListFilter): Promise<{ items: OperationRecord[]; next_cursor: string | null } | null> {
    const before = filter.cursor === undefined ? null : readCursor(filter.cursor);
    if (filter.cursor !== undefined && before === null) return null;
    const repository = await this.#database.repository(OrderOperationRow);
    const query = repository
      .createQueryBuilder('o')
      .orderBy('o.id', 'DESC')
      .limit(filter.limit + 1);
    if (before !== null) query.andWhere('o.id < :before', { before });
    if (filter.phase !== undefined) query.andWhere('o.phase = :phase', { phase: filter.phase });
    if (filter.order_id !== undefined) query.andWhere('o.order_id = :order', { order: filter.order_id });
    if (filter.account !== undefined) query.andWhere('o.account = :account', { account: filter.account });
    if (filter.attention !== undefined) {
      query.andWhere(`o.attention_reason IS ${filter.attention ? 'NOT ' : ''}NULL`);
    }
    if (filter.reason !== undefined) {
      const { reason } = filter;
      query.andWhere(
        new Brackets((either) =>
          either.where('o.condition = :reason').orWhere('o.attention_reason = :reason'),
        ),
        { reason },
      );
    }
    const rows = await this.#database.guarded(() => query.getMany());
    const page = rows.slice(0, filter.limit);
    const last = page.at(-1);
    return {
      items: page.map(toRecord),
      next_cursor: rows.length > filter.limit && last !== undefined ? writeCursor(last.id) : null,
    };
  }

  async changeWish(change: WishChange): Promise<OperationRecord | null> {
    const { wish, event } = change;
    const [row] = await this.#database.query<OrderOperationRow>(CHANGE_WISH, [
      change.operation_id,
      change.resource_version,
      JSON.stringify(wish.spec),
      wish.cancellation === null ? null : JSON.stringify(wish.cancellation),
      wish.paused === null ? null : JSON.stringify(wish.paused),
      wish.confirmation,
      wish.payment_number,
      JSON.stringify(change.status),
      change.spec_changed,
      JSON.stringify([event, ...change.transitions]),
    ]);
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

/** A cursor is the id of the last row, as opaque text. */
const writeCursor = (id: string): string => Buffer.from(`o:${id}`).toString('base64url');

function readCursor(cursor: string): string | null {
  const match = /^o:([0-9]{1,18})$/.exec(Buffer.from(cursor, 'base64url').toString('utf8'));
  return match?.[1] ?? null;
}
