/** The command by which a person says what became of a call that cannot be read. */
import { chooseKey, type StepName } from './attempt.js';
import {
  decide,
  decided,
  withDecisions,
  withFreshBudget,
  type Asking,
  type Command,
  type Made,
  type Refusal,
  type Why,
} from './command-rule.js';
import { decisionsOf, firstOrdinal, type Assertion } from './decisions.js';
import type { Journaled, Operation } from './operation.js';
import { isOfInventory } from './step.js';

/** The effect in doubt of this step, or the assertion about it that does not hold. */
function recordable(operation: Operation, step: StepName | null, asking: Asking): string | null {
  const { unresolved, refuted } = operation.facts;
  const fits = (other: StepName): boolean => step === null || step === other;
  if (unresolved !== null && fits(unresolved.step)) return unresolved.target;
  if (refuted !== undefined && fits(refuted.step)) return refuted.target;
  const next = decide(operation, asking);
  if (next.kind !== 'person' || next.reason !== 'AssertionRefuted') return null;
  const wrong = decisionsOf(operation.wish).asserted.find(
    (assertion) => fits(assertion.step) && assertion.outcome === 'done',
  );
  return wrong?.target ?? null;
}

export function whyNothingToRecord(operation: Operation, asking: Asking): Why {
  return recordable(operation, null, asking) === null
    ? 'No call is in doubt: what became of each is known.'
    : null;
}

/** A key whose answer is final, or that is too old, can do no more; a word of a person changes nothing about that. */
function keyAfter(
  { wish }: Operation,
  attempts: Journaled['attempts'],
  name: StepName,
  target: string,
  { now }: Asking,
): string {
  const key = chooseKey(attempts, name, target, now, firstOrdinal(wish, { name, target }));
  return key.kind === 'resend' ? 'the same key' : 'a new key, since the old one can do no more';
}

export function recordOutcome(
  { operation, attempts }: Journaled,
  { step, outcome, evidence }: Extract<Command, { command: 'record_outcome' }>['parameters'],
  asking: Asking,
): Made | Refusal {
  const target = recordable(operation, step, asking);
  if (target === null) {
    const doubt = operation.facts.unresolved?.step;
    return {
      why: `What became of ${step} is not in doubt${doubt === undefined ? '.' : `; of ${doubt} it is.`}`,
    };
  }
  if (outcome === 'done') {
    if (step === 'create_payment')
      return { why: 'A payment that exists has an id: cancel it there, or name it by adopt_payment.' };
    const seen = isOfInventory(step) ? asking.seen.inventory : asking.seen.payment;
    const corrects = operation.facts.refuted?.step === step;
    if (seen && !corrects)
      return {
        why: `${isOfInventory(step) ? 'The warehouse' : 'The provider'} was read just now and does not show it.`,
      };
  }
  const { asserted } = decisionsOf(operation.wish);
  const last_attempt = attempts.at(-1)?.attempt_id ?? null;
  const one: Assertion = { ...decided(asking), step, target, outcome, evidence, last_attempt };
  const others = asserted.filter((other) => other.step !== step || other.target !== target);
  const wish = withDecisions(operation.wish, { asserted: [...others, one] });
  return {
    wish: outcome === 'no_effect' ? withFreshBudget(wish) : wish,
    effects: [
      `It is recorded as your word, not as a reading, that ${step} ${outcome === 'done' ? 'is done' : 'had no effect'}.`,
      outcome === 'done'
        ? 'It is not sent again; when a reading does not agree, a person is asked again.'
        : `It goes on where needed, under ${keyAfter(operation, attempts, step, target, asking)}; when it shows after all, a person is asked again.`,
    ],
  };
}
