/**
 * One HTTP exchange with another system, bounded as a whole: connecting, a resend, and the body to its last byte. What is
 * lost says whether anything can have left, since that decides what may be done next.
 */
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';

/** As Node documents for keep-alive: the other side closed an idle connection just when it was used again. */
const CLOSED_WHILE_IDLE: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);

export type TransportFailure = 'not_connected' | 'connection_lost' | 'timeout' | 'invalid_body';

/** A request that got no usable answer. It has no `code` on purpose: client libraries resend on some codes. */
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
export const keepAliveAgents = (): Agents => ({
  http: new http.Agent({ keepAlive: true }),
  https: new https.Agent({ keepAlive: true }),
});

export interface Outgoing {
  readonly secure: boolean;
  readonly host: string;
  readonly port: string;
  readonly path: string;
  readonly method: string;
  readonly headers: http.OutgoingHttpHeaders;
  readonly body?: string;
  readonly timeout_ms: number;
  /** A larger body is not read to its end: `invalid_body`. */
  readonly largest_body_bytes: number;
  readonly agents: Agents;
}

/** Resolves when the head of the answer is there. Rejects with TransportError. */
export async function send(outgoing: Outgoing): Promise<Answer> {
  const deadline = new Deadline(outgoing.timeout_ms);
  try {
    const response = await sendPersistently(outgoing, deadline);
    response.once('close', () => deadline.clear());
    return new Answer(response, deadline, outgoing.largest_body_bytes);
  } catch (error) {
    deadline.clear();
    throw error;
  }
}

/** Ends whichever request is under way. An AbortSignal would do the same at several times the cost. */
class Deadline {
  readonly #timer: NodeJS.Timeout;
  #request: ClientRequest | null = null;
  passed = false;

  constructor(ms: number) {
    this.#timer = setTimeout(() => {
      this.passed = true;
      this.#request?.destroy();
    }, ms);
  }

  bounds(request: ClientRequest): void {
    this.#request = request;
    if (this.passed) request.destroy();
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}

/** At most one resend, for a kept connection that turned out to be closed; keys make the two requests one effect. */
async function sendPersistently(outgoing: Outgoing, deadline: Deadline): Promise<IncomingMessage> {
  const first = await sendOnce(outgoing, deadline);
  if (!(first instanceof Lost)) return first;
  if (!first.idle) throw first.error;
  const second = await sendOnce(outgoing, deadline);
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

function sendOnce(outgoing: Outgoing, deadline: Deadline): Promise<IncomingMessage | Lost> {
  const { secure, host, port, path, method, headers, agents, body } = outgoing;
  return new Promise((resolve) => {
    let connected = false;
    let settled = false;
    const lose = (request: ClientRequest | null, error: Error & { code?: string }): void => {
      if (settled) return;
      settled = true;
      const code = error.code ?? error.name;
      const failure = deadline.passed ? 'timeout' : connected ? 'connection_lost' : 'not_connected';
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
      const agent = secure ? agents.https : agents.http;
      const request = (secure ? https : http).request({ host, port, path, method, headers, agent });
      deadline.bounds(request);
      request.once('socket', (socket: Socket) => {
        if (request.reusedSocket || !socket.connecting) connected = true;
        // Data waits for the handshake, so a certificate that is refused means that nothing was sent.
        else socket.once(secure ? 'secureConnect' : 'connect', () => (connected = true));
      });
      request.once('response', (response: IncomingMessage) => {
        settled = true;
        resolve(response);
      });
      request.on('error', (error) => lose(request, error));
      // An answer that switches protocols is followed by nothing else.
      request.once('close', () => settled || lose(request, new Error('closed without an answer')));
      request.end(body);
    } catch (error) {
      // Headers that cannot be written.
      lose(null, error instanceof Error ? error : new Error('no request could be made'));
    }
  });
}

export class Answer {
  readonly #deadline: Deadline;
  readonly #largest: number;

  constructor(
    readonly response: IncomingMessage,
    deadline: Deadline,
    largest: number,
  ) {
    this.#deadline = deadline;
    this.#largest = largest;
  }

  get status(): number {
    return this.response.statusCode ?? 0;
  }

  /** The whole body. Rejects with TransportError. */
  text(): Promise<string> {
    const { response } = this;
    const chunks: Buffer[] = [];
    let size = 0;
    return new Promise((resolve, reject) => {
      const breakOff = (): void =>
        reject(
          this.#deadline.passed
            ? this.failure('timeout', 'the body did not end in time')
            : this.failure('connection_lost', 'the body broke off'),
        );
      if (response.closed) return breakOff();
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size <= this.#largest) return void chunks.push(chunk);
        reject(this.failure('invalid_body', 'the body is too large'));
        response.destroy();
      });
      let ended = false;
      response.once('end', () => {
        ended = response.complete;
        // Without the mark that some servers begin with, which is no JSON.
        if (ended) resolve(new TextDecoder().decode(Buffer.concat(chunks)));
      });
      response.once('close', () => ended || breakOff());
      // It closes, too.
      response.on('error', () => undefined);
    });
  }

  failure(failure: TransportFailure, what: string): TransportError {
    return new TransportError(failure, false, `HTTP ${this.status}, but ${what}`, this.status);
  }
}
