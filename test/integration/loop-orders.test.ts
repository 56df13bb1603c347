import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { aSpec } from '../support/operations.js';
import { aWorld, type World } from '../support/world.js';

describe('the loop while nothing fails', () => {
  let world: World;
  beforeAll(async () => {
    world = await aWorld();
  });
  afterAll(() => world.stop());

  test('an order is paid once, its stock is committed once, and the record agrees with the ledger', async () => {
    await world.create('plain');
    const record = await world.settle('plain');

    expect(record.status).toMatchObject({ phase: 'fulfilled', condition: 'Fulfilled', attention: null });
    expect(record.facts.payment).toMatchObject({ state: 'captured', captured: 12_900 });
    expect(record.facts.inventory.state).toBe('committed');
    const ledger = await world.control.ledger('plain');
    expect(ledger).toMatchObject({ captured: 12_900, refunded: 0, violations: [] });
    expect(ledger.intents).toHaveLength(1);
    expect(ledger.stock).toMatchObject({ reserved: 1, committed: 1, released: 0 });
  });

  test('it takes two requests that move the payment and two for the stock, and no reading of what cannot be there', async () => {
    await world.create('frugal');
    await world.settle('frugal');
    const journal = await world.control.journal({ operation_id: 'frugal' });
    expect(journal.map((line) => line.route)).toEqual([
      'reservations.put',
      'payment_intents.create',
      'payment_intents.confirm',
      'reservations.commit',
    ]);
  });

  test('the timeline tells the story in order, with who did it', async () => {
    await world.create('story');
    await world.settle('story');
    const events = await world.store.events('story');
    expect(events[0]).toMatchObject({ type: 'operation_created', actor: { kind: 'key', name: 'checkout' } });
    expect(
      events.filter((event) => event.type === 'effect_done').map((event) => event.data?.['step']),
    ).toEqual(['reserve_inventory', 'create_payment', 'confirm_payment', 'commit_inventory']);
    expect(events.at(-1)).toMatchObject({ type: 'phase_changed', data: { to: 'fulfilled' } });
    const sequences = events.map((event) => event.sequence);
    expect(sequences).toEqual([...sequences].sort((a, b) => a - b));
  });

  test('a settled record is read again, and reading causes no effect and moves no version', async () => {
    await world.create('watched');
    const settled = await world.settle('watched');
    const before = await world.control.journalSequence();
    await world.hurry('watched');
    await world.run();
    const again = await world.get('watched');
    const journal = await world.control.journal({ operation_id: 'watched', after: before });
    expect(journal.length).toBeGreaterThan(0);
    expect(journal.filter((line) => line.method !== 'GET')).toEqual([]);
    expect(again.resource_version).toBe(settled.resource_version);
  });

  test('desired: authorized stops at the authorization', async () => {
    await world.create('authorized', aSpec({ order_id: 'authorized', desired: 'authorized' }));
    const record = await world.settle('authorized');
    expect(record.status).toMatchObject({ phase: 'authorized', condition: 'Authorized', attention: null });
    expect(await world.control.ledger('authorized')).toMatchObject({ authorized: 12_900, captured: 0 });
  });

  test('capture: manual waits for the caller, who may ask for less', async () => {
    const spec = aSpec({ order_id: 'manual', payment: { capture: 'manual' } });
    await world.create('manual', spec);
    const waiting = await world.settle('manual');
    expect(waiting.status.phase).toBe('authorized');
    expect((await world.control.ledger('manual')).captured).toBe(0);

    await world.store.changeWish({
      operation_id: 'manual',
      resource_version: waiting.resource_version,
      wish: { ...waiting.wish, spec: { ...spec, payment: { ...spec.payment, capture_amount: 6_500 } } },
      status: waiting.status,
      spec_changed: true,
      transitions: [],
      event: { type: 'capture_requested', actor: { kind: 'key', name: 'checkout' }, message: '65.00' },
    });
    const captured = await world.settle('manual');
    expect(captured.status.phase).toBe('fulfilled');
    expect(await world.control.ledger('manual')).toMatchObject({
      captured: 6_500,
      refunded: 0,
      violations: [],
    });
  });

  test('an order without lines asks nothing of the warehouse', async () => {
    await world.create('download', aSpec({ order_id: 'download', lines: [] }));
    const record = await world.settle('download');
    expect(record.status.phase).toBe('fulfilled');
    const journal = await world.control.journal({ operation_id: 'download' });
    expect(journal.filter((line) => line.route.startsWith('reservations'))).toEqual([]);
  });

  test('out of stock is found before money is asked for, and leaves nothing behind', async () => {
    await world.control.setStock('rare', 1);
    await world.create('rare', aSpec({ order_id: 'rare', lines: [{ sku: 'rare', quantity: 2 }] }));
    const record = await world.settle('rare');
    expect(record.status).toMatchObject({ phase: 'rejected', condition: 'OutOfStock', attention: null });
    const journal = await world.control.journal({ operation_id: 'rare' });
    expect(journal.filter((line) => line.route.startsWith('payment_intents'))).toEqual([]);
    expect(await world.control.stock('rare')).toBe(1);
  });

  test('a decline waits for the customer with the stock held', async () => {
    const spec = aSpec({ order_id: 'declined', payment: { payment_method: 'pm_card_chargeDeclined' } });
    await world.create('declined', spec);
    const record = await world.settle('declined');
    expect(record.status).toMatchObject({
      phase: 'payment_failed',
      condition: 'PaymentDeclined',
      attention: null,
    });
    expect(record.facts.inventory.state).toBe('reserved');
    expect((await world.control.ledger('declined')).captured).toBe(0);

    // It is not tried again by itself: the customer was told no.
    await world.hurry('declined');
    await world.run();
    const journal = await world.control.journal({
      operation_id: 'declined',
      route: 'payment_intents.confirm',
    });
    expect(journal).toHaveLength(1);
  });

  test('keys of every shape converge, and keys that look alike do not collide', async () => {
    const ids = [
      'shop:1:order:7',
      'shop-1-order-7',
      'a:b',
      'a-b',
      'a:b:c',
      '12345',
      '0012345',
      'order/ä 7',
      '\u00f3rden',
      'o\u0301rden',
      '🛒'.repeat(64),
      '%2F',
      '__proto__',
    ];
    for (const id of ids) await world.create(id);
    for (const id of ids) {
      const record = await world.settle(id);
      expect([id, record.status.phase]).toEqual([id, 'fulfilled']);
      expect(await world.control.ledger(id)).toMatchObject({
        captured: 12_900,
        effects: { creates: 1, confirms: 1 },
      });
    }
  });

  test.each([
    ['JPY', 4_200, 4_200],
    ['KWD', 7_350, 7_350],
    ['UGX', 1_000, 100_000],
    ['ISK', 1_000, 100_000],
    ['EUR', 29, null],
    ['EUR', 829, 829],
  ])('%s %i is exact at the provider and when read back', async (currency, value, provider) => {
    const id = `money-${currency}-${value}`;
    await world.create(id, aSpec({ order_id: id, amount: { value, currency } }));
    const record = await world.settle(id);
    if (provider === null) {
      // Below the provider's minimum: it refuses, a person is told, nothing is charged.
      expect(record.status.attention?.reason).toBe('ProviderRejected');
      expect((await world.control.ledger(id)).captured).toBe(0);
      return;
    }
    expect(record.facts.payment.captured).toBe(value);
    expect((await world.control.ledger(id)).captured).toBe(provider);
  });
});
