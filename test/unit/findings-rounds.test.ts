/** Which window is listed next: nothing is left out between rounds, after an outage, or by a payment that changes late. */
import { describe, expect, test } from '@jest/globals';
import {
  afterPage,
  listedBy,
  roundOf,
  type Pacing,
  type Progress,
  type Round,
} from '../../src/findings/rounds.js';
import { NOW } from '../support/operations.js';

const MINUTE = 60_000;
const PACING: Pacing = {
  lookback_ms: 1_440 * MINUTE,
  lookback_interval_ms: 360 * MINUTE,
  overlap_ms: 15 * MINUTE,
};
const NEW: Progress = { recent: null, lookback: null, listed_until: null, lookback_began_at: null };
const at = (minutes: number): string => new Date(NOW.getTime() + minutes * MINUTE).toISOString();
const window = (round: Round | null) => round && [round.created_from, round.created_to];

describe('the round through recent payments', () => {
  test.each<[string, Partial<Progress>, string[]]>([
    ['begins with the overlap', {}, [at(-15), at(2)]],
    ['goes on where the last one ended, and a little before', { listed_until: at(-10) }, [at(-25), at(2)]],
    ['goes back over an outage', { listed_until: at(-3_000) }, [at(-3_015), at(2)]],
    ['of a clock that was ahead begins with the overlap', { listed_until: at(60) }, [at(-15), at(2)]],
  ])('%s', (_name, progress, want) => {
    expect(window(roundOf('recent', { ...NEW, ...progress }, NOW, PACING))).toEqual(want);
  });

  test('that is under way is gone on with, also when others are due', () => {
    const round = roundOf('recent', NEW, NOW, PACING) as Round;
    const walked = afterPage(round, {
      last: 'pi_7',
      payments: 100,
      totals: { EUR: { provider: 5, recorded: 4 } },
    });
    expect(roundOf('recent', { ...NEW, recent: walked }, new Date(at(500)), PACING)).toBe(walked);
    const again = afterPage(walked, {
      last: null,
      payments: 1,
      totals: { EUR: { provider: 1, recorded: 1 } },
    });
    expect(again).toMatchObject({
      after: 'pi_7',
      payments: 101,
      totals: { EUR: { provider: 6, recorded: 5 } },
    });
    // The provider's clock may be ahead by the two minutes that the window went beyond now.
    expect(listedBy(again)).toBe(at(0));
  });
});

test.each<[string, string | null, string[] | null]>([
  ['begins at first', null, [at(-1_440), at(2)]],
  ['waits for its time', at(-359), null],
  ['begins again', at(-360), [at(-1_440), at(2)]],
])('the slow round %s', (_name, lookback_began_at, want) => {
  expect(window(roundOf('lookback', { ...NEW, lookback_began_at }, NOW, PACING))).toEqual(want);
});
