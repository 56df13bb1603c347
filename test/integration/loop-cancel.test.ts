import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { withTask } from '../../src/operation/absorb-journal.js';
import { requestCancellation } from '../../src/operation/change.js';
import { nextStatus } from '../../src/operation/next-status.js';
import { reconcile } from '../../src/reconciler/reconcile.js';
import { systemClock } from '../../src/clock.js';
import type { OperationRecord } from '../../src/store/record.js';
import { until } from '../support/product.js';
import { aWorld, TEST_POLICY, type World } from '../support/world.js';

describe('a cancellation that arrives during a step', () => {
  let world: World;
  beforeAll(async () => {
    world = await aWorld();
  });
  afterAll(() => world.stop());

  /** As the API writes it, against the version of the moment. */
  async function cancel(id: string): Promise<OperationRecord> {
    const record = await world.get(id);
    const now = systemClock.now();
    const seen = withTask(record, record.task, now);
    const change = requestCancellation(seen, 'changed my mind', { by: 'checkout', now, policy: TEST_POLICY });
    if (change.kind !== 'changed') throw new Error(`not changed: ${change.kind}`);
    const after = { ...seen, wish: change.wish, generation: record.generation + 1 };
    const stored = await world.store.changeWish({
      operation_id: id,
      resource_version: record.resource_version,
      wish: change.wish,
      status: nextStatus(after, now, TEST_POLICY),
      spec_changed: true,
      transitions: [],
      event: { ...change.event, actor: { kind: 'key', name: 'checkout' } },
    });
    if (stored === null) throw new Error('the version moved');
    return stored;
  }

  const STEPS = [
    ['reserve_inventory', 'reservations.put'],
    ['create_payment', 'payment_intents.create'],
    ['confirm_payment', 'payment_intents.confirm'],
    ['commit_inventory', 'reservations.commit'],
  ] as const;

  test.each(STEPS)('%s: accepted at once, done only when nothing is kept', async (step, route) => {
    const id = `during-${step}`;
    await world.control.inject({ route, kind: 'delay_after', delay_ms: 700, match: { operation_id: id } });
    await world.create(id);
    const worker = world.worker();
    const { claims } = await world.passes.claim(1, worker.worker, worker.lease_ms, worker.accounts.ceiling);
    const [claim] = claims;
    if (claim === undefined) throw new Error('nothing was claimed');
    const pass = reconcile(claim, worker);
    await until(async () => (await world.get(id)).task === step, `${step} to begin`);

    const accepted = await cancel(id);
    expect(accepted.status.phase).toBe('cancelling');
    expect(accepted.status.cancelled_at).toBeNull();
    await pass;

    const done = await world.settle(id);
    expect(done.status).toMatchObject({ phase: 'cancelled', finalizers: [], attention: null });
    const ledger = await world.control.ledger(id);
    expect(ledger.captured - ledger.refunded).toBe(0);
    expect(ledger.held).toBe(0);
    expect(ledger.violations).toEqual([]);
    expect(['none', 'released']).toContain(ledger.stock.state);
    const phases = (await world.store.events(id)).filter((event) => event.type === 'phase_changed');
    expect(phases.filter((event) => event.data?.['to'] === 'cancelled')).toHaveLength(1);
  });
});
