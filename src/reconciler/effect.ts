/** One effect: its intent is recorded, it is sent, its answer is taken in. */
import { effectKey, type KeyChoice, type Outcome } from '../operation/attempt.js';
import { TOO_SLOW } from '../operation/failure.js';
import { isInventoryStep, type Step } from '../operation/step.js';
import type { Intent, Recorded } from '../store/pass-store.js';
import { withOutcome, withStatus, type Pass } from './pass.js';
import type { LoopDependencies } from './ports.js';
import { write } from './write.js';

export type UsableKey = Exclude<KeyChoice, { kind: 'wait' }>;

/** Records the intent, sends the effect, takes in the answer. Null: someone else wrote, or the lease is over. */
export async function perform(
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

export function keyOf(
  { operation }: Pass,
  step: Step,
  key: UsableKey,
): Pick<Intent, 'ordinal' | 'effect_key'> {
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
  const held = loop.accounts.steps.heldBack(pass.operation.account, step.name);
  if (held !== null) return { kind: 'not_sent', failure: held };
  const provider = required(loop.accounts.provider(pass.operation.account));
  const outcome = await provider.apply({ step: step.name, reference, key: intent.effect_key, parameters });
  loop.observer.request(pass.operation.account, step.name, outcome.kind);
  const { account, operation_id, facts } = pass.operation;
  const again = facts.failure?.step === step.name;
  return loop.accounts.applied({ account, operation: operation_id, step: step.name }, again, outcome);
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

/** Steps are decided only where their port exists: see policy.inventory, and the reading of the account. */
function required<Port>(port: Port | null | undefined): Port {
  if (port == null) throw new Error('a step was decided for which no port is configured');
  return port;
}
