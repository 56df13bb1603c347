/**
 * Group commit: items that wait at the same moment share one statement and one commit. An item that comes while no batch is
 * under way goes at once, those that come meanwhile go together after it. Only while items come so fast that each would
 * soon have company does a batch wait a moment for it: fewer statements leave more of the machine to those that wait.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export interface CoalescerOptions<Item, Result> {
  /**
   * Carries out a batch; the results stand in its order. The next one waits for it, so it must not wait for long; one that
   * is tried again `alone` may: nothing waits for that.
   */
  readonly run: (batch: readonly Item[], alone: boolean) => Promise<readonly Result[]>;
  /** Items of one key never share a batch. They keep their order, but for one that is tried again by itself. */
  readonly keyOf: (item: Item) => string;
  /** A batch that failed like this fails for each of its items; after any other failure each is tried by itself. */
  readonly isFailureOfAll: (error: unknown) => boolean;
  readonly most: number;
  /** How long a batch waits for company. */
  readonly gather_ms: number;
}

/** So many items within so many times `gather_ms`: more are about to come. Found by trial: docs/decisions/0028. */
const CROWD = 4;
const MOMENTS = 3;

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export class Coalescer<Item, Result> {
  readonly #options: CoalescerOptions<Item, Result>;
  #waiting: Waiting<Item, Result>[] = [];
  #running = false;
  /** When the latest items came, on the clock of `performance`. */
  readonly #arrivals: number[] = [];

  constructor(options: CoalescerOptions<Item, Result>) {
    this.#options = options;
  }

  /** Settles when the batch that the item went with is committed, or failed. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#arrivals.push(performance.now());
      if (this.#arrivals.length > CROWD) this.#arrivals.shift();
      if (!this.#running) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#running = true;
    // Whoever asks in the same turn of the event loop goes along.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      if (this.#isCrowded()) await sleep(this.#options.gather_ms);
      await this.#carryOut(this.#take());
    }
    this.#running = false;
  }

  #isCrowded(): boolean {
    const { gather_ms, most } = this.#options;
    const [first = -Infinity] = this.#arrivals.length < CROWD ? [] : this.#arrivals;
    return this.#waiting.length < most && performance.now() - first < MOMENTS * gather_ms;
  }

  #take(): Waiting<Item, Result>[] {
    const { keyOf, most } = this.#options;
    const keys = new Set<string>();
    const batch: Waiting<Item, Result>[] = [];
    const rest: Waiting<Item, Result>[] = [];
    for (const waiting of this.#waiting) {
      const key = keyOf(waiting.item);
      (batch.length < most && !keys.has(key) ? batch : rest).push(waiting);
      keys.add(key);
    }
    this.#waiting = rest;
    return batch;
  }

  /** Settles its items, and never rejects. */
  async #carryOut(batch: readonly Waiting<Item, Result>[], alone = false): Promise<void> {
    try {
      const results = await this.#options.run(
        batch.map(({ item }) => item),
        alone,
      );
      results.forEach((result, index) => batch[index]?.resolve(result));
    } catch (error) {
      if (alone || this.#options.isFailureOfAll(error)) batch.forEach(({ reject }) => reject(error));
      // One of them spoils it for the others; Postgres undid them all. The next batch does not wait for that one.
      else for (const one of batch) void this.#carryOut([one], true);
    }
  }
}
