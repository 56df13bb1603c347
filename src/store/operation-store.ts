/** Operations in Postgres as the API uses them: one statement per write, each naming the version it expects. */
import type {
  Created,
  JournalAttempt,
  ListFilter,
  NewOperation,
  OperationEvent,
  OperationRecord,
  WishChange,
} from './record.js';

/** A page; `next_cursor` null on the last one. */
export interface Listed {
  readonly items: OperationRecord[];
  readonly next_cursor: string | null;
}

export interface OperationStore {
  /** One statement; 50 parallel identical calls make one record, and all are told of it. */
  create(operation: NewOperation): Promise<Created>;
  find(operationId: string): Promise<OperationRecord | null>;
  /** Those of `operationIds` that exist, in no order; one query. */
  findMany(operationIds: readonly string[]): Promise<OperationRecord[]>;
  /** Newest first. A cursor that was not given out by us is refused by `null`. */
  list(filter: ListFilter): Promise<Listed | null>;
  /** Null when the record is no longer at `resource_version`: read again and decide anew. Wakes the record. */
  changeWish(change: WishChange): Promise<OperationRecord | null>;
  events(operationId: string): Promise<OperationEvent[]>;
  attempts(operationId: string): Promise<JournalAttempt[]>;
}
