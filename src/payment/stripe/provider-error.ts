/** What is legible of a thrown value of any shape. Read member by member: nothing about it can be relied on. */
import { TransportError } from '../../outgoing/round-trip.js';

export interface ProviderError {
  /** Set when no usable answer came; then the rest is empty. */
  readonly transport: TransportError | null;
  readonly status: number | null;
  /** The provider's own type (`card_error`, …), not the SDK's class name: that one is wrong for some answers. */
  readonly type: string | null;
  readonly code: string | null;
  readonly decline_code: string | null;
  readonly param: string | null;
  readonly message: string;
  readonly request_id: string | null;
  /** The answer was stored earlier under the same key. */
  readonly replayed: boolean;
  readonly headers: Readonly<Record<string, unknown>>;
  /** `error.payment_intent`, not checked yet. */
  readonly payment: unknown;
}

export function readError(thrown: unknown): ProviderError {
  const error = members(thrown);
  const headers = members(error['headers']);
  return {
    transport: transportOf(thrown, error),
    status: typeof error['statusCode'] === 'number' ? error['statusCode'] : null,
    type: text(error['rawType']),
    code: text(error['code']),
    decline_code: text(error['decline_code']),
    param: text(error['param']),
    message: text(error['message']) ?? '',
    request_id: text(error['requestId']) ?? text(headers['request-id']),
    replayed: isReplayed(headers),
    headers,
    payment: error['payment_intent'],
  };
}

export const isReplayed = (headers: Readonly<Record<string, unknown>>): boolean =>
  headers['idempotent-replayed'] === 'true';

/** The SDK wraps it as `detail` (no answer) or as `raw.exception` (an answer that cannot be read). */
function transportOf(thrown: unknown, error: Readonly<Record<string, unknown>>): TransportError | null {
  const candidates = [thrown, error['detail'], members(error['raw'])['exception']];
  return candidates.find((candidate) => candidate instanceof TransportError) ?? null;
}

export const members = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
