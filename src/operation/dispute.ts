/** Disputes: what they hold and what they took. Amounts in minor units. */
import type { DisputeState } from './observation.js';
import type { PaymentFacts } from './operation.js';

/** Withdrawn by chargebacks that are not decided. Where disputes cannot be listed, one that stands may be for all of it. */
export function withdrawn({ disputes = [], disputed, captured, lost }: PaymentFacts): number {
  if (disputes.length === 0) return disputed ? captured - lost : 0;
  return disputes.filter(({ state }) => state === 'open').reduce((sum, { amount }) => sum + amount, 0);
}

/** The worst that stands: what a reader is told of. Null when none was seen, or all ended well. */
export function standingDispute({
  disputes = [],
  disputed,
}: PaymentFacts): Exclude<DisputeState, 'won'> | null {
  if (disputes.length === 0) return disputed ? 'open' : null;
  const states = new Set(disputes.map(({ state }) => state));
  return (['open', 'inquiry', 'lost'] as const).find((state) => states.has(state)) ?? null;
}

/** There is one, and the provider does not show it: nobody can learn from here how it ends. */
export const areHidden = ({ disputed, disputes }: PaymentFacts): boolean =>
  disputed && disputes?.length === 0;

/** Every dispute has ended. If refunds are barred now, nothing that is to come will allow them. */
export const areDecided = ({ disputes = [] }: PaymentFacts): boolean =>
  disputes.length > 0 && disputes.every(({ state }) => state === 'won' || state === 'lost');
