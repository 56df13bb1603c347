/**
 * Carries out what people decided about findings. Each is read, acted on once, and read again; what became of it is told
 * from the reading. A crash at any point leaves a decision that is due, and what it sent in the journal.
 */
import type { Finding } from '../findings/finding.js';
import type { FindingOutcome } from '../findings/finding-command.js';
import { nextOf, nextUnseen, stepOf, type GiveBack, type Next } from '../findings/give-back.js';
import type { SweepClaim } from '../findings/rounds.js';
import { whoseItMayBe } from '../findings/sides.js';
import { triedOf } from '../operation/evidence.js';
import type { Failure } from '../operation/failure.js';
import { formatMoney } from '../operation/money.js';
import type { PaymentReading } from '../operation/observation.js';
import { withoutPerson } from '../operation/personal-data.js';
import type { PaymentProvider } from '../payment/port.js';
import { SYSTEM } from '../reconciler/events.js';
import { isAway } from '../store/database.js';
import type { FindingCommandRecord } from '../store/finding-command-store.js';
import { NO_LIMITS } from '../store/refund-brake.js';
import { settle } from './look.js';
import type { GoesOn, OrphanDependencies } from './ports.js';
import { see, type Seen } from './see.js';
import { send } from './send.js';

/** People decide on one at a time; each is some requests. */
const DECISIONS_PER_TICK = 10;
/** What waits for the provider, or for its word, is asked about this often at least. */
const MOST_MS = 3_600_000;
/** Nothing is asked of the provider that costs: the account is stopped, and goes on when it is resumed. */
const STOPPED_MS = 60_000;

/** The name of the effect at the provider, in the metadata of a refund: one decision is one effect. */
export const targetOf = (previewId: string): string => `stray-${previewId}`;

/** False: nothing more is to be asked now. */
export async function carryOutDecided(
  claim: SweepClaim,
  provider: PaymentProvider,
  goesOn: GoesOn,
  deps: OrphanDependencies,
): Promise<boolean> {
  for (const command of await deps.commands.due(claim.account, DECISIONS_PER_TICK)) {
    if (!(await goesOn())) return false;
    try {
      if (!(await carryOut(command, claim, provider, goesOn, deps))) return false;
    } catch (error) {
      // That the database is away says nothing about the decision; anything else must not hold up the others, or the sweep.
      if (isAway(error)) throw error;
      const { account, preview_id } = command;
      deps.log.error({ account, preview_id, error: String(error) }, 'a decision about a finding broke off');
      await deps.commands.postpone(claim, preview_id, BROKEN, MOST_MS);
    }
  }
  return true;
}

async function carryOut(
  command: FindingCommandRecord,
  claim: SweepClaim,
  provider: PaymentProvider,
  goesOn: GoesOn,
  deps: OrphanDependencies,
): Promise<boolean> {
  const { preview_id, gives_back } = command;
  let seen = await look(command, claim, provider, deps);
  if (command.operation_command !== null) {
    // What becomes of an adoption the operation tells.
    await deps.commands.looked(preview_id);
    return true;
  }
  if (gives_back === null) {
    if (seen.reading.kind === 'unknown')
      return postpone(unreadable(seen.reading.failure), command, claim, goesOn, deps);
    await observed(command, 'It was read once more; nothing was sent.', seen, claim, deps);
    return true;
  }
  let next = await nextFor(command, gives_back, seen, claim, deps);
  if (next.kind === 'send') {
    if (!(await goesOn())) return false;
    const why = await act(command, gives_back, seen, claim, provider, deps);
    if (why !== null) return postpone(why, command, claim, goesOn, deps);
    if (!(await goesOn())) return false;
    seen = await look(command, claim, provider, deps);
    next = await nextFor(command, gives_back, seen, claim, deps);
  }
  if (next.kind !== 'ended')
    return postpone(next.kind === 'wait' ? next.why : IN_DOUBT, command, claim, goesOn, deps);
  await observed(command, next.summary, seen, claim, deps);
  return true;
}

const BROKEN = 'It broke off; the log says why, under its preview_id. It is tried again.';
const IN_DOUBT =
  'What was sent did not show at the provider yet; it is read, and sent again under the same key.';

const unreadable = ({ message }: Failure): string => `The payment cannot be read: ${message}`;

/** Reads the payment, and what is to be said of it. */
async function look(
  { account, provider_reference: reference, finding_id }: FindingCommandRecord,
  claim: SweepClaim,
  provider: PaymentProvider,
  deps: OrphanDependencies,
): Promise<Seen> {
  const found = await deps.findings.find(finding_id);
  const seen = await see(
    found?.look ?? { reference, created_at: null, terms: null },
    account,
    provider,
    deps,
  );
  if (seen.reading.kind === 'present') await settle(reference, seen.drafts, claim, deps);
  return seen;
}

async function nextFor(
  { account, preview_id, carried_out_at }: FindingCommandRecord,
  gives_back: GiveBack,
  seen: Seen,
  claim: SweepClaim,
  { attempts }: OrphanDependencies,
): Promise<Next> {
  if (seen.reading.kind === 'unknown') return { kind: 'wait', why: unreadable(seen.reading.failure) };
  const tries = await attempts.of({ preview_id });
  if (seen.reading.kind === 'absent') return nextUnseen(carried_out_at ?? '', tries, claim.now);
  const payment = seen.reading.value;
  const bar = whoseItMayBe(payment, seen.records, account);
  return nextOf(gives_back, targetOf(preview_id), payment, tries, bar, claim.now);
}

/** Sends the one effect that was decided on. Null: it was sent, whatever was answered; else why it waits. */
async function act(
  { account, preview_id }: FindingCommandRecord,
  gives_back: GiveBack,
  { reading }: Seen,
  claim: SweepClaim,
  provider: PaymentProvider,
  deps: OrphanDependencies,
): Promise<string | null> {
  if (reading.kind !== 'present') return IN_DOUBT;
  const paused = await deps.accounts.pauseOf(account);
  if (paused !== null) return `All writes of the account are stopped by ${paused.by}: ${paused.reason}`;
  const step = stepOf(gives_back, targetOf(preview_id), reading.value) as Parameters<typeof send>[0];
  // The brake is on what goes out by itself. Without a recorded leave Postgres refuses the intent, whoever decided.
  const leave = async (key: string): Promise<boolean> =>
    step.name !== 'create_refund' ||
    (await deps.brake.admit(account, key, step.amount, step.currency, NO_LIMITS)).kind === 'admitted';
  const sent = await send(step, { preview_id }, preview_id, claim, provider, deps, leave);
  switch (sent.kind) {
    case 'answered':
      return null;
    case 'early':
      return IN_DOUBT;
    case 'held_back':
      return 'Other refunds of the account were asking for leave; it asks again.';
    case 'not_begun':
      return 'What it rests on changed at this moment; it is looked at again.';
  }
}

/** Trouble of the account stops everything, and puts nothing off. */
async function postpone(
  why: string,
  { account, preview_id }: FindingCommandRecord,
  claim: SweepClaim,
  goesOn: GoesOn,
  { accounts, commands }: OrphanDependencies,
): Promise<boolean> {
  if (!(await goesOn())) return false;
  const paused = await accounts.pauseOf(account);
  await commands.postpone(claim, preview_id, why, paused === null ? MOST_MS : STOPPED_MS);
  return true;
}

async function observed(
  command: FindingCommandRecord,
  summary: string,
  { reading }: Seen,
  claim: SweepClaim,
  { attempts, commands, findings, clock }: OrphanDependencies,
): Promise<void> {
  const { preview_id, finding_id } = command;
  const found = await findings.find(finding_id);
  const outcome: FindingOutcome = {
    summary: `${summary} ${reading.kind === 'present' ? inWords(reading.value) : 'The provider does not know this payment now.'} ${standing(found?.finding)}`,
    finding_state: found?.finding.state ?? 'open',
    payment: reading.kind === 'present' ? { ...withoutPerson(reading.value) } : null,
    attempts: (await attempts.of({ preview_id })).map(triedOf),
    observed_at: clock.now().toISOString(),
    operation: null,
  };
  await commands.observed(claim, preview_id, outcome, {
    type: 'finding_command_observed',
    actor: SYSTEM,
    message: `${command.command} of ${command.provider_reference}: ${outcome.summary}`,
    data: { preview_id, finding_id, command: command.command, outcome },
  });
}

function inWords(payment: PaymentReading): string {
  const money = (amount: number): string => formatMoney(amount, payment.currency);
  const refunded = (payment.refunds ?? [])
    .filter(({ state }) => state === 'succeeded')
    .reduce((sum, { amount }) => sum + amount, 0);
  return `The payment is ${payment.state}: ${money(payment.captured)} taken, ${money(refunded)} given back, ${money(payment.authorized)} held.`;
}

function standing(finding: Finding | undefined): string {
  // Another look has to confirm it first.
  if (finding === undefined) return 'The finding is suspected anew.';
  return finding.state === 'resolved'
    ? 'The finding is resolved.'
    : `The finding is ${finding.state}: ${finding.message}`;
}
