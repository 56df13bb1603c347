// Asking a service, in its own protocol and with nothing but a socket, whether it answers.
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A loopback port that was free a moment ago. Another process may take it first, so starters try again. */
export function freePort(preferred = 0) {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error) => {
      if (preferred && (error.code === 'EADDRINUSE' || error.code === 'EACCES')) resolve(freePort());
      else reject(error);
    });
    server.listen(preferred, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Repeats `ask` until it is true (then true), or until `isOver()` or the time is up (then false). */
export async function waitUntil(ask, { signal, isOver = () => false, timeoutMs = 60_000 }) {
  for (const end = Date.now() + timeoutMs; Date.now() < end; await sleep(50, undefined, { signal })) {
    if (await ask()) return true;
    if (isOver()) return false;
  }
  return false;
}

/** Postgres asks for a password ('R') once it takes sessions; while it starts or recovers it answers an error. */
export async function postgresAnswers(port) {
  const parameters = Buffer.from('user\0postgres\0database\0postgres\0\0');
  const startup = Buffer.alloc(8 + parameters.length);
  startup.writeInt32BE(startup.length, 0);
  startup.writeInt16BE(3, 4); // protocol 3.0
  parameters.copy(startup, 8);
  return (await converse(port, startup)).startsWith('R');
}

/** Redis accepts our password: so it is ours, and it has loaded its data. */
export async function redisAnswers(port, password) {
  const reply = await converse(port, `AUTH ${password}\r\nPING\r\nQUIT\r\n`);
  return reply.startsWith('+OK\r\n+PONG');
}

function converse(port, request) {
  return new Promise((resolve) => {
    let reply = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    socket.setEncoding('latin1').setTimeout(2000, () => socket.destroy());
    socket.on('data', (text) => {
      reply += text;
      // Redis closes after QUIT; Postgres would wait for the password.
      if (/^[RE]/.test(reply)) socket.destroy();
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(reply));
  });
}
