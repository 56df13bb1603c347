/** Drift: what was as wanted and recorded so, and is seen to differ under the same wish. Pure. */
import type { Drift, Facts, Holdings, Operation } from './operation.js';
import { givenBack } from './refund.js';

export function holdingsOf(facts: Facts): Holdings {
  const { state, authorized, captured, disputed, lost } = facts.payment;
  return {
    payment: state,
    authorized,
    captured,
    refunded: givenBack(facts),
    disputed,
    lost,
    stock: facts.inventory.state,
  };
}

const NAMES = ['payment', 'authorized', 'captured', 'refunded', 'disputed', 'lost', 'stock'] as const;

/** In which members the two differ, each as `name before → after`. */
export const differences = ({ recorded, seen }: Pick<Drift, 'recorded' | 'seen'>): string[] =>
  NAMES.filter((name) => recorded[name] !== seen[name]).map(
    (name) => `${name} ${recorded[name]} → ${seen[name]}`,
  );

/** All was as wanted, under the wish that stands now. */
const wasAgreed = ({ status, generation }: Operation): boolean =>
  status.conditions.some(
    ({ type, status: holds, observed_version }) =>
      type === 'Ready' && holds === 'True' && observed_version === generation,
  );

/** Takes in what a look changed. `before`: the operation before the look; `facts`: what it knows after. */
export function withDrift(before: Operation, { drift: known, ...facts }: Facts, at: string): Facts {
  const seen = holdingsOf(facts);
  const standing = known?.generation === before.generation ? known : undefined;
  const recorded = standing?.recorded ?? (wasAgreed(before) ? holdingsOf(before.facts) : seen);
  if (differences({ recorded, seen }).length === 0) return facts;
  const { desired, amount, lines } = before.wish.spec;
  const since = standing?.since ?? at;
  const wanted = standing?.wanted ?? { desired, amount, lines };
  return { ...facts, drift: { since, generation: before.generation, wanted, recorded, seen } };
}

/** It is as wanted again, or what differs asks for nothing. */
export function withoutDrift({ drift: _over, ...facts }: Facts): Facts {
  return facts;
}
