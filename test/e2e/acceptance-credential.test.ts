/** The key of the only account stops working, as when somebody rolls it without telling, and works again. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CREDENTIAL_RUN } from '../support/acceptance/account.js';
import {
  accountOf,
  budgetUsed,
  failingWith,
  finalOf,
  leftBy,
  recoveryOf,
  sceneOf,
  shownOf,
  unfinished,
} from '../support/acceptance/record.js';
import { aProduct, Client, until, type Process, type Product } from '../support/product.js';

const WATCHED_MS = 4_000;
/** One probe every two seconds, and one that was on its way; each asks who the account is and reads the payment. */
const REQUESTS_OF_PROBES = (WATCHED_MS / 2_000 + 1) * 2;

let product: Product;
let processes: Process[];
beforeAll(async () => {
  product = await aProduct({
    // Patience enough with a busy machine, so that nothing but the fault is met.
    PROVIDER_TIMEOUT_MS: '2000',
    LEASE_MS: '6000',
  });
  const api = await product.start('api');
  processes = [api, ...(await Promise.all([product.start('worker'), product.start('worker')]))];
}, 60_000);
afterAll(() => product.stop());

const metric = async (name: string): Promise<number> => {
  const text = await (await fetch(`${(processes[0] as Process).url}/metrics`)).text();
  return Number(new RegExp(`^${name}\\{account="default"\\} (\\d+)$`, 'm').exec(text)?.[1]);
};

test(`${CREDENTIAL_RUN.title}: one alert, no order fails, no budget is used, no command is needed`, async () => {
  const { control, environment } = product;
  const client = new Client(processes[0] as Process);
  const held = ['held-1', 'held-2', 'held-3'];
  const fresh = ['new-1', 'new-2', 'new-3'];
  const before = sceneOf(product, held);
  const scene = sceneOf(product, [...held, ...fresh]);
  const key = environment['STRIPE_SECRET_KEY'] ?? '';

  for (const id of held) await client.create(id, { payment: { capture: 'manual' } });
  await until(async () => (await unfinished(before, 'authorized')) === 0, 'the authorizations');
  const checkpoint = await finalOf(before);

  const sequence = await control.journalSequence();
  await control.revokeKey(key);
  for (const id of held) await client.call('POST', `/v1/operations/${id}/capture`, {});
  for (const id of fresh) await client.create(id);
  const seen = async (): Promise<boolean> => (await failingWith(scene, 'authorization')) === scene.ids.length;
  await until(seen, 'all orders to say why they wait', 45_000);
  const watched = await control.journalSequence();
  await new Promise((resolve) => setTimeout(resolve, WATCHED_MS));
  const requests = await control.journal({ after: watched });
  const toProvider = requests.filter(({ route }) => !route.startsWith('reservations'));
  const refused = (await control.journal({ after: sequence })).filter(({ status }) => status === 401);
  const shown = {
    ...(await shownOf(scene)),
    'budget used': await budgetUsed(scene),
    order_account_state: await metric('order_account_state'),
    'requests in 4 s beyond the probes': Math.max(0, toProvider.length - REQUESTS_OF_PROBES),
  };

  await control.restoreKey(key);
  const ended = async (): Promise<boolean> =>
    (await unfinished(scene, 'fulfilled')) === 0 && (await accountOf(scene)) === 'closed';
  await until(ended, 'the end', 45_000);
  expect({
    injected: { answers: refused.length > 0 ? ['401'] : [] },
    shown,
    checkpoint: { orders: checkpoint['orders'], effects: checkpoint['effects'] },
    recovery: await recoveryOf(
      scene,
      processes,
      ['"level":"error"', 'the account is stopped until this is repaired'],
      ['the account answers again'],
    ),
    final: await finalOf(scene),
    left: await leftBy(scene),
  }).toEqual(CREDENTIAL_RUN.expected);
  expect(await metric('order_account_state')).toBe(0);
}, 120_000);
