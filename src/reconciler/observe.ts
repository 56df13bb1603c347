/** One look at the world: payment and inventory at the same time. Never throws; causes no effect. */
import { paymentFailure } from '../operation/absorb.js';
import type { Inventory } from '../inventory/port.js';
import { NOT_FOUND, type Failure } from '../operation/failure.js';
import type {
  Observation,
  PaymentReading,
  Reading,
  ReservationReading,
  Seen,
} from '../operation/observation.js';
import { lostCreates, type Attempt } from '../operation/attempt.js';
import type { Journaled, Operation } from '../operation/operation.js';
import { erasedObservation } from '../operation/personal-data.js';
import type { PaymentProvider } from '../payment/port.js';
import type { LoopDependencies } from './ports.js';

type Eyes = Pick<LoopDependencies, 'accounts' | 'inventory' | 'clock' | 'observer'>;

/** Refunds are listed where they can matter: wanted, seen before, or owed by a cancellation. */
export const refundsMatter = (operation: Operation): boolean =>
  operation.wish.cancellation !== null ||
  operation.wish.spec.refunds.length > 0 ||
  operation.facts.refunds.length > 0 ||
  operation.facts.unresolved?.step === 'create_refund';

/** `attempts`: the journal, which tells of a payment whose id was lost with the answer to its creation. */
export async function observe(
  { operation, attempts }: Journaled,
  eyes: Eyes,
  refunds: boolean,
): Promise<Observation> {
  const [payment, inventory] = await Promise.all([
    readPayment({ operation, attempts }, eyes, refunds),
    readInventory(operation, eyes.inventory),
  ]);
  const observation = { payment, inventory, at: eyes.clock.now().toISOString() };
  return operation.erased_at === undefined ? observation : erasedObservation(observation);
}

/** Which sides could be read. `operation`: as it was before the look. */
export const seenIn = (operation: Operation, observation: Observation): Seen => ({
  payment: paymentFailure(operation, observation) === null,
  inventory: observation.inventory.kind !== 'unknown',
});

const ACCOUNT_MISSING: Failure = {
  class: 'prerequisite',
  code: 'account_not_configured',
  message: 'This account is not configured on this worker.',
};

const REFUNDS_MISSING: Failure = {
  class: 'unknown',
  code: 'refunds_not_listed',
  message: 'The provider did not list the refunds that were asked for.',
};

async function readPayment(
  { operation, attempts }: Journaled,
  eyes: Eyes,
  refunds: boolean,
): Promise<Reading<PaymentReading>> {
  const provider = eyes.accounts.provider(operation.account);
  if (provider === undefined) return { kind: 'unknown', failure: ACCOUNT_MISSING };
  const refusal = await eyes.accounts.admit(operation.account, operation.operation_id);
  if (refusal !== null) return { kind: 'unknown', failure: refusal };
  const reference = operation.provider_reference ?? operation.wish.spec.payment.reference;
  const reading =
    reference === null
      ? await findLost(lostCreates(attempts, eyes.clock.now()), provider, refunds)
      : asNamed(operation, await provider.observe({ reference, refunds }));
  if (reading === null) return { kind: 'absent' };
  eyes.observer.request(operation.account, 'observe_payment', reading.kind);
  // Without its refunds a payment is not read where they matter: owing too much would be refunded twice.
  if (refunds && reading.kind === 'present' && reading.value.refunds === null) {
    return { kind: 'unknown', failure: REFUNDS_MISSING };
  }
  return eyes.accounts.read(operation.account, operation.operation_id, reading);
}

/** That a caller named a payment of the other mode is that order's trouble; it says nothing about our key. */
const asNamed = (operation: Operation, reading: Reading<PaymentReading>): Reading<PaymentReading> =>
  operation.provider_reference === null &&
  reading.kind === 'unknown' &&
  reading.failure.code === 'livemode_mismatch'
    ? { kind: 'unknown', failure: { ...reading.failure, code: NOT_FOUND } }
    : reading;

/** The clocks of the provider and of the database agree within this, and a request does not travel longer. */
const WINDOW_MS = 120_000;

/** Null: nothing was ever created under our name, so there is nothing to look for. */
async function findLost(
  lost: readonly Attempt[],
  provider: PaymentProvider,
  refunds: boolean,
): Promise<Reading<PaymentReading> | null> {
  const [first] = lost;
  if (first === undefined) return null;
  const times = lost.map((attempt) => Date.parse(attempt.started_at));
  return provider.find({
    parameters: first.parameters,
    refunds,
    created_from: new Date(Math.min(...times) - WINDOW_MS).toISOString(),
    created_to: new Date(Math.max(...times) + WINDOW_MS).toISOString(),
  });
}

async function readInventory(
  operation: Operation,
  inventory: Inventory | null,
): Promise<Reading<ReservationReading>> {
  // A reservation that was never asked for cannot be there: its key is ours alone.
  if (inventory === null || !operation.facts.inventory.requested) return { kind: 'absent' };
  return inventory.observe(operation.operation_id);
}
