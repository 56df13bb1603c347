import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { backoff } from '../../src/operation/backoff.js';
import { INITIAL_STATUS } from '../../src/operation/next-status.js';
import type { Operation, Status } from '../../src/operation/operation.js';
import { nextLook } from '../../src/operation/schedule.js';
import type { Decision } from '../../src/operation/step.js';
import { anOperation, aSpec, aWish, NOW, POLICY, type FactsPatch } from '../support/operations.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const AGREED: Decision = { kind: 'agreed' };
const WAIT: Decision = { kind: 'wait', reason: 'AwaitingCustomer' };
const PERSON: Decision = { kind: 'person', reason: 'RefundFailed', message: 'why' };
const STEP: Decision = {
  kind: 'step',
  reason: 'CancelingPayment',
  step: { name: 'cancel_payment', target: 'pi_1', reference: 'pi_1' },
};

const at = (ms: number): Date => new Date(NOW.getTime() + ms);
const iso = (ms: number): string => at(ms).toISOString();

interface Given {
  readonly facts?: FactsPatch;
  readonly status?: Partial<Status>;
  readonly deadline?: string;
}
const order = ({ facts, status, deadline }: Given = {}): Operation =>
  anOperation({
    wish: aWish(aSpec(deadline === undefined ? {} : { payment_deadline: deadline })),
    status: { ...INITIAL_STATUS, ...status },
    ...(facts === undefined ? {} : { facts }),
  });
const failed = (patch: Partial<NonNullable<FactsPatch['failure']>> = {}, streak = 1): FactsPatch => ({
  failure: { class: 'unknown', code: 'timeout', message: 'why', step: 'cancel_payment', ...patch },
  budget: { generation: 1, streak },
});
const attention = (since: number): Partial<Status> => ({
  attention: { reason: 'RefundFailed', message: 'why', since: iso(since) },
});

/** Milliseconds until the next look, or null. */
function look(
  given: Given,
  decision: Decision,
  options: { now?: number; random?: number } = {},
): number | null {
  const { now = 0, random = 0.5 } = options;
  const next = nextLook(order(given), decision, at(now), random, POLICY);
  return next === null ? null : next.getTime() - at(now).getTime();
}

describe('backoff', () => {
  const policy = { base_ms: 1_000, max_ms: 300_000 };
  test.each([
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
    [9, 256_000],
    [10, 300_000],
    [1_000, 300_000],
  ])('after %d failures it is at most %d ms, and spread over all of it', (failures, ceiling) => {
    expect(backoff(failures, policy, 0)).toBe(0);
    expect(backoff(failures, policy, 0.5)).toBe(ceiling / 2);
    expect(backoff(failures, policy, 1 - Number.EPSILON)).toBe(ceiling);
  });
  test('stays within its bounds, whatever the numbers', () => {
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(
        fc.integer({ min: -5, max: 1e9 }),
        fc.nat(1e9),
        fc.nat(1e9),
        random,
        (failures, base, max, chance) => {
          const pause = backoff(failures, { base_ms: base, max_ms: max }, chance);
          expect(pause).toBeGreaterThanOrEqual(0);
          expect(pause).toBeLessThanOrEqual(max);
          expect(Number.isSafeInteger(pause)).toBe(true);
        },
      ),
    );
  });
});

describe('the next look after a failure', () => {
  const rows: { name: string; reason: string; given: Given; decision: Decision; want: number }[] = [
    {
      name: 'first',
      reason: 'half of the first second',
      given: { facts: failed() },
      decision: STEP,
      want: 500,
    },
    { name: 'fifth', reason: 'it doubles', given: { facts: failed({}, 5) }, decision: STEP, want: 8_000 },
    {
      name: 'a reading',
      reason: 'waiting for a side that cannot be read is a failure too',
      given: { facts: failed({ class: 'prerequisite' }, 2) },
      decision: { kind: 'wait', reason: 'InventoryUnreachable' },
      want: 1_000,
    },
    {
      name: 'told to wait',
      reason: 'never sooner than the other side asked',
      given: { facts: failed({ class: 'throttled', retry_after_ms: 5_000 }) },
      decision: STEP,
      want: 5_000,
    },
    {
      name: 'told to wait less',
      reason: 'the pause counts when it is longer',
      given: { facts: failed({ class: 'throttled', retry_after_ms: 10 }, 6) },
      decision: STEP,
      want: 16_000,
    },
    {
      name: 'a decline',
      reason: 'the customer has time; the record is read in its turn',
      given: { facts: failed({ class: 'declined' }) },
      decision: WAIT,
      want: POLICY.resync_interval_ms,
    },
    {
      name: 'none, but a step is missing',
      reason: 'what settled itself by its answer goes on soon',
      given: {},
      decision: STEP,
      want: 500,
    },
    {
      name: 'of a record that waits for a person',
      reason: 'giving up means slow reads',
      given: { facts: failed({}, 9), status: attention(0) },
      decision: STEP,
      want: POLICY.resync_interval_ms,
    },
    {
      name: 'of a reading, while a person is needed',
      reason: 'giving up means slow reads',
      given: { facts: failed({}, 9), status: attention(0) },
      decision: { kind: 'wait', reason: 'ProviderUnreachable' },
      want: POLICY.resync_interval_ms,
    },
    {
      name: 'of a settled record',
      reason: 'an outage makes no storm of what has time',
      given: { facts: failed({}, 1), status: { settled_at: iso(0), phase: 'fulfilled' } },
      decision: { kind: 'wait', reason: 'ProviderUnreachable' },
      want: POLICY.resync_interval_ms,
    },
    {
      name: 'of the reading of a settled record',
      reason: 'what it was woken for is not seen yet',
      given: {
        facts: failed({ step: 'observe_payment' }, 3),
        status: { settled_at: iso(0), phase: 'fulfilled' },
      },
      decision: { kind: 'wait', reason: 'ProviderUnreachable' },
      want: 2_000,
    },
    {
      name: 'of the reading of a record that waits for a person',
      reason: 'what it was woken for is not seen yet',
      given: { facts: failed({ step: 'observe_payment' }, 1), status: attention(0) },
      decision: { kind: 'wait', reason: 'ProviderUnreachable' },
      want: 500,
    },
    {
      name: 'of the reading of a settled record, again and again',
      reason: 'the pauses grow up to the slow turn, and no longer',
      given: {
        facts: failed({ step: 'observe_payment' }, 30),
        status: { settled_at: iso(0), phase: 'fulfilled' },
      },
      decision: { kind: 'wait', reason: 'ProviderUnreachable' },
      want: POLICY.resync_interval_ms / 2,
    },
    {
      name: 'of the reading of a record that is watched no longer',
      reason: 'a webhook woke it, and that comes once',
      given: {
        facts: failed({ step: 'observe_payment' }, 1),
        status: { settled_at: iso(-400 * DAY), phase: 'fulfilled' },
      },
      decision: { kind: 'wait', reason: 'ProviderUnreachable' },
      want: 500,
    },
  ];
  test.each(rows)('$name: $reason', ({ reason, given, decision, want }) => {
    expect({ reason, ms: look(given, decision) }).toEqual({ reason, ms: want });
  });
});

describe('the next look at a record that rests', () => {
  const settled: Given = { status: { settled_at: iso(0), phase: 'fulfilled' } };
  const rows: { name: string; given: Given; decision: Decision; now: number; want: number | null }[] = [
    { name: 'waiting', given: {}, decision: WAIT, now: 0, want: POLICY.resync_interval_ms },
    { name: 'authorized as wanted', given: {}, decision: AGREED, now: 0, want: POLICY.resync_interval_ms },
    {
      name: 'waiting for days',
      given: { deadline: iso(90 * DAY) },
      decision: WAIT,
      now: 50 * DAY,
      want: 15 * MINUTE,
    },
    { name: 'just settled', given: settled, decision: AGREED, now: 0, want: 15 * MINUTE },
    { name: 'settled for a day', given: settled, decision: AGREED, now: DAY, want: DAY / 10 },
    { name: 'settled for a month', given: settled, decision: AGREED, now: 30 * DAY, want: 3 * DAY },
    { name: 'settled for 170 days', given: settled, decision: AGREED, now: 170 * DAY, want: 10 * DAY },
    { name: 'settled for 180 days', given: settled, decision: AGREED, now: 180 * DAY, want: null },
    {
      name: 'needing a person for a day',
      given: { status: attention(0), deadline: iso(90 * DAY) },
      decision: PERSON,
      now: DAY,
      want: DAY / 10,
    },
    {
      name: 'needing a person for longer than it is watched',
      given: { status: attention(0) },
      decision: PERSON,
      now: 181 * DAY,
      want: null,
    },
  ];
  test.each(rows)('$name', ({ given, decision, now, want }) => {
    expect(look(given, decision, { now })).toBe(want);
  });

  describe('with an effect in doubt, for which nothing is sent any more', () => {
    const doubt: FactsPatch = {
      ...failed({}, 9),
      unresolved: { step: 'confirm_payment', target: 'pi_1/1', since: iso(0) },
    };
    const given: Given = { facts: doubt, status: attention(0), deadline: iso(900 * DAY) };

    test('it is read soon, however slow the regular turn is', () => {
      expect(look(given, PERSON)).toBe(2 ** 8 * 500);
    });
    test('and then less and less often', () => {
      expect(look(given, PERSON, { now: DAY })).toBe(DAY / 10);
      expect(look(given, PERSON, { now: 181 * DAY })).toBe(null);
    });
    test('while it is paused it has its regular turn', () => {
      const paused = { facts: { ...doubt, failure: null } };
      expect(look(paused, WAIT)).toBe(15 * MINUTE);
    });
  });

  test('about 25 looks are taken at a settled record in a decade of time', () => {
    let now = DAY;
    let looks = 0;
    for (; now < 10 * DAY; looks += 1) now += look(settled, AGREED, { now }) ?? Infinity;
    expect(looks).toBeGreaterThan(20);
    expect(looks).toBeLessThan(30);
  });
});

describe('a refund that waits for room', () => {
  const BRAKE: Decision = { kind: 'person', reason: 'RefundBrake', message: 'why' };
  const waits = (until: number, since = 0): Given => ({
    facts: { braked: { until: iso(until), message: 'why' } },
    status: { attention: { reason: 'RefundBrake', message: 'why', since: iso(since) } },
  });
  const rows: { name: string; given: Given; now: number; random: number; want: number }[] = [
    {
      name: 'at the earliest when there may be',
      given: waits(40 * MINUTE),
      now: 0,
      random: 0,
      want: 40 * MINUTE,
    },
    { name: 'spread over a turn', given: waits(40 * MINUTE), now: 0, random: 0.5, want: 47.5 * MINUTE },
    { name: 'that may have come already', given: waits(-MINUTE), now: 0, random: 0.5, want: 7.5 * MINUTE },
    {
      name: 'for days: within two hours',
      given: waits(60 * MINUTE, -30 * DAY),
      now: 0,
      random: 1,
      want: 2 * HOUR,
    },
    {
      name: 'longer than anything is watched',
      given: waits(HOUR, -200 * DAY),
      now: 0,
      random: 0,
      want: HOUR,
    },
  ];
  test.each(rows)('$name', ({ given, now, random, want }) => {
    expect(look(given, BRAKE, { now, random })).toBe(want);
  });
});

describe('deadlines pull the next look earlier', () => {
  const authorized = (until: number): FactsPatch => ({
    payment: { state: 'authorized', capture_before: iso(until) },
  });
  const rows: { name: string; given: Given; decision: Decision; now: number; want: number }[] = [
    { name: 'the default payment deadline', given: {}, decision: WAIT, now: DAY - MINUTE, want: MINUTE },
    {
      name: 'one of its own',
      given: { deadline: iso(5 * MINUTE) },
      decision: WAIT,
      now: 0,
      want: 5 * MINUTE,
    },
    { name: 'a far one', given: { deadline: iso(9 * DAY) }, decision: WAIT, now: 0, want: 15 * MINUTE },
    { name: 'one that has passed', given: { deadline: iso(-1) }, decision: WAIT, now: 0, want: 15 * MINUTE },
    {
      name: 'the end of the authorization',
      given: { facts: authorized(2 * MINUTE) },
      decision: WAIT,
      now: 0,
      want: 2 * MINUTE,
    },
    {
      name: 'the warning of the end of an authorization',
      given: { facts: authorized(DAY + 4 * MINUTE) },
      decision: WAIT,
      now: 0,
      want: 4 * MINUTE,
    },
    {
      name: 'the end, once it was warned of',
      given: { facts: authorized(DAY) },
      decision: WAIT,
      now: DAY - 5 * MINUTE,
      want: 5 * MINUTE,
    },
    {
      name: 'the end of an authorization that was captured',
      given: { facts: { payment: { state: 'captured', capture_before: iso(2 * MINUTE) } } },
      decision: WAIT,
      now: 0,
      want: 15 * MINUTE,
    },
    {
      name: 'also while a person is needed',
      given: { status: attention(-5 * DAY), deadline: iso(3 * MINUTE) },
      decision: PERSON,
      now: 0,
      want: 3 * MINUTE,
    },
    {
      name: 'not the payment deadline once the money is held',
      given: { facts: authorized(9 * DAY), deadline: iso(3 * MINUTE) },
      decision: AGREED,
      now: 0,
      want: 15 * MINUTE,
    },
    {
      name: 'not the payment deadline of money on its way',
      given: { facts: { payment: { state: 'processing' } }, deadline: iso(3 * MINUTE) },
      decision: WAIT,
      now: 0,
      want: 15 * MINUTE,
    },
    {
      name: 'not once it is settled',
      given: { status: { settled_at: iso(0) }, deadline: iso(3 * MINUTE) },
      decision: AGREED,
      now: 0,
      want: 15 * MINUTE,
    },
  ];
  test.each(rows)('$name', ({ given, decision, now, want }) => {
    expect(look(given, decision, { now })).toBe(want);
  });
});
