/**
 * Group commit: items that wait at the same moment share one statement and one commit. Nothing waits for company: an
 * item that comes while no batch is under way goes at once, those that come meanwhile go together after it.
 */
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
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export class Coalescer<Item, Result> {
  readonly #options: CoalescerOptions<Item, Result>;
  #waiting: Waiting<Item, Result>[] = [];
  #running = false;

  constructor(options: CoalescerOptions<Item, Result>) {
    this.#options = options;
  }

  /** Settles when the batch that the item went with is committed, or failed. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#running) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#running = true;
    // Whoever asks in the same turn of the event loop goes along.
    await Promise.resolve();
    let tell = nobodyToTell;
    while (this.#waiting.length > 0) {
      const writing = this.#carryOut(this.#take());
      // Whoever is told has much to do. The store does not wait for that: it has the next batch by then.
      setImmediate(tell);
      tell = await writing;
    }
    this.#running = false;
    tell();
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

  /** Resolves, when the batch is committed or has failed, with what tells its items so. */
  async #carryOut(batch: readonly Waiting<Item, Result>[], alone = false): Promise<() => void> {
    try {
      const results = await this.#options.run(
        batch.map(({ item }) => item),
        alone,
      );
      return () => results.forEach((result, index) => batch[index]?.resolve(result));
    } catch (error) {
      if (alone || this.#options.isFailureOfAll(error))
        return () => batch.forEach(({ reject }) => reject(error));
      // One of them spoils it for the others; Postgres undid them all. The next batch does not wait for that one.
      for (const one of batch) void this.#carryOut([one], true).then((tell) => tell());
      return nobodyToTell;
    }
  }
}

const nobodyToTell = (): void => undefined;
