/** Passes under way in this process, by account: how many more of each may begin, and whose orders had to be left. */
import type { Shares } from '../store/claim.js';

export class Seats {
  readonly #most: number;
  readonly #held = new Map<string, number>();
  /** Accounts of which the last claim took all that it might: more of their orders may be due. */
  #left: ReadonlySet<string> = new Set();

  /** `most`: passes that one account may hold at once. */
  constructor(most: number) {
    this.#most = most;
  }

  get shares(): Shares {
    const left = [...this.#held].map(([account, held]): [string, number] => [
      account,
      // A probe is begun beyond them.
      Math.max(0, this.#most - held),
    ]);
    return { most: this.#most, left: new Map(left) };
  }

  free(account: string): void {
    const held = this.#of(account) - 1;
    if (held > 0) this.#held.set(account, held);
    else this.#held.delete(account);
  }

  /** Seats the claims of `accounts` that `shares` allowed. */
  take(accounts: readonly string[], { most, left }: Shares): void {
    const limits = new Map(left);
    for (const account of accounts) {
      this.#held.set(account, this.#of(account) + 1);
      limits.set(account, (limits.get(account) ?? most) - 1);
    }
    // By what was asked for: seats that came free since were none for this claim.
    this.#left = new Set([...limits].filter(([, limit]) => limit <= 0).map(([account]) => account));
  }

  /** Accounts whose orders may have been left by the last claim, although seats are free for them now. */
  get waiting(): string[] {
    return [...this.#left].filter((account) => this.#of(account) < this.#most);
  }

  isLeft(account: string): boolean {
    return this.#left.has(account);
  }

  /** The part of its seats that `account` does not hold. */
  freePart(account: string): number {
    return 1 - this.#of(account) / this.#most;
  }

  #of(account: string): number {
    return this.#held.get(account) ?? 0;
  }
}
