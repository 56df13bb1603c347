/** Webhooks with a provider behind them: what they bring about, and what they must not. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { EventInbox } from '../../src/store/event-inbox.js';
import type { OperationRecord } from '../../src/store/record.js';
import { anApi, pathOf, type TestApi } from '../support/api.js';
import { aSpec } from '../support/operations.js';
import { until } from '../support/product.js';
import type { EventSummary } from '../support/sandbox-control.js';
import { signed, WEBHOOK_SECRET } from '../support/webhooks.js';
import { aWorld, type World } from '../support/world.js';

let world: World;
let api: TestApi;
beforeEach(async () => {
  world = await aWorld();
  // In front of the same orders; each test says itself which events come, and when.
  api = await anApi({
    store: world.store,
    inbox: new EventInbox(world.db.database),
    webhookSecrets: new Map([['default', [WEBHOOK_SECRET]]]),
  });
});
afterEach(async () => {
  await api.stop();
  await world.stop();
});

/** The events of an order, oldest first. */
async function eventsOf(operationId: string, type?: string): Promise<EventSummary[]> {
  const events = await world.control.events({
    operation_id: operationId,
    ...(type === undefined ? {} : { type }),
  });
  return events.sort((a, b) => a.created - b.created);
}
/** One event as the provider would send it; the result as it was answered. */
async function deliver({ id }: EventSummary): Promise<string> {
  const response = await fetch(`${world.sandbox.url}/v1/events/${id}`, {
    headers: { authorization: 'Bearer sk_test_world' },
  });
  const answer = await api.anonymous('POST', '/v1/webhooks/stripe', signed(await response.text()));
  if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`);
  return answer.json<{ result: string }>().result;
}
/** Requests to the provider and the warehouse since a moment, by whether they could have an effect. */
async function requestsSince(sequence: number): Promise<{ reads: number; writes: string[] }> {
  const journal = (await world.control.journal({ after: sequence })).filter(
    ({ route }) => route !== 'events.retrieve',
  );
  return {
    reads: journal.filter(({ method }) => method === 'GET').length,
    writes: journal.filter(({ method }) => method !== 'GET').map(({ route }) => route),
  };
}
const stateOf = ({ status, facts, resource_version, generation }: OperationRecord): unknown => ({
  status,
  refunds: facts.refunds,
  resource_version,
  generation,
});

describe('late and reordered events', () => {
  test('a failure of the first attempt, after the second was paid, changes nothing and sends nothing', async () => {
    await world.create(
      'late',
      aSpec({ order_id: 'late', payment: { payment_method: 'pm_card_chargeDeclined' } }),
    );
    expect((await world.settle('late')).status.phase).toBe('payment_failed');
    const body = { payment_method: 'pm_card_visa' };
    expect((await api.call('POST', pathOf('late', '/payment'), { body })).status).toBe(202);
    const paid = await world.settle('late');
    expect(paid.status.phase).toBe('fulfilled');
    const ledger = await world.control.ledger('late');

    const began = await world.control.journalSequence();
    const [declined] = await eventsOf('late', 'payment_intent.payment_failed');
    if (declined === undefined) throw new Error('the provider told of no decline');
    const results = [await deliver(declined), await deliver(declined), await deliver(declined)];
    expect(results).toEqual(['woken', 'duplicate', 'duplicate']);
    expect(await world.run()).toBe(1);

    const all = await eventsOf('late');
    expect(all.length).toBeGreaterThan(4);
    for (const event of all.reverse()) {
      expect(await deliver(event)).toBe(event.id === declined.id ? 'duplicate' : 'woken');
      // It is read at once, although it has settled.
      expect(await world.run()).toBe(event.id === declined.id ? 0 : 1);
    }
    const { reads, writes } = await requestsSince(began);
    expect(writes).toEqual([]);
    expect(reads).toBeGreaterThanOrEqual(all.length);
    expect(stateOf(await world.get('late'))).toEqual(stateOf(paid));
    expect(await world.control.ledger('late')).toEqual(ledger);
  });

  test('many events at once cost one reading, not one each', async () => {
    await world.create('burst');
    await world.settle('burst');
    const all = await eventsOf('burst');
    const began = await world.control.journalSequence();
    await Promise.all(all.map(deliver));
    expect(await world.run()).toBe(1);
    expect((await requestsSince(began)).writes).toEqual([]);
  });
});

describe('news of a settled order', () => {
  const aRefund = async (operationId: string): Promise<EventSummary> => {
    await world.create(operationId);
    expect((await world.settle(operationId)).status.phase).toBe('fulfilled');
    await world.control.dashboard('refund', { operation_id: operationId, amount: 2_500 });
    const [event] = await eventsOf(operationId, 'refund.created');
    if (event === undefined) throw new Error('the provider told of no refund');
    return event;
  };
  const refunds = async (operationId: string): Promise<unknown[]> =>
    (await world.get(operationId)).facts.refunds.map(({ amount, source, state }) => ({
      amount,
      source,
      state,
    }));
  const REFUNDED = [{ amount: 2_500, source: 'external', state: 'succeeded' }];

  test('a refund by the dashboard is read at once, from an event that names only the payment', async () => {
    const event = await aRefund('refunded');
    // Nothing comes by itself: the next turn is a quarter of an hour away.
    expect(await world.run()).toBe(0);
    const began = await world.control.journalSequence();
    expect(await deliver(event)).toBe('woken');
    await world.run();
    expect(await refunds('refunded')).toEqual(REFUNDED);
    expect((await requestsSince(began)).writes).toEqual([]);
  });

  test('a reading that fails is repeated soon: the event does not come twice', async () => {
    const event = await aRefund('unread');
    await world.control.inject({ route: 'payment_intents.retrieve', kind: '503_html', times: 2 });
    expect(await deliver(event)).toBe('woken');
    await world.run(undefined, 1);
    expect(await refunds('unread')).toEqual([]);
    await until(
      async () => {
        await world.run();
        return (await refunds('unread')).length > 0;
      },
      'the refund to be seen',
      5_000,
    );
    expect(await refunds('unread')).toEqual(REFUNDED);
    expect(await world.control.ledger('unread')).toMatchObject({ refunded: 2_500, violations: [] });
  });
});

describe('events that come before what they are about is known here', () => {
  const untilEvent = (operationId: string, type: string): Promise<EventSummary> =>
    until(async () => (await eventsOf(operationId, type))[0], type, 5_000);

  test('during the call that creates the payment, once: the order converges', async () => {
    await world.create('early');
    await world.control.inject({ route: 'payment_intents.create', kind: 'delay_after', delay_ms: 600 });
    const pass = world.run(undefined, 1);
    const event = await untilEvent('early', 'payment_intent.created');
    expect((await world.get('early')).provider_reference).toBeNull();
    expect(await deliver(event)).toBe('woken');
    await pass;
    expect((await world.settle('early')).status.phase).toBe('fulfilled');
    expect(await world.control.ledger('early')).toMatchObject({
      captured: 12_900,
      effects: { creates: 1, confirms: 1 },
      violations: [],
    });
  });

  test('the answer that would have told the id is lost as well', async () => {
    await world.create('lost');
    await world.control.inject({ route: 'payment_intents.create', kind: 'effect_then_drop', times: 2 });
    await world.run(undefined, 1);
    expect((await world.get('lost')).provider_reference).toBeNull();
    expect(await deliver(await untilEvent('lost', 'payment_intent.created'))).toBe('woken');
    expect((await world.settle('lost')).status.phase).toBe('fulfilled');
    const ledger = await world.control.ledger('lost');
    expect(ledger).toMatchObject({ captured: 12_900, violations: [] });
    expect(ledger.intents).toHaveLength(1);
  });

  const adopting = (reference: string): ReturnType<typeof aSpec> =>
    aSpec({ order_id: 'adopted', payment: { payment_method: null, reference } });
  const frontEndPayment = (): Promise<{ id: string; status: string }> =>
    world.control.dashboard('create_stray', {
      amount: 12_900,
      currency: 'eur',
      payment_method: 'pm_sepaDebit',
    });
  const eventAbout = async (reference: string, type: string): Promise<EventSummary> => {
    const event = (await world.control.events({ type })).find(({ object }) => object === reference);
    if (event === undefined) throw new Error(`the provider told of no ${type}`);
    return event;
  };

  test('a payment of the front end is settled while it is read for the first time', async () => {
    const { id, status } = await frontEndPayment();
    expect(status).toBe('processing');
    await world.create('adopted', adopting(id));
    await world.control.inject({ route: 'payment_intents.retrieve', kind: 'delay_after', delay_ms: 600 });
    const pass = world.run(undefined, 1);
    await until(
      async () => (await world.control.faults()).length === 0,
      'the reading to be under way',
      5_000,
    );
    await world.control.dashboard('settle_payment', { payment_intent: id });
    expect((await world.get('adopted')).provider_reference).toBeNull();
    expect(await deliver(await eventAbout(id, 'payment_intent.succeeded'))).toBe('woken');
    await pass;
    // That pass saw the payment as it was before, and is not the last one.
    expect((await world.get('adopted')).facts.payment.state).toBe('processing');
    expect((await world.settle('adopted')).status.phase).toBe('fulfilled');
  });

  test('it is settled before the order exists: the order’s first reading shows it', async () => {
    const { id } = await frontEndPayment();
    await world.control.dashboard('settle_payment', { payment_intent: id });
    expect(await deliver(await eventAbout(id, 'payment_intent.succeeded'))).toBe('unmatched');
    await world.create('adopted', adopting(id));
    expect((await world.settle('adopted')).status.phase).toBe('fulfilled');
    expect(await world.run()).toBe(0);
  });
});
