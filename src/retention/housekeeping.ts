/** Deletes and erases what is kept no longer: little by little, so that nobody waits for it. Safe to run twice at once. */
import type { Log } from '../reconciler/log.js';
import type { HousekeepingStore } from '../store/housekeeping-store.js';
import type { Eraser } from './eraser.js';
import type { Retention } from './rules.js';

/** A statement over so many rows takes some ten milliseconds. */
const ROWS = 500;
/** Each with up to some hundred rows. */
const LISTS = 10;
/** An order leaves some twenty rows of journal and timeline. */
const ORDERS = 50;
/** Some ten seconds of a large shop's orders. */
const LINES = 5_000;
/** Of each kind in one tick: ten thousand rows a minute, fourteen million a day, and then others have their turn. */
const MOST_BATCHES = 20;

export interface HousekeepingDependencies {
  readonly store: HousekeepingStore;
  readonly eraser: Pick<Eraser, 'eraseDue'>;
  readonly retention: Retention;
  /** How long an order is watched after it settled. */
  readonly watch_days: number;
  readonly log: Log;
}

type Kind = 'webhooks' | 'previews' | 'lists' | 'findings' | 'journals' | 'personal_data';

export class Housekeeping {
  readonly #deps: HousekeepingDependencies;
  #running: Promise<unknown> | null = null;
  #draining = false;
  /** Where the next round goes on erasing: what cannot be erased for now stays at the head of the list. */
  #after: string | null = null;

  constructor(deps: HousekeepingDependencies) {
    this.#deps = deps;
  }

  /** Begins a round, unless one is under way here. Resolves at once: the queue does not wait for it. */
  tick(): Promise<void> {
    if (this.#running !== null || this.#draining) return Promise.resolve();
    this.#running = this.round().finally(() => (this.#running = null));
    return Promise.resolve();
  }

  /** Begins no more batches, and waits for the one that is under way. */
  async drain(): Promise<void> {
    this.#draining = true;
    await this.#running;
  }

  /** What was deleted or erased: rows, orders with their journals, orders. One kind that fails keeps none of the others. */
  async round(): Promise<Readonly<Record<Kind, number>>> {
    const { store, eraser, watch_days } = this.#deps;
    const { webhooks, findings, journal, personal_data } = this.#deps.retention;
    await this.#batches('counts', 0, LINES, () => store.addUp(LINES));
    const done = {
      webhooks: await this.#batches('webhooks', webhooks, ROWS, (days) => store.deleteWebhooks(days, ROWS)),
      previews: await this.#batches('previews', 1, ROWS, (days) => store.deletePreviews(days, ROWS)),
      lists: await this.#batches('lists', 0, LISTS, () => store.deleteLists(journal, LISTS)),
      findings: await this.#batches('findings', findings, ROWS, (days) => store.deleteFindings(days, ROWS)),
      journals: await this.#batches('journals', journal, ORDERS, (days) =>
        store.deleteJournals(days, ORDERS),
      ),
      personal_data: await this.#batches('personal_data', personal_data, ORDERS, async (days) => {
        const batch = await eraser.eraseDue(watch_days + days, ORDERS, this.#after);
        this.#after = batch.after;
        return { done: batch.erased, more: batch.after !== null };
      }),
    };
    if (Object.values(done).some((count) => count > 0)) {
      this.#deps.log.info({ ...done }, 'what is kept no longer was deleted or erased');
    }
    return done;
  }

  /** Null days: kept for ever. */
  async #batches(
    kind: Kind | 'counts',
    days: number | null,
    most: number,
    batch: (days: number) => Promise<number | { readonly done: number; readonly more: boolean }>,
  ): Promise<number> {
    let sum = 0;
    try {
      for (let batches = 0; days !== null && batches < MOST_BATCHES && !this.#draining; batches += 1) {
        const result = await batch(days);
        const { done, more } = typeof result === 'number' ? { done: result, more: result >= most } : result;
        sum += done;
        if (!more) break;
      }
    } catch (error) {
      this.#deps.log.warn({ kind, error: String(error) }, 'housekeeping failed; a later tick goes on');
    }
    return sum;
  }
}
