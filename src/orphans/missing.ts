/**
 * Operations whose payment the provider does not know. One absence is no proof: account and mode must be those that were
 * pinned at first contact, the payment must be old enough, and its id and the list around its creation must agree.
 */
import { recordedEvidence } from '../findings/compare.js';
import type { Draft } from '../findings/finding.js';
import type { Failure } from '../operation/failure.js';
import type { PaymentProvider } from '../payment/port.js';
import { nameOf } from '../reconciler/broken.js';
import { isAway } from '../store/database.js';
import type { MissingCandidate } from '../store/missing-walk-store.js';
import type { SweepClaim } from '../findings/rounds.js';
import { SECOND_LOOK_MS } from './look.js';
import { FOR_SWEEP, type GoesOn, type OrphanDependencies } from './ports.js';

/** There are none, as a rule; many at once are one wrong account, of which each tells the same. */
const CANDIDATES_PER_TICK = 5;
/** The clocks of provider and database agree within this, and a request does not travel longer. */
const AROUND_MS = 120_000;
/** 500 payments within some minutes; where there are more, this order has to wait for a person without our proof. */
const MOST_PAGES = 5;

/** Walks on over the records. The cursor passes a record only when it was looked for: a walk may take days to come back. */
export async function lookForMissing(
  claim: SweepClaim,
  provider: PaymentProvider,
  goesOn: GoesOn,
  deps: OrphanDependencies,
): Promise<void> {
  const { missing, grace_ms } = deps;
  const { candidates, walked_to } = await missing.candidates(claim, grace_ms, CANDIDATES_PER_TICK);
  for (const candidate of candidates) {
    if (!(await goesOn()) || !(await passed(candidate, claim, provider, goesOn, deps))) return;
    await missing.walkedTo(claim, candidate.position);
  }
  await missing.walkedTo(claim, walked_to);
}

/** What goes wrong with one record is told; the walk goes on behind it and comes back in its next round. */
async function passed(
  candidate: MissingCandidate,
  claim: SweepClaim,
  provider: PaymentProvider,
  goesOn: GoesOn,
  deps: OrphanDependencies,
): Promise<boolean> {
  try {
    return await lookFor(candidate, claim, provider, goesOn, deps);
  } catch (error) {
    if (isAway(error)) throw error;
    const about = { account: claim.account, payment: candidate.reference, error: nameOf(error) };
    deps.log.error(about, 'a payment that is not found could not be judged');
    return true;
  }
}

/** False: it was not looked for, since nothing more is to be asked now. */
async function lookFor(
  candidate: MissingCandidate,
  claim: SweepClaim,
  provider: PaymentProvider,
  goesOn: GoesOn,
  deps: OrphanDependencies,
): Promise<boolean> {
  const { findings, lease_ms, interval_ms, log } = deps;
  const { reference } = candidate;
  const about = { account: claim.account, payment: reference };
  const byId = await provider.observe({ reference, refunds: false });
  deps.observer.request(claim.account, 'observe_payment', byId.kind);
  if (byId.kind === 'unknown') return failed(byId.failure, about, goesOn, deps);
  if (byId.kind === 'present') return true;
  const listed = await listAround(candidate, claim, provider, goesOn, deps);
  switch (listed.kind) {
    case 'stopped':
      return false;
    case 'unknown':
      return failed(listed.failure, about, goesOn, deps);
    case 'unlisted':
      log.warn(about, 'the payments around one that is not found are too many to be listed');
      return true;
    case 'present':
      log.error(about, 'the provider lists a payment whose id it does not know');
      return true;
    case 'absent':
      break;
  }
  const pace = { lease_ms, interval_ms, second_look_ms: Math.min(SECOND_LOOK_MS, interval_ms) };
  const [settled] = await findings.settle(claim, reference, [draftOf(candidate, claim, listed.proof)], pace);
  if (settled?.opened === true) {
    const { finding_id, kind } = settled;
    log.error({ account: claim.account, finding_id, kind, payment: reference }, 'a finding');
  }
  return true;
}

/** Trouble of the one payment is passed, that of the account is waited for. */
async function failed(
  failure: Failure,
  about: { readonly account: string; readonly payment: string },
  goesOn: GoesOn,
  { accounts, log }: OrphanDependencies,
): Promise<boolean> {
  const { code } = await accounts.failed(
    { account: about.account, operation: FOR_SWEEP, step: null },
    failure,
  );
  log.warn({ ...about, code }, 'a payment that is not found could not be looked for');
  return goesOn();
}

/** The list that was read, and how many payments it held. */
interface Proof {
  readonly created_from: string;
  readonly created_to: string;
  readonly payments: number;
}
type Listed =
  | { readonly kind: 'absent'; readonly proof: Proof }
  | { readonly kind: 'unknown'; readonly failure: Failure }
  | { readonly kind: 'present' | 'unlisted' | 'stopped' };

async function listAround(
  { reference, created_from, created_to }: MissingCandidate,
  claim: SweepClaim,
  provider: PaymentProvider,
  goesOn: GoesOn,
  deps: OrphanDependencies,
): Promise<Listed> {
  const window = {
    created_from: new Date(Date.parse(created_from) - AROUND_MS).toISOString(),
    created_to: new Date(Date.parse(created_to) + AROUND_MS).toISOString(),
  };
  let after: string | null = null;
  let payments = 0;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    if (!(await goesOn())) return { kind: 'stopped' };
    const reading = await provider.list({ ...window, after });
    deps.observer.request(claim.account, 'list_payments', reading.kind);
    if (reading.kind === 'unknown') return { kind: 'unknown', failure: reading.failure };
    if (reading.kind === 'absent') return { kind: 'unlisted' };
    const { value } = reading;
    const ids = [...value.payments.map(({ payment }) => payment.reference), ...value.unreadable];
    if (ids.includes(reference)) return { kind: 'present' };
    payments += ids.length;
    if (!value.has_more) return { kind: 'absent', proof: { ...window, payments } };
    after = value.last;
  }
  return { kind: 'unlisted' };
}

function draftOf(candidate: MissingCandidate, claim: SweepClaim, listed: Proof): Draft {
  const { operation, reference, identity, livemode } = candidate;
  const { captured } = operation.facts.payment;
  const mode = livemode === null ? 'mode unknown' : livemode ? 'live' : 'test';
  return {
    kind: 'payment_missing',
    reference,
    operation_id: operation.operation_id,
    amount: captured,
    currency: operation.wish.spec.amount.currency,
    message: `The operation "${operation.operation_id}" has recorded the payment ${reference}; the account ${identity} (${mode}) knows it neither by its id nor in its list.`,
    evidence: {
      provider: null,
      recorded: recordedEvidence(operation),
      proof: {
        account_identity: identity,
        livemode,
        by_id: 'absent',
        listed,
        looked_at: claim.now.toISOString(),
      },
    },
    suggested: 'check_provider',
    ripe_at: claim.now.toISOString(),
    waits_for: null,
    cancel: false,
    created_at: null,
    terms: null,
  };
}
