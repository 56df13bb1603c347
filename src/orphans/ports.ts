/** What the two-sided sweep needs from around it; handed in by the wiring, and by tests. */
import type { Pacing } from '../findings/rounds.js';
import type { Accounts } from '../reconciler/accounts.js';
import type { Log } from '../reconciler/log.js';
import type { Clock } from '../clock.js';
import type { FindingAttemptStore } from '../store/finding-attempt-store.js';
import type { FindingCommandStore } from '../store/finding-command-store.js';
import type { FindingStore } from '../store/finding-store.js';
import type { RefundBrake } from '../store/refund-brake.js';
import type { MissingWalkStore } from '../store/missing-walk-store.js';
import type { OrphanSweepStore } from '../store/orphan-sweep-store.js';

/** Counts for the metrics; never throws. */
export interface OrphanObserver {
  request(
    account: string,
    step: 'list_payments' | 'observe_payment' | 'cancel_payment' | 'create_refund',
    outcome: string,
  ): void;
  effect(step: 'cancel_payment' | 'create_refund', outcome: string): void;
}

export interface OrphanDependencies {
  readonly sweeps: OrphanSweepStore;
  readonly findings: FindingStore;
  readonly missing: MissingWalkStore;
  readonly attempts: FindingAttemptStore;
  /** What people decided. */
  readonly commands: FindingCommandStore;
  readonly brake: RefundBrake;
  readonly accounts: Accounts;
  /** Accounts that are swept. */
  readonly names: readonly string[];
  /** Of these, the ones on which every payment is an operation's. */
  readonly exclusive: ReadonlySet<string>;
  readonly pacing: Pacing;
  /** A payment younger than this may still get its operation. */
  readonly grace_ms: number;
  readonly interval_ms: number;
  /** Unique per process; the holder of its leases. */
  readonly worker: string;
  /** Longer than one exchange with the provider and its statement. */
  readonly lease_ms: number;
  readonly provider_timeout_ms: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer: OrphanObserver;
}

/** What a look at one payment needs; the API has it as well. */
export type Sight = Pick<
  OrphanDependencies,
  'accounts' | 'findings' | 'observer' | 'exclusive' | 'grace_ms' | 'log'
>;

/**
 * Asked before each call: whether this process, its claim and the account bear another one. Asked after a failure, it
 * tells the account's trouble (false) from that of the one payment.
 */
export type GoesOn = () => Promise<boolean>;

/** What calls are made for, where the account's health is concerned. */
export const FOR_SWEEP = 'the two-sided sweep';
