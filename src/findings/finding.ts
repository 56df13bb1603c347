/** A finding: what the provider holds and what we recorded do not fit together. For a person; nothing is done by it. */
import type { Attempt, Parameters, StepName } from '../operation/attempt.js';
import type { Operation } from '../operation/operation.js';
import type { ListedPayment } from '../payment/port.js';

/** Every kind, declared once; each says what a person sees there. */
export const FINDING_KINDS = {
  orphan_payment: 'Money at the provider that no operation accounts for.',
  second_payment: 'A second payment of an order holds money beside the order’s own.',
  payment_missing: 'The provider does not know the payment that an operation has recorded.',
  amounts_differ: 'Provider and record name different amounts, also after the record was read anew.',
  money_left: 'A cancelled or rejected order still has money at the provider.',
  stray_unconfirmed: 'A payment of ours that nobody needs and that never took money.',
} as const satisfies Record<string, string>;
export type FindingKind = keyof typeof FINDING_KINDS;
export const FINDING_KIND_NAMES = Object.keys(FINDING_KINDS) as [FindingKind, ...FindingKind[]];

/** `resolved`: its reason is gone. */
export const FINDING_STATES = ['open', 'resolved'] as const;
export type FindingState = (typeof FINDING_STATES)[number];

/** What a person could do about it; not each is a command yet. `refund_stray` gives back what the payment holds, or voids what it has authorized. */
export const FINDING_COMMANDS = ['adopt_payment', 'refund_stray', 'check_provider', 'dismiss'] as const;
export type FindingCommand = (typeof FINDING_COMMANDS)[number];

/** A payment as the provider showed it: from a list, or with its refunds one by one from a look at it alone. */
export type SeenPayment = ListedPayment;

/** An operation that could have to do with a payment. */
export interface RecordedSide {
  readonly operation: Operation;
  /** The step in progress. */
  readonly task: StepName | null;
  /** Its tries to create a payment, oldest first; null: not looked up, as while a page is compared. */
  readonly creates: readonly Attempt[] | null;
}

/** JSON facts of both sides. */
export interface Evidence {
  readonly provider: Readonly<Record<string, unknown>> | null;
  readonly recorded: Readonly<Record<string, unknown>> | null;
  /** What was looked at to believe an absence. */
  readonly proof?: Readonly<Record<string, unknown>>;
}

/** One disagreement, as one look shows it. */
export interface Draft {
  readonly kind: FindingKind;
  /** The payment that it is about. */
  readonly reference: string;
  readonly operation_id: string | null;
  /** Minor units at stake; 0 where no money is. */
  readonly amount: number;
  readonly currency: string;
  readonly message: string;
  readonly evidence: Evidence;
  readonly suggested: FindingCommand;
  /** Before then it is too young to be judged: its other half may be on its way. RFC 3339. */
  readonly ripe_at: string;
  /**
   * It may only be that the record has not been read since: then the record is woken, and the finding waits until it was
   * read after it was first suspected. Null: the record has no say in it.
   */
  readonly waits_for: { readonly operation_id: string; readonly observed_at: string | null } | null;
  /** It is canceled by itself. */
  readonly cancel: boolean;
  /** Kept with it, for later looks at this one payment, which do not tell them. */
  readonly created_at: string | null;
  readonly terms: Parameters | null;
}
