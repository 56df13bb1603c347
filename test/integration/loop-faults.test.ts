import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { aSpec } from '../support/operations.js';
import type { Fault } from '../support/sandbox-control.js';
import { aWorld, TEST_TIMEOUT_MS, type World } from '../support/world.js';

const BEYOND_TIMEOUT_MS = TEST_TIMEOUT_MS + 300;

/** Whatever a call comes to, at whichever step: the order settles by itself and the money moves once. */
const FAULTS: readonly Omit<Fault, 'route'>[] = [
  // Twice, since the client library sends once more by itself on a broken connection.
  { kind: 'effect_then_drop', times: 2 },
  { kind: 'drop_before', times: 2 },
  { kind: 'effect_then_500' },
  { kind: '500_no_effect' },
  { kind: '503_html' },
  { kind: '503_message' },
  { kind: '429' },
  { kind: 'delay_after', delay_ms: BEYOND_TIMEOUT_MS },
  { kind: 'delay_before', delay_ms: BEYOND_TIMEOUT_MS },
  { kind: 'truncated_json' },
  { kind: 'empty_object' },
  { kind: 'html_200' },
  { kind: 'redirect_302' },
];
const STRIPE_FAULTS: readonly Omit<Fault, 'route'>[] = [
  ...FAULTS,
  { kind: 'wrong_object' },
  { kind: 'lock_timeout' },
  { kind: '409_in_flight' },
  { kind: '401_message' },
];

const ROUTES = {
  'payment_intents.create': STRIPE_FAULTS,
  'payment_intents.confirm': STRIPE_FAULTS,
  'payment_intents.capture': STRIPE_FAULTS,
  'reservations.put': FAULTS,
  'reservations.commit': FAULTS,
} as const;

describe('one fault at one call', () => {
  let world: World;
  beforeAll(async () => {
    world = await aWorld();
  });
  afterAll(() => world.stop());

  const rows = Object.entries(ROUTES).flatMap(([route, faults]) => faults.map((fault) => ({ route, fault })));

  test.each(rows.map(({ route, fault }) => [route, fault.kind, fault] as const))(
    '%s: %s',
    async (route, kind, fault) => {
      const id = `${route}:${kind}`;
      await world.control.inject({ route, ...fault, match: { operation_id: id } });
      // Captured by a call of its own, so that there is one to fail.
      await world.create(id, aSpec({ order_id: id, payment: { capture: 'manual', capture_amount: 12_900 } }));
      const record = await world.settle(id);

      expect(record.status).toMatchObject({ phase: 'fulfilled', attention: null });
      expect(record.facts).toMatchObject({ unresolved: null, failure: null });
      const ledger = await world.control.ledger(id);
      expect(ledger).toMatchObject({ captured: 12_900, refunded: 0, violations: [] });
      expect(ledger.intents).toHaveLength(1);
      expect(ledger.stock).toMatchObject({ reserved: 1, committed: 1, released: 0 });
      const hits = (await world.control.journal({ operation_id: id })).filter((line) => line.fault !== null);
      expect(hits.length).toBeGreaterThan(0);
    },
  );
});
