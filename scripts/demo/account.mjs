// The readable account of one order, and the table of all.
import { CURRENCY } from './orders.mjs';

const money = (minorUnits) => `${(minorUnits / 100).toFixed(2)} ${CURRENCY}`;

/** The lines about one order, from what the product recorded and what the sandbox's books say. */
export function accountOf({ number, order, id, operation, events, attempts, ledger, findings }) {
  const began = Date.parse(operation.metadata.created_at);
  const seconds = (time) => `${((Date.parse(time) - began) / 1000).toFixed(2).padStart(6)} s`;
  const { phase, condition, provider_reference: reference } = operation.status;
  return [
    ``,
    `Order ${number}: ${order.title}`,
    `  wanted   ${describeWish(order)} (${id})`,
    `  broken   ${describeFault(order)}`,
    ...events.map(({ at, message }) => `  ${seconds(at)}  ${message}`),
    `  sent     ${attempts.map(describeAttempt).join(', ') || 'nothing'}`,
    `  phase    ${phase} (${condition})${reference ? `, payment ${reference}` : ''}`,
    `  books    ${describeLedger(ledger)}`,
    `  verdict  ${findings.length === 0 ? 'as wanted' : `WRONG: ${findings.join('; ')}`}`,
  ].join('\n');
}

/** What the books and the phase say that is not as expected; nothing when all came out right. */
export function findingsOf({ order, operation, ledger }) {
  const { expected } = order;
  const facts = [
    ['phase', operation.status.phase, expected.phase],
    ['captured', ledger.captured, expected.captured],
    ['refunded', ledger.refunded, expected.refunded],
    [
      'payments that took money',
      ledger.intents.filter(({ captured }) => captured > 0).length,
      expected.captured ? 1 : 0,
    ],
    ['refunds', ledger.refunds.length, expected.refunded ? 1 : 0],
    ['money still held', ledger.held, 0],
    ['stock', stockOf(ledger), expected.stock],
  ];
  return [
    ...facts
      .filter(([, is, wanted]) => is !== wanted)
      .map(([name, is, wanted]) => `${name} ${is}, not ${wanted}`),
    ...ledger.violations,
  ];
}

export function summaryOf(results) {
  const rows = results.map(({ number, order, operation, ledger, findings }) => [
    String(number),
    money(order.amount),
    operation.status.phase,
    money(ledger.captured),
    money(ledger.refunded),
    stockOf(ledger),
    findings.length === 0 ? 'right' : 'WRONG',
    order.title,
  ]);
  const table = [['', 'amount', 'phase', 'captured', 'refunded', 'stock', '', 'what went wrong'], ...rows];
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
  return table
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** A reservation that was refused or given back leaves a mark, but holds nothing. */
function stockOf({ stock: { state } }) {
  return state === 'none' || state === 'released' ? 'not held' : state;
}

function describeWish({ amount, cancelWhenPaid, lines }) {
  const goods = (lines ?? []).map(({ sku, quantity }) => `${quantity} × ${sku}`).join(', ') || '2 × tea-500';
  return `${money(amount)} for ${goods}${cancelWhenPaid ? ', later all of it back' : ''}`;
}

function describeFault({ fault, stock, method }) {
  if (fault) return `${fault.route}: ${fault.kind}${fault.delay_ms ? ` of ${fault.delay_ms} ms` : ''}`;
  if (stock) return `${stock.available} × ${stock.sku} in stock`;
  return method ? `the customer's bank says no (${method})` : 'nothing';
}

function describeAttempt({ step, ordinal, outcome, failure, resolution }) {
  const seen = resolution === 'effect_observed' ? ', its effect was read' : '';
  const why = failure ? ` (${failure.code}${seen})` : '';
  return `${step}${ordinal > 1 ? ` #${ordinal}` : ''} ${outcome ?? 'unanswered'}${why}`;
}

function describeLedger({ captured, refunded, intents, stock }) {
  const paying = intents.filter((intent) => intent.captured > 0).length;
  const charged =
    captured > 0
      ? `captured ${money(captured)} in ${paying} payment${paying === 1 ? '' : 's'}`
      : 'no money taken';
  return `${charged}${refunded > 0 ? `, refunded ${money(refunded)}` : ''}; stock ${stockOf({ stock })}`;
}
