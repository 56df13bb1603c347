/** Builds the Stripe SDK client the way this service needs it. */
import Stripe from 'stripe';
import { Transport } from './transport.js';

export interface StripeClientOptions {
  readonly secret: string;
  /** Scheme, host and port of another server that speaks Stripe's language; absent: Stripe itself. */
  readonly base?: URL;
  /** Bounds one whole exchange with the provider. The SDK's default is 80 s, far beyond a lease. */
  readonly timeout_ms: number;
}

/**
 * Throws when the options cannot work, naming no secret. Resending is this service's own decision, made after a
 * reading, so the SDK's retries are off.
 */
export function stripeClient({ secret, base, timeout_ms }: StripeClientOptions): Stripe {
  return new Stripe(secret, {
    ...(base && address(base)),
    httpClient: new Transport(),
    timeout: timeout_ms,
    maxNetworkRetries: 0,
    telemetry: false,
  });
}

/**
 * Asks the SDK for something. It formats a stack trace for each request, in case that it fails: a twentieth of a worker's
 * time, for a text that is never shown, since its errors are told by their code and message.
 */
export function withoutTrace<Answer>(ask: () => Answer): Answer {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return ask();
  } finally {
    Error.stackTraceLimit = limit;
  }
}

function address(base: URL): { host: string; port: string; protocol: 'http' | 'https' } {
  if (base.protocol !== 'http:' && base.protocol !== 'https:') {
    throw new Error('The address of the payment provider must begin with http:// or https://');
  }
  // The SDK builds absolute paths, so a path would be dropped without a word; credentials belong to the key.
  if (base.pathname !== '/' || base.search !== '' || base.username !== '' || base.password !== '') {
    throw new Error('The address of the payment provider must be a scheme, a host and a port only');
  }
  const protocol = base.protocol === 'http:' ? 'http' : 'https';
  return {
    host: base.hostname,
    port: base.port !== '' ? base.port : protocol === 'http' ? '80' : '443',
    protocol,
  };
}
