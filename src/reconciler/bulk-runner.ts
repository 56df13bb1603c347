/**
 * Carries out bulk commands that people confirmed. What is left to do is in Postgres, so whichever process is there goes
 * on; each row is carried out at most once, whoever tries it, by the same code as a single command.
 */
import { isFailed, nextRows, type Progress } from '../operation/bulk.js';
import type { CommandOutcome } from '../operation/evidence.js';
import type { BulkRecord, BulkStore, Stopped } from '../store/bulk-store.js';
import { isAway } from '../store/database.js';
import type { CommandDesk } from './command-desk.js';
import { refusalOf, type Refusal } from './commands.js';
import type { Log } from './log.js';

export interface BulkRunnerOptions {
  readonly store: BulkStore;
  readonly desk: Pick<CommandDesk, 'runRow'>;
  /** Unique per process; the holder of its leases. */
  readonly runner: string;
  /** Longer than a row takes: it begins anew with each. */
  readonly lease_ms: number;
  readonly log: Log;
}

/** Between two questions what became of a row, or whether an account may be asked. */
const PAUSE_MS = 200;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Whoever holds the lease now goes on. */
class LeaseLost extends Error {}

/** A row as this process knows it; `carriedOut` on the clock of `performance`. */
interface Row {
  readonly operation_id: string;
  readonly preview_id: string;
  carriedOut: number | null;
  refused: boolean;
  outcome: CommandOutcome | null;
}

export class BulkRunner {
  readonly #options: BulkRunnerOptions;
  #running: Promise<void> | null = null;
  #asked = false;
  #draining = false;

  constructor(options: BulkRunnerOptions) {
    this.#options = options;
  }

  /** Begins to carry out what is there, unless that is under way here. Resolves at once. */
  tick(): Promise<void> {
    this.#asked = true;
    if (!this.#draining) this.#running ??= this.#whileAsked();
    return Promise.resolve();
  }

  /** What is confirmed just as the last one ends is not left to a later tick. */
  async #whileAsked(): Promise<void> {
    try {
      while (this.#asked) {
        this.#asked = false;
        await this.run();
      }
    } catch (error) {
      this.#options.log.warn({ err: error }, 'a bulk command was broken off; a later tick goes on');
    } finally {
      this.#running = null;
    }
  }

  /** Begins no more rows, and waits for those that are under way. */
  async drain(): Promise<void> {
    this.#draining = true;
    await this.#running;
  }

  /** Until none is left that nobody else carries out. */
  async run(): Promise<void> {
    const { store, runner, lease_ms } = this.#options;
    while (!this.#draining) {
      const bulkId = await store.claim(runner, lease_ms);
      if (bulkId === null) return;
      const bulk = await store.find(bulkId);
      if (bulk !== null) await this.#carryOut(bulk);
      // Whoever comes next need not wait for the end of the lease.
      await store.release(bulkId, runner);
    }
  }

  async #carryOut(bulk: BulkRecord): Promise<void> {
    const rows = bulk.rows.map(({ operation_id, preview_id, state, refused, outcome, age_ms }): Row => {
      const carriedOut = state === 'previewed' ? null : performance.now() - age_ms;
      return { operation_id, preview_id, carriedOut, refused: refused !== null, outcome };
    });
    const underWay = new Map<string, Promise<void>>();
    const failed: Error[] = [];
    let isExpired = false;
    const begin = async (row: Row): Promise<void> => {
      try {
        isExpired = !(await this.#row(bulk, row)) || isExpired;
      } catch (error) {
        failed.push(error instanceof Error ? error : new Error(String(error)));
      } finally {
        underWay.delete(row.preview_id);
      }
    };
    for (;;) {
      if (!this.#draining && !isExpired && failed.length === 0) {
        const next = nextRows(
          bulk.command,
          rows.map(progressOf),
          new Set(underWay.keys()),
          bulk.stop_after_failures ?? 1,
        );
        if (next.kind === 'over') return this.#end(bulk, rows, next.stopped);
        const begun = next.kind === 'rows' ? next.preview_ids : [];
        for (const row of rows.filter(({ preview_id }) => begun.includes(preview_id)))
          underWay.set(row.preview_id, begin(row));
      }
      if (underWay.size === 0) break;
      await Promise.race(underWay.values());
    }
    if (isExpired) return this.#end(bulk, rows, 'expired');
    const error = failed.find((one) => !(one instanceof LeaseLost));
    if (error !== undefined) throw error;
  }

  /** False: it is too late to begin it. */
  async #row(bulk: BulkRecord, row: Row): Promise<boolean> {
    const { store, desk, log } = this.#options;
    if (!(await this.#mayGoOn(bulk.bulk_id, row))) return false;
    let refusal: Refusal;
    try {
      const answer = await desk.runRow(row.operation_id, row.preview_id, {
        requested_by: { kind: bulk.requested_kind, name: bulk.requested_by ?? '' },
        reason: bulk.reason ?? '',
        approval:
          bulk.approved_by === null
            ? null
            : { by: { kind: bulk.approved_kind, name: bulk.approved_by }, words: bulk.approval },
        lead: bulk.requested_by_lead === true || bulk.approved_by !== null,
      });
      if (answer.kind === 'expired') return false;
      if (answer.kind === 'command') {
        row.carriedOut ??= performance.now();
        row.outcome = answer.command.outcome;
        if (row.outcome === null) await pause(PAUSE_MS);
        return true;
      }
      refusal = refusalOf(answer);
    } catch (error) {
      if (isAway(error)) throw error;
      // One record that cannot be worked with must not hold up the others, nor later bulk commands.
      const { bulk_id } = bulk;
      log.error({ err: error, bulk_id, operation_id: row.operation_id }, 'a row of a bulk command failed');
      refusal = { problem: 'internal', why: 'Something went wrong; it is logged under the bulk_id.' };
    }
    await store.refuse(bulk.bulk_id, row.preview_id, refusal);
    row.refused = true;
    return true;
  }

  /**
   * The lease begins anew. Before a row is begun it waits as long as the provider asked its account to. False: the time for
   * beginning rows is over.
   */
  async #mayGoOn(bulkId: string, { operation_id, carriedOut }: Row): Promise<boolean> {
    const { store, runner, lease_ms } = this.#options;
    for (;;) {
      const held = await store.renew(bulkId, runner, lease_ms);
      if (held === null || this.#draining) throw new LeaseLost();
      if (carriedOut !== null) return true;
      if (held.expired) return false;
      const wait = (await store.leaveOf(operation_id))?.wait_ms ?? 0;
      if (wait === 0) return true;
      await pause(Math.min(wait + 1, PAUSE_MS));
    }
  }

  async #end(bulk: BulkRecord, rows: readonly Row[], stopped: Stopped | null): Promise<void> {
    const { bulk_id, command } = bulk;
    if (!(await this.#options.store.end(bulk_id, this.#options.runner, stopped))) return;
    const failures = rows.filter((row) => isFailed(command, progressOf(row))).length;
    this.#options.log.info(
      { bulk_id, command, rows: rows.length, failures, stopped },
      'a bulk command has ended',
    );
  }
}

const progressOf = ({ preview_id, carriedOut, refused, outcome }: Row): Progress => ({
  preview_id,
  carried_out: carriedOut !== null,
  refused,
  outcome,
  age_ms: carriedOut === null ? 0 : performance.now() - carriedOut,
});
