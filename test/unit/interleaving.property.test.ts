import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { campaign, patience } from '../support/campaign.js';
import { plans, wrongWith } from '../support/interleaved/history.js';

const RUNS = 4_000;

test(
  'workers, callers, strangers, faults and deaths in any interleaving keep the money rules',
  async () => {
    await fc.assert(
      fc.asyncProperty(plans, fc.scheduler(), async (plan, scheduler) => {
        expect(await wrongWith(plan, scheduler)).toEqual([]);
      }),
      campaign(RUNS),
    );
  },
  patience(RUNS),
);
