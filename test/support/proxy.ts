/** A TCP proxy on loopback that stands between a process and what it needs, and can be away or silent. */
import { connect, createServer, type Server, type Socket } from 'node:net';

export interface Proxy {
  readonly port: number;
  /** pass: as if it were not there · refuse: nobody listens, connections are cut · hang: accepted, never answered. */
  set(mode: 'pass' | 'refuse' | 'hang'): Promise<void>;
  stop(): Promise<void>;
}

export async function startProxy(target: { host: string; port: number }): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let mode: 'pass' | 'refuse' | 'hang' = 'pass';
  let port = 0;

  const track = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    return socket;
  };
  const server: Server = createServer((client) => {
    track(client);
    const upstream = track(connect(target));
    client.pipe(upstream);
    upstream.pipe(client);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    if (mode === 'hang') hold();
  });
  /** Nothing is lost while it hangs, as with a stopped process: it all arrives when it goes on. */
  const hold = (): void => {
    for (const socket of sockets) socket.pause();
  };
  const listen = (): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => {
        server.off('error', reject);
        port = (server.address() as { port: number }).port;
        resolve();
      });
    });
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });

  await listen();
  return {
    get port() {
      return port;
    },
    async set(next) {
      const listening = mode !== 'refuse';
      mode = next;
      if (next === 'refuse' && listening) await close();
      if (next !== 'refuse' && !listening) await listen();
      if (next === 'hang') hold();
      if (next === 'pass') for (const socket of sockets) socket.resume();
    },
    async stop() {
      if (mode !== 'refuse') await close();
    },
  };
}

/** Whom a proxy for `url` stands in front of. */
export const targetOf = (url: string, fallbackPort: number): { host: string; port: number } => {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: port === '' ? fallbackPort : Number(port) };
};

/** The same address, by way of the proxy. */
export const through = (url: string, proxy: Proxy): string => {
  const changed = new URL(url);
  changed.hostname = '127.0.0.1';
  changed.port = String(proxy.port);
  return changed.toString();
};
