/** A server below HTTP: what it says to a request is bytes, and when a connection ends is said as well. */
import net, { type AddressInfo, type Socket } from 'node:net';
import tls from 'node:tls';
import { LOCALHOST } from './localhost-certificate.js';

export interface RawServer {
  readonly port: number;
  /** The requests so far, each with the number of its connection. */
  readonly received: readonly { readonly connection: number; readonly text: string }[];
  /** Connections so far, those included that a handshake ended. */
  readonly connections: number;
  /** Connections that stand. */
  readonly open: number;
  /** The next requests are answered by these in order; the last one stays. */
  answer(...answers: readonly RawAnswer[]): void;
  stop(): Promise<void>;
}

/** Given the connection, writes to it or ends it. Bytes: they are written. */
export type RawAnswer = string | Buffer | ((connection: Socket) => void);

/** `silent` says nothing: with TLS, no handshake is ever done. */
export async function startRawServer({
  secure = false,
  silent = false,
  host = '127.0.0.1',
} = {}): Promise<RawServer> {
  const received: { connection: number; text: string }[] = [];
  const open = new Set<Socket>();
  let answers: RawAnswer[] = ['HTTP/1.1 500 Unscripted\r\nContent-Length: 0\r\n\r\n'];
  let connections = 0;

  const server = silent || !secure ? net.createServer() : tls.createServer(LOCALHOST);
  server.on('connection', (socket: Socket) => {
    connections += 1;
    open.add(socket);
    socket.on('error', () => undefined).once('close', () => open.delete(socket));
  });
  server.on(server instanceof tls.Server ? 'secureConnection' : 'connection', (socket: Socket) => {
    const connection = connections;
    let text = '';
    socket.on('error', () => undefined);
    if (silent) return void socket.resume();
    socket.on('data', (data) => {
      text += data.toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (end === -1 || text.length < end + 4 + length) return;
      received.push({ connection, text });
      text = '';
      const answer = (answers.length > 1 ? answers.shift() : answers[0]) ?? '';
      if (typeof answer === 'function') answer(socket);
      else socket.write(answer);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    received,
    get connections() {
      return connections;
    },
    get open() {
      return open.size;
    },
    answer(...next) {
      answers = [...next];
    },
    async stop() {
      for (const socket of open) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
