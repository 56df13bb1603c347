/** What a person can ask for, when it is possible, and what it makes of the wish. Pure and total. */
import { givenUp, type Asking as ChangeAsking } from './change.js';
import { recordOutcome, whyNothingToRecord } from './command-record-outcome.js';
import { retryRefund, tried, whyNoRetry } from './command-retry.js';
import {
  COMMAND_NAMES,
  decide,
  decided,
  stopped,
  unread,
  whyAgreed,
  withDecisions,
  withFreshBudget,
  type Asking,
  type Command,
  type CommandName,
  type Made,
  type Rule,
  type Why,
} from './command-rule.js';
import { decisionsOf, type Decided, type Verdict } from './decisions.js';
import { formatMoney } from './money.js';
import { nextStatus } from './next-status.js';
import { ALL_SEEN } from './observation.js';
import { NO_FACTS, type Finalizer, type Journaled, type Operation, type Wish } from './operation.js';
import { REASONS } from './reason.js';
import { atStake, brokenRefunds, inHand, isLeft } from './refund.js';

/** A refusal in plain words, or what the command makes of the record. */
export type Commanded =
  | { readonly kind: 'refused'; readonly why: string }
  | {
      readonly kind: 'accepted';
      /** With the new wish; the facts differ only where another payment is wanted. */
      readonly operation: Operation;
      readonly spec_changed: boolean;
      readonly another_payment: boolean;
      /** For the person, before they confirm. */
      readonly effects: readonly string[];
    };

/** A command that changes nothing in the wish. */
const NOTHING = (operation: Operation, effects: readonly string[]): Made => ({
  wish: operation.wish,
  effects,
});

const RULES: { readonly [Name in CommandName]: Rule<Extract<Command, { command: Name }>> } = {
  check_provider: {
    lead: false,
    whyNot: () => null,
    carryOut: ({ operation }) =>
      NOTHING(operation, ['The provider and the warehouse are read once more; nothing is sent.']),
  },
  retry: {
    lead: false,
    whyNot: whyNoRetry,
    carryOut: ({ operation }, _none, asking) => ({
      wish: tried(operation, asking).wish,
      effects: ['The order gets a fresh retry budget and is looked at now.'],
    }),
  },
  retry_refund: {
    lead: false,
    whyNot: (operation, asking) =>
      stopped(operation) ??
      unread(asking) ??
      (brokenRefunds(operation).length === 0
        ? 'No refund of this order has failed or was canceled at the provider.'
        : operation.facts.payment.disputed
          ? REASONS.DisputeOpen.meaning
          : null),
    carryOut: retryRefund,
  },
  reauthorize: {
    lead: false,
    whyNot: (operation, asking) =>
      stopped(operation) ??
      givenUp(operation, asking) ??
      unread(asking) ??
      (operation.facts.payment.state !== 'canceled' || operation.facts.unresolved !== null
        ? 'A new payment is made only once the old one is observed canceled at the provider.'
        : null),
    carryOut: ({ operation }, { payment_method }, asking) => ({
      wish: anotherPayment(operation, { payment_method, reference: null }, asking),
      effects: [
        `A new payment of ${wantedAmount(operation)} is made with ${payment_method}; ${operation.provider_reference ?? 'the old one'} stays canceled.`,
        'The payment deadline starts anew.',
      ],
      another_payment: true,
    }),
  },
  adopt_payment: {
    lead: false,
    whyNot: (operation, asking) =>
      stopped(operation) ??
      givenUp(operation, asking) ??
      (operation.provider_reference === null ? null : unread(asking)) ??
      (operation.facts.unresolved !== null
        ? `It is not known yet what became of ${operation.facts.unresolved.step}.`
        : operation.provider_reference !== null && operation.facts.payment.state !== 'canceled'
          ? 'The order has a payment that is not canceled; two could both take money.'
          : null),
    carryOut: ({ operation }, { reference }, asking) =>
      reference === operation.provider_reference
        ? { why: 'This is the payment that the order has.' }
        : {
            wish: anotherPayment(operation, { payment_method: null, reference }, asking),
            effects: [
              `${reference} becomes the payment of this order, if account, mode, amount and currency agree and it serves no other order.`,
            ],
            another_payment: true,
          },
  },
  record_outcome: { lead: true, whyNot: whyNothingToRecord, carryOut: recordOutcome },
  release_finalizer: {
    lead: true,
    whyNot: (operation, asking) =>
      operation.wish.cancellation === null
        ? 'Only a cancellation has finalizers, and none was requested.'
        : !finalizersOf(operation, asking).some(({ name }) => whyKept(operation, name, asking) === null)
          ? 'No finalizer is stuck: what is left goes on by itself.'
          : null,
    carryOut: ({ operation }, { name, left_behind }, asking) => {
      const why = whyKept(operation, name, asking);
      if (why !== null) return { why };
      const { left } = decisionsOf(operation.wish);
      const one = {
        ...decided(asking),
        name,
        left_behind,
        covers: name === 'payment' ? inHand(operation) : 0,
      };
      return {
        wish: withDecisions(operation.wish, { left: [...left.filter((other) => other.name !== name), one] }),
        effects: [
          `The finalizer ${name} is released: nothing more is done there. Left behind: ${left_behind}`,
          ...(name === 'payment' && one.covers > 0
            ? [
                `Up to ${formatMoney(one.covers, operation.wish.spec.amount.currency)} stay at the provider; when more appears, a person is asked again.`,
              ]
            : []),
        ],
      };
    },
  },
  pause: {
    lead: false,
    whyNot: (operation) => stopped(operation),
    carryOut: ({ operation }, _none, asking) => ({
      wish: { ...operation.wish, paused: decided(asking) },
      effects: ['Nothing is sent until it is resumed; a call that is under way ends. It is still read.'],
    }),
  },
  resume: {
    lead: false,
    // What a lead gave up is not taken up again by less.
    leadFor: ({ wish }) => decisionsOf(wish).given_up !== null,
    whyNot: (operation) => (stopped(operation) === null ? 'It is neither paused nor given up.' : null),
    carryOut: ({ operation }) => ({
      wish: withDecisions({ ...withFreshBudget(operation.wish), paused: null }, { given_up: null }),
      effects: ['It is looked at now, with a fresh retry budget, and goes on.'],
    }),
  },
  give_up: {
    lead: true,
    whyNot: (operation, asking) =>
      decisionsOf(operation.wish).given_up !== null
        ? 'It was given up already.'
        : decide(operation, asking).kind === 'agreed'
          ? whyAgreed(asking, 'Nothing is left to give up: all is as wanted.')
          : null,
    carryOut: ({ operation }, { verdict }, asking) => {
      const next = decide(operation, asking);
      return {
        wish: withDecisions(operation.wish, {
          given_up: {
            ...decided(asking),
            verdict,
            generation: operation.generation,
            reason_word: next.kind === 'person' ? next.reason : null,
            covers: inHand(operation),
          },
        }),
        effects: [
          'Nothing is sent any more, neither payments nor refunds nor goods; it is still read, ever more rarely.',
          `It is closed as ${verdict}; a new wish, another trouble or more money asks for a person again.`,
        ],
      };
    },
  },
};

/** `operation`: as it stands, where that is known. */
export const needsLead = (name: CommandName, operation?: Operation): boolean => {
  const { lead, leadFor }: Pick<Rule<Command>, 'lead' | 'leadFor'> = RULES[name];
  return lead || (operation !== undefined && leadFor?.(operation) === true);
};

export interface Availability {
  readonly name: CommandName;
  readonly available: boolean;
  readonly why_not: Why;
}

/** Every command, for what is recorded; a preview judges by what is read at that moment. */
export function availabilities(operation: Operation, asking: ChangeAsking): Availability[] {
  const all: Asking = { ...asking, reason: '', seen: ALL_SEEN };
  return COMMAND_NAMES.map((name) => {
    const why_not = RULES[name].whyNot(operation, all);
    return { name, available: why_not === null, why_not };
  });
}

/** `before`: as it was just read. The wish that follows, or why not. */
export function carryOut(before: Journaled, command: Command, asking: Asking): Commanded {
  const { operation } = before;
  // The table has one entry a name, so the parameters are those of this rule.
  const rule = RULES[command.command] as Rule<Command>;
  const why = rule.whyNot(operation, asking);
  if (why !== null) return { kind: 'refused', why };
  const made = rule.carryOut(before, command.parameters, asking);
  if ('why' in made) return { kind: 'refused', why: made.why };
  const spec_changed = made.wish.spec !== operation.wish.spec;
  const another_payment = made.another_payment ?? false;
  const wish = DECIDES.has(command.command) ? withDecisions(made.wish, { last: decided(asking) }) : made.wish;
  return {
    kind: 'accepted',
    operation: {
      ...operation,
      wish,
      generation: operation.generation + (spec_changed ? 1 : 0),
      ...(another_payment
        ? { provider_reference: null, facts: { ...NO_FACTS, inventory: operation.facts.inventory } }
        : {}),
    },
    spec_changed,
    another_payment,
    effects: made.effects,
  };
}

/**
 * Money that may move by what a person commands, in minor units: above a limit it takes two of them. Not the next step
 * alone counts: whoever lets an order go on lets all of it go on, at once or when what holds it back is over.
 */
export function amountMoved(command: Command, before: Operation, after: Operation, asking: Asking): number {
  switch (command.command) {
    case 'reauthorize':
    case 'adopt_payment':
      return after.wish.spec.amount.value;
    case 'retry_refund': {
      const { refund_id } = command.parameters;
      const named = brokenRefunds(before).find((refund) => refund.refund_id === refund_id)?.amount ?? 0;
      const now = decide(before, asking, asking.seen);
      // Where more is missing than this refund, the fresh budget is for that as well.
      const alone = now.kind === 'person' && now.reason === 'RefundFailed';
      return alone ? named : Math.max(named, wholeOf(after));
    }
    case 'retry':
    case 'record_outcome':
    case 'resume':
      return decide(after, asking, asking.seen).kind === 'agreed' ? 0 : wholeOf(after);
    case 'check_provider':
    case 'release_finalizer':
    case 'pause':
    case 'give_up':
      return 0;
  }
}

/** All that the order may still take or give back. */
const wholeOf = (operation: Operation): number =>
  Math.max(atStake(operation), operation.wish.spec.amount.value);

/** Commands by which a person takes part in what becomes of the order. */
const DECIDES: ReadonlySet<CommandName> = new Set(
  COMMAND_NAMES.filter((name) => name !== 'check_provider' && name !== 'pause' && name !== 'resume'),
);

const wantedAmount = ({ wish: { spec } }: Operation): string =>
  formatMoney(spec.amount.value, spec.amount.currency);

/** The same order, to be paid by another payment: what belonged to the former one is none of its business. */
function anotherPayment(
  { wish }: Operation,
  payment: { readonly payment_method: string | null; readonly reference: string | null },
  { now, policy }: Asking,
): Wish {
  return {
    ...withFreshBudget(wish),
    payment_number: wish.payment_number + 1,
    spec: {
      ...wish.spec,
      payment: { ...wish.spec.payment, ...payment },
      // Authorizations outlive the deadline of the first payment: this one gets the same time.
      payment_deadline: new Date(now.getTime() + policy.payment_deadline_ms).toISOString(),
    },
  };
}

/** As they follow from what was read; the recorded status may be older. */
const finalizersOf = (operation: Operation, { now, policy }: ChangeAsking): readonly Finalizer[] =>
  nextStatus(operation, now, policy).finalizers;

/** Why a finalizer is not to be released, or null. */
function whyKept(operation: Operation, name: 'payment' | 'inventory', asking: Asking): Why {
  if (isLeft(operation, name)) return `The finalizer ${name} was released already.`;
  const finalizer = finalizersOf(operation, asking).find((other) => other.name === name);
  if (finalizer === undefined) return `There is no finalizer ${name} any more.`;
  if (finalizer.reason === 'WaitsForPayment') return 'It waits for the finalizer payment only.';
  const next = decide(operation, asking, asking.seen);
  return next.kind === 'step' && operation.facts.failure === null
    ? `The finalizer ${name} goes on by itself: ${REASONS[next.reason].meaning}`
    : null;
}

/** How an order that needed people was closed; null while it is not, or never needed any. */
export function closedOf({ wish, status }: Operation): (Decided & { readonly verdict: Verdict }) | null {
  const { given_up, last, left } = decisionsOf(wish);
  const closed = ({ by, reason, at }: Decided, verdict: Verdict) => ({ verdict, by, reason, at });
  if (given_up !== null) return closed(given_up, given_up.verdict);
  if (last === null || status.settled_at === null || status.attention !== null) return null;
  const deviation = left.at(-1);
  return deviation === undefined
    ? closed({ ...last, at: status.settled_at }, 'baseline')
    : closed({ ...deviation, reason: deviation.left_behind }, 'known_deviation');
}
