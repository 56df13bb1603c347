import { describe, expect, test } from '@jest/globals';
import {
  BULK_COMMANDS,
  isFailed,
  MOST_AT_ONCE,
  nextRows,
  SILENCE_MS,
  totalsOf,
  type NextRows,
  type Progress,
} from '../../src/operation/bulk.js';
import type { CommandName } from '../../src/operation/command-rule.js';
import type { CommandOutcome } from '../../src/operation/evidence.js';

const outcome = (patch: Partial<CommandOutcome> = {}): CommandOutcome => ({
  summary: '',
  phase: 'fulfilled',
  condition: 'Fulfilled',
  attention: null,
  payment: {},
  refunds: [],
  inventory: 'committed',
  attempts: [],
  observed_at: '2026-08-25T03:00:00.000Z',
  ...patch,
});
const sent = (...results: readonly ('done' | 'pending' | 'unknown' | null)[]): CommandOutcome =>
  outcome({
    attempts: results.map((result) => ({
      step: 'confirm_payment',
      target: 'pi_1/1',
      ordinal: 1,
      effect_key: 'op_1',
      started_at: '2026-08-25T03:00:00.000Z',
      outcome: result,
      request_id: null,
    })),
  });
const row = (patch: Partial<Progress> = {}): Progress => ({
  preview_id: 'p',
  carried_out: false,
  refused: false,
  outcome: null,
  age_ms: 0,
  ...patch,
});
const done = (seen: CommandOutcome | null = outcome(), age_ms = 0): Partial<Progress> => ({
  carried_out: true,
  outcome: seen,
  age_ms,
});

test('only commands that say the same of every order', () => {
  expect(BULK_COMMANDS).toEqual(['check_provider', 'retry', 'pause', 'resume', 'give_up']);
});

test('totals are kept apart by currency', () => {
  const rows = [
    { amount: 5, currency: 'USD' },
    { amount: 1, currency: 'EUR' },
    { amount: 2, currency: 'EUR' },
  ];
  expect(totalsOf(rows)).toEqual([
    { currency: 'EUR', amount: 3, operations: 2 },
    { currency: 'USD', amount: 5, operations: 1 },
  ]);
  expect(totalsOf([])).toEqual([]);
});

test.each<[string, CommandName, Partial<Progress>, boolean]>([
  ['a row that waits', 'retry', {}, false],
  ['refused', 'check_provider', { refused: true }, true],
  ['of help', 'retry', done(sent('done')), false],
  ['of help at last', 'retry', done(sent('unknown', 'done')), false],
  ['taken by the bank, not yet final', 'resume', done(sent('pending')), false],
  ['nothing was to be sent', 'retry', done(sent()), false],
  ['sent again and still without an answer', 'retry', done(sent('unknown')), true],
  ['begun, and its process died', 'retry', done(sent(null)), true],
  ['it needs a person again', 'resume', done(outcome({ attention: 'RefundFailed' })), true],
  ['what only looks or stops need not help', 'pause', done(outcome({ attention: 'RefundFailed' })), false],
  ['not looked at yet', 'pause', done(null, SILENCE_MS - 1), false],
  ['not looked at for long', 'pause', done(null, SILENCE_MS), true],
])('%s', (_name, command, patch, failed) => {
  expect(isFailed(command, row(patch))).toBe(failed);
});

describe('which rows are next', () => {
  const rowsOf = (...patches: Partial<Progress>[]): Progress[] =>
    patches.map((patch, at) => row({ preview_id: String(at), ...patch }));
  const begin = (...preview_ids: string[]): NextRows => ({ kind: 'rows', preview_ids });
  const refused = { refused: true };

  test.each<[string, Progress[], string[], number, NextRows]>([
    ['no more than may fail', rowsOf({}, {}, {}, {}), [], 3, begin('0', '1', '2')],
    [
      'no more than the provider bears',
      rowsOf(...Array.from({ length: 9 }, () => ({}))),
      [],
      200,
      begin('0', '1', '2', '3', '4'),
    ],
    ['fewer after a failure', rowsOf(refused, {}, {}, {}), [], 3, begin('1', '2')],
    ['none beside one that may fail', rowsOf({}, {}), ['0'], 1, { kind: 'wait' }],
    ['after it was of help', rowsOf(done(), {}), [], 1, begin('1')],
    ['first what became of the others', rowsOf(done(null), {}), [], 1, begin('0')],
    ['and that of each', rowsOf(done(null), done(null), {}), [], 3, begin('0', '1', '2')],
    ['stopped', rowsOf(refused, done(sent('unknown')), {}), [], 2, { kind: 'over', stopped: 'failures' }],
    ['stopped, when those under way have ended', rowsOf(refused, {}, {}), ['1'], 1, { kind: 'wait' }],
    ['the last one failed', rowsOf(done(), refused), [], 1, { kind: 'over', stopped: null }],
    ['all done', rowsOf(done(), done()), [], 3, { kind: 'over', stopped: null }],
    [
      'nothing comes of those that nobody looks at',
      rowsOf(done(null, SILENCE_MS), {}),
      [],
      1,
      { kind: 'over', stopped: 'failures' },
    ],
  ])('%s', (_name, rows, underWay, stopAfter, want) => {
    expect(nextRows('retry', rows, new Set(underWay), stopAfter)).toEqual(want);
  });

  test('whatever fails, no more rows fail than were allowed', () => {
    for (const stopAfter of [1, 2, 3, 7]) {
      const rows = rowsOf(...Array.from({ length: 40 }, () => ({})));
      const underWay = new Set<string>();
      let most = 0;
      for (let turn = 0; turn < 200; turn += 1) {
        const next = nextRows('retry', rows, underWay, stopAfter);
        if (next.kind === 'over') break;
        if (next.kind === 'rows') for (const id of next.preview_ids) underWay.add(id);
        most = Math.max(most, underWay.size);
        // They end one by one, the latest first, and none is of help.
        const id = [...underWay].at(-1) ?? '';
        underWay.delete(id);
        rows[Number(id)] = row({ preview_id: id, refused: true });
      }
      expect(rows.filter((one) => one.refused)).toHaveLength(stopAfter);
      expect(most).toBeLessThanOrEqual(MOST_AT_ONCE);
    }
  });
});
