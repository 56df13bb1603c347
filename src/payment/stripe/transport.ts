/**
 * How the SDK's requests travel. The SDK's own client would do but for five things, each of which matters here:
 * its timeout restarts with every byte, so a dripping answer outlives a lease; its resend after a reset takes a second
 * timeout; a refused connection after that resend looks as if nothing had been sent; a body is read without bound;
 * and a JSON body that is no object (`"ok"`, `17`) ends in a rejection that nobody handles, which ends the process.
 */
import type Stripe from 'stripe';
import { Peer, send, type Answer } from '../../outgoing/round-trip.js';

/** A page of 100 objects, each with the largest metadata, stays below 3 MB. */
const LARGEST_BODY_BYTES = 8 * 1024 * 1024;

type HttpClient = NonNullable<NonNullable<ConstructorParameters<typeof Stripe>[1]>['httpClient']>;
type HttpResponse = Awaited<ReturnType<HttpClient['makeRequest']>>;

export class Transport implements HttpClient {
  /** By origin. */
  readonly #peers = new Map<string, Peer>();

  getClientName(): string {
    return 'node';
  }

  /** `timeout` (ms) bounds the whole exchange. Rejects with TransportError, which the SDK passes on. */
  async makeRequest(
    host: string,
    port: string,
    path: string,
    method: string,
    headers: Parameters<HttpClient['makeRequest']>[4],
    body: string,
    protocol: string,
    timeout: number,
  ): Promise<HttpResponse> {
    return new SdkResponse(
      await send({
        peer: this.#peer(`${protocol}://${host}:${port}`),
        path,
        method,
        headers,
        body,
        timeout_ms: timeout,
        largest_body_bytes: LARGEST_BODY_BYTES,
      }),
    );
  }

  #peer(origin: string): Peer {
    let peer = this.#peers.get(origin);
    if (peer === undefined) this.#peers.set(origin, (peer = new Peer(origin)));
    return peer;
  }
}

class SdkResponse implements HttpResponse {
  readonly #answer: Answer;

  constructor(answer: Answer) {
    this.#answer = answer;
  }

  getStatusCode(): number {
    return this.#answer.status;
  }

  getHeaders(): Answer['headers'] {
    return this.#answer.headers;
  }

  /** What the SDK hangs on an object as `lastResponse`. */
  getRawResponse(): { statusCode: number; headers: Answer['headers'] } {
    return { statusCode: this.#answer.status, headers: this.#answer.headers };
  }

  toStream(): never {
    throw new Error('no call of this service streams');
  }

  /** The body as a JSON object or array; anything else is a TransportError, which the SDK passes on. */
  toJSON(): Promise<unknown> {
    return new Promise((resolve) => resolve(this.#read()));
  }

  #read(): object {
    const text = this.#answer.text();
    try {
      const value: unknown = JSON.parse(text);
      if (typeof value === 'object' && value !== null) return value;
    } catch {
      // Told below, without the body: it may hold anything.
    }
    throw this.#answer.failure('invalid_body', 'the body is not a JSON object');
  }
}
