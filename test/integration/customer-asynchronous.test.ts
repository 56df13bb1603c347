/** Methods that take days: in process, then settled or failed, whatever happens meanwhile. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { refusal } from '../support/api.js';
import { aShop, HOUR, type Shop } from '../support/shop.js';

let shop: Shop;
beforeAll(async () => {
  shop = await aShop();
});
afterAll(() => shop.stop());

const DEBIT = { payment: { payment_method: 'pm_sepaDebit' } };

const inProcess = async (id: string): Promise<void> => {
  await shop.order(id, DEBIT);
  expect((await shop.settle(id)).status).toMatchObject({
    phase: 'payment_pending',
    condition: 'PaymentProcessing',
    money_moved: { verdict: 'unknown' },
    inventory: { state: 'reserved' },
    attention: null,
  });
};
const ended = (action: 'settle_payment' | 'fail_payment', operation_id: string) =>
  shop.control.dashboard(action, { operation_id });
const writes = async (id: string, after: number): Promise<string[]> =>
  (await shop.control.journal({ operation_id: id, after }))
    .filter(({ method }) => method !== 'GET')
    .map(({ route }) => route);

test('settled after days: the order goes on', async () => {
  await inProcess('settles');
  const before = await shop.control.journalSequence();
  for (let day = 0; day < 5; day += 1) {
    await shop.later(24 * HOUR);
    await shop.pass('settles');
  }
  // Its deadline passed four days ago: nothing was canceled, released or asked again.
  expect(await writes('settles', before)).toEqual([]);
  expect((await shop.get('settles')).status).toMatchObject({ phase: 'payment_pending', attention: null });

  await ended('settle_payment', 'settles');
  expect((await shop.settle('settles')).status).toMatchObject({ phase: 'fulfilled', attention: null });
  expect(await shop.control.ledger('settles')).toMatchObject({
    captured: 10_000,
    refunded: 0,
    violations: [],
  });
});

test('failed in time: the customer can try again, with the stock still held', async () => {
  await inProcess('fails');
  await ended('fail_payment', 'fails');
  expect((await shop.settle('fails')).status).toMatchObject({
    phase: 'payment_failed',
    condition: 'PaymentDeclined',
    inventory: { state: 'reserved' },
  });
  expect((await shop.payAgain('fails', 'pm_card_visa')).status).toBe(202);
  expect((await shop.settle('fails')).status.phase).toBe('fulfilled');
});

test('failed after the deadline: the payment is canceled, then the stock released, and the order rejected', async () => {
  await inProcess('fails late');
  await shop.later(48 * HOUR);
  await shop.pass('fails late');
  await ended('fail_payment', 'fails late');
  const before = await shop.control.journalSequence();
  expect((await shop.settle('fails late')).status).toMatchObject({
    phase: 'rejected',
    condition: 'PaymentDeadlinePassed',
    attention: null,
  });
  expect(await writes('fails late', before)).toEqual(['payment_intents.cancel', 'reservations.delete']);
});

test('a second method while it is in process is refused', async () => {
  await inProcess('impatient');
  expect(refusal(await shop.payAgain('impatient', 'pm_card_visa'))).toEqual([409, 'payment_alive']);
});

test('cancelled in process, then settled: the money goes back, then the stock', async () => {
  await inProcess('cancelled');
  expect((await shop.cancel('cancelled')).status).toBe(202);
  const before = await shop.control.journalSequence();
  const waiting = await shop.settle('cancelled');
  expect(waiting.status).toMatchObject({
    phase: 'cancelling',
    condition: 'PaymentProcessing',
    attention: null,
  });
  expect(waiting.status.cancellation?.finalizers.map(({ name }) => name)).toEqual(['payment', 'inventory']);
  expect(await writes('cancelled', before)).toEqual([]);

  await ended('settle_payment', 'cancelled');
  expect((await shop.settle('cancelled')).status.phase).toBe('cancelling');
  // A refund to a bank account takes its time, and until it is final the stock is kept.
  expect((await shop.control.ledger('cancelled')).stock.state).toBe('reserved');
  await shop.control.dashboard('settle_refund', { operation_id: 'cancelled' });
  expect((await shop.settle('cancelled')).status.phase).toBe('cancelled');
  expect(await shop.control.ledger('cancelled')).toMatchObject({
    captured: 10_000,
    refunded: 10_000,
    violations: [],
    stock: { released: 1, committed: 0 },
  });
});

test('cancelled in process, then failed: nothing is refunded', async () => {
  await inProcess('cancelled and failed');
  await shop.cancel('cancelled and failed');
  await shop.settle('cancelled and failed');
  await ended('fail_payment', 'cancelled and failed');
  expect((await shop.settle('cancelled and failed')).status.phase).toBe('cancelled');
  const ledger = await shop.control.ledger('cancelled and failed');
  expect(ledger).toMatchObject({ captured: 0, refunds: [], stock: { released: 1 } });
});
