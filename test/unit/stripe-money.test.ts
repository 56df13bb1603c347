import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { currencyExponent } from '../../src/operation/money.js';
import { amountProblem, fromProviderAmount, toProviderAmount } from '../../src/payment/stripe/money.js';

const exact: { name: string; reason: string; given: [number, string]; want: number }[] = [
  { name: 'EUR', reason: 'two decimals are the same unit', given: [12900, 'EUR'], want: 12900 },
  { name: 'EUR cent', reason: 'no float on the way (8.29 × 100 is 828.99…)', given: [829, 'EUR'], want: 829 },
  {
    name: 'HUF',
    reason: 'two decimals for charges, whatever payouts do',
    given: [17500, 'HUF'],
    want: 17500,
  },
  {
    name: 'TWD',
    reason: 'two decimals for charges, whatever payouts do',
    given: [10000, 'TWD'],
    want: 10000,
  },
  ...'BIF CLP DJF GNF JPY KMF KRW PYG RWF VND VUV XAF XOF XPF'.split(' ').map((currency) => ({
    name: currency,
    reason: 'zero-decimal at Stripe and in ISO 4217',
    given: [4200, currency] as [number, string],
    want: 4200,
  })),
  { name: 'ISK', reason: 'two decimals at Stripe, none in ISO 4217', given: [1000, 'ISK'], want: 100_000 },
  {
    name: 'UGX',
    reason: 'its special rule wins over the zero-decimal list',
    given: [1000, 'UGX'],
    want: 100_000,
  },
  {
    name: 'MGA',
    reason: 'whole ariary at Stripe, hundredths in ISO 4217',
    given: [250_000, 'MGA'],
    want: 2500,
  },
  ...'BHD JOD KWD OMR TND'.split(' ').map((currency) => ({
    name: currency,
    reason: 'thousandths whose last digit is 0',
    given: [7350, currency] as [number, string],
    want: 7350,
  })),
];

const refused: { name: string; reason: string; given: [number, string]; want: RegExp }[] = [
  {
    name: 'KWD 1.234',
    reason: 'Stripe takes two of the three decimals',
    given: [1234, 'KWD'],
    want: /end in 0/,
  },
  { name: 'MGA 0.50', reason: 'Stripe takes whole ariary', given: [50, 'MGA'], want: /multiple of 100/ },
  {
    name: 'ISK too large',
    reason: 'times 100 is no exact number',
    given: [2 ** 53 - 1, 'ISK'],
    want: /too large/,
  },
  { name: 'zero', reason: 'nothing to ask for', given: [0, 'EUR'], want: /positive whole/ },
  { name: 'negative', reason: 'a refund is no negative charge', given: [-5, 'EUR'], want: /positive whole/ },
  { name: 'fraction', reason: 'minor units are whole', given: [1.5, 'EUR'], want: /positive whole/ },
  {
    name: 'beyond exact',
    reason: '2^53 cannot be told from its neighbour',
    given: [2 ** 53, 'EUR'],
    want: /positive whole/,
  },
  {
    name: 'not a number',
    reason: 'a broken sum must not be sent',
    given: [NaN, 'EUR'],
    want: /positive whole/,
  },
  {
    name: 'IQD',
    reason: 'three decimals in ISO 4217, no documented unit at Stripe',
    given: [1000, 'IQD'],
    want: /no unit/,
  },
  {
    name: 'CLF',
    reason: 'four decimals, no documented unit at Stripe',
    given: [10_000, 'CLF'],
    want: /no unit/,
  },
  { name: 'UYI', reason: 'an index unit, not taken by Stripe', given: [100, 'UYI'], want: /no unit/ },
  { name: 'XXX', reason: 'no currency at all', given: [100, 'XXX'], want: /not an active/ },
  { name: 'lower case', reason: 'ISO codes are capitals here', given: [100, 'eur'], want: /not an active/ },
];

describe('amounts for Stripe', () => {
  test.each(exact)('$name: $reason', ({ given, want }) => {
    expect(toProviderAmount(...given)).toEqual({ ok: true, amount: want });
    expect(fromProviderAmount(want, given[1])).toEqual({ ok: true, amount: given[0] });
    expect(amountProblem(...given)).toBeNull();
  });

  test.each(refused)('$name is refused: $reason', ({ given, want }) => {
    expect(toProviderAmount(...given)).toEqual({ ok: false, problem: expect.stringMatching(want) });
    expect(amountProblem(...given)).toMatch(want);
  });

  test('what is read may be zero, and more precise than what may be sent', () => {
    expect(fromProviderAmount(0, 'EUR')).toEqual({ ok: true, amount: 0 });
    expect(fromProviderAmount(1234, 'KWD')).toEqual({ ok: true, amount: 1234 });
  });

  test.each([
    { name: 'half a króna', given: 150, currency: 'ISK' },
    { name: 'a fraction', given: 1.5, currency: 'EUR' },
    { name: 'less than nothing', given: -1, currency: 'EUR' },
    { name: 'ariary beyond exact hundredths', given: 2 ** 52, currency: 'MGA' },
  ])('$name cannot be read', ({ given, currency }) => {
    expect(fromProviderAmount(given, currency).ok).toBe(false);
  });

  const currencies = 'EUR USD JPY KRW ISK UGX MGA KWD BHD TND HUF'.split(' ');

  test('whatever can be sent is read back as the same amount', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...currencies),
        fc.integer({ min: 1, max: 10 ** 12 }),
        (currency, value) => {
          const sent = toProviderAmount(value, currency);
          if (sent.ok) expect(fromProviderAmount(sent.amount, currency)).toEqual({ ok: true, amount: value });
        },
      ),
    );
  });

  test('parts add up at Stripe as they do here, so refunds can empty a payment to the last unit', () => {
    const exactStep = (currency: string) =>
      currency === 'MGA' ? 100 : currencyExponent(currency) === 3 ? 10 : 1;
    fc.assert(
      fc.property(
        fc.constantFrom(...currencies),
        fc.array(fc.integer({ min: 1, max: 10 ** 6 }), { minLength: 1, maxLength: 8 }),
        (currency, counts) => {
          const parts = counts.map((count) => count * exactStep(currency));
          const sent = [...parts, parts.reduce((a, b) => a + b, 0)].map((part) =>
            toProviderAmount(part, currency),
          );
          const amounts = sent.map((converted) => (converted.ok ? converted.amount : NaN));
          expect(amounts.slice(0, -1).reduce((a, b) => a + b, 0)).toBe(amounts.at(-1));
        },
      ),
    );
  });
});
