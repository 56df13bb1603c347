/** The loop for one record: observe → next step → record the intent → apply → record the outcome, until none is left. */
import { chooseKey, effectKey, type KeyChoice, type Outcome } from '../operation/attempt.js';
import { paymentFailure } from '../operation/absorb.js';
import { decisionsOf, firstOrdinal } from '../operation/decisions.js';
import { TOO_SLOW } from '../operation/failure.js';
import type { Seen } from '../operation/observation.js';
import type { Observation } from '../operation/observation.js';
import { nextLook } from '../operation/schedule.js';
import { isInventoryStep, type Decision, type Step } from '../operation/step.js';
import { persistently } from '../persistently.js';
import { isAway, isRefused } from '../store/database.js';
import { isTakenPayment, type Claim, type Entry, type Intent, type Recorded } from '../store/pass-store.js';
import { NO_LIMITS } from '../store/refund-brake.js';
import { breakOff } from './broken.js';
import { observe, refundsMatter } from './observe.js';
import {
  beginPass,
  decide,
  isChanged,
  withBrake,
  withObservation,
  withOutcome,
  withStatus,
  withTakenPayment,
  type Pass,
} from './pass.js';
import type { LoopDependencies } from './ports.js';

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
  const observation = await observe(pass, loop, refunds);
  return {
    pass: await alone(pass, observation, loop),
    seen: {
      payment: paymentFailure(pass.operation, observation) === null,
      inventory: observation.inventory.kind !== 'unknown',
    },
    refunds: refunds && observation.payment.kind === 'present' && observation.payment.value.refunds !== null,
  };
}

/**
 * What the look showed. A payment that the front end made is recorded as this order's before anything else is done, and
 * by one order only: of two that name it, the later one learns here that it is taken.
 */
async function alone(before: Pass, observation: Observation, loop: LoopDependencies): Promise<Pass> {
  const now = loop.clock.now();
  const pass = withObservation(before, observation, now);
  const { provider_reference: reference, wish } = pass.operation;
  const adopts = wish.spec.payment.reference !== null && before.operation.provider_reference === null;
  if (!adopts || reference === null) return pass;
  const other = await patiently(() => loop.store.adopt(pass.row, pass.fencing_token, reference), loop);
  return other === null ? pass : withObservation(withTakenPayment(before, other), observation, now);
}

type UsableKey = Exclude<KeyChoice, { kind: 'wait' }>;

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

/** Records the intent, sends the effect, takes in the answer. Null: someone else wrote, or the lease is over. */
async function perform(
  before: Pass,
  step: Step,
  key: UsableKey,
  loop: LoopDependencies,
): Promise<{ pass: Pass; outcome: Outcome } | null> {
  const asked = loop.clock.now().getTime();
  const { intent, sent } = intend(before, step, key, loop);
  const pass = withStatus(before, loop.clock.now(), loop.policy);
  const recorded = await write(pass, { kind: 'intent', intent, lease_ms: loop.lease_ms }, loop);
  if (recorded === null) return null;
  if (recorded.attempt === null) {
    // A newer wish or another worker: this pass knows too little to go on. Whoever holds the record looks again.
    // So does whoever comes after an account was stopped.
    // Released under the version that this pass knew, so that its status does not replace that of the newer wish. When
    // nobody wrote, the lease was over before the intent: the next try comes after a pause.
    const again = { ...adopted(pass, recorded), resource_version: pass.resource_version };
    const look_in_ms = recorded.woken ? 0 : loop.policy.backoff_base_ms;
    if (recorded.held) await write(again, { kind: 'release', look_in_ms }, loop);
    return null;
  }
  const { attempt } = recorded;
  const outcome = await send(step, intent, pass, loop, asked);
  loop.observer.effect(step.name, outcome.kind);
  const at = loop.clock.now().toISOString();
  return { pass: withOutcome(adopted(pass, recorded), sent, attempt, outcome, at), outcome };
}

/** The pass after its entry was written. */
function adopted(pass: Pass, recorded: Recorded): Pass {
  const { facts, status, provider_reference } = pass.operation;
  return {
    ...pass,
    resource_version: recorded.resource_version,
    written: { facts, status, provider_reference },
    completed: null,
    resolved: [],
    events: [],
    transitions: [],
  };
}

function keyOf({ operation }: Pass, step: Step, key: UsableKey): Pick<Intent, 'ordinal' | 'effect_key'> {
  if (key.kind === 'resend') return key.attempt;
  const { ordinal } = key;
  return { ordinal, effect_key: effectKey(operation.operation_id, step.name, step.target, ordinal) };
}

/** The intent of a step, and the step as it will be sent: a resend repeats the bytes of an earlier wish. */
function intend(
  pass: Pass,
  step: Step,
  key: UsableKey,
  loop: LoopDependencies,
): { intent: Intent; sent: Step } {
  const planned = prepare(step, pass, loop);
  const { ordinal, effect_key } = keyOf(pass, step, key);
  if (key.kind === 'resend') {
    const { parameters } = key.attempt;
    const same = JSON.stringify(parameters) === JSON.stringify(planned);
    const sent =
      !same && step.name === 'create_payment' ? { ...step, payment_method: null, customer: null } : step;
    return { intent: { step: step.name, target: step.target, ordinal, effect_key, parameters }, sent };
  }
  return {
    intent: { step: step.name, target: step.target, ordinal, effect_key, parameters: planned },
    sent: step,
  };
}

function prepare(step: Step, pass: Pass, loop: LoopDependencies): Intent['parameters'] {
  if (isInventoryStep(step)) return required(loop.inventory).prepare(step);
  return required(loop.accounts.provider(pass.operation.account)).prepare(step);
}

async function send(
  step: Step,
  intent: Intent,
  pass: Pass,
  loop: LoopDependencies,
  asked: number,
): Promise<Outcome> {
  // The process may have stood still since the intent was asked for. A call is not begun that could outlast the lease.
  const elapsed = loop.clock.now().getTime() - asked;
  if (elapsed > loop.lease_ms - 2 * loop.provider_timeout_ms) {
    return {
      kind: 'not_sent',
      failure: {
        class: 'transient',
        code: TOO_SLOW,
        message: 'The worker was too slow to begin the call.',
      },
    };
  }
  const { parameters } = intent;
  if (isInventoryStep(step)) {
    const { operation_id } = pass.operation;
    return required(loop.inventory).apply({ step: step.name, operation_id, parameters });
  }
  const reference = step.name === 'create_payment' ? null : step.reference;
  const provider = required(loop.accounts.provider(pass.operation.account));
  const outcome = await provider.apply({ step: step.name, reference, key: intent.effect_key, parameters });
  loop.observer.request(pass.operation.account, step.name, outcome.kind);
  return loop.accounts.applied(pass.operation.account, pass.operation.operation_id, outcome);
}

/** Steps are decided only where their port exists: see policy.inventory, and the reading of the account. */
function required<Port>(port: Port | null | undefined): Port {
  if (port == null) throw new Error('a step was decided for which no port is configured');
  return port;
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

/**
 * Writes what the pass knows. Null: the payment that it was to have is recorded as another order's; that is written
 * instead, and the pass is over.
 */
async function write(pass: Pass, next: Entry['next'], loop: LoopDependencies): Promise<Recorded | null> {
  try {
    return await writeEntry(pass, next, loop);
  } catch (error) {
    const { provider_reference: reference } = pass.operation;
    const isTaken = isTakenPayment(error) && reference !== null;
    const other = isTaken ? await patiently(() => loop.store.ownerOf(pass.row, reference), loop) : null;
    if (other === null) throw error;
    const taken = withStatus(withTakenPayment(pass, other), loop.clock.now(), loop.policy);
    await writeEntry(taken, { kind: 'release', look_in_ms: 0 }, loop);
    return null;
  }
}

/** An answer that comes after the lease was lost is kept, and wakes the record. */
async function writeEntry(pass: Pass, next: Entry['next'], loop: LoopDependencies): Promise<Recorded> {
  const { operation } = pass;
  const entry: Entry = {
    row: pass.row,
    worker: loop.worker,
    fencing_token: pass.fencing_token,
    resource_version: pass.resource_version,
    generation: operation.generation,
    facts: operation.facts,
    status: operation.status,
    provider_reference: operation.provider_reference,
    // An intent is a change by itself.
    changed: next.kind === 'intent' || isChanged(pass),
    completed: pass.completed,
    resolved: pass.resolved,
    events: pass.events,
    transitions: pass.transitions,
    next,
  };
  const recorded = await patiently(
    (again) => (again ? loop.store.recordAgain(entry) : loop.store.record(entry)),
    loop,
  );
  if (!recorded.held) {
    loop.log.warn(
      { operation_id: operation.operation_id },
      'the lease was lost; another pass goes on by reading',
    );
    if (pass.completed !== null) await patiently(() => loop.store.wake([pass.row]), loop);
  }
  return recorded;
}

/** What was just learnt is worth some patience with a database that restarts, none with one that refuses it. */
const patiently = <Result>(
  statement: (again: boolean) => Promise<Result>,
  { log }: LoopDependencies,
): Promise<Result> =>
  persistently(statement, {
    isFutile: isRefused,
    onFailure: (error, tries) => log.warn({ error: String(error), tries }, 'a write failed and is repeated'),
  });
