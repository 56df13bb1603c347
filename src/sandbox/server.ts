/** Starting and stopping the sandbox: one HTTP port for payments, warehouse and control. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { control, CONTROL_PREFIX, type Listener } from './control/routes.js';
import { BodyTooLarge, json, readExchange, writeAnswer } from './http/exchange.js';
import { Flow } from './http/flow.js';
import { type SecretKey } from './stripe/keys.js';
import { StripeSurface } from './stripe/surface.js';
import { Universe } from './universe.js';
import { WarehouseSurface } from './warehouse/surface.js';

export interface SandboxOptions {
  /** 0 or absent: any free port. */
  port?: number | undefined;
  host?: string | undefined;
  /** Absent: every key that begins with sk_test_ is accepted and speaks for one test account. */
  secretKeys?: readonly SecretKey[] | undefined;
  webhooks?: readonly { url: string; secret: string; account?: string | undefined }[] | undefined;
}

export interface Sandbox {
  url: string;
  port: number;
  stop(): Promise<void>;
}

/** Longer than any client keeps a connection, so that a reuse never meets a closing one by accident. */
const KEEP_ALIVE_MS = 120_000;
const REOPEN_PAUSE_MS = 50;

export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const universe = new Universe(options.secretKeys ?? null, options.webhooks ?? []);
  const host = options.host ?? '127.0.0.1';
  const { world, books, log, keys, idempotency, stock, journal, faults, outages } = universe;
  const payments = new StripeSurface(books, log, keys, idempotency);
  const warehouse = new WarehouseSurface(stock, world);
  const flow = new Flow(world, journal, faults, outages);
  let stopped = false;

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const exchange = await readExchange(request);
    if (exchange.path === CONTROL_PREFIX || exchange.path.startsWith(`${CONTROL_PREFIX}/`)) {
      writeAnswer(response, control(universe, listener, exchange));
    } else {
      await flow.serve(exchange.path.startsWith('/warehouse/') ? warehouse : payments, exchange, response);
    }
  };

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => failed(request, response, error));
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.requestTimeout = 0;

  const port = await listen(server, options.port ?? 0, host);

  const reopen = (): void => {
    if (!stopped && !server.listening) server.listen(port, host);
  };
  // Somebody else may have taken the port meanwhile: keep asking for it.
  server.on('error', () => world.after(REOPEN_PAUSE_MS, reopen));

  const listener: Listener = {
    refuse(durationMs) {
      // The answer to the control call goes out first.
      world.after(20, () => {
        server.close();
        server.closeAllConnections();
        world.after(durationMs, reopen);
      });
    },
  };

  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    async stop() {
      stopped = true;
      universe.stop();
      if (!server.listening) return;
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

function failed(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  // The caller went away in the middle of its request: nobody is left to answer.
  if (request.destroyed && !request.complete) return;
  if (error instanceof BodyTooLarge) {
    writeAnswer(response, json(413, { error: { message: 'The request is too large.' } }));
    return;
  }
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  writeAnswer(
    response,
    json(500, { error: { type: 'api_error', message: `The sandbox failed: ${message}` } }),
  );
}

async function listen(server: Server, port: number, host: string): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}
