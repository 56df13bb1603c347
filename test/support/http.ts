/** A plain HTTP client for tests: paths and bodies go out as they are written, nothing is normalised. */
import { request, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The parsed body, typed by the test that knows what it asked for. */
  json<T = Record<string, unknown>>(): T;
}

export interface Call {
  /** An object is sent as JSON (with application/json), text and bytes as they are. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export type Client = (method: string, path: string, call?: Call) => Promise<Answer>;

function payloadOf(
  body: unknown,
): { readonly bytes: Buffer; readonly headers: Record<string, string> } | null {
  if (body === undefined) return null;
  if (Buffer.isBuffer(body)) return { bytes: body, headers: {} };
  if (typeof body === 'string') return { bytes: Buffer.from(body), headers: {} };
  return { bytes: Buffer.from(JSON.stringify(body)), headers: { 'content-type': 'application/json' } };
}

export function clientOf(port: number, defaults: Readonly<Record<string, string>> = {}): Client {
  return (method, path, call = {}) =>
    new Promise((resolve, reject) => {
      const payload = payloadOf(call.body);
      const chunked = call.headers?.['transfer-encoding'] !== undefined;
      const length = payload === null || chunked ? {} : { 'content-length': String(payload.bytes.length) };
      const headers = { ...defaults, ...payload?.headers, ...length, ...call.headers };
      const options = {
        host: '127.0.0.1',
        port,
        method,
        path,
        headers,
        ...(call.signal ? { signal: call.signal } : {}),
      };
      const sent = request(options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const { statusCode: status = 0, headers: received } = response;
          resolve({ status, headers: received, text, json: <T>() => JSON.parse(text) as T });
        });
      });
      sent.on('error', reject);
      sent.end(payload?.bytes);
    });
}

/** Listens on a free port of the loopback interface. */
export async function listen(app: NestFastifyApplication): Promise<number> {
  await app.listen(0, '127.0.0.1');
  return (app.getHttpServer().address() as AddressInfo).port;
}
