import { describe, expect, test } from '@jest/globals';
import { Seats } from '../../src/reconciler/seats.js';

describe('seats of accounts', () => {
  test('what an account holds is no longer left to it, and a probe beyond its share leaves none', () => {
    const seats = new Seats(2);
    expect(seats.shares).toEqual({ most: 2, left: new Map() });
    seats.take(['a', 'b', 'a', 'a'], seats.shares);
    expect(seats.shares.left).toEqual(
      new Map([
        ['a', 0],
        ['b', 1],
      ]),
    );
    for (let passes = 0; passes < 3; passes += 1) seats.free('a');
    expect(seats.shares.left).toEqual(new Map([['b', 1]]));
  });

  test('an account has orders left when a claim took all that it might, or might take none', () => {
    const seats = new Seats(2);
    seats.take(['a', 'a', 'b'], seats.shares);
    expect([seats.isLeft('a'), seats.isLeft('b')]).toEqual([true, false]);
    seats.take([], seats.shares);
    expect(seats.isLeft('a')).toBe(true);
    seats.free('a');
    expect(seats.waiting).toEqual(['a']);
    expect(seats.freePart('a')).toBe(0.5);
    seats.take([], seats.shares);
    expect(seats.isLeft('a')).toBe(false);
  });

  test('a pass that ends during a claim leaves orders that the claim could not take', () => {
    const seats = new Seats(2);
    seats.take(['a'], seats.shares);
    const { shares } = seats;
    seats.free('a');
    seats.take(['a'], shares);
    expect(seats.waiting).toEqual(['a']);
  });
});
