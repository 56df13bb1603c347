import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { nextStatus } from '../../src/operation/next-status.js';
import type { PaymentReading } from '../../src/operation/observation.js';
import { NO_FACTS } from '../../src/operation/operation.js';
import {
  readFacts,
  readShown,
  readStatus,
  storedFacts,
  storedShown,
  storedStatus,
} from '../../src/store/stored.js';
import { moment, records } from '../support/any-record.js';
import { campaign } from '../support/campaign.js';
import { NOW, POLICY } from '../support/operations.js';

/** As it comes back from a column of JSON. */
const throughJson = <T>(stored: T): T => JSON.parse(JSON.stringify(stored)) as T;

const READING: PaymentReading = {
  reference: 'pi_1',
  state: 'captured',
  provider_status: 'succeeded',
  amount: 100,
  currency: 'EUR',
  capture: 'automatic',
  payment_method: null,
  authorized: 0,
  captured: 100,
  refunds: null,
  disputed: false,
  capture_before: null,
  next_action: null,
  last_error: null,
  canceled_because: null,
  operation_id: 'op-1',
  livemode: false,
};

describe('a document that is stored without what is usual', () => {
  test('is read as it was, whatever is in it', () => {
    fc.assert(
      fc.property(records, moment, (operation, now) => {
        const status = nextStatus(operation, now, POLICY, operation.generation);
        expect(readFacts(throughJson(storedFacts(operation.facts)))).toEqual(operation.facts);
        expect(readStatus(throughJson(storedStatus(status)))).toEqual(status);
      }),
      campaign(300),
    );
  });

  test('is read also where all of it was stored, by a former version', () => {
    fc.assert(
      fc.property(records, (operation) => {
        const status = nextStatus(operation, NOW, POLICY);
        expect(readFacts(throughJson(operation.facts))).toEqual(operation.facts);
        expect(readStatus(throughJson(status))).toEqual(status);
      }),
      campaign(100),
    );
  });

  test.each([
    ['usual', READING],
    [
      'with all that a payment can have',
      { ...READING, refunds: [], disputed: true, lost: 5, charge: 'ch_1' },
    ],
    ['with falsehood where nothing is usual', { ...READING, livemode: true, capture: null, captured: 0 }],
  ])('what an answer showed of a payment: %s', (_case, payment) => {
    const reservation = { state: 'reserved', lines: null } as const;
    expect(readShown(throughJson(storedShown({ payment })))).toEqual({ payment });
    expect(readShown(throughJson(storedShown({ reservation })))).toEqual({ reservation });
  });

  /** Rows that were written once rely on these: what was left out then is read as it was. */
  test('leaves out what it always left out', () => {
    expect(storedFacts(NO_FACTS)).toEqual({ version: 1, payment: {}, inventory: {}, budget: {} });
    expect(readFacts({ version: 1, payment: {}, inventory: {}, budget: {} })).toEqual({
      payment: {
        state: 'none',
        provider_status: null,
        amount: null,
        currency: null,
        capture: null,
        payment_method: null,
        sent_method: null,
        authorized: 0,
        captured: 0,
        disputed: false,
        lost: 0,
        capture_before: null,
        next_action: null,
        last_error: null,
        canceled_because: null,
        operation_id: null,
        answered_confirmation: 0,
        observed_at: null,
      },
      inventory: {
        state: 'none',
        requested: false,
        lines: null,
        refused_generation: null,
        observed_at: null,
      },
      refunds: [],
      unresolved: null,
      failure: null,
      budget: { generation: 0, step: null, used: 0, reads: 0, rejections: 0, streak: 0 },
    });
    const since = NOW.toISOString();
    const condition = { type: 'Synced', status: 'True', reason: 'Observed', since, observed_version: 1 };
    expect(
      readStatus({ phase: 'accepted', condition: 'Accepted', conditions: [condition], observed_version: 1 }),
    ).toEqual({
      phase: 'accepted',
      condition: 'Accepted',
      conditions: [{ ...condition, message: 'The last reading succeeded and is recorded.' }],
      finalizers: [],
      cancelled_at: null,
      attention: null,
      settled_at: null,
      deadline_at: null,
      observed_version: 1,
    });
    const { reference, state, provider_status, amount, currency } = READING;
    const least = { reference, state, provider_status, amount, currency };
    expect(readShown({ payment: least })).toEqual({
      payment: { ...READING, capture: null, captured: 0, operation_id: null, livemode: null },
    });
  });

  test('of facts of another version nothing is believed', () => {
    expect(readFacts({ version: 2, payment: { state: 'captured' }, inventory: {}, budget: {} })).toEqual({});
    expect(readFacts({ inventory: {}, budget: {} }).payment).toBeUndefined();
  });

  test('of a reason that a later version wrote, its word is shown', () => {
    const condition = {
      type: 'Ready',
      status: 'False',
      reason: 'NotYetKnown',
      since: '',
      observed_version: 1,
    };
    const status = {
      phase: 'accepted',
      condition: 'NotYetKnown',
      conditions: [condition],
      observed_version: 1,
    };
    expect(readStatus(status).conditions).toMatchObject([{ message: 'NotYetKnown' }]);
  });
});
