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

/** Country, check digits, and 11 to 30 characters in groups of four or in one: an IBAN when its check digits are right. */
const ACCOUNTS = /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b/gi;

export const redacted = (text: string): string =>
  SECRETS.reduce((rest, secret) => rest.replace(secret, '[redacted]'), text)
    .replace(ACCOUNTS, (account) => withoutAccount(account))
    .replace(DIGITS, (digits) => (isCardNumber(digits) ? '[redacted]' : digits));

/** A word that follows it may look like one more group. */
function withoutAccount(text: string): string {
  for (let end = text.length; end >= 15; end -= 1) {
    const isWhole = end === text.length || text[end] === ' ';
    if (isWhole && isIban(text.slice(0, end))) return `[redacted]${text.slice(end)}`;
  }
  return text;
}

function isIban(text: string): boolean {
  const characters = text.replaceAll(' ', '').toUpperCase();
  const digits = [...characters.slice(4), ...characters.slice(0, 4)].map((one) => parseInt(one, 36)).join('');
  return BigInt(digits) % 97n === 1n;
}

function isCardNumber(text: string): boolean {
  const digits = [...text].filter((character) => character >= '0' && character <= '9').map(Number);
  const sum = digits.toReversed().reduce((total, digit, place) => {
    const doubled = place % 2 === 1 ? digit * 2 : digit;
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0;
}
