/** One look for people: the same reading and the same decision as a pass, with nothing done and nothing written. */
import { paymentFailure } from '../operation/absorb.js';
import { withdrawn } from '../operation/dispute.js';
import type { Look } from '../operation/evidence.js';
import { mismatchOf } from '../operation/mismatch.js';
import { formatMoney } from '../operation/money.js';
import type { Seen } from '../operation/observation.js';
import { readable, type Operation } from '../operation/operation.js';
import { givenBack } from '../operation/refund.js';
import type { JournalAttempt, OperationRecord } from '../store/record.js';
import { observe, seenIn } from './observe.js';
import { beginPass, decide, withObservation } from './pass.js';
import type { LoopDependencies } from './ports.js';

export type Eyes = Pick<LoopDependencies, 'accounts' | 'inventory' | 'clock' | 'observer' | 'policy'>;

export interface Looked extends Look {
  readonly recorded: OperationRecord;
  /** The journal as it is recorded; in `seen`, as it reads with what was just seen. */
  readonly journal: readonly JournalAttempt[];
  /** Which sides could be read. */
  readonly sides: Seen;
}

export async function lookAt(
  stored: OperationRecord,
  attempts: readonly JournalAttempt[],
  eyes: Eyes,
): Promise<Looked> {
  const recorded = readable(stored);
  const paused = await eyes.accounts.pauseOf(recorded.account);
  const account = paused === null ? {} : { account_paused: paused };
  const begun = beginPass({ row: '', fencing_token: 0, record: recorded, attempts, ...account });
  const observation = await observe(begun, eyes, true);
  const now = eyes.clock.now();
  const after = withObservation(begun, observation, now);
  const sides = seenIn(begun.operation, observation);
  const { pass, decision } = decide(after, sides, now, eyes.policy);
  return {
    recorded,
    journal: attempts,
    seen: { operation: pass.operation, attempts: pass.attempts },
    observation,
    sides,
    decision,
  };
}

/** What an order would adopt, in words; or why it cannot be its own. */
export type Adoption = { readonly why: string } | { readonly effects: readonly string[] };

/** Reads the payment that an order is about to adopt, by the rules of a pass. */
export async function adoptionOf(
  record: OperationRecord,
  attempts: readonly JournalAttempt[],
  eyes: Eyes,
): Promise<Adoption> {
  const pass = beginPass({ row: '', fencing_token: 0, record, attempts });
  const observation = await observe(pass, eyes, true);
  const { operation } = withObservation(pass, observation, eyes.clock.now());
  const failure = paymentFailure(pass.operation, observation);
  if (failure !== null) return { why: failure.message };
  if (operation.facts.payment.state === 'unknown')
    return { why: 'The provider reports a status that this version does not know.' };
  const mismatch = mismatchOf(operation);
  return mismatch === null ? holdingOf(operation) : { why: mismatch.why };
}

/** What the payment brings, and plainly what it does not: an order that adopts it stands short by that. */
function holdingOf({ facts, wish }: Operation): Adoption {
  const { payment } = facts;
  const { value, currency } = wish.spec.amount;
  const money = (amount: number): string => formatMoney(amount, currency);
  const brought = `It is ${payment.state}: ${money(payment.captured)} taken, ${money(payment.authorized)} held.`;
  if (payment.state !== 'captured') return { effects: [brought] };
  const given = givenBack(facts);
  const charged = payment.lost + withdrawn(payment);
  if (payment.captured <= given + charged)
    return { why: `Nothing of it is left: ${money(given)} went back, ${money(charged)} was charged back.` };
  return {
    effects: [
      brought,
      ...(payment.captured < value
        ? [`It took less than the ${money(value)} that the order wants: the rest stays unpaid.`]
        : []),
      ...(given > 0 ? [`Of it ${money(given)} went back already or is on its way back.`] : []),
      ...(charged > 0 ? [`Of it ${money(charged)} is charged back by the bank.`] : []),
      ...(payment.disputed ? ['A dispute stands against it: it cannot be refunded now.'] : []),
    ],
  };
}
