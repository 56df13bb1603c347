/** What is taken from a verified event: who may be concerned, and nothing about what became of it. Pure. */
import { z } from 'zod';
import { OperationId } from '../../operation/spec.js';
import type { ProviderEvent } from '../../store/event-inbox.js';

/** Ids are far shorter; what is longer, or holds what Postgres cannot (NUL), is no id. */
const Text = z.string().regex(/^[^\p{Cc}\p{Cs}]{1,255}$/u);
const maybe = <Schema extends z.ZodType>(schema: Schema) => schema.nullish().catch(null);

/** An id, or the object itself where the endpoint's version expands it. */
const Reference = z.union([Text, z.object({ id: Text }).transform(({ id }) => id)]);

const EventObject = z.object({
  id: maybe(Text),
  object: maybe(Text),
  payment_intent: maybe(Reference),
  metadata: maybe(z.object({ operation_id: maybe(OperationId) })),
});

/** Everything but id and type may be absent or of a form that is not known yet: the event is stored all the same. */
const Event = z.object({
  id: Text,
  type: Text,
  account: maybe(Text),
  livemode: maybe(z.boolean()),
  created: maybe(z.union([z.number(), z.string()])),
  data: maybe(z.object({ object: maybe(EventObject) })),
  /** Where events of API version 2 name their object; they carry no copy of it. */
  related_object: maybe(z.object({ id: Text, type: Text })),
});

/** Null when the body is no event at all: no JSON, or without id and type. */
export function readEvent(body: Buffer, account: string): ProviderEvent | null {
  let json: unknown;
  try {
    json = JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
  const parsed = Event.safeParse(json);
  if (!parsed.success) return null;
  const event = parsed.data;
  const object = event.data?.object;
  const { id, kind } = object
    ? { id: object.id, kind: object.object }
    : { id: event.related_object?.id, kind: event.related_object?.type };
  return {
    account,
    event_id: event.id,
    type: event.type,
    livemode: event.livemode ?? null,
    provider_account: event.account ?? null,
    object_id: id ?? null,
    payment_reference: (kind === 'payment_intent' ? id : object?.payment_intent) ?? null,
    operation_id: object?.metadata?.operation_id ?? null,
    created_at: timeOf(event.created ?? null),
  };
}

/** Seconds, or RFC 3339 in version 2. Postgres and RFC 3339 agree on years of four digits. */
function timeOf(created: number | string | null): string | null {
  if (created === null) return null;
  const time = new Date(typeof created === 'number' ? created * 1000 : created);
  const year = time.getUTCFullYear();
  return year >= 1970 && year <= 9999 ? time.toISOString() : null;
}
