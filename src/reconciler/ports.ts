/** What the loop needs from around it, besides the store; handed in by the wiring, and by tests. */
import type { Clock } from '../clock.js';
import type { Inventory } from '../inventory/port.js';
import type { OutcomeKind, StepName } from '../operation/attempt.js';
import type { Policy } from '../operation/operation.js';
import type { PassStore } from '../store/pass-store.js';
import type { RefundBrake } from '../store/refund-brake.js';
import type { Accounts } from './accounts.js';
import type { Log } from './log.js';

/** Counts for the metrics; never throws. Durations in seconds. */
export interface LoopObserver {
  /** One request to the provider: a reading or an effect. */
  request(account: string, step: StepName | 'observe_payment', outcome: string): void;
  effect(step: StepName, outcome: OutcomeKind): void;
  pass(seconds: number): void;
  settled(seconds: number): void;
}

export interface LoopDependencies {
  readonly store: PassStore;
  readonly accounts: Accounts;
  readonly brake: RefundBrake;
  /** Null: no warehouse is configured. */
  readonly inventory: Inventory | null;
  readonly clock: Clock;
  readonly policy: Policy;
  /** Unique per process; the holder of its leases. */
  readonly worker: string;
  readonly lease_ms: number;
  readonly provider_timeout_ms: number;
  readonly log: Log;
  readonly observer: LoopObserver;
}
