/** The regular sweep: ticked by a job scheduler once per cluster, or by a local timer while those ticks stay away. */
import type { Clock } from '../clock.js';
import type { Log } from '../reconciler/log.js';
import { within } from '../within.js';
import type { BellQueue, BellWorker, QueueBackend } from './backend.js';

export interface ClockWorkOptions {
  readonly backend: QueueBackend;
  readonly queue: BellQueue;
  readonly interval_ms: number;
  /** Claims what is due. */
  readonly tick: () => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

/** The same id everywhere: one schedule a cluster, at the interval that was set last. */
const SCHEDULE = 'sweep';

/** A queue that needs longer is as good as away. */
const PATIENCE_MS = 1_000;

/** Clients report each failed reconnection; one line a minute is enough for a person. */
const COMPLAINT_INTERVAL_MS = 60_000;

export class ClockWork {
  readonly #options: ClockWorkOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #worker: BellWorker;
  #complained = -Infinity;

  constructor(options: ClockWorkOptions) {
    this.#options = options;
    this.#worker = options.backend.worker(
      () => options.tick(),
      (error) => this.#complain(error),
    );
    this.#timer = setInterval(() => void this.#watch(), options.interval_ms);
    void this.#schedule();
  }

  /** No new ticks; a tick that is under way ends first. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#worker.close();
  }

  /** When nobody in the cluster ticks any more, each process ticks for itself and sets the schedule anew. */
  async #watch(): Promise<void> {
    if (await this.#isTicking()) return;
    await Promise.all([
      this.#options.tick().catch((error: unknown) => this.#complain(error)),
      this.#schedule(),
    ]);
  }

  /** True while the schedule is there and its next tick is not overdue by two intervals. */
  async #isTicking(): Promise<boolean> {
    const { queue, interval_ms, clock } = this.#options;
    try {
      const schedule = await within(PATIENCE_MS, queue.getJobScheduler(SCHEDULE));
      const overdue = clock.now().getTime() - (schedule?.next ?? -Infinity);
      return overdue < 2 * interval_ms;
    } catch (error) {
      this.#complain(error);
      return false;
    }
  }

  async #schedule(): Promise<void> {
    const { queue, interval_ms } = this.#options;
    try {
      await within(
        PATIENCE_MS,
        queue.upsertJobScheduler(SCHEDULE, { every: interval_ms }, { name: SCHEDULE }),
      );
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
