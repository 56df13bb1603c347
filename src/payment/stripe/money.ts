/**
 * ISO 4217 minor units (ours) to Stripe's unit and back, exactly or not at all.
 * Source: Stripe's "Supported currencies", sections on zero-decimal, three-decimal and special currencies.
 */
import { currencyExponent } from '../../operation/money.js';

/** The converted amount, or why there is none. */
export type Converted =
  { readonly ok: true; readonly amount: number } | { readonly ok: false; readonly problem: string };

/** Stripe keeps these with two decimals that must be zero; ISO 4217 has no minor unit for them. */
const SENT_WITH_TWO_DECIMALS: ReadonlySet<string> = new Set(['ISK', 'UGX']);

/** Stripe takes whole ariary; ISO 4217 counts hundredths, although the real subunit is a fifth. */
const SENT_WITHOUT_DECIMALS: ReadonlySet<string> = new Set(['MGA']);

/** Sent in thousandths whose last digit must be 0. ISO's other three-decimal currencies are not known to Stripe. */
const THREE_DECIMALS: ReadonlySet<string> = new Set(['BHD', 'JOD', 'KWD', 'OMR', 'TND']);

/** ISO 4217 lists it without decimals, but it is an index unit that Stripe does not take. */
const WITHOUT_KNOWN_UNIT: ReadonlySet<string> = new Set(['UYI']);

const refuse = (problem: string): Converted => ({ ok: false, problem });

/** The unit is never guessed: a currency whose unit at Stripe is not documented is refused. */
function unitProblem(currency: string): string | null {
  const exponent = currencyExponent(currency);
  if (exponent === undefined) return `${currency} is not an active ISO 4217 currency`;
  const unitIsKnown =
    exponent === 2 ||
    (exponent === 0 && !WITHOUT_KNOWN_UNIT.has(currency)) ||
    (exponent === 3 && THREE_DECIMALS.has(currency));
  return unitIsKnown ? null : `${currency} has no unit at the payment provider`;
}

/** `value` in minor units of `currency` (ISO code in capitals) as the integer that Stripe wants. */
export function toProviderAmount(value: number, currency: string): Converted {
  const problem = unitProblem(currency);
  if (problem !== null) return refuse(problem);
  if (!Number.isSafeInteger(value) || value <= 0)
    return refuse('must be a positive whole number of minor units');
  if (SENT_WITH_TWO_DECIMALS.has(currency)) {
    const amount = value * 100;
    return Number.isSafeInteger(amount)
      ? { ok: true, amount }
      : refuse('is too large for the payment provider');
  }
  if (SENT_WITHOUT_DECIMALS.has(currency)) {
    return value % 100 === 0
      ? { ok: true, amount: value / 100 }
      : refuse(`must be a multiple of 100: the payment provider takes whole ${currency} only`);
  }
  if (THREE_DECIMALS.has(currency) && value % 10 !== 0) {
    return refuse(`must end in 0: the payment provider takes ${currency} with two decimals only`);
  }
  return { ok: true, amount: value };
}

/**
 * `amount` as Stripe says it, in minor units of `currency` (ISO code in capitals). Zero is possible here (nothing
 * captured). More precision than Stripe takes is read as it is: it is exact in minor units.
 */
export function fromProviderAmount(amount: number, currency: string): Converted {
  const problem = unitProblem(currency);
  if (problem !== null) return refuse(problem);
  if (!Number.isSafeInteger(amount) || amount < 0)
    return refuse('is not a whole number of the provider’s unit');
  if (SENT_WITH_TWO_DECIMALS.has(currency)) {
    return amount % 100 === 0
      ? { ok: true, amount: amount / 100 }
      : refuse(`${amount} hundredths are no whole number of ${currency}`);
  }
  if (SENT_WITHOUT_DECIMALS.has(currency)) {
    const value = amount * 100;
    return Number.isSafeInteger(value)
      ? { ok: true, amount: value }
      : refuse('is too large to be counted exactly');
  }
  return { ok: true, amount };
}

/** Why an amount of an order, a capture or a refund cannot be sent exactly; null when it can. */
export function amountProblem(value: number, currency: string): string | null {
  const converted = toProviderAmount(value, currency);
  return converted.ok ? null : converted.problem;
}
