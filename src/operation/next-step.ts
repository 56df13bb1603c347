/** The decision: from what is wanted and what was seen to the one effect that is missing. Pure and total. */
import { isCurrent } from './budget.js';
import { clear } from './clear.js';
import { assertionOf, decisionsOf } from './decisions.js';
import { areHidden } from './dispute.js';
import { NOT_FOUND, isLasting } from './failure.js';
import { forward } from './forward.js';
import { goalOf, type Goal } from './goal.js';
import { isYetToBeTaken, mismatchOf } from './mismatch.js';
import type { Seen } from './observation.js';
import { moneyOf, type Operation, type Policy } from './operation.js';
import { givenTwice, inHand, isLeft } from './refund.js';
import { isInventoryStep, isOfInventory, person, wait, type Decision, type Step } from './step.js';

/**
 * The next step towards the goal. Each call looks at the whole record anew, so it does not matter who did what
 * before, in which order, or how often this is called.
 */
export function nextStep(operation: Operation, seen: Seen, now: Date, policy: Policy): Decision {
  return asGivenUp(
    operation,
    refuted(operation) ??
      untouched(operation, seen) ??
      towards(operation, goalOf(operation, now, policy), seen, policy),
  );
}

function towards(operation: Operation, goal: Goal, seen: Seen, policy: Policy): Decision {
  const next =
    goal.kind === 'clear' ? clear(operation, seen, policy) : forward(operation, goal, seen, policy);
  if (next.kind === 'step') return permitted(operation, next, policy);
  return next.kind === 'agreed' ? (disputedAfterRefund(operation) ?? next) : next;
}

/** Why nothing is done to a payment that cannot be seen, or is not this order's as far as can be seen; or null. */
function untouched(operation: Operation, seen: Seen): Decision | null {
  if (isLeft(operation, 'payment')) return null;
  const missing = neverFound(operation);
  if (missing !== null) return person('PaymentNotFound', missing);
  if (!seen.payment) return wait('ProviderUnreachable');
  const mismatch = mismatchOf(operation);
  if (mismatch !== null && !(mismatch.foreign && operation.wish.cancellation !== null)) {
    return person('PaymentMismatch', mismatch.why);
  }
  if (mismatch === null && operation.facts.payment.state === 'unknown') {
    const word = operation.facts.payment.provider_status ?? '';
    return person('UnknownProviderStatus', `The provider reports the status "${word}".`);
  }
  if (mismatch === null && isYetToBeTaken(operation))
    return wait(operation.wish.cancellation === null ? 'Accepted' : 'Cancelling');
  return null;
}

/** What a person said of a call, and what turned out not to be so. */
function refuted({ wish, facts }: Operation): Decision | null {
  if (facts.refuted === undefined) return null;
  const { asserted_at } = facts.refuted;
  const assertion = assertionOf(wish, facts.refuted);
  return assertion?.at === asserted_at && assertion.outcome === 'no_effect'
    ? person(
        'AssertionRefuted',
        `${assertion.by} recorded that ${assertion.step} had no effect; it did take effect.`,
      )
    : null;
}

/** Given up is read only: what was known then asks nobody any more, anything else does. */
function asGivenUp(operation: Operation, next: Decision): Decision {
  const { given_up } = decisionsOf(operation.wish);
  if (given_up === null || next.kind === 'agreed' || next.kind === 'wait') return next;
  const { by, at, generation, covers, reason_word } = given_up;
  if (generation !== operation.generation)
    return person('GivenUp', `${by} gave it up at ${at}; the wish that came since is not carried out.`);
  if (inHand(operation) > covers)
    return person('GivenUp', `More money is in hand than when ${by} gave it up at ${at}.`);
  return next.kind === 'step' || next.reason === reason_word ? wait('GivenUp') : next;
}

/** Nothing is to be done, and somebody has to know: the bank may give, or gave, to the customer once more. Or null. */
function disputedAfterRefund(operation: Operation): Decision | null {
  const { facts } = operation;
  const twice = givenTwice(facts);
  if (twice <= 0) return null;
  const charged = areHidden(facts.payment)
    ? 'may be charged back as well: the provider does not show how the dispute stands'
    : 'is charged back as well';
  return person('DisputedAfterRefund', `${moneyOf(operation)(twice)} was refunded, and ${charged}.`);
}

/** It is as wanted; what a person is told of stands beside it and keeps nothing open. */
export const isReached = (decision: Decision): boolean =>
  decision.kind === 'agreed' || (decision.kind === 'person' && decision.reason === 'DisputedAfterRefund');

/** What is said of a payment that a caller named, and that was never seen: nothing shows that it exists. Or null. */
function neverFound({ facts, wish, provider_reference }: Operation): string | null {
  const { failure, payment } = facts;
  const named =
    wish.spec.payment.reference !== null && provider_reference === null && payment.state === 'none';
  return named && failure?.step === 'observe_payment' && failure.code === NOT_FOUND ? failure.message : null;
}

/** A step is missing; may it be taken now? */
function permitted(operation: Operation, missing: Decision & { kind: 'step' }, policy: Policy): Decision {
  const { wish, facts } = operation;
  if (wish.paused !== null) return wait('Paused');
  if (facts.account_paused !== undefined) return wait('AccountPaused');
  const { failure, budget } = facts;
  const asserted = assertedOf(operation, missing.step);
  if (asserted !== null) return asserted;
  if (failure?.code === 'idempotency_mismatch') {
    return person(
      'ProviderRejected',
      'The provider has other parameters stored under this key; nothing is sent.',
    );
  }
  if (!isCurrent(operation, budget)) return missing;
  if (failure !== null && isLasting(failure) && concerns(failure, missing.step)) {
    return person(failure.code === 'goods_gone' ? 'GoodsGone' : 'UnknownProviderStatus', failure.message);
  }
  // What another step used up does not hold back this one: an order that cannot be paid can still be given up.
  const { used, rejections, refusal } =
    budget.step === null || budget.step === missing.step.name
      ? budget
      : { ...budget, used: 0, rejections: 0 };
  if (rejections >= 2)
    return person('ProviderRejected', (refusal ?? failure)?.message ?? 'The request was refused twice.');
  if (Math.max(used, budget.reads) >= policy.retry_limit) {
    // Not how often by now: it is read on, and failing once more is nothing new to a reader.
    const failed =
      used >= policy.retry_limit
        ? `${missing.step.name} failed ${used} times`
        : `Reading failed ${policy.retry_limit} times`;
    return person('RetryBudgetExhausted', failure === null ? failed : `${failed}: ${failure.message}`);
  }
  return missing;
}

/** A step that a person said is done is not sent again: a reading has to agree, or a person looks once more. */
function assertedOf({ wish, facts }: Operation, { name, target }: Step): Decision | null {
  const assertion = assertionOf(wish, { step: name, target });
  if (assertion?.outcome !== 'done') return null;
  const { observed_at } = isOfInventory(name) ? facts.inventory : facts.payment;
  return observed_at !== null && Date.parse(observed_at) > Date.parse(assertion.at)
    ? person(
        'AssertionRefuted',
        `${assertion.by} recorded that ${name} is done; it is not, as was read since.`,
      )
    : wait('OutcomeAsserted');
}

/** Whether a failure stands in the way of a step: of the same step, or of the reading that it needs. */
const concerns = (failure: NonNullable<Operation['facts']['failure']>, effect: Step): boolean =>
  failure.step === effect.name ||
  failure.step === 'observe_payment' ||
  (failure.step === 'observe_inventory' && isInventoryStep(effect));
