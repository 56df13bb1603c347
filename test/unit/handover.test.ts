import { describe, expect, test } from '@jest/globals';
import { HandoverOut } from '../../src/api/schemas/handover.js';
import { toHandover, type Recorded } from '../../src/api/support/handover.js';
import { toMarkdown } from '../../src/api/support/handover-markdown.js';
import { redacted } from '../../src/api/support/redact.js';
import { REASON_GUIDANCE, type Act } from '../../src/operation/guidance.js';
import { nextStatus } from '../../src/operation/next-status.js';
import type { Operation } from '../../src/operation/operation.js';
import type { Reason } from '../../src/operation/reason.js';
import type { JournalAttempt, OperationEvent } from '../../src/store/record.js';
import {
  anAttempt,
  anOperation,
  aRefund,
  aSpec,
  aWish,
  cancelled,
  NOW,
  POLICY,
  type OperationPatch,
} from '../support/operations.js';

const AT = NOW.toISOString();
const PAYMENT = {
  amount: 12_900,
  currency: 'EUR',
  operation_id: 'op-1',
  answered_confirmation: 1,
  observed_at: AT,
};
const CAPTURED = { ...PAYMENT, state: 'captured', captured: 12_900 } as const;
const RESERVED = { state: 'reserved', requested: true, lines: [{ sku: 'tea-500', quantity: 2 }] } as const;
const COMMITTED = { ...RESERVED, state: 'committed' } as const;
const spent = { generation: 1, used: 8, streak: 8, reads: 0, rejections: 0 };

function recorded(patch: OperationPatch, rest: Partial<Recorded> = {}): Recorded {
  const operation: Operation = anOperation({ provider_reference: 'pi_1', ...patch });
  const status = nextStatus(operation, NOW, POLICY, 1);
  return {
    record: {
      ...operation,
      status,
      resource_version: 7,
      labels: { mail: 'jo@example.com' },
      requested_by: 'shop',
      updated_at: AT,
      task: null,
      next_attempt_at: AT,
    },
    attempts: [],
    events: [],
    triage: {
      assignee: null,
      snooze_until: null,
      snoozed: false,
      updated_at: null,
      updated_by: null,
      notes: [],
    },
    ...rest,
  };
}
const attempt = (patch: Partial<JournalAttempt>): JournalAttempt => ({
  ...anAttempt(),
  sequence: 1,
  fencing_token: 1,
  request_id: null,
  ...patch,
});
const event = (patch: Partial<OperationEvent>): OperationEvent => ({
  sequence: 1,
  at: AT,
  type: 'x',
  actor: { kind: 'key', name: 'shop' },
  message: 'm',
  ...patch,
});

interface Broken {
  readonly name: string;
  readonly given: Recorded;
  readonly reason: Reason;
  /** What is available, the safest first. */
  readonly next: readonly Act[];
  /** A word of what is said to be uncertain. */
  readonly uncertain?: string;
}

const failing = (
  step: 'confirm_payment' | 'create_refund' | 'observe_payment',
  cls: 'unknown' | 'rejected' | 'authorization',
  code = 'timeout',
) => ({ class: cls, code, message: 'No answer came.', step }) as const;

const TEN: readonly Broken[] = [
  {
    name: 'a confirmation without an answer',
    given: recorded(
      {
        facts: {
          payment: { ...PAYMENT, state: 'created', answered_confirmation: 0 },
          inventory: RESERVED,
          unresolved: { step: 'confirm_payment', target: 'pi_1/1', since: AT },
        },
      },
      { attempts: [attempt({ step: 'confirm_payment', target: 'pi_1/1', effect_key: 'op_key' })] },
    ),
    reason: 'AwaitingProviderReconciliation',
    next: ['wait', 'read_plan', 'look_at_provider', 'record_outcome'],
    uncertain: 'confirm_payment was begun',
  },
  {
    name: 'tried as often as allowed',
    given: recorded({
      facts: {
        payment: { ...PAYMENT, state: 'created', answered_confirmation: 0 },
        inventory: RESERVED,
        failure: failing('confirm_payment', 'unknown'),
        budget: { ...spent, step: 'confirm_payment' },
      },
    }),
    reason: 'RetryBudgetExhausted',
    next: ['read_plan', 'retry', 'look_at_provider', 'cancel'],
  },
  {
    name: 'declined',
    given: recorded({
      facts: {
        payment: { ...PAYMENT, state: 'failed', last_error: { code: 'card_declined', message: 'no' } },
        inventory: RESERVED,
      },
    }),
    reason: 'PaymentDeclined',
    next: ['pay_again', 'cancel'],
  },
  {
    name: 'a refund failed',
    given: recorded({
      wish: aWish(aSpec({ refunds: [{ refund_id: 'r1', amount: 1_000 }] })),
      facts: {
        payment: CAPTURED,
        inventory: COMMITTED,
        refunds: [aRefund({ refund_id: 'r1', amount: 1_000, state: 'failed', source: 'operation' })],
      },
    }),
    reason: 'RefundFailed',
    next: ['read_plan', 'retry_refund', 'look_at_provider'],
  },
  {
    name: 'captured less by somebody else',
    given: recorded({ facts: { payment: { ...CAPTURED, captured: 5_000 }, inventory: RESERVED } }),
    reason: 'CapturedShort',
    next: ['look_at_provider', 'cancel', 'give_up'],
  },
  {
    name: 'the stock is lost and the money is here',
    given: recorded({ facts: { payment: CAPTURED, inventory: { ...RESERVED, state: 'released' } } }),
    reason: 'StockLostAfterPayment',
    next: ['ask_warehouse', 'cancel'],
  },
  {
    name: 'a status that nobody knows',
    given: recorded({
      facts: {
        payment: { ...PAYMENT, state: 'unknown', provider_status: 'requires_moon' },
        inventory: RESERVED,
      },
    }),
    reason: 'UnknownProviderStatus',
    next: ['look_at_provider', 'upgrade'],
    uncertain: 'not known whether the customer',
  },
  {
    name: 'the key is refused',
    given: recorded({
      facts: {
        payment: { ...PAYMENT, state: 'created', answered_confirmation: 0 },
        inventory: RESERVED,
        failure: failing('observe_payment', 'authorization', 'api_key_expired'),
      },
    }),
    reason: 'ProviderRefusesCredential',
    next: ['repair_credential'],
    uncertain: 'could not be read',
  },
  {
    name: 'the goods are gone while it is cancelled',
    given: recorded({
      wish: cancelled(aWish()),
      facts: {
        payment: { ...CAPTURED },
        inventory: COMMITTED,
        refunds: [
          aRefund({ refund_id: 'cancellation', source: 'cancellation', amount: 12_900, state: 'succeeded' }),
        ],
        failure: { class: 'conflict', code: 'goods_gone', message: 'They left.', step: 'release_inventory' },
        budget: { ...spent, step: 'release_inventory', used: 1 },
      },
    }),
    reason: 'GoodsGone',
    next: ['ask_warehouse', 'release_finalizer'],
  },
  {
    name: 'its account is stopped',
    given: recorded({
      facts: {
        payment: { ...PAYMENT, state: 'authorized', authorized: 12_900 },
        inventory: RESERVED,
        account_paused: { by: 'lead', reason: 'a wrong price list', at: AT },
      },
    }),
    reason: 'AccountPaused',
    next: ['resume_account'],
  },
];

describe('ten orders broken in ten ways', () => {
  test.each(TEN)('$name: the handover names what is safe next', ({ given, reason, next, uncertain }) => {
    const handover = toHandover(given, NOW, POLICY);
    expect(HandoverOut.parse(handover)).toEqual(handover);
    expect(handover.reason).toBe(reason);
    expect(handover.safe_next.filter(({ available }) => available).map(({ act }) => act)).toEqual(next);
    expect(handover.by_itself.what).toBe(REASON_GUIDANCE[reason].by_itself);
    expect(handover.see[0]).toBe(`/docs/failures#reason-${reason}`);
    if (uncertain !== undefined)
      expect(handover.uncertain.map(({ what }) => what).join()).toContain(uncertain);
    else expect(handover.uncertain).toEqual([]);
    expect(handover.avoid.length > 0).toBe(handover.needs_person || handover.uncertain.length > 0);

    const markdown = toMarkdown(handover);
    for (const act of next) expect(markdown).toContain(`**${act}**`);
    expect(markdown).toContain(reason);
  });
});

test('what cannot be asked for now is said to be so, with the words of the route', () => {
  const { safe_next } = toHandover(
    recorded({
      wish: cancelled(aWish()),
      facts: { payment: { ...CAPTURED, currency: 'USD' }, inventory: RESERVED },
    }),
    NOW,
    POLICY,
  );
  expect(safe_next.map(({ act, available, why_not }) => [act, available, why_not])).toEqual([
    ['look_at_provider', true, null],
    ['adopt_payment', false, 'Cancellation was requested, which cannot be undone.'],
    ['cancel', false, 'It was asked for already.'],
  ]);
});

test.each<[string, OperationPatch, [Act, string | null][]]>([
  [
    'more is wanted than is authorized',
    {
      wish: aWish(aSpec({ amount: { value: 15_000, currency: 'EUR' } })),
      facts: { payment: { ...PAYMENT, state: 'authorized', authorized: 12_900 }, inventory: RESERVED },
    },
    [
      ['lower_amount', null],
      ['cancel', null],
    ],
  ],
  [
    'more was captured than is wanted',
    { facts: { payment: { ...CAPTURED, captured: 15_000 }, inventory: RESERVED } },
    [
      ['refund_difference', null],
      ['cancel', null],
      ['give_up', null],
    ],
  ],
  [
    'and the difference went back',
    {
      wish: aWish(aSpec({ refunds: [{ refund_id: 'r1', amount: 2_100 }] })),
      facts: {
        payment: { ...CAPTURED, captured: 15_000 },
        inventory: RESERVED,
        refunds: [aRefund({ refund_id: 'r1', amount: 2_100, state: 'succeeded', source: 'operation' })],
      },
    },
    [
      ['refund_difference', 'No more is held than is wanted.'],
      ['cancel', null],
      ['give_up', null],
    ],
  ],
])('%s: only what its route accepts is named as available', (_name, patch, want) => {
  const { safe_next } = toHandover(recorded(patch), NOW, POLICY);
  expect(safe_next.map(({ act, why_not }) => [act, why_not])).toEqual(want);
});

test('what was sent, what is known of it, and who asked for what', () => {
  const handover = toHandover(
    recorded(
      { facts: { payment: CAPTURED, inventory: COMMITTED } },
      {
        attempts: [
          attempt({
            step: 'create_payment',
            outcome: 'done',
            completed_at: AT,
            request_id: 'req_1',
            effect_key: 'op_a',
          }),
          attempt({
            step: 'confirm_payment',
            outcome: 'unknown',
            completed_at: AT,
            request_id: 'req_2',
            effect_key: 'op_b',
            resolution: 'effect_observed',
            failure: { class: 'unknown', code: 'http_500', message: 'm' },
          }),
        ],
        events: [
          event({ type: 'cancellation_requested', message: 'Cancellation was requested.' }),
          event({ type: 'phase_changed', actor: { kind: 'system', name: 'reconciler' } }),
        ],
        triage: {
          assignee: 'ana',
          snooze_until: null,
          snoozed: false,
          updated_at: AT,
          updated_by: 'desk',
          notes: [event({ type: 'note_added', message: '# not a heading\n| or a [cell](x) \u202e00.01' })],
        },
      },
    ),
    NOW,
    POLICY,
  );
  expect(handover.checkpoint).toEqual({ at: AT, what: 'confirm_payment: seen by a reading' });
  expect(handover.attempts.map(({ effect_key, request_id, code }) => [effect_key, request_id, code])).toEqual(
    [
      ['op_a', 'req_1', null],
      ['op_b', 'req_2', 'http_500'],
    ],
  );
  expect(handover.tried).toEqual([{ at: AT, by: 'shop', what: 'Cancellation was requested.' }]);
  const markdown = toMarkdown(handover);
  expect(markdown).toContain('looked after by ana');
  expect(markdown).toContain('\\# not a heading \\| or a \\[cell\\](x)');
  expect(markdown).toContain('key `op_b`, request `req_2`');
  expect(markdown).not.toContain('\u202e');
  // Nothing that a shop wrote about its customer.
  expect(JSON.stringify(handover)).not.toContain('example.com');
});

test.each([
  ['ord`1', '# Handover of `` ord`1 ``'],
  ['`` x', '# Handover of ``` `` x ```'],
])('an id can be copied as it is: %s', (operation_id, head) => {
  const { record, ...rest } = recorded({});
  const handover = toHandover({ ...rest, record: { ...record, operation_id } }, NOW, POLICY);
  expect(toMarkdown(handover)).toContain(`${head}\n`);
});

test.each([
  ['Key sk_test_abcd1234 and pi_1abc_secret_xyz9', 'Key [redacted] and [redacted]'],
  ['Authorization: Bearer abc.def', 'Authorization: [redacted]'],
  ['write to jo.doe@example.com now', 'write to [redacted] now'],
  ['card 4242 4242 4242 4242 used', 'card [redacted] used'],
  ['sent to DE89 3704 0044 0532 0130 00 from ES9121000418450200051332', 'sent to [redacted] from [redacted]'],
  ['fr14 2004 1010 0505 0001 3M02 606 is his', '[redacted] is his'],
  ['DE88 3704 0044 0532 0130 00 is none', 'DE88 3704 0044 0532 0130 00 is none'],
  ['order 261129204337-4 and pi_3xXQ78', 'order 261129204337-4 and pi_3xXQ78'],
])('%s', (text, shown) => {
  expect(redacted(text)).toBe(shown);
});
