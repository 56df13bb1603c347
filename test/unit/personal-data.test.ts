/** Erasure as a function: what is named goes, what is not stays, and nothing else is decided than before. */
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { nextStatus } from '../../src/operation/next-status.js';
import { nextStep } from '../../src/operation/next-step.js';
import { NO_FACTS, type Operation } from '../../src/operation/operation.js';
import type { Failure } from '../../src/operation/failure.js';
import { ALL_SEEN, type PaymentReading } from '../../src/operation/observation.js';
import {
  erased,
  ERASED,
  erasedLine,
  erasedObservation,
  erasedOutcome,
  ERASURES,
} from '../../src/operation/personal-data.js';
import { Spec } from '../../src/operation/spec.js';
import { KEPT_MEMBERS } from '../../src/retention/rules.js';
import { records } from '../support/any-record.js';
import { campaign } from '../support/campaign.js';
import { NOW, POLICY } from '../support/operations.js';

const { order_operations: RULES } = ERASURES;

const A_READING: PaymentReading = {
  reference: 'pi_1',
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
  operation_id: 'op-1',
  livemode: false,
};

/** Paths of all leaves of a JSON schema. */
function leavesOf(schema: z.core.JSONSchema.BaseSchema, path = ''): string[] {
  const { properties, items, anyOf } = schema;
  const [first] = anyOf ?? [];
  if (typeof first === 'object' && properties === undefined && items === undefined)
    return leavesOf(first, path);
  if (properties !== undefined)
    return Object.entries(properties).flatMap(([name, member]) =>
      typeof member === 'object' ? leavesOf(member, path === '' ? name : `${path}.${name}`) : [],
    );
  return typeof items === 'object' && !Array.isArray(items) ? leavesOf(items, `${path}[]`) : [path];
}
const kept = (column: string): string[] =>
  KEPT_MEMBERS.filter((row) => row.table === 'order_operations' && row.column === column).flatMap(
    ({ members }) => members,
  );

describe('every member has its place', () => {
  test('of a spec', () => {
    const leaves = leavesOf(z.toJSONSchema(Spec, { io: 'input', unrepresentable: 'any' }));
    expect(leaves).toContain('refunds[].reason');
    expect([...RULES.spec.map(({ path }) => path), ...kept('spec')].sort()).toEqual(leaves.sort());
  });

  test('of the facts', () => {
    const names = [...RULES.facts.map(({ path }) => path), ...kept('facts')];
    const named = (path: string): boolean =>
      names.some((name) => name === path || name.startsWith(`${path}.`) || name.startsWith(`${path}[`));
    const { payment, ...others } = NO_FACTS;
    for (const name of [...Object.keys(others), ...Object.keys(payment).map((member) => `payment.${member}`)])
      expect({ name, named: named(name) }).toEqual({ name, named: true });
  });
});

const withoutPerson = (operation: Operation): Operation => ({
  ...operation,
  erased_at: NOW.toISOString(),
  wish: {
    ...operation.wish,
    spec: erased(operation.wish.spec, RULES.spec),
    cancellation: erased(operation.wish.cancellation, RULES.cancellation),
    paused: erased(operation.wish.paused, RULES.paused),
  },
  facts: erased(operation.facts, RULES.facts),
});

/** States in which a payment is still asked for, which takes a method, a customer and their page. */
const ASKING = ['none', 'created', 'failed', 'awaiting_customer'];

test('where no payment is asked for any more, no decision rests on what is erased', () => {
  let compared = 0;
  fc.assert(
    fc.property(records, (operation) => {
      if (ASKING.includes(operation.facts.payment.state) && operation.wish.cancellation === null) return;
      const now = nextStep(operation, ALL_SEEN, NOW, POLICY);
      // A payment whose creation was lost is asked for under its own key, so that it can be canceled.
      if (now.kind === 'step' && now.step.name === 'create_payment') return;
      compared += 1;
      const then = nextStep(withoutPerson(operation), ALL_SEEN, NOW, POLICY);
      expect({ ...then, message: '' }).toEqual({ ...now, message: '' });
      const { phase, settled_at } = nextStatus(withoutPerson(operation), NOW, POLICY);
      expect(nextStatus(operation, NOW, POLICY)).toMatchObject({ phase, settled_at });
    }),
    campaign(500),
  );
  expect(compared).toBeGreaterThan(200);
});

test('erasing once more changes nothing, and what is absent stays absent', () => {
  fc.assert(
    fc.property(records, ({ wish, facts }) => {
      const once = { spec: erased(wish.spec, RULES.spec), facts: erased(facts, RULES.facts) };
      expect(erased(once.spec, RULES.spec)).toEqual(once.spec);
      expect(erased(once.facts, RULES.facts)).toEqual(once.facts);
      // It is a spec still.
      expect(Spec.parse(once.spec)).toEqual(once.spec);
    }),
    campaign(200),
  );
  for (const rules of Object.values(RULES)) {
    expect(erased(null, rules)).toBeNull();
    if (rules.some(({ path }) => path === '')) continue;
    expect(erased({}, rules)).toEqual({});
    expect(erased({ payment: null, refunds: 3, asserted: [null, 'x'] }, rules)).toEqual({
      payment: null,
      refunds: 3,
      asserted: [null, 'x'],
    });
  }
});

test.each([
  [
    'our own words stay',
    { type: 'phase_changed', message: 'a → b', data: { from: 'a', to: 'b', reason: 'Fulfilled' } },
    { type: 'phase_changed', message: 'a → b', data: { from: 'a', to: 'b', reason: 'Fulfilled' } },
  ],
  [
    'a reason that somebody gave goes',
    { type: 'refund_requested', message: 'A refund', data: { refund_id: 'r1', amount: 1, reason: 'Erika' } },
    { type: 'refund_requested', message: 'A refund', data: { refund_id: 'r1', amount: 1 } },
  ],
  [
    'a note goes',
    { type: 'note_added', message: 'Erika', data: null },
    { type: 'note_added', message: ERASED, data: null },
  ],
  [
    'of what a later version tells, only what is known to be harmless stays',
    { type: 'letter_sent', message: 'to Erika', data: { to_whom: 'Erika', amount: 3 } },
    { type: 'letter_sent', message: ERASED, data: { amount: 3 } },
  ],
])('lines of the timeline: %s', (_name, line, want) => {
  expect(erasedLine(line)).toEqual(want);
});

test('what an erased order is told by the world: its money, its codes, and no words', () => {
  const failure: Failure = {
    class: 'rejected',
    code: 'resource_missing',
    message: 'No such customer: cus_Erika',
    request_id: 'req_1',
  };
  const payment = {
    ...A_READING,
    payment_method: 'pm_1',
    customer: 'cus_Erika',
    last_error: { code: 'card_declined', message: 'Erika' },
    next_action: { type: 'redirect_to_url', redirect_url: 'https://x/Erika' },
  };
  const at = NOW.toISOString();
  const told = [
    erasedObservation({ payment: { kind: 'present', value: payment }, inventory: { kind: 'absent' }, at }),
    erasedObservation({ payment: { kind: 'unknown', failure }, inventory: { kind: 'unknown', failure }, at }),
    erasedOutcome({ kind: 'rejected', failure, shown: { payment } }),
    erasedOutcome({ kind: 'done', shown: { payment } }),
  ];
  const text = JSON.stringify(told);
  expect(text).not.toMatch(/Erika|pm_1/);
  for (const kept of [
    'card_declined',
    'resource_missing',
    'req_1',
    'redirect_to_url',
    'pi_1',
    '"captured":100',
  ])
    expect(text).toContain(kept);
});
