/** Money as integer ISO 4217 minor units. Providers' own units are the adapters' business. */
import { z } from 'zod';

/** Active ISO 4217 currencies whose minor unit is not a hundredth. Source: ISO 4217 list one. */
const EXPONENTS: Readonly<Record<number, string>> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
};

/** Active ISO 4217 currencies with two decimals. Source: ISO 4217 list one. */
const HUNDREDTHS =
  'AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP ' +
  'CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR ' +
  'JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN ' +
  'NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP ' +
  'SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG';

const exponentOf: ReadonlyMap<string, number> = new Map([
  ...HUNDREDTHS.split(' ').map((code): [string, number] => [code, 2]),
  ...Object.entries(EXPONENTS).flatMap(([exponent, codes]) =>
    codes.split(' ').map((code): [string, number] => [code, Number(exponent)]),
  ),
]);

/** Decimal digits of the currency's minor unit, or undefined for a code that ISO 4217 does not list. */
export function currencyExponent(currency: string): number | undefined {
  return exponentOf.get(currency);
}

export const MinorUnits = z
  .int({ error: 'must be a positive whole number of minor units' })
  .positive({ error: 'must be greater than zero' })
  .describe('Integer amount in ISO 4217 minor units of the currency');

export const Currency = z
  .string()
  .refine((code) => exponentOf.has(code), { error: 'must be an active ISO 4217 code in capitals' })
  .describe('ISO 4217 code, e.g. EUR');

export const Money = z.strictObject({ value: MinorUnits, currency: Currency });
export type Money = z.infer<typeof Money>;

/** For messages that people read: 12900 EUR -> "129.00 EUR". */
export function formatMoney(value: number, currency: string): string {
  const exponent = currencyExponent(currency) ?? 0;
  const digits = Math.abs(value)
    .toString()
    .padStart(exponent + 1, '0');
  const whole = digits.slice(0, digits.length - exponent);
  const sign = value < 0 ? '-' : '';
  return `${sign}${whole}${exponent > 0 ? `.${digits.slice(-exponent)}` : ''} ${currency}`;
}
