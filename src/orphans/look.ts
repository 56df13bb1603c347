/** A look at one payment: what is to be said of it now, and nothing else any more. */
import { compare } from '../findings/compare.js';
import type { Draft, SeenPayment } from '../findings/finding.js';
import { OperationId } from '../operation/spec.js';
import type { PaymentProvider } from '../payment/port.js';
import type { DueLook } from '../store/finding-store.js';
import type { SweepClaim } from '../findings/rounds.js';
import { cancelStray } from './cancel-stray.js';
import { FOR_SWEEP, type GoesOn, type OrphanDependencies } from './ports.js';

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
  const drafts = await see(due, claim, provider, deps);
  const { findings, interval_ms, lease_ms, log } = deps;
  if (drafts === 'unknown') {
    if (!(await goesOn())) return 'stopped';
    // The longest waiting comes first: left as it is, it would keep all others from ever being looked at.
    await findings.postpone(claim, due.reference, interval_ms);
    return 'unreadable';
  }
  // That an id is not found proves nothing about the payment.
  if (drafts === 'absent') {
    await findings.postpone(claim, due.reference, interval_ms);
    return 'seen';
  }
  const pace = { lease_ms, interval_ms, second_look_ms: Math.min(SECOND_LOOK_MS, interval_ms) };
  const settled = await findings.settle(claim, due.reference, drafts, pace);
  for (const { finding_id, kind, state, opened } of settled) {
    const draft = drafts.find((one) => one.kind === kind);
    if (opened) {
      // What it says stands in the finding: a log holds no text of the record.
      log.warn({ account: claim.account, finding_id, kind, payment: due.reference }, 'a finding');
    }
    if (state !== 'open' || draft?.cancel !== true || !mayCancel) continue;
    if (!(await goesOn())) return 'stopped';
    const canceled = await cancelStray(finding_id, draft, claim, provider, deps);
    if (canceled) await lookAt(due, claim, provider, goesOn, deps, false);
  }
  return 'seen';
}

async function see(
  due: DueLook,
  claim: SweepClaim,
  provider: PaymentProvider,
  deps: OrphanDependencies,
): Promise<readonly Draft[] | 'unknown' | 'absent'> {
  const { accounts, findings, observer, exclusive, grace_ms, log } = deps;
  const { account } = claim;
  const { reference } = due;
  const observed = await provider.observe({ reference, refunds: true });
  observer.request(account, 'observe_payment', observed.kind);
  const reading = await accounts.read(account, FOR_SWEEP, observed);
  if (reading.kind === 'unknown') {
    const { code } = reading.failure;
    log.warn({ account, payment: reference, code }, 'a suspected payment could not be read');
  }
  if (reading.kind !== 'present') return reading.kind;
  const payment = reading.value;
  const named = payment.operation_id;
  const records = await findings.matching(
    account,
    [reference],
    named !== null && OperationId.safeParse(named).success ? [named] : [],
  );
  const seen: SeenPayment = {
    payment,
    // Only lists tell when it was created; a payment that no list showed is an old one.
    created_at: due.created_at ?? new Date(0).toISOString(),
    refunded: null,
    terms: due.terms ?? {},
  };
  const rules = { account, exclusive: exclusive.has(account), grace_ms };
  return compare([seen], await findings.withCreates(records), rules).drafts;
}
