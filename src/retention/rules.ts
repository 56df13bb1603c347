/** How long each table keeps what, and why: the rules of housekeeping, and of docs/retention.md. Pure data. */

/** How many days are kept, by kind; null: for ever. As configured, see config.ts. */
export interface Retention {
  /** After a webhook came. */
  readonly webhooks: number | null;
  /** After a finding was resolved. */
  readonly findings: number | null;
  /** After an order settled; never shorter than it is watched. */
  readonly journal: number | null;
  /** After the watch of an order ended. */
  readonly personal_data: number | null;
}

/** The variable that configures it. */
export const VARIABLES: Readonly<Record<keyof Retention, string>> = {
  webhooks: 'WEBHOOK_RETENTION_DAYS',
  findings: 'FINDING_RETENTION_DAYS',
  journal: 'JOURNAL_RETENTION_DAYS',
  personal_data: 'PERSONAL_DATA_RETENTION_DAYS',
};

export interface RetentionRule {
  readonly table: string;
  readonly holds: string;
  /** A kind that is configured; or in words, where nothing can be configured. */
  readonly kept: keyof Retention | { readonly always: string };
  /** What has to be so besides. */
  readonly unless: string | null;
  readonly why: string;
}

const AT_REST = 'the order is not settled, needs a person, is watched, or has an open finding or command';

export const RETENTION_RULES: readonly RetentionRule[] = [
  {
    table: 'order_operations',
    holds: 'the order: what is wanted, what was seen',
    kept: { always: 'for ever; personal data of it is erased' },
    unless: null,
    why: 'its key, its order and its payment tell a repeated create, a webhook and the two-sided sweep that it was paid already',
  },
  {
    table: 'operation_attempts',
    holds: 'the journal: each call with key, bytes and answer',
    kept: 'journal',
    unless: AT_REST,
    why: 'the evidence of what was sent, for disputes and for who audits; keys are good for a day, so no decision needs it by then',
  },
  {
    table: 'operation_events',
    holds: 'the timeline, with notes of people',
    kept: 'journal',
    unless: AT_REST,
    why: 'as the journal; that something was erased or deleted stays told',
  },
  {
    table: 'commands',
    holds: 'what people decided, and what they were shown',
    kept: 'journal',
    unless: AT_REST,
    why: 'as the journal; a preview that nobody confirmed decided nothing and goes a day after it expired',
  },
  {
    table: 'bulk_commands',
    holds: 'one decision of people about many orders',
    kept: 'journal',
    unless: 'the journal of one of its orders is kept',
    why: 'as the journal; one that nobody confirmed goes a day after it expired, with its rows',
  },
  {
    table: 'operation_triage',
    holds: 'who looks after an order',
    kept: 'journal',
    unless: AT_REST,
    why: 'as the journal',
  },
  {
    table: 'provider_events',
    holds: 'the inbox: that the provider told of something, never what',
    kept: 'webhooks',
    unless: 'an order that it woke is not settled or needs a person',
    why: 'tells a redelivery from a new event; after that time one would only cause one more reading',
  },
  {
    table: 'findings',
    holds: 'where provider and record did not fit together',
    kept: 'findings',
    unless: 'it is not resolved; or its order is not settled, needs a person or is watched',
    why: 'what was found and went away again is asked for in the yearly accounts, and not after',
  },
  {
    table: 'finding_commands',
    holds: 'previews and decisions of people about findings',
    kept: 'findings',
    unless: 'its finding is kept',
    why: 'goes with its finding, where none is under way; a preview that nobody confirmed at the next one a day after it expired',
  },
  {
    table: 'finding_attempts',
    holds: 'what was done to payments beside the orders',
    kept: 'findings',
    unless: 'its finding is kept',
    why: 'the journal of a finding goes with it',
  },
  {
    table: 'settled_counts',
    holds: 'how many orders are settled',
    kept: { always: 'lines of a minute, then their sum' },
    unless: null,
    why: 'numbers; the metrics need not count the orders',
  },
  {
    table: 'account_events',
    holds: 'who stopped the writes of an account',
    kept: { always: 'for ever' },
    unless: null,
    why: 'a few lines a year, about accounts and never about customers',
  },
  {
    table: 'account_steps',
    holds: 'calls of one kind that fail at an account',
    kept: { always: 'until one succeeds' },
    unless: null,
    why: 'a few rows an account; they name orders by their ids',
  },
  {
    table: 'provider_accounts',
    holds: 'identity and health of an account',
    kept: { always: 'one row an account' },
    unless: null,
    why: 'it does not grow',
  },
  {
    table: 'orphan_sweeps',
    holds: 'how far the payments of an account are listed',
    kept: { always: 'one row an account' },
    unless: null,
    why: 'it does not grow',
  },
  {
    table: 'money_out',
    holds: 'refunds that have leave of the brake',
    kept: { always: 'a day; the next refund of the account deletes them' },
    unless: null,
    why: 'room is counted within an hour, and a key is good for a day',
  },
  {
    table: 'money_waiting',
    holds: 'refunds that wait for the brake',
    kept: { always: 'until they are sent, or have not asked for a day' },
    unless: null,
    why: 'who waits asks within two hours',
  },
];

/** Columns that hold nothing of what erasure is about, or that are kept although they do, by table. */
export interface KeptData {
  readonly table: string;
  readonly columns: readonly string[];
  readonly why: string;
}

const KEYS = 'numbers of our own';
const NUMBERS = 'our own numbers and times, by which work is shared out';
const STAFF = 'who decided, of the staff: who moves money answers for it, until the journal goes';
const WORDS = 'words out of closed sets';

export const KEPT_DATA: readonly KeptData[] = [
  {
    table: 'order_operations',
    columns: ['operation_id', 'order_id', 'account', 'provider', 'provider_reference'],
    why: 'identity: by it a repeated create, a webhook and the sweep find the order. Callers should put no name into their ids',
  },
  {
    table: 'order_operations',
    columns: ['amount', 'currency'],
    why: 'what money needs',
  },
  {
    table: 'order_operations',
    columns: ['requested_by'],
    why: 'the name of the API key',
  },
  {
    table: 'order_operations',
    columns: ['status', 'phase', 'condition', 'attention_reason'],
    why: 'derived anew from what is kept, so that no text outlives what it was made of',
  },
  {
    table: 'order_operations',
    columns: [
      'created_at',
      'updated_at',
      'settled_at',
      'deadline_at',
      'next_attempt_at',
      'erased_at',
      'journal_deleted_at',
    ],
    why: 'times, which money and retention are reckoned by',
  },
  {
    table: 'order_operations',
    columns: [
      'id',
      'generation',
      'resource_version',
      'confirmation',
      'payment_number',
      'task',
      'broken',
      'fencing_token',
      'lease_holder',
      'lease_expires_at',
      'wake',
      'wake_at_claim',
    ],
    why: NUMBERS,
  },
  {
    table: 'operation_attempts',
    columns: ['effect_key', 'request_id', 'target', 'ordinal'],
    why: 'evidence of what was sent: keys, and the provider’s ids of our requests and objects',
  },
  {
    table: 'operation_attempts',
    columns: ['step', 'outcome', 'resolution', 'key_spent', 'started_at', 'completed_at'],
    why: 'what was tried, when, and what became of it',
  },
  {
    table: 'operation_attempts',
    columns: ['attempt_id', 'operation', 'generation', 'fencing_token', 'worker'],
    why: NUMBERS,
  },
  {
    table: 'operation_events',
    columns: ['sequence', 'operation', 'at', 'type'],
    why: 'that it happened, and when',
  },
  { table: 'operation_events', columns: ['actor_kind', 'actor_name'], why: STAFF },
  {
    table: 'commands',
    columns: ['preview_id', 'operation', 'resource_version', 'woke', 'bulk_id', 'place'],
    why: KEYS,
  },
  { table: 'commands', columns: ['amount', 'currency'], why: 'what money needs' },
  {
    table: 'bulk_commands',
    columns: ['reason', 'approval', 'parameters', 'excluded'],
    why: 'about many orders and the cause that they share: none of them is named but by its id',
  },
  {
    table: 'bulk_commands',
    columns: [
      'previewed_by',
      'requested_by',
      'requested_kind',
      'requested_by_lead',
      'approved_by',
      'approved_kind',
    ],
    why: STAFF,
  },
  {
    table: 'bulk_commands',
    columns: [
      'bulk_id',
      'command',
      'state',
      'approval_needed',
      'previewed_at',
      'expires_at',
      'stop_after_failures',
      'requested_at',
      'approved_at',
      'lease_holder',
      'lease_expires_at',
      'stopped',
      'ended_at',
    ],
    why: 'numbers, times, and words out of closed sets',
  },
  { table: 'commands', columns: ['command', 'state', 'approval_needed'], why: WORDS },
  {
    table: 'commands',
    columns: ['previewed_by', 'requested_by', 'approved_by'],
    why: STAFF,
  },
  {
    table: 'commands',
    columns: ['previewed_at', 'expires_at', 'requested_at', 'approved_at', 'carried_out_at'],
    why: 'when',
  },
  {
    table: 'operation_triage',
    columns: ['assignee', 'updated_by'],
    why: STAFF,
  },
  {
    table: 'operation_triage',
    columns: ['operation', 'snooze_until', 'snoozed_as', 'updated_at'],
    why: 'our own words and times',
  },
  {
    table: 'provider_events',
    columns: [
      'account',
      'event_id',
      'type',
      'livemode',
      'provider_account',
      'object_id',
      'payment_reference',
      'operation_id',
      'created_at',
      'received_at',
      'ignored_because',
      'woke',
    ],
    why: 'ids and times; bodies of webhooks are never stored',
  },
  {
    table: 'findings',
    columns: [
      'finding_id',
      'account',
      'kind',
      'reference',
      'operation_id',
      'state',
      'amount',
      'currency',
      'message',
      'evidence',
      'suggested',
      'payment_created_at',
      'payment_terms',
      'suspected_at',
      'opened_at',
      'first_seen_at',
      'last_seen_at',
      'resolved_at',
      'check_at',
      'resource_version',
    ],
    why: 'ids, states, amounts and times of payments: made by us of these alone, of no text of a customer',
  },
  {
    table: 'finding_attempts',
    columns: [
      'attempt_id',
      'finding_id',
      'step',
      'target',
      'ordinal',
      'effect_key',
      'parameters',
      'worker',
      'started_at',
      'completed_at',
      'outcome',
      'key_spent',
      'failure',
      'request_id',
      'command',
    ],
    why: 'cancellations and refunds of payments beside the orders; they carry ids and amounts',
  },
  {
    table: 'finding_commands',
    columns: ['previewed_by', 'requested_by', 'approved_by'],
    why: STAFF,
  },
  {
    table: 'finding_commands',
    columns: ['reason'],
    why: 'erased with the order that the finding is about; else about a payment, and it goes with its finding',
  },
  {
    table: 'findings',
    columns: ['dismissed'],
    why: 'who dismissed it and on which facts; the reason is erased with the order that the finding is about',
  },
  {
    table: 'finding_commands',
    columns: [
      'preview_id',
      'finding_id',
      'account',
      'reference',
      'command',
      'resource_version',
      'evidence',
      'bound',
      'effects',
      'gives_back',
      'approval_needed',
      'operation_command',
      'state',
      'previewed_at',
      'expires_at',
      'requested_at',
      'approved_at',
      'carried_out_at',
      'due_at',
      'waits_for',
      'outcome',
    ],
    why: 'about a payment, named by its id: the customer, the method and the page are left out when it is written',
  },
];

/** What is kept of JSON columns in which other members are erased. Members by `.`; `[]` stands for each item of a list. */
export const KEPT_MEMBERS: readonly {
  readonly table: string;
  readonly column: string;
  readonly members: readonly string[];
  readonly why: string;
}[] = [
  {
    table: 'order_operations',
    column: 'spec',
    members: [
      'desired',
      'order_id',
      'amount.value',
      'amount.currency',
      'payment.provider',
      'payment.capture',
      'payment.capture_amount',
      'payment.reference',
      'payment.off_session',
      'refunds[].refund_id',
      'refunds[].amount',
      'payment_deadline',
    ],
    why: 'what money needs; a repeated create is compared with it',
  },
  {
    table: 'order_operations',
    column: 'spec',
    members: ['lines[].sku', 'lines[].quantity'],
    why: 'goods, which the warehouse is compared with; they name nobody',
  },
  {
    table: 'order_operations',
    column: 'facts',
    members: [
      'payment.state',
      'payment.provider_status',
      'payment.amount',
      'payment.currency',
      'payment.capture',
      'payment.authorized',
      'payment.captured',
      'payment.disputed',
      'payment.lost',
      'payment.capture_before',
      'payment.canceled_because',
      'payment.operation_id',
      'payment.answered_confirmation',
      'payment.observed_at',
      'inventory',
      'refunds[].refund_id',
      'refunds[].amount',
      'refunds[].state',
      'refunds[].source',
      'refunds[].provider_reference',
      'unresolved',
      'budget',
    ],
    why: 'states, amounts, ids and times: late money is noticed by them',
  },
  {
    table: 'order_operations',
    column: 'decisions',
    members: ['retries', 'resent', 'unbraked', 'asserted[].by', 'left[].by', 'given_up.by', 'last.by'],
    why: STAFF,
  },
  {
    table: 'operation_attempts',
    column: 'parameters',
    members: ['amount', 'currency', 'metadata', 'payment_intent', 'lines'],
    why: 'what was sent, as far as money and goods are concerned',
  },
];
