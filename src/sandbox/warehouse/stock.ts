/** The warehouse's books: stock per sku and one reservation per operation. */
import { type Settings } from '../settings.js';

export interface Line {
  sku: string;
  quantity: number;
}

export type ReservationState = 'reserved' | 'committed' | 'released';

export interface Reservation {
  operationId: string;
  state: ReservationState;
  lines: Line[];
  /** Left the house: it cannot be taken back any more. */
  shipped: boolean;
  /** Released before it ever existed, so that a late reservation for it is refused. */
  tombstone: boolean;
  reservedCount: number;
  committedCount: number;
  releasedCount: number;
}

export class StockRefusal extends Error {
  constructor(
    readonly status: 404 | 409,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

export class Stock {
  readonly #available = new Map<string, number>();
  readonly #reservations = new Map<string, Reservation>();
  version = 0;

  constructor(readonly settings: Settings) {}

  available(sku: string): number {
    return this.#available.get(sku) ?? this.settings.default_stock;
  }

  setAvailable(sku: string, quantity: number): void {
    this.#available.set(sku, quantity);
    this.version += 1;
  }

  known(): Record<string, number> {
    return Object.fromEntries(this.#available);
  }

  find(operationId: string): Reservation | null {
    return this.#reservations.get(operationId) ?? null;
  }

  *all(): Generator<Reservation> {
    yield* this.#reservations.values();
  }

  /** All or nothing; other lines replace what is reserved in one step, or leave it as it was. */
  reserve(operationId: string, wanted: Line[]): { reservation: Reservation; created: boolean } {
    const lines = merged(wanted);
    const existing = this.find(operationId);
    if (existing?.state === 'released') {
      throw new StockRefusal(409, 'released', `The reservation of ${operationId} was released for good.`);
    }
    if (existing && sameLines(existing.lines, lines)) return { reservation: existing, created: false };
    if (existing?.state === 'committed') {
      throw new StockRefusal(409, 'committed', `The goods of ${operationId} are committed already.`);
    }
    this.#take(existing?.lines ?? [], lines);
    const reservation = existing ?? fresh(operationId);
    reservation.lines = lines;
    if (!existing) reservation.reservedCount += 1;
    this.#reservations.set(operationId, reservation);
    return { reservation, created: !existing };
  }

  commit(operationId: string): Reservation {
    const reservation = this.find(operationId);
    if (!reservation || reservation.tombstone) throw unknownReservation(operationId);
    if (reservation.state === 'released') {
      throw new StockRefusal(409, 'released', `The reservation of ${operationId} was released.`);
    }
    if (reservation.state === 'reserved') {
      reservation.state = 'committed';
      reservation.committedCount += 1;
      this.version += 1;
    }
    return reservation;
  }

  release(operationId: string): Reservation {
    const reservation = this.find(operationId);
    if (!reservation) {
      const tombstone = { ...fresh(operationId), state: 'released' as const, tombstone: true };
      this.#reservations.set(operationId, tombstone);
      this.version += 1;
      throw unknownReservation(operationId);
    }
    if (reservation.tombstone) throw unknownReservation(operationId);
    if (reservation.shipped) {
      throw new StockRefusal(409, 'goods_gone', `The goods of ${operationId} have left the warehouse.`);
    }
    if (reservation.state !== 'released') {
      this.#take(reservation.lines, []);
      reservation.state = 'released';
      reservation.releasedCount += 1;
    }
    return reservation;
  }

  /** The goods leave the house. */
  ship(operationId: string): Reservation {
    const reservation = this.find(operationId);
    if (reservation?.state !== 'committed') {
      throw new StockRefusal(409, 'not_committed', `Nothing of ${operationId} is committed.`);
    }
    reservation.shipped = true;
    this.version += 1;
    return reservation;
  }

  /** The warehouse loses the goods (breakage, a miscount); `forget` loses the reservation itself as well. */
  lose(operationId: string, forget: boolean): void {
    const reservation = this.find(operationId);
    if (!reservation || reservation.state === 'released') {
      throw new StockRefusal(409, 'nothing_held', `Nothing is held for ${operationId}.`);
    }
    // Not counted as a release: nobody asked for one and no stock came back.
    if (forget) this.#reservations.delete(operationId);
    else reservation.state = 'released';
    this.version += 1;
  }

  clear(): void {
    this.#available.clear();
    this.#reservations.clear();
    this.version += 1;
  }

  #take(before: Line[], after: Line[]): void {
    const change = new Map<string, number>();
    for (const { sku, quantity } of before) change.set(sku, (change.get(sku) ?? 0) + quantity);
    for (const { sku, quantity } of after) change.set(sku, (change.get(sku) ?? 0) - quantity);
    for (const [sku, delta] of change) {
      if (this.available(sku) + delta < 0) {
        throw new StockRefusal(409, 'insufficient', `Only ${this.available(sku)} of ${sku} are available.`);
      }
    }
    for (const [sku, delta] of change) this.#available.set(sku, this.available(sku) + delta);
    this.version += 1;
  }
}

function fresh(operationId: string): Reservation {
  return {
    operationId,
    state: 'reserved',
    lines: [],
    shipped: false,
    tombstone: false,
    reservedCount: 0,
    committedCount: 0,
    releasedCount: 0,
  };
}

function unknownReservation(operationId: string): StockRefusal {
  return new StockRefusal(404, 'not_found', `There is no reservation for ${operationId}.`);
}

/** One line per sku, ordered, so that the same goods compare equal however they were listed. */
function merged(lines: Line[]): Line[] {
  const bySku = new Map<string, number>();
  for (const { sku, quantity } of lines) bySku.set(sku, (bySku.get(sku) ?? 0) + quantity);
  return [...bySku].map(([sku, quantity]) => ({ sku, quantity })).sort((a, b) => (a.sku < b.sku ? -1 : 1));
}

function sameLines(a: Line[], b: Line[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
