/** Free text made safe to hand to somebody else: no secrets, no card numbers, no addresses of customers. */

const SECRETS: readonly RegExp[] = [
  /\b(?:sk|rk|ek|pk)_[A-Za-z0-9_*]{4,}/g,
  /\bwhsec_[A-Za-z0-9+/=]+/g,
  /\b[a-z]+_[A-Za-z0-9]+_secret_[A-Za-z0-9]+/g,
  /\bBearer [^\s"\\]+/gi,
  /[^\s@<>"']+@[^\s@<>"']+\.[A-Za-z]{2,}/g,
];
/** 13 to 19 digits, spaced or not: a card number when its check digit is right. */
const DIGITS = /\b\d(?:[ -]?\d){12,18}\b/g;

export const redacted = (text: string): string =>
  SECRETS.reduce((rest, secret) => rest.replace(secret, '[redacted]'), text).replace(DIGITS, (digits) =>
    isCardNumber(digits) ? '[redacted]' : digits,
  );

function isCardNumber(text: string): boolean {
  const digits = [...text].filter((character) => character >= '0' && character <= '9').map(Number);
  const sum = digits.toReversed().reduce((total, digit, place) => {
    const doubled = place % 2 === 1 ? digit * 2 : digit;
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0;
}
