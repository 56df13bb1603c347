/** The payment port over Stripe's API. */
import type Stripe from 'stripe';
import type { Outcome, Parameters } from '../../operation/attempt.js';
import type { Failure } from '../../operation/failure.js';
import type { PaymentReading, Reading, RefundReading } from '../../operation/observation.js';
import type { PaymentStep } from '../../operation/step.js';
import type { AccountIdentity, CustomerAccess, PaymentCall, PaymentPage, PaymentProvider } from '../port.js';
import { withoutTrace } from './client.js';
import { saysAbsent } from './fault.js';
import { inStableOrder, NOT_SENDABLE, prepare, type PayloadOptions } from './payload.js';
import { StripeReader, type Got } from './stripe-reader.js';
import { capturedAmount, expandedCharge, NOTHING_ELSE_SEEN, toPaymentReading } from './to-observation.js';
import { toPage } from './to-page.js';
import {
  EFFECT_NOT_SEEN,
  envelopeOf,
  isSuccess,
  paymentIn,
  toOutcome,
  type SdkAnswer,
} from './to-outcome.js';
import { customerRefunds, toRefundReading, whyIncomplete } from './to-refund.js';
import {
  understand,
  WirePayment,
  WireRefund,
  type Understood,
  type WireCharge,
  type WireDispute,
} from './wire.js';

export class StripeProvider implements PaymentProvider {
  readonly #stripe: Stripe;
  readonly #reader: StripeReader;
  readonly #options: PayloadOptions;
  /** Whether the account is live, as it said itself; null while it has not been asked or does not say. */
  #livemode: boolean | null = null;

  /** `stripe`: made by stripeClient, whose transport and timeout this class relies on. */
  constructor(stripe: Stripe, options: PayloadOptions = { automatic_methods: true }) {
    this.#stripe = stripe;
    this.#reader = new StripeReader(stripe);
    this.#options = options;
  }

  prepare(step: PaymentStep): Parameters {
    return prepare(step, this.#options);
  }

  async observe(query: {
    readonly reference: string;
    readonly refunds: boolean;
  }): Promise<Reading<PaymentReading>> {
    const payment = await this.#reader.payment(query.reference);
    if (!payment.ok) return unreadable(payment);
    const other = this.#otherThan(query.reference, payment.value);
    if (other !== null) return { kind: 'unknown', failure: other };
    const charge = await this.#charge(payment.value);
    if (!charge.ok) return unknown(charge);
    const refunds = await this.#refunds(payment.value, charge.value, query.refunds);
    if (!refunds.ok) return unknown(refunds);
    const disputes = await this.#disputes(payment.value, charge.value);
    if (!disputes.ok) return unknown(disputes);
    const reading = toPaymentReading(payment.value, {
      charge: charge.value,
      refunds: refunds.value,
      disputes: disputes.value,
    });
    return reading.ok ? { kind: 'present', value: reading.value } : unknown(reading);
  }

  async clientSecret(reference: string): Promise<Reading<CustomerAccess>> {
    const payment = await this.#reader.paymentWithSecret(reference);
    if (!payment.ok) return unreadable(payment);
    const other = this.#otherThan(reference, payment.value);
    if (other !== null) return { kind: 'unknown', failure: other };
    const reading = toPaymentReading(payment.value, NOTHING_ELSE_SEEN);
    if (!reading.ok) return unknown(reading);
    return {
      kind: 'present',
      value: { payment: reading.value, client_secret: payment.value.client_secret },
    };
  }

  /** Why an answer is not about the payment that was asked for, in the mode that the account has; or null. */
  #otherThan(reference: string, payment: WirePayment): Failure | null {
    if (payment.id !== reference) {
      const message = `The answer shows ${payment.id}, not ${reference}.`;
      return { class: 'unknown', code: 'other_object', message };
    }
    if (payment.livemode === null || this.#livemode === null || payment.livemode === this.#livemode)
      return null;
    const mode = (live: boolean): string => (live ? 'live' : 'test');
    const message = `${reference} is a ${mode(payment.livemode)} payment, the account is a ${mode(this.#livemode)} one.`;
    return { class: 'authorization', code: 'livemode_mismatch', message };
  }

  async identify(): Promise<Reading<AccountIdentity>> {
    // Together: the first orders of a worker that comes back wait for both.
    const [account, balance] = await Promise.all([this.#reader.account(), this.#reader.balance()]);
    if (!account.ok) return unknown(account);
    if (!balance.ok) return unknown(balance);
    if (account.value === null && balance.value === null) return { kind: 'absent' };
    const identity = account.value?.id ?? null;
    this.#livemode = balance.value?.livemode ?? this.#livemode;
    return { kind: 'present', value: { identity, livemode: balance.value?.livemode ?? null } };
  }

  async find(query: {
    readonly parameters: Parameters;
    readonly refunds: boolean;
    readonly created_from: string;
    readonly created_to: string;
  }): Promise<Reading<PaymentReading>> {
    const { amount, currency, metadata } = query.parameters;
    const operation = isRecord(metadata) ? metadata['operation_id'] : undefined;
    const window = { gte: toSeconds(query.created_from), lte: toSeconds(query.created_to) };
    const found = await this.#reader.created(
      window,
      (payment) =>
        operation !== undefined &&
        payment.metadata?.['operation_id'] === operation &&
        payment.amount === amount &&
        payment.currency === currency,
    );
    if (!found.ok) return unknown(found);
    return found.value === null
      ? { kind: 'absent' }
      : this.observe({ reference: found.value.id, refunds: query.refunds });
  }

  async list(query: {
    readonly created_from: string;
    readonly created_to: string;
    readonly after: string | null;
  }): Promise<Reading<PaymentPage>> {
    const window = { gte: toSeconds(query.created_from), lte: toSeconds(query.created_to) };
    const list = await this.#reader.page(window, query.after);
    if (!list.ok) return query.after !== null && namesNothing(list) ? { kind: 'absent' } : unknown(list);
    const page = toPage(list.value, query.after);
    return page.ok ? { kind: 'present', value: page.value } : unknown(page);
  }

  async apply(call: PaymentCall): Promise<Outcome> {
    const refusal = call.parameters[NOT_SENDABLE];
    if (typeof refusal === 'string') {
      return {
        kind: 'rejected',
        failure: { class: 'rejected', code: 'amount_not_expressible', message: refusal },
      };
    }
    if (call.reference === null && call.step !== 'create_payment') {
      const message = `${call.step} needs the id of a payment.`;
      return { kind: 'rejected', failure: { class: 'rejected', code: 'reference_missing', message } };
    }
    const sent = await this.#send(call);
    const replay = replayedObject(call, sent);
    if (replay === null) return toOutcome(call, sent, await this.#chargeOf(sent, sent.kind === 'thrown'));
    const current = await this.#again(call, replay);
    if (current === null) return withoutReading(toOutcome(call, sent));
    return afterReplay(toOutcome(call, current, await this.#chargeOf(current, true)));
  }

  /** Exactly one effect is asked for, under the key that was recorded for it. */
  async #send(call: PaymentCall): Promise<SdkAnswer> {
    const { paymentIntents, refunds } = this.#stripe;
    const reference = call.reference ?? '';
    const options = { idempotencyKey: call.key };
    // The parameters were made by `prepare`, perhaps by another version of it; the server is the judge of them.
    const body = inStableOrder(call.parameters);
    const send = (): Promise<unknown> => {
      switch (call.step) {
        case 'create_payment':
          // Never with confirm: the id is to be known before money can move.
          return paymentIntents.create(body as unknown as Stripe.PaymentIntentCreateParams, options);
        case 'update_payment':
          return paymentIntents.update(reference, body, options);
        case 'confirm_payment':
          return paymentIntents.confirm(reference, body, options);
        case 'capture_payment':
          return paymentIntents.capture(reference, body, options);
        case 'cancel_payment':
          return paymentIntents.cancel(reference, body, options);
        case 'create_refund':
          return refunds.create(body, options);
      }
    };
    try {
      return { kind: 'resolved', value: await withoutTrace(send) };
    } catch (error) {
      return { kind: 'thrown', error };
    }
  }

  /** The object of a replayed answer as it is now; null: it cannot be read. */
  async #again(call: PaymentCall, id: string): Promise<SdkAnswer | null> {
    try {
      const value: unknown =
        call.step === 'create_refund'
          ? await this.#stripe.refunds.retrieve(id)
          : await this.#stripe.paymentIntents.retrieve(id, { expand: ['latest_charge'] });
      return isSuccess(envelopeOf(value)) ? { kind: 'resolved', value } : null;
    } catch {
      return null;
    }
  }

  /**
   * The charge where an answer to a write leaves open what only the charge says. Money captured by the request itself
   * cannot be disputed yet; a payment that is `older` than the request may have been captured long ago.
   */
  async #chargeOf(answer: SdkAnswer, older: boolean): Promise<WireCharge | null> {
    const payment = paymentIn(answer);
    if (payment === null) return null;
    if (!older && payment.status !== 'requires_capture' && payment.amount_received !== null) return null;
    const charge = await this.#charge(payment);
    return charge.ok ? charge.value : null;
  }

  /** Read by itself where the payment only names it. Null: there is none, or the server does not offer it. */
  async #charge(payment: WirePayment): Promise<Got<WireCharge | null>> {
    if (typeof payment.latest_charge !== 'string') return { ok: true, value: expandedCharge(payment) };
    return carriesFacts(payment) ? this.#reader.charge(payment.latest_charge) : { ok: true, value: null };
  }

  /** Null when nothing shows any and nobody asked. */
  async #refunds(
    payment: WirePayment,
    charge: WireCharge | null,
    asked: boolean,
  ): Promise<Got<RefundReading[] | null>> {
    const captured = capturedAmount(payment, charge);
    const mayHaveSome =
      charge === null ? (captured ?? 0) > 0 : (charge.amount_refunded ?? 0) > 0 || charge.refunded === true;
    if (!asked && !mayHaveSome) return { ok: true, value: null };
    const wire = await this.#reader.refunds(payment.id, charge?.id ?? null);
    if (!wire.ok) return wire;
    const failure = whyIncomplete(wire.value, charge, captured);
    if (failure !== null) return { ok: false, failure, fault: null };
    const given = customerRefunds(wire.value, { authorized: charge?.amount ?? payment.amount, captured });
    const readings: RefundReading[] = [];
    for (const refund of given) {
      const reading: Understood<RefundReading> = toRefundReading(refund, payment.currency.toUpperCase());
      if (!reading.ok) return { ...reading, fault: null };
      readings.push(reading.value);
    }
    return { ok: true, value: readings };
  }

  /** The charge only says that there was a dispute once; how it stands, the disputes say. */
  async #disputes(payment: WirePayment, charge: WireCharge | null): Promise<Got<WireDispute[] | null>> {
    return charge?.disputed === true ? this.#reader.disputes(payment.id) : { ok: true, value: null };
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** Stripe counts whole seconds. */
const toSeconds = (time: string): number => Math.floor(Date.parse(time) / 1000);

const unreadable = (got: Extract<Got<unknown>, { ok: false }>) =>
  got.fault !== null && saysAbsent(got.fault) ? ({ kind: 'absent' } as const) : unknown(got);

/** An id in a parameter is answered with a 400, unlike one in the path. */
const namesNothing = ({ failure }: { readonly failure: Failure }): boolean =>
  failure.class === 'authorization' && failure.code === 'resource_missing';

const unknown = ({ failure }: { readonly failure: Failure }) => ({ kind: 'unknown', failure }) as const;

/** Only held or captured money has facts of its own: how long it is held, how much was taken, whether it is disputed. */
const carriesFacts = (payment: WirePayment): boolean =>
  payment.status === 'requires_capture' || payment.status === 'succeeded';

/**
 * Id of the object in a replayed 2xx. A replay repeats the answer to the first execution, which may be hours old: a
 * refund that "succeeded" there can have failed since. So the object is read again, but for a created payment: what
 * counts there is its id, and nobody can have acted on it before that was known.
 */
function replayedObject(call: PaymentCall, answer: SdkAnswer): string | null {
  if (answer.kind === 'thrown' || call.step === 'create_payment') return null;
  const envelope = envelopeOf(answer.value);
  if (!isSuccess(envelope) || !envelope.replayed) return null;
  const object = call.step === 'create_refund' ? WireRefund : WirePayment;
  const understood = understand<{ readonly id: string }>(object, answer.value);
  return understood.ok ? understood.value.id : null;
}

/** It was answered under this key, and what it did is undone: the key gives the old answer and no other. */
const afterReplay = (outcome: Outcome): Outcome =>
  outcome.kind === 'unknown' && outcome.failure.code === EFFECT_NOT_SEEN
    ? { ...outcome, key_spent: true }
    : outcome;

/** An old snapshot is no observation. */
function withoutReading(outcome: Outcome): Outcome {
  const { shown: _stale, ...rest } = outcome;
  return rest;
}
