/** What amounts the payments server takes in which currency. */
import { invalid } from './refusal.js';

const words = (text: string): string[] => text.split(/\s+/).filter(Boolean);

const SUPPORTED = new Set(
  words(`
  usd aed afn all amd ang aoa ars aud awg azn bam bbd bdt bgn bhd bif bmd bnd bob brl bsd bwp byn bzd cad cdf
  chf clp cny cop crc cve czk djf dkk dop dzd egp etb eur fjd fkp gbp gel gip gmd gnf gtq gyd hkd hnl htg huf
  idr ils inr isk jmd jod jpy kes kgs khr kmf krw kwd kyd kzt lak lbp lkr lrd lsl mad mdl mga mkd mmk mnt mop
  mur mvr mwk mxn myr mzn nad ngn nio nok npr nzd omr pab pen pgk php pkr pln pyg qar ron rsd rub rwf sar sbd
  scr sek sgd shp sle sos srd std szl thb tjs tnd top try ttd twd tzs uah ugx uyu uzs vnd vuv wst xaf xcd xof
  xpf yer zar zmw`),
);

const ZERO_DECIMAL = new Set(words('bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'));
const THREE_DECIMAL = new Set(words('bhd jod kwd omr tnd'));
/** Sent with two decimals that must be zero. */
const WHOLE_UNITS_ONLY = new Set(['isk', 'ugx']);

/** Smallest charge, in the currency's own unit, for a shop that settles in that currency. */
const MINIMUMS: Record<string, number> = {
  usd: 50,
  eur: 50,
  aud: 50,
  cad: 50,
  chf: 50,
  nzd: 50,
  sgd: 50,
  brl: 50,
  inr: 50,
  gbp: 30,
  jpy: 50,
  aed: 200,
  czk: 1500,
  dkk: 250,
  hkd: 400,
  huf: 17_500,
  mxn: 1000,
  myr: 200,
  nok: 300,
  sek: 300,
  pln: 200,
  ron: 200,
  thb: 1000,
};

/** Twelve digits; the documents name smaller limits for some cards and disagree, so none of those is used. */
export const MAXIMUM_AMOUNT = 999_999_999_999;

export function readCurrency(value: string): string {
  const currency = value.toLowerCase();
  if (!SUPPORTED.has(currency)) {
    throw invalid(
      `Invalid currency: ${value}. Stripe currently supports these currencies: ${[...SUPPORTED].join(', ')}`,
      'currency',
    );
  }
  return currency;
}

/** The rules that hold for charges, captures and refunds alike. */
export function checkPrecision(amount: number, currency: string, param: string): void {
  const step = WHOLE_UNITS_ONLY.has(currency) ? 100 : THREE_DECIMAL.has(currency) ? 10 : 1;
  if (amount % step !== 0) {
    const message = `Invalid amount: amounts in ${currency} must be evenly divisible by ${step}.`;
    throw invalid(message, param, 'parameter_invalid_integer');
  }
}

export function checkChargeAmount(amount: number, currency: string, minimums: boolean): void {
  checkPrecision(amount, currency, 'amount');
  if (amount > MAXIMUM_AMOUNT) {
    throw invalid(
      `Amount must be no more than ${display(MAXIMUM_AMOUNT, currency)}`,
      'amount',
      'amount_too_large',
    );
  }
  const minimum = MINIMUMS[currency];
  if (minimums && minimum !== undefined && amount < minimum) {
    throw invalid(`Amount must be at least ${display(minimum, currency)}`, 'amount', 'amount_too_small');
  }
}

/** For messages only. */
export function display(amount: number, currency: string): string {
  const decimals = ZERO_DECIMAL.has(currency) ? 0 : THREE_DECIMAL.has(currency) ? 3 : 2;
  return `${(amount / 10 ** decimals).toFixed(decimals)} ${currency}`;
}
