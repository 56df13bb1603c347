/** The brake on automatic money-out: how many refunds, and how much, an account may send within any hour. */
import { formatMoney } from '../operation/money.js';
import { isLocked, type Database } from './database.js';

/** Of one account, within any hour. */
export interface BrakeLimits {
  readonly refunds: number;
  /** Minor units by currency; one that is not named is limited by number only. */
  readonly amounts: Readonly<Record<string, number>>;
}

/** Of a refund that a person lets pass: leave is recorded all the same, and takes its room in the hour. */
export const NO_LIMITS: BrakeLimits = { refunds: Number.MAX_SAFE_INTEGER, amounts: {} };

/** Members that an account does not set are as for all. */
export type AccountLimits = ReadonlyMap<string, Partial<BrakeLimits>>;

export type Admission =
  | { readonly kind: 'admitted' }
  /** Others of the account are asking, or somebody keeps its row locked; nothing was decided. */
  | { readonly kind: 'busy' }
  | {
      readonly kind: 'braked';
      /** Until there may be room: others may be faster then. */
      readonly wait_ms: number;
      readonly message: string;
      /** No refund of this account had to wait lately. */
      readonly just_closed: boolean;
    };

/** Each waits for a quarter of a second, see Database. */
const MOST_ASKS = 12;

interface Answer {
  readonly admitted: boolean;
  readonly met: 'count' | 'amount' | 'turn' | null;
  readonly wait_ms: number;
  readonly just_closed: boolean;
}

const ADMIT = {
  name: 'admit_refund',
  text: 'SELECT admitted, met, wait_ms, just_closed FROM admit_refund($1, $2, $3, $4, $5, $6)',
};

export class RefundBrake {
  readonly #database: Database;
  readonly #limits: BrakeLimits;
  readonly #ofAccounts: AccountLimits;

  constructor(database: Database, limits: BrakeLimits, ofAccounts: AccountLimits = new Map()) {
    this.#database = database;
    this.#limits = limits;
    this.#ofAccounts = ofAccounts;
  }

  /** What an account may send within any hour. */
  limitsOf(account: string): BrakeLimits {
    return { ...this.#limits, ...this.#ofAccounts.get(account) };
  }

  /**
   * Leave to send a refund, under the key that it is about to be sent with; the same key again is the same refund, and
   * takes at least what it took before. A crash after it leaves room unused for an hour. `amount`: minor units.
   */
  async admit(
    account: string,
    effectKey: string,
    amount: number,
    currency: string,
    { refunds, amounts }: BrakeLimits = this.limitsOf(account),
  ): Promise<Admission> {
    const most = amounts[currency] ?? null;
    const parameters = [account, effectKey, currency, amount, refunds, most];
    const row = await this.#ask(parameters);
    if (row === 'busy') return { kind: 'busy' };
    if (row === undefined) throw new Error('the brake gave no answer');
    if (row.admitted) return { kind: 'admitted' };
    const setting = this.#ofAccounts.has(account) ? 'refund_brake in ACCOUNTS_FILE' : null;
    const limit =
      row.met === 'count' || most === null
        ? `${refunds} times within an hour by itself (${setting ?? 'REFUND_BRAKE_COUNT'})`
        : `${formatMoney(most, currency)} within an hour by itself (${setting ?? 'REFUND_BRAKE_AMOUNT'})`;
    return {
      kind: 'braked',
      wait_ms: row.wait_ms,
      message: `The account gives back ${limit}. ${whatNow(row.met, refunds === 0 || (most !== null && amount > most))}`,
      just_closed: row.just_closed,
    };
  }

  /** Some seconds, so that a rush of refunds is decided, and not for longer: whoever waits has no room for others. */
  async #ask(parameters: readonly unknown[]): Promise<Answer | undefined | 'busy'> {
    for (let asked = 1; asked <= MOST_ASKS; asked += 1) {
      try {
        const [row] = await this.#database.query<Answer>(ADMIT, parameters, 'hurried');
        return row;
      } catch (error) {
        if (!isLocked(error)) throw error;
      }
    }
    return 'busy';
  }
}

/** For the person who reads it: what happens by itself, and what they can do. */
function whatNow(met: 'count' | 'amount' | 'turn' | null, never: boolean): string {
  if (never)
    return 'This refund is never within it: a person lets it pass by the command retry, or raises the limit.';
  const turn = met === 'turn' ? 'Others have waited longer, and go first. ' : '';
  return `${turn}This refund goes on by itself when the hour has room again; the command retry lets it pass at once.`;
}
