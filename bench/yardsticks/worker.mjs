// The worker of a yardstick: takes open orders when notified and on a timer, and runs their steps, so many at a time.
// It is the only one, so it claims nothing; after a crash it repeats the step it cannot know about, without reading.
import pg from 'pg';
import { CHANNEL, OPEN } from './schema.mjs';
import { stepsOf } from './steps.mjs';
import { batchedWrites, singleWrites } from './writes.mjs';

const { DATABASE_URL, WORLD_URL, CONCURRENCY, WRITES } = process.env;
const POLL_MS = 500;
const concurrency = Number(CONCURRENCY);
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 });
const write = WRITES === 'batched' ? batchedWrites(pool) : singleWrites(pool);
const steps = stepsOf(WORLD_URL, concurrency);
const inWork = new Set();
let isTaking = false;
let again = false;

async function run(order) {
  for (let { step } = order; step < steps.length; step += 1) {
    const payment = await steps[step](order);
    order.payment ??= payment;
    await write({ seq: order.seq, step, payment });
  }
}

async function take() {
  again = true;
  if (isTaking) return;
  isTaking = true;
  while (again && inWork.size < concurrency) {
    again = false;
    const room = concurrency - inWork.size;
    const { rows } = await pool.query({ ...OPEN, values: [[...inWork], room] });
    for (const order of rows) {
      inWork.add(order.seq);
      run(order)
        .catch((error) => console.error(order.id, error))
        .finally(() => {
          inWork.delete(order.seq);
          if (again) void take();
        });
    }
    if (rows.length === room) again = true;
  }
  isTaking = false;
}

const listener = new pg.Client({ connectionString: DATABASE_URL });
await listener.connect();
listener.on('notification', () => void take());
await listener.query(`LISTEN ${CHANNEL}`);
setInterval(() => void take(), POLL_MS);
await take();
process.send?.('ready');
