/** Creating, changing and canceling a payment intent. */
import { type Books, latestCharge, noEffects } from './books.js';
import { type Cause, type Intent, type IntentStatus, type Owner, type PaymentMethod } from './model.js';
import { checkChargeAmount } from './money.js';
import { invalid, unexpectedState } from './refusal.js';

/** What may be said about an intent when it is created or changed; absent means "leave it". */
export interface IntentFields {
  amount?: number | undefined;
  currency?: string | undefined;
  captureMethod?: string | undefined;
  /** The only types to be offered, as older and as newer versions of the API say it. */
  methodTypes?: string[] | undefined;
  allowedMethodTypes?: string[] | undefined;
  paymentMethod?: PaymentMethod | undefined;
  customer?: string | null | undefined;
  description?: string | null | undefined;
  /** An empty value removes the key; null removes them all. */
  metadata?: Record<string, string> | null | undefined;
  receiptEmail?: string | null | undefined;
  setupFutureUsage?: string | null | undefined;
  statementDescriptor?: string | null | undefined;
  statementDescriptorSuffix?: string | null | undefined;
  shipping?: unknown;
}

export interface NewIntent extends IntentFields {
  amount: number;
  currency: string;
  confirmationMethod?: 'automatic' | 'manual' | undefined;
  automaticMethods?: { enabled: boolean; allowRedirects: 'always' | 'never' } | undefined;
}

/** `check` sees the intent before it is filed and may refuse it; then nothing was created. */
export function createIntent(
  books: Books,
  owner: Owner,
  fields: NewIntent,
  check: (draft: Intent) => void,
  cause: Cause,
): Intent {
  checkChargeAmount(fields.amount, fields.currency, books.settings.minimum_amounts);
  if (fields.automaticMethods?.enabled && fields.methodTypes) {
    throw invalid(
      'You may only specify one of these parameters: automatic_payment_methods, payment_method_types.',
      'automatic_payment_methods',
    );
  }
  // Neither given: the dashboard's methods apply, with redirects, as since API 2023-08-16.
  const automatic = fields.automaticMethods ?? { enabled: !fields.methodTypes, allowRedirects: 'always' };
  const id = books.world.id('pi_3');
  const intent: Intent = {
    id,
    owner,
    created: books.world.seconds(),
    amount: fields.amount,
    currency: fields.currency,
    status: 'requires_payment_method',
    captureMethod: fields.captureMethod ?? 'automatic_async',
    confirmationMethod: fields.confirmationMethod ?? 'automatic',
    automaticMethods: automatic.enabled ? { allowRedirects: automatic.allowRedirects } : null,
    methodTypes: ['card', 'sepa_debit', 'ideal'],
    allowedMethodTypes: null,
    paymentMethod: null,
    customer: null,
    description: null,
    metadata: {},
    receiptEmail: null,
    setupFutureUsage: null,
    statementDescriptor: null,
    statementDescriptorSuffix: null,
    shipping: null,
    clientSecret: `${id}_secret_${books.world.id('', 25)}`,
    charges: [],
    returnUrl: null,
    nextAction: null,
    authenticated: false,
    lastError: null,
    canceledAt: null,
    cancellationReason: null,
    source: cause.source,
    effects: { api: noEffects(), dashboard: noEffects(), provider: noEffects() },
    statusLog: [],
  };
  assign(intent, fields);
  check(intent);
  books.index(intent, undefined);
  books.moveTo(intent, fields.paymentMethod ? 'requires_confirmation' : 'requires_payment_method');
  books.intents.put(intent);
  books.announce(cause, { type: 'payment_intent.created', object: 'payment_intent', record: intent });
  return intent;
}

/** What decides about money is fixed once the payment is under way; words about it may change at any time. */
const BEFORE_PAYMENT: readonly IntentStatus[] = [
  'requires_payment_method',
  'requires_confirmation',
  'requires_action',
];

export function updateIntent(books: Books, intent: Intent, fields: IntentFields, cause: Cause): Intent {
  if (!BEFORE_PAYMENT.includes(intent.status)) refuseMoneyFields(intent, fields);
  refuseAnotherCustomer(intent, fields);
  if (fields.amount !== undefined || fields.currency !== undefined) {
    checkChargeAmount(
      fields.amount ?? intent.amount,
      fields.currency ?? intent.currency,
      books.settings.minimum_amounts,
    );
  }
  const before = intent.metadata['operation_id'];
  assign(intent, fields);
  books.index(intent, before);
  const restarts = fields.paymentMethod ?? (intent.status === 'requires_action' ? fields.amount : undefined);
  if (restarts !== undefined) {
    intent.authenticated = false;
    books.moveTo(intent, 'requires_confirmation');
  }
  books.announce(cause);
  return intent;
}

function refuseAnotherCustomer({ customer }: Intent, fields: IntentFields): void {
  if (customer === null || fields.customer === undefined || fields.customer === customer) return;
  throw invalid(
    'You cannot modify `customer` on a PaymentIntent once it already has been set. To fulfill a payment with a different Customer, cancel this PaymentIntent and create a new one.',
    'customer',
  );
}

function refuseMoneyFields(intent: Intent, fields: IntentFields): void {
  const names = {
    amount: fields.amount,
    currency: fields.currency,
    payment_method: fields.paymentMethod,
    capture_method: fields.captureMethod,
    allowed_payment_method_types: fields.methodTypes ?? fields.allowedMethodTypes,
    customer: fields.customer,
    setup_future_usage: fields.setupFutureUsage,
  };
  for (const [name, value] of Object.entries(names)) {
    if (value === undefined) continue;
    throw unexpectedState(
      `This PaymentIntent's ${name} could not be updated because it has a status of ${intent.status}. You may only update the ${name} of a PaymentIntent with one of the following statuses: ${BEFORE_PAYMENT.join(', ')}.`,
      intent,
    );
  }
}

function assign(intent: Intent, fields: IntentFields): void {
  if (fields.amount !== undefined) intent.amount = fields.amount;
  if (fields.currency !== undefined) intent.currency = fields.currency;
  if (fields.captureMethod !== undefined) intent.captureMethod = fields.captureMethod;
  if (fields.allowedMethodTypes !== undefined) intent.allowedMethodTypes = fields.allowedMethodTypes;
  intent.methodTypes = fields.methodTypes ?? fields.allowedMethodTypes ?? intent.methodTypes;
  if (fields.paymentMethod !== undefined) intent.paymentMethod = fields.paymentMethod;
  if (fields.customer !== undefined) intent.customer = fields.customer;
  if (fields.description !== undefined) intent.description = fields.description;
  if (fields.receiptEmail !== undefined) intent.receiptEmail = fields.receiptEmail;
  if (fields.setupFutureUsage !== undefined) intent.setupFutureUsage = fields.setupFutureUsage;
  if (fields.statementDescriptor !== undefined) intent.statementDescriptor = fields.statementDescriptor;
  if (fields.statementDescriptorSuffix !== undefined)
    intent.statementDescriptorSuffix = fields.statementDescriptorSuffix;
  if (fields.shipping !== undefined) intent.shipping = fields.shipping;
  if (fields.metadata !== undefined) intent.metadata = mergeMetadata(intent.metadata, fields.metadata);
}

export function mergeMetadata(
  before: Record<string, string>,
  change: Record<string, string> | null,
): Record<string, string> {
  if (change === null) return {};
  const merged = { ...before, ...change };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== ''));
}

/** An async debit on its way to the bank cannot be called back, so `processing` is not among these. */
const CANCELABLE: readonly IntentStatus[] = [
  'requires_payment_method',
  'requires_capture',
  'requires_confirmation',
  'requires_action',
];

export function cancelIntent(books: Books, intent: Intent, reason: string | null, cause: Cause): Intent {
  if (!CANCELABLE.includes(intent.status)) {
    throw unexpectedState(
      `You cannot cancel this PaymentIntent because it has a status of ${intent.status}. Only a PaymentIntent with one of the following statuses may be canceled: ${CANCELABLE.join(', ')}.`,
      intent,
    );
  }
  return voidIntent(books, intent, reason, cause);
}

/** Gives back what is held, if anything, and ends the intent. */
export function voidIntent(books: Books, intent: Intent, reason: string | null, cause: Cause): Intent {
  const charge = latestCharge(intent);
  const held = intent.status === 'requires_capture' ? charge : null;
  if (held) held.amountReleased = held.amount;
  intent.effects[cause.source].voids += 1;
  intent.canceledAt = books.world.seconds();
  intent.cancellationReason = reason;
  books.moveTo(intent, 'canceled');
  if (held && cause.source === 'provider') {
    books.announce(cause, { type: 'charge.expired', object: 'charge', record: held });
  }
  books.announce(cause, { type: 'payment_intent.canceled', object: 'payment_intent', record: intent });
  return intent;
}

/** Lapses every authorization whose time has come on the sandbox's clock. */
export function expireAuthorizations(books: Books): void {
  const now = books.world.seconds();
  if (books.nextDeadline > now) return;
  const cause: Cause = { source: 'provider', requestId: null, idempotencyKey: null };
  for (const [intent, deadline] of books.deadlines) {
    if (deadline <= now) voidIntent(books, intent, 'expired', cause);
  }
  books.nextDeadline = Number.POSITIVE_INFINITY;
  for (const deadline of books.deadlines.values()) {
    if (deadline < books.nextDeadline) books.nextDeadline = deadline;
  }
}
