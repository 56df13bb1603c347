/** The truth about money per operation, told from the books and never from requests. */
import { type Books, committedRefunds } from './books.js';
import { type Dispute, type EffectCounts, type Intent } from './model.js';

export interface IntentEntry {
  id: string;
  account: string;
  livemode: boolean;
  source: string;
  status: string;
  currency: string;
  amount: number;
  /** Approved at confirmation, whatever became of it. */
  authorized: number;
  /** Approved and neither captured nor released yet. */
  held: number;
  captured: number;
  refunded: number;
  /** Taken away by disputes that were not won. */
  withdrawn: number;
  metadata: Record<string, string>;
  refunds: RefundEntry[];
  disputes: { id: string; status: string; amount: number; withdrawn: number }[];
}

export interface RefundEntry {
  id: string;
  payment_intent: string;
  amount: number;
  status: string;
  source: string;
  metadata: Record<string, string>;
}

export interface MoneyEntry {
  currency: string | null;
  authorized: number;
  held: number;
  captured: number;
  refunded: number;
  withdrawn: number;
  intents: IntentEntry[];
  refunds: RefundEntry[];
  /** Done through the API; `outside_effects` were done by people or by the provider itself. */
  effects: EffectCounts & { creates: number };
  outside_effects: EffectCounts & { creates: number };
  violations: string[];
}

export function moneyOf(books: Books, operationId: string): MoneyEntry {
  const intents = [...(books.byOperation.get(operationId) ?? [])];
  const entries = intents.map(describe);
  const total = (pick: (entry: IntentEntry) => number): number =>
    entries.reduce((sum, entry) => sum + pick(entry), 0);
  return {
    currency: entries[0]?.currency ?? null,
    authorized: total((entry) => entry.authorized),
    held: total((entry) => entry.held),
    captured: total((entry) => entry.captured),
    refunded: total((entry) => entry.refunded),
    withdrawn: total((entry) => entry.withdrawn),
    intents: entries,
    refunds: entries.flatMap((entry) => entry.refunds),
    effects: count(intents, (source) => source === 'api'),
    outside_effects: count(intents, (source) => source !== 'api'),
    violations: violations(entries),
  };
}

function describe(intent: Intent): IntentEntry {
  const approved = intent.charges.filter((charge) => charge.status === 'succeeded');
  const sum = (pick: (charge: (typeof approved)[number]) => number): number =>
    approved.reduce((total, charge) => total + pick(charge), 0);
  return {
    id: intent.id,
    ...intent.owner,
    source: intent.source,
    status: intent.status,
    currency: intent.currency,
    amount: intent.amount,
    authorized: sum((charge) => charge.amount),
    held: intent.status === 'requires_capture' ? sum((charge) => charge.amount) : 0,
    captured: sum((charge) => charge.amountCaptured),
    refunded: sum(committedRefunds),
    withdrawn: sum((charge) => charge.disputes.reduce((total, dispute) => total + withdrawn(dispute), 0)),
    metadata: intent.metadata,
    refunds: approved.flatMap((charge) =>
      charge.refunds.map((refund) => ({
        id: refund.id,
        payment_intent: intent.id,
        amount: refund.amount,
        status: refund.status,
        source: refund.source,
        metadata: refund.metadata,
      })),
    ),
    disputes: approved.flatMap((charge) =>
      charge.disputes.map((dispute) => ({
        id: dispute.id,
        status: dispute.status,
        amount: dispute.amount,
        withdrawn: withdrawn(dispute),
      })),
    ),
  };
}

function withdrawn(dispute: Dispute): number {
  return -dispute.balanceTransactions.reduce((sum, moved) => sum + moved.amount, 0);
}

function count(intents: Intent[], includes: (source: string) => boolean): MoneyEntry['effects'] {
  const total = { creates: 0, confirms: 0, captures: 0, refunds: 0, voids: 0 };
  for (const intent of intents) {
    if (includes(intent.source)) total.creates += 1;
    for (const [source, effects] of Object.entries(intent.effects)) {
      if (!includes(source)) continue;
      total.confirms += effects.confirms;
      total.captures += effects.captures;
      total.refunds += effects.refunds;
      total.voids += effects.voids;
    }
  }
  return total;
}

/** The first two cannot be broken through this server; the others are a caller's mistake, or a dispute that came late. */
function violations(entries: IntentEntry[]): string[] {
  const found: string[] = [];
  for (const entry of entries) {
    if (entry.captured > entry.authorized) found.push(`${entry.id}: captured more than authorized`);
    if (entry.refunded > entry.captured) found.push(`${entry.id}: refunded more than captured`);
    if (entry.refunded + entry.withdrawn > entry.captured)
      found.push(`${entry.id}: refunded and charged back`);
  }
  const ours = entries.filter((entry) => entry.source === 'api');
  const alive = ours.filter((entry) => entry.held > 0 || entry.captured > 0);
  if (alive.length > 1) found.push(`${alive.length} payment intents hold or took money for one operation`);
  return found;
}
