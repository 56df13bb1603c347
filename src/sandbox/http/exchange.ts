/** One HTTP request as read, and one answer to be written. */
import { type IncomingMessage, type ServerResponse } from 'node:http';

export interface Exchange {
  method: string;
  /** As sent, percent-encoding kept: an id may contain an encoded slash. */
  path: string;
  query: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** No request of either surface comes near this; it only bounds what a mistake can cost. */
const BODY_LIMIT_BYTES = 1_048_576;

export class BodyTooLarge extends Error {}

export async function readExchange(request: IncomingMessage): Promise<Exchange> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > BODY_LIMIT_BYTES) throw new BodyTooLarge();
    chunks.push(chunk);
  }
  const target = request.url ?? '/';
  const mark = target.indexOf('?');
  return {
    method: request.method ?? 'GET',
    path: mark < 0 ? target : target.slice(0, mark),
    query: mark < 0 ? '' : target.slice(mark + 1),
    headers: request.headers,
    body: Buffer.concat(chunks).toString('utf8'),
  };
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}

export function html(status: number, body: string, headers: Record<string, string> = {}): Answer {
  return { status, headers: { 'content-type': 'text/html; charset=utf-8', ...headers }, body };
}

export function writeAnswer(response: ServerResponse, answer: Answer): void {
  if (response.destroyed || response.writableEnded) return;
  response.writeHead(answer.status, {
    ...answer.headers,
    'content-length': String(Buffer.byteLength(answer.body)),
  });
  response.end(answer.body);
}

/** The percent-decoded segment, or null where the encoding is broken. */
export function decodeSegment(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

export function header(exchange: Exchange, name: string): string | null {
  const value = exchange.headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}
