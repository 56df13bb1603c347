import { describe, expect, test } from '@jest/globals';
import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import Stripe from 'stripe';
import { signatureProblem } from '../../src/api/webhooks/signature.js';
import { readConfig } from '../../src/config.js';

const stripe = new Stripe('sk_test_never_used');
const NOW = new Date('2026-08-25T03:00:00.900Z');
const SECONDS = Math.floor(NOW.getTime() / 1000);
const BODY = '{"id":"evt_1"}';
const NEW = 'whsec_new';
const OLD = 'whsec_old';

/** Signed by the official SDK, so that nothing here checks itself. */
function header(payload = BODY, { secret = NEW, at = SECONDS } = {}): string {
  return stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp: at });
}
const v1 = (text: string): string => text.split('v1=')[1] ?? '';
const other = `v1=${'0'.repeat(64)}`;

const check = (sent: string | undefined, body: string | Uint8Array = BODY, secrets = [NEW]): string | null =>
  signatureProblem({ header: sent, body: Buffer.from(body) }, secrets, NOW);

describe('genuine', () => {
  test.each([
    { name: 'as the SDK signs', given: header() },
    { name: '300 s ago', given: header(BODY, { at: SECONDS - 300 }) },
    { name: '300 s ahead', given: header(BODY, { at: SECONDS + 300 }) },
    { name: 'the first of two signatures fits', given: `${header()},${other}` },
    { name: 'the second of two signatures fits', given: `t=${SECONDS},${other},v1=${v1(header())}` },
    {
      name: 'the last of two hundred fits',
      given: `t=${SECONDS},${`${other},`.repeat(199)}v1=${v1(header())}`,
    },
    { name: 'a scheme that is not known beside it', given: `${header()},v0=${'1'.repeat(64)},v9=what,x` },
    { name: 'another order of its parts', given: `v1=${v1(header())},t=${SECONDS}` },
    { name: 'spaces after the commas', given: `t=${SECONDS}, v1=${v1(header())}` },
    { name: 'upper-case hex', given: `t=${SECONDS},v1=${v1(header()).toUpperCase()}` },
    { name: 'a broken signature beside it', given: `t=${SECONDS},v1=abc,v1=,v1=${v1(header())}` },
  ])('$name', ({ given }) => {
    expect(check(given)).toBeNull();
  });

  test.each([
    ['the old secret, while both are configured', OLD, [NEW, OLD]],
    ['the new secret, while both are configured', NEW, [OLD, NEW]],
  ])('%s', (_name, secret, secrets) => {
    expect(check(header(BODY, { secret }), BODY, secrets)).toBeNull();
  });

  test.each([
    ['odd spacing', ' {\n\t"id" :"evt_1" }\r\n '],
    ['unicode, escaped and not', '{"id":"evt_ä \\u00e4 😀 \u2028"}'],
    ['another order of members', '{"type":"x","id":"evt_1"}'],
    ['300 kB', JSON.stringify({ id: 'evt_1', filler: 'ü'.repeat(150_000) })],
    ['a byte order mark', '\ufeff{"id":"evt_1"}'],
    ['no JSON at all', 'hello'],
  ])('%s', (_name, body) => {
    const sent = `t=${SECONDS},v1=${v1(header(body))}`;
    expect(check(sent, body)).toBeNull();
  });
});

describe('refused', () => {
  test.each([
    { name: 'no header', given: undefined, want: /missing/ },
    { name: 'an empty header', given: ' ', want: /missing/ },
    { name: 'garbage', given: 'garbage', want: /no time/ },
    { name: 'JSON', given: '{"t":1}', want: /no time/ },
    { name: 'no time', given: `v1=${v1(header())}`, want: /no time/ },
    { name: 'a time that is none', given: header().replace(/t=\d+/, 't=now'), want: /no time/ },
    { name: 'a time with a sign', given: header().replace('t=', 't=+'), want: /no time/ },
    {
      name: 'a time as hex',
      given: header().replace(/t=\d+/, `t=0x${SECONDS.toString(16)}`),
      want: /no time/,
    },
    { name: 'an endless time', given: header().replace('t=', `t=${'9'.repeat(500)}`), want: /no time/ },
    { name: 'two times', given: `t=${SECONDS - 1},${header()}`, want: /several/ },
    { name: 'the header twice, as Node joins it', given: `${header()}, ${header()}`, want: /several/ },
    { name: 'no v1', given: `t=${SECONDS},v0=${v1(header())}`, want: /no v1/ },
    { name: 'a shortened signature', given: header().slice(0, -1), want: /no v1/ },
    { name: 'a lengthened signature', given: `${header()}0`, want: /no v1/ },
    { name: 'an empty signature', given: `t=${SECONDS},v1=`, want: /no v1/ },
    { name: '301 s ago', given: header(BODY, { at: SECONDS - 301 }), want: /signed 301 s/ },
    { name: '301 s ahead', given: header(BODY, { at: SECONDS + 301 }), want: /signed 301 s/ },
    { name: 'an hour ahead', given: header(BODY, { at: SECONDS + 3600 }), want: /signed 3600 s/ },
    { name: 'milliseconds', given: header(BODY, { at: NOW.getTime() }), want: /no time|signed/ },
    { name: 'another secret', given: header(BODY, { secret: OLD }), want: /No signature fits/ },
    {
      name: 'the time of another message',
      given: header().replace(/t=\d+/, `t=${SECONDS - 1}`),
      want: /No signature fits/,
    },
  ])('$name', ({ given, want }) => {
    expect(check(given)).toMatch(want);
  });

  test.each([
    ['a space more at the end', `${BODY} `],
    ['a space more within', '{"id": "evt_1"}'],
    ['one byte less', BODY.slice(0, -1)],
    ['another letter', BODY.replace('1', '2')],
    ['nothing', ''],
  ])('the body was changed: %s', (_name, body) => {
    expect(check(header(), body)).toMatch(/No signature fits/);
  });

  test.each([[[]], [['']], [['', ' ']]])('nothing fits where the secrets are %j', (secrets) => {
    const empty = `t=${SECONDS},v1=${createHmac('sha256', '').update(`${SECONDS}.${BODY}`).digest('hex')}`;
    expect(check(empty, BODY, secrets)).toMatch(/No signature fits/);
    expect(check(header(), BODY, secrets)).toMatch(/No signature fits/);
  });
});

test('agrees with the official SDK on any body and any change to it', () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 1, unit: 'grapheme' }),
      fc.nat(),
      fc.integer({ min: -400, max: 250 }),
      fc.boolean(),
      (payload, place, away, changed) => {
        // The SDK drops a byte order mark before it compares; the bytes are compared here.
        fc.pre(!payload.startsWith('\ufeff'));
        const sent = header(payload, { at: SECONDS + away });
        const bytes = Buffer.from(payload);
        if (changed) bytes[place % bytes.length] = (bytes[place % bytes.length] ?? 0) ^ 1;
        let sdk = true;
        try {
          stripe.webhooks.signature?.verifyHeader(bytes, sent, NEW, 300, undefined, NOW.getTime());
        } catch {
          sdk = false;
        }
        expect(check(sent, bytes) === null).toBe(sdk);
      },
    ),
    { numRuns: 300 },
  );
});

test.each([
  [undefined, undefined],
  ['', undefined],
  [',', []],
  ['whsec_1', ['whsec_1']],
  [' whsec_1 , whsec_2,', ['whsec_1', 'whsec_2']],
])('STRIPE_WEBHOOK_SECRET=%p', (text, want) => {
  const config = readConfig({
    DATABASE_URL: 'postgres://localhost/x',
    STRIPE_SECRET_KEY: 'sk_test_x',
    ...(text === undefined ? {} : { STRIPE_WEBHOOK_SECRET: text }),
  });
  expect(config.accounts.get('default')?.webhook_secret).toEqual(want);
});
