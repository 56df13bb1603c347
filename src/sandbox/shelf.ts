/** An ordered collection per owner with look-up by id and newest-first paging; optionally bounded. */

export interface Shelved {
  id: string;
  created: number;
  owner: { account: string; livemode: boolean };
}

export interface PageRequest<T> {
  limit: number;
  /** Continue behind (older than) this item. */
  startingAfter: T | null;
  /** The items just in front of (newer than) this one. */
  endingBefore: T | null;
  /** Items older than this second end the search early. */
  notBefore: number;
  accept: (item: T) => boolean;
}

export interface Page<T> {
  items: T[];
  hasMore: boolean;
}

interface Row<T> {
  items: T[];
  /** Sequence number of items[0]; grows when the oldest are dropped. */
  base: number;
}

export class Shelf<T extends Shelved> {
  readonly #byId = new Map<string, { item: T; sequence: number }>();
  readonly #rows = new Map<string, Row<T>>();
  readonly #capacity: number;

  constructor(capacity = Number.POSITIVE_INFINITY) {
    this.#capacity = capacity;
  }

  put(item: T): void {
    const row = this.#row(item.owner);
    this.#byId.set(item.id, { item, sequence: row.base + row.items.length });
    row.items.push(item);
    // Dropped in blocks, so that a full shelf does not move its whole content on each put.
    if (row.items.length > this.#capacity * 1.1) {
      const dropped = row.items.splice(0, row.items.length - this.#capacity);
      row.base += dropped.length;
      for (const old of dropped) this.#byId.delete(old.id);
    }
  }

  get(id: string): T | null {
    return this.#byId.get(id)?.item ?? null;
  }

  /** All items, oldest first, of every owner. */
  *all(): Generator<T> {
    for (const row of this.#rows.values()) yield* row.items;
  }

  page(owner: Shelved['owner'], request: PageRequest<T>): Page<T> {
    return request.endingBefore
      ? this.#newer(owner, request, request.endingBefore)
      : this.#older(owner, request);
  }

  clear(): void {
    this.#byId.clear();
    this.#rows.clear();
  }

  #older(owner: Shelved['owner'], request: PageRequest<T>): Page<T> {
    const row = this.#row(owner);
    const found: T[] = [];
    const start = request.startingAfter ? this.#index(row, request.startingAfter) - 1 : row.items.length - 1;
    for (let i = start; i >= 0; i -= 1) {
      const item = row.items[i];
      if (!item || item.created < request.notBefore) break;
      if (!request.accept(item)) continue;
      if (found.length === request.limit) return { items: found, hasMore: true };
      found.push(item);
    }
    return { items: found, hasMore: false };
  }

  #newer(owner: Shelved['owner'], request: PageRequest<T>, cursor: T): Page<T> {
    const row = this.#row(owner);
    const found: T[] = [];
    for (const item of row.items.slice(this.#index(row, cursor) + 1)) {
      if (item.created < request.notBefore || !request.accept(item)) continue;
      if (found.length === request.limit) return { items: found.reverse(), hasMore: true };
      found.push(item);
    }
    return { items: found.reverse(), hasMore: false };
  }

  #index(row: Row<T>, item: T): number {
    return (this.#byId.get(item.id)?.sequence ?? row.base) - row.base;
  }

  #row(owner: Shelved['owner']): Row<T> {
    const name = `${owner.account}/${owner.livemode}`;
    let row = this.#rows.get(name);
    if (!row) {
      row = { items: [], base: 0 };
      this.#rows.set(name, row);
    }
    return row;
  }
}
