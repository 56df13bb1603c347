// The command line.
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Unavailable } from '../scripts/process/lifetime.mjs';

export const PHASES = ['create', 'tput', 'lat', 'cost', 'mix', 'rec', 'claim'];
export const CONTESTANTS = ['product', 'minimal', 'batching'];

export const USAGE = `npm run bench -- [options]
  --phases ${PHASES.join(',')}   what is measured
  --only ${CONTESTANTS.join(',')}   who takes part
  --baseline FOLDER   another built state of this project takes part as "baseline"
  --n 10000   orders of a throughput window      --warm 3000   orders before the first window
  --reps 3   repetitions                         --seconds 10  of a latency window
  --seed 1   of the moments in a mix of cancellations and refunds
  --clients 64   that post at once               --concurrency 400   orders in work in a worker
  --latency 5   of the stand-in, in ms           --quick   a few minutes: one repetition, fewer orders
  --records 1000000   settled ones beside which is claimed
  --long   also memory over --long-orders 100000 (a quarter of an hour or so)
  --profile FOLDER   CPU profiles of the product's processes: see bench/profile.mjs
  --out FILE   the figures as JSON               --force   also while the machine is busy`;

const QUICK = { n: '1000', warm: '500', reps: '1', seconds: '3', records: '20000' };
const USUAL = { n: '10000', warm: '3000', reps: '3', seconds: '10', records: '1000000' };

/** Null when only the usage was asked for. */
export function readOptions(root, args) {
  const text = { type: 'string' };
  const flag = { type: 'boolean', default: false };
  const { values } = parseArgs({
    args,
    options: {
      ...{ phases: text, only: text, baseline: text, n: text, warm: text, reps: text, seconds: text },
      ...{ clients: text, concurrency: text, latency: text, profile: text, out: text, records: text },
      ...{ 'long-orders': text, seed: text, long: flag, quick: flag, force: flag, help: flag },
    },
  });
  if (values.help) return null;
  const usual = values.quick ? QUICK : USUAL;
  const number = (name, otherwise = usual[name]) => positive(name, values[name] ?? otherwise);
  const stamp = new Date().toISOString().replace(/\D/g, '').slice(0, 14);
  return {
    phases: [...listed('phases', values.phases, PHASES), ...(values.long ? ['long'] : [])],
    only: listed('only', values.only, CONTESTANTS),
    baseline: values.baseline === undefined ? null : resolve(values.baseline),
    n: number('n'),
    warm: number('warm'),
    reps: number('reps'),
    seconds: number('seconds'),
    records: number('records'),
    longOrders: number('long-orders', '100000'),
    clients: number('clients', '64'),
    concurrency: number('concurrency', '400'),
    latency: number('latency', '5'),
    seed: number('seed', '1'),
    profile: values.profile === undefined ? null : resolve(values.profile),
    out: resolve(values.out ?? `${root}/.data/bench/${stamp}.json`),
    force: values.force,
  };
}

function listed(name, given, known) {
  const words = given === undefined ? known : given.split(',').filter(Boolean);
  const unknown = words.filter((word) => !known.includes(word));
  if (unknown.length > 0)
    throw new Unavailable(`--${name}: ${unknown.join(', ')} is none of ${known.join(', ')}`);
  return words;
}

function positive(name, text) {
  const number = Number(text);
  if (!(number >= 0)) throw new Unavailable(`--${name}: ${text} is no number`);
  return number;
}
