/**
 * Cancels a payment of ours that never took money and that nobody needs. The intent is recorded before the call, under the
 * key that every retry of it has; a crash in between leaves an open attempt, and the next look shows what became of it.
 */
import type { Draft } from '../findings/finding.js';
import { chooseKey, effectKey } from '../operation/attempt.js';
import type { PaymentProvider } from '../payment/port.js';
import type { SweepClaim } from '../findings/rounds.js';
import { FOR_SWEEP, type OrphanDependencies } from './ports.js';

const STEP = 'cancel_payment';

/** True when the provider said that it is done. */
export async function cancelStray(
  findingId: string,
  draft: Draft,
  claim: SweepClaim,
  provider: PaymentProvider,
  deps: OrphanDependencies,
): Promise<boolean> {
  const { cancels, accounts, observer, log } = deps;
  const { reference } = draft;
  // Without the terms of its creation it cannot be told to be ours.
  if (draft.operation_id === null || draft.terms === null) return false;
  // Not the target that the operation's own cancellation would have: its journal is another.
  const target = `stray ${reference}`;
  const key = chooseKey(await cancels.of(findingId), STEP, target, claim.now);
  if (key.kind === 'wait') return false;
  const { ordinal, effect_key, parameters } =
    key.kind === 'resend'
      ? key.attempt
      : {
          ordinal: key.ordinal,
          effect_key: effectKey(draft.operation_id, STEP, target, key.ordinal),
          parameters: provider.prepare({ name: STEP, target, reference }),
        };
  const attempt = await cancels.begin(claim, findingId, { target, ordinal, effect_key, parameters });
  if (attempt === null) return false;
  const answer = await provider.apply({ step: STEP, reference, key: effect_key, parameters });
  observer.request(claim.account, STEP, answer.kind);
  observer.effect(STEP, answer.kind);
  const call = { account: claim.account, operation: FOR_SWEEP, step: STEP } as const;
  const outcome = await accounts.applied(call, false, answer);
  await cancels.complete(attempt, outcome);
  const about = { account: claim.account, payment: reference };
  if (outcome.kind === 'done') {
    log.info(about, 'a stray payment was canceled');
    return true;
  }
  const code = 'failure' in outcome ? outcome.failure.code : null;
  log.warn({ ...about, outcome: outcome.kind, code }, 'a stray payment could not be canceled');
  return false;
}
