/** One bounded HTTP exchange with the warehouse. Never throws; whether the request can have left is always told. */

export interface Request {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly url: string;
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

/** The connection never came about, so nothing was sent. */
const NEVER_CONNECTED =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EAI_NONAME|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_|ERR_TLS_|DEPTH_ZERO_SELF|SELF_SIGNED|UNABLE_TO_)/;

export async function exchange({ method, url, body, timeout_ms }: Request): Promise<Exchange> {
  const deadline = AbortSignal.timeout(timeout_ms);
  try {
    const response = await fetch(url, {
      method,
      // A redirect is nobody's reservation; followed, it could turn a PUT into a GET of something else.
      redirect: 'manual',
      signal: deadline,
      headers: {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return {
      kind: 'answer',
      status: response.status,
      body: await readBody(response),
      retry_after_ms: seconds(response.headers.get('retry-after')),
    };
  } catch (error) {
    return lost(error, deadline.aborted);
  }
}

async function readBody(response: Response): Promise<Body> {
  const decoder = new TextDecoder();
  let size = 0;
  let text = '';
  // Leaving the loop early cancels the stream.
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > LARGEST_BODY_BYTES) return { kind: 'other', html: false };
    text += decoder.decode(chunk, { stream: true });
  }
  text += decoder.decode();
  if (text.trim() === '') return { kind: 'empty' };
  try {
    return { kind: 'json', value: JSON.parse(text) as unknown };
  } catch {
    return { kind: 'other', html: /^\s*</.test(text) };
  }
}

function lost(error: unknown, late: boolean): Exchange {
  if (late) {
    return {
      kind: 'lost',
      unsent: false,
      code: 'inventory_timeout',
      message: 'The warehouse did not answer in time.',
    };
  }
  const cause = member(error, 'cause');
  const code = codeOf(cause);
  if (code !== null && NEVER_CONNECTED.test(code)) {
    const message = `No connection to the warehouse (${code}).`;
    return { kind: 'lost', unsent: true, code: 'inventory_unreachable', message };
  }
  // fetch refuses some ports by itself, before it tries.
  if (member(cause, 'message') === 'bad port') {
    const message = 'The port of the warehouse is one that HTTP clients refuse.';
    return { kind: 'lost', unsent: true, code: 'inventory_misconfigured', message };
  }
  // Everything else may have arrived, whatever it is called.
  const message = `The connection to the warehouse was lost${code === null ? '' : ` (${code})`}.`;
  return { kind: 'lost', unsent: false, code: 'inventory_connection_lost', message };
}

/** With several addresses of one name, Node throws an AggregateError; it counts only if all failed alike. */
function codeOf(cause: unknown): string | null {
  const several = member(cause, 'errors');
  if (Array.isArray(several) && several.length > 0) {
    const codes = several.map(codeOf);
    const unclear = codes.filter((code) => code === null || !NEVER_CONNECTED.test(code));
    return (unclear.length > 0 ? unclear[0] : codes[0]) ?? null;
  }
  const code = member(cause, 'code');
  return typeof code === 'string' ? code : null;
}

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;

/** The form of Retry-After that machines send; a date would need the warehouse's clock. */
const seconds = (header: string | null): number | null =>
  header !== null && /^\d{1,5}$/.test(header) ? Number(header) * 1000 : null;
