/**
 * What a write gave, as an Outcome: one total function over the answer (resolved or thrown) and the step. A 2xx is
 * believed only when it shows the object that was acted on, as it was asked for: the SDK resolves on any status when
 * the body has no `error`, so a gateway's answer would otherwise pass for success.
 */
import type { Outcome, Shown } from '../../operation/attempt.js';
import type { Failure } from '../../operation/failure.js';
import type { PaymentReading } from '../../operation/observation.js';
import type { PaymentCall } from '../port.js';
import { paymentDisagreement, refundDisagreement } from './agreement.js';
import { describeDecline } from './decline.js';
import { toFault, type Fault } from './fault.js';
import { isReplayed, members } from './provider-error.js';
import { NOTHING_ELSE_SEEN, toPaymentReading } from './to-observation.js';
import { toRefundReading } from './to-refund.js';
import { understand, WirePayment, WireRefund, type Understood, type WireCharge } from './wire.js';

/** Accepted, and the payment shows nothing of it. */
export const EFFECT_NOT_SEEN = 'effect_not_seen';

/** What the SDK did with a request. */
export type SdkAnswer =
  | { readonly kind: 'resolved'; readonly value: unknown }
  | { readonly kind: 'thrown'; readonly error: unknown };

/** Status, id and headers of a resolved answer; the SDK hangs them on the object as `lastResponse`. */
export interface Envelope {
  readonly status: number | null;
  readonly request_id: string | null;
  readonly replayed: boolean;
}

export function envelopeOf(value: unknown): Envelope {
  const response = members(members(value)['lastResponse']);
  const headers = members(response['headers']);
  const status = response['statusCode'];
  const requestId = headers['request-id'];
  return {
    status: typeof status === 'number' ? status : null,
    request_id: typeof requestId === 'string' ? requestId : null,
    replayed: isReplayed(headers),
  };
}

export const isSuccess = (envelope: Envelope): boolean =>
  envelope.status !== null && envelope.status >= 200 && envelope.status < 300;

/** The payment that an answer shows, believed as far as its shape goes: the object itself, or the error's. */
export function paymentIn(answer: SdkAnswer): WirePayment | null {
  const raw = answer.kind === 'resolved' ? answer.value : toFault(answer.error).error.payment;
  const payment = understandPayment(raw);
  return payment.ok ? payment.value : null;
}

/** An answer is looked at for its charge and again for what it means; it is understood once. */
const understood = new WeakMap<object, Understood<WirePayment>>();
function understandPayment(raw: unknown): Understood<WirePayment> {
  if (typeof raw !== 'object' || raw === null) return understand(WirePayment, raw);
  const known = understood.get(raw) ?? understand(WirePayment, raw);
  understood.set(raw, known);
  return known;
}

/**
 * Total. `charge` is the payment's latest charge where it had to be read by itself; null: not read, or not there.
 */
export function toOutcome(call: PaymentCall, answer: SdkAnswer, charge: WireCharge | null = null): Outcome {
  if (answer.kind === 'thrown') return refusedOutcome(call, toFault(answer.error), charge);
  const envelope = envelopeOf(answer.value);
  const say = speaker(envelope);
  if (!isSuccess(envelope)) {
    const status = envelope.status ?? 'none';
    return unusable(say, {
      code: `http_${status}`,
      message: `The answer (HTTP ${status}) is not the provider’s own.`,
    });
  }
  return call.step === 'create_refund'
    ? refundOutcome(call, answer.value, say)
    : paymentOutcome(call, answer.value, charge, say);
}

/** Outcomes of an answer that resolved, each with its request id. */
interface Speaker {
  yes(kind: 'done' | 'pending', shown: Shown): Outcome;
  no(
    kind: 'declined' | 'rejected' | 'unknown',
    cls: Failure['class'],
    code: string,
    message: string,
    shown?: Shown,
  ): Outcome;
}

function speaker({ request_id }: Envelope): Speaker {
  const id = request_id === null ? {} : { request_id };
  return {
    yes: (kind, shown) => ({ kind, ...id, shown }),
    no: (kind, cls, code, message, shown) => ({
      kind,
      failure: { class: cls, code, message, ...id },
      ...id,
      ...(shown !== undefined && { shown }),
      // A "no" in a 2xx is stored under the key like every 2xx.
      ...(kind !== 'unknown' && { key_spent: true }),
    }),
  };
}

/** Neither success nor failure, for whatever reason the answer cannot be relied on. */
const unusable = (say: Speaker, why: Pick<Failure, 'code' | 'message'>, shown?: Shown): Outcome =>
  say.no('unknown', 'unknown', why.code, why.message, shown);

function paymentOutcome(call: PaymentCall, raw: unknown, charge: WireCharge | null, say: Speaker): Outcome {
  const payment = understandPayment(raw);
  if (!payment.ok) return unusable(say, payment.failure);
  const { id, status } = payment.value;
  if (call.reference !== null && id !== call.reference) {
    return unusable(say, { code: 'other_object', message: `The answer shows ${id}, not ${call.reference}.` });
  }
  const reading = toPaymentReading(payment.value, { ...NOTHING_ELSE_SEEN, charge });
  if (!reading.ok) return unusable(say, reading.failure);
  const shown = { payment: reading.value };
  const disagreement = paymentDisagreement(call, payment.value);
  if (disagreement !== null) {
    // A created payment that is not the one asked for may be somebody else's: it must not become our reference.
    const safe = call.step === 'create_payment' ? undefined : shown;
    return unusable(say, { code: 'answer_disagrees', message: disagreement }, safe);
  }
  const { state, last_error } = reading.value;
  const effect = effectOf(call.step, state);
  switch (effect) {
    case 'done':
    case 'pending':
      return say.yes(effect, shown);
    case 'declined': {
      const { code, message } =
        last_error ?? describeDecline({ code: null, decline_code: null, message: null });
      return say.no('declined', 'declined', code, message, shown);
    }
    case 'overtaken':
      return say.no('rejected', 'conflict', `payment_${state}`, `The payment is ${status} instead.`, shown);
    case 'not_seen': {
      const message = `The request was accepted, but the payment is ${status}.`;
      return unusable(say, { code: EFFECT_NOT_SEEN, message }, shown);
    }
    case 'not_known': {
      const message = `The status ${status} is not known to this version.`;
      return say.no('unknown', 'compatibility', 'unknown_status', message, shown);
    }
  }
}

type Effect = 'done' | 'pending' | 'declined' | 'overtaken' | 'not_seen' | 'not_known';

/** What the state in a 2xx says about the step: overtaken means that the payment went another way for good. */
function effectOf(step: PaymentCall['step'], state: PaymentReading['state']): Effect {
  if (state === 'unknown') return 'not_known';
  switch (step) {
    case 'create_payment':
    case 'update_payment':
      return 'done';
    case 'confirm_payment':
      switch (state) {
        case 'captured':
        case 'authorized':
          return 'done';
        case 'processing':
        case 'awaiting_customer':
          return 'pending';
        case 'failed':
          return 'declined';
        case 'canceled':
          return 'overtaken';
        case 'created':
          return 'not_seen';
      }
    case 'capture_payment':
      if (state === 'captured') return 'done';
      if (state === 'processing') return 'pending';
      return state === 'canceled' ? 'overtaken' : 'not_seen';
    case 'cancel_payment':
      if (state === 'canceled') return 'done';
      return state === 'captured' ? 'overtaken' : 'not_seen';
    case 'create_refund':
      // A payment is no answer to a refund.
      return 'not_seen';
  }
}

function refundOutcome(call: PaymentCall, raw: unknown, say: Speaker): Outcome {
  const refund = understand(WireRefund, raw);
  if (!refund.ok) return unusable(say, refund.failure);
  const disagreement = refundDisagreement(call, refund.value);
  if (disagreement !== null) return unusable(say, { code: 'answer_disagrees', message: disagreement });
  const reading = toRefundReading(refund.value, null);
  if (!reading.ok) return unusable(say, reading.failure);
  const shown = { refund: reading.value };
  switch (reading.value.state) {
    case 'succeeded':
      return say.yes('done', shown);
    case 'pending':
    case 'requires_action':
      return say.yes('pending', shown);
    case 'failed':
    case 'canceled': {
      const { state, reason } = reading.value;
      const message = `The refund is ${state} at the provider.`;
      return say.no('rejected', 'rejected', reason ?? `refund_${state}`, message, shown);
    }
  }
}

/** Steps for which a bank's "no" concerns the customer; a refund or a void that is refused does not. */
const CUSTOMER_STEPS: ReadonlySet<PaymentCall['step']> = new Set([
  'create_payment',
  'update_payment',
  'confirm_payment',
  'capture_payment',
]);

function refusedOutcome(call: PaymentCall, fault: Fault, charge: WireCharge | null): Outcome {
  const shown = shownByError(call, fault, charge);
  const forCustomer = fault.kind !== 'declined' || CUSTOMER_STEPS.has(call.step);
  return {
    kind: forCustomer ? fault.kind : 'rejected',
    failure: forCustomer ? fault.failure : { ...fault.failure, class: 'rejected' },
    ...(fault.error.request_id !== null && { request_id: fault.error.request_id }),
    ...(fault.key_spent && { key_spent: true }),
    ...(shown !== null && { shown: { payment: shown } }),
  };
}

/**
 * The payment that an error carries counts as an observation, never as "done": the amount may differ, or a person did
 * it. Not from a stored answer (it is old), and not without the charge of captured money, which may be disputed.
 */
function shownByError(call: PaymentCall, fault: Fault, charge: WireCharge | null): PaymentReading | null {
  if (fault.error.replayed) return null;
  const payment = understand(WirePayment, fault.error.payment);
  if (!payment.ok || payment.value.id !== call.reference) return null;
  const reading: Understood<PaymentReading> = toPaymentReading(payment.value, {
    ...NOTHING_ELSE_SEEN,
    charge,
  });
  if (!reading.ok) return null;
  const chargeIsKnown = charge !== null || typeof payment.value.latest_charge !== 'string';
  return reading.value.state === 'captured' && !chargeIsKnown ? null : reading.value;
}
