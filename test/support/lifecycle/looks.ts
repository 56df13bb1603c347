/** When a record is looked at again, as the schedule answers for one record of each kind. */
import type { Failure } from '../../../src/operation/failure.js';
import { nextStatus } from '../../../src/operation/next-status.js';
import { nextStep } from '../../../src/operation/next-step.js';
import { ALL_SEEN } from '../../../src/operation/observation.js';
import type { Operation, Status } from '../../../src/operation/operation.js';
import { nextLook } from '../../../src/operation/schedule.js';
import { NOW, POLICY } from '../operations.js';
import { inState } from './representatives.js';
import { table } from './tables.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const ago = (ms: number): string => new Date(NOW.getTime() - ms).toISOString();

const settledSince = (ms: number): Operation => ({
  ...inState('fulfilled', 'captured', 'committed'),
  status: { settled_at: ago(ms) } as Status,
});
const neededSince = (ms: number): Operation => {
  const operation = inState('fulfilled', 'unknown', 'reserved');
  const status = nextStatus(operation, new Date(ago(ms)), POLICY);
  return { ...operation, status };
};
const failed = (operation: Operation, streak: number, failure: Failure, reading = false): Operation => ({
  ...operation,
  facts: {
    ...operation.facts,
    failure: { ...failure, step: reading ? 'observe_payment' : 'confirm_payment' },
    budget: { ...operation.facts.budget, streak },
  },
});
const LOST: Failure = { class: 'unknown', code: 'timeout', message: 'No answer came.' };
const READY = inState('fulfilled', 'created', 'reserved');
const WAITING = inState('fulfilled', 'awaiting_customer', 'reserved');
const declined = { ...WAITING, created_at: ago(DAY - 4 * MINUTE) };
const held = inState('authorized', 'authorized', 'reserved');
const ends = (ms: number): Operation => ({
  ...held,
  facts: {
    ...held.facts,
    payment: { ...held.facts.payment, capture_before: new Date(NOW.getTime() + ms).toISOString() },
  },
});

const SITUATIONS: readonly (readonly [situation: string, operation: Operation])[] = [
  ['a step failed once', failed(READY, 1, LOST)],
  ['a step failed five times in a row', failed(READY, 5, LOST)],
  [
    'the provider asked for a minute',
    failed(READY, 1, { ...LOST, class: 'throttled', retry_after_ms: MINUTE }),
  ],
  ['the customer has to act, and has a day', WAITING],
  ['the customer has to act, and has 4 minutes', declined],
  ['authorized, as wanted, to be captured within 7 days', ends(7 * DAY)],
  ['authorized, as wanted, to be captured within 5 minutes', ends(5 * MINUTE)],
  ['a person is needed, since a minute', neededSince(MINUTE)],
  ['a person is needed, since ten days', neededSince(10 * DAY)],
  ['settled an hour ago', settledSince(HOUR)],
  ['settled ten days ago', settledSince(10 * DAY)],
  ['settled ten days ago, and the last reading failed', failed(settledSince(10 * DAY), 1, LOST, true)],
  ['settled 181 days ago', settledSince(181 * DAY)],
];

function duration(ms: number): string {
  const [amount, unit] =
    ms < MINUTE
      ? [ms / 1000, 's']
      : ms < HOUR
        ? [ms / MINUTE, 'min']
        : ms < DAY
          ? [ms / HOUR, 'h']
          : [ms / DAY, 'd'];
  return `${Math.round(amount * 10) / 10} ${unit}`;
}

/** From no pause at all to the longest one: backoff is spread evenly between. */
export const lookTable = (): string =>
  table(
    ['situation', 'looked at again after'],
    SITUATIONS.map(([situation, operation]) => {
      const decision = nextStep(operation, ALL_SEEN, NOW, POLICY);
      const [least, most] = [0, 1].map((random) => nextLook(operation, decision, NOW, random, POLICY));
      if (least == null || most == null) return [situation, 'never: it is watched no longer'];
      const [from, to] = [least.getTime() - NOW.getTime(), most.getTime() - NOW.getTime()];
      return [situation, from === to ? duration(to) : `${duration(from)} to ${duration(to)}`];
    }),
  );
