/** One order in trouble of its own: what it shows, and that no later trigger is swallowed. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  HEALED_BY_CHANGE,
  HEALED_BY_HOOK,
  LIMIT,
  LOOKED_AT_OFTEN,
  LOOKS,
} from '../support/acceptance/budget.js';
import {
  finalOf,
  leftBy,
  ordersOf,
  recoveryOf,
  sceneOf,
  unfinished,
  type Facts,
  type Scene,
} from '../support/acceptance/record.js';
import { aProduct, Client, until, type Process, type Product } from '../support/product.js';
import { anEvent, signed, WEBHOOK_SECRET } from '../support/webhooks.js';

let product: Product;
let processes: Process[];
let client: Client;
beforeAll(async () => {
  product = await aProduct({
    STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    RETRY_LIMIT: String(LIMIT),
    // Patience enough with a busy machine, so that nothing but the fault is met.
    PROVIDER_TIMEOUT_MS: '2000',
    LEASE_MS: '6000',
    // An hour until anything is read again by itself: what heals is the trigger.
    RESYNC_INTERVAL_MS: '3600000',
  });
  processes = [await product.start('all'), await product.start('worker')];
  client = new Client(processes[0] as Process);
}, 60_000);
afterAll(() => product.stop());

const hooks = (): string => `${(processes[0] as Process).url}/v1/webhooks/stripe`;
const recovery = (scene: Scene): Promise<Facts> =>
  recoveryOf(scene, processes, ['the account is'], ['the account answers again']);
const settled = (scene: Scene): Promise<true> =>
  until(async () => (await unfinished(scene, 'fulfilled')) === 0, 'the order to be fulfilled');

/** Its confirmations get a gateway's page, and nothing happens at the provider. */
const breakConfirmation = (operation_id: string): Promise<{ id: string; kind: string; route: string }> =>
  product.control.inject({
    route: 'payment_intents.confirm',
    kind: '503_html',
    times: null,
    match: { operation_id },
  });

interface Shown {
  readonly attention: { readonly reason: string; readonly message: string } | null;
  readonly retry_budget: { readonly limit: number; readonly used: number };
  readonly money_moved: { readonly verdict: string };
  readonly phase: string;
}

/** Reads until the order says that it needs a person, and what it shows then. */
async function exhausted(id: string, generation: number): Promise<Facts> {
  const status = await until(async () => {
    const { body } = await client.get(id);
    const { attention } = body.status as unknown as Shown;
    const current = (body['metadata'] as { generation: number }).generation === generation;
    return attention !== null && current && (body.status as unknown as Shown);
  }, `${id} to need a person`);
  const { attention, retry_budget, money_moved, phase } = status;
  return {
    phase,
    attention: `${attention?.reason}: ${attention?.message.split(':')[0]}`,
    'retry budget': { ...retry_budget },
    'money moved': money_moved.verdict,
  };
}

async function checkpointOf(id: string): Promise<Facts> {
  const { captured, intents, stock } = await product.control.ledger(id);
  const { provider_reference } = (await client.get(id)).body.status;
  const known = intents.length === 1 && intents[0]?.id === provider_reference;
  return { payment: known ? 'known by its id' : 'unknown', stock: stock.state, captured };
}

const withEffect = async (id: string, after: number): Promise<string[]> =>
  (await product.control.journal({ after, operation_id: id, had_effect: true })).map(({ route }) => route);

test(
  HEALED_BY_HOOK.title,
  async () => {
    const [id] = ['hooked'];
    const scene = sceneOf(product, [id]);
    const { route, kind } = await breakConfirmation(id);
    await client.create(id);
    const shown = await exhausted(id, 1);
    const checkpoint = await checkpointOf(id);
    await product.control.clearFaults();
    await product.control.dashboard('confirm', { operation_id: id, payment_method: 'pm_card_visa' });

    const webhook = await product.control.addWebhook(hooks(), WEBHOOK_SECRET);
    const sequence = await product.control.journalSequence();
    const [event] = await product.control.events({ operation_id: id, type: 'payment_intent.succeeded' });
    await product.control.redeliver(event?.id ?? '');
    await settled(scene);
    await product.control.removeWebhook(webhook);
    expect({
      injected: { [route]: kind },
      shown,
      checkpoint,
      recovery: {
        ...(await recovery(scene)),
        'requests with an effect after the event': await withEffect(id, sequence),
      },
      final: await finalOf(scene),
      left: await leftBy(scene),
    }).toEqual(HEALED_BY_HOOK.expected);
  },
  60_000,
);

test(
  HEALED_BY_CHANGE.title,
  async () => {
    const [id] = ['changed'];
    const scene = sceneOf(product, [id]);
    const { route, kind } = await breakConfirmation(id);
    const change = async (payment_deadline: string): Promise<void> => {
      const patch = { payment_deadline };
      const { status } = await client.call('PATCH', `/v1/operations/${id}`, patch, { 'if-match': '*' });
      expect(status).toBe(200);
    };
    await client.create(id);
    const first = await exhausted(id, 1);
    const checkpoint = await checkpointOf(id);
    await change('2098-01-01T00:00:00Z');
    const second = await exhausted(id, 2);
    await product.control.clearFaults();
    await change('2099-01-01T00:00:00Z');
    await settled(scene);

    const tries = await scene.query<{ shown: string }>(
      `SELECT a.generation || ': ' || count(*) AS shown
     FROM operation_attempts a JOIN order_operations o ON o.id = a.operation
     WHERE o.operation_id = ANY ($1) AND a.step = 'confirm_payment' GROUP BY a.generation ORDER BY a.generation`,
      [scene.ids],
    );
    const { metadata } = (await client.get(id)).body as unknown as { metadata: { generation: number } };
    expect({
      injected: { [route]: kind },
      shown: { first, second },
      checkpoint,
      recovery: {
        ...(await recovery(scene)),
        generation: metadata.generation,
        'tries of the confirmation, by generation': tries.map(({ shown }) => shown),
      },
      final: await finalOf(scene),
      left: await leftBy(scene),
    }).toEqual(HEALED_BY_CHANGE.expected);
  },
  60_000,
);

test(
  LOOKED_AT_OFTEN.title,
  async () => {
    const [id] = ['looked-at'];
    const scene = sceneOf(product, [id]);
    await client.create(id);
    await settled(scene);
    const checkpoint = { orders: await ordersOf(scene) };
    const version = async (): Promise<number> =>
      ((await client.get(id)).body['metadata'] as { resource_version: number }).resource_version;
    const [before, sequence] = [await version(), await product.control.journalSequence()];
    const { provider_reference } = (await client.get(id)).body.status;

    const readings = async (): Promise<number> =>
      (await product.control.journal({ after: sequence, route: 'payment_intents.retrieve' })).length;
    // Events that come while one is worked are worked together: more of them than readings.
    for (let sent = 0; sent < 10 * LOOKS && (await readings()) < LOOKS; sent += 1) {
      const object = { id: provider_reference, object: 'payment_intent', metadata: { operation_id: id } };
      const hook = signed(anEvent(`evt_look_${sent}`, 'payment_intent.succeeded', object));
      expect((await fetch(hooks(), { method: 'POST', ...hook })).status).toBe(200);
    }
    await settled(scene);
    const shown = {
      'changes that a reader sees, by all that': (await version()) - before,
      'requests with an effect, by all that': (await withEffect(id, sequence)).length,
    };
    const injected = { 'readings, at least': Math.min(LOOKS, await readings()) };

    await client.call('POST', `/v1/operations/${id}/refunds`, { refund_id: 'r1', amount: 2_500 });
    await until(async () => {
      const { refunds } = (await client.get(id)).body.status as unknown as { refunds: { state: string }[] };
      return refunds[0]?.state === 'succeeded';
    }, 'the refund to be seen');
    await settled(scene);
    expect({
      injected,
      shown,
      checkpoint,
      recovery: await recovery(scene),
      final: await finalOf(scene),
      left: await leftBy(scene),
    }).toEqual(LOOKED_AT_OFTEN.expected);
  },
  90_000,
);
