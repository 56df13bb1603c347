/**
 * Stripe's payment in our words: one total mapping. Source: API reference, "The PaymentIntent object" and
 * "The Charge object", and "How PaymentIntents work" for the statuses.
 */
import type {
  DisputeReading,
  DisputeState,
  NextAction,
  PaymentReading,
  RefundReading,
} from '../../operation/observation.js';
import { describeDecline } from './decline.js';
import { fromProviderAmount } from './money.js';
import {
  metadataText,
  notUnderstood,
  type Understood,
  type WireCharge,
  type WireDispute,
  type WirePayment,
} from './wire.js';

export interface Seen {
  /** Null: there is none, or it was not read. */
  readonly charge: WireCharge | null;
  /** Null: they were not asked for. */
  readonly refunds: readonly RefundReading[] | null;
  /** Null: they were not asked for. Empty also where the key or the server does not offer them. */
  readonly disputes: readonly WireDispute[] | null;
}

export const NOTHING_ELSE_SEEN: Seen = { charge: null, refunds: null, disputes: null };

/** The charge that came inside the payment, if it did. */
export const expandedCharge = (payment: WirePayment): WireCharge | null =>
  typeof payment.latest_charge === 'object' ? payment.latest_charge : null;

/** Amounts come out in ISO 4217 minor units; one that is not exact there refuses the whole reading. */
export function toPaymentReading(payment: WirePayment, seen: Seen): Understood<PaymentReading> {
  const currency = payment.currency.toUpperCase();
  const state = stateOf(payment);
  const charge = expandedCharge(payment) ?? seen.charge;
  const lastTry = charge?.id ?? payment.latest_charge;
  const amounts = inMinorUnits(payment.id, currency, {
    amount: payment.amount,
    authorized: state === 'authorized' ? capturable(payment, charge) : 0,
    captured: capturedAmount(payment, charge) ?? 0,
  });
  if (!amounts.ok) return amounts;
  const { amount, authorized, captured } = amounts.value;
  const disputes = seen.disputes === null ? null : disputeReadings(seen.disputes, currency);
  if (disputes?.ok === false) return disputes;
  const lost = lostTo(disputes?.value ?? []);
  const disputed = isDisputed(charge, seen.disputes);
  return {
    ok: true,
    value: {
      reference: payment.id,
      state,
      provider_status: payment.status,
      amount,
      currency,
      capture: captureOf(payment),
      payment_method: payment.payment_method,
      ...(payment.customer !== undefined && { customer: payment.customer }),
      authorized,
      captured,
      refunds: seen.refunds,
      disputed,
      ...(disputes !== null && (disputed || disputes.value.length > 0) && { disputes: disputes.value }),
      ...(lost > 0 && { lost }),
      capture_before: state === 'authorized' ? captureBefore(charge) : null,
      next_action: state === 'awaiting_customer' ? nextAction(payment) : null,
      last_error:
        payment.last_payment_error !== null && (state === 'failed' || state === 'canceled')
          ? describeDecline(payment.last_payment_error)
          : null,
      ...(typeof lastTry === 'string' && { charge: lastTry }),
      canceled_because: payment.cancellation_reason,
      operation_id: metadataText(payment.metadata, 'operation_id'),
      livemode: payment.livemode,
    },
  };
}

function inMinorUnits<K extends string>(
  id: string,
  currency: string,
  provider: Readonly<Record<K, number>>,
): Understood<Record<K, number>> {
  const exact = {} as Record<K, number>;
  for (const name of Object.keys(provider) as K[]) {
    const converted = fromProviderAmount(provider[name], currency);
    if (!converted.ok) {
      const message = `${id}: ${name} ${converted.problem}`;
      return { ok: false, failure: notUnderstood('amount_not_expressible', message) };
    }
    exact[name] = converted.amount;
  }
  return { ok: true, value: exact };
}

function stateOf(payment: WirePayment): PaymentReading['state'] {
  switch (payment.status) {
    case 'requires_payment_method':
      // Also the state after a decline, which alone leaves an error behind.
      return payment.last_payment_error === null ? 'created' : 'failed';
    case 'requires_confirmation':
      return 'created';
    case 'requires_action':
      return 'awaiting_customer';
    case 'processing':
      return 'processing';
    case 'requires_capture':
      return 'authorized';
    case 'succeeded':
      // Refunds never change this word.
      return 'captured';
    case 'canceled':
      return 'canceled';
    default:
      return 'unknown';
  }
}

function captureOf(payment: WirePayment): PaymentReading['capture'] {
  switch (payment.capture_method) {
    case 'manual':
      return 'manual';
    case 'automatic':
    case 'automatic_async':
      return 'automatic';
    case null:
    default:
      return null;
  }
}

function capturable(payment: WirePayment, charge: WireCharge | null): number {
  if (payment.amount_capturable !== null) return payment.amount_capturable;
  return charge !== null ? charge.amount - (charge.amount_captured ?? 0) : payment.amount;
}

/**
 * Gross, in Stripe's unit. `amount_refunded` never takes part: after a partial capture it may hold what was merely
 * released. Null: nothing says that anything was captured.
 */
export function capturedAmount(payment: WirePayment, charge: WireCharge | null): number | null {
  if (payment.status === 'succeeded') {
    // The last resort is for servers without any figure; there the whole is captured, and a released rest is a refund.
    return payment.amount_received ?? charge?.amount_captured ?? charge?.amount ?? payment.amount;
  }
  return payment.amount_received ?? (charge?.captured === true ? charge.amount_captured : null);
}

/** Source: API reference, "The dispute object". A word that is not known holds the money until it is. */
function disputeState(status: string): DisputeState {
  switch (status) {
    case 'won':
    case 'warning_closed':
    case 'prevented':
    case 'charge_refunded':
      return 'won';
    case 'lost':
      return 'lost';
    case 'warning_needs_response':
    case 'warning_under_review':
      return 'inquiry';
    default:
      return 'open';
  }
}

function disputeReadings(disputes: readonly WireDispute[], currency: string): Understood<DisputeReading[]> {
  const readings: DisputeReading[] = [];
  for (const { id, amount, currency: named, status } of disputes) {
    const own = named?.toUpperCase() ?? currency;
    if (own !== currency) {
      const message = `${id} is in ${own}, its payment in ${currency}`;
      return { ok: false, failure: notUnderstood('currency_mismatch', message) };
    }
    const exact = inMinorUnits(id, currency, { amount });
    if (!exact.ok) return exact;
    readings.push({ reference: id, amount: exact.value.amount, state: disputeState(status) });
  }
  return { ok: true, value: readings };
}

/** The provider's own word comes first: an inquiry can be refunded, some won disputes cannot, and of a lost one the rest may. */
const blocksRefunds = (dispute: WireDispute): boolean =>
  dispute.is_charge_refundable === null
    ? disputeState(dispute.status) === 'open'
    : !dispute.is_charge_refundable;

/** Whether a refund would now be refused, or would pay the customer twice. `charge.disputed` stays true for ever. */
function isDisputed(charge: WireCharge | null, disputes: readonly WireDispute[] | null): boolean {
  if (charge?.disputed !== true) return false;
  if (disputes === null || disputes.length === 0) return true;
  return disputes.some(blocksRefunds);
}

const lostTo = (disputes: readonly DisputeReading[]): number =>
  disputes.filter(({ state }) => state === 'lost').reduce((sum, { amount }) => sum + amount, 0);

/** Seconds since 1970 that a four-digit year can hold. */
const LAST_SECOND = 253_402_300_799;

/** Of whatever kind of card it is: `card`, `card_present`, … each carries its own. */
function captureBefore(charge: WireCharge | null): string | null {
  for (const details of Object.values(charge?.payment_method_details ?? {})) {
    const seconds: unknown = isRecord(details) ? details['capture_before'] : undefined;
    if (typeof seconds === 'number' && seconds > 0 && seconds <= LAST_SECOND) {
      return new Date(seconds * 1000).toISOString();
    }
  }
  return null;
}

/** Where the several kinds of next_action keep the page for the customer. */
const PAGES = ['url', 'hosted_voucher_url', 'hosted_instructions_url', 'hosted_verification_url'] as const;

function nextAction(payment: WirePayment): NextAction | null {
  const action = payment.next_action;
  if (action === null) return null;
  const details: unknown = action[action.type];
  const page = PAGES.map((name) => (isRecord(details) ? details[name] : undefined)).find(
    (value): value is string => typeof value === 'string' && /^https?:\/\//.test(value),
  );
  return { type: action.type, redirect_url: page ?? null };
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
