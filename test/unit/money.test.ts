import { describe, expect, test } from '@jest/globals';
import { Currency, currencyExponent, formatMoney, MinorUnits, Money } from '../../src/operation/money.js';

describe('decimals of a currency', () => {
  const words = (text: string): string[] => text.split(' ');
  test.each(words('BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'))(
    '%s has none',
    (code) => {
      expect(currencyExponent(code)).toBe(0);
    },
  );
  test.each(words('BHD IQD JOD KWD LYD OMR TND'))('%s has three', (code) => {
    expect(currencyExponent(code)).toBe(3);
  });
  test.each(words('CLF UYW'))('%s has four', (code) => {
    expect(currencyExponent(code)).toBe(4);
  });
  // MGA and MRU count in fifths; ISO 4217 gives them two decimals. HUF and TWD are not whole units in ISO 4217.
  test.each(words('EUR USD GBP CHF HUF TWD MGA MRU AFN VED XCG ZWG'))('%s has two', (code) => {
    expect(currencyExponent(code)).toBe(2);
  });
  test.each(words('eur EU EURO XXX XTS XAU HRK LVL DEM ZWL BTC constructor __proto__ toString'))(
    '%s is no active currency',
    (code) => {
      expect(currencyExponent(code)).toBeUndefined();
      expect(Currency.safeParse(code).success).toBe(false);
    },
  );
  test.each(['', ' EUR', 'EUR ', null, undefined, 978, ['EUR']])('%p is no active currency', (code) => {
    expect(Currency.safeParse(code).success).toBe(false);
  });
});

describe('minor units', () => {
  test.each([1, 829, 1999, 29, 2 ** 31, 2 ** 53 - 1])('%d is an amount', (value) => {
    expect(MinorUnits.parse(value)).toBe(value);
  });
  test.each([
    0,
    -0,
    -1,
    -5,
    1.5,
    0.1 + 0.2,
    2 ** 53,
    2 ** 53 + 2,
    NaN,
    Infinity,
    '1',
    '1e2',
    '',
    null,
    undefined,
    true,
    10n,
    {},
    [],
  ])('%p is none', (value) => {
    expect(MinorUnits.safeParse(value).success).toBe(false);
  });
  test('money is both, and nothing else', () => {
    expect(Money.parse({ value: 12_900, currency: 'EUR' })).toEqual({ value: 12_900, currency: 'EUR' });
    expect(Money.safeParse({ value: 1, currency: 'EUR', exponent: 3 }).success).toBe(false);
    expect(Money.safeParse({ value: 1 }).success).toBe(false);
  });
});

describe('money for people', () => {
  test.each([
    [12_900, 'EUR', '129.00 EUR'],
    [829, 'EUR', '8.29 EUR'],
    [1, 'EUR', '0.01 EUR'],
    [0, 'EUR', '0.00 EUR'],
    [-5, 'EUR', '-0.05 EUR'],
    [-12_900, 'EUR', '-129.00 EUR'],
    [4_200, 'JPY', '4200 JPY'],
    [0, 'JPY', '0 JPY'],
    [1_000, 'ISK', '1000 ISK'],
    [7_350, 'KWD', '7.350 KWD'],
    [1, 'KWD', '0.001 KWD'],
    [1, 'CLF', '0.0001 CLF'],
    [2 ** 53 - 1, 'EUR', '90071992547409.91 EUR'],
    [5, 'XXX', '5 XXX'],
  ])('%d %s is %s', (value, currency, want) => {
    expect(formatMoney(value, currency)).toBe(want);
  });
});
