// The figures for people: one row a figure, one column a contestant, and the product's ratio to each yardstick.
import { median } from './measure/figures.mjs';

/** Name, unit, phase, how it is read from one measurement, and decimals. */
const ROWS = [
  ['creates', '/s', 'create', (m) => m.per_second, 0],
  ['  p50', 'ms', 'create', (m) => m.p50, 1],
  ['  p99', 'ms', 'create', (m) => m.p99, 1],
  ['  CPU of the api', 'ms', 'create', (m) => m.cpu_ms.api, 2],
  ['  CPU of Postgres', 'ms', 'create', (m) => m.cpu_ms.postgres, 2],
  ['  foreign cores', '', 'create', (m) => m.foreign_cores, 2],
  ['orders settled', '/s', 'tput', (m) => m.per_second, 0],
  ['CPU per order', 'ms', 'tput', (m) => m.cpu_ms.all, 2],
  ['  api', 'ms', 'tput', (m) => m.cpu_ms.api, 2],
  ['  worker', 'ms', 'tput', (m) => m.cpu_ms.worker, 2],
  ['  Postgres', 'ms', 'tput', (m) => m.cpu_ms.postgres, 2],
  ['  Redis', 'ms', 'tput', (m) => m.cpu_ms.redis, 2],
  ['worker memory, before', 'MB', 'tput', (m) => m.memory_mb.before.worker, 0],
  ['worker memory, after', 'MB', 'tput', (m) => m.memory_mb.after.worker, 0],
  ['foreign cores', '', 'tput', (m) => m.foreign_cores, 2],
  ...[50, 400].flatMap((rate) => [
    [`latency at ${rate}/s, p50`, 'ms', `lat${rate}`, (m) => m.p50, 0],
    ['  p95', 'ms', `lat${rate}`, (m) => m.p95, 0],
    ['  p99', 'ms', `lat${rate}`, (m) => m.p99, 0],
    ['  settled', '/s', `lat${rate}`, (m) => m.settled_per_second, 0],
    ['  CPU per order', 'ms', `lat${rate}`, (m) => m.cpu_ms.all, 2],
    ['  foreign cores', '', `lat${rate}`, (m) => m.foreign_cores, 2],
  ]),
  ['write transactions per order', '', 'cost', (m) => m.write_transactions, 2],
  ['statements per order', '', 'cost', (m) => m.statements, 2],
  ['WAL per order', 'B', 'cost', (m) => m.wal_bytes, 0],
  ['Redis commands per order', '', 'cost', (m) => m.redis_commands, 2],
  ['requests to the world per order', '', 'cost', (m) => m.requests, 2],
  ['mix: orders settled', '/s', 'mix', (m) => m.mix.per_second, 0],
  ...['mix', 'fulfil', 'cancel', 'refund'].flatMap((kind) => [
    [`${kind}: CPU per order`, 'ms', 'mix', (m) => m[kind].cpu_ms.all, 2],
    ['  write transactions', '', 'mix', (m) => m[kind].write_transactions, 2],
    ['  requests to the world', '', 'mix', (m) => m[kind].requests, 2],
    ['  foreign cores', '', 'mix', (m) => m[kind].foreign_cores, 2],
  ]),
  ['recovery after SIGKILL', 's', 'rec', (m) => m.seconds, 2],
  ['  orders in flight', '', 'rec', (m) => m.in_flight, 0],
  ['  requests repeated', '', 'rec', (m) => m.repeated_requests, 0],
  ['  orders charged twice', '', 'rec', (m) => m.charged_twice, 0],
  ['claim of 50, p50', 'ms', 'claim', (m) => m.p50, 1],
  ['  p99', 'ms', 'claim', (m) => m.p99, 1],
  ['worker memory, long run, first', 'MB', 'long', (m) => m.first.worker, 0],
  ['  last', 'MB', 'long', (m) => m.last.worker, 0],
];

const YARDSTICKS = ['bare api', 'minimal', 'batching', 'baseline'];

/** `results`: contestant → phase → measurements, of which the median is shown. */
export function tableOf(results) {
  const names = Object.keys(results);
  const compared = names.includes('product') ? YARDSTICKS.filter((name) => names.includes(name)) : [];
  const header = ['', '', ...names, ...compared.map((name) => `product/${name}`)];
  const rows = ROWS.flatMap(([name, unit, phase, read, decimals]) => {
    const values = new Map(names.map((each) => [each, valueOf(results[each][phase], read)]));
    if ([...values.values()].every((value) => value === null)) return [];
    const shown = names.map((each) => (values.get(each) === null ? '–' : values.get(each).toFixed(decimals)));
    return [
      [name, unit, ...shown, ...compared.map((each) => ratio(values.get('product'), values.get(each)))],
    ];
  });
  return aligned([header, ...rows]);
}

function valueOf(measurements, read) {
  const values = (measurements ?? []).map(read).filter((value) => typeof value === 'number');
  return values.length === 0 ? null : median(values);
}

const ratio = (ours, theirs) =>
  ours === null || theirs === null || Math.abs(theirs) < 0.005 ? '–' : (ours / theirs).toFixed(2);

function aligned(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column < 2 ? cell.padEnd(widths[column]) : cell.padStart(widths[column])))
        .join('  '),
    )
    .join('\n');
}
