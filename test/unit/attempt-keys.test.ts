import { describe, expect, test } from '@jest/globals';
import {
  chooseKey,
  effectKey,
  EFFECT_KEY_LIFE_MS,
  isFinal,
  lostCreates,
  openAttempts,
  OUTCOMES,
  type Attempt,
} from '../../src/operation/attempt.js';
import { anAttempt, NOW } from '../support/operations.js';

const HOUR = 3_600_000;
const ago = (ms: number): string => new Date(NOW.getTime() - ms).toISOString();

/** Before the wait for another refund key. */
const LONG_SINCE = new Date(NOW.getTime() - 11_000).toISOString();

const aRefundTry = (patch: Partial<Attempt> = {}): Attempt =>
  anAttempt({ step: 'create_refund', target: 'r1', effect_key: `key-${patch.ordinal ?? 1}`, ...patch });
const aCreate = (patch: Partial<Attempt> = {}): Attempt =>
  anAttempt({
    step: 'create_payment',
    target: 'payment/1',
    effect_key: `key-${patch.ordinal ?? 1}`,
    ...patch,
  });

describe('the key of an effect', () => {
  const key = effectKey('op-1', 'create_refund', 'r1', 1);
  test('is the same on every worker, after every restart and in every version', () => {
    expect(key).toBe('op_af5fe61992654a0283cd349df96f416ba92493df55b6e01b12d2a932ff1a7755');
  });
  test('fits every provider and tells nothing about the order', () => {
    const long = effectKey('😀'.repeat(128), 'create_refund', 'x'.repeat(64), 1);
    expect(long).toMatch(/^op_[0-9a-f]{64}$/);
  });
  test.each([
    ['another operation', effectKey('op-2', 'create_refund', 'r1', 1)],
    ['another step', effectKey('op-1', 'cancel_payment', 'r1', 1)],
    ['another refund of the same amount', effectKey('op-1', 'create_refund', 'r2', 1)],
    ['another ordinal', effectKey('op-1', 'create_refund', 'r1', 2)],
    ['parts that only join to the same text', effectKey('op-1,create_refund', 'create_refund', 'r1', 1)],
  ])('differs for %s', (_name, other) => {
    expect(other).not.toBe(key);
  });
  test('differs for ids that differ by a separator only', () => {
    const ids = ['a:b', 'a-b', 'a/b', 'a,b', 'a","b', '12345', '１２３４５', 'é', 'e\u0301'];
    expect(new Set(ids.map((id) => effectKey(id, 'create_payment', 'payment/1', 1))).size).toBe(ids.length);
  });
});

describe('which key the next try uses', () => {
  const rows: { name: string; reason: string; given: Attempt[]; want: number | Attempt }[] = [
    { name: 'no try', reason: 'the first key', given: [], want: 1 },
    {
      name: 'never answered',
      reason: 'it may have arrived: the same key again',
      given: [aRefundTry({ attempt_id: 'a' })],
      want: aRefundTry({ attempt_id: 'a' }),
    },
    {
      name: 'answered by a timeout',
      reason: 'it may have arrived: the same key again',
      given: [aRefundTry({ outcome: 'unknown' })],
      want: aRefundTry({ outcome: 'unknown' }),
    },
    {
      name: 'not sent',
      reason: 'the key is unused',
      given: [aRefundTry({ outcome: 'not_sent' })],
      want: aRefundTry({ outcome: 'not_sent' }),
    },
    {
      name: 'other parameters under the key',
      reason: 'never a random key: another could do the work twice',
      given: [aRefundTry({ outcome: 'rejected' })],
      want: aRefundTry({ outcome: 'rejected' }),
    },
    {
      name: 'a stored answer',
      reason: 'the key can only repeat it',
      given: [aRefundTry({ started_at: LONG_SINCE, outcome: 'unknown', key_spent: true })],
      want: 2,
    },
    {
      name: 'a rejection that is stored',
      reason: 'the key can only repeat it',
      given: [aRefundTry({ outcome: 'rejected', key_spent: true })],
      want: 2,
    },
    {
      name: 'spent by an answer that came late, after another try',
      reason: 'whichever try it was, the key is spent',
      given: [
        aRefundTry({ attempt_id: '1', started_at: LONG_SINCE, outcome: 'unknown', key_spent: true }),
        aRefundTry({ attempt_id: '2', started_at: LONG_SINCE, outcome: 'not_sent' }),
      ],
      want: 2,
    },
    {
      name: 'an earlier key was spent',
      reason: 'the ordinal rises once for each spent key',
      given: [
        aRefundTry({ outcome: 'rejected', key_spent: true }),
        aRefundTry({ attempt_id: '2', ordinal: 2, outcome: 'unknown' }),
      ],
      want: aRefundTry({ attempt_id: '2', ordinal: 2, outcome: 'unknown' }),
    },
    {
      name: 'first sent just within the life of the key',
      reason: 'the provider still knows it',
      given: [aRefundTry({ started_at: ago(EFFECT_KEY_LIFE_MS) })],
      want: aRefundTry({ started_at: ago(EFFECT_KEY_LIFE_MS) }),
    },
    {
      name: 'first sent longer ago',
      reason: 'the provider may have forgotten it, and a reading shows no effect',
      given: [aRefundTry({ started_at: ago(EFFECT_KEY_LIFE_MS + 1) })],
      want: 2,
    },
    {
      name: 'first sent longer ago and again lately',
      reason: 'the life of a key begins with its first use',
      given: [
        aRefundTry({ started_at: ago(EFFECT_KEY_LIFE_MS + 1) }),
        aRefundTry({ attempt_id: '2', started_at: ago(HOUR) }),
      ],
      want: 2,
    },
    {
      name: 'tries of other effects',
      reason: 'each effect has keys of its own',
      given: [
        aRefundTry({ target: 'r2', outcome: 'rejected', key_spent: true, ordinal: 7 }),
        aRefundTry({ step: 'cancel_payment', outcome: 'rejected', key_spent: true, ordinal: 9 }),
      ],
      want: 1,
    },
  ];
  test.each(rows)('$name: $reason', ({ reason, given, want }) => {
    const choice = chooseKey(given, 'create_refund', 'r1', NOW);
    const expected =
      typeof want === 'number' ? { kind: 'fresh', ordinal: want } : { kind: 'resend', attempt: want };
    expect({ reason, choice }).toEqual({ reason, choice: expected });
  });

  test('terms that were changed once are changed again under another key: the old one only repeats its answer', () => {
    const update = (outcome: Attempt['outcome']): Attempt[] => [
      anAttempt({ step: 'update_payment', target: 'pi_1/3', outcome }),
    ];
    expect(chooseKey(update('done'), 'update_payment', 'pi_1/3', NOW)).toEqual({ kind: 'fresh', ordinal: 2 });
    expect(chooseKey(update('unknown'), 'update_payment', 'pi_1/3', NOW)).toMatchObject({ kind: 'resend' });
  });

  test('that a payment was canceled can be undone, too: it is canceled again under another key', () => {
    const cancel = (patch: Partial<Attempt>) => [
      anAttempt({ step: 'cancel_payment', target: 'pi_1', outcome: 'unknown', ...patch }),
    ];
    const choice = (patch: Partial<Attempt>) => chooseKey(cancel(patch), 'cancel_payment', 'pi_1', NOW);
    expect(choice({ outcome: 'done' })).toEqual({ kind: 'fresh', ordinal: 2 });
    expect(choice({ resolution: 'effect_observed' })).toEqual({ kind: 'fresh', ordinal: 2 });
    expect(choice({})).toMatchObject({ kind: 'resend' });
  });

  test('another key for a refund waits until the provider’s list can be trusted to show the first', () => {
    const tries = [aRefundTry({ outcome: 'unknown', key_spent: true })];
    const choice = (ms: number): unknown =>
      chooseKey(tries, 'create_refund', tries[0]?.target ?? '', new Date(NOW.getTime() + ms));
    expect(choice(0)).toEqual({ kind: 'wait', ms: 10_000 });
    expect(choice(9_000)).toEqual({ kind: 'wait', ms: 1_000 });
    expect(choice(10_000)).toEqual({ kind: 'fresh', ordinal: 2 });
    // A definite refusal leaves nothing to wait for.
    const refused = [aRefundTry({ outcome: 'rejected', key_spent: true })];
    expect(chooseKey(refused, 'create_refund', refused[0]?.target ?? '', NOW)).toEqual({
      kind: 'fresh',
      ordinal: 2,
    });
  });

  test('the life of a key ends before the provider’s 24 hours do', () => {
    expect(EFFECT_KEY_LIFE_MS).toBe(23 * HOUR);
  });
});

describe('whether an answer tells about every try under its key', () => {
  const want = {
    done: true,
    pending: true,
    declined: true,
    rejected: false,
    not_sent: false,
    unknown: false,
  };
  test.each(OUTCOMES)('%s', (outcome) => {
    expect(isFinal({ step: 'create_refund', outcome, key_spent: false })).toBe(want[outcome]);
  });
  test('no answer does not', () => {
    expect(isFinal({ step: 'create_refund', outcome: null, key_spent: false })).toBe(false);
  });
  test('a rejection does when it is stored, and when it is the warehouse’s', () => {
    expect(isFinal({ step: 'create_refund', outcome: 'rejected', key_spent: true })).toBe(true);
    expect(isFinal({ step: 'release_inventory', outcome: 'rejected', key_spent: false })).toBe(true);
  });
});

describe('tries that are in doubt', () => {
  const open = aRefundTry({ attempt_id: 'open', outcome: 'unknown' });
  const rows: { name: string; reason: string; given: Attempt[]; want: string[] }[] = [
    { name: 'none', reason: 'nothing was tried', given: [], want: [] },
    {
      name: 'no answer',
      reason: 'its worker died or is late',
      given: [aRefundTry({ attempt_id: 'a' })],
      want: ['a'],
    },
    { name: 'no answer that says', reason: 'neither success nor failure', given: [open], want: ['open'] },
    ...(['done', 'pending', 'declined', 'rejected', 'not_sent'] as const).map((outcome) => ({
      name: `answered: ${outcome}`,
      reason: 'it is known what became of it',
      given: [aRefundTry({ outcome })],
      want: [],
    })),
    {
      name: 'its effect was read',
      reason: 'a reading settles it',
      given: [{ ...open, resolution: 'effect_observed' }],
      want: [],
    },
    {
      name: 'it was looked for and is not there',
      reason: 'a reading settles it',
      given: [{ ...open, resolution: 'no_effect_observed' }],
      want: [],
    },
    {
      name: 'answered later under the same key',
      reason: 'the provider repeats the first answer',
      given: [open, aRefundTry({ attempt_id: 'b', outcome: 'done' })],
      want: [],
    },
    {
      name: 'a later try was not sent',
      reason: 'that says nothing about the former one',
      given: [open, aRefundTry({ attempt_id: 'b', outcome: 'not_sent' })],
      want: ['open'],
    },
    {
      name: 'a later try was refused for the credential',
      reason: 'that says nothing about the former one',
      given: [open, aRefundTry({ attempt_id: 'b', outcome: 'rejected' })],
      want: ['open'],
    },
    {
      name: 'a later try was refused for good',
      reason: 'the answer is stored for the key',
      given: [open, aRefundTry({ attempt_id: 'b', outcome: 'rejected', key_spent: true })],
      want: [],
    },
    {
      name: 'a later ordinal',
      reason: 'it is begun only when the former one is proved to have done nothing',
      given: [open, aRefundTry({ attempt_id: 'b', ordinal: 2 })],
      want: ['b'],
    },
    {
      name: 'another effect',
      reason: 'each effect is in doubt by itself',
      given: [open, aRefundTry({ attempt_id: 'b', target: 'r2', effect_key: 'other', outcome: 'done' })],
      want: ['open'],
    },
    {
      name: 'answered before, and tried again',
      reason: 'only what comes later settles it',
      given: [aRefundTry({ attempt_id: 'a', outcome: 'not_sent' }), { ...open, attempt_id: 'b' }],
      want: ['b'],
    },
  ];
  test.each(rows)('$name: $reason', ({ reason, given, want }) => {
    expect({ reason, open: openAttempts(given).map(({ attempt_id }) => attempt_id) }).toEqual({
      reason,
      open: want,
    });
  });
});

describe('payments whose identity is lost', () => {
  test.each([
    { name: 'within the life of the key', given: [aCreate({ outcome: 'unknown' })], want: 0 },
    {
      name: 'after the life of the key',
      given: [aCreate({ outcome: 'unknown', started_at: ago(EFFECT_KEY_LIFE_MS + 1) })],
      want: 1,
    },
    {
      name: 'the key only repeats a 500',
      given: [aCreate({ outcome: 'unknown', key_spent: true })],
      want: 1,
    },
    {
      name: 'it was looked for',
      given: [aCreate({ outcome: 'unknown', key_spent: true, resolution: 'no_effect_observed' })],
      want: 0,
    },
    { name: 'another step', given: [aRefundTry({ outcome: 'unknown', key_spent: true })], want: 0 },
  ])('$name: $want', ({ given, want }) => {
    expect(lostCreates(given, NOW)).toHaveLength(want);
  });
});
