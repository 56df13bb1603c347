/** Provider texts made safe to store and to show: no keys, no client secrets, no card numbers, no essays. */

const SECRETS: readonly RegExp[] = [
  // Secret, restricted, ephemeral and publishable keys, also in the provider's own masked form (sk_test_****1234).
  /\b(?:sk|rk|ek|pk)_[A-Za-z0-9_*]+/g,
  /\bwhsec_[A-Za-z0-9+/=]+/g,
  // Client secrets of intents: whoever holds one can act on the payment.
  /\b[a-z]+_[A-Za-z0-9]+_secret_[A-Za-z0-9]+/g,
  // 13 to 19 digits, spaced or not, is what a card number looks like.
  /\b\d(?:[ -]?\d){12,18}\b/g,
];

/** Long enough for every message of the provider that a person needs; a proxy's HTML page is cut. */
const LONGEST = 300;

export function safeText(text: string): string {
  const clean = SECRETS.reduce((rest, secret) => rest.replace(secret, '[redacted]'), text);
  return clean.length > LONGEST ? `${clean.slice(0, LONGEST - 1)}…` : clean;
}
