/** The ledger as the control API shows it: money and goods of one operation, or the sums over all. */
import { moneyOf, type MoneyEntry } from '../payments/ledger.js';
import { type Universe } from '../universe.js';
import { stockOf, type StockEntry } from '../warehouse/ledger.js';

export interface LedgerEntry extends MoneyEntry {
  operation_id: string;
  stock: StockEntry;
}

export function ledgerOf(universe: Universe, operationId: string): LedgerEntry {
  const money = moneyOf(universe.books, operationId);
  const stock = stockOf(universe.stock, operationId);
  return {
    operation_id: operationId,
    ...money,
    stock,
    violations: [...money.violations, ...stock.violations],
  };
}

export interface LedgerSummary {
  operations: number;
  payment_intents: number;
  reservations: number;
  violations: { operation_id: string; violations: string[] }[];
}

/** For the end of long runs: whether any operation broke a rule. */
export function everything(universe: Universe): LedgerSummary {
  const operations = new Set(universe.books.byOperation.keys());
  let intents = 0;
  let reservations = 0;
  for (const _intent of universe.books.intents.all()) intents += 1;
  for (const reservation of universe.stock.all()) {
    reservations += 1;
    operations.add(reservation.operationId);
  }
  const violations = [...operations]
    .map((id) => ({ operation_id: id, violations: ledgerOf(universe, id).violations }))
    .filter((entry) => entry.violations.length > 0);
  return { operations: operations.size, payment_intents: intents, reservations, violations };
}
