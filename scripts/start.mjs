// npm start: installs and builds what is missing, finds or starts Postgres and Redis, starts the sandbox (the outside
// world) and the product, and shows orders being brought through faults. Then it stays up to be tried.
//
// With --once, or DEMO_ONCE=1, it ends after the demonstration, with code 0 only if every order came out right.
import './node-version.mjs';
import { fileURLToPath } from 'node:url';
import { runCommand, Unavailable } from './process/lifetime.mjs';
import { prepareBuild, prepareDependencies } from './prepare.mjs';
import { runDemo } from './demo.mjs';
import { startProduct, startSandbox, tail } from './programs.mjs';
import { findServices } from './services.mjs';
import { freshDatabase } from './services/fresh-database.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const say = (line) => console.log(line);
// Names this start's database and orders: YYMMDDhhmmss.
const run = new Date().toISOString().replace(/\D/g, '').slice(2, 14);
const isOnce = process.argv.includes('--once') || Boolean(process.env.DEMO_ONCE);

await runCommand('npm start', async (lifetime) => {
  const context = { root, lifetime, say };
  await prepareDependencies(context);
  await prepareBuild(context);
  const services = await findServices({ ...context, isThrowAway: false });
  say(`postgres: ${services.postgres}`);
  say(`redis: ${services.redis}`);
  if (!process.env.DATABASE_URL) services.databaseUrl = await freshDatabase(services.databaseUrl, run);
  const watch = openWatch();
  services.programs.forEach(watch.add);
  return Promise.race([watch.failed, present({ ...context, services, watch })]);
});

async function present({ services, watch, ...context }) {
  const sandbox = await startSandbox({ ...context, services });
  watch.add(sandbox);
  say(`sandbox: ${sandbox.url} stands for the payment provider and the warehouse`);
  const product = await startProduct({ ...context, services, sandbox });
  watch.add(product);
  say(`product: ${product.url}, log in ${product.log}`);

  const isRight = await runDemo({ ...context, run, product, sandbox });
  if (isOnce) return isRight ? 0 : 1;
  sayWhatToTry({ product, sandbox });
  return watch.failed;
}

/** `failed` rejects as soon as one of the added programs ends, with its last words. */
function openWatch() {
  let fail;
  const failed = new Promise((_resolve, reject) => (fail = reject));
  const add = async ({ name, log, exited }) => {
    await exited;
    fail(new Unavailable(`${name} has ended by itself. Its last lines:\n${tail(log)}`));
  };
  return { failed, add };
}

function sayWhatToTry({ product, sandbox }) {
  const as = (key) => `-H 'Authorization: Bearer ${key}'`;
  const json = `-H 'Content-Type: application/json'`;
  const order = {
    operation_id: 'my-order-1',
    spec: {
      order_id: 'my-order-1',
      amount: { value: 12900, currency: 'EUR' },
      payment: { provider: 'stripe', payment_method: 'pm_card_visa' },
      lines: [{ sku: 'tea-500', quantity: 2 }],
    },
  };
  const fault = { route: 'payment_intents.confirm', kind: 'effect_then_drop', times: 2 };
  say(`
Everything stays up until Ctrl-C.
  API       ${product.url}/v1/operations (description: ${product.url}/docs)
  probes    ${product.url}/readyz, ${product.url}/metrics
  sandbox   ${sandbox.url}/_sandbox (faults, stock, ledger)
  log       ${product.log}

Lose the answer of the next payment, then order something:
  curl -s ${json} -d '${JSON.stringify(fault)}' ${sandbox.url}/_sandbox/faults
  curl -s ${as(product.keys.checkout)} ${json} -d '${JSON.stringify(order)}' ${product.url}/v1/operations
See what became of it, and what the provider's books say:
  curl -s ${as(product.keys.checkout)} '${product.url}/v1/operations/my-order-1?wait=20'
  curl -s ${as(product.keys.checkout)} ${product.url}/v1/operations/my-order-1/events
  curl -s '${sandbox.url}/_sandbox/ledger?operation_id=my-order-1'
What support sees, and what a lead may do besides (pause, give_up, record_outcome, approvals):
  curl -s ${as(product.keys.support)} '${product.url}/v1/operations?attention=true'
  curl -s ${as(product.keys.lead)} ${json} -d '{"reason": "a trial"}' ${product.url}/v1/accounts/default/pause
  curl -s ${as(product.keys.lead)} ${json} -d '{"reason": "it is over"}' ${product.url}/v1/accounts/default/resume`);
}
