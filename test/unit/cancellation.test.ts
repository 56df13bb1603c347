import { describe, expect, test } from '@jest/globals';
import { EXPECTED } from '../support/cancellation/expected.js';
import { reach, STATES, type StateName } from '../support/cancellation/states.js';
import { cancelIn, FAULTS, rests, type CancelFault } from '../support/cancellation/story.js';

const names = Object.keys(STATES) as StateName[];
const rows = names.flatMap((name) => FAULTS.map((fault): [StateName, CancelFault] => [name, fault]));

test.each(names)('%s is reached', (name) => {
  const { phase, condition } = reach(STATES[name]).record.status;
  expect(`${phase} ${condition}`).toBe(STATES[name].shows);
});

describe('a cancellation that arrives while it is', () => {
  test.each(rows)('%s, first effect: %s', (name, fault) => {
    const loop = reach(STATES[name]);
    const story = cancelIn(loop, fault);
    const row = EXPECTED[name][fault];
    expect(story.applied).toBe(row !== undefined);
    expect(story.told).toEqual(row ?? EXPECTED[name].none);

    const { world, record } = loop;
    expect(story.wrong).toEqual([]);
    expect(world.releases).toBeLessThanOrEqual(1);
    expect(record.wish.cancellation).not.toBeNull();
    expect(rests(loop)).toBe(true);
    if (record.status.phase === 'cancelled') {
      expect({ held: world.held(), alive: world.alive().length }).toEqual({ held: 0, alive: 0 });
      expect(['none', 'released']).toContain(world.stock.state);
      expect(record.status.finalizers).toEqual([]);
    } else {
      expect(record.status.attention).not.toBeNull();
      expect(record.status.cancelled_at).toBeNull();
    }
  });
});
