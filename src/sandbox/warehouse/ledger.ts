/** The truth about goods per operation. */
import { type Line, type Stock } from './stock.js';

export interface StockEntry {
  state: string;
  lines: Line[];
  shipped: boolean;
  /** What the operation takes out of the available stock at present, as negative quantities. */
  delta: Record<string, number>;
  reserved: number;
  committed: number;
  released: number;
  violations: string[];
}

export function stockOf(stock: Stock, operationId: string): StockEntry {
  const reservation = stock.find(operationId);
  if (!reservation) {
    const nothing = { reserved: 0, committed: 0, released: 0 };
    return { state: 'none', lines: [], shipped: false, delta: {}, ...nothing, violations: [] };
  }
  const { state, lines, shipped, reservedCount, committedCount, releasedCount } = reservation;
  const held = state === 'released' ? [] : lines;
  const violations: string[] = [];
  if (releasedCount > 1) violations.push('released more than once');
  if (releasedCount > 0 && shipped) violations.push('released and shipped');
  return {
    state,
    lines,
    shipped,
    delta: Object.fromEntries(held.map(({ sku, quantity }) => [sku, -quantity])),
    reserved: reservedCount,
    committed: committedCount,
    released: releasedCount,
    violations,
  };
}
