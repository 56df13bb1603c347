/**
 * Signatures of webhooks, checked offline as Stripe documents it: HMAC-SHA256 of "<t>.<body>" under the endpoint's secret.
 * Over the bytes as they came, so that nothing a parser does can matter. Pure.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** Stripe's own default. Longer would let a recorded message be sent again for longer; clocks agree within seconds. */
export const TOLERANCE_SECONDS = 300;

/** Beyond this it is no time in seconds; it also keeps the number exact. */
const TIME = /^[0-9]{1,12}$/;
const SHA256_HEX = /^[0-9a-f]{64}$/i;

export interface Signed {
  /** The header Stripe-Signature: `t=<seconds>,v1=<hex>`, with a v1 for each secret while one is being replaced. */
  readonly header: string | undefined;
  readonly body: Uint8Array;
}

/** Why the message is not to be believed, or null when it is genuine. One of `secrets` has to fit. */
export function signatureProblem(
  { header, body }: Signed,
  secrets: readonly string[],
  now: Date,
): string | null {
  if (header === undefined || header.trim() === '') return 'The header Stripe-Signature is missing.';
  const { times, signatures } = parse(header);
  const [time, ...otherTimes] = times;
  if (time === undefined || otherTimes.length > 0 || !TIME.test(time)) {
    return 'The header Stripe-Signature names no time, or several.';
  }
  if (signatures.length === 0) return 'The header Stripe-Signature holds no v1 signature.';
  // In both directions: a time that lies ahead would stay fresh for as long.
  const distance = Math.abs(Math.floor(now.getTime() / 1000) - Number(time));
  if (distance > TOLERANCE_SECONDS) {
    return `It was signed ${distance} s away from our time; ${TOLERANCE_SECONDS} s are allowed in both directions.`;
  }
  const fits = secrets.some((secret) => {
    // With an empty secret anybody can sign.
    if (secret.trim() === '') return false;
    const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest();
    // All are compared, each in constant time.
    return signatures.filter((signature) => timingSafeEqual(signature, expected)).length > 0;
  });
  return fits ? null : 'No signature fits: another secret, or the body was changed on its way.';
}

function parse(header: string): { times: string[]; signatures: Buffer[] } {
  const times: string[] = [];
  const signatures: Buffer[] = [];
  for (const part of header.split(',')) {
    const at = part.indexOf('=');
    const name = part.slice(0, Math.max(at, 0)).trim();
    const value = part.slice(at + 1).trim();
    if (name === 't') times.push(value);
    // Other schemes (v0 is for the provider's own tests) prove nothing.
    if (name === 'v1' && SHA256_HEX.test(value)) signatures.push(Buffer.from(value, 'hex'));
  }
  return { times, signatures };
}
