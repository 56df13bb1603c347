// The demonstration: orders through faults. What broke is decided beforehand in the sandbox; what came out is read
// from the sandbox's own books, not from what the product says about itself.
import { setTimeout as sleep } from 'node:timers/promises';
import { accountOf, findingsOf, summaryOf } from './demo/account.mjs';
import { productClient, sandboxClient } from './demo/clients.mjs';
import { orderBody, ORDERS } from './demo/orders.mjs';

// The slowest order takes a provider's timeout and a few pauses, some 10 s on an idle machine.
const SETTLES_WITHIN_MS = 90_000;

/** Runs all orders at once (`run` makes their ids new), tells about each, and returns whether every one came out right. */
export async function runDemo({ run, product, sandbox, lifetime, say }) {
  const { signal } = lifetime;
  const clients = {
    api: productClient({ url: product.url, key: product.keys.checkout, signal }),
    world: sandboxClient({ url: sandbox.url, signal }),
  };
  say(`\n${ORDERS.length} orders, most of them with a fault waiting for them:`);
  const running = ORDERS.map((order, index) => follow({ order, number: index + 1, run, ...clients }));
  // Told in order; a failure of a later one must not end the process before its turn.
  running.forEach((result) => result.catch(() => {}));
  const results = [];
  for (const result of running) {
    results.push(await result);
    say(accountOf(results.at(-1)));
  }
  const wrong = results.filter(({ findings }) => findings.length > 0);
  say(`\n${summaryOf(results)}\n`);
  say(
    wrong.length === 0
      ? `All ${results.length} orders came out right: nobody was charged twice, and nothing was sent without money.`
      : `${wrong.length} of ${results.length} orders came out WRONG.`,
  );
  return wrong.length === 0;
}

async function follow({ order, number, run, api, world }) {
  const id = `demo-${run}-${number}`;
  if (order.stock) await world.setStock(order.stock);
  if (order.fault) await world.addFault({ ...order.fault, match: { operation_id: id } });
  await api.create(orderBody(order, id));
  if (order.cancelWhenPaid) {
    await settle({ api, id, phase: 'fulfilled' });
    await api.cancel(id, 'the customer withdrew');
  }
  const operation = await settle({ api, id, phase: order.expected.phase });
  const [events, attempts, ledger] = await Promise.all([api.events(id), api.attempts(id), world.ledger(id)]);
  const findings = findingsOf({ order, operation, ledger });
  return { number, order, id, operation, events, attempts, ledger, findings };
}

/** The operation in that phase, or wherever it is when the time is up. */
async function settle({ api, id, phase }) {
  for (const end = Date.now() + SETTLES_WITHIN_MS; ;) {
    const operation = await api.wait(id, 5);
    if (operation.status.phase === phase || operation.status.attention || Date.now() > end) return operation;
    // At rest, but not there: the answer came at once, and so would the next one.
    await sleep(250);
  }
}
