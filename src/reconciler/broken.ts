/** A pass that threw: the record is tried again after a pause that grows, and after so many in a row a person is told. */
import { backoff } from '../operation/backoff.js';
import type { Claim } from '../store/pass-store.js';
import type { LoopDependencies } from './ports.js';

/**
 * Lets go of a record that this pass could not work on. Milliseconds until it is due again; null when the lease was lost.
 * Throws when that could not be written: then the lease runs out.
 */
export async function breakOff(
  claim: Claim,
  error: unknown,
  { store, worker, policy, clock, log }: LoopDependencies,
): Promise<number | null> {
  const { row, fencing_token } = claim;
  const { operation_id } = claim.record;
  const passes = claim.broken + 1;
  const { backoff_base_ms: base_ms, backoff_max_ms: max_ms, resync_interval_ms } = policy;
  const isLasting = passes >= policy.retry_limit;
  const look_in_ms = isLasting ? resync_interval_ms : backoff(passes, { base_ms, max_ms }, clock.random());
  const message = `${passes} passes in a row broke off: ${nameOf(error)}.`;
  const stack = error instanceof Error ? error.stack : undefined;
  log.error(
    { operation_id, error: nameOf(error), stack, passes },
    'a pass was broken off; the record is tried again after a pause',
  );
  const attention = isLasting
    ? ({ reason: 'PassBroken', message, since: clock.now().toISOString() } as const)
    : null;
  const isHeld = await store.breakOff({ row, worker, fencing_token, look_in_ms, attention });
  return isHeld ? look_in_ms : null;
}

/** What kind of error it is, and no more: its text may quote what the record or the provider says. */
export function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? `${error.constructor.name} ${code}` : error.constructor.name;
}
