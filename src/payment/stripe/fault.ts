/**
 * What a thrown error means: one total mapping from whatever the SDK throws to a failure of ours. Declined, known not
 * done and unknown are three different things; what is not recognised is unknown. Sources: Stripe's "Error codes",
 * "Error handling" and "Idempotent requests", and the behaviour of the SDK, version 23.
 */
import type { Failure } from '../../operation/failure.js';
import { describeDecline } from './decline.js';
import { readError, type ProviderError } from './provider-error.js';
import { safeText } from './redact.js';
import { retryAfterMs } from './retry-after.js';

export interface Fault {
  readonly kind: 'declined' | 'rejected' | 'not_sent' | 'unknown';
  readonly failure: Failure;
  /** The provider keeps this answer under the key: the same key would only repeat it. */
  readonly key_spent: boolean;
  readonly error: ProviderError;
}

/** Wrong or insufficient credentials, account or mode: nothing will work until somebody repairs the account. */
const ACCOUNT_CODES: ReadonlySet<string> = new Set([
  'account_invalid',
  'api_key_expired',
  'livemode_mismatch',
  'platform_api_key_expired',
  'secret_key_required',
  'testmode_charges_only',
  'tls_version_unsupported',
]);

/** The payment is not in the state that the request supposed; perhaps the work is done already, perhaps not. */
const CONFLICT_CODES: ReadonlySet<string> = new Set([
  'capture_charge_authorization_expired',
  'charge_already_captured',
  'charge_already_refunded',
  'charge_expired_for_capture',
  'intent_invalid_state',
  'payment_intent_unexpected_state',
  'return_intent_already_processed',
  'status_transition_invalid',
]);

/** Declines that do not always come as 402. A card that was tried too often must not slow down the whole account. */
const DECLINE_CODES: ReadonlySet<string> = new Set([
  'authentication_required',
  'card_decline_rate_limit_exceeded',
  'card_declined',
  'payment_intent_authentication_failure',
  'payment_intent_payment_attempt_failed',
  'payment_method_customer_decline',
  'payment_method_provider_decline',
]);

const THROTTLE_CODES: ReadonlySet<string> = new Set(['lock_timeout', 'rate_limit']);

/** Client errors that say nothing about whether the request was carried out. */
const INDETERMINATE_STATUSES: ReadonlySet<number> = new Set([408, 409, 424, 425, 499]);

/** What a caller hands in; everything else that can be missing is an id of ours. */
const CALLERS_PARAMETERS = /^(payment_method|customer|source|return_url|mandate)/;
const CALLERS_OBJECTS = /^No such (payment_?method|customer|source|token|mandate)/i;

export function toFault(thrown: unknown): Fault {
  const error = readError(thrown);
  const say = (kind: Fault['kind'], cls: Failure['class'], code: string, keySpent = false): Fault => ({
    kind,
    failure: failureOf(error, cls, code),
    key_spent: keySpent,
    error,
  });
  const { code, status, transport } = error;

  if (transport !== null) {
    // Only a connection that never was proves that nothing was sent.
    return transport.unsent
      ? say('not_sent', 'transient', transport.failure)
      : say('unknown', 'unknown', transport.failure);
  }
  if (status === null) return say('unknown', 'unknown', 'unexpected_error');
  if (status === 401 || status === 403) return say('rejected', 'authorization', code ?? `http_${status}`);
  // "Treat as indeterminate": the work may be done. A replay says that the answer was stored for this key.
  if (status >= 500) return say('unknown', 'unknown', code ?? `http_${status}`, error.replayed);
  if (status < 400) return say('unknown', 'unknown', `http_${status}_with_error`);
  if (code !== null && DECLINE_CODES.has(code)) return declined(error);
  if (status === 429 || (code !== null && THROTTLE_CODES.has(code))) return throttled(error);
  // Another request with this key is under way. Its class in the SDK is StripeAPIError: only code and status tell.
  if (code === 'idempotency_key_in_use') return say('unknown', 'unknown', code);
  if (INDETERMINATE_STATUSES.has(status)) return say('unknown', 'unknown', code ?? `http_${status}`);
  // Our own bug: other parameters under the same key. A new key could do the work twice, so this one stays.
  if (error.type === 'idempotency_error') return say('rejected', 'rejected', 'idempotency_mismatch');
  if (code !== null && ACCOUNT_CODES.has(code)) return say('rejected', 'authorization', code);
  if (status === 404 || code === 'resource_missing') return missing(error, say);
  // The bank was asked and gave no answer: that is no answer for us either.
  if (code === 'payment_method_provider_timeout' && status !== 402) return say('unknown', 'unknown', code);
  if (status === 402 || error.type === 'card_error') return declined(error);
  // A definite "no" without effect. Stripe keeps those of requests that began executing, and which did is not said;
  // since none had an effect, a new key is safe for all, and needed for some.
  if (code !== null && CONFLICT_CODES.has(code)) return say('rejected', 'conflict', code, true);
  return say('rejected', 'rejected', code ?? `http_${status}`, true);
}

type Say = (kind: Fault['kind'], cls: Failure['class'], code: string, keySpent?: boolean) => Fault;

/** An object is not there. Whose mistake that is depends on who named it. */
function missing(error: ProviderError, say: Say): Fault {
  const code = error.code ?? 'resource_missing';
  const named =
    error.param !== null ? CALLERS_PARAMETERS.test(error.param) : CALLERS_OBJECTS.test(error.message);
  // Before the mode: one caller with an id of the other mode must not stop the account for all.
  if (named) return say('rejected', 'rejected', code, true);
  if (isOtherMode(error)) return say('rejected', 'authorization', 'livemode_mismatch');
  // The server does not know the route itself: the address is not that of such a server.
  if (/^Unrecognized request URL/i.test(error.message))
    return say('rejected', 'prerequisite', 'unrecognized_route');
  // An id that was given to us by this provider: the wrong account until proven otherwise.
  return say('rejected', 'authorization', code);
}

/** There is no code for it, only the message: "a similar object exists in live mode, but a test mode key was used". */
const isOtherMode = (error: ProviderError): boolean =>
  /similar object exists in (live|test) mode/i.test(error.message);

/** The provider says that the object with the id in the path does not exist, and nothing suggests a mix-up. */
export const saysAbsent = ({ error, failure }: Fault): boolean =>
  error.status === 404 &&
  error.transport === null &&
  failure.class === 'authorization' &&
  !isOtherMode(error);

function declined(error: ProviderError): Fault {
  const { code, message } = describeDecline({ ...error, message: error.message || null });
  const failure = { ...failureOf(error, 'declined', code), message };
  return { kind: 'declined', failure, key_spent: true, error };
}

function throttled(error: ProviderError): Fault {
  const wait = retryAfterMs(error.headers);
  const failure = {
    ...failureOf(error, 'throttled', error.code ?? 'rate_limit'),
    ...(wait !== null && { retry_after_ms: wait }),
  };
  return { kind: 'not_sent', failure, key_spent: false, error };
}

function failureOf(error: ProviderError, cls: Failure['class'], code: string): Failure {
  return {
    class: cls,
    code,
    message: safeText(error.transport?.message ?? (error.message || 'The payment provider gave no reason.')),
    ...(error.request_id !== null && { request_id: error.request_id }),
  };
}
