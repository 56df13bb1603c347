/** One bounded HTTP exchange with the warehouse. Never throws; whether the request can have left is always told. */
import { send, TransportError, type Peer, type TransportFailure } from '../../outgoing/round-trip.js';

export interface Request {
  readonly peer: Peer;
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly path: string;
  /** Sent as JSON; undefined: no body. */
  readonly body?: unknown;
  /** For the whole exchange, the body included. */
  readonly timeout_ms: number;
}

export type Body =
  | { readonly kind: 'empty' }
  | { readonly kind: 'json'; readonly value: unknown }
  /** A page or a text, typically of a proxy or of a web framework. */
  | { readonly kind: 'other'; readonly html: boolean };

export type Exchange =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly body: Body;
      readonly retry_after_ms: number | null;
    }
  | {
      readonly kind: 'lost';
      /** True only when no connection was made. */
      readonly unsent: boolean;
      readonly code:
        | 'inventory_unreachable'
        | 'inventory_misconfigured'
        | 'inventory_timeout'
        | 'inventory_connection_lost';
      readonly message: string;
    };

/** 200 lines of 128 characters take 120 kB at most; the rest is room for members that are not read. */
const LARGEST_BODY_BYTES = 1024 * 1024;

const ACCEPT_JSON = { accept: 'application/json' };
const SEND_JSON = { ...ACCEPT_JSON, 'content-type': 'application/json' };

export async function exchange({ peer, method, path, body, timeout_ms }: Request): Promise<Exchange> {
  try {
    const answer = await send({
      peer,
      path,
      method,
      headers: body === undefined ? ACCEPT_JSON : SEND_JSON,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      timeout_ms,
      largest_body_bytes: LARGEST_BODY_BYTES,
    });
    return {
      kind: 'answer',
      status: answer.status,
      body: bodyOf(answer.text()),
      retry_after_ms: seconds(answer.headers['retry-after']),
    };
  } catch (error) {
    if (error instanceof TransportError) return withoutBody(error);
    throw error;
  }
}

function bodyOf(text: string): Body {
  if (text.trim() === '') return { kind: 'empty' };
  try {
    return { kind: 'json', value: JSON.parse(text) as unknown };
  } catch {
    return { kind: 'other', html: /^\s*</.test(text) };
  }
}

const LOST: Readonly<
  Record<Exclude<TransportFailure, 'invalid_body'>, Extract<Exchange, { kind: 'lost' }>['code']>
> = {
  not_connected: 'inventory_unreachable',
  connection_lost: 'inventory_connection_lost',
  timeout: 'inventory_timeout',
};

function withoutBody({ failure, unsent, status, message }: TransportError): Exchange {
  // It said something, and too much of it: its status counts.
  if (failure === 'invalid_body')
    return {
      kind: 'answer',
      status: status ?? 0,
      body: { kind: 'other', html: false },
      retry_after_ms: null,
    };
  return { kind: 'lost', unsent, code: LOST[failure], message: `The warehouse: ${message}.` };
}

/** The form of Retry-After that machines send; a date would need the warehouse's clock. */
const seconds = (header: string | undefined): number | null =>
  header !== undefined && /^\d{1,5}$/.test(header) ? Number(header) * 1000 : null;
