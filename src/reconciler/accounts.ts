/**
 * What calls tell about the account they were made for. Trouble of an account is not the order's fault: it is reported
 * once for all processes, spends nobody's retry budget, and ends by itself when the account answers again.
 */
import type { Outcome, StepName } from '../operation/attempt.js';
import { TOO_SLOW, type Failure } from '../operation/failure.js';
import type { Pause } from '../operation/operation.js';
import type { PaymentReading, Reading } from '../operation/observation.js';
import type { AccountIdentity, PaymentProvider } from '../payment/port.js';
import type { AccountStore } from '../store/account-store.js';
import { within } from '../within.js';
import { AccountSteps, quietly, type StepCall } from './account-steps.js';
import type { Log } from './log.js';

/** What one failure says about its account. */
type Signal = 'none' | 'trouble' | 'throttled' | 'refused';

/** Codes that concern one object or one key, although their class is one that accounts suffer. */
const OF_ONE_OPERATION = new Set([
  'idempotency_key_in_use',
  'lock_timeout',
  TOO_SLOW,
  // An object that is not there: a caller may have named it. That the key opens another account shows by its identity.
  'payment_not_found',
  'resource_missing',
  'livemode_mismatch',
]);

/** Without a word from the provider: some seconds, so that a limit counted per second has room again. */
const THROTTLE_MS = 1_000;

function signalOf(failure: Failure): Signal {
  if (OF_ONE_OPERATION.has(failure.code)) return 'none';
  switch (failure.class) {
    case 'transient':
    case 'outage':
    case 'unknown':
      return 'trouble';
    case 'throttled':
      return 'throttled';
    case 'authorization':
      return 'refused';
    case 'declined':
    case 'rejected':
    case 'conflict':
    case 'compatibility':
    case 'prerequisite':
    case 'partial':
    case 'cancelled_by_operator':
      return 'none';
  }
}

/** Why an account may not be used, and whether its row says so already. */
interface Doubt {
  readonly failure: Failure;
  readonly isReported: boolean;
}

export interface AccountsOptions {
  readonly store: AccountStore;
  readonly providers: ReadonlyMap<string, PaymentProvider>;
  /** Passes a second that the provider's limit allows an account. */
  readonly ceiling: number;
  /** How long an account may take to say that it is there. */
  readonly patience_ms: number;
  readonly log: Log;
}

/** `step` null: a reading. */
type Call = Omit<StepCall, 'step'> & { readonly step: StepName | null };

export class Accounts {
  readonly steps: AccountSteps;
  readonly #options: AccountsOptions;
  /** Accounts whose identity this process has checked. */
  readonly #checked = new Set<string>();
  readonly #asking = new Map<string, Promise<Doubt | null>>();
  /** Questions whether an account is there, under way. */
  readonly #probing = new Map<string, Promise<boolean>>();
  /** Accounts that failed since this process last saw them answer: their next success is worth a write. */
  readonly #troubled = new Set<string>();

  constructor(options: AccountsOptions) {
    this.#options = options;
    this.steps = new AccountSteps(options.store, options.log);
    // What other processes reported is not known here: the first success of each account is written.
    for (const account of options.providers.keys()) this.#troubled.add(account);
  }

  /** Claims of `accounts` are probes: their success ends an outage that another process may have reported. */
  suspect(accounts: readonly string[]): void {
    for (const account of accounts) this.#troubled.add(account);
  }

  /** Nothing of `accounts` waits any more: they need no metering. */
  relax(accounts: readonly string[]): Promise<void> {
    return this.#options.store.relax(accounts);
  }

  /** Who stopped all writes of the account, or null. */
  pauseOf(account: string): Promise<Pause | null> {
    return this.#options.store.pauseOf(account);
  }

  get ceiling(): number {
    return this.#options.ceiling;
  }

  /**
   * Passes that one account may hold of `slots`: half of them where there are others, since all may hang until the
   * provider's timeout, and none can be taken back for an account whose orders come due meanwhile.
   */
  share(slots: number): number {
    return this.#options.providers.size > 1 ? Math.ceil(slots / 2) : slots;
  }

  provider(account: string): PaymentProvider | undefined {
    return this.#options.providers.get(account);
  }

  /**
   * The account's trouble, when it may not be used now; null when it is who it was at first contact. One question serves
   * all that ask meanwhile, and each of them failed by it: an outage shows by how many operations it stops.
   */
  async admit(account: string, operation: string): Promise<Failure | null> {
    const provider = this.#options.providers.get(account);
    if (this.#checked.has(account) || provider === undefined) return null;
    const doubt = await this.#whoIs(account, provider);
    if (doubt === null || doubt.isReported) return doubt?.failure ?? null;
    return this.failed({ account, operation, step: null }, doubt.failure);
  }

  /** Asks who the accounts are before an order waits for it. What is not answered then is asked again by whoever needs it. */
  meet(): void {
    for (const [account, provider] of this.#options.providers) {
      const silent = (code: string): void =>
        this.#options.log.warn(
          { account, code },
          'the account did not say who it is; its first order asks again',
        );
      this.#whoIs(account, provider).then(
        (doubt) => {
          if (doubt !== null && !doubt.isReported) silent(doubt.failure.code);
        },
        (error: unknown) => silent(String(error)),
      );
    }
  }

  /** All that ask at the same time share one question. */
  #whoIs(account: string, provider: PaymentProvider): Promise<Doubt | null> {
    const asking = this.#asking.get(account);
    if (asking !== undefined) return asking;
    const asked = this.#identify(account, provider).finally(() => this.#asking.delete(account));
    this.#asking.set(account, asked);
    return asked;
  }

  async #identify(account: string, provider: PaymentProvider): Promise<Doubt | null> {
    const identity = await provider.identify();
    if (identity.kind === 'unknown') return { failure: identity.failure, isReported: false };
    const seen = identity.kind === 'present' ? identity.value : { identity: null, livemode: null };
    const pinned = await this.#quietly(() => this.#options.store.pin(account, seen), null);
    if (pinned === null) {
      const message = 'The account could not be checked.';
      return { failure: { class: 'outage', code: 'identity_not_kept', message }, isReported: true };
    }
    const differs =
      (seen.identity !== null && pinned.identity !== seen.identity) ||
      (seen.livemode !== null && pinned.livemode !== seen.livemode);
    if (!differs) {
      this.#checked.add(account);
      return null;
    }
    const message = `The key belongs to ${named(seen)}; known is ${named(pinned)}.`;
    await this.#stop(account, 'wrong_account', message);
    return { failure: { class: 'outage', code: 'wrong_account', message }, isReported: true };
  }

  /** The failure as the operation should see it: `outage` when it is the account's and not its own. */
  async failed(call: Call, failure: Failure): Promise<Failure> {
    const { store, ceiling } = this.#options;
    const { account, step } = call;
    const signal = signalOf(failure);
    if (signal === 'none') return failure;
    // Other calls may work all the same, so the account itself is asked before it is judged by one of them.
    if (step !== null && signal !== 'throttled' && (await this.#answers(account))) {
      return this.steps.failed({ ...call, step }, failure, signal === 'refused' ? 'refused' : 'outage');
    }
    this.#troubled.add(account);
    if (signal === 'throttled') {
      const wait = failure.retry_after_ms ?? THROTTLE_MS;
      await this.#quietly(() => store.throttled(account, wait, ceiling), undefined);
      return failure;
    }
    if (signal === 'refused') {
      // Another key may be another account.
      this.#checked.delete(account);
      await this.#stop(account, 'refused', failure.message);
      return failure;
    }
    const isOut = await this.#troubleOf(call, failure);
    // A reading has shown nothing but that it failed; a write came here because the account does not answer.
    return isOut || step !== null || !(await this.#answers(account))
      ? { ...failure, class: 'outage' }
      : failure;
  }

  async #troubleOf({ account, operation }: Call, { code, message }: Failure): Promise<boolean> {
    const report = (): Promise<{ open: boolean; just_opened: boolean }> =>
      this.#options.store.trouble(account, operation, message);
    const { open, just_opened } = await this.#quietly(report, { open: false, just_opened: false });
    if (just_opened)
      this.#options.log.error({ account, code }, 'the account is out: its orders wait, probes go on');
    return open;
  }

  /** Whether the account is there at all, by the question who it is. One question serves all that ask meanwhile. */
  #answers(account: string): Promise<boolean> {
    const asked =
      this.#probing.get(account) ??
      this.#ask(account).finally(() => {
        this.#probing.delete(account);
      });
    this.#probing.set(account, asked);
    return asked;
  }

  async #ask(account: string): Promise<boolean> {
    const provider = this.#options.providers.get(account);
    if (provider === undefined) return false;
    try {
      const identity = await within(this.#options.patience_ms, provider.identify());
      return identity.kind !== 'unknown' || signalOf(identity.failure) === 'throttled';
    } catch {
      return false;
    }
  }

  /** The account answered. */
  async answered(account: string): Promise<void> {
    if (!this.#troubled.delete(account)) return;
    const { just_closed } = await this.#quietly(() => this.#options.store.success(account), {
      just_closed: false,
    });
    if (just_closed)
      this.#options.log.warn(
        { account },
        'the account answers again: its orders are let go little by little',
      );
  }

  /** A reading as the operation should see it. */
  async read(
    account: string,
    operation: string,
    reading: Reading<PaymentReading>,
  ): Promise<Reading<PaymentReading>> {
    if (reading.kind !== 'unknown') {
      await this.answered(account);
      return reading;
    }
    return {
      kind: 'unknown',
      failure: await this.failed({ account, operation, step: null }, reading.failure),
    };
  }

  /**
   * An outcome as the operation should see it: what is unknown stays so, whoever's fault it was. `again`: the last try of the
   * step failed.
   */
  async applied(
    call: Call & { readonly step: StepName },
    again: boolean,
    outcome: Outcome,
  ): Promise<Outcome> {
    const { account, step } = call;
    if (!('failure' in outcome) || signalOf(outcome.failure) === 'none') {
      await this.answered(account);
      await this.steps.answered(account, step, again);
      return outcome;
    }
    return { ...outcome, failure: await this.failed(call, outcome.failure) };
  }

  #quietly<Result>(report: () => Promise<Result>, otherwise: Result): Promise<Result> {
    return quietly(report, otherwise, this.#options.log);
  }

  async #stop(account: string, reason: 'refused' | 'wrong_account', message: string): Promise<void> {
    const report = (): Promise<{ just_opened: boolean }> =>
      this.#options.store.stop(account, reason, message);
    const { just_opened } = await this.#quietly(report, { just_opened: false });
    if (just_opened)
      this.#options.log.error(
        { account, reason, detail: message },
        'the account is stopped until this is repaired',
      );
  }
}

const named = ({ identity, livemode }: AccountIdentity): string =>
  `${identity ?? 'an account'} (${livemode === null ? 'mode unknown' : livemode ? 'live' : 'test'})`;
