/** The sandbox's own clock (real time plus what tests advanced it by), its ids and its timers. */

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export class World {
  #offsetMs = 0;
  #stopped = false;
  readonly #timers = new Map<NodeJS.Timeout, () => void>();

  /** Milliseconds since 1970 on the sandbox's clock. It only ever moves forward. */
  now(): number {
    return Date.now() + this.#offsetMs;
  }

  /** Whole seconds, the unit of every Stripe timestamp. */
  seconds(): number {
    return Math.floor(this.now() / 1000);
  }

  /** Real time, for what a receiver compares with its own clock (webhook signatures). */
  realSeconds(): number {
    return Math.floor(Date.now() / 1000);
  }

  /** Monotonic real milliseconds, for rate limits. */
  elapsed(): number {
    return performance.now();
  }

  iso(): string {
    return new Date(this.now()).toISOString();
  }

  get advancedMs(): number {
    return this.#offsetMs;
  }

  advance(ms: number): void {
    this.#offsetMs += ms;
  }

  /** Back to real time; only a reset, which empties the books too, may move the clock backwards. */
  rewind(): void {
    this.#offsetMs = 0;
  }

  /** Ids differ between runs as well, because a product under test remembers those of earlier runs. */
  id(prefix: string, length = 24): string {
    let id = prefix;
    for (let i = 0; i < length; i += 1) id += ALPHABET[Math.floor(Math.random() * ALPHABET.length)] ?? '0';
    return id;
  }

  /** A pause in real time. `stop` ends all pauses at once, so nothing outlives the sandbox. */
  async pause(ms: number): Promise<void> {
    if (ms <= 0) return;
    await new Promise<void>((resolve) => this.after(ms, resolve));
  }

  after(ms: number, run: () => void): void {
    if (this.#stopped) {
      run();
      return;
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, ms);
    this.#timers.set(timer, run);
  }

  stop(): void {
    this.#stopped = true;
    const pending = [...this.#timers];
    this.#timers.clear();
    for (const [timer, run] of pending) {
      clearTimeout(timer);
      run();
    }
  }
}
