/**
 * One effect on a payment beside the orders. The intent is recorded before the call, under the key that every retry of it
 * has; a crash in between leaves an open attempt, and the next look shows what became of it.
 */
import { chooseKey, effectKey, type Outcome } from '../operation/attempt.js';
import { TOO_SLOW } from '../operation/failure.js';
import type { PaymentStep } from '../operation/step.js';
import type { PaymentProvider } from '../payment/port.js';
import type { SweepClaim } from '../findings/rounds.js';
import type { Cause, FindingIntent } from '../store/finding-attempt-store.js';
import { FOR_SWEEP, type OrphanDependencies } from './ports.js';

export type StrayStep = Extract<PaymentStep, { readonly name: 'cancel_payment' | 'create_refund' }>;

export type Sent =
  | { readonly kind: 'answered'; readonly outcome: Outcome }
  /** Another key will be needed, and it is too early for it. */
  | { readonly kind: 'early' }
  /** No leave of the money-out brake yet. */
  | { readonly kind: 'held_back' }
  /** The account is stopped, or the claim is over, or what it was to be done for is not so any more. */
  | { readonly kind: 'not_begun' };

/** `identity`: whose effect it is; with the step it makes the key. `leave`: asked before the intent of a refund. */
export async function send(
  step: StrayStep,
  cause: Cause,
  identity: string,
  claim: SweepClaim,
  provider: PaymentProvider,
  deps: OrphanDependencies,
  leave: (effectKey: string) => Promise<boolean> = () => Promise.resolve(true),
): Promise<Sent> {
  const { attempts, observer, clock, log } = deps;
  const { name, target, reference } = step;
  const key = chooseKey(await attempts.of(cause), name, target, claim.now);
  if (key.kind === 'wait') return { kind: 'early' };
  const intent: FindingIntent =
    key.kind === 'resend'
      ? { ...key.attempt, step: name }
      : {
          step: name,
          target,
          ordinal: key.ordinal,
          effect_key: effectKey(identity, name, target, key.ordinal),
          parameters: provider.prepare(step),
        };
  if (!(await leave(intent.effect_key))) return { kind: 'held_back' };
  const asked = clock.now().getTime();
  const attempt = await attempts.begin(claim, cause, intent, deps.lease_ms);
  if (attempt === null) return { kind: 'not_begun' };
  const isLate = clock.now().getTime() - asked > deps.lease_ms - 2 * deps.provider_timeout_ms;
  const outcome = isLate
    ? SLOW
    : await call(step, intent, claim.account, provider, deps, key.kind === 'resend');
  observer.effect(name, outcome.kind);
  await attempts.complete(attempt, outcome);
  const about = { account: claim.account, payment: reference };
  if ('failure' in outcome) {
    const { code } = outcome.failure;
    log.warn({ ...about, outcome: outcome.kind, code }, `a stray payment could not be ${DONE[name]}`);
  } else log.info({ ...about, outcome: outcome.kind }, `a stray payment was ${DONE[name]}`);
  return { kind: 'answered', outcome };
}

const DONE: Readonly<Record<StrayStep['name'], string>> = {
  cancel_payment: 'canceled',
  create_refund: 'given back',
};

/** The process may have stood still since the intent: a call is not begun that could outlast the claim. */
const SLOW: Outcome = {
  kind: 'not_sent',
  failure: { class: 'transient', code: TOO_SLOW, message: 'The worker was too slow to begin the call.' },
};

async function call(
  { name, reference }: StrayStep,
  { effect_key, parameters }: FindingIntent,
  account: string,
  provider: PaymentProvider,
  { accounts, observer }: OrphanDependencies,
  again: boolean,
): Promise<Outcome> {
  const answer = await provider.apply({ step: name, reference, key: effect_key, parameters });
  observer.request(account, name, answer.kind);
  return accounts.applied({ account, operation: FOR_SWEEP, step: name }, again, answer);
}
