/** A look at one payment: what is to be said of it now, and nothing else any more. */
import type { Draft } from '../findings/finding.js';
import type { SweepClaim } from '../findings/rounds.js';
import type { PaymentProvider } from '../payment/port.js';
import type { DueLook, Settled } from '../store/finding-store.js';
import { cancelStray } from './cancel-stray.js';
import type { GoesOn, OrphanDependencies } from './ports.js';
import { see } from './see.js';

/** A record that was woken is read within seconds; the look that judges what it read comes after it. */
export const SECOND_LOOK_MS = 60_000;

/** `unreadable`: this one payment, which waits for a later look. `stopped`: nothing more is to be asked now. */
export type Look = 'seen' | 'unreadable' | 'stopped';

/** `mayCancel`: false for the look after a cancellation. What that did not settle waits for the next look. */
export async function lookAt(
  due: DueLook,
  claim: SweepClaim,
  provider: PaymentProvider,
  goesOn: GoesOn,
  deps: OrphanDependencies,
  mayCancel = true,
): Promise<Look> {
  const { reading, drafts } = await see(due, claim.account, provider, deps);
  const { findings, interval_ms } = deps;
  if (reading.kind === 'unknown') {
    if (!(await goesOn())) return 'stopped';
    // The longest waiting comes first: left as it is, it would keep all others from ever being looked at.
    await findings.postpone(claim, due.reference, interval_ms);
    return 'unreadable';
  }
  // That an id is not found proves nothing about the payment.
  if (reading.kind === 'absent') {
    await findings.postpone(claim, due.reference, interval_ms);
    return 'seen';
  }
  for (const { finding_id, kind, state } of await settle(due.reference, drafts, claim, deps)) {
    const draft = drafts.find((one) => one.kind === kind);
    if (state !== 'open' || draft?.cancel !== true || !mayCancel) continue;
    if (!(await goesOn())) return 'stopped';
    const canceled = await cancelStray(finding_id, draft, claim, provider, deps);
    if (canceled) await lookAt(due, claim, provider, goesOn, deps, false);
  }
  return 'seen';
}

/** Writes what a look showed, and tells of what became a finding by it. */
export async function settle(
  reference: string,
  drafts: readonly Draft[],
  claim: SweepClaim,
  { findings, interval_ms, lease_ms, log }: OrphanDependencies,
): Promise<Settled[]> {
  const pace = { lease_ms, interval_ms, second_look_ms: Math.min(SECOND_LOOK_MS, interval_ms) };
  const settled = await findings.settle(claim, reference, drafts, pace);
  for (const { finding_id, kind, opened } of settled) {
    // What it says stands in the finding: a log holds no text of the record.
    if (opened) log.warn({ account: claim.account, finding_id, kind, payment: reference }, 'a finding');
  }
  return settled;
}
