/** Rings through the queue, so that a worker in any process claims at once. Never waited for. */
import type { Bell } from '../reconciler/bell.js';
import type { Log } from '../reconciler/log.js';
import { within } from '../within.js';
import type { BellQueue } from './backend.js';

/**
 * Rings that follow each other sooner share one, since a ring costs as much as a small order: hardly a moment after one that
 * came alone. While they follow each other, a ring asks the worker that hears it to go on looking until the next one.
 */
const PAUSE_MS = { alone: 8, crowd: 100 };

/** The next ring of a crowd has come by then. */
const LASTS_MS = PAUSE_MS.crowd + 15;

/** What a ring says; none of it names an order. */
export interface Ring {
  /** More is about to come: look for it, again and again, for so many milliseconds. */
  readonly lasts_ms?: number;
}

/** A ring that the queue has not taken by then is given up; the sweep finds the work. */
const GIVE_UP_MS = 2_000;

/**
 * `keepLastIfActive`: a bell that rings while another is being answered is kept, for the work may have come after
 * that one's claim. Without it such a bell would be dropped. One that lasts has an id of its own: the queue would take it for
 * one that came alone and still waits, or the other way round.
 */
const once = (id: string) => ({ deduplication: { id, keepLastIfActive: true } });

export class QueueBell implements Bell {
  readonly #queue: BellQueue;
  readonly #log: Log;
  readonly #name: string;
  #ringing = false;
  #again = false;
  #crowd = false;

  /** `name`: of the schedule that it hurries; none: that of the orders. */
  constructor(queue: BellQueue, log: Log, name = 'bell') {
    this.#queue = queue;
    this.#log = log;
    this.#name = name;
  }

  /** At once after a silence; then at most one ring at a time and a pause, however often this is called. */
  ring(): void {
    if (this.#ringing) {
      this.#again = true;
      return;
    }
    this.#ringing = true;
    void this.#ring().finally(() => {
      const pause = this.#crowd ? PAUSE_MS.crowd : PAUSE_MS.alone;
      setTimeout(() => {
        this.#ringing = false;
        this.#crowd = this.#again;
        this.#again = false;
        if (this.#crowd) this.ring();
      }, pause).unref();
    });
  }

  async #ring(): Promise<void> {
    const [ring, id]: [Ring, string] = this.#crowd
      ? [{ lasts_ms: LASTS_MS }, `${this.#name} lasting`]
      : [{}, this.#name];
    try {
      await within(GIVE_UP_MS, this.#queue.add(this.#name, ring, once(id)));
    } catch (error) {
      // What waits is found by the sweep; ringing again at once would only hammer a queue that is away.
      this.#again = false;
      this.#log.warn({ error: String(error) }, 'the bell could not be rung; the sweep finds the work');
    }
  }
}
