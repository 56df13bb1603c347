/** The event log: one event per change, with the object as it was at that moment. */
import { type Change } from '../payments/books.js';
import { type Cause, type Intent, type Owner } from '../payments/model.js';
import { type Settings } from '../settings.js';
import { Shelf } from '../shelf.js';
import { renderCharge, renderIntent, type Rendered } from '../stripe/render-intent.js';
import { renderDispute, renderRefund } from '../stripe/render.js';
import { type World } from '../world.js';

export const API_VERSION = '2026-10-28.endive';

/** Kept in memory; at some two kilobytes each that is bounded to about 50 MB. */
const EVENT_LIMIT = 20_000;

export interface SandboxEvent {
  id: string;
  owner: Owner;
  created: number;
  type: string;
  objectId: string;
  operationId: string | null;
  /** The whole event as JSON; it is stored as text so that later changes cannot reach the snapshot. */
  payload: string;
}

export class EventLog {
  readonly events = new Shelf<SandboxEvent>(EVENT_LIMIT);
  /** Told of each new event. */
  onEvent: (event: SandboxEvent) => void = () => undefined;

  constructor(
    readonly world: World,
    readonly settings: Settings,
  ) {}

  record(change: Change, cause: Cause): void {
    const { record } = change;
    const event: Omit<SandboxEvent, 'payload'> = {
      id: this.world.id('evt_3'),
      owner: record.owner,
      created: this.world.seconds(),
      type: change.type,
      objectId: record.id,
      operationId: intentOf(change).metadata['operation_id'] ?? null,
    };
    const payload = JSON.stringify({
      id: event.id,
      object: 'event',
      account: event.owner.account,
      api_version: API_VERSION,
      created: event.created,
      data: { object: this.#render(change) },
      livemode: event.owner.livemode,
      pending_webhooks: 1,
      request: { id: cause.requestId, idempotency_key: cause.idempotencyKey },
      type: event.type,
    });
    const stored = { ...event, payload };
    this.events.put(stored);
    this.onEvent(stored);
  }

  #render(change: Change): Rendered {
    switch (change.object) {
      case 'payment_intent':
        return renderIntent(change.record);
      case 'charge':
        return renderCharge(change.record, this.settings);
      case 'refund':
        return renderRefund(change.record);
      case 'dispute':
        return renderDispute(change.record);
    }
  }
}

function intentOf(change: Change): Intent {
  switch (change.object) {
    case 'payment_intent':
      return change.record;
    case 'charge':
      return change.record.intent;
    case 'refund':
    case 'dispute':
      return change.record.charge.intent;
  }
}
