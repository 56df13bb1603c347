// A shop's day: most orders are fulfilled, some are cancelled at any moment of their lives, some get a part of the money
// back. Then the same for each kind by itself, since orders of a mix share their transactions. Every window ends with
// the stand-in's ledger being compared with what was wanted: a figure for money that went wrong is none.
import { setTimeout as sleep } from 'node:timers/promises';
import { postAll } from '../load.mjs';
import { perOrder, readMeters } from '../measure/window.mjs';
import { someIds } from '../orders.mjs';

const MIX = { fulfil: 70, cancel: 15, refund: 15 };
const KINDS = Object.keys(MIX);
/** Of the orders of a mix, for a window of one kind. */
const ALONE = 0.25;
/**
 * How long the last cancellation comes after its order, for each order of the window: about as long as all take, so that
 * they meet orders that wait, are in work, and are done.
 */
const MS_AN_ORDER = 4;
const POLL_MS = 200;
const PATIENCE_MS = 180_000;
const PAID = 12900;
/** Cancelled before anything was asked of the world. */
const UNTOUCHED = { captured: 0, held: 0, refunds: [], stock: null, calls: 0 };

export async function measureMix(arena, run) {
  const { n, seed } = arena.options;
  const random = seededBy(seed);
  const measured = { mix: await window(arena, run, n, MIX, random) };
  for (const kind of KINDS)
    measured[kind] = await window(arena, run, Math.ceil(n * ALONE), { [kind]: 1 }, random);
  return measured;
}

async function window(arena, run, orders, shares, random) {
  const ids = someIds(orders);
  const wishes = new Map(ids.map((id) => [id, aWish(shares, random, orders * MS_AN_ORDER)]));
  const before = await readMeters(arena, run);
  const began = Date.now();
  await wish(arena, run, ids, wishes);
  const settled = await untilSettled(arena, run, ids);
  const after = await readMeters(arena, run);
  const books = await arena.world.ledger();
  const ledger = Object.fromEntries(ids.map((id) => [id, books[id] ?? UNTOUCHED]));
  const wrong = ids.flatMap((id) => wrongWith(ledger[id], wishes.get(id)).map((what) => `${id}: ${what}`));
  if (wrong.length > 0) throw new Error(`the ledger is not as wished:\n${wrong.slice(0, 20).join('\n')}`);
  return {
    orders,
    per_second: orders / ((Math.max(...settled.values()) - began) / 1000),
    ...perOrder(before, after, orders),
    met: whatCancellationsMet(ids.filter((id) => wishes.get(id).kind === 'cancel').map((id) => ledger[id])),
    calls: Object.fromEntries(
      KINDS.map((kind) => [kind, ids.filter((id) => wishes.get(id).kind === kind)])
        .filter(([, those]) => those.length > 0)
        .map(([kind, those]) => [kind, those.reduce((sum, id) => sum + ledger[id].calls, 0) / those.length]),
    ),
  };
}

function aWish(shares, random, longest) {
  const total = Object.values(shares).reduce((sum, share) => sum + share, 0);
  let drawn = random() * total;
  const kind = Object.keys(shares).find((each) => (drawn -= shares[each]) < 0);
  if (kind === 'cancel') return { kind, after: random() * longest };
  if (kind === 'refund')
    return { kind, after: random() * 500, amount: 1 + Math.floor(random() * (PAID - 1)) };
  return { kind };
}

/** Resolves when everything was asked for and accepted. */
async function wish(arena, run, ids, wishes) {
  const { signal } = arena.lifetime;
  const asked = [];
  const later = async (ms, ask) => {
    await sleep(ms, undefined, { signal });
    await ask();
  };
  const toRefund = new Set(ids.filter((id) => wishes.get(id).kind === 'refund'));
  const refunds = (async () => {
    const end = Date.now() + PATIENCE_MS;
    while (toRefund.size > 0) {
      if (Date.now() > end) throw new Error(`${toRefund.size} orders to refund are not fulfilled in time`);
      await sleep(POLL_MS, undefined, { signal });
      for (const id of (await run.fulfilled([...toRefund])).keys()) {
        toRefund.delete(id);
        const { after, amount } = wishes.get(id);
        asked.push(later(after, () => run.ask(id, '/refunds', { refund_id: 'part', amount })));
      }
    }
  })();
  const post = async (order) => {
    await run.post(order);
    const { kind, after } = wishes.get(order.operation_id);
    if (kind === 'cancel') asked.push(later(after, () => run.ask(order.operation_id, '/cancel', {})));
  };
  await Promise.all([postAll({ ...run, post }, ids, arena.options.clients), refunds]);
  await Promise.all(asked);
}

async function untilSettled(arena, run, ids) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const settled = await run.settled(ids);
    if (settled.size === ids.length) return settled;
    if (Date.now() > end) throw new Error(`${ids.length - settled.size} orders are not settled in time`);
    await sleep(POLL_MS, undefined, { signal: arena.lifetime.signal });
  }
}

function wrongWith({ captured, held, refunds, stock }, { kind, amount }) {
  const given = refunds.reduce((sum, refund) => sum + refund.amount, 0);
  const wanted = {
    fulfil: [PAID, 0, 'committed'],
    refund: [PAID, amount, 'committed'],
    // Whatever was taken before.
    cancel: [captured, captured, null],
  }[kind];
  return [
    ...(captured === wanted[0] && (captured === 0 || captured === PAID) ? [] : [`${captured} captured`]),
    ...(given === wanted[1] && refunds.length <= 1
      ? []
      : [`${given} given back in ${refunds.length} refunds`]),
    ...(held === 0 ? [] : [`${held} still held`]),
    ...(stock === wanted[2] || (kind === 'cancel' && (stock === null || stock === 'released'))
      ? []
      : [`its stock is ${stock}`]),
  ];
}

/** How far the cancelled orders had come: without a reservation, without money, and with money that went back. */
const whatCancellationsMet = (orders) => ({
  nothing: orders.filter(({ stock, captured }) => stock === null && captured === 0).length,
  no_money: orders.filter(({ stock, captured }) => stock !== null && captured === 0).length,
  money: orders.filter(({ captured }) => captured > 0).length,
});

/** mulberry32: the same numbers for the same seed, everywhere. */
function seededBy(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
