/** The inventory port: the shop's warehouse. Its key is the operation id, so each call can be repeated. */
import type { Outcome, Parameters } from '../operation/attempt.js';
import type { Reading, ReservationReading } from '../operation/observation.js';
import type { InventoryStep } from '../operation/step.js';

export interface InventoryCall {
  readonly step: InventoryStep['name'];
  readonly operation_id: string;
  readonly parameters: Parameters;
}

export interface Inventory {
  /** The exact body of the request, as JSON; pure. */
  prepare(step: InventoryStep): Parameters;
  /** Reads the reservation. Never throws; `absent` when the warehouse answers 404. */
  observe(operationId: string): Promise<Reading<ReservationReading>>;
  /** Sends one effect. Never throws. Insufficient stock is `declined` with `shown.reservation.state = insufficient`. */
  apply(call: InventoryCall): Promise<Outcome>;
}
