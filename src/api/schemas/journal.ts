/** The timeline, the journal of effects, and the plan. */
import { z } from 'zod';
import { OUTCOMES, RESOLUTIONS, STEPS } from '../../operation/attempt.js';
import { FAILURE_CLASSES } from '../../operation/failure.js';
import { REASON_NAMES } from './names.js';
import { Timestamp } from './operation.js';

const Failure = z.strictObject({
  class: z.enum(FAILURE_CLASSES),
  code: z.string(),
  message: z.string(),
  retry_after_ms: z.number().optional(),
  request_id: z.string().optional(),
});

const Event = z.strictObject({
  sequence: z.int(),
  at: Timestamp,
  type: z.string().describe('A stable word in snake_case'),
  actor: z.strictObject({ kind: z.enum(['key', 'person', 'provider', 'system']), name: z.string() }),
  message: z.string(),
  data: z.record(z.string(), z.unknown()).nullable(),
});
export const EventList = z.strictObject({ items: z.array(Event) }).meta({ id: 'EventList' });
export type EventList = z.infer<typeof EventList>;

const Attempt = z.strictObject({
  sequence: z.int(),
  attempt_id: z.string(),
  step: z.enum(STEPS),
  target: z.string(),
  ordinal: z.int(),
  effect_key: z.string().describe('The idempotency key that was sent'),
  parameters: z.record(z.string(), z.unknown()).describe('Exactly what was sent'),
  generation: z.int(),
  fencing_token: z.int(),
  started_at: Timestamp,
  completed_at: Timestamp.nullable(),
  outcome: z.enum(OUTCOMES).nullable().describe('Null: no answer was recorded'),
  failure: Failure.nullable(),
  request_id: z.string().nullable().describe("The provider's id of the request"),
  resolution: z
    .enum(RESOLUTIONS)
    .nullable()
    .describe('What a later reading showed of a try without an answer'),
});
export const AttemptList = z.strictObject({ items: z.array(Attempt) }).meta({ id: 'AttemptList' });
export type AttemptList = z.infer<typeof AttemptList>;

export const readingOf = <T extends z.ZodType>(value: T) =>
  z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('present'), value }),
    z.strictObject({ kind: z.literal('absent') }),
    z.strictObject({ kind: z.literal('unknown'), failure: Failure }),
  ]);
/** As the provider and the warehouse were read: evidence, with their own words. */
const Evidence = z.record(z.string(), z.unknown());
const ReasonWord = z.enum(REASON_NAMES);

export const PlanOut = z
  .strictObject({
    operation_id: z.string(),
    resource_version: z.int(),
    observed: z.strictObject({ at: Timestamp, payment: readingOf(Evidence), inventory: readingOf(Evidence) }),
    differences: z.array(z.string()).describe('What is wanted, what is seen; one line each'),
    decision: z
      .discriminatedUnion('kind', [
        z.strictObject({ kind: z.literal('agreed') }),
        z.strictObject({
          kind: z.literal('step'),
          step: z.looseObject({ name: z.enum(STEPS), target: z.string() }),
          reason: ReasonWord,
        }),
        z.strictObject({ kind: z.literal('wait'), reason: ReasonWord }),
        z.strictObject({ kind: z.literal('person'), reason: ReasonWord, message: z.string() }),
      ])
      .describe('What the next pass would do if it saw the same; nothing of it is done'),
  })
  .meta({ id: 'Plan' });
export type PlanOut = z.infer<typeof PlanOut>;
