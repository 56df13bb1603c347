/**
 * One HTTP exchange with another system, bounded as a whole: connecting, a resend, and the body to its last byte. What is
 * lost says whether anything can have left, since that decides what may be done next.
 *
 * Of undici there is only the client of one connection. Connecting, keeping and resending are decided here.
 */
import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import { Client, type buildConnector, type Dispatcher } from 'undici';

/** The other side closed an idle connection just when it was used again. undici has its own code for an orderly close. */
const CLOSED_WHILE_IDLE: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

const CLIENT_OPTIONS = {
  // The deadline of the exchange is the only one.
  headersTimeout: 0,
  bodyTimeout: 0,
  // As long as the other side has not said otherwise; and a second less than it said.
  keepAliveTimeout: 600_000,
  keepAliveTimeoutThreshold: 1000,
};

/** Without the mark that some servers begin with, which is no JSON. */
const UTF8 = new TextDecoder();

export type TransportFailure = 'not_connected' | 'connection_lost' | 'timeout' | 'invalid_body';

/** Before an answer began, and after. */
const WORDS: Readonly<Record<TransportFailure, readonly [string, string]>> = {
  not_connected: ['no connection', ''],
  connection_lost: ['connection lost', 'the body broke off'],
  timeout: ['no answer in time', 'the body did not end in time'],
  invalid_body: ['', 'the body is too large'],
};

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

export interface Outgoing {
  readonly peer: Peer;
  readonly path: string;
  readonly method: string;
  /** Without the length of the body. */
  readonly headers: Readonly<Record<string, string | number | string[]>>;
  readonly body?: string;
  readonly timeout_ms: number;
  /** A larger body is not read to its end: `invalid_body`. */
  readonly largest_body_bytes: number;
}

/** Resolves when the answer is there, or as much of it as came. Rejects with TransportError when not even its head did. */
export const send = (outgoing: Outgoing): Promise<Answer> =>
  new Promise((resolve, reject) => new Exchange(outgoing, resolve, reject).begin());

export class Answer {
  readonly #body: Buffer | TransportError;

  constructor(
    readonly status: number,
    /** Names in lower case; of one that came several times the first. */
    readonly headers: Record<string, string>,
    body: Buffer | TransportError,
  ) {
    this.#body = body;
  }

  /** The whole body. Throws TransportError. */
  text(): string {
    if (this.#body instanceof TransportError) throw this.#body;
    return UTF8.decode(this.#body);
  }

  failure(failure: TransportFailure, what: string): TransportError {
    return unusable(this.status, failure, what);
  }
}

const unusable = (status: number, failure: TransportFailure, what: string): TransportError =>
  new TransportError(failure, false, `HTTP ${status}, but ${what}`, status);

/** Another system, and the connections to it that are kept. The one used last is used next, so that the others can end. */
export class Peer {
  readonly idle: Line[] = [];
  /** Lets TLS begin sooner the next time. */
  session: Buffer | undefined;

  /** Scheme, host (an IPv6 address in brackets) and port. */
  constructor(readonly origin: string) {}
}

/** At most one connection at a time, and one request on it. */
class Line {
  readonly client: Client;
  readonly #peer: Peer;
  socket: Socket | null = null;
  /** The connection carried a request before, so the other side may have closed it meanwhile. */
  kept = false;

  constructor(peer: Peer) {
    this.#peer = peer;
    this.client = new Client(peer.origin, {
      ...CLIENT_OPTIONS,
      connect: (to, done) => this.#connect(to, done),
    });
  }

  #connect({ protocol, hostname: host, port }: buildConnector.Options, done: buildConnector.Callback): void {
    const secure = protocol === 'https:';
    const { session } = this.#peer;
    const socket = secure
      ? tls
          .connect({
            host,
            port: Number(port || 443),
            // An address is no server name.
            servername: net.isIP(host) === 0 ? host : '',
            ALPNProtocols: ['http/1.1'],
            ...(session && { session }),
          })
          .on('session', (next) => (this.#peer.session = next))
      : net.connect({ host, port: Number(port || 80) });
    this.socket = socket.setNoDelay(true).setKeepAlive(true, 1000);
    this.kept = false;
    const refused = (error: Error): void => done(error, null);
    socket.once('error', refused);
    // Data waits for the handshake, so a certificate that is refused means that nothing was sent.
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      socket.off('error', refused);
      // TLS tells of broken data and leaves the connection open; undici waits for its end.
      socket.once('error', () => socket.destroy());
      done(null, socket);
    });
    socket.once('close', () => {
      const at = this.#peer.idle.indexOf(this);
      if (at !== -1) this.#peer.idle.splice(at, 1);
    });
  }

  keep(): void {
    this.kept = true;
    this.#peer.idle.push(this);
  }

  /** undici would connect again for a request that it has not written yet. */
  end(): void {
    void this.client.destroy();
    this.socket?.destroy();
  }
}

/** A request until it is answered or lost. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #outgoing: Outgoing;
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: TransportError) => void;
  readonly #timer: NodeJS.Timeout;
  #line: Line;
  #settled = false;
  /** Bytes may have left: by this request, or by this one and the one before. */
  #written = false;
  #everWritten = false;
  /** What the connection had read when the request was written. */
  #readBefore = 0;
  #status = 0;
  #headers: Record<string, string> = {};
  #chunks: Buffer[] = [];
  #size = 0;

  constructor(
    outgoing: Outgoing,
    resolve: (answer: Answer) => void,
    reject: (error: TransportError) => void,
  ) {
    this.#outgoing = outgoing;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#line = outgoing.peer.idle.pop() ?? new Line(outgoing.peer);
    this.#timer = setTimeout(() => this.#lose('timeout'), outgoing.timeout_ms);
  }

  begin(): void {
    const { path, method, headers, body = null } = this.#outgoing;
    // Numbers are written as they are.
    this.#line.client.dispatch({ path, method, headers: headers as Record<string, string>, body }, this);
  }

  /** The next thing that happens on the connection, which stands, is that the request is written. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Not what was told to be unsent; nor twice, were undici ever to resend by itself.
    if (this.#settled || this.#written) return controller.abort(new Error('not to be written'));
    this.#written = this.#everWritten = true;
    this.#readBefore = this.#line.socket?.bytesRead ?? 0;
  }

  onResponseStart(_: unknown, status: number, headers: Record<string, string | string[] | undefined>): void {
    // Hints that come before the answer are none.
    if (status < 200) return;
    this.#status = status;
    for (const name in headers) {
      const value = headers[name];
      const first = Array.isArray(value) ? value[0] : value;
      if (first !== undefined) this.#headers[name] = first;
    }
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (this.#settled) return;
    this.#size += chunk.length;
    if (this.#size <= this.#outgoing.largest_body_bytes) this.#chunks.push(chunk);
    else this.#lose('invalid_body');
  }

  onResponseEnd(): void {
    if (this.#settled) return;
    // A reset passes for the end of a body that has no length.
    if (this.#line.socket?.errored) return this.#lose('connection_lost');
    this.#settle();
    this.#line.keep();
    const [first] = this.#chunks;
    const body = first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    this.#resolve(new Answer(this.#status, this.#headers, body));
  }

  /** One resend on a new connection, for a kept one that turned out to be closed; keys make the two requests one effect. */
  onResponseError(_: unknown, error: Error & { code?: string }): void {
    if (this.#settled) return;
    const { kept, socket } = this.#line;
    const idle =
      !this.#written || (CLOSED_WHILE_IDLE.has(error.code ?? '') && socket?.bytesRead === this.#readBefore);
    if (!kept || !idle) return this.#lose(this.#written ? 'connection_lost' : 'not_connected', error);
    this.#line.end();
    this.#written = false;
    this.#line = new Line(this.#outgoing.peer);
    this.begin();
  }

  #settle(): void {
    this.#settled = true;
    clearTimeout(this.#timer);
  }

  #lose(failure: TransportFailure, error?: Error & { code?: string }): void {
    this.#settle();
    this.#line.end();
    const [before, after] = WORDS[failure];
    if (this.#status !== 0) {
      const lost = unusable(this.#status, failure, after);
      return this.#resolve(new Answer(this.#status, this.#headers, lost));
    }
    // Whatever happened to the last request: the one before may have arrived.
    this.#reject(
      new TransportError(failure, !this.#everWritten, `${before}${error ? ` (${nameOf(error)})` : ''}`),
    );
  }
}

/** Of an orderly close undici says more in words. */
const nameOf = (error: Error & { code?: string }): string =>
  error.code === 'UND_ERR_SOCKET' ? error.message : (error.code ?? error.name);
