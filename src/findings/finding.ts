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

/** `dismissed`: a person said that nothing is to be done, while its facts stay as they are. `resolved`: its reason is gone. */
export const FINDING_STATES = ['open', 'dismissed', 'resolved'] as const;
export type FindingState = (typeof FINDING_STATES)[number];

/** What a person can do about it. `refund_stray` gives back what the payment holds, or voids what it has authorized. */
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

/** As people see it; suspicions are not shown. Times RFC 3339. */
export interface Finding {
  readonly finding_id: string;
  /** +1 with each change that a reader sees. */
  readonly resource_version: number;
  readonly kind: FindingKind;
  readonly account: string;
  readonly state: FindingState;
  readonly provider_reference: string;
  readonly operation_id: string | null;
  readonly amount: number;
  readonly currency: string;
  readonly message: string;
  readonly evidence: Evidence;
  readonly suggested: FindingCommand;
  readonly first_seen_at: string;
  readonly last_seen_at: string;
  readonly resolved_at: string | null;
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

/** What a dismissal rests on: when any of it changes, the finding is open again. When it was seen is none of it. */
export function factsOf({
  amount,
  currency,
  operation_id,
  evidence: { provider, recorded },
}: Pick<Draft, 'amount' | 'currency' | 'operation_id' | 'evidence'>): Record<string, unknown> {
  return {
    amount,
    currency,
    operation_id,
    provider: provider === null ? null : pick(provider, OF_PROVIDER),
    recorded: recorded === null ? null : pick(recorded, OF_RECORD),
  };
}

const OF_PROVIDER = ['state', 'authorized', 'captured', 'refunded', 'refund_pending', 'lost', 'operation_id'];
const OF_RECORD = [
  'operation_id',
  'account',
  'phase',
  'provider_reference',
  'payment_state',
  'amount',
  'captured',
  'refunded',
];
const pick = (side: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(names.map((name) => [name, side[name] ?? null]));
