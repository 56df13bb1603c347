/** Confirming a payment intent, and what later becomes of a confirmation that had to wait. */
import { type Books } from './books.js';
import { openDispute } from './disputes.js';
import {
  ASYNC_PAYMENT_FAILED,
  AUTHENTICATION_FAILED,
  AUTHENTICATION_REQUIRED,
  type Decline,
} from './methods.js';
import { type Cause, type Charge, type Intent, type PaymentError, type PaymentMethod } from './model.js';
import { invalid, Refusal, refused, unexpectedState } from './refusal.js';

export interface ConfirmOptions {
  paymentMethod?: PaymentMethod | undefined;
  returnUrl?: string | undefined;
  offSession?: boolean | undefined;
  errorOnRequiresAction?: boolean | undefined;
  captureMethod?: string | undefined;
}

export function confirmIntent(books: Books, intent: Intent, options: ConfirmOptions, cause: Cause): Intent {
  const method = checkConfirmable(books, intent, options);
  intent.paymentMethod = method;
  intent.captureMethod = options.captureMethod ?? intent.captureMethod;
  intent.returnUrl = options.returnUrl ?? intent.returnUrl;
  intent.lastError = null;
  intent.effects[cause.source].confirms += 1;

  const behaviour = method.method.confirm;
  if (typeof behaviour === 'object') return decline(books, intent, method, behaviour, cause);
  switch (behaviour) {
    case 'approve':
      return approve(books, intent, method, cause);
    case 'process':
      return startProcessing(books, intent, method, cause);
    case 'authenticate':
      if (intent.authenticated) return afterAuthentication(books, intent, method, cause);
      if (options.offSession || options.errorOnRequiresAction) {
        return decline(books, intent, method, AUTHENTICATION_REQUIRED, cause);
      }
      return askCustomer(books, intent, intent.returnUrl ? 'redirect_to_url' : 'use_stripe_sdk', cause);
    case 'redirect':
      if (intent.authenticated) return afterAuthentication(books, intent, method, cause);
      return askCustomer(books, intent, 'redirect_to_url', cause);
  }
}

/** Refuses before anything is changed; returns the method that the confirmation will use. */
export function checkConfirmable(books: Books, intent: Intent, options: ConfirmOptions): PaymentMethod {
  switch (intent.status) {
    case 'succeeded':
      throw unexpectedState(
        'You cannot confirm this PaymentIntent because it has already succeeded after being previously confirmed.',
        intent,
      );
    case 'canceled':
    case 'processing':
    case 'requires_capture':
      throw unexpectedState(
        `You cannot confirm this PaymentIntent because it has a status of ${intent.status}. Only a PaymentIntent with one of the following statuses may be confirmed: requires_payment_method, requires_confirmation, requires_action.`,
        intent,
      );
    case 'requires_payment_method':
    case 'requires_confirmation':
    case 'requires_action':
      break;
  }
  const method = options.paymentMethod ?? intent.paymentMethod;
  if (!method) {
    throw unexpectedState(
      "You cannot confirm this PaymentIntent because it's missing a payment method. You can either update the PaymentIntent with a payment method and then confirm it again, or confirm it again directly with a payment method or ConfirmationToken.",
      intent,
    );
  }
  checkMethod(intent, method, options.captureMethod ?? intent.captureMethod);
  checkReturnUrl(books, intent, method, options.returnUrl ?? intent.returnUrl);
  return method;
}

function checkMethod(intent: Intent, method: PaymentMethod, captureMethod: string): void {
  const { type } = method.method;
  if (!intent.methodTypes.includes(type)) {
    throw invalid(
      `The PaymentMethod provided (${type}) is not allowed for this PaymentIntent. Please attach another PaymentMethod.`,
      'payment_method',
    );
  }
  if (type === 'ideal' && intent.automaticMethods?.allowRedirects === 'never') {
    throw invalid(
      `The PaymentMethod provided (${type}) needs a redirect, which this PaymentIntent does not allow.`,
      'payment_method',
    );
  }
  if (captureMethod === 'manual' && type !== 'card') {
    throw invalid(
      `The payment method type \`${type}\` does not support manual capture; set capture_method to automatic.`,
      'capture_method',
    );
  }
}

/** As live: what may redirect needs to know where to, whichever method is then used. */
function checkReturnUrl(books: Books, intent: Intent, method: PaymentMethod, returnUrl: string | null): void {
  const redirectOffered = intent.methodTypes.includes('ideal') && books.settings.redirect_methods;
  const mayRedirect = redirectOffered && intent.automaticMethods?.allowRedirects === 'always';
  if (returnUrl || (!mayRedirect && method.method.confirm !== 'redirect')) return;
  throw invalid(
    'This PaymentIntent is configured to accept payment methods enabled in your Dashboard. Because some of these payment methods might redirect your customer off of your page, you must provide a `return_url`. If you do not want to accept redirect-based payment methods, set `automatic_payment_methods[enabled]` to `true` and `automatic_payment_methods[allow_redirects]` to `never` when creating the PaymentIntent.',
    'return_url',
  );
}

function approve(books: Books, intent: Intent, method: PaymentMethod, cause: Cause): Intent {
  const manual = intent.captureMethod === 'manual';
  const charge = newCharge(books, intent, method, 'succeeded');
  books.announce(cause, { type: 'charge.succeeded', object: 'charge', record: charge });
  if (manual) {
    charge.captureBefore = books.world.seconds() + books.settings.authorization_window_s;
    books.moveTo(intent, 'requires_capture');
    books.holdUntil(intent, charge.captureBefore);
    const type = 'payment_intent.amount_capturable_updated';
    books.announce(cause, { type, object: 'payment_intent', record: intent });
  } else {
    succeed(books, intent, charge, cause);
  }
  return intent;
}

function succeed(books: Books, intent: Intent, charge: Charge, cause: Cause): void {
  charge.status = 'succeeded';
  charge.captured = true;
  charge.amountCaptured = charge.amount;
  charge.balanceTransaction = books.world.id('txn_3');
  books.moveTo(intent, 'succeeded');
  books.announce(cause, { type: 'payment_intent.succeeded', object: 'payment_intent', record: intent });
  disputeIfTold(books, charge, cause);
}

export function disputeIfTold(books: Books, charge: Charge, cause: Cause): void {
  const kind = charge.paymentMethod.method.dispute;
  if (kind) openDispute(books, charge, { inquiry: kind === 'inquiry' }, { ...cause, source: 'provider' });
}

function startProcessing(books: Books, intent: Intent, method: PaymentMethod, cause: Cause): Intent {
  const charge = newCharge(books, intent, method, 'pending');
  books.moveTo(intent, 'processing');
  books.announce(
    cause,
    { type: 'charge.pending', object: 'charge', record: charge },
    { type: 'payment_intent.processing', object: 'payment_intent', record: intent },
  );
  return intent;
}

function askCustomer(
  books: Books,
  intent: Intent,
  action: NonNullable<Intent['nextAction']>,
  cause: Cause,
): Intent {
  books.moveTo(intent, 'requires_action');
  intent.nextAction = action;
  books.announce(cause, { type: 'payment_intent.requires_action', object: 'payment_intent', record: intent });
  return intent;
}

/** The payment is refused: recorded on the intent, which may be tried again, and thrown as a card error. */
function decline(books: Books, intent: Intent, method: PaymentMethod, why: Decline, cause: Cause): never {
  const charge = newCharge(books, intent, method, 'failed');
  const error = failPayment(books, intent, charge, why, cause);
  throw new Refusal({
    status: 402,
    type: 'card_error',
    message: error.message,
    code: error.code,
    declineCode: error.declineCode ?? undefined,
    adviceCode: error.adviceCode ?? undefined,
    chargeId: charge.id,
    intent,
    paymentMethod: method,
    headers: { 'stripe-should-retry': 'false' },
    stored: true,
  });
}

function failPayment(
  books: Books,
  intent: Intent,
  charge: Charge | null,
  why: Decline,
  cause: Cause,
): PaymentError {
  const error: PaymentError = {
    ...why,
    chargeId: charge?.id ?? null,
    paymentMethod: intent.paymentMethod,
  };
  intent.lastError = error;
  intent.paymentMethod = null;
  intent.authenticated = false;
  books.moveTo(intent, 'requires_payment_method');
  if (charge) {
    charge.status = 'failed';
    charge.error = error;
    books.announce(cause, { type: 'charge.failed', object: 'charge', record: charge });
  }
  books.announce(cause, { type: 'payment_intent.payment_failed', object: 'payment_intent', record: intent });
  return error;
}

function newCharge(books: Books, intent: Intent, method: PaymentMethod, status: Charge['status']): Charge {
  const charge: Charge = {
    id: books.world.id(method.method.type === 'card' ? 'ch_3' : 'py_3'),
    owner: intent.owner,
    created: books.world.seconds(),
    intent,
    amount: intent.amount,
    status,
    captured: false,
    amountCaptured: 0,
    amountReleased: 0,
    captureBefore: null,
    paymentMethod: method,
    error: null,
    authenticated: intent.authenticated,
    balanceTransaction: null,
    refunds: [],
    disputes: [],
  };
  intent.charges.push(charge);
  books.charges.put(charge);
  return charge;
}

function afterAuthentication(books: Books, intent: Intent, method: PaymentMethod, cause: Cause): Intent {
  const then = method.method.afterAuthentication;
  if (then === 'approve') return approve(books, intent, method, cause);
  return decline(books, intent, method, then, cause);
}

/** The customer did what was asked for (3-D Secure, the bank's page). */
export function completeAuthentication(books: Books, intent: Intent, cause: Cause): Intent {
  const method = awaitingCustomer(intent);
  intent.authenticated = true;
  if (intent.confirmationMethod === 'manual') {
    books.moveTo(intent, 'requires_confirmation');
    books.announce(cause);
    return intent;
  }
  try {
    return afterAuthentication(books, intent, method, cause);
  } catch (error) {
    // A decline after authentication is the outcome of the action, not a mistake of who completed it.
    if (error instanceof Refusal) return intent;
    throw error;
  }
}

export function failAuthentication(books: Books, intent: Intent, cause: Cause): Intent {
  awaitingCustomer(intent);
  failPayment(books, intent, null, AUTHENTICATION_FAILED, cause);
  return intent;
}

function awaitingCustomer(intent: Intent): PaymentMethod {
  if (intent.status !== 'requires_action' || !intent.paymentMethod) {
    throw refused(`${intent.id} has a status of ${intent.status}: no customer is asked for anything`);
  }
  return intent.paymentMethod;
}

/** The bank paid, or did not pay, what was processing. */
export function endProcessing(books: Books, intent: Intent, paid: boolean, cause: Cause): Intent {
  const charge = intent.charges.at(-1);
  if (intent.status !== 'processing' || !charge) {
    throw refused(`${intent.id} has a status of ${intent.status}: nothing is processing`);
  }
  if (paid) {
    books.announce(cause, { type: 'charge.succeeded', object: 'charge', record: charge });
    succeed(books, intent, charge, cause);
  } else {
    failPayment(books, intent, charge, ASYNC_PAYMENT_FAILED, cause);
  }
  return intent;
}

/**
 * The bank pays what was canceled. No document of a provider allows it, and customers report it all the same: a transfer that
 * was under way, a cancellation that a bank did not hear of.
 */
export function payLate(books: Books, intent: Intent, method: PaymentMethod, cause: Cause): Intent {
  if (intent.status !== 'canceled') {
    throw refused(`${intent.id} has a status of ${intent.status}: only a canceled one can be paid late`);
  }
  intent.canceledAt = null;
  intent.cancellationReason = null;
  intent.paymentMethod = method;
  return approve(books, intent, method, cause);
}
