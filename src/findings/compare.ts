/** The two sides compared: payments as seen, and the operations that could have to do with them. Pure and total. */
import { EFFECT_KEY_LIFE_MS, openAttempts, type Attempt, type Parameters } from '../operation/attempt.js';
import { formatMoney } from '../operation/money.js';
import type { PaymentReading } from '../operation/observation.js';
import type { Operation } from '../operation/operation.js';
import { isGiven } from '../operation/refund.js';
import type { Draft, FindingCommand, FindingKind, RecordedSide, SeenPayment } from './finding.js';
import { couldAdopt, isClosed, Sides } from './sides.js';

export interface Rules {
  readonly account: string;
  /** Only this service uses the account, so a payment without our mark is one that lost its order. */
  readonly exclusive: boolean;
  /** A payment younger than this may still get its operation, or its place in one. */
  readonly grace_ms: number;
}

/** Money of one currency that both sides hold, net of refunds. Minor units. */
export type Totals = Readonly<Record<string, { readonly provider: number; readonly recorded: number }>>;

export interface Comparison {
  /** At most one for each payment. */
  readonly drafts: readonly Draft[];
  readonly totals: Totals;
}

/**
 * `records`: every operation that has one of these payments as its own, was told to adopt it, or is named in its metadata.
 * Without refunds listed one by one, and without the journals of creations, what comes out are suspicions: a look at the
 * one payment decides.
 */
export function compare(
  payments: readonly SeenPayment[],
  records: readonly RecordedSide[],
  rules: Rules,
): Comparison {
  const sides = new Sides(records, rules.account);
  const drafts: Draft[] = [];
  const totals: Record<string, { provider: number; recorded: number }> = {};
  for (const seen of payments) {
    const { reference, currency, operation_id } = seen.payment;
    const own = sides.owner(reference);
    const draft = own === null ? judgeOther(seen, sides, rules) : judgeOwn(seen, own, rules);
    if (draft !== null) drafts.push(draft);
    if (own === null && operation_id === null && draft === null) continue;
    const total = (totals[currency] ??= { provider: 0, recorded: 0 });
    const recorded = own === null ? { captured: 0, given: 0 } : recordedMoney(own.operation);
    total.provider += seen.payment.captured - (givenOf(seen) ?? recorded.given);
    total.recorded += recorded.captured - recorded.given;
  }
  return { drafts, totals };
}

/** A payment that an operation has recorded as its own. */
function judgeOwn(seen: SeenPayment, own: RecordedSide, rules: Rules): Draft | null {
  const { payment } = seen;
  const { operation } = own;
  // What is under way settles by itself, and what does not becomes attention.
  if (own.task !== null || operation.facts.unresolved !== null) return null;
  const waits_for = {
    operation_id: operation.operation_id,
    observed_at: operation.facts.payment.observed_at,
  };
  const recorded = recordedMoney(operation);
  const given = givenOf(seen);
  const held = Math.max(0, payment.captured - (payment.lost ?? 0) - (given ?? recorded.given));
  const left = held + payment.authorized;
  if (isClosed(operation) && left > 0) {
    const message = `The order is ${operation.status.phase} and ${formatMoney(left, payment.currency)} of it is still at the provider.`;
    return draft('money_left', seen, own, rules, { amount: left, message, waits_for });
  }
  const apart = Math.max(
    Math.abs(payment.captured - recorded.captured),
    given === null ? 0 : Math.abs(given - recorded.given),
  );
  if (apart === 0) return null;
  const money = (amount: number | null): string =>
    amount === null ? 'unknown' : formatMoney(amount, payment.currency);
  const message =
    `The provider has taken ${money(payment.captured)} and given back ${money(given)}; ` +
    `recorded are ${money(recorded.captured)} and ${money(recorded.given)}.`;
  return draft('amounts_differ', seen, own, rules, { amount: apart, message, waits_for });
}

/** A payment that is no operation's own. */
function judgeOther(seen: SeenPayment, sides: Sides, rules: Rules): Draft | null {
  const { payment } = seen;
  const { reference, operation_id } = payment;
  const adopting = sides.adopting(reference);
  // It is about to become their own, or they say themselves why it does not.
  if (adopting.some(({ operation }) => operation.provider_reference === null && !isClosed(operation)))
    return null;
  const named = operation_id === null ? (adopting[0] ?? null) : sides.named(operation_id);
  const marked = operation_id !== null || adopting.length > 0;
  if (!marked && !rules.exclusive) return null;
  const stake = atStake(seen);
  if (stake === null) {
    return named !== null && payment.state === 'created' ? judgeStray(seen, named, rules) : null;
  }
  const elsewhere = sides.ownerElsewhere(reference);
  if (elsewhere !== null) {
    const { operation_id: owner, account } = elsewhere.operation;
    const message = `${stakeText(seen, stake)} It is the payment of the operation "${owner}", which belongs to the account "${account}".`;
    return draft('orphan_payment', seen, elsewhere, rules, { amount: stake, message, suggested: 'dismiss' });
  }
  if (named === null || named.operation.account !== rules.account) {
    const whose =
      operation_id === null
        ? 'No operation has this payment.'
        : named === null
          ? `There is no operation "${operation_id}".`
          : `The operation "${operation_id}" belongs to the account "${named.operation.account}".`;
    const message = `${stakeText(seen, stake)} ${whose}`;
    return draft('orphan_payment', seen, named, rules, { amount: stake, message, young: true });
  }
  const { operation } = named;
  const own =
    operation.provider_reference === null
      ? 'which has no payment of its own'
      : `whose own payment is ${operation.provider_reference}`;
  const message = `${stakeText(seen, stake)} It names the operation "${operation.operation_id}", ${own}.`;
  return draft('second_payment', seen, named, rules, {
    amount: stake,
    message,
    // An operation that does not know its own payment yet may be about to learn that it is this one.
    young: operation.provider_reference === null,
    suggested: couldAdopt(operation) ? 'adopt_payment' : 'refund_stray',
  });
}

/** Nobody was asked for money, and nobody will be: only the operation's own payment is ever confirmed. */
function judgeStray(seen: SeenPayment, named: RecordedSide, rules: Rules): Draft | null {
  const { operation, creates } = named;
  // Which payment is its own must be known before another can be called a stray.
  if (operation.provider_reference === null || operation.account !== rules.account) return null;
  if (creates !== null && !isMadeBy(creates, seen)) return null;
  const message = `The payment was created for the operation "${operation.operation_id}", whose own is ${operation.provider_reference}. It never took money.`;
  return draft('stray_unconfirmed', seen, named, rules, {
    amount: 0,
    message,
    young: true,
    cancel: creates !== null,
  });
}

/** A request does not travel longer, and the clocks of provider and database agree within this. */
const TRAVEL_MS = 120_000;

/**
 * Whether one of these tries made this payment: it carries what the try sent, and came into being when the try was under
 * way. Not while a creation is in doubt, whose payment it may be, nor when an answer named it as the operation's.
 */
function isMadeBy(creates: readonly Attempt[], { payment, created_at, terms }: SeenPayment): boolean {
  // Nothing to compare with is no likeness.
  if (Object.keys(terms).length === 0 || openAttempts(creates).length > 0) return false;
  if (creates.at(-1)?.shown?.payment?.reference === payment.reference) return false;
  const created = Date.parse(created_at);
  return creates.some((attempt) => {
    if (madeAnother(attempt, creates, payment.reference)) return false;
    const { parameters, started_at, completed_at } = attempt;
    const started = Date.parse(started_at);
    // Without an answer it may have been on its way until its key was given up.
    const ended = completed_at === null ? started + EFFECT_KEY_LIFE_MS : Date.parse(completed_at);
    const meanwhile = created >= started - TRAVEL_MS && created <= ended + TRAVEL_MS;
    return meanwhile && carries(parameters, terms);
  });
}

/** A key makes one payment as long as it lives: the one that an answer to it has shown. */
const madeAnother = (attempt: Attempt, creates: readonly Attempt[], reference: string): boolean =>
  creates.some((answered) => {
    const shown = answered.shown?.payment?.reference;
    const apart = Date.parse(answered.started_at) - Date.parse(attempt.started_at);
    return (
      shown !== undefined &&
      shown !== reference &&
      answered.effect_key === attempt.effect_key &&
      Math.abs(apart) <= EFFECT_KEY_LIFE_MS
    );
  });

/** Every member of `terms` stands in what was sent. */
const carries = (sent: Parameters, terms: Parameters): boolean =>
  Object.entries(terms).every(([name, value]) => {
    const there = sent[name];
    return isMembers(value) ? isMembers(there) && carries(there, value) : there === value;
  });
const isMembers = (value: unknown): value is Parameters => typeof value === 'object' && value !== null;

/** Minor units that a payment beside the operations holds or may come to hold; null: none, and none to come. */
function atStake(seen: SeenPayment): number | null {
  const { payment } = seen;
  switch (payment.state) {
    case 'captured': {
      // A refund on its way may fail; until it has arrived, the money is here.
      const back = payment.refunds === null ? (seen.refunded ?? 0) : arrived(payment.refunds);
      const held = payment.captured - (payment.lost ?? 0) - back;
      return held > 0 ? held : null;
    }
    case 'authorized':
      return payment.authorized;
    case 'processing':
    case 'unknown':
      return payment.amount;
    case 'created':
    case 'awaiting_customer':
    case 'failed':
    case 'canceled':
      return null;
  }
}

function stakeText({ payment }: SeenPayment, stake: number): string {
  const money = formatMoney(stake, payment.currency);
  if (payment.state === 'captured') return `${money} was taken and not given back.`;
  if (payment.state === 'authorized') return `${money} is held.`;
  return `${money} may be taken (${payment.provider_status}).`;
}

const total = (items: readonly { readonly amount: number }[]): number =>
  items.reduce((sum, { amount }) => sum + amount, 0);
const arrived = (refunds: NonNullable<PaymentReading['refunds']>): number =>
  total(refunds.filter(({ state }) => state === 'succeeded'));

/** Refunds that have not failed, one by one where they were listed; null: not told. */
const givenOf = ({ payment, refunded }: SeenPayment): number | null =>
  payment.refunds === null
    ? refunded
    : total(payment.refunds.filter(({ state }) => state !== 'failed' && state !== 'canceled'));

const recordedMoney = ({ facts }: Operation): { captured: number; given: number } => ({
  captured: facts.payment.captured,
  given: total(facts.refunds.filter(isGiven)),
});

interface Details extends Pick<Draft, 'amount' | 'message'> {
  readonly waits_for?: Draft['waits_for'];
  readonly young?: boolean;
  readonly suggested?: FindingCommand;
  readonly cancel?: boolean;
}

const SUGGESTED: Readonly<Record<FindingKind, FindingCommand>> = {
  orphan_payment: 'refund_stray',
  second_payment: 'refund_stray',
  payment_missing: 'check_provider',
  amounts_differ: 'check_provider',
  money_left: 'check_provider',
  stray_unconfirmed: 'dismiss',
};

function draft(
  kind: FindingKind,
  seen: SeenPayment,
  side: RecordedSide | null,
  rules: Rules,
  details: Details,
): Draft {
  const { payment, created_at, terms } = seen;
  const ripe = Date.parse(created_at) + (details.young === true ? rules.grace_ms : 0);
  return {
    kind,
    reference: payment.reference,
    operation_id: side?.operation.operation_id ?? payment.operation_id,
    amount: details.amount,
    currency: payment.currency,
    message: details.message,
    evidence: {
      provider: providerEvidence(seen),
      recorded: side === null ? null : recordedEvidence(side.operation),
    },
    suggested: details.suggested ?? SUGGESTED[kind],
    ripe_at: new Date(ripe).toISOString(),
    waits_for: details.waits_for ?? null,
    cancel: details.cancel ?? false,
    created_at,
    terms,
  };
}

function providerEvidence(seen: SeenPayment): Record<string, unknown> {
  const { payment, created_at } = seen;
  return {
    reference: payment.reference,
    created_at,
    state: payment.state,
    provider_status: payment.provider_status,
    amount: payment.amount,
    currency: payment.currency,
    authorized: payment.authorized,
    captured: payment.captured,
    refunded: givenOf(seen),
    refund_pending: payment.refunds === null ? null : (givenOf(seen) ?? 0) - arrived(payment.refunds),
    lost: payment.lost ?? 0,
    operation_id: payment.operation_id,
    livemode: payment.livemode,
  };
}

export function recordedEvidence(operation: Operation): Record<string, unknown> {
  const { captured, given } = recordedMoney(operation);
  return {
    operation_id: operation.operation_id,
    account: operation.account,
    order_id: operation.wish.spec.order_id,
    phase: operation.status.phase,
    provider_reference: operation.provider_reference,
    payment_state: operation.facts.payment.state,
    amount: operation.wish.spec.amount.value,
    currency: operation.wish.spec.amount.currency,
    captured,
    refunded: given,
    observed_at: operation.facts.payment.observed_at,
  };
}
