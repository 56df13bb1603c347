/** What a caller's request does to the wish. Pure: the record as it was read, the request, the time → the outcome. */
import { isCurrent } from './budget.js';
import { goalOf, type Goal } from './goal.js';
import { sameJson } from './json.js';
import { formatMoney } from './money.js';
import type { Operation, Policy, Wish } from './operation.js';
import type { PaymentState } from './observation.js';
import type { InputProblem } from './pointer.js';
import { refundTotals } from './refund.js';
import type { RefundRequest, Spec } from './spec.js';

/** Who asks, when, and under which numbers. */
export interface Asking {
  readonly by: string;
  readonly now: Date;
  readonly policy: Policy;
}

export type RefusalCode =
  | 'invalid_request'
  | 'refund_conflict'
  | 'payment_alive'
  | 'command_not_available'
  | 'amount_not_refundable'
  | 'amount_not_capturable'
  | 'spec_member_immutable';

export interface Refused {
  readonly kind: 'refused';
  readonly code: RefusalCode;
  readonly detail: string;
  readonly pointers?: readonly InputProblem[];
}

/** For the timeline; the actor is added by the caller. */
export interface ChangeEvent {
  readonly type: string;
  readonly message: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

export interface Changed {
  readonly kind: 'changed';
  readonly wish: Wish;
  /** True when the spec is another one: the generation rises. */
  readonly spec_changed: boolean;
  readonly event: ChangeEvent;
}

/** `unchanged`: the request was carried out before, or asks for what is wanted already. */
export type Change = Changed | { readonly kind: 'unchanged' } | Refused;

export const UNCHANGED: Change = { kind: 'unchanged' };
export const refused = (code: RefusalCode, detail: string, pointers?: readonly InputProblem[]): Refused =>
  pointers === undefined ? { kind: 'refused', code, detail } : { kind: 'refused', code, detail, pointers };

/** Two specs are the same wish: member order aside. Both as the schema returns them, with defaults. */
export const sameSpec = (a: Spec, b: Spec): boolean => sameJson(a, b);

/** Why nothing but cancellation can be asked of an order that is being given up, or null. */
export function givenUp(
  operation: Operation,
  { now, policy }: Pick<Asking, 'now' | 'policy'>,
): string | null {
  const goal = goalOf(operation, now, policy);
  return goal.kind === 'clear' ? GIVEN_UP[goal.why] : null;
}
const GIVEN_UP: Readonly<Record<Extract<Goal, { kind: 'clear' }>['why'], string>> = {
  Cancelling: 'Cancellation was requested, which cannot be undone.',
  OutOfStock: 'The order is rejected: it is out of stock.',
  PaymentDeadlinePassed: 'The order is rejected: its payment deadline has passed.',
};

/** A second request is the first one: who asked first, when and why, stays. Also for settled orders. */
export function requestCancellation(operation: Operation, reason: string | null, asking: Asking): Change {
  const { wish } = operation;
  if (wish.cancellation !== null) return UNCHANGED;
  return {
    kind: 'changed',
    wish: {
      ...wish,
      spec: { ...wish.spec, desired: 'cancelled' },
      cancellation: { requested_at: asking.now.toISOString(), by: asking.by, reason },
    },
    spec_changed: true,
    event: {
      type: 'cancellation_requested',
      message: 'Cancellation was requested.',
      ...(reason === null ? {} : { data: { reason } }),
    },
  };
}

/** What a caller may still give back, in minor units: nothing while a dispute holds the money. */
export const refundable = (operation: Operation): number =>
  operation.facts.payment.disputed ? 0 : refundTotals(operation).refundable;

/** As many as the spec's schema holds. */
const MOST_REFUNDS = 100;

/** The same refund again is unchanged, whatever became of it: a failed one is repeated by a person's command only. */
export function requestRefund(operation: Operation, request: RefundRequest): Change {
  const { wish, facts } = operation;
  const { currency } = wish.spec.amount;
  const known = wish.spec.refunds.find(({ refund_id }) => refund_id === request.refund_id);
  if (known !== undefined) {
    return known.amount === request.amount
      ? UNCHANGED
      : refused('refund_conflict', `This refund exists with ${formatMoney(known.amount, currency)}.`);
  }
  if (wish.cancellation !== null) {
    return refused('amount_not_refundable', 'Cancellation was requested: it gives back all money by itself.');
  }
  if (facts.payment.disputed) {
    return refused(
      'amount_not_refundable',
      'The payment is disputed; the provider decides about this money.',
    );
  }
  if (wish.spec.refunds.length >= MOST_REFUNDS) {
    return refused('amount_not_refundable', `An order holds at most ${MOST_REFUNDS} refunds.`);
  }
  const limit = refundable(operation);
  if (request.amount > limit) {
    return refused(
      'amount_not_refundable',
      `${formatMoney(request.amount, currency)} is asked for, ${formatMoney(limit, currency)} can be refunded: ` +
        'what is captured, minus refunds that have not failed.',
    );
  }
  return {
    kind: 'changed',
    wish: { ...wish, spec: { ...wish.spec, refunds: [...wish.spec.refunds, request] } },
    spec_changed: true,
    event: {
      type: 'refund_requested',
      message: `A refund of ${formatMoney(request.amount, currency)} was requested.`,
      data: { ...request },
    },
  };
}

/** What one capture could take now, in minor units, or why none is possible. `spec`: as it will be. */
export function capturable(operation: Operation, spec: Spec, asking: Asking): number | string {
  const { payment } = operation.facts;
  const gone = givenUp(operation, asking);
  if (gone !== null) return gone;
  if (spec.payment.capture !== 'manual') return 'The payment is captured by itself (capture: automatic).';
  if (payment.state === 'captured') return 'The payment is captured; a provider captures once.';
  if (payment.state !== 'authorized') return 'The payment is not authorized.';
  return Math.min(payment.authorized, spec.amount.value);
}

/**
 * `amount` undefined: the whole. A payment is captured once, so the first request stays and the same one again is
 * unchanged. An order that wanted the authorization only wants to be fulfilled from now on: else the request would
 * have no effect.
 */
export function requestCapture(operation: Operation, amount: number | undefined, asking: Asking): Change {
  const { wish } = operation;
  const { spec } = wish;
  const { currency } = spec.amount;
  const wanted = amount ?? spec.amount.value;
  const asked = spec.payment.capture_amount;
  if (asked !== null) {
    return asked === wanted
      ? UNCHANGED
      : refused(
          'amount_not_capturable',
          `A capture of ${formatMoney(asked, currency)} was asked for; there is one only.`,
        );
  }
  const limit = capturable(operation, spec, asking);
  if (typeof limit === 'string') return refused('amount_not_capturable', limit);
  if (wanted > limit) {
    const text = `${formatMoney(wanted, currency)} is asked for, ${formatMoney(limit, currency)} can be captured.`;
    return refused('amount_not_capturable', text);
  }
  return {
    kind: 'changed',
    wish: {
      ...wish,
      spec: { ...spec, desired: 'fulfilled', payment: { ...spec.payment, capture_amount: wanted } },
    },
    spec_changed: true,
    event: {
      type: 'capture_requested',
      message: `A capture of ${formatMoney(wanted, currency)} was requested.`,
      data: { amount: wanted },
    },
  };
}

/**
 * The customer tries again. A double click is one try: while the wanted confirmation is not answered yet, the same
 * request is unchanged and another method is refused, since the try under way may succeed.
 */
export function tryPaymentAgain(
  operation: Operation,
  paymentMethod: string | undefined,
  asking: Asking,
): Change {
  const { wish, facts } = operation;
  const { payment } = facts;
  const gone = givenUp(operation, asking);
  if (gone !== null) return refused('command_not_available', gone);
  if (payment.state === 'canceled') {
    return refused(
      'command_not_available',
      'The payment is canceled at the provider: support can ask for a new one.',
    );
  }
  if (isRefusedAsItStands(operation)) return correctMethod(operation, paymentMethod);
  // Declined by the answer, at a provider that does not keep the decline on the payment.
  const declined = payment.state === 'created' && payment.answered_confirmation >= wish.confirmation;
  if (payment.state !== 'failed' && payment.state !== 'awaiting_customer' && !declined) {
    return refused(
      'payment_alive',
      `The payment is ${ALIVE[payment.state]}; a second try could take money twice.`,
    );
  }
  if (wish.spec.payment.reference !== null) {
    return refused('command_not_available', 'The front end made this payment and confirms it.');
  }
  const method = paymentMethod ?? wish.spec.payment.payment_method;
  const methodChanges = method !== wish.spec.payment.payment_method;
  if (wish.confirmation > payment.answered_confirmation) {
    return methodChanges
      ? refused('payment_alive', 'A confirmation with another method is under way.')
      : UNCHANGED;
  }
  return {
    kind: 'changed',
    wish: {
      ...wish,
      confirmation: wish.confirmation + 1,
      spec: methodChanges
        ? { ...wish.spec, payment: { ...wish.spec.payment, payment_method: method } }
        : wish.spec,
    },
    spec_changed: methodChanges,
    event: {
      type: 'payment_retry_requested',
      message: methodChanges ? 'The customer tries again with another method.' : 'The customer tries again.',
      data: { confirmation: wish.confirmation + 1 },
    },
  };
}

/** States in which a payment can still be asked for. */
const ASKABLE: ReadonlySet<PaymentState> = new Set(['none', 'created', 'failed', 'awaiting_customer']);

/** The provider refused to take the method at all (unknown to it, used up), so no try is under way and none was made. */
function isRefusedAsItStands(operation: Operation): boolean {
  const { facts, wish } = operation;
  const { budget, unresolved, payment } = facts;
  return (
    unresolved === null &&
    budget.rejections > 0 &&
    isCurrent(operation, budget) &&
    ASKABLE.has(payment.state) &&
    wish.spec.payment.reference === null &&
    (budget.step === 'create_payment' ||
      (budget.step === 'confirm_payment' && wish.confirmation > payment.answered_confirmation))
  );
}

/** The wish that could not be carried out, with another method: it was not confirmed, so it is not another try. */
function correctMethod({ wish, facts }: Operation, method: string | undefined): Change {
  if (method === undefined || method === wish.spec.payment.payment_method) {
    const why = facts.budget.refusal?.message ?? facts.failure?.message ?? '';
    return refused('command_not_available', `The provider refuses this method, another is needed: ${why}`);
  }
  return {
    kind: 'changed',
    wish: { ...wish, spec: { ...wish.spec, payment: { ...wish.spec.payment, payment_method: method } } },
    spec_changed: true,
    event: {
      type: 'payment_retry_requested',
      message: 'The customer tries again with another method.',
      data: { confirmation: wish.confirmation },
    },
  };
}

const ALIVE = {
  none: 'being made',
  created: 'being confirmed',
  processing: 'in process',
  authorized: 'authorized',
  captured: 'captured',
  unknown: 'in a state that is not known',
} as const;
