/** What the API is built from; everything that reaches outside is handed in. */
import type { Clock } from '../clock.js';
import type { ApiKey } from '../config.js';
import type { Policy } from '../operation/operation.js';
import type { Bell } from '../reconciler/bell.js';
import type { BulkCommands } from '../reconciler/bulk-desk.js';
import type { ClientSecrets } from '../reconciler/client-secret.js';
import type { Commands } from '../reconciler/commands.js';
import type { Planner } from '../reconciler/plan.js';
import type { FindingCommands } from '../orphans/finding-commands.js';
import type { Eraser } from '../retention/eraser.js';
import type { FindingStore } from '../store/finding-store.js';
import type { AccountDesk } from '../store/account-desk.js';
import type { Authenticator } from './http/authentication.js';
import type { EventInbox } from '../store/event-inbox.js';
import type { OperationStore } from '../store/operation-store.js';
import type { RefundBrake } from '../store/refund-brake.js';
import type { TriageStore } from '../store/triage-store.js';
import type { Logger } from '../telemetry/logger.js';
import type { Metrics } from '../telemetry/metrics.js';

/** Whether this process can do its work now. Must answer within a second or two, also when what it checks hangs. */
export interface Readiness {
  /** `checks`: one word for each dependency, for people. */
  check(): Promise<{ readonly ready: boolean; readonly checks: Readonly<Record<string, string>> }>;
}

/** Why the provider cannot express an amount exactly, or null when it can. Pure. */
export type AmountProblem = (provider: string, value: number, currency: string) => string | null;

/** What support works with, besides the operations themselves. */
export interface SupportDesk {
  readonly accounts: AccountDesk;
  /** As the workers have it. */
  readonly brake: Pick<RefundBrake, 'limitsOf'>;
  readonly triage: TriageStore;
}

export interface ApiDependencies {
  readonly readiness: Readiness;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly store: OperationStore;
  readonly findings: Pick<FindingStore, 'list'>;
  readonly bell: Bell;
  readonly planner: Planner;
  readonly commands: Commands;
  readonly bulk: BulkCommands;
  readonly findingCommands: FindingCommands;
  readonly clientSecrets: ClientSecrets;
  readonly clock: Clock;
  readonly policy: Policy;
  readonly apiKeys: readonly ApiKey[];
  /** Who else may call besides API keys, for instance people who sign in. */
  readonly people?: readonly Authenticator[];
  /** Names of the configured provider accounts. */
  readonly accounts: readonly string[];
  readonly amountProblem: AmountProblem;
  readonly desk: SupportDesk;
  readonly eraser: Pick<Eraser, 'erase'>;
  readonly inbox: EventInbox;
  /** Secrets of an account's webhook endpoint, by account; several while one is being replaced. */
  readonly webhookSecrets: ReadonlyMap<string, readonly string[]>;
}
