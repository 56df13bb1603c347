/** One look at the world: payment and inventory at the same time. Never throws; causes no effect. */
import type { Inventory } from '../inventory/port.js';
import type { Failure } from '../operation/failure.js';
import type { Observation, PaymentReading, Reading, ReservationReading } from '../operation/observation.js';
import type { Operation } from '../operation/operation.js';
import type { LoopDependencies } from './ports.js';

type Eyes = Pick<LoopDependencies, 'payments' | 'inventory' | 'clock' | 'observer'>;

/** Refunds are listed where they can matter: wanted, seen before, or owed by a cancellation. */
export const refundsMatter = (operation: Operation): boolean =>
  operation.wish.cancellation !== null ||
  operation.wish.spec.refunds.length > 0 ||
  operation.facts.refunds.length > 0 ||
  operation.facts.unresolved?.step === 'create_refund';

export async function observe(operation: Operation, eyes: Eyes, refunds: boolean): Promise<Observation> {
  const [payment, inventory] = await Promise.all([
    readPayment(operation, eyes, refunds),
    readInventory(operation, eyes.inventory),
  ]);
  return { payment, inventory, at: eyes.clock.now().toISOString() };
}

const ACCOUNT_MISSING: Failure = {
  class: 'prerequisite',
  code: 'account_not_configured',
  message: 'This account is not configured on this worker.',
};

async function readPayment(
  operation: Operation,
  eyes: Eyes,
  refunds: boolean,
): Promise<Reading<PaymentReading>> {
  const provider = eyes.payments(operation.account);
  if (provider === undefined) return { kind: 'unknown', failure: ACCOUNT_MISSING };
  const reference = operation.provider_reference ?? operation.wish.spec.payment.reference;
  // Nothing was ever created under our name: there is nothing to read.
  if (reference === null) return { kind: 'absent' };
  const reading = await provider.observe({ reference, refunds });
  eyes.observer.request(operation.account, 'observe_payment', reading.kind);
  return reading;
}

async function readInventory(
  operation: Operation,
  inventory: Inventory | null,
): Promise<Reading<ReservationReading>> {
  // A reservation that was never asked for cannot be there: its key is ours alone.
  if (inventory === null || !operation.facts.inventory.requested) return { kind: 'absent' };
  return inventory.observe(operation.operation_id);
}
