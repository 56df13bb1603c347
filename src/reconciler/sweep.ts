/** Claims what is due and reconciles it, as many records at once as this process may hold. */
import type { Bell } from './bell.js';
import type { LoopDependencies } from './ports.js';
import { reconcile } from './reconcile.js';
import { Seats } from './seats.js';

export interface SweepOptions {
  /** Passes at once in this process. */
  readonly concurrency: number;
  /** Retries that are due sooner than this are looked at by a timer of their own, not by the next regular sweep. */
  readonly interval_ms: number;
}

/**
 * While more waits than fits, a claim waits until it can take a good part of what the process may hold, so that it is
 * worth its statement; but not for long, since some of what is held may be stuck with a provider that does not answer.
 */
const GOOD_PART = 0.25;
const GATHER_MS = 20;

/** How soon it is looked again for what is about to be due. */
const LOOK_MS = 8;

/** More than two clocks that are kept right differ. */
const WRONG_CLOCK_MS = 1_000;

/** How soon an account that is out or limited is asked for what it may bear meanwhile. */
const HELD_MS = 250;

export class Sweep {
  readonly #loop: LoopDependencies;
  readonly #bell: Bell;
  readonly #options: SweepOptions;
  readonly #passes = new Set<Promise<void>>();
  readonly #seats: Seats;
  readonly #timers = new Set<NodeJS.Timeout>();
  #claiming: Promise<void> | null = null;
  #heldTimer: NodeJS.Timeout | null = null;
  #gathering: NodeJS.Timeout | null = null;
  #seatsTimer: NodeJS.Timeout | null = null;
  #lookTimer: NodeJS.Timeout | null = null;
  /** Until then more is expected, on the clock of `performance`. */
  #expectedUntil = -Infinity;
  /** Someone asked while a claim was under way, or the last claim left something for want of room. */
  #more = false;
  /** The last claim took all that there was room for. */
  #backlog = false;
  #draining = false;
  #isClockWrong = false;

  /** `bell` tells other workers of work that does not fit here. */
  constructor(loop: LoopDependencies, bell: Bell, options: SweepOptions) {
    this.#loop = loop;
    this.#bell = bell;
    this.#options = options;
    this.#seats = new Seats(loop.accounts.share(options.concurrency));
  }

  /** Passes that this process could begin now. */
  get room(): number {
    return this.#draining ? 0 : this.#options.concurrency - this.#passes.size;
  }

  /**
   * Claims what is due and begins its passes; resolves when they have begun, not when they end. Calls that come while
   * one is claiming share the claim after it. Rejects when the database cannot be asked. `lasts_ms`: more will be due
   * during so long, and is looked for meanwhile without being asked.
   */
  tick(lasts_ms = 0): Promise<void> {
    // Heard by a process that is full, it would be lost for those that are not.
    if (lasts_ms > 0 && this.room <= 0) this.#bell.ring();
    this.#expectedUntil = Math.max(this.#expectedUntil, performance.now() + lasts_ms);
    if (this.#claiming !== null) {
      this.#more = true;
      return this.#claiming;
    }
    this.#claiming = this.#claim()
      .catch((error: unknown) => {
        // The next tick tries again, and nobody asks a database that is away every few milliseconds.
        this.#expectedUntil = -Infinity;
        throw error;
      })
      .finally(() => {
        this.#claiming = null;
        // Asked after the last look at it.
        if (this.#more && this.room > 0 && this.#gathering === null) this.#tickQuietly();
        else if (performance.now() < this.#expectedUntil && !this.#draining)
          this.#lookTimer ??= this.#after(LOOK_MS, () => (this.#lookTimer = null));
      });
    return this.#claiming;
  }

  /** Claims no more and waits for the passes under way. */
  async drain(): Promise<void> {
    this.#draining = true;
    for (const timer of this.#timers) clearTimeout(timer);
    await this.#claiming?.catch(() => undefined);
    await Promise.all(this.#passes);
  }

  async #claim(): Promise<void> {
    do {
      const { room } = this;
      if (room <= 0 || this.#gathers(room)) {
        this.#more = true;
        return;
      }
      this.#more = false;
      const { store, worker, lease_ms, accounts } = this.#loop;
      const asked = this.#loop.clock.now();
      const { shares } = this.#seats;
      const { claims, drained, probed, held, now } = await store.claim(
        room,
        worker,
        lease_ms,
        accounts.ceiling,
        shares,
      );
      const loop = now === null ? this.#loop : this.#onClockOf(now, asked);
      accounts.suspect(probed);
      if (held) this.#heldTimer ??= this.#after(HELD_MS, () => (this.#heldTimer = null));
      const taken = claims.map(({ record }) => record.account);
      this.#seats.take(taken, shares);
      for (const claim of claims) {
        const { account } = claim.record;
        const pass: Promise<void> = reconcile(claim, loop)
          .then((dueIn) => this.#lookAgain(dueIn))
          .catch((error: unknown) => {
            const { operation_id } = claim.record;
            this.#loop.log.error(
              { operation_id, error },
              'a pass was broken off; it is repeated when its lease runs out',
            );
          })
          .finally(() => {
            this.#passes.delete(pass);
            this.#seats.free(account);
            if (this.#more) this.#tickQuietly();
            else if (this.#seats.isLeft(account)) this.#reclaim(account);
          });
        this.#passes.add(pass);
      }
      for (const account of this.#seats.waiting) this.#reclaim(account);
      if (drained.length > 0) await accounts.relax(drained);
      this.#backlog = claims.length === room;
      if (this.#backlog) this.#more = true;
      if (taken.some((account) => this.#seats.isLeft(account)) || this.#backlog) this.#bell.ring();
    } while (this.#more && this.room > 0);
  }

  /**
   * The loop on the clock of the database: how long ago a call was sent is told by two processes, and a key, a doubt or a
   * deadline must not be over sooner because one of their clocks is wrong. `now`: of the database, since `asked`.
   */
  #onClockOf(now: Date, asked: Date): LoopDependencies {
    const { clock, log } = this.#loop;
    // Between the two moments lies the claim, however long it took; what lies outside of them is a difference of clocks.
    const behind = Math.max(0, now.getTime() - clock.now().getTime());
    const behind_ms = behind > 0 ? behind : Math.min(0, now.getTime() - asked.getTime());
    const isWrong = Math.abs(behind_ms) > WRONG_CLOCK_MS;
    if (isWrong && !this.#isClockWrong) {
      log.error({ behind_ms }, 'the clock of this process is wrong; the clock of the database is used');
    }
    this.#isClockWrong = isWrong;
    if (!isWrong) return this.#loop;
    return {
      ...this.#loop,
      clock: { now: () => new Date(clock.now().getTime() + behind_ms), random: () => clock.random() },
    };
  }

  /** Whether to wait for more room before the next claim. */
  #gathers(room: number): boolean {
    if (room >= GOOD_PART * this.#options.concurrency) return false;
    if (!this.#backlog) return this.#gathering !== null;
    this.#gathering ??= this.#after(GATHER_MS, () => {
      this.#gathering = null;
      this.#backlog = false;
    });
    return true;
  }

  /** Seats came free of an account whose orders were left: claims for a good part of them, or after a while. */
  #reclaim(account: string): void {
    if (this.#seats.freePart(account) >= GOOD_PART) {
      this.#more = true;
      this.#tickQuietly();
    } else if (!this.#draining) {
      this.#seatsTimer ??= this.#after(GATHER_MS, () => (this.#seatsTimer = null));
    }
  }

  #lookAgain(dueIn: number | null): void {
    if (dueIn === null || dueIn >= this.#options.interval_ms || this.#draining) return;
    if (dueIn <= 0) {
      this.#more = true;
      return;
    }
    this.#after(dueIn);
  }

  /** Ticks once, `ms` from now. */
  #after(ms: number, before: () => void = () => undefined): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      before();
      this.#tickQuietly();
    }, ms);
    this.#timers.add(timer);
    return timer;
  }

  #tickQuietly(): void {
    if (this.#draining) return;
    this.tick().catch((error: unknown) =>
      this.#loop.log.warn({ error: String(error) }, 'claiming failed; the next tick tries again'),
    );
  }
}
