/** Erases personal data: of one order when a person asks, and of all whose time is over. */
import type { Clock } from '../clock.js';
import type { Policy } from '../operation/operation.js';
import type { Erasable, ErasureStore } from '../store/erasure-store.js';
import type { Actor } from '../store/record.js';
import { erase, type Erasing } from './erase.js';

/** Why a person asks; a closed set, so that the trace of an erasure holds nothing personal itself. GDPR, article 17 (1). */
export const ERASURE_GROUNDS = [
  'no_longer_needed',
  'consent_withdrawn',
  'objection',
  'unlawful_processing',
  'legal_obligation',
] as const;
export type ErasureGround = (typeof ERASURE_GROUNDS)[number];

export type Erased =
  | { readonly kind: 'erased' }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'not_yet'; readonly why: string };

/** Between reading and writing somebody else may write to the order. */
const MOST_TRIES = 5;

const SYSTEM: Actor = { kind: 'system', name: 'housekeeping' };

export class Eraser {
  readonly #store: ErasureStore;
  readonly #clock: Clock;
  readonly #policy: Policy;

  constructor(store: ErasureStore, clock: Clock, policy: Policy) {
    this.#store = store;
    this.#clock = clock;
    this.#policy = policy;
  }

  /** Asked for again, it erases what has come since, and is told only if something has. */
  async erase(operationId: string, ground: ErasureGround, actor: Actor): Promise<Erased> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const one = await this.#store.find(operationId);
      if (one === null) return { kind: 'not_found' };
      const made = this.#made(one);
      if (made.kind === 'not_yet') return made;
      if (made.kind === 'nothing') return { kind: 'erased' };
      const done = await this.#store.erase([made.documents], actor, ground);
      if (done.length > 0) return { kind: 'erased' };
    }
    return { kind: 'not_yet', why: 'It is being changed at this moment. Ask again.' };
  }

  /**
   * A batch of orders that settled more than `days` ago and are watched no longer. `after`: where the next batch begins; null
   * when there is none.
   */
  async eraseDue(
    days: number,
    most: number,
    after: string | null,
  ): Promise<{ readonly erased: number; readonly after: string | null }> {
    const due = await this.#store.due(days, most, after);
    const documents = due.flatMap((one) => {
      const made = this.#made(one);
      return made.kind === 'erase' ? [made.documents] : [];
    });
    const erased =
      documents.length === 0 ? 0 : (await this.#store.erase(documents, SYSTEM, 'retention')).length;
    const last = due.length < most ? null : (due.at(-1)?.row.settled_at ?? null);
    return { erased, after: last?.toISOString() ?? null };
  }

  /** One that cannot be read keeps no other from being erased. */
  #made(one: Erasable): Erasing {
    try {
      return erase(one, this.#clock.now(), this.#policy);
    } catch {
      return { kind: 'not_yet', why: 'The record cannot be read by this version.' };
    }
  }
}
