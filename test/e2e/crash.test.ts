import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { LedgerEntry } from '../support/sandbox-control.js';
import { aProduct, Client, LEASE_MS, until, type Process, type Product } from '../support/product.js';

/** How long the sandbox keeps back an answer: the worker is dead before it comes. */
const HELD_MS = 3_000;

/** A real worker, killed while the effect is done and its record is not: the next one finds the effect by reading. */
describe('a worker that dies between effect and record', () => {
  let product: Product;
  let api: Process;
  let client: Client;

  beforeAll(async () => {
    // The provider may take longer than the test waits; the lease is what runs out.
    product = await aProduct({ PROVIDER_TIMEOUT_MS: '1000', LEASE_MS: String(LEASE_MS) });
    api = await product.start('api');
    client = new Client(api);
  }, 60_000);
  afterAll(() => product.stop());

  const STEPS: readonly [string, string, (ledger: LedgerEntry) => boolean][] = [
    ['reserve_inventory', 'reservations.put', (ledger) => ledger.stock.reserved > 0],
    ['create_payment', 'payment_intents.create', (ledger) => ledger.intents.length > 0],
    ['confirm_payment', 'payment_intents.confirm', (ledger) => ledger.captured > 0],
    ['capture_payment', 'payment_intents.capture', (ledger) => ledger.captured > 0],
    ['commit_inventory', 'reservations.commit', (ledger) => ledger.stock.committed > 0],
  ];

  test.each(STEPS)(
    '%s',
    async (step, route, happened) => {
      const id = `crash-${step}`;
      await product.control.inject({
        route,
        kind: 'delay_after',
        delay_ms: HELD_MS,
        match: { operation_id: id },
      });
      const doomed = await product.start('worker');
      // Settles only by a capture of its own, so that there is one to be killed in.
      const manual = step === 'capture_payment' ? { payment: { capture: 'manual' } } : {};
      await client.create(id, manual);
      if (step === 'capture_payment') {
        await client.reaches(id, 'authorized');
        await client.call('POST', `/v1/operations/${id}/capture`);
      }

      await until(async () => happened(await product.control.ledger(id)), `the effect of ${step}`);
      doomed.kill('SIGKILL');
      await doomed.exited;
      const interrupted = (await client.call('GET', `/v1/operations/${id}/attempts`)).body.items;
      expect(interrupted.at(-1)).toMatchObject({ step, outcome: null });

      const heir = await product.start('worker');
      await client.reaches(id, 'fulfilled');
      heir.kill('SIGTERM');
      expect(await heir.exited).toMatchObject({ code: 0 });

      const ledger = await product.control.ledger(id);
      expect(ledger).toMatchObject({ captured: 12_900, refunded: 0, violations: [] });
      expect(ledger.intents).toHaveLength(1);
      expect(ledger.stock).toMatchObject({ reserved: 1, committed: 1, released: 0 });
      expect(ledger.effects).toMatchObject({ creates: 1, confirms: 1, refunds: 0, voids: 0 });
      const events = (await client.call('GET', `/v1/operations/${id}/events`)).body.items;
      expect(events.map((event) => event['type'])).toContain('interrupted_step_found');
    },
    60_000,
  );
});
