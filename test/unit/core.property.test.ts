import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { absorbObservation } from '../../src/operation/absorb.js';
import { nextStatus } from '../../src/operation/next-status.js';
import { mismatchOf } from '../../src/operation/mismatch.js';
import { nextStep } from '../../src/operation/next-step.js';
import { ALL_SEEN } from '../../src/operation/observation.js';
import { wantedCapture } from '../../src/operation/terms.js';
import { NO_FACTS } from '../../src/operation/operation.js';
import { heldAtProvider } from '../../src/operation/refund.js';
import { nextLook } from '../../src/operation/schedule.js';
import { moment, records } from '../support/any-record.js';
import { campaign, patience } from '../support/campaign.js';
import {
  cases,
  HOUR,
  verdict,
  type Ask,
  type Case,
  type Event,
  type Outside,
  type Start,
} from '../support/modelled-history.js';
import { GOOD_CHANCE, type Chance } from '../support/modelled-loop.js';
import { anOperation, NOW, POLICY } from '../support/operations.js';

describe('any history of wishes, faults and interleavings', () => {
  const RUNS = 1_000;
  test(
    'keeps the money rules, and ends settled or with a person',
    () => {
      fc.assert(
        fc.property(cases, (given) => {
          expect(verdict(given)).toEqual([]);
        }),
        campaign(RUNS),
      );
    },
    patience(RUNS),
  );
});

// Histories that were once told wrong

const work = (moments: number, patch: Partial<Chance> = {}): Event => ({
  type: 'work',
  worker: 0,
  moments,
  chance: { ...GOOD_CHANCE, ...patch },
});
const asks = (ask: Ask): Event => ({ type: 'ask', ask });
const meanwhile = (doing: Outside): Event => ({ type: 'outside', doing });
const later = (ms: number): Event => ({ type: 'time', ms });
const usual: Start = {
  desired: 'fulfilled',
  capture: 'automatic',
  method: 'pm_pays',
  lines: 2,
  adopts: null,
};

const histories: { name: string; reason: string; given: Case }[] = [
  {
    name: 'cancelled before the payment of the front end was ever read',
    reason: 'a payment that is known by its id may hold money, so nothing is clean before it was read',
    given: { start: { ...usual, adopts: 'captured' }, events: [asks({ kind: 'cancel' })] },
  },
  {
    name: 'cancelled while the payment was being created',
    reason: 'a step in progress is in doubt for everybody else',
    given: {
      start: { ...usual, lines: 0 },
      events: [work(2), asks({ kind: 'cancel' }), work(3)],
    },
  },
  {
    name: 'cancelled while stock was being reserved',
    reason: 'a reservation that is on its way is released too',
    given: { start: usual, events: [work(2), asks({ kind: 'cancel' }), work(3)] },
  },
  {
    name: 'lines emptied while they were being reserved',
    reason: 'the reservation would be held for ever by an order that has no lines',
    given: { start: usual, events: [work(2), asks({ kind: 'lines', quantity: 0 })] },
  },
  {
    name: 'other lines asked for while the money was on its way',
    reason: 'what is committed is what is wanted now, not what was reserved then',
    given: {
      start: { ...usual, capture: 'manual' },
      events: [
        work(11),
        asks({ kind: 'capture', amount: undefined }),
        work(2),
        asks({ kind: 'lines', quantity: 1 }),
        work(1),
      ],
    },
  },
  {
    name: 'more asked for than there is, after the capture',
    reason: 'a lack of stock under captured money is for a person; asking again and again is no answer',
    given: { start: usual, events: [work(9), asks({ kind: 'lines', quantity: 11 })] },
  },
  {
    name: 'authorized at the moment in which the deadline cancels it',
    reason: 'a void that never arrived does not leave the order in doubt for ever',
    given: {
      start: { ...usual, lines: 0, adopts: 'created' },
      events: [asks({ kind: 'only_authorize' }), later(25 * HOUR), work(2), meanwhile({ kind: 'approve' })],
    },
  },
  {
    name: 'only an authorization wanted while stock was being reserved',
    reason: 'stock is held under an authorization too, so its doubt is settled',
    given: {
      start: { ...usual, adopts: 'created' },
      events: [work(1), meanwhile({ kind: 'approve' }), work(1), asks({ kind: 'only_authorize' })],
    },
  },
  {
    name: 'refunded in the dashboard while a refund of the caller was still to be sent',
    reason:
      'the caller\u2019s refund cannot be sent any more, and nothing is kept: the cancellation is complete',
    given: {
      start: { ...usual, lines: 0 },
      events: [
        work(20),
        asks({ kind: 'refund', id: 'r1', amount: 30 }),
        meanwhile({ kind: 'refund', amount: 100 }),
        asks({ kind: 'cancel' }),
      ],
    },
  },
  {
    name: 'a dispute lost after cancellation was asked for',
    reason: 'the bank gave the money back, so nothing is owed and nothing is sent',
    given: {
      start: { ...usual, lines: 0 },
      events: [
        work(20),
        meanwhile({ kind: 'dispute', amount: 100 }),
        asks({ kind: 'cancel' }),
        meanwhile({ kind: 'lose' }),
      ],
    },
  },
  {
    name: 'charged back by more than was captured',
    reason: 'nothing was refunded, so nothing went to the customer twice',
    given: {
      start: { ...usual, lines: 0 },
      events: [work(6), meanwhile({ kind: 'dispute_more', amount: 30 }), meanwhile({ kind: 'lose' })],
    },
  },
  {
    name: 'a dispute of which nothing is shown',
    reason: 'nobody can learn how it ends, so a person is told and it is not waited for in silence',
    given: {
      start: { ...usual, lines: 0 },
      events: [
        work(6),
        asks({ kind: 'cancel' }),
        meanwhile({ kind: 'dispute_part', amount: 30 }),
        meanwhile({ kind: 'hide_disputes' }),
      ],
    },
  },
  {
    name: 'another amount was asked for when the payment of the front end was read, and the former one again, then cancelled',
    reason:
      'what was read was not taken for this order\u2019s, so how much it holds is not known before it is read again',
    given: {
      start: { ...usual, lines: 0, adopts: 'captured' },
      events: [
        asks({ kind: 'amount', value: 30 }),
        work(2),
        asks({ kind: 'amount', value: 100 }),
        asks({ kind: 'cancel' }),
      ],
    },
  },
  {
    name: 'a failed refund made good in the dashboard',
    reason: 'no money is kept any more, whoever gave it back',
    given: {
      start: { ...usual, lines: 0 },
      events: [
        work(20),
        asks({ kind: 'cancel' }),
        work(20),
        meanwhile({ kind: 'refund_fails' }),
        work(20),
        meanwhile({ kind: 'refund', amount: 100 }),
      ],
    },
  },
  {
    name: 'a refund that exists twice, under which the order is cancelled, until the second one fails',
    reason: 'a person is told in every phase, nothing more goes back, and it ends by itself',
    given: {
      start: usual,
      events: [
        work(20),
        asks({ kind: 'refund', id: 'r1', amount: 30 }),
        work(20),
        meanwhile({ kind: 'refund_again' }),
        work(20),
        asks({ kind: 'cancel' }),
        work(20),
        meanwhile({ kind: 'refund_fails' }),
        work(20),
      ],
    },
  },
  {
    name: 'all money given back by somebody else before the goods were committed',
    reason: 'goods do not go out for money that is gone',
    given: {
      start: usual,
      events: [work(6), work(1, { crash: 'before_recording' }), meanwhile({ kind: 'refund', amount: 100 })],
    },
  },
  {
    name: 'a method that the provider refuses',
    reason: 'two refusals are enough; at the deadline the order is given up by itself',
    given: { start: { ...usual, method: 'pm_unknown' }, events: [work(20), work(20), later(25 * HOUR)] },
  },
];

describe('histories that were once told wrong', () => {
  test.each(histories)('$name', ({ reason, given }) => {
    expect({ reason, found: verdict(given) }).toEqual({ reason, found: [] });
  });
});

describe('any record', () => {
  const sights = fc.record({ payment: fc.boolean(), inventory: fc.boolean() });

  test('leads to one decision, and that is within the wish', () => {
    fc.assert(
      fc.property(records, sights, moment, (operation, seen, now) => {
        const decision = nextStep(operation, seen, now, POLICY);
        expect(nextStep(operation, seen, now, POLICY)).toEqual(decision);
        if (decision.kind !== 'step') return;
        const { step } = decision;
        const { payment, refunds } = operation.facts;
        expect(operation.wish.paused).toBeNull();
        expect(seen.payment).toBe(true);
        if (step.name.endsWith('_inventory')) expect(seen.inventory).toBe(true);
        if ('reference' in step) expect(step.reference).toBe('pi_1');
        if (step.name === 'capture_payment') {
          expect(operation.wish.cancellation).toBeNull();
          expect(step.amount).toBeLessThanOrEqual(Math.min(payment.authorized, wantedCapture(operation)));
        }
        if (step.name === 'confirm_payment') {
          expect(operation.wish.cancellation).toBeNull();
          expect(payment.amount ?? step.amount).toBe(step.amount);
        }
        if (step.name === 'create_refund') {
          const given = refunds
            .filter(({ state }) => state !== 'failed')
            .reduce((sum, refund) => sum + refund.amount, 0);
          expect(step.amount).toBeGreaterThan(0);
          expect(step.amount + given + payment.lost).toBeLessThanOrEqual(payment.captured);
          expect(payment.disputed).toBe(false);
        }
        if (step.name === 'commit_inventory') expect(payment.captured).toBeGreaterThan(0);
        if (step.name === 'release_inventory' && mismatchOf(operation)?.foreign !== true) {
          expect(['none', 'canceled', 'captured']).toContain(payment.state);
          if (payment.state === 'captured') expect(heldAtProvider(operation)).toBeLessThanOrEqual(0);
        }
      }),
      { numRuns: 3_000 },
    );
  });

  test('has a status that says what was decided, and stays when nothing happens', () => {
    fc.assert(
      fc.property(records, moment, (operation, now) => {
        const status = nextStatus(operation, now, POLICY);
        const decision = nextStep(operation, ALL_SEEN, now, POLICY);
        expect(status.attention !== null).toBe(decision.kind === 'person');
        if (status.phase === 'cancelled' || status.phase === 'rejected')
          expect([undefined, 'RefundedTwice', 'DisputedAfterRefund']).toContain(status.attention?.reason);
        if (status.phase === 'cancelled' && status.attention === null) expect(decision.kind).toBe('agreed');
        if (status.phase === 'cancelled') expect(status.finalizers).toEqual([]);
        if (status.phase === 'cancelling') expect(status.cancelled_at).toBeNull();
        if (status.settled_at !== null) {
          expect(decision.kind).not.toBe('step');
          expect(
            operation.facts.refunds.every(({ state }) => state === 'succeeded' || state === 'failed'),
          ).toBe(true);
        }
        const again = new Date(now.getTime() + 1_000);
        if (nextStep(operation, ALL_SEEN, again, POLICY).kind !== decision.kind) return;
        expect(nextStatus({ ...operation, status }, again, POLICY)).toEqual(status);
      }),
      { numRuns: 2_000 },
    );
  });

  test('is looked at again, never sooner than it was asked to wait', () => {
    fc.assert(
      fc.property(
        records,
        sights,
        moment,
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (given, seen, now, random) => {
          const operation = { ...given, status: nextStatus(given, now, POLICY) };
          const decision = nextStep(operation, seen, now, POLICY);
          const look = nextLook(operation, decision, now, random, POLICY);
          expect(look).not.toBeNull();
          expect(look?.getTime()).toBeGreaterThanOrEqual(now.getTime());
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test('keeps what is known when nothing can be read', () => {
    const failure = { class: 'unknown', code: 'timeout', message: 'No answer came.' } as const;
    const unread = { kind: 'unknown', failure } as const;
    fc.assert(
      fc.property(records, (operation) => {
        const observation = { payment: unread, inventory: unread, at: NOW.toISOString() };
        const known = absorbObservation(operation, observation);
        expect(known.provider_reference).toBe(operation.provider_reference);
        expect(known.facts.payment).toEqual(operation.facts.payment);
        expect(known.facts.inventory).toEqual(operation.facts.inventory);
        expect(known.facts.refunds).toEqual(operation.facts.refunds);
        expect(
          nextStep({ ...operation, ...known }, { payment: false, inventory: false }, NOW, POLICY).kind,
        ).toBe('wait');
      }),
      { numRuns: 500 },
    );
  });

  test('starts from nothing known', () => {
    expect(nextStep({ ...anOperation(), facts: NO_FACTS }, ALL_SEEN, NOW, POLICY)).toMatchObject({
      kind: 'step',
      step: { name: 'reserve_inventory' },
    });
  });
});
