import { describe, expect, test } from '@jest/globals';
import { readEvent } from '../../src/api/webhooks/event.js';
import type { ProviderEvent } from '../../src/store/event-inbox.js';

const NOTHING: ProviderEvent = {
  account: 'default',
  event_id: 'evt_1',
  type: 'payment_intent.succeeded',
  livemode: null,
  provider_account: null,
  object_id: null,
  payment_reference: null,
  operation_id: null,
  created_at: null,
};
const read = (value: unknown): ProviderEvent | null =>
  readEvent(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)), 'default');
const anEvent = (object?: unknown, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  id: 'evt_1',
  object: 'event',
  type: 'payment_intent.succeeded',
  ...(object === undefined ? {} : { data: { object } }),
  ...more,
});

describe('whom it concerns', () => {
  test.each([
    {
      name: 'a payment is its own reference',
      given: { id: 'pi_1', object: 'payment_intent', metadata: { operation_id: 'ord-1', other: 'x' } },
      want: { object_id: 'pi_1', payment_reference: 'pi_1', operation_id: 'ord-1' },
    },
    {
      name: 'a charge names its payment',
      given: { id: 'ch_1', object: 'charge', payment_intent: 'pi_1', metadata: {} },
      want: { object_id: 'ch_1', payment_reference: 'pi_1' },
    },
    {
      name: 'a refund names its payment',
      given: { id: 're_1', object: 'refund', payment_intent: 'pi_1', metadata: null },
      want: { object_id: 're_1', payment_reference: 'pi_1' },
    },
    {
      name: 'a dispute names its payment',
      given: { id: 'dp_1', object: 'dispute', charge: 'ch_1', payment_intent: 'pi_1' },
      want: { object_id: 'dp_1', payment_reference: 'pi_1' },
    },
    {
      name: 'an expanded payment',
      given: { id: 'ch_1', object: 'charge', payment_intent: { id: 'pi_1', object: 'payment_intent' } },
      want: { object_id: 'ch_1', payment_reference: 'pi_1' },
    },
    {
      name: 'a charge of the old kind, without a payment',
      given: { id: 'ch_1', object: 'charge', payment_intent: null },
      want: { object_id: 'ch_1' },
    },
    {
      name: 'something else altogether',
      given: { id: 'in_1', object: 'invoice', metadata: { operation_id: '' } },
      want: { object_id: 'in_1' },
    },
    {
      name: 'an operation id in every script there is',
      given: { id: 'pi_1', object: 'payment_intent', metadata: { operation_id: 'a:b/ä 7 😀' } },
      want: { object_id: 'pi_1', payment_reference: 'pi_1', operation_id: 'a:b/ä 7 😀' },
    },
  ])('$name', ({ given, want }) => {
    expect(read(anEvent(given))).toEqual({ ...NOTHING, ...want });
  });
});

describe('of a form that is not known', () => {
  test.each([
    ['no data', anEvent()],
    ['data that is no object', anEvent(undefined, { data: 'x' })],
    ['an object that is none', anEvent(7)],
    ['null', anEvent(null)],
    ['an array', anEvent([])],
    ['an id that is a number', anEvent({ id: 1, object: 'charge', payment_intent: 5, metadata: 'x' })],
    ['an id that Postgres cannot hold', anEvent({ id: 'pi_\u0000', object: 'payment_intent' })],
    ['an operation id that no operation can have', anEvent({ metadata: { operation_id: 'a\u0000b' } })],
    ['an operation id beyond every length', anEvent({ metadata: { operation_id: 'x'.repeat(500) } })],
    ['half a character', anEvent({ metadata: { operation_id: '\ud800' } })],
    ['a mode and times of another kind', anEvent(undefined, { livemode: 'yes', created: {}, account: 7 })],
    ['times that are none', anEvent(undefined, { created: 'yesterday' })],
    ['times beyond all calendars', anEvent(undefined, { created: 1e300 })],
    ['times before the provider', anEvent(undefined, { created: -1e10 })],
  ])('%s: it is kept, and concerns nobody', (_name, given) => {
    expect(read(given)).toEqual(NOTHING);
  });

  test('the second version of the API names its object beside the data', () => {
    const given = {
      id: 'evt_1',
      object: 'v2.core.event',
      type: 'v1.payment_intent.succeeded',
      created: '2026-08-25T03:00:00.000Z',
      livemode: true,
      related_object: { id: 'pi_1', type: 'payment_intent', url: '/v1/payment_intents/pi_1' },
    };
    expect(read(given)).toEqual({
      ...NOTHING,
      type: 'v1.payment_intent.succeeded',
      livemode: true,
      object_id: 'pi_1',
      payment_reference: 'pi_1',
      created_at: '2026-08-25T03:00:00.000Z',
    });
  });
});

test('mode, account and time are taken over', () => {
  const given = anEvent(undefined, { livemode: false, account: 'acct_1', created: 1_787_626_800 });
  expect(read(given)).toEqual({
    ...NOTHING,
    livemode: false,
    provider_account: 'acct_1',
    created_at: '2026-08-25T03:00:00.000Z',
  });
});

test.each([
  ['nothing', ''],
  ['no JSON', '{"id":'],
  ['no object', '"evt_1"'],
  ['null', 'null'],
  ['without an id', { type: 'x' }],
  ['without a type', { id: 'evt_1' }],
  ['an id that Postgres cannot hold', { id: 'evt_\u0000', type: 'x' }],
  ['an id beyond every length', { id: 'e'.repeat(256), type: 'x' }],
])('%s is no event', (_name, given) => {
  expect(read(given)).toBeNull();
});
