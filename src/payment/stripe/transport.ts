/**
 * How the SDK's requests travel. The SDK's own client would do but for five things, each of which matters here:
 * its timeout restarts with every byte, so a dripping answer outlives a lease; its resend after a reset takes a second
 * timeout; a refused connection after that resend looks as if nothing had been sent; a body is read without bound;
 * and a JSON body that is no object (`"ok"`, `17`) ends in a rejection that nobody handles, which ends the process.
 */
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type Stripe from 'stripe';

/** A page of 100 objects, each with the largest metadata, stays below 3 MB. */
const LARGEST_BODY_BYTES = 8 * 1024 * 1024;

/** As Node documents for keep-alive: the other side closed an idle connection just when it was used again. */
const CLOSED_WHILE_IDLE: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);

export type TransportFailure = 'not_connected' | 'connection_lost' | 'timeout' | 'invalid_body';

/** A request that got no usable answer. It has no `code` on purpose: the SDK resends on some codes by itself. */
export class TransportError extends Error {
  constructor(
    readonly failure: TransportFailure,
    /** True only when no byte of the request can have left: no connection was ever made for it. */
    readonly unsent: boolean,
    message: string,
    /** Status of the answer, where one had begun. */
    readonly status: number | null = null,
  ) {
    super(message);
    this.name = 'TransportError';
  }
}

export interface Agents {
  readonly http: http.Agent;
  readonly https: https.Agent;
}

interface Outgoing {
  readonly secure: boolean;
  readonly options: http.RequestOptions;
  readonly body: string;
  readonly deadline: AbortSignal;
}

type HttpClient = NonNullable<NonNullable<ConstructorParameters<typeof Stripe>[1]>['httpClient']>;
type HttpResponse = Awaited<ReturnType<HttpClient['makeRequest']>>;

export class Transport implements HttpClient {
  readonly #agents: Agents;

  constructor(agents: Agents) {
    this.#agents = agents;
  }

  getClientName(): string {
    return 'node';
  }

  /** `timeout` (ms) bounds the whole exchange: connecting, a resend, and the body to its last byte. */
  async makeRequest(
    host: string,
    port: string,
    path: string,
    method: string,
    headers: http.OutgoingHttpHeaders,
    body: string,
    protocol: string,
    timeout: number,
  ): Promise<HttpResponse> {
    const secure = protocol !== 'http';
    const agent = secure ? this.#agents.https : this.#agents.http;
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), timeout);
    const outgoing: Outgoing = {
      secure,
      options: { host, port, path, method, headers, agent, signal: abort.signal },
      body,
      deadline: abort.signal,
    };
    try {
      const response = await send(outgoing);
      response.once('close', () => clearTimeout(timer));
      return new Answer(response, abort.signal);
    } catch (error) {
      clearTimeout(timer);
      throw error;
    }
  }
}

/** At most one resend, for a kept connection that turned out to be closed; the idempotency key makes it one effect. */
async function send(outgoing: Outgoing): Promise<IncomingMessage> {
  const first = await sendOnce(outgoing);
  if (!(first instanceof Lost)) return first;
  if (!first.idle) throw first.error;
  const second = await sendOnce(outgoing);
  if (!(second instanceof Lost)) return second;
  // Whatever happened to the second request: the first may have arrived.
  throw new TransportError(second.error.failure, false, second.error.message);
}

class Lost {
  constructor(
    readonly error: TransportError,
    readonly idle: boolean,
  ) {}
}

function sendOnce({ secure, options, body, deadline }: Outgoing): Promise<IncomingMessage | Lost> {
  return new Promise((resolve) => {
    let connected = false;
    const lose = (request: ClientRequest | null, error: Error & { code?: string }): void => {
      const code = error.code ?? error.name;
      const failure = deadline.aborted ? 'timeout' : connected ? 'connection_lost' : 'not_connected';
      const message = {
        timeout: 'no answer in time',
        connection_lost: 'connection lost',
        not_connected: 'no connection',
      };
      const detail = failure === 'timeout' ? message[failure] : `${message[failure]} (${code})`;
      const idle =
        failure === 'connection_lost' && request?.reusedSocket === true && CLOSED_WHILE_IDLE.has(code);
      resolve(new Lost(new TransportError(failure, !connected, detail), idle));
    };
    try {
      const request = (secure ? https : http).request(options);
      request.once('socket', (socket: Socket) => {
        if (request.reusedSocket || !socket.connecting) connected = true;
        // Data waits for the handshake, so a certificate that is refused means that nothing was sent.
        else socket.once(secure ? 'secureConnect' : 'connect', () => (connected = true));
      });
      request.once('response', resolve);
      request.on('error', (error) => lose(request, error));
      request.end(body);
    } catch (error) {
      // Headers that cannot be written, or a deadline of no time at all.
      lose(null, error instanceof Error ? error : new Error('no request could be made'));
    }
  });
}

class Answer implements HttpResponse {
  readonly #response: IncomingMessage;
  readonly #deadline: AbortSignal;

  constructor(response: IncomingMessage, deadline: AbortSignal) {
    this.#response = response;
    this.#deadline = deadline;
  }

  getStatusCode(): number {
    return this.#response.statusCode ?? 0;
  }

  getHeaders(): Record<string, string | string[]> {
    return Object.fromEntries(
      Object.entries(this.#response.headers).filter(
        (entry): entry is [string, string | string[]] => entry[1] !== undefined,
      ),
    );
  }

  getRawResponse(): IncomingMessage {
    return this.#response;
  }

  toStream(): IncomingMessage {
    return this.#response;
  }

  dispose(): void {
    this.#response.destroy();
  }

  /** The body as a JSON object or array; anything else is a TransportError, which the SDK passes on. */
  async toJSON(): Promise<unknown> {
    const text = await this.#read();
    try {
      const value: unknown = JSON.parse(text);
      if (typeof value === 'object' && value !== null) return value;
    } catch {
      // Told below, without the body: it may hold anything.
    }
    throw this.#failure('invalid_body', 'the body is not a JSON object');
  }

  async #read(): Promise<string> {
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      for await (const chunk of this.#response as AsyncIterable<Buffer>) {
        size += chunk.length;
        // Leaving the loop destroys the response, and with it the connection.
        if (size > LARGEST_BODY_BYTES) throw this.#failure('invalid_body', 'the body is too large');
        chunks.push(chunk);
      }
    } catch (error) {
      if (error instanceof TransportError) throw error;
      throw this.#deadline.aborted
        ? this.#failure('timeout', 'the body did not end in time')
        : this.#failure('connection_lost', 'the body broke off');
    }
    if (!this.#response.complete) throw this.#failure('connection_lost', 'the body broke off');
    return Buffer.concat(chunks).toString('utf8');
  }

  #failure(failure: TransportFailure, what: string): TransportError {
    const status = this.getStatusCode();
    return new TransportError(failure, false, `HTTP ${status}, but ${what}`, status);
  }
}
