/** The journal: every request to the payments server and the warehouse, in the order of arrival. */
import { type World } from './world.js';

export interface JournalEntry {
  sequence: number;
  time: string;
  route: string;
  method: string;
  path: string;
  operation_id: string | null;
  idempotency_key: string | null;
  request_id: string | null;
  /** The answer was a stored one. */
  replayed: boolean;
  /** Null while it is being served and for good when the caller got no answer. */
  status: number | null;
  /** Kind of the fault or outage that was applied. */
  fault: string | null;
  had_effect: boolean;
}

export interface JournalFilter {
  route?: string | undefined;
  operation_id?: string | undefined;
  idempotency_key?: string | undefined;
  method?: string | undefined;
  had_effect?: boolean | undefined;
  /** Only entries behind this sequence number. */
  after?: number | undefined;
  limit?: number | undefined;
}

/** At some 400 bytes each; the oldest are dropped, their sequence numbers are never used again. */
const ENTRY_LIMIT = 200_000;

export class Journal {
  #entries: JournalEntry[] = [];
  #sequence = 0;

  constructor(readonly world: World) {}

  open(
    entry: Omit<JournalEntry, 'sequence' | 'time' | 'replayed' | 'status' | 'fault' | 'had_effect'>,
  ): JournalEntry {
    this.#sequence += 1;
    const opened: JournalEntry = {
      sequence: this.#sequence,
      time: this.world.iso(),
      ...entry,
      replayed: false,
      status: null,
      fault: null,
      had_effect: false,
    };
    this.#entries.push(opened);
    if (this.#entries.length > ENTRY_LIMIT * 1.1) this.#entries = this.#entries.slice(-ENTRY_LIMIT);
    return opened;
  }

  find(filter: JournalFilter): JournalEntry[] {
    const found: JournalEntry[] = [];
    for (const entry of this.#entries) {
      if (found.length === (filter.limit ?? ENTRY_LIMIT)) break;
      if (matches(entry, filter)) found.push(entry);
    }
    return found;
  }

  get lastSequence(): number {
    return this.#sequence;
  }

  clear(): void {
    this.#entries = [];
  }
}

function matches(entry: JournalEntry, filter: JournalFilter): boolean {
  return (
    entry.sequence > (filter.after ?? 0) &&
    (filter.route === undefined || routeMatches(filter.route, entry.route)) &&
    (filter.operation_id === undefined || entry.operation_id === filter.operation_id) &&
    (filter.idempotency_key === undefined || entry.idempotency_key === filter.idempotency_key) &&
    (filter.method === undefined || entry.method === filter.method) &&
    (filter.had_effect === undefined || entry.had_effect === filter.had_effect)
  );
}

/** `*` is every route, `refunds.*` every route of that name. */
export function routeMatches(pattern: string, route: string): boolean {
  if (pattern === '*' || pattern === route) return true;
  return pattern.endsWith('.*') && route.startsWith(pattern.slice(0, -1));
}
