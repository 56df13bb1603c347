/** Stopping without cutting anybody off: what is under way is answered, and its connection ends with the answer. */
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** How often connections that have become idle since are closed; each holds up the stop until then. */
const CLOSE_IDLE_MS = 100;

/** `onStop` is called once, when no new connection is taken any more and before requests under way are awaited. */
export function drainGracefully(instance: FastifyInstance, onStop: () => void): void {
  let closing: NodeJS.Timeout | null = null;
  const open = new Set<Socket>();
  instance.server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  const closeIdle = (): void => {
    instance.server.closeIdleConnections();
    // To Node a connection that has not said anything yet, as browsers open them in advance, is none of these.
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
  };
  instance.addHook('preClose', (done) => {
    closing = setInterval(closeIdle, CLOSE_IDLE_MS);
    closing.unref();
    onStop();
    done();
  });
  instance.addHook('onSend', (_request, reply, _payload, done) => {
    if (closing !== null) void reply.header('connection', 'close');
    done();
  });
  instance.server.on('close', () => {
    if (closing !== null) clearInterval(closing);
  });
}
