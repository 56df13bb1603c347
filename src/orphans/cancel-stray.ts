/** Cancels a payment of ours that never took money and that nobody needs; by itself, since it moves none. */
import type { Draft } from '../findings/finding.js';
import type { SweepClaim } from '../findings/rounds.js';
import type { PaymentProvider } from '../payment/port.js';
import type { OrphanDependencies } from './ports.js';
import { send } from './send.js';

/** True when the provider said that it is done. */
export async function cancelStray(
  findingId: string,
  { reference, operation_id, terms }: Draft,
  claim: SweepClaim,
  provider: PaymentProvider,
  deps: OrphanDependencies,
): Promise<boolean> {
  // Without the terms of its creation it cannot be told to be ours.
  if (operation_id === null || terms === null) return false;
  // Not the target that the operation's own cancellation would have: its journal is another.
  const step = { name: 'cancel_payment', target: `stray ${reference}`, reference } as const;
  const sent = await send(step, { finding_id: findingId }, operation_id, claim, provider, deps);
  return sent.kind === 'answered' && sent.outcome.kind === 'done';
}
