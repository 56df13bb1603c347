/** A hundred thousand payments: so many calls a tick, one page held at a time, and each payment compared once a round. */
import { expect, test } from '@jest/globals';
import type { Progress } from '../../src/findings/rounds.js';
import { OrphanSweep } from '../../src/orphans/orphan-sweep.js';
import type { OrphanDependencies } from '../../src/orphans/ports.js';
import type { ListedPayment, PaymentPage, PaymentProvider } from '../../src/payment/port.js';
import type { PageEntry } from '../../src/store/orphan-sweep-store.js';
import { NOW } from '../support/operations.js';

const PAYMENTS = 100_000;
const PAGE = 100;
/** One for what is new, and twenty pages. */
const MOST_CALLS = 21;
const LOOKBACK_MS = 1_000;
const NOTHING: PaymentPage = { payments: [], unreadable: [], last: null, has_more: false };

/** Given back, so that none but every ten-thousandth is of any interest. */
const payment = (index: number): ListedPayment => ({
  created_at: NOW.toISOString(),
  refunded: index % 10_000 === 0 ? 0 : 100,
  terms: {},
  payment: {
    reference: `pi_${index}`,
    state: 'captured',
    provider_status: 'succeeded',
    amount: 100,
    currency: 'EUR',
    capture: 'automatic',
    payment_method: null,
    authorized: 0,
    captured: 100,
    refunds: null,
    disputed: false,
    capture_before: null,
    next_action: null,
    last_error: null,
    canceled_because: null,
    operation_id: `lost-${index}`,
    livemode: false,
  },
});

const indexOf = (reference: string): number => Number(reference.slice(3));

/** The pages of the slow round, made when they are asked for; nothing is new. */
function pager(): { provider: PaymentProvider; calls: () => number } {
  let calls = 0;
  const list = ({
    after,
    created_from,
  }: {
    readonly after: string | null;
    readonly created_from: string;
  }) => {
    calls += 1;
    if (Date.parse(created_from) > NOW.getTime() - LOOKBACK_MS) {
      return Promise.resolve({ kind: 'present', value: NOTHING } as const);
    }
    const from = after === null ? 0 : indexOf(after) + 1;
    const payments = Array.from({ length: Math.min(PAGE, PAYMENTS - from) }, (_, index) =>
      payment(from + index),
    );
    const last = payments.at(-1)?.payment.reference ?? null;
    const page: PaymentPage = { payments, unreadable: [], last, has_more: from + PAGE < PAYMENTS };
    return Promise.resolve({ kind: 'present', value: page } as const);
  };
  return { provider: { list } as unknown as PaymentProvider, calls: () => calls };
}

test('are listed in bounded calls and memory, and the cursor goes on from tick to tick', async () => {
  const { provider, calls } = pager();
  let progress: Progress = { recent: null, lookback: null, listed_until: null, lookback_began_at: null };
  let most = 0;
  let ended = 0;
  const seen = new Uint8Array(PAYMENTS);
  const sums: unknown[] = [];
  const suspects = new Set<string>();
  const dependencies = {
    sweeps: {
      register: () => Promise.resolve(),
      claim: () => Promise.resolve([{ account: 'default', fencing_token: '1', progress, now: NOW }]),
      page(_claim: unknown, _lease: number, entry: PageEntry) {
        // As it lies in the row between two pages.
        progress = JSON.parse(JSON.stringify(entry.progress)) as Progress;
        most = Math.max(most, entry.references.length);
        for (const reference of entry.references)
          seen[indexOf(reference)] = (seen[indexOf(reference)] ?? 0) + 1;
        for (const { reference } of entry.suspicions) suspects.add(reference);
        if (entry.lookback_totals !== null) sums.push(entry.lookback_totals);
        ended += entry.recent_ended ? 1 : 0;
        return Promise.resolve({ free: true, limited: false });
      },
      release: () => Promise.resolve(),
    },
    commands: { due: () => Promise.resolve([]) },
    findings: {
      matching: (_account: string, references: readonly string[]) => {
        expect(references.length).toBeLessThanOrEqual(PAGE);
        return Promise.resolve([]);
      },
      due: () => Promise.resolve([]),
    },
    missing: {
      candidates: () => Promise.resolve({ candidates: [], walked_to: '0' }),
      walkedTo: () => Promise.resolve(),
    },
    accounts: {
      provider: () => provider,
      admit: () => Promise.resolve(null),
      answered: () => Promise.resolve(),
    },
    names: ['default'],
    exclusive: new Set<string>(),
    pacing: { lookback_ms: LOOKBACK_MS, lookback_interval_ms: 1_000_000, overlap_ms: 1 },
    grace_ms: 0,
    interval_ms: 1,
    worker: 'worker',
    lease_ms: 1,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    observer: { request: () => undefined, effect: () => undefined },
  } as unknown as OrphanDependencies;
  const sweep = new OrphanSweep(dependencies);
  let ticks = 0;
  while (sums.length === 0) {
    const before = calls();
    await sweep.sweep();
    expect(calls() - before).toBeLessThanOrEqual(MOST_CALLS);
    expect(JSON.stringify(progress).length).toBeLessThan(1_000);
    ticks += 1;
  }
  const wanted = PAYMENTS / PAGE / 20;
  expect({ ticks, calls: calls(), most, ended }).toEqual({
    ticks: wanted,
    calls: PAYMENTS / PAGE + wanted,
    most: PAGE,
    ended: wanted,
  });
  expect(seen.every((times) => times === 1)).toBe(true);
  expect(suspects.size).toBe(10);
  expect(sums).toEqual([{ EUR: { provider: 1_000, recorded: 0 } }]);
});
