/** `?wait=`: one poll of the database serves all who wait in this process, and none runs while nobody does. */
import { Inject, Injectable } from '@nestjs/common';
import type { OperationStore } from '../../store/operation-store.js';
import type { OperationRecord } from '../../store/record.js';
import { STORE } from '../tokens.js';
import { isAtRest } from './rest.js';

/** A person does not notice a tenth of a second, and ten small queries a second are nothing to Postgres. */
const POLL_MS = 100;

interface Waiter {
  readonly operation_id: string;
  /** Ends the wait; with what was read last, or null when nothing was. */
  readonly end: (record: OperationRecord | null) => void;
}

@Injectable()
export class Waiters {
  readonly #waiting = new Set<Waiter>();
  #polling = false;
  #closed = false;

  constructor(@Inject(STORE) private readonly store: OperationStore) {}

  /**
   * Resolves when the operation is at rest, after `seconds`, when `signal` aborts or when the process stops: with
   * the record as last read, or null when it was not read since. Never rejects.
   */
  async wait(operationId: string, seconds: number, signal: AbortSignal): Promise<OperationRecord | null> {
    if (seconds === 0 || this.#closed || signal.aborted) return null;
    return new Promise((resolve) => {
      const end = (record: OperationRecord | null): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', give_up);
        this.#waiting.delete(waiter);
        resolve(record);
      };
      const give_up = (): void => end(null);
      const timer = setTimeout(give_up, seconds * 1000);
      const waiter: Waiter = { operation_id: operationId, end };
      signal.addEventListener('abort', give_up, { once: true });
      this.#waiting.add(waiter);
      void this.#poll();
    });
  }

  /** Everybody who waits is answered now, with the state as it is. */
  close(): void {
    this.#closed = true;
    for (const waiter of [...this.#waiting]) waiter.end(null);
  }

  /** For tests and for people who look into a process. */
  get count(): number {
    return this.#waiting.size;
  }

  async #poll(): Promise<void> {
    if (this.#polling) return;
    this.#polling = true;
    while (this.#waiting.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      // A database that is away for a moment ends no wait; the read after the wait tells of it.
      await this.#look().catch(() => undefined);
    }
    this.#polling = false;
  }

  async #look(): Promise<void> {
    const ids = [...new Set([...this.#waiting].map((waiter) => waiter.operation_id))];
    if (ids.length === 0) return;
    const records = new Map((await this.store.findMany(ids)).map((record) => [record.operation_id, record]));
    for (const waiter of [...this.#waiting]) {
      const record = records.get(waiter.operation_id);
      if (record !== undefined && isAtRest(record)) waiter.end(record);
    }
  }
}
