/** The inventory port over the warehouse's HTTP protocol. */
import type { Outcome, Parameters } from '../../operation/attempt.js';
import type { Reading, ReservationReading } from '../../operation/observation.js';
import type { InventoryStep } from '../../operation/step.js';
import { Peer } from '../../outgoing/round-trip.js';
import type { Inventory, InventoryCall } from '../port.js';
import { AMBIGUOUS_REFUSAL, settleRefusal, toOutcome, toReading } from './answers.js';
import { exchange, type Exchange, type Request } from './exchange.js';

export interface HttpInventoryOptions {
  /** Where `/reservations/…` begins; a path is kept. */
  readonly base: URL;
  /** Bounds one whole exchange. */
  readonly timeout_ms: number;
}

export class HttpInventory implements Inventory {
  readonly #peer: Peer;
  readonly #path: string;
  readonly #timeoutMs: number;

  constructor({ base, timeout_ms }: HttpInventoryOptions) {
    this.#peer = new Peer(base.origin);
    this.#path = `${base.pathname.replace(/\/+$/, '')}/reservations`;
    this.#timeoutMs = timeout_ms;
  }

  prepare(step: InventoryStep): Parameters {
    switch (step.name) {
      case 'reserve_inventory':
        return { lines: step.lines.map(({ sku, quantity }) => ({ sku, quantity })) };
      case 'commit_inventory':
      case 'release_inventory':
        return {};
    }
  }

  async observe(operationId: string): Promise<Reading<ReservationReading>> {
    return toReading(await this.#send('GET', operationId, ''));
  }

  async apply(call: InventoryCall): Promise<Outcome> {
    const outcome = toOutcome(call.step, call.parameters, await this.#write(call));
    const isAmbiguous = outcome.kind === 'rejected' && outcome.failure.code === AMBIGUOUS_REFUSAL;
    return isAmbiguous ? settleRefusal(outcome, await this.observe(call.operation_id)) : outcome;
  }

  #write({ step, operation_id, parameters }: InventoryCall): Promise<Exchange> {
    switch (step) {
      case 'reserve_inventory':
        return this.#send('PUT', operation_id, '', parameters);
      case 'commit_inventory':
        return this.#send('POST', operation_id, '/commit');
      case 'release_inventory':
        return this.#send('DELETE', operation_id, '');
    }
  }

  async #send(
    method: Request['method'],
    operationId: string,
    suffix: string,
    body?: Parameters,
  ): Promise<Exchange> {
    let key: string;
    try {
      key = encodeURIComponent(operationId);
    } catch {
      // A lone surrogate cannot be encoded; ids that hold one are refused before an operation exists.
      const message = 'The operation id cannot be written in a URL.';
      return { kind: 'lost', unsent: true, code: 'inventory_misconfigured', message };
    }
    return exchange({
      peer: this.#peer,
      method,
      path: `${this.#path}/${key}${suffix}`,
      timeout_ms: this.#timeoutMs,
      ...(body !== undefined && { body }),
    });
  }
}
