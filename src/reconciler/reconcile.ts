/** The loop for one record: observe → next step → record the intent → apply → record the outcome, until none is left. */
import { chooseKey } from '../operation/attempt.js';
import { decisionsOf, firstOrdinal } from '../operation/decisions.js';
import type { Failure } from '../operation/failure.js';
import type { Observation, Seen } from '../operation/observation.js';
import { nextLook } from '../operation/schedule.js';
import type { Decision, Step } from '../operation/step.js';
import { isAway } from '../store/database.js';
import type { Claim } from '../store/pass-store.js';
import { NO_LIMITS } from '../store/refund-brake.js';
import { breakOff } from './broken.js';
import { observe, refundsMatter, seenIn } from './observe.js';
import {
  beginPass,
  decide,
  withBrake,
  withObservation,
  withStatus,
  withTakenPayment,
  type Pass,
} from './pass.js';
import type { LoopDependencies } from './ports.js';
import { keyOf, perform, type UsableKey } from './effect.js';
import { patiently, write } from './write.js';

/** A whole order takes four effects; more than this in one claim is left to the next one. */
const STEPS_PER_PASS = 12;

/** Before leave for a refund is asked for again when others of the account were asking. */
const BUSY_MS = 1_000;

/**
 * One pass over a claimed record. Resolves when the record is released or lost, with the milliseconds until it is due
 * again (0: at once), or null when this pass has no say in that. Throws only when the database cannot be written: then
 * the lease runs out, and another pass finds by reading what this one did.
 */
export async function reconcile(claim: Claim, loop: LoopDependencies): Promise<number | null> {
  try {
    return await passOver(claim, loop);
  } catch (error) {
    // That the database is away says nothing about the record.
    if (isAway(error)) throw error;
    return breakOff(claim, error, loop);
  }
}

async function passOver(claim: Claim, loop: LoopDependencies): Promise<number | null> {
  const began = loop.clock.now().getTime();
  let look = await lookAt(beginPass(claim), loop, false);
  for (let steps = 0; steps < STEPS_PER_PASS; steps += 1) {
    const { pass, decision } = decide(look.pass, look.seen, loop.clock.now(), loop.policy);
    look = { ...look, pass };
    if (decision.kind === 'step' && decision.step.name === 'create_refund' && !look.refunds) {
      look = await lookAt(look.pass, loop, true);
      continue;
    }
    if (decision.kind !== 'step') return release(look.pass, decision, loop, began);

    const { step } = decision;
    const first = firstOrdinal(look.pass.operation.wish, step);
    const key = chooseKey(look.pass.attempts, step.name, step.target, loop.clock.now(), first);
    if (key.kind === 'wait') return release(look.pass, decision, loop, began, key.ms);

    const braked = step.name === 'create_refund' ? await brake(look.pass, step, key, loop) : null;
    if (braked === 'busy')
      return release(look.pass, decision, loop, began, BUSY_MS * (1 + loop.clock.random()));
    if (braked !== null) {
      look = { ...look, pass: braked };
      continue;
    }

    const sent = await perform(look.pass, step, key, loop);
    if (sent === null) return 0;
    look = { ...look, pass: sent.pass };
    if ('failure' in sent.outcome && sent.outcome.kind !== 'declined') {
      return release(look.pass, decision, loop, began);
    }
  }
  return release(look.pass, null, loop, began);
}

/** A pass after a look, and what could be seen in it. */
interface Look {
  readonly pass: Pass;
  readonly seen: Seen;
  /** The refunds were listed. */
  readonly refunds: boolean;
}

async function lookAt(pass: Pass, loop: LoopDependencies, wantRefunds: boolean): Promise<Look> {
  const refunds = wantRefunds || refundsMatter(pass.operation);
  const { after, observation } = await alone(pass, await observe(pass, loop, refunds), loop);
  return {
    pass: after,
    seen: seenIn(pass.operation, observation),
    refunds: refunds && observation.payment.kind === 'present' && observation.payment.value.refunds !== null,
  };
}

/**
 * What the look showed. A payment that the front end made is recorded as this order's before anything else is done, and
 * by one order only: of two that name it, the later one learns here that it is taken. While a person gives it back it
 * counts as not read: what it holds now may be gone in a moment.
 */
async function alone(
  before: Pass,
  observation: Observation,
  loop: LoopDependencies,
): Promise<{ readonly after: Pass; readonly observation: Observation }> {
  const now = loop.clock.now();
  const pass = withObservation(before, observation, now);
  const { provider_reference: reference, wish } = pass.operation;
  const adopts = wish.spec.payment.reference !== null && before.operation.provider_reference === null;
  if (!adopts || reference === null) return { after: pass, observation };
  const adopted = await patiently(() => loop.store.adopt(pass.row, pass.fencing_token, reference), loop);
  switch (adopted.kind) {
    case 'own':
      return { after: pass, observation };
    case 'taken':
      return {
        after: withObservation(withTakenPayment(before, adopted.other), observation, now),
        observation,
      };
    case 'given_back': {
      const unread: Observation = { ...observation, payment: { kind: 'unknown', failure: GIVEN_BACK } };
      return { after: withObservation(before, unread, now), observation: unread };
    }
  }
}

const GIVEN_BACK: Failure = {
  class: 'conflict',
  code: 'payment_given_back',
  message: 'A person decided to give this payment back, and that has not ended; until then it is no order’s.',
};

/** Asks for leave to send a refund. Null: it may be sent; a pass: with what holds it back. */
async function brake(
  pass: Pass,
  step: Step & { name: 'create_refund' },
  key: UsableKey,
  loop: LoopDependencies,
): Promise<Pass | null | 'busy'> {
  const { account, operation_id, wish } = pass.operation;
  // The brake is on what goes out by itself. Without a recorded leave Postgres refuses the intent, whoever decided.
  const limits = decisionsOf(wish).unbraked.includes(step.target) ? NO_LIMITS : undefined;
  const { effect_key } = keyOf(pass, step, key);
  const admission = await patiently(
    () => loop.brake.admit(account, effect_key, step.amount, step.currency, limits),
    loop,
  );
  if (admission.kind === 'admitted') return null;
  if (admission.kind === 'busy') return 'busy';
  const { wait_ms, message, just_closed } = admission;
  if (just_closed) {
    loop.log.error(
      { account, operation_id, detail: message },
      'the money-out brake is closed: refunds wait for room, or for a person',
    );
  }
  const until = new Date(loop.clock.now().getTime() + wait_ms).toISOString();
  return withBrake(pass, { until, message });
}

/** Ends the pass. `decision` null: there is more to do, at once. `pause`: milliseconds that are known to be needed. */
async function release(
  pass: Pass,
  decision: Decision | null,
  loop: LoopDependencies,
  began: number,
  pause: number | null = null,
): Promise<number | null> {
  const now = loop.clock.now();
  const done = withStatus(pass, now, loop.policy);
  const look =
    decision === null ? now : nextLook(done.operation, decision, now, loop.clock.random(), loop.policy);
  const look_in_ms = pause ?? (look === null ? null : look.getTime() - now.getTime());
  const recorded = await write(done, { kind: 'release', look_in_ms }, loop);
  if (recorded === null) return 0;

  loop.observer.pass((now.getTime() - began) / 1000);
  const { status, created_at } = done.operation;
  if (status.settled_at !== null && pass.written.status.settled_at === null) {
    loop.observer.settled((now.getTime() - Date.parse(created_at)) / 1000);
  }
  return recorded.woken ? 0 : look_in_ms;
}
