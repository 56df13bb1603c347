/** Everything the sandbox consists of, wired together, without HTTP. */
import { FaultRules } from './faults/rules.js';
import { Outages } from './faults/outages.js';
import { Journal } from './journal.js';
import { Books } from './payments/books.js';
import { changeSettings, defaultSettings } from './settings.js';
import { IdempotencyKeys } from './stripe/idempotency.js';
import { Keys, type SecretKey } from './stripe/keys.js';
import { Stock } from './warehouse/stock.js';
import { Deliveries, type WebhookEndpoint } from './webhooks/delivery.js';
import { EventLog } from './webhooks/events.js';
import { World } from './world.js';

export class Universe {
  readonly world = new World();
  readonly settings = defaultSettings();
  readonly books = new Books(this.world, this.settings);
  readonly stock = new Stock(this.settings);
  readonly log = new EventLog(this.world, this.settings);
  readonly deliveries = new Deliveries(this.world, this.settings);
  readonly idempotency = new IdempotencyKeys(this.world);
  readonly faults = new FaultRules();
  readonly outages = new Outages(this.world);
  readonly journal = new Journal(this.world);
  readonly keys: Keys;

  constructor(
    secretKeys: readonly SecretKey[] | null,
    readonly initialWebhooks: readonly Omit<WebhookEndpoint, 'id'>[],
  ) {
    this.keys = new Keys(secretKeys);
    this.books.onChange = (change, cause) => this.log.record(change, cause);
    this.log.onEvent = (event) => this.deliveries.publish(event);
    for (const endpoint of initialWebhooks) this.deliveries.register(endpoint);
  }

  /** Back to how it was started: no payments, no stock moved, no faults, real time. */
  reset(): void {
    this.books.clear();
    this.stock.clear();
    this.log.events.clear();
    this.deliveries.forget();
    for (const { id } of this.deliveries.list()) this.deliveries.unregister(id);
    for (const endpoint of this.initialWebhooks) this.deliveries.register(endpoint);
    this.idempotency.clear();
    this.faults.clear();
    this.outages.clear();
    this.journal.clear();
    this.keys.reset();
    this.world.rewind();
    changeSettings(this.settings, defaultSettings());
  }

  stop(): void {
    this.deliveries.stop();
    this.world.stop();
  }
}
