/** A request that the payments server refuses, in the words of Stripe's error object. */
import { type Intent, type PaymentMethod } from './model.js';

export interface RefusalDetails {
  status: number;
  type: 'invalid_request_error' | 'card_error' | 'idempotency_error' | 'api_error';
  message: string;
  code?: string | undefined;
  declineCode?: string | undefined;
  adviceCode?: string | undefined;
  param?: string | undefined;
  chargeId?: string | undefined;
  intent?: Intent | undefined;
  paymentMethod?: PaymentMethod | undefined;
  headers?: Record<string, string> | undefined;
  /**
   * Whether the answer is kept under the idempotency key. Kept: refused while executing. Not kept: refused
   * before (validation, authentication, conflict, rate limit), so the same key may be used again.
   */
  stored: boolean;
}

export class Refusal extends Error {
  readonly details: RefusalDetails;

  constructor(details: RefusalDetails) {
    super(details.message);
    this.details = details;
  }
}

/** The parameters are wrong; nothing was executed. */
export function invalid(message: string, param: string | undefined, code?: string): Refusal {
  return new Refusal({ status: 400, type: 'invalid_request_error', message, param, code, stored: false });
}

/** The parameters are fine but the state of the books does not allow it. */
export function refused(message: string, more: Partial<RefusalDetails> = {}): Refusal {
  return new Refusal({ status: 400, type: 'invalid_request_error', message, stored: true, ...more });
}

export function unexpectedState(message: string, intent: Intent): Refusal {
  return refused(message, { code: 'payment_intent_unexpected_state', intent });
}

/** An id in the path answers 404; one in the parameters of most routes answers 400. */
export function missing(kind: string, id: string, param: string, status: 400 | 404, hint = ''): Refusal {
  return refused(`No such ${kind}: '${id}'${hint}`, { status, code: 'resource_missing', param });
}
