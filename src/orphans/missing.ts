/**
 * Operations whose payment the provider does not know. One absence is no proof: account and mode must be those that were
 * pinned at first contact, the payment must be old enough, and its id and the list around its creation must agree.
 */
import { recordedEvidence } from '../findings/compare.js';
import type { Draft } from '../findings/finding.js';
import type { PaymentProvider } from '../payment/port.js';
import type { MissingCandidate } from '../store/missing-walk-store.js';
import type { SweepClaim } from '../findings/rounds.js';
import { SECOND_LOOK_MS } from './look.js';
import { FOR_SWEEP, type OrphanDependencies } from './ports.js';

/** There are none, as a rule; many at once are one wrong account, of which each tells the same. */
const CANDIDATES_PER_TICK = 5;
/** The clocks of provider and database agree within this, and a request does not travel longer. */
const AROUND_MS = 120_000;
/** 500 payments within some minutes; where there are more, this order has to wait for a person without our proof. */
const MOST_PAGES = 5;

export async function lookForMissing(
  claim: SweepClaim,
  provider: PaymentProvider,
  deps: OrphanDependencies,
): Promise<void> {
  const { findings, missing, lease_ms, interval_ms, grace_ms, log } = deps;
  for (const candidate of await missing.candidates(claim, grace_ms, CANDIDATES_PER_TICK)) {
    const { reference } = candidate;
    const byId = await provider.observe({ reference, refunds: false });
    deps.observer.request(claim.account, 'observe_payment', byId.kind);
    if (byId.kind === 'unknown') {
      await deps.accounts.failed(claim.account, FOR_SWEEP, byId.failure);
      return;
    }
    if (byId.kind === 'present') continue;
    const listed = await listAround(candidate, claim, provider, deps);
    if (listed === 'unknown') return;
    if (listed === 'present') {
      log.error(
        { account: claim.account, payment: reference },
        'the provider lists a payment whose id it does not know',
      );
      continue;
    }
    const pace = { lease_ms, interval_ms, second_look_ms: Math.min(SECOND_LOOK_MS, interval_ms) };
    const [settled] = await findings.settle(claim, reference, [draftOf(candidate, claim, listed)], pace);
    if (settled?.opened === true) {
      const { finding_id, kind } = settled;
      log.error({ account: claim.account, finding_id, kind, payment: reference }, 'a finding');
    }
  }
}

interface Listed {
  readonly created_from: string;
  readonly created_to: string;
  readonly payments: number;
}

/** `unknown` also where the window holds too much to be read within a tick. */
async function listAround(
  { reference, created_from, created_to }: MissingCandidate,
  claim: SweepClaim,
  provider: PaymentProvider,
  deps: OrphanDependencies,
): Promise<Listed | 'present' | 'unknown'> {
  const window = {
    created_from: new Date(Date.parse(created_from) - AROUND_MS).toISOString(),
    created_to: new Date(Date.parse(created_to) + AROUND_MS).toISOString(),
  };
  let after: string | null = null;
  let payments = 0;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const reading = await provider.list({ ...window, after });
    deps.observer.request(claim.account, 'list_payments', reading.kind);
    if (reading.kind === 'unknown') await deps.accounts.failed(claim.account, FOR_SWEEP, reading.failure);
    if (reading.kind !== 'present') return 'unknown';
    const { value } = reading;
    const ids = [...value.payments.map(({ payment }) => payment.reference), ...value.unreadable];
    if (ids.includes(reference)) return 'present';
    payments += ids.length;
    if (!value.has_more) return { ...window, payments };
    after = value.last;
  }
  return 'unknown';
}

function draftOf(candidate: MissingCandidate, claim: SweepClaim, listed: Listed): Draft {
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
