/** What is done regularly: ticked by job schedulers once per cluster, or by local timers while those ticks stay away. */
import type { Clock } from '../clock.js';
import type { Log } from '../reconciler/log.js';
import { within } from '../within.js';
import type { BellQueue, BellWorker, QueueBackend } from './backend.js';
import type { Ring } from './queue-bell.js';

export interface Schedule {
  readonly interval_ms: number;
  /** Begins what is due; does not wait for anything outside. `lasts_ms`: more will be due during so long. */
  readonly tick: (lasts_ms?: number) => Promise<void>;
}

export interface ClockWorkOptions {
  readonly backend: QueueBackend;
  readonly queue: BellQueue;
  /** By id, which is the same everywhere: one schedule a cluster, at the interval that was set last. */
  readonly schedules: { readonly [SWEEP]: Schedule } & Readonly<Record<string, Schedule>>;
  readonly clock: Clock;
  readonly log: Log;
}

/** A bell asks for this one, too. */
export const SWEEP = 'sweep';

/** A queue that needs longer is as good as away. */
const PATIENCE_MS = 1_000;

/** Clients report each failed reconnection; one line a minute is enough for a person. */
const COMPLAINT_INTERVAL_MS = 60_000;

export class ClockWork {
  readonly #options: ClockWorkOptions;
  readonly #timers: readonly NodeJS.Timeout[];
  readonly #worker: BellWorker;
  #complained = -Infinity;

  constructor(options: ClockWorkOptions) {
    this.#options = options;
    this.#worker = options.backend.worker(
      ({ name, data }) =>
        (options.schedules[name] ?? options.schedules[SWEEP]).tick((data as Ring | undefined)?.lasts_ms),
      (error) => this.#complain(error),
    );
    this.#timers = Object.entries(options.schedules).map(([id, schedule]) => {
      void this.#schedule(id, schedule);
      return setInterval(() => void this.#watch(id, schedule), schedule.interval_ms);
    });
  }

  /** No new ticks; a tick that is under way ends first. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#worker.close();
  }

  /** When nobody in the cluster ticks any more, each process ticks for itself and sets the schedule anew. */
  async #watch(id: string, schedule: Schedule): Promise<void> {
    if (await this.#isTicking(id, schedule)) return;
    await Promise.all([
      schedule.tick().catch((error: unknown) => this.#complain(error)),
      this.#schedule(id, schedule),
    ]);
  }

  /** True while the schedule is there and its next tick is not overdue by two intervals. */
  async #isTicking(id: string, { interval_ms }: Schedule): Promise<boolean> {
    const { queue, clock } = this.#options;
    try {
      const scheduler = await within(PATIENCE_MS, queue.getJobScheduler(id));
      const overdue = clock.now().getTime() - (scheduler?.next ?? -Infinity);
      return overdue < 2 * interval_ms;
    } catch (error) {
      this.#complain(error);
      return false;
    }
  }

  async #schedule(id: string, { interval_ms }: Schedule): Promise<void> {
    const { queue } = this.#options;
    try {
      await within(PATIENCE_MS, queue.upsertJobScheduler(id, { every: interval_ms }, { name: id }));
    } catch (error) {
      this.#complain(error);
    }
  }

  #complain(error: unknown): void {
    const now = this.#options.clock.now().getTime();
    if (now - this.#complained < COMPLAINT_INTERVAL_MS) return;
    this.#complained = now;
    this.#options.log.warn(
      { error: String(error) },
      'the queue is away; a local timer sweeps until it is back',
    );
  }
}
