/** Payment intents, charges and payment methods as Stripe's JSON objects. */
import { type Settings } from '../settings.js';
import { committedRefunds, latestCharge } from '../payments/books.js';
import { type Charge, type Intent, type PaymentError, type PaymentMethod } from '../payments/model.js';

export type Rendered = Record<string, unknown>;

export function renderIntent(intent: Intent): Rendered {
  const charge = latestCharge(intent);
  const held = intent.status === 'requires_capture' ? (charge?.amount ?? 0) : 0;
  return {
    id: intent.id,
    object: 'payment_intent',
    allowed_payment_method_types: intent.allowedMethodTypes,
    amount: intent.amount,
    amount_capturable: held,
    amount_details: { tip: {} },
    amount_received: charge?.status === 'succeeded' ? charge.amountCaptured : 0,
    application: null,
    application_fee_amount: null,
    automatic_payment_methods: intent.automaticMethods
      ? { allow_redirects: intent.automaticMethods.allowRedirects, enabled: true }
      : null,
    canceled_at: intent.canceledAt,
    cancellation_reason: intent.cancellationReason,
    capture_method: intent.captureMethod,
    client_secret: intent.clientSecret,
    confirmation_method: intent.confirmationMethod,
    created: intent.created,
    currency: intent.currency,
    customer: intent.customer,
    customer_account: null,
    description: intent.description,
    excluded_payment_method_types: null,
    last_payment_error: intent.lastError ? renderPaymentError(intent.lastError) : null,
    latest_charge: charge?.id ?? null,
    livemode: intent.owner.livemode,
    managed_payments: null,
    metadata: intent.metadata,
    next_action: renderNextAction(intent),
    on_behalf_of: null,
    payment_method: intent.paymentMethod?.id ?? null,
    payment_method_configuration_details: null,
    payment_method_options: { card: { installments: null, request_three_d_secure: 'automatic' } },
    payment_method_types: intent.methodTypes,
    payment_record: null,
    processing: intent.status === 'processing' ? { type: intent.paymentMethod?.method.type ?? null } : null,
    receipt_email: intent.receiptEmail,
    review: null,
    setup_future_usage: intent.setupFutureUsage,
    shipping: intent.shipping,
    source: null,
    statement_descriptor: intent.statementDescriptor,
    statement_descriptor_suffix: intent.statementDescriptorSuffix,
    status: intent.status,
    transfer_data: null,
    transfer_group: null,
  };
}

function renderNextAction(intent: Intent): Rendered | null {
  switch (intent.nextAction) {
    case null:
      return null;
    case 'redirect_to_url':
      return {
        type: 'redirect_to_url',
        redirect_to_url: {
          return_url: intent.returnUrl,
          // As live, the page finds its payment by the secret in its address.
          url: `https://hooks.stripe.example/redirect/authenticate?payment_intent=${intent.id}&payment_intent_client_secret=${intent.clientSecret}`,
        },
      };
    case 'use_stripe_sdk':
      return {
        type: 'use_stripe_sdk',
        use_stripe_sdk: {
          type: 'three_d_secure_redirect',
          stripe_js: `https://hooks.stripe.example/3d_secure/${intent.id}`,
        },
      };
  }
}

/** The members that last_payment_error and an error answer have in common. */
export function renderPaymentError(error: PaymentError): Rendered {
  return {
    ...(error.adviceCode ? { advice_code: error.adviceCode } : {}),
    ...(error.chargeId ? { charge: error.chargeId } : {}),
    code: error.code,
    ...(error.declineCode ? { decline_code: error.declineCode } : {}),
    doc_url: `https://stripe.com/docs/error-codes/${error.code.replaceAll('_', '-')}`,
    message: error.message,
    ...(error.paymentMethod ? { payment_method: renderMethod(error.paymentMethod) } : {}),
    type: 'card_error',
  };
}

export function renderMethod({ id, created, owner, method }: PaymentMethod): Rendered {
  const details =
    method.type === 'card'
      ? {
          brand: method.brand,
          country: 'US',
          exp_month: 12,
          exp_year: 2034,
          funding: 'credit',
          last4: method.last4,
        }
      : { last4: method.last4 };
  return {
    id,
    object: 'payment_method',
    allow_redisplay: 'unspecified',
    billing_details: { address: null, email: null, name: null, phone: null },
    [method.type]: details,
    created,
    customer: null,
    livemode: owner.livemode,
    metadata: {},
    type: method.type,
  };
}

export function renderCharge(charge: Charge, settings: Settings): Rendered {
  const refunded = committedRefunds(charge);
  const released = settings.releases_count_as_refunded ? charge.amountReleased : 0;
  return {
    id: charge.id,
    object: 'charge',
    amount: charge.amount,
    amount_captured: charge.amountCaptured,
    amount_refunded: refunded + released,
    application: null,
    application_fee: null,
    application_fee_amount: null,
    balance_transaction: charge.balanceTransaction,
    billing_details: { address: null, email: null, name: null, phone: null },
    calculated_statement_descriptor: 'SANDBOX SHOP',
    captured: charge.captured,
    created: charge.created,
    currency: charge.intent.currency,
    customer: charge.intent.customer,
    description: charge.intent.description,
    disputed: charge.disputes.length > 0,
    failure_balance_transaction: null,
    failure_code: charge.error?.code ?? null,
    failure_message: charge.error?.message ?? null,
    fraud_details: {},
    livemode: charge.owner.livemode,
    metadata: charge.intent.metadata,
    on_behalf_of: null,
    outcome: renderOutcome(charge),
    paid: charge.status === 'succeeded',
    payment_intent: charge.intent.id,
    payment_method: charge.paymentMethod.id,
    payment_method_details: renderDetails(charge),
    receipt_email: charge.intent.receiptEmail,
    receipt_number: null,
    receipt_url: null,
    refunded: charge.captured && refunded > 0 && refunded === charge.amountCaptured,
    review: null,
    shipping: charge.intent.shipping,
    source: null,
    source_transfer: null,
    statement_descriptor: charge.intent.statementDescriptor,
    statement_descriptor_suffix: charge.intent.statementDescriptorSuffix,
    status: charge.status,
    transfer_data: null,
    transfer_group: null,
  };
}

function renderOutcome(charge: Charge): Rendered {
  const declined = charge.status === 'failed';
  return {
    advice_code: charge.error?.adviceCode ?? null,
    network_status: declined ? 'declined_by_network' : 'approved_by_network',
    reason: charge.error?.declineCode ?? charge.error?.code ?? null,
    risk_level: 'normal',
    seller_message: declined ? 'The bank declined the payment.' : 'Payment complete.',
    type: declined ? 'issuer_declined' : 'authorized',
  };
}

function renderDetails(charge: Charge): Rendered {
  const { method } = charge.paymentMethod;
  if (method.type !== 'card') return { [method.type]: { last4: method.last4 }, type: method.type };
  return {
    card: {
      amount_authorized: charge.status === 'succeeded' ? charge.amount : null,
      authorization_code: null,
      brand: method.brand,
      ...(charge.captureBefore === null ? {} : { capture_before: charge.captureBefore }),
      checks: { address_line1_check: null, address_postal_code_check: null, cvc_check: 'pass' },
      country: 'US',
      exp_month: 12,
      exp_year: 2034,
      extended_authorization: { status: 'disabled' },
      funding: 'credit',
      incremental_authorization: { status: 'unavailable' },
      installments: null,
      last4: method.last4,
      mandate: null,
      multicapture: { status: 'unavailable' },
      network: method.brand,
      overcapture: { maximum_amount_capturable: charge.amount, status: 'unavailable' },
      three_d_secure: charge.authenticated ? { result: 'authenticated', version: '2.2.0' } : null,
      wallet: null,
    },
    type: 'card',
  };
}
