/** A typed client of the sandbox's control API, and a sandbox started inside the test process. */
import { type LedgerEntry, type LedgerSummary } from '../../src/sandbox/control/ledger.js';
import { type DashboardAction } from '../../src/sandbox/control/dashboard.js';
import { type FaultKind } from '../../src/sandbox/faults/kinds.js';
import { type JournalEntry, type JournalFilter } from '../../src/sandbox/journal.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/server.js';
import { type Settings, type SettingsPatch } from '../../src/sandbox/settings.js';
import { type Delivery } from '../../src/sandbox/webhooks/delivery.js';

export type { JournalEntry, JournalFilter, LedgerEntry, LedgerSummary };

/** The fields of a fault rule; what is left out has the default said in docs/sandbox.md. */
export interface Fault {
  /** A route such as `refunds.create`, all of one name as `refunds.*`, or `*`. */
  route: string;
  kind: FaultKind;
  match?: { operation_id?: string };
  times?: number | null;
  skip?: number;
  effect?: 'before' | 'none';
  delay_ms?: number;
  retry_after?: number;
  reason?: string;
  should_retry?: boolean;
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
}

export interface FaultState extends Fault {
  id: string;
  hits: number;
}

export type Outage =
  | { mode: 'none' | 'drop' | 'unavailable'; surface?: 'payments' | 'warehouse' | 'all' }
  | {
      mode: 'rate_limit';
      per_second: number;
      retry_after?: number;
      surface?: 'payments' | 'warehouse' | 'all';
    }
  | { mode: 'refuse'; duration_ms: number };

export type DashboardActionName = DashboardAction['action'];

/** A payment intent, refund or dispute as the API shows it; tests pick what they need. */
export type Rendered = { id: string; status: string } & Record<string, unknown>;

export interface EventSummary {
  id: string;
  type: string;
  object: string;
  operation_id: string | null;
  created: number;
}

export class SandboxControl {
  /** @param url Where the sandbox listens, without a trailing slash. */
  constructor(readonly url: string) {}

  inject(fault: Fault): Promise<FaultState> {
    return this.#post('faults', fault);
  }

  async faults(): Promise<FaultState[]> {
    return (await this.#get<{ items: FaultState[] }>('faults')).items;
  }

  async clearFaults(): Promise<void> {
    await this.#call('DELETE', 'faults');
  }

  async removeFault(id: string): Promise<void> {
    await this.#call('DELETE', `faults/${encodeURIComponent(id)}`);
  }

  outage(outage: Outage): Promise<unknown> {
    return this.#post('outage', outage);
  }

  /** For example `dashboard('refund', { operation_id: 'o1', amount: 500 })`. */
  dashboard(action: DashboardActionName, parameters: Record<string, unknown>): Promise<Rendered> {
    return this.#post('dashboard', { action, ...parameters });
  }

  ledger(operationId: string): Promise<LedgerEntry> {
    return this.#get('ledger', { operation_id: operationId });
  }

  ledgerSummary(): Promise<LedgerSummary> {
    return this.#get('ledger');
  }

  async journal(filter: JournalFilter = {}): Promise<JournalEntry[]> {
    return (await this.#get<{ items: JournalEntry[] }>('journal', { ...filter })).items;
  }

  /** Number of the newest journal entry, to look at later requests only: `journal({ after })`. */
  async journalSequence(): Promise<number> {
    return (await this.#get<{ last_sequence: number }>('journal', { limit: 0 })).last_sequence;
  }

  async setStock(sku: string, available: number): Promise<void> {
    await this.#post('stock', { sku, available });
  }

  async stock(sku: string): Promise<number> {
    return (await this.#get<{ available: number }>('stock', { sku })).available;
  }

  async addKey(
    key: string,
    account: string,
    more: { livemode?: boolean; denied_routes?: string[] } = {},
  ): Promise<void> {
    await this.#post('keys', { action: 'add', key, account, ...more });
  }

  async revokeKey(key: string): Promise<void> {
    await this.#post('keys', { action: 'revoke', key });
  }

  async restoreKey(key: string): Promise<void> {
    await this.#post('keys', { action: 'restore', key });
  }

  async advanceClock(ms: number): Promise<void> {
    await this.#post('clock', { advance_ms: ms });
  }

  async now(): Promise<Date> {
    return new Date((await this.#get<{ now: string }>('clock')).now);
  }

  settings(patch: SettingsPatch = {}): Promise<Settings> {
    return this.#post('settings', patch);
  }

  /** Returns the endpoint's id. */
  async addWebhook(url: string, secret: string, account?: string): Promise<string> {
    return (await this.#post<{ id: string }>('webhooks', { url, secret, account })).id;
  }

  async removeWebhook(id: string): Promise<void> {
    await this.#call('DELETE', `webhooks/${encodeURIComponent(id)}`);
  }

  async events(filter: { operation_id?: string; type?: string } = {}): Promise<EventSummary[]> {
    return (await this.#get<{ items: EventSummary[] }>('events', filter)).items;
  }

  async redeliver(eventId: string): Promise<void> {
    await this.#post(`events/${encodeURIComponent(eventId)}/deliver`, {});
  }

  async deliveries(): Promise<Delivery[]> {
    return (await this.#get<{ items: Delivery[] }>('deliveries')).items;
  }

  async reset(): Promise<void> {
    await this.#post('reset', {});
  }

  #get<T>(path: string, query: Record<string, string | number | boolean | undefined> = {}): Promise<T> {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) search.set(name, String(value));
    }
    return this.#call('GET', `${path}?${search.toString()}`);
  }

  #post<T>(path: string, body: unknown): Promise<T> {
    return this.#call('POST', path, body);
  }

  async #call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`${this.url}/_sandbox/${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} /_sandbox/${path}: ${response.status} ${text}`);
    return JSON.parse(text) as T;
  }
}

export interface TestSandbox {
  url: string;
  port: number;
  control: SandboxControl;
  stop: () => Promise<void>;
}

/** A sandbox on a free port of this process; the test that started it stops it. */
export async function startTestSandbox(options: SandboxOptions = {}): Promise<TestSandbox> {
  const sandbox: Sandbox = await startSandbox(options);
  return {
    url: sandbox.url,
    port: sandbox.port,
    control: new SandboxControl(sandbox.url),
    stop: () => sandbox.stop(),
  };
}
