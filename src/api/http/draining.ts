/** Stopping without cutting anybody off: what is under way is answered, and its connection ends with the answer. */
import type { FastifyInstance } from 'fastify';

/** How often connections that have become idle since are closed; each holds up the stop until then. */
const CLOSE_IDLE_MS = 100;

/** `onStop` is called once, when no new connection is taken any more and before requests under way are awaited. */
export function drainGracefully(instance: FastifyInstance, onStop: () => void): void {
  let closing: NodeJS.Timeout | null = null;
  instance.addHook('preClose', (done) => {
    closing = setInterval(() => instance.server.closeIdleConnections(), CLOSE_IDLE_MS);
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
