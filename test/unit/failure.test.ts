import { describe, expect, test } from '@jest/globals';
import {
  FAILURE_CLASSES,
  isLasting,
  POSTURES,
  spendsBudget,
  type Failure,
} from '../../src/operation/failure.js';

const aFailure = (patch: Partial<Failure> = {}): Failure => ({
  class: 'unknown',
  code: 'timeout',
  message: 'No answer came.',
  ...patch,
});

describe('postures', () => {
  test('there is one for each class and no other', () => {
    expect(Object.keys(POSTURES).sort()).toEqual([...FAILURE_CLASSES].sort());
  });

  test.each([
    ['transient', true, 'backoff', 'provably unsent, but it is this order’s try'],
    ['throttled', false, 'backoff', 'being told to wait is not the order’s fault'],
    ['outage', false, 'backoff', 'an outage is not the order’s fault'],
    ['unknown', true, 'backoff', 'read first, then the key rules'],
    ['declined', false, 'customer', 'the customer or the deadline comes next'],
    ['rejected', true, 'backoff', 'planned once more, then a person'],
    ['authorization', false, 'backoff', 'the account is to be repaired, no order fails'],
    ['conflict', true, 'backoff', 'read again and go on'],
    ['compatibility', false, 'person', 'reads only'],
    ['prerequisite', false, 'backoff', 'something is missing that is not this order’s'],
    ['partial', true, 'backoff', 'the remaining difference only'],
    ['cancelled_by_operator', false, 'backoff', 'reads only until resumed'],
  ] as const)('%s spends: %s, then: %s (%s)', (cls, spends, then, _reason) => {
    expect(POSTURES[cls]).toEqual({ spendsBudget: spends, then });
    expect(spendsBudget(aFailure({ class: cls }))).toBe(spends);
  });
});

test('waiting for our own request that is still under way spends nothing', () => {
  expect(spendsBudget(aFailure({ code: 'idempotency_key_in_use' }))).toBe(false);
  expect(spendsBudget(aFailure({ class: 'transient', code: 'lease_too_short' }))).toBe(false);
});

test.each([
  ['other parameters under the key', { class: 'rejected', code: 'idempotency_mismatch' }, true],
  ['goods that are gone', { class: 'conflict', code: 'goods_gone' }, true],
  ['a word that is not known', { class: 'compatibility', code: 'unknown_status' }, true],
  ['a rejection', { class: 'rejected', code: 'parameter_invalid' }, false],
  ['a timeout', {}, false],
] as const)('whether it lasts: %s', (_name, patch, want) => {
  expect(isLasting(aFailure(patch))).toBe(want);
});
