/** Kinds of call that an account does not take although it answers: what a failure of one is to the order that met it. */
import type { StepName } from '../operation/attempt.js';
import type { Failure } from '../operation/failure.js';
import { PROBE_INTERVAL_MS, type AccountStore } from '../store/account-store.js';
import type { Log } from './log.js';

/** A call that failed, and for which operation. */
export interface StepCall {
  readonly account: string;
  readonly operation: string;
  readonly step: StepName;
}

export class AccountSteps {
  readonly #store: Pick<AccountStore, 'stepFailed' | 'stepAnswered'>;
  readonly #log: Log;
  /** Those that failed since this process last saw one succeed. */
  readonly #failing = new Set<string>();
  /** Those that are out: why, and when a try may find out whether they still are, on the clock of `performance`. */
  readonly #out = new Map<string, { readonly failure: Failure; readonly try_at: number }>();

  constructor(store: Pick<AccountStore, 'stepFailed' | 'stepAnswered'>, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /**
   * Why a step is not worth a call now, or null. Of a step that is out, one try now and then finds out for all: each may hang
   * until the provider's timeout, and hold up orders that need other steps.
   */
  heldBack(account: string, step: StepName): Failure | null {
    const key = keyOf(account, step);
    const out = this.#out.get(key);
    if (out === undefined) return null;
    const now = performance.now();
    if (now < out.try_at) return { ...out.failure, code: 'step_out' };
    this.#out.set(key, { ...out, try_at: now + PROBE_INTERVAL_MS });
    return null;
  }

  /** The failure as the operation should see it: `outage` when the step is out for all. */
  async failed(call: StepCall, failure: Failure, reason: 'outage' | 'refused'): Promise<Failure> {
    const { account, operation, step } = call;
    const key = keyOf(account, step);
    this.#failing.add(key);
    const report = await quietly(
      () => this.#store.stepFailed(account, step, operation, reason, failure.message),
      { out: false, just_out: false },
      this.#log,
    );
    if (report.just_out)
      this.#log.error(
        { account, step, reason, detail: failure.message },
        'the account answers, but not to this step: orders that need it wait',
      );
    const seen: Failure = report.out && reason === 'outage' ? { ...failure, class: 'outage' } : failure;
    if (report.out) this.#out.set(key, { failure: seen, try_at: performance.now() + PROBE_INTERVAL_MS });
    return seen;
  }

  /** A step was answered. `again`: the operation's last try of it was not, in whichever process. */
  async answered(account: string, step: StepName, again: boolean): Promise<void> {
    const key = keyOf(account, step);
    this.#out.delete(key);
    if (!this.#failing.delete(key) && !again) return;
    const report = await quietly(
      () => this.#store.stepAnswered(account, step),
      { was_out: false },
      this.#log,
    );
    if (report.was_out) this.#log.warn({ account, step }, 'the account answers to this step again');
  }
}

const keyOf = (account: string, step: StepName): string => `${account} ${step}`;

/** A report that cannot be written must not take the answer with it that it is about. */
export async function quietly<Result>(
  report: () => Promise<Result>,
  otherwise: Result,
  log: Log,
): Promise<Result> {
  try {
    return await report();
  } catch (error) {
    log.warn({ err: error }, 'what was learnt of an account could not be written');
    return otherwise;
  }
}
