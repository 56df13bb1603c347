/** One payment that cannot be read, one window that cannot be listed: the sweep goes on behind them. */
import { describe, expect, test } from '@jest/globals';
import type { Failure } from '../../src/operation/failure.js';
import type { PaymentReading, Reading } from '../../src/operation/observation.js';
import { OrphanSweep } from '../../src/orphans/orphan-sweep.js';
import type { OrphanDependencies } from '../../src/orphans/ports.js';
import type { PaymentPage, PaymentProvider } from '../../src/payment/port.js';
import type { MissingCandidate } from '../../src/store/missing-walk-store.js';
import { anOperation, NOW } from '../support/operations.js';

const PAGE: PaymentPage = { payments: [], unreadable: ['pi_x'], last: 'pi_x', has_more: false };
const UNREADABLE: Failure = { class: 'compatibility', code: 'unreadable_answer', message: 'does not fit' };
const OUT: Failure = { class: 'outage', code: 'http_503', message: 'away' };
/** Only payments of the future: no window around a creation reaches there. */
const NOTHING_DUE = {
  recent: null,
  lookback: null,
  listed_until: null,
  lookback_began_at: NOW.toISOString(),
};

const candidate = (index: number): MissingCandidate => ({
  operation: { ...anOperation(), operation_id: `ord-${index}` } as unknown as MissingCandidate['operation'],
  reference: `pi_${index}`,
  position: String(index),
  created_from: new Date(NOW.getTime() - index * 3_600_000).toISOString(),
  created_to: new Date(NOW.getTime() - index * 3_600_000 + 1_000).toISOString(),
  identity: 'acct_1',
  livemode: false,
});

interface Setting {
  /** What is due for a look, the longest waiting first. */
  readonly due?: string[];
  readonly missing?: readonly MissingCandidate[];
  readonly listed?: Failure;
  readonly observe?: (reference: string) => Failure | null;
  /** Whether a window holds more than a page. */
  readonly hasMore?: (createdTo: string) => boolean;
  /** What is found of this payment cannot be written. */
  readonly unwritable?: string;
  /** After so many calls the process is told to stop. */
  readonly drainAfter?: number;
}

/** One account whose payments are all absent; its breaker opens by a failure of the class `outage`. */
async function swept(setting: Setting) {
  const calls: string[] = [];
  const postponed: string[] = [];
  const settled: string[] = [];
  const walked: string[] = [];
  const reported: string[] = [];
  let renewals = 0;
  let isOut = false;
  const sweep = new OrphanSweep({
    sweeps: {
      register: () => Promise.resolve(),
      claim: () =>
        Promise.resolve([{ account: 'default', fencing_token: '1', progress: NOTHING_DUE, now: NOW }]),
      page: () => Promise.resolve({ free: true, limited: false }),
      renew: () => Promise.resolve({ free: !isOut, limited: (renewals += 1) < 0 }),
      release: () => Promise.resolve(),
    },
    findings: {
      matching: () => Promise.resolve([]),
      due: (_account: string, most: number) =>
        Promise.resolve(
          (setting.due ?? [])
            .slice(0, most)
            .map((reference) => ({ reference, created_at: null, terms: null })),
        ),
      postpone: (_claim: unknown, reference: string) => Promise.resolve(void postponed.push(reference)),
      settle: (_claim: unknown, reference: string) => {
        if (reference === setting.unwritable) return Promise.reject(new Error('not so'));
        settled.push(reference);
        return Promise.resolve([]);
      },
    },
    missing: {
      candidates: () =>
        Promise.resolve({ candidates: setting.missing ?? [], walked_to: 'the end of the slice' }),
      walkedTo: (_claim: unknown, position: string) => Promise.resolve(void walked.push(position)),
    },
    accounts: {
      provider: () => provider,
      admit: () => Promise.resolve(null),
      answered: () => Promise.resolve(),
      failed: (_call: unknown, failure: Failure) => {
        isOut ||= failure.class === 'outage';
        reported.push(failure.code);
        return Promise.resolve(failure);
      },
      read(account: string, whom: string, reading: Reading<PaymentReading>) {
        if (reading.kind === 'unknown') void this.failed({ account, whom }, reading.failure);
        return Promise.resolve(reading);
      },
    },
    commands: { due: () => Promise.resolve([]) },
    names: ['default'],
    exclusive: new Set<string>(),
    pacing: { lookback_ms: 1, lookback_interval_ms: 1_000_000, overlap_ms: 1 },
    grace_ms: 0,
    interval_ms: 1,
    worker: 'worker',
    lease_ms: 1,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    observer: { request: () => undefined, effect: () => undefined },
  } as unknown as OrphanDependencies);
  const called = (what: string): void => {
    calls.push(what);
    if (calls.length === setting.drainAfter) void sweep.drain();
  };
  const provider = {
    observe({ reference }: { readonly reference: string }) {
      called(reference);
      const failure = setting.observe?.(reference) ?? null;
      return Promise.resolve(failure === null ? { kind: 'absent' } : { kind: 'unknown', failure });
    },
    list({ created_to }: { readonly created_to: string }) {
      called('list');
      if (setting.listed !== undefined) return Promise.resolve({ kind: 'unknown', failure: setting.listed });
      return Promise.resolve({
        kind: 'present',
        value: { ...PAGE, has_more: setting.hasMore?.(created_to) ?? false },
      });
    },
  } as unknown as PaymentProvider;
  await sweep.sweep();
  // The first list is that of the recent payments.
  return { calls: calls.slice(1), postponed, settled, walked, renewals, reported };
}

const is =
  (reference: string, failure: Failure) =>
  (seen: string): Failure | null =>
    seen === reference ? failure : null;

describe('lists', () => {
  test.each([
    { reason: 'the key may not list, and orders need no list', code: 'http_403', told: [] },
    { reason: 'the account is away for orders too', code: OUT.code, told: [OUT.code] },
  ])('$reason', async ({ code, told }) => {
    const listed: Failure = code === OUT.code ? OUT : { class: 'authorization', code, message: 'may not' };
    const { reported, calls } = await swept({ listed, due: ['pi_a'] });
    expect({ reported, calls }).toEqual({ reported: told, calls: [] });
  });
});

describe('looks', () => {
  test('a payment that cannot be read waits for a later look; those behind it, and the walk, go on', async () => {
    const missing = [candidate(1)];
    const { calls, postponed, walked } = await swept({
      due: ['pi_odd', 'pi_a'],
      missing,
      observe: is('pi_odd', UNREADABLE),
    });
    expect(calls).toEqual(['pi_odd', 'pi_a', 'pi_1', 'list']);
    expect(postponed).toEqual(['pi_odd', 'pi_a']);
    expect(walked.at(-1)).toBe('the end of the slice');
  });

  test('an account that is out is asked no more, and nothing that waits is put off by it', async () => {
    const { calls, postponed, walked } = await swept({
      due: ['pi_a', 'pi_b'],
      missing: [candidate(1)],
      observe: is('pi_a', OUT),
    });
    expect({ calls, postponed, walked }).toEqual({ calls: ['pi_a'], postponed: [], walked: [] });
  });

  test('many that cannot be read hold a tick up for three of them, and the walk goes on', async () => {
    const due = ['pi_a', 'pi_b', 'pi_c', 'pi_d'];
    const { calls, walked } = await swept({ due, observe: () => UNREADABLE });
    expect(calls).toEqual(due.slice(0, 3));
    expect(walked).toEqual(['the end of the slice']);
  });
});

describe('the walk for missing payments', () => {
  const missing = [candidate(1), candidate(2), candidate(3)];

  test('passes one whose window holds too much, and finds the ones behind it', async () => {
    const first = Date.parse(candidate(1).created_to);
    const { settled, walked } = await swept({
      missing,
      hasMore: (to) => Date.parse(to) - first > 0 && Date.parse(to) <= first + 120_000,
    });
    expect({ settled, walked }).toEqual({
      settled: ['pi_2', 'pi_3'],
      walked: ['1', '2', '3', 'the end of the slice'],
    });
  });

  test('passes one that cannot be read, and finds the ones behind it', async () => {
    const { settled, walked } = await swept({ missing, observe: is('pi_1', UNREADABLE) });
    expect({ settled, walked: walked[0] }).toEqual({ settled: ['pi_2', 'pi_3'], walked: '1' });
  });

  test('stands before the one that the account’s outage kept from being looked for', async () => {
    const { settled, walked } = await swept({ missing, observe: is('pi_2', OUT) });
    expect({ settled, walked }).toEqual({ settled: ['pi_1'], walked: ['1'] });
  });

  test('stops between two calls when the process is told to, and renews its claim before each', async () => {
    const all = await swept({ missing });
    expect(all.calls).toHaveLength(6);
    expect(all.renewals).toBe(6);
    // The second call of all reads the first candidate by its id.
    const { calls, walked } = await swept({ missing, drainAfter: 2 });
    expect({ calls, walked }).toEqual({ calls: ['pi_1'], walked: [] });
  });
});

test('a record that cannot be judged keeps none behind it from being looked for', async () => {
  const missing = [candidate(1), candidate(2), candidate(3)];
  const { settled, walked } = await swept({ missing, unwritable: 'pi_2' });
  expect(settled).toEqual(['pi_1', 'pi_3']);
  expect(walked).toEqual(['1', '2', '3', 'the end of the slice']);
});
