/** An operation as Postgres holds it, and the rows of its journal and timeline. Times are RFC 3339 UTC strings. */
import type { Attempt, StepName } from '../operation/attempt.js';
import type { Facts, Operation, Status, Wish } from '../operation/operation.js';
import type { Spec } from '../operation/spec.js';

export interface OperationRecord extends Operation {
  /** +1 on each write of what a reader sees; the ETag. */
  readonly resource_version: number;
  readonly labels: Readonly<Record<string, string>>;
  /** Name of the API key that created it. */
  readonly requested_by: string;
  readonly updated_at: string;
  /** The step in progress; null between passes. */
  readonly task: StepName | null;
  /** When it is looked at next; null when it is no longer watched. */
  readonly next_attempt_at: string | null;
}

/** Who did something: an API key or person by name, the provider, or this service. */
export interface Actor {
  readonly kind: 'key' | 'person' | 'provider' | 'system';
  readonly name: string;
}

/** One line of the append-only timeline. `type` is a stable snake_case word; `data` is small and free of secrets. */
export interface EventDraft {
  readonly type: string;
  readonly actor: Actor;
  readonly message: string;
  readonly data?: Readonly<Record<string, unknown>>;
}
export interface OperationEvent extends EventDraft {
  readonly sequence: number;
  readonly at: string;
}

/** An attempt with its place in the journal. */
export interface JournalAttempt extends Attempt {
  readonly sequence: number;
  readonly fencing_token: number;
  readonly request_id: string | null;
}

export interface NewOperation {
  readonly operation_id: string;
  readonly account: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly wish: Wish;
  readonly status: Status;
  readonly requested_by: Actor;
  readonly created_at: string;
}

export type Created =
  | { readonly kind: 'created'; readonly record: OperationRecord }
  /** The key exists; `first_spec` is the spec as it was first created, for comparison. */
  | { readonly kind: 'exists'; readonly record: OperationRecord; readonly first_spec: Spec }
  /** Another operation has this (account, order_id). */
  | { readonly kind: 'order_taken'; readonly operation_id: string };

/** What the API may change: the wish, and the status derived anew from it. */
export interface WishChange {
  readonly operation_id: string;
  /** The version that the change was computed from. */
  readonly resource_version: number;
  readonly wish: Wish;
  readonly status: Status;
  /** True when the spec changed: generation + 1. */
  readonly spec_changed: boolean;
  /**
   * Another payment is wanted (payment_number + 1): what is known without the former one. A pass that still works with
   * that one loses its lease by the same write. Absent: the facts stay the loop's.
   */
  readonly another_payment?: Facts;
  readonly event: EventDraft;
  /** What the status derived anew changes. */
  readonly transitions: readonly EventDraft[];
}

export interface ListFilter {
  readonly phase?: string;
  readonly reason?: string;
  readonly attention?: boolean;
  readonly order_id?: string;
  readonly account?: string;
  /** Of those that need a person: the snoozed ones are left out, kept, or alone. */
  readonly snoozed?: 'exclude' | 'include' | 'only';
  readonly assignee?: string;
  /** Opaque, from a former page. */
  readonly cursor?: string;
  readonly limit: number;
}
