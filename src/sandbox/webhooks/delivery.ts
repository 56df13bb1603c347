/** Signed delivery of events to the registered endpoints, apart from the API's answers. */
import { createHmac } from 'node:crypto';
import { type Settings } from '../settings.js';
import { type World } from '../world.js';
import { type SandboxEvent } from './events.js';

export interface WebhookEndpoint {
  id: string;
  url: string;
  secret: string;
  /** Only this account's events; absent: all. */
  account?: string | undefined;
}

export interface Delivery {
  event: string;
  type: string;
  endpoint: string;
  attempt: number;
  /** Null when no answer came. */
  status: number | null;
}

/** Pauses before the repetitions; live ones last days, here a test waits for them. */
const RETRY_PAUSES_MS = [200, 1000, 4000];
const TIMEOUT_MS = 10_000;
/** Per endpoint; a slow receiver must not collect open sockets without end. */
const PARALLEL = 16;
const QUEUE_LIMIT = 50_000;
const LOG_LIMIT = 20_000;

interface Job {
  event: SandboxEvent;
  endpoint: WebhookEndpoint;
  attempt: number;
}

export class Deliveries {
  readonly #endpoints = new Map<string, WebhookEndpoint>();
  readonly #queues = new Map<string, { waiting: Job[]; running: number }>();
  readonly #abort = new AbortController();
  #log: Delivery[] = [];
  #count = 0;
  /** Moves when everything is forgotten, so that what was timed before does not arrive after it. */
  #generation = 0;

  constructor(
    readonly world: World,
    readonly settings: Settings,
  ) {}

  register(endpoint: Omit<WebhookEndpoint, 'id'>): WebhookEndpoint {
    this.#count += 1;
    const registered = { ...endpoint, id: `we_${this.#count}` };
    this.#endpoints.set(registered.id, registered);
    return registered;
  }

  list(): WebhookEndpoint[] {
    return [...this.#endpoints.values()];
  }

  unregister(id: string): boolean {
    this.#queues.delete(id);
    return this.#endpoints.delete(id);
  }

  log(): readonly Delivery[] {
    return this.#log;
  }

  /** Forgets what waits and what was sent; the endpoints stay. */
  forget(): void {
    this.#generation += 1;
    this.#queues.clear();
    this.#log = [];
  }

  stop(): void {
    this.forget();
    this.#abort.abort();
  }

  /** As the settings say: not at all, later, several times. */
  publish(event: SandboxEvent): void {
    const { enabled, duplicates, delay_ms: delay } = this.settings.webhooks;
    if (!enabled || this.#endpoints.size === 0) return;
    for (let copy = 0; copy <= duplicates; copy += 1) {
      if (delay > 0) this.#later(delay, () => this.send(event));
      else this.send(event);
    }
  }

  /** To every endpoint that wants it, whatever the settings say. */
  send(event: SandboxEvent): number {
    let count = 0;
    for (const endpoint of this.#endpoints.values()) {
      if (endpoint.account !== undefined && endpoint.account !== event.owner.account) continue;
      this.#enqueue({ event, endpoint, attempt: 1 });
      count += 1;
    }
    return count;
  }

  #later(ms: number, run: () => void): void {
    const generation = this.#generation;
    this.world.after(ms, () => {
      if (generation === this.#generation) run();
    });
  }

  #enqueue(job: Job): void {
    if (this.#abort.signal.aborted || !this.#endpoints.has(job.endpoint.id)) return;
    let queue = this.#queues.get(job.endpoint.id);
    if (!queue) {
      queue = { waiting: [], running: 0 };
      this.#queues.set(job.endpoint.id, queue);
    }
    if (queue.waiting.length >= QUEUE_LIMIT) queue.waiting.shift();
    queue.waiting.push(job);
    this.#pump(queue);
  }

  #pump(queue: { waiting: Job[]; running: number }): void {
    while (queue.running < PARALLEL) {
      const job = queue.waiting.shift();
      if (!job) return;
      queue.running += 1;
      void this.#attempt(job).finally(() => {
        queue.running -= 1;
        this.#pump(queue);
      });
    }
  }

  async #attempt(job: Job): Promise<void> {
    const status = await this.#post(job);
    if (this.#abort.signal.aborted) return;
    this.#log.push({
      event: job.event.id,
      type: job.event.type,
      endpoint: job.endpoint.id,
      attempt: job.attempt,
      status,
    });
    if (this.#log.length > LOG_LIMIT * 1.1) this.#log = this.#log.slice(-LOG_LIMIT);
    const pause = RETRY_PAUSES_MS[job.attempt - 1];
    if (pause === undefined || (status !== null && status >= 200 && status < 300)) return;
    this.#later(pause, () => this.#enqueue({ ...job, attempt: job.attempt + 1 }));
  }

  async #post({ event, endpoint }: Job): Promise<number | null> {
    try {
      const response = await fetch(endpoint.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json; charset=utf-8',
          'user-agent': 'Stripe/1.0 (sandbox)',
          'stripe-signature': signature(event.payload, endpoint.secret, this.world.realSeconds()),
        },
        body: event.payload,
        redirect: 'manual',
        signal: AbortSignal.any([this.#abort.signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      await response.arrayBuffer();
      return response.status;
    } catch {
      return null;
    }
  }
}

/** Each attempt is signed anew; the time is real, because the receiver compares it with its own clock. */
export function signature(payload: string, secret: string, seconds: number): string {
  const mac = createHmac('sha256', secret).update(`${seconds}.${payload}`, 'utf8').digest('hex');
  return `t=${seconds},v1=${mac}`;
}
