/** Refunds, disputes, the account, the balance and errors as Stripe's JSON; and expanding ids into objects. */
import { type Books } from '../payments/books.js';
import { type Dispute, type Owner, type Refund } from '../payments/model.js';
import { invalid, type RefusalDetails } from '../payments/refusal.js';
import { type Rendered, renderCharge, renderIntent, renderMethod } from './render-intent.js';

export function renderRefund(refund: Refund): Rendered {
  const card = refund.charge.paymentMethod.method.type === 'card';
  return {
    id: refund.id,
    object: 'refund',
    amount: refund.amount,
    balance_transaction: refund.balanceTransaction,
    charge: refund.charge.id,
    created: refund.created,
    currency: refund.charge.intent.currency,
    customer: refund.charge.intent.customer,
    customer_account: null,
    destination_details: card
      ? {
          card: { reference_status: 'pending', reference_type: 'acquirer_reference_number', type: 'refund' },
          type: 'card',
        }
      : { type: refund.charge.paymentMethod.method.type },
    ...(refund.failureBalanceTransaction
      ? { failure_balance_transaction: refund.failureBalanceTransaction }
      : {}),
    ...(refund.failureReason ? { failure_reason: refund.failureReason } : {}),
    metadata: refund.metadata,
    payment_intent: refund.charge.intent.id,
    payment_method: refund.charge.paymentMethod.id,
    ...(refund.pendingReason ? { pending_reason: refund.pendingReason } : {}),
    reason: refund.reason,
    receipt_number: null,
    source_transfer_reversal: null,
    status: refund.status,
    transfer_reversal: null,
  };
}

export function renderDispute(dispute: Dispute): Rendered {
  return {
    id: dispute.id,
    object: 'dispute',
    amount: dispute.amount,
    balance_transactions: dispute.balanceTransactions.map((moved) => ({
      id: moved.id,
      object: 'balance_transaction',
      amount: moved.amount,
      available_on: moved.created,
      created: moved.created,
      currency: moved.currency,
      description: moved.description,
      exchange_rate: null,
      fee: moved.fee,
      fee_details: [
        { amount: moved.fee, currency: moved.currency, description: 'Dispute fee', type: 'stripe_fee' },
      ],
      net: moved.amount - moved.fee,
      reporting_category: moved.amount < 0 ? 'dispute' : 'dispute_reversal',
      source: dispute.id,
      status: 'available',
      type: 'adjustment',
    })),
    charge: dispute.charge.id,
    created: dispute.created,
    currency: dispute.charge.intent.currency,
    enhanced_eligibility_types: [],
    evidence: {},
    evidence_details: { due_by: dispute.dueBy, has_evidence: false, past_due: false, submission_count: 0 },
    intended_submission_method: 'manual',
    is_charge_refundable: dispute.refundable,
    livemode: dispute.owner.livemode,
    metadata: dispute.metadata,
    payment_intent: dispute.charge.intent.id,
    payment_method_details: {
      card: {
        brand: dispute.charge.paymentMethod.method.brand,
        case_type: 'chargeback',
        network_reason_code: '10.4',
      },
      type: 'card',
    },
    reason: dispute.reason,
    status: dispute.status,
  };
}

export function renderAccount(account: string): Rendered {
  return {
    id: account,
    object: 'account',
    business_profile: { mcc: '5812', name: 'Sandbox shop', support_email: null, url: null },
    business_type: 'company',
    capabilities: { card_payments: 'active', sepa_debit_payments: 'active', transfers: 'active' },
    charges_enabled: true,
    country: 'DE',
    created: 1_735_689_600,
    default_currency: 'eur',
    details_submitted: true,
    email: 'shop@sandbox.example',
    metadata: {},
    payouts_enabled: true,
    settings: { dashboard: { display_name: 'Sandbox shop', timezone: 'Etc/UTC' } },
    type: 'standard',
  };
}

/** The account object has no livemode; the balance is the smallest object of Stripe's that has it. */
export function renderBalance(owner: Owner): Rendered {
  return {
    object: 'balance',
    available: [{ amount: 0, currency: 'eur', source_types: { card: 0 } }],
    livemode: owner.livemode,
    pending: [{ amount: 0, currency: 'eur', source_types: { card: 0 } }],
  };
}

export function renderError(details: RefusalDetails, requestId: string): Rendered {
  const { code, declineCode, adviceCode, param, chargeId, intent, paymentMethod } = details;
  return {
    error: {
      ...(adviceCode ? { advice_code: adviceCode } : {}),
      ...(chargeId ? { charge: chargeId } : {}),
      ...(code ? { code } : {}),
      ...(declineCode ? { decline_code: declineCode } : {}),
      ...(code ? { doc_url: `https://stripe.com/docs/error-codes/${code.replaceAll('_', '-')}` } : {}),
      message: details.message,
      ...(param ? { param } : {}),
      ...(intent ? { payment_intent: renderIntent(intent) } : {}),
      ...(paymentMethod ? { payment_method: renderMethod(paymentMethod) } : {}),
      request_log_url: `https://dashboard.stripe.example/logs/${requestId}`,
      type: details.type,
    },
  };
}

export function renderList(url: string, data: Rendered[], hasMore: boolean): Rendered {
  return { object: 'list', data, has_more: hasMore, url };
}

/** What each kind of object can expand; the value is an id, except for a charge's refunds. */
const EXPANDABLE: Record<string, readonly string[]> = {
  payment_intent: ['latest_charge', 'payment_method'],
  charge: ['payment_intent', 'payment_method', 'refunds'],
  refund: ['charge', 'payment_intent'],
  dispute: ['charge', 'payment_intent'],
};

/** Replaces the ids on each path (`latest_charge`, `data.latest_charge`, …) by the objects they name. */
export function expand(books: Books, root: Rendered, paths: readonly string[]): Rendered {
  for (const path of paths) expandPath(books, root, path.split('.'), path);
  return root;
}

function expandPath(books: Books, at: Rendered, [step, ...rest]: string[], path: string): void {
  if (step === undefined) return;
  if (step === 'data' && Array.isArray(at['data'])) {
    for (const item of at['data'] as Rendered[]) expandPath(books, item, rest, path);
    return;
  }
  if (!EXPANDABLE[String(at['object'])]?.includes(step)) {
    throw invalid(`This property cannot be expanded (${path}).`, 'expand', undefined);
  }
  const value = step === 'refunds' ? (at['refunds'] ?? refundsOf(books, at)) : resolve(books, at[step]);
  at[step] = value;
  if (typeof value === 'object' && value !== null) expandPath(books, value as Rendered, rest, path);
}

function refundsOf(books: Books, charge: Rendered): Rendered {
  const found = books.charges.get(String(charge['id']))?.refunds ?? [];
  const newestFirst = [...found].reverse().map(renderRefund);
  return renderList(`/v1/charges/${String(charge['id'])}/refunds`, newestFirst, false);
}

function resolve(books: Books, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const intent = books.intents.get(value);
  if (intent) return renderIntent(intent);
  const charge = books.charges.get(value);
  if (charge) return renderCharge(charge, books.settings);
  const method = books.methods.get(value);
  return method ? renderMethod(method) : value;
}
