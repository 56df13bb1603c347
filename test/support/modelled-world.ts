/**
 * A small, strict model of the payment provider and the warehouse, for properties of the pure core. No I/O and no
 * clock of its own. It keeps the rules that real ones keep (states, idempotency keys, one capture, refunds within what
 * was captured) and writes down what must never happen, whoever asked for it.
 */
import type { Outcome } from '../../src/operation/attempt.js';
import type { Failure, FailureClass } from '../../src/operation/failure.js';
import type {
  DisputeReading,
  DisputeState,
  PaymentReading,
  RefundReading,
  ReservationReading,
} from '../../src/operation/observation.js';
import type { Line } from '../../src/operation/spec.js';
import {
  isInventoryStep,
  type InventoryStep,
  type PaymentStep,
  type Step,
} from '../../src/operation/step.js';

/** What happens to one request. `late`: no answer, and it arrives after others that were sent later. */
export const FAULTS = [
  'none',
  'not_sent',
  'throttled',
  'refused_key',
  'lost_before',
  'lost_after',
  'stored_500_before',
  'stored_500_after',
  'late',
] as const;
export type Fault = (typeof FAULTS)[number];

/** What the customer's bank does with each of our test methods. */
export const METHODS = ['pm_pays', 'pm_declines', 'pm_asks', 'pm_slow', 'pm_unknown'] as const;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
export type ModelRefund = Mutable<RefundReading>;
export interface ModelDispute extends Mutable<DisputeReading> {
  /** The provider lets nothing be refunded because of it. */
  bars: boolean;
}
export interface ModelPayment extends Mutable<
  Omit<PaymentReading, 'refunds' | 'disputes' | 'disputed' | 'lost'>
> {
  refunds: ModelRefund[];
  disputes: ModelDispute[];
  /** Its money was held or taken at some time. */
  had_money: boolean;
  /** The bank was asked once: only such a payment can be paid after it was canceled. */
  was_confirmed: boolean;
  /** It lives again after it was canceled, which nobody could know before reading it. */
  revived: boolean;
  /** A person asked for another in its place; what becomes of it from then on is for the two-sided sweep. */
  former: boolean;
  created: number;
}

const KEY_LIFE_MS = 24 * 60 * 60 * 1000;
const WINDOW_MS = 2 * 60 * 1000;
const TIMEOUT: Failure = { class: 'unknown', code: 'timeout', message: 'No answer came.' };
const given = ({ state }: RefundReading): boolean => state !== 'failed' && state !== 'canceled';

const no = (
  kind: 'declined' | 'rejected',
  cls: FailureClass,
  code: string,
  rest: Partial<Outcome> = {},
): Outcome => ({ kind, failure: { class: cls, code, message: code }, ...rest });

export class ModelledWorld {
  readonly payments: ModelPayment[] = [];
  readonly stock = { state: 'none' as ReservationReading['state'] | 'none', lines: [] as readonly Line[] };
  available = 10;
  shipped = false;
  /** How often reserved goods went back. */
  releases = 0;
  /** Requests that were carried out or refused; readings are none. */
  requests = 0;
  /** What came back by refunds that failed after all, or by payments that were canceled; nobody could know it before. */
  bounced = 0;
  /** Doings of others; a status is judged by the world only while this stands still. */
  outside = 0;
  /** The key may not list disputes: a charge only says that it was disputed once. */
  hides_disputes = false;
  /** How often a person asked for a refund to be made once more, by its id. */
  readonly resends = new Map<string, number>();
  readonly violations: string[] = [];
  readonly #answers = new Map<string, { bytes: string; answer: Outcome; at: number }>();
  readonly #late: { due: number; arrive: () => void }[] = [];

  constructor(public now: number) {}

  /** The same world once more, for another continuation. Requests that are on their way cannot be copied. */
  copy(): ModelledWorld {
    if (this.#late.length > 0) throw new Error('a request is on its way');
    const world = new ModelledWorld(this.now);
    for (const payment of this.payments) {
      world.payments.push({
        ...payment,
        refunds: payment.refunds.map((refund) => ({ ...refund })),
        disputes: payment.disputes.map((dispute) => ({ ...dispute })),
      });
    }
    Object.assign(world.stock, this.stock);
    const { available, shipped, releases, requests, bounced, outside, hides_disputes } = this;
    Object.assign(world, { available, shipped, releases, requests, bounced, outside, hides_disputes });
    for (const [refundId, times] of this.resends) world.resends.set(refundId, times);
    world.violations.push(...this.violations);
    for (const [key, answer] of this.#answers) world.#answers.set(key, answer);
    return world;
  }

  // Reading

  payment(reference: string): ModelPayment | undefined {
    return this.payments.find((payment) => payment.reference === reference);
  }

  read(reference: string, refunds: boolean): PaymentReading | null {
    const payment = this.payment(reference);
    return payment === undefined ? null : this.#reading(payment, refunds || payment.refunds.length > 0);
  }

  /** A payment that carries our name and was made about then. */
  find(operationId: string, about: readonly number[], refunds = false): PaymentReading | null {
    const [from, to] = [Math.min(...about) - WINDOW_MS, Math.max(...about) + WINDOW_MS];
    const found = this.payments.find(
      ({ operation_id, created }) => operation_id === operationId && created >= from && created <= to,
    );
    return found === undefined ? null : this.#reading(found, refunds || found.refunds.length > 0);
  }

  #reading(payment: ModelPayment, refunds: boolean): PaymentReading {
    const seen = reading(payment, refunds);
    if (!this.hides_disputes || payment.disputes.length === 0) return seen;
    const { lost: _lost, ...rest } = seen;
    return { ...rest, disputed: true, disputes: [] };
  }

  readStock(): ReservationReading | null {
    const { state, lines } = this.stock;
    return state === 'none' ? null : { state, lines };
  }

  /** Money that is kept from the customer: captured, neither given back nor taken back by the bank. */
  held(): number {
    return this.payments.reduce((sum, payment) => sum + heldOn(payment), 0);
  }

  /** Payments by which money can arrive without any further request of ours. */
  alive(): ModelPayment[] {
    const moving = new Set(['awaiting_customer', 'processing', 'authorized']);
    return this.payments.filter((payment) => moving.has(payment.state));
  }

  // Time

  pass(ms: number): void {
    const until = this.now + ms;
    // All take the same time on the wire, so they arrive in the order in which they were sent.
    while (this.#late[0] !== undefined && this.#late[0].due <= until) {
      const request = this.#late.shift();
      this.now = request?.due ?? this.now;
      request?.arrive();
    }
    this.now = until;
  }

  // Writing

  send(step: Step, key: string, fault: Fault): Outcome {
    const bytes = JSON.stringify(step);
    const arrive = (): Outcome =>
      isInventoryStep(step) ? this.#warehouse(step) : this.#once(key, bytes, () => this.#provider(step));
    switch (fault) {
      case 'none':
        return arrive();
      case 'not_sent':
        return {
          kind: 'not_sent',
          failure: { class: 'transient', code: 'not_connected', message: 'refused' },
        };
      case 'throttled':
        return {
          kind: 'not_sent',
          failure: { class: 'throttled', code: 'rate_limit', message: 'slow down', retry_after_ms: 5_000 },
        };
      case 'refused_key':
        return no('rejected', 'authorization', 'api_key_expired');
      case 'lost_before':
        break;
      case 'lost_after':
        arrive();
        break;
      case 'stored_500_before':
      case 'stored_500_after': {
        if (isInventoryStep(step)) {
          if (fault === 'stored_500_after') arrive();
          break;
        }
        const kept = this.#kept(key);
        if (kept !== undefined) return arrive();
        if (fault === 'stored_500_after') this.#provider(step);
        const answer: Outcome = { kind: 'unknown', failure: { ...TIMEOUT, code: 'http_500' } };
        this.#answers.set(key, { bytes, answer, at: this.now });
        return answer;
      }
      case 'late':
        this.#late.push({ due: this.now + 30 * 60_000, arrive });
    }
    return { kind: 'unknown', failure: TIMEOUT };
  }

  #kept(key: string) {
    const kept = this.#answers.get(key);
    return kept !== undefined && this.now - kept.at <= KEY_LIFE_MS ? kept : undefined;
  }

  /** Idempotency: the first answer is kept, whatever it was. */
  #once(key: string, bytes: string, work: () => Outcome): Outcome {
    const kept = this.#kept(key);
    if (kept === undefined) {
      const answer = work();
      this.#answers.set(key, { bytes, answer, at: this.now });
      return answer;
    }
    if (kept.bytes !== bytes) return no('rejected', 'rejected', 'idempotency_mismatch');
    const { answer } = kept;
    if (answer.kind === 'unknown') return { ...answer, key_spent: true };
    if (answer.kind !== 'done' && answer.kind !== 'pending') {
      const { shown: _old, ...rest } = answer;
      return rest;
    }
    // A replay is old: the object is read again. What it shows now decides.
    const { shown } = answer;
    const payment = shown?.payment === undefined ? undefined : this.payment(shown.payment.reference);
    if (payment !== undefined && (JSON.parse(bytes) as Step).name !== 'create_payment') {
      return stands(JSON.parse(bytes) as PaymentStep, payment);
    }
    const refund = this.payments
      .flatMap(({ refunds }) => refunds)
      .find((one) => one.reference === shown?.refund?.reference);
    if (refund === undefined) return answer;
    return given(refund)
      ? { ...answer, shown: { refund: { ...refund } } }
      : no('rejected', 'rejected', 'refund_failed', { key_spent: true, shown: { refund: { ...refund } } });
  }

  #provider(step: PaymentStep): Outcome {
    this.requests += 1;
    if (step.name === 'create_payment') {
      const payment = this.open({
        operation_id: step.operation_id,
        amount: step.amount,
        currency: step.currency,
        capture: step.capture,
        payment_method: step.payment_method,
      });
      return { kind: 'done', shown: { payment: reading(payment, false) } };
    }
    const payment = this.payment(step.reference);
    if (payment === undefined) return no('rejected', 'authorization', 'resource_missing');
    const wrongState = (): Outcome =>
      no('rejected', 'conflict', 'payment_intent_unexpected_state', {
        key_spent: true,
        shown: { payment: reading(payment, false) },
      });
    const { state } = payment;
    const open = state === 'created' || state === 'failed' || state === 'awaiting_customer';
    switch (step.name) {
      case 'update_payment':
        if (!open) return wrongState();
        payment.amount = step.amount ?? payment.amount;
        payment.capture = step.capture ?? payment.capture;
        return stands(step, payment);
      case 'confirm_payment': {
        if (!open) return wrongState();
        const method = step.payment_method ?? payment.payment_method;
        if (method === 'pm_unknown' || method === null) {
          return no('rejected', 'rejected', 'resource_missing', { key_spent: true });
        }
        payment.payment_method = method;
        payment.was_confirmed = true;
        if (method === 'pm_declines') {
          this.decline(payment);
          return no('declined', 'declined', 'card_declined', {
            key_spent: true,
            shown: { payment: reading(payment, false) },
          });
        }
        if (method === 'pm_asks') payment.state = 'awaiting_customer';
        else if (method === 'pm_slow') payment.state = 'processing';
        else this.approve(payment);
        return stands(step, payment);
      }
      case 'capture_payment':
        if (state !== 'authorized') return wrongState();
        if (step.amount > payment.authorized) {
          return no('rejected', 'rejected', 'amount_too_large', { key_spent: true });
        }
        this.take(payment, step.whole ? payment.authorized : step.amount);
        return stands(step, payment);
      case 'cancel_payment':
        if (!open && state !== 'authorized') return wrongState();
        payment.state = 'canceled';
        payment.authorized = 0;
        payment.canceled_because = 'requested_by_customer';
        return stands(step, payment);
      case 'create_refund': {
        if (isBarred(payment)) return no('rejected', 'rejected', 'charge_disputed', { key_spent: true });
        if (state !== 'captured' || step.amount > heldOn(payment)) {
          return no('rejected', 'rejected', 'amount_too_large', { key_spent: true });
        }
        const before = payment.refunds.filter((one) => one.refund_id === step.refund_id);
        if (before.some(given) || before.length > (this.resends.get(step.refund_id) ?? 0)) {
          this.violations.push(`refund ${step.refund_id} was made twice`);
        }
        const refund = this.refund(payment, step.amount, step.refund_id, step.operation_id);
        return { kind: 'pending', shown: { refund: { ...refund } } };
      }
    }
  }

  #warehouse(step: InventoryStep): Outcome {
    this.requests += 1;
    const { stock } = this;
    const conflict = (code: string): Outcome => {
      const shown = this.readStock();
      return no('rejected', 'conflict', code, shown === null ? {} : { shown: { reservation: shown } });
    };
    const done = (): Outcome => ({
      kind: 'done',
      shown: { reservation: { ...stock } as ReservationReading },
    });
    switch (step.name) {
      case 'reserve_inventory': {
        if (stock.state === 'released') return conflict('reservation_released');
        const same = JSON.stringify(stock.lines) === JSON.stringify(step.lines);
        if (stock.state !== 'none' && same) return done();
        if (stock.state === 'committed') return conflict('reservation_committed');
        if (step.lines.some(({ quantity }) => quantity > this.available)) {
          return no('declined', 'declined', 'insufficient_stock', {
            shown: { reservation: { state: 'insufficient', lines: null } },
          });
        }
        stock.state = 'reserved';
        stock.lines = step.lines;
        return done();
      }
      case 'commit_inventory':
        if (stock.state === 'none') return conflict('reservation_missing');
        if (stock.state === 'released') return conflict('commit_refused');
        if (stock.state === 'reserved' && this.payments.every(({ captured }) => captured === 0)) {
          this.violations.push('goods were given away unpaid');
        }
        stock.state = 'committed';
        return done();
      case 'release_inventory':
        if (this.shipped) return conflict('goods_gone');
        if (stock.state === 'reserved' || stock.state === 'committed') {
          this.releases += 1;
          if (this.alive().some(({ revived }) => !revived))
            this.violations.push('stock was released while money could arrive');
          if (this.held() > this.bounced) this.violations.push('stock was released while money was kept');
        }
        stock.state = 'released';
        return done();
    }
  }

  // What the customer, the bank, people with a dashboard and the warehouse's staff do

  open(made: Pick<PaymentReading, 'operation_id' | 'amount' | 'currency' | 'capture' | 'payment_method'>) {
    const payment: ModelPayment = {
      ...made,
      reference: `pi_${this.payments.length + 1}`,
      state: 'created',
      provider_status: 'modelled',
      authorized: 0,
      captured: 0,
      refunds: [],
      disputes: [],
      capture_before: null,
      next_action: null,
      last_error: null,
      canceled_because: null,
      livemode: false,
      had_money: false,
      was_confirmed: false,
      revived: false,
      former: false,
      created: this.now,
    };
    this.payments.push(payment);
    return payment;
  }

  approve(payment: ModelPayment): void {
    payment.state = 'authorized';
    payment.authorized = payment.amount;
    payment.had_money = true;
    // One that was let go again may be followed by another, which a person asks for.
    if (this.payments.filter((one) => one.had_money && one.state !== 'canceled').length > 1) {
      this.violations.push('two payments took money for one order');
    }
    if (payment.capture === 'automatic') this.take(payment, payment.amount);
  }

  decline(payment: ModelPayment): void {
    payment.state = 'failed';
    payment.last_error = { code: 'card_declined', message: 'declined' };
  }

  take(payment: ModelPayment, amount: number): void {
    if (amount > payment.authorized) this.violations.push('more was captured than authorized');
    payment.state = 'captured';
    payment.captured = amount;
    payment.authorized = 0;
  }

  lapse(payment: ModelPayment): void {
    payment.state = 'canceled';
    payment.authorized = 0;
    payment.canceled_because = 'expired';
  }

  /**
   * A chargeback withdraws at once and stops the refunds that are on their way; an inquiry does neither. `bars`: the
   * provider lets nothing be refunded meanwhile, else what is not withdrawn.
   */
  dispute(payment: ModelPayment, amount: number, state: 'inquiry' | 'open', bars = true): void {
    const reference = `du_${payment.disputes.length + 1}`;
    payment.disputes.push({ reference, amount, state: 'inquiry', bars: false });
    if (state === 'open') this.escalate(payment, bars);
  }

  escalate(payment: ModelPayment, bars = true): void {
    const dispute = payment.disputes.find(({ state }) => state === 'inquiry');
    if (dispute === undefined) return;
    dispute.state = 'open';
    dispute.bars = bars;
    for (const refund of payment.refunds) {
      if (refund.state === 'pending') this.bounce(refund);
    }
  }

  /** What was decided is decided otherwise: the bank gives back what it took, or takes what it had left. */
  appeal(payment: ModelPayment): void {
    const dispute = payment.disputes.findLast(({ state }) => state === 'won' || state === 'lost');
    if (dispute === undefined) return;
    const before = heldOn(payment);
    dispute.state = dispute.state === 'won' ? 'open' : 'won';
    dispute.bars = dispute.state === 'open';
    this.bounced += Math.max(0, heldOn(payment) - before);
  }

  /** `bars`: the provider lets nothing be refunded afterwards either. */
  decide(payment: ModelPayment, state: 'won' | 'lost', bars: boolean): void {
    for (const dispute of payment.disputes) {
      if (dispute.state === 'inquiry' && state === 'won') dispute.state = 'won';
      if (dispute.state !== 'open') continue;
      dispute.state = state;
      dispute.bars = bars;
    }
  }

  bounce(refund: ModelRefund, state: 'failed' | 'canceled' = 'failed'): void {
    refund.state = state;
    this.bounced += refund.amount;
  }

  refund(
    payment: ModelPayment,
    amount: number,
    refundId: string | null,
    operationId: string | null,
  ): ModelRefund {
    const all = this.payments.reduce((sum, { refunds }) => sum + refunds.length, 0);
    const refund: ModelRefund = {
      reference: `re_${all + 1}`,
      refund_id: refundId,
      operation_id: operationId,
      amount,
      state: 'pending',
      reason: null,
    };
    payment.refunds.push(refund);
    return refund;
  }
}

const amountOf = (payment: ModelPayment, state: DisputeState): number =>
  payment.disputes.filter((one) => one.state === state).reduce((sum, { amount }) => sum + amount, 0);
/** Of what is held, what a chargeback has withdrawn until it is decided. */
export const withdrawnOf = (payment: ModelPayment): number => amountOf(payment, 'open');
export const isBarred = ({ disputes }: ModelPayment): boolean => disputes.some(({ bars }) => bars);
export const isUndecided = ({ disputes }: ModelPayment): boolean =>
  disputes.some(({ state }) => state === 'open' || state === 'inquiry');

export const heldOn = (payment: ModelPayment): number =>
  Math.max(
    0,
    payment.captured -
      amountOf(payment, 'lost') -
      payment.refunds.filter(given).reduce((sum, { amount }) => sum + amount, 0),
  );

function reading(payment: ModelPayment, refunds: boolean): PaymentReading {
  const {
    had_money: _had,
    was_confirmed: _was,
    revived: _again,
    former: _former,
    created: _at,
    disputes,
    ...seen
  } = payment;
  const lost = amountOf(payment, 'lost');
  return {
    ...seen,
    refunds: refunds ? payment.refunds.map((refund) => ({ ...refund })) : null,
    disputed: isBarred(payment),
    ...(lost > 0 && { lost }),
    ...(disputes.length > 0 && { disputes: disputes.map(({ bars: _bars, ...dispute }) => dispute) }),
  };
}

/** What an answer that shows the payment as it is says about the step. */
function stands(step: PaymentStep, payment: ModelPayment): Outcome {
  const shown = { payment: reading(payment, false) };
  const { state } = payment;
  const overtaken = no('rejected', 'conflict', `payment_${state}`, { key_spent: true, shown });
  switch (step.name) {
    case 'confirm_payment':
      if (state === 'failed') return no('declined', 'declined', 'card_declined', { key_spent: true, shown });
      if (state === 'canceled') return overtaken;
      return { kind: state === 'captured' || state === 'authorized' ? 'done' : 'pending', shown };
    case 'capture_payment':
      return state === 'captured' ? { kind: 'done', shown } : overtaken;
    case 'cancel_payment':
      return state === 'canceled' ? { kind: 'done', shown } : overtaken;
    case 'create_payment':
    case 'update_payment':
    case 'create_refund':
      return { kind: 'done', shown };
  }
}
