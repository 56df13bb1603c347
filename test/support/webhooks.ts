/** Webhooks as Stripe sends them: an event, signed by the official SDK. */
import Stripe from 'stripe';
import { systemClock } from '../../src/clock.js';

const stripe = new Stripe('sk_test_never_used');

export const WEBHOOK_SECRET = 'whsec_test_0001';

export interface Hook {
  readonly body: string;
  readonly headers: Record<string, string>;
}

/** `skew`: how many seconds the clock of the sender is ahead. */
export function signed(
  event: string | Record<string, unknown>,
  { secret = WEBHOOK_SECRET, skew = 0 } = {},
): Hook {
  const body = typeof event === 'string' ? event : JSON.stringify(event);
  const timestamp = Math.floor(systemClock.now().getTime() / 1000) + skew;
  const signature = stripe.webhooks.generateTestHeaderString({ payload: body, secret, timestamp });
  return {
    body,
    headers: { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': signature },
  };
}

/** An event about `object`, of a test-mode account that says nothing about itself. */
export const anEvent = (
  id: string,
  type: string,
  object: Record<string, unknown>,
  more: Record<string, unknown> = {},
): Record<string, unknown> => ({
  id,
  object: 'event',
  api_version: '2026-10-28.endive',
  created: Math.floor(systemClock.now().getTime() / 1000),
  data: { object },
  livemode: false,
  pending_webhooks: 1,
  type,
  ...more,
});
