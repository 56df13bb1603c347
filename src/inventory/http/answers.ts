/**
 * The warehouse's answers in our words: total functions over (step, answer). Protocol: PUT 200/201, 409 insufficient or
 * released; GET 200 {state, lines}, 404; commit 200, 404; DELETE 200, 404, 409 when the goods are gone.
 */
import { z } from 'zod';
import type { Outcome } from '../../operation/attempt.js';
import type { Failure } from '../../operation/failure.js';
import type { Reading, ReservationReading } from '../../operation/observation.js';
import { sameLines } from '../../operation/spec.js';
import type { InventoryStep } from '../../operation/step.js';
import type { Body, Exchange } from './exchange.js';

const Lines = z.array(z.object({ sku: z.string().min(1), quantity: z.int().positive() }));
const Reservation = z.object({
  state: z.enum(['reserved', 'committed', 'released']),
  lines: Lines.nullish().transform((lines) => lines ?? null),
});
const AnyState = z.object({ state: z.string() });
const Asked = z.object({ lines: Lines });

type Answer = Extract<Exchange, { kind: 'answer' }>;

/** A reading; `absent` only for a 404 that can be the warehouse's own. */
export function toReading(got: Exchange): Reading<ReservationReading> {
  if (got.kind === 'lost') return { kind: 'unknown', failure: lostFailure(got) };
  if (got.status === 200) {
    const reservation = reservationIn(got.body);
    return reservation.ok
      ? { kind: 'present', value: reservation.value }
      : { kind: 'unknown', failure: reservation.failure };
  }
  if (got.status === 404 && !isPage(got.body)) return { kind: 'absent' };
  return { kind: 'unknown', failure: commonFailure(got) };
}

/** The outcome of a write; `asked` is the body that was sent. */
export function toOutcome(step: InventoryStep['name'], asked: unknown, got: Exchange): Outcome {
  if (got.kind === 'lost') {
    return { kind: got.unsent ? 'not_sent' : 'unknown', failure: lostFailure(got) };
  }
  switch (step) {
    case 'reserve_inventory':
      return reserved(asked, got);
    case 'commit_inventory':
      return committed(got);
    case 'release_inventory':
      return released(got);
  }
}

function reserved(asked: unknown, got: Answer): Outcome {
  if (!isDone(got)) return got.status === 409 ? refusedReservation(got) : otherwise(got);
  // The protocol leaves the body open; an empty one says "reserved" by its status.
  if (got.body.kind === 'empty')
    return { kind: 'done', shown: { reservation: { state: 'reserved', lines: null } } };
  const reservation = reservationIn(got.body);
  if (!reservation.ok) return { kind: 'unknown', failure: reservation.failure };
  const shown = { reservation: reservation.value };
  if (reservation.value.state === 'released') {
    return conflict('reservation_released', 'The reservation was released for good.', shown);
  }
  if (!asAsked(asked, reservation.value.lines)) {
    return conflict('reservation_differs', 'The warehouse holds other lines than were asked for.', shown);
  }
  return { kind: 'done', shown };
}

/** A 409 that does not say which of its two meanings it has: a reading decides (see `settleRefusal`). */
export const AMBIGUOUS_REFUSAL = 'reservation_refused';

function refusedReservation(got: Answer): Outcome {
  const why = codesIn(got.body);
  if (/insufficient|out_?of_?stock|not_?enough/.test(why)) return insufficient(got.body);
  if (/released|tombstone/.test(why)) {
    const shown = { reservation: { state: 'released', lines: null } } as const;
    return conflict('reservation_released', 'The reservation was released for good.', shown);
  }
  if (/committed/.test(why)) return conflict('reservation_committed', 'The goods are committed already.');
  return conflict(AMBIGUOUS_REFUSAL, wordsIn(got.body) ?? 'The warehouse refused the reservation.');
}

const insufficient = (body: Body): Outcome => ({
  kind: 'declined',
  failure: {
    class: 'declined',
    code: 'insufficient_stock',
    message: wordsIn(body) ?? 'The warehouse does not have enough stock.',
  },
  shown: { reservation: { state: 'insufficient', lines: null } },
});

/** What a 409 without a code meant: refused for lack of stock leaves nothing behind, a release leaves a tombstone. */
export function settleRefusal(refusal: Outcome, seen: Reading<ReservationReading>): Outcome {
  if (seen.kind === 'absent') return insufficient({ kind: 'empty' });
  if (seen.kind === 'present' && seen.value.state === 'released') {
    return conflict('reservation_released', 'The reservation was released for good.', {
      reservation: seen.value,
    });
  }
  return seen.kind === 'present' ? { ...refusal, shown: { reservation: seen.value } } : refusal;
}

function committed(got: Answer): Outcome {
  if (isDone(got)) return doneIf('committed', got);
  if (got.status === 404 && !isPage(got.body)) {
    return conflict('reservation_missing', 'The warehouse does not know the reservation any more.');
  }
  return got.status === 409
    ? conflict('commit_refused', wordsIn(got.body) ?? 'The warehouse refused to commit the goods.')
    : otherwise(got);
}

function released(got: Answer): Outcome {
  if (isDone(got)) return doneIf('released', got);
  // Unknown there, and marked as released for good: nothing can be reserved under this key any more.
  if (got.status === 404 && !isPage(got.body)) {
    return { kind: 'done', shown: { reservation: { state: 'released', lines: null } } };
  }
  return got.status === 409
    ? conflict('goods_gone', wordsIn(got.body) ?? 'The goods have left the warehouse.')
    : otherwise(got);
}

/** Done when the answer shows the state, or shows nothing else than success. */
function doneIf(state: 'committed' | 'released', got: Answer): Outcome {
  if (got.body.kind === 'empty') return { kind: 'done', shown: { reservation: { state, lines: null } } };
  const reservation = reservationIn(got.body);
  if (!reservation.ok) return { kind: 'unknown', failure: reservation.failure };
  const shown = { reservation: reservation.value };
  if (reservation.value.state === state) return { kind: 'done', shown };
  const message = `The request was accepted, but the reservation is ${reservation.value.state}.`;
  return { kind: 'unknown', failure: { class: 'unknown', code: 'effect_not_seen', message }, shown };
}

const isDone = ({ status }: Answer): boolean => status === 200 || status === 201 || status === 204;

const conflict = (
  code: string,
  message: string,
  shown?: { readonly reservation: ReservationReading },
): Outcome & { kind: 'rejected' } => ({
  kind: 'rejected',
  failure: { class: 'conflict', code, message },
  ...(shown !== undefined && { shown }),
});

/** Statuses that mean the same for every write. */
function otherwise(got: Answer): Outcome {
  const failure = commonFailure(got);
  // Known to be without effect, and right as it stands: it is sent again once the warehouse takes it.
  const waits = failure.class === 'throttled' || (failure.class === 'prerequisite' && got.status >= 400);
  return { kind: waits ? 'not_sent' : failure.class === 'rejected' ? 'rejected' : 'unknown', failure };
}

/** No route, no permission, another kind of server: somebody has to repair the set-up. */
const SETUP_STATUSES: ReadonlySet<number> = new Set([401, 403, 404, 405]);
/** Client errors that do not say whether the request was carried out. */
const INDETERMINATE_STATUSES: ReadonlySet<number> = new Set([408, 409, 423, 424, 425, 499]);

function commonFailure({ status, body, retry_after_ms }: Answer): Failure {
  const message = `The warehouse answered HTTP ${status}${wordsIn(body) === null ? '' : `: ${wordsIn(body)}`}.`;
  if (status === 429) {
    const wait = retry_after_ms === null ? {} : { retry_after_ms };
    return { class: 'throttled', code: 'inventory_throttled', message, ...wait };
  }
  if (SETUP_STATUSES.has(status) || (status >= 300 && status < 400)) {
    return { class: 'prerequisite', code: `inventory_http_${status}`, message };
  }
  if (status >= 400 && status < 500 && !INDETERMINATE_STATUSES.has(status)) {
    return { class: 'rejected', code: `inventory_http_${status}`, message };
  }
  return { class: 'unknown', code: `inventory_http_${status}`, message };
}

const lostFailure = (lost: Extract<Exchange, { kind: 'lost' }>): Failure => ({
  class: lost.unsent ? 'prerequisite' : 'unknown',
  code: lost.code,
  message: lost.message,
});

type Understood =
  | { readonly ok: true; readonly value: ReservationReading }
  | { readonly ok: false; readonly failure: Failure };

function reservationIn(body: Body): Understood {
  const value = body.kind === 'json' ? body.value : undefined;
  const reservation = Reservation.safeParse(value);
  if (reservation.success) return { ok: true, value: reservation.data };
  const other = AnyState.safeParse(value);
  const isNewWord = other.success && !Reservation.shape.state.safeParse(other.data.state).success;
  return {
    ok: false,
    failure: isNewWord
      ? {
          class: 'compatibility',
          code: 'unknown_status',
          message: `The warehouse says "${short(other.data.state)}".`,
        }
      : {
          class: 'unknown',
          code: 'inventory_unexpected_body',
          message: 'The warehouse’s answer cannot be understood.',
        },
  };
}

/** An HTML page is a proxy's or a framework's word ("Cannot GET …"), not the warehouse's. */
const isPage = (body: Body): boolean => body.kind === 'other' && body.html;

function asAsked(asked: unknown, held: ReservationReading['lines']): boolean {
  const wanted = Asked.safeParse(asked);
  return !wanted.success || sameLines(held, wanted.data.lines);
}

/** The machine-readable words of an error body, whatever it calls them. */
function codesIn(body: Body): string {
  const members = body.kind === 'json' && typeof body.value === 'object' ? body.value : null;
  return ['code', 'error', 'reason', 'state', 'type']
    .map((name) => (members as Record<string, unknown> | null)?.[name])
    .filter((value) => typeof value === 'string')
    .join(' ')
    .toLowerCase()
    .replaceAll(/[- ]/g, '_');
}

function wordsIn(body: Body): string | null {
  const members = body.kind === 'json' && typeof body.value === 'object' ? body.value : null;
  const words = ['message', 'detail', 'title']
    .map((name) => (members as Record<string, unknown> | null)?.[name])
    .find((value): value is string => typeof value === 'string' && value !== '');
  return words === undefined ? null : short(words);
}

const short = (text: string): string => (text.length > 200 ? `${text.slice(0, 199)}…` : text);
