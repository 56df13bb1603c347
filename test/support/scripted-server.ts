/** A bare HTTP server that answers as told: for the answers that no well-behaved service would give. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Script {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** Text as it is; anything else as JSON. */
  readonly body?: unknown;
  /**
   * hang: never answers · reset: drops the connection without an answer · cut: promises more body than it sends ·
   * drip: sends a byte of the body every 20 ms, without end · switch: answers 101, after which nothing is an answer.
   */
  readonly fault?: 'hang' | 'reset' | 'cut' | 'drip' | 'switch';
}

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface ScriptedServer {
  readonly url: URL;
  readonly received: readonly Received[];
  /** The next requests get these answers in order; the last one stays. */
  answer(...scripts: readonly Script[]): void;
  stop(): Promise<void>;
}

export async function startScriptedServer(): Promise<ScriptedServer> {
  const received: Received[] = [];
  let scripts: Script[] = [{ status: 500, body: 'no answer was scripted' }];

  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      received.push({ method, path: url, headers, body: Buffer.concat(chunks).toString('utf8') });
      const script = scripts.length > 1 ? scripts.shift() : scripts[0];
      play(script ?? {}, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  return {
    url: new URL(`http://127.0.0.1:${port}`),
    received,
    answer(...next) {
      received.length = 0;
      scripts = [...next];
    },
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function play({ status = 200, headers = {}, body = '', fault }: Script, response: ServerResponse): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  switch (fault) {
    case 'hang':
      return;
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'switch':
      response.socket?.end('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n');
      return;
    case 'cut':
      response.writeHead(status, { ...headers, 'content-length': String(text.length + 100) });
      response.write(text, () => response.socket?.destroy());
      return;
    case 'drip': {
      response.writeHead(status, headers);
      const timer = setInterval(() => response.write(' '), 20);
      response.once('close', () => clearInterval(timer));
      return;
    }
    case undefined:
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(text);
  }
}

/** A port of this machine where nothing listens. */
export async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}
