/** Commands of people: in which state each is available, and why not; what a decision does to the next step. */
import { describe, expect, test } from '@jest/globals';
import {
  COMMAND_NAMES,
  type Asking,
  type Command,
  type CommandName,
} from '../../src/operation/command-rule.js';
import { amountMoved, availabilities, carryOut, closedOf, needsLead } from '../../src/operation/command.js';
import { absorbJournal } from '../../src/operation/absorb-journal.js';
import type { Attempt } from '../../src/operation/attempt.js';
import { NO_DECISIONS, refutedBy, type Decisions } from '../../src/operation/decisions.js';
import { changesBetween } from '../../src/operation/evidence.js';
import { nextStatus } from '../../src/operation/next-status.js';
import { nextStep } from '../../src/operation/next-step.js';
import { ALL_SEEN } from '../../src/operation/observation.js';
import type { Facts, Operation } from '../../src/operation/operation.js';
import { inState } from '../support/lifecycle/representatives.js';
import { anAttempt, aRefund, NOW, POLICY } from '../support/operations.js';

const ASKING: Asking = { by: 'lead', now: NOW, policy: POLICY, reason: 'seen', seen: ALL_SEEN };
const FAILED = aRefund({ state: 'failed', amount: 1_000 });
const WORD = { by: 'lead', reason: 'seen', at: NOW.toISOString() };

/** With facts changed, decisions taken, and the status that follows. */
function order(
  base: Operation,
  facts: Partial<Facts> = {},
  decisions: Partial<Decisions> | null = null,
): Operation {
  const wish =
    decisions === null ? base.wish : { ...base.wish, decisions: { ...NO_DECISIONS, ...decisions } };
  const operation = { ...base, wish, facts: { ...base.facts, ...facts } };
  return { ...operation, status: nextStatus(operation, NOW, POLICY, 1) };
}
const paused = (operation: Operation): Operation => ({
  ...operation,
  wish: { ...operation.wish, paused: WORD },
});
const asked = (operation: Operation, ...amounts: number[]): Operation => ({
  ...operation,
  wish: {
    ...operation.wish,
    spec: {
      ...operation.wish.spec,
      refunds: amounts.map((amount, index) => ({ refund_id: `r${index + 1}`, amount, reason: null })),
    },
  },
});

const captured = inState('fulfilled', 'captured', 'committed');
const created = inState('fulfilled', 'created', 'reserved');
const canceled = inState('fulfilled', 'canceled', 'reserved');
const EXHAUSTED: Partial<Facts> = {
  failure: { class: 'unknown', code: 'timeout', message: 'No answer.', step: 'confirm_payment' },
  budget: { generation: 1, step: 'confirm_payment', used: 8, reads: 0, rejections: 0, streak: 8 },
};
const DOUBT: Facts['unresolved'] = { step: 'confirm_payment', target: 'pi_1/1', since: NOW.toISOString() };
const GONE: Partial<Facts> = {
  failure: {
    class: 'rejected',
    code: 'goods_gone',
    message: 'The goods are gone.',
    step: 'release_inventory',
  },
  budget: { generation: 1, step: 'release_inventory', used: 1, reads: 0, rejections: 1, streak: 1 },
};
const GIVEN_UP: Partial<Decisions> = {
  given_up: { ...WORD, verdict: 'escalated', generation: 1, reason_word: null, covers: 10_000 },
};

/** State → the commands that are available there; `check_provider` always is. */
const TABLE: [string, Operation, CommandName[]][] = [
  ['nothing done yet', order(inState('fulfilled', 'none', 'none')), ['adopt_payment', 'pause', 'give_up']],
  ['about to be confirmed', order(created), ['pause', 'give_up']],
  [
    'a failure under way',
    order(created, { ...EXHAUSTED, budget: { ...EXHAUSTED.budget!, used: 1 } }),
    ['retry', 'pause', 'give_up'],
  ],
  ['budget exhausted', order(created, EXHAUSTED), ['retry', 'pause', 'give_up']],
  [
    'budget exhausted in doubt',
    order(created, { ...EXHAUSTED, unresolved: DOUBT }),
    ['retry', 'record_outcome', 'pause', 'give_up'],
  ],
  ['paused', paused(order(created, EXHAUSTED)), ['resume', 'give_up']],
  ['given up', order(created, EXHAUSTED, GIVEN_UP), ['resume']],
  ['fulfilled', order(captured), ['pause']],
  [
    'a refund failed',
    order(asked(captured, 1_000), { refunds: [FAILED] }),
    ['retry_refund', 'pause', 'give_up'],
  ],
  [
    'a refund failed, and the money is disputed',
    order(asked(captured, 1_000), {
      refunds: [FAILED],
      payment: { ...captured.facts.payment, disputed: true },
    }),
    ['pause', 'give_up'],
  ],
  [
    'a refund failed, and is being made again',
    order(
      asked(captured, 1_000),
      { refunds: [FAILED] },
      { resent: [{ refund_id: 'r1', instead_of: 're_1', ordinal: 2 }] },
    ),
    ['pause', 'give_up'],
  ],
  [
    'held back by the brake',
    order(asked(captured, 1_000), { braked: { until: WORD.at, message: 'Full.' } }),
    ['retry', 'pause', 'give_up'],
  ],
  ['canceled elsewhere', order(canceled), ['reauthorize', 'adopt_payment', 'pause', 'give_up']],
  [
    'canceled while a call is in doubt',
    order(canceled, { unresolved: { ...DOUBT, step: 'create_refund' } }),
    ['record_outcome', 'pause', 'give_up'],
  ],
  ['short of stock after payment', order(inState('fulfilled', 'captured', 'released')), ['pause', 'give_up']],
  ['cancelling by itself', order(inState('cancelled', 'captured', 'committed')), ['pause', 'give_up']],
  [
    'cancelling, goods gone',
    order(inState('cancelled', 'canceled', 'committed'), GONE),
    ['retry', 'release_finalizer', 'pause', 'give_up'],
  ],
  [
    'cancelling, its refund failed',
    order(inState('cancelled', 'captured', 'committed'), {
      refunds: [{ ...FAILED, refund_id: 'cancellation', source: 'cancellation', amount: 10_000 }],
    }),
    ['retry_refund', 'release_finalizer', 'pause', 'give_up'],
  ],
  [
    'cancelling, the bank is slow',
    order(inState('cancelled', 'processing', 'reserved')),
    ['release_finalizer', 'pause', 'give_up'],
  ],
  ['cancelled', order(inState('cancelled', 'canceled', 'released')), ['pause']],
];

describe('available', () => {
  test.each(TABLE)('%s', (_name, operation, available) => {
    const all = availabilities(operation, ASKING);
    expect(all.map(({ name }) => name)).toEqual(COMMAND_NAMES);
    expect(all.filter((one) => one.available).map(({ name }) => name)).toEqual(
      COMMAND_NAMES.filter((name) => name === 'check_provider' || available.includes(name)),
    );
    for (const { available: is, why_not } of all) {
      if (is) expect(why_not).toBeNull();
      else expect(why_not).toMatch(/^[A-Z].*[.]$/);
    }
  });
});

function accepted(operation: Operation, command: Command, attempts = [anAttempt()]) {
  const made = carryOut({ operation, attempts }, command, ASKING);
  if (made.kind === 'refused') throw new Error(made.why);
  return made;
}
const refusedWhy = (operation: Operation, command: Command): string => {
  const made = carryOut({ operation, attempts: [] }, command, ASKING);
  return made.kind === 'refused' ? made.why : 'accepted';
};

describe('what a decision does', () => {
  test('a failed refund is made again under the ordinal after the last one, and once', () => {
    const operation = order(asked(captured, 1_000), { refunds: [FAILED] });
    const command: Command = { command: 'retry_refund', parameters: { refund_id: 'r1' } };
    const attempts = [anAttempt({ step: 'create_refund', target: 'r1', ordinal: 3, outcome: 'done' })];
    const { operation: after } = accepted(operation, command, attempts);
    expect(after.wish.decisions?.resent).toEqual([{ refund_id: 'r1', instead_of: 're_1', ordinal: 4 }]);
    expect(nextStep(after, ALL_SEEN, NOW, POLICY)).toMatchObject({
      kind: 'step',
      step: { name: 'create_refund', target: 'r1', amount: 1_000 },
    });
    const made = {
      ...after,
      facts: { ...after.facts, refunds: [FAILED, aRefund({ provider_reference: 're_2', amount: 1_000 })] },
    };
    expect(nextStep(made, ALL_SEEN, NOW, POLICY)).toEqual({ kind: 'agreed' });
    // The second one fails too: a person again.
    const worse = {
      ...made,
      facts: { ...made.facts, refunds: [FAILED, { ...FAILED, provider_reference: 're_2' }] },
    };
    expect(nextStep(worse, ALL_SEEN, NOW, POLICY)).toMatchObject({ kind: 'person', reason: 'RefundFailed' });
    expect(
      refusedWhy(
        order(asked(captured, 9_500), {
          refunds: [
            aRefund({ provider_reference: 're_3', refund_id: 're_3', source: 'external', amount: 1_000 }),
            { ...FAILED, amount: 9_500 },
          ],
        }),
        command,
      ),
    ).toContain('is left');
  });

  test('leave of the brake is for one refund', () => {
    const operation = order(asked(captured, 1_000, 2_000), { braked: { until: WORD.at, message: 'Full.' } });
    const { operation: after } = accepted(operation, { command: 'retry', parameters: {} });
    expect(nextStep(after, ALL_SEEN, NOW, POLICY)).toMatchObject({ kind: 'step', step: { target: 'r1' } });
    const sent = { ...after, facts: { ...after.facts, refunds: [aRefund({ amount: 1_000 })] } };
    expect(nextStep(sent, ALL_SEEN, NOW, POLICY)).toMatchObject({ kind: 'person', reason: 'RefundBrake' });
  });

  test('another payment forgets the former one, keeps the stock, and has its own time', () => {
    const made = accepted(order(canceled), {
      command: 'reauthorize',
      parameters: { payment_method: 'pm_2' },
    });
    expect(made).toMatchObject({ another_payment: true, spec_changed: true });
    expect(made.operation).toMatchObject({
      generation: 2,
      provider_reference: null,
      facts: { payment: { state: 'none' }, inventory: { state: 'reserved' } },
      wish: { payment_number: 2, spec: { payment: { payment_method: 'pm_2', reference: null } } },
    });
    expect(nextStep(made.operation, ALL_SEEN, NOW, POLICY)).toMatchObject({
      kind: 'step',
      step: { name: 'create_payment', target: 'payment/2', payment_method: 'pm_2' },
    });
  });

  test('a released finalizer covers what the person saw, and no more', () => {
    const operation = order(inState('cancelled', 'captured', 'released'), {
      refunds: [{ ...FAILED, refund_id: 'cancellation', source: 'cancellation', amount: 10_000 }],
    });
    const parameters = { name: 'payment' as const, left_behind: 'paid back in cash' };
    const { operation: after } = accepted(operation, { command: 'release_finalizer', parameters });
    const status = nextStatus(after, NOW, POLICY, 1);
    expect(status).toMatchObject({ phase: 'cancelled', attention: null, finalizers: [] });
    expect(closedOf({ ...after, status })).toMatchObject({
      verdict: 'known_deviation',
      reason: 'paid back in cash',
    });
    const more = {
      ...after,
      facts: { ...after.facts, payment: { ...after.facts.payment, captured: 12_000 } },
    };
    expect(nextStatus(more, NOW, POLICY, 1)).toMatchObject({
      phase: 'cancelling',
      finalizers: [{ name: 'payment' }],
    });
  });

  test('what was given up asks a person again for a new wish, more money, or another trouble', () => {
    const operation = order(asked(captured, 1_000), { refunds: [FAILED] });
    const { operation: after } = accepted(operation, {
      command: 'give_up',
      parameters: { verdict: 'escalated' },
    });
    const next = (patch: Partial<Operation>) => nextStep({ ...after, ...patch }, ALL_SEEN, NOW, POLICY);
    expect(next({})).toEqual({ kind: 'wait', reason: 'GivenUp' });
    expect(next({ generation: 2 })).toMatchObject({ kind: 'person', reason: 'GivenUp' });
    const payment = { ...after.facts.payment, captured: 12_000 };
    expect(next({ facts: { ...after.facts, payment } })).toMatchObject({ kind: 'person', reason: 'GivenUp' });
    const unknown = { ...after.facts.payment, state: 'unknown' as const };
    expect(next({ facts: { ...after.facts, payment: unknown } })).toMatchObject({ kind: 'person' });
    expect(closedOf(after)).toMatchObject({ verdict: 'escalated', by: 'lead' });
  });

  test('a person’s word is no reading: done is not sent again, and both are held against what is seen', () => {
    const doubtful = order(created, { unresolved: DOUBT });
    const say = (outcome: 'done' | 'no_effect', seen = ALL_SEEN) =>
      carryOut(
        { operation: doubtful, attempts: [] },
        { command: 'record_outcome', parameters: { step: 'confirm_payment', outcome, evidence: 'seen' } },
        { ...ASKING, seen },
      );
    expect(say('done')).toMatchObject({ kind: 'refused' });
    const done = say('done', { payment: false, inventory: true });
    if (done.kind === 'refused') throw new Error(done.why);
    const settled = { ...done.operation, facts: { ...done.operation.facts, unresolved: null } };
    expect(nextStep(settled, ALL_SEEN, NOW, POLICY)).toEqual({ kind: 'wait', reason: 'OutcomeAsserted' });
    const payment = { ...settled.facts.payment, observed_at: new Date(NOW.getTime() + 1_000).toISOString() };
    expect(
      nextStep({ ...settled, facts: { ...settled.facts, payment } }, ALL_SEEN, NOW, POLICY),
    ).toMatchObject({
      kind: 'person',
      reason: 'AssertionRefuted',
    });
    expect(say('no_effect')).toMatchObject({ kind: 'accepted' });
  });

  describe('a person’s word is about the tries that the journal had, whatever the clocks say', () => {
    const doubtful = order(created, { unresolved: DOUBT });
    const parameters = { step: 'confirm_payment', outcome: 'no_effect', evidence: 'seen' } as const;
    const seconds = (late: number) => new Date(NOW.getTime() + late * 1_000).toISOString();
    const lost = (patch: object = {}) => anAttempt({ attempt_id: '7', outcome: 'unknown', ...patch });

    test.each([
      ['agree', 0],
      ['of the API is behind', 60],
      ['of the API is ahead', -60],
    ])('clock %s', (_name, late) => {
      const known = lost({ started_at: seconds(late) });
      const command = { command: 'record_outcome', parameters } as const;
      const { operation, effects } = accepted(doubtful, command, [known]);
      expect(effects[1]).toContain('under the same key');
      const refuted = (...attempts: Attempt[]) => refutedBy(operation.wish, attempts)?.target;
      const doubt = (...attempts: Attempt[]) => absorbJournal(operation, attempts).facts.unresolved;
      // Of the try that it is about.
      expect(doubt(known)).toBeNull();
      expect(refuted(known)).toBeUndefined();
      expect(refuted({ ...known, resolution: 'effect_observed' })).toBe('pi_1/1');
      expect(refuted({ ...known, outcome: 'done' })).toBe('pi_1/1');
      // Of the one that was sent since, at whatever time.
      const again = lost({ attempt_id: '8', started_at: known.started_at });
      expect(refuted(known, { ...again, outcome: 'done' })).toBeUndefined();
      expect(doubt(known, again)).toMatchObject({ step: 'confirm_payment', target: 'pi_1/1' });
      expect(doubt(known, { ...again, outcome: null })).toMatchObject({ target: 'pi_1/1' });
    });

    test('a key that can do no more is not announced', () => {
      const spent = lost({ started_at: new Date(NOW.getTime() - 24 * 3_600_000).toISOString() });
      const { effects } = accepted(doubtful, { command: 'record_outcome', parameters }, [spent]);
      expect(effects[1]).toContain('a new key');
    });
  });
});

test('a finalizer is released by what was read, not by what was recorded', () => {
  const stuck = order(inState('cancelled', 'canceled', 'committed'), GONE);
  const parameters = { name: 'inventory', left_behind: 'x' } as const;
  const unrecorded = { ...stuck, status: { ...stuck.status, finalizers: [] } };
  expect(accepted(unrecorded, { command: 'release_finalizer', parameters }).kind).toBe('accepted');
  const done = order(inState('cancelled', 'canceled', 'released'));
  const stale = { ...done, status: { ...done.status, finalizers: stuck.status.finalizers } };
  expect(refusedWhy(stale, { command: 'release_finalizer', parameters })).toContain('No finalizer');
});

test('a cancellation’s own refund that failed goes out under the next id', () => {
  const operation = order(inState('cancelled', 'captured', 'committed'), {
    refunds: [{ ...FAILED, refund_id: 'cancellation', source: 'cancellation', amount: 10_000 }],
  });
  const command: Command = { command: 'retry_refund', parameters: { refund_id: 'cancellation' } };
  const { operation: after, effects } = accepted(operation, command);
  expect(effects[0]).toContain('cancellation-2');
  expect(after.wish.decisions?.resent).toEqual([{ refund_id: 'cancellation', instead_of: 're_1' }]);
  expect(nextStep(after, ALL_SEEN, NOW, POLICY)).toMatchObject({ step: { target: 'cancellation-2' } });
});

describe('money that a command may move', () => {
  const two = asked(captured, 1, 6_000);
  const r2 = { ...FAILED, refund_id: 'r2', provider_reference: 're_2', amount: 6_000 };
  const braked = { braked: { until: WORD.at, message: 'Full.' } };
  const again: Command = { command: 'retry_refund', parameters: { refund_id: 'r2' } };
  const resume: Command = { command: 'resume', parameters: {} };
  const retry: Command = { command: 'retry', parameters: {} };
  const doubtful = order(created, { unresolved: DOUBT });
  const word: Command = {
    command: 'record_outcome',
    parameters: { step: 'confirm_payment', outcome: 'no_effect', evidence: 'seen' },
  };
  const r1 = aRefund({ amount: 1 });
  const CASES: [string, Operation, Command, number][] = [
    ['a failed refund alone: that refund', order(two, { refunds: [r1, r2] }), again, 6_000],
    ['a failed refund beside one that is not sent: all', order(two, { refunds: [r2] }), again, 10_000],
    ['a failed refund behind the brake: all', order(two, { refunds: [r2], ...braked }), again, 10_000],
    ['resumed with a refund to send: all', paused(order(two)), resume, 10_000],
    ['resumed behind the brake: all', paused(order(two, braked)), resume, 10_000],
    ['resumed before anything was taken: what is wanted', paused(order(created)), resume, 10_000],
    [
      'taken up again where stock comes first: what is wanted',
      order(inState('fulfilled', 'created', 'none'), {}, GIVEN_UP),
      resume,
      10_000,
    ],
    ['resumed where all is as wanted: none', paused(order(captured)), resume, 0],
    ['one refund let pass: all', order(two, braked), retry, 10_000],
    ['another try of the payment: what is wanted', order(created, EXHAUSTED), retry, 10_000],
    ['a call said to have had no effect: what is wanted', doubtful, word, 10_000],
    ['a pause: none', order(two), { command: 'pause', parameters: {} }, 0],
  ];
  test.each(CASES)('%s', (_name, before, command, amount) => {
    expect(amountMoved(command, before, accepted(before, command).operation, ASKING)).toBe(amount);
  });

  test('what cannot be read is not taken for as wanted', () => {
    const before = paused(order(captured));
    const { operation } = accepted(before, resume);
    const unread = { ...ASKING, seen: { payment: false, inventory: true } };
    expect(amountMoved(resume, before, operation, unread)).toBe(10_000);
  });

  test('a failed refund is not made again while the order is stopped, and what a lead gave up a lead resumes', () => {
    const failed = order(two, { refunds: [r1, r2] });
    const givenUp = order(two, { refunds: [r1, r2] }, GIVEN_UP);
    expect(refusedWhy(paused(failed), again)).toContain('paused');
    expect(refusedWhy(givenUp, again)).toContain('given up');
    expect([needsLead('resume'), needsLead('resume', paused(failed)), needsLead('resume', givenUp)]).toEqual([
      false,
      false,
      true,
    ]);
    expect(needsLead('give_up')).toBe(true);
  });
});

test('what changed is named, member order aside', () => {
  expect(changesBetween({ a: { x: 1, y: 2 }, b: null }, { a: { y: 2, x: 1 } })).toEqual([]);
  expect(changesBetween({ a: 1, b: 2 }, { a: 1, b: 3, c: 4 })).toEqual([
    { what: 'b', before: 2, after: 3 },
    { what: 'c', before: null, after: 4 },
  ]);
});
