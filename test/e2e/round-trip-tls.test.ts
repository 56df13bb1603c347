/** Requests over TLS, in a process that trusts the certificate: what a process trusts is said when it begins. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LOCALHOST } from '../support/localhost-certificate.js';
import { startRawServer, type RawAnswer, type RawServer } from '../support/raw-server.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Prints what three requests came to, and leaves its connections open. */
const PROGRAM = `
  import { Peer, send } from './dist/src/outgoing/round-trip.js';
  const [host, port] = process.argv.slice(-2);
  const peer = new Peer('https://' + host + ':' + port);
  const ask = () => send({ peer, path: '/', method: 'POST', headers: {}, body: 'x', timeout_ms: 10_000, largest_body_bytes: 99 })
    .then((answer) => answer.text(), ({ failure, unsent }) => ({ failure, unsent }));
  console.log(JSON.stringify([await ask(), ...(await Promise.all([ask(), ask()]))]));
`;

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

let folder: string;
let server: RawServer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'round-trip-'));
  await writeFile(join(folder, 'trusted.pem'), LOCALHOST.cert);
});
afterAll(() => rm(folder, { recursive: true }));

async function asking(host: string, answer: RawAnswer = OK): Promise<unknown> {
  server = await startRawServer({ secure: true });
  server.answer(answer);
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '-e', PROGRAM, '--', host, String(server.port)],
      {
        cwd: ROOT,
        timeout: 15_000,
        env: { ...process.env, NODE_EXTRA_CA_CERTS: join(folder, 'trusted.pem') },
      },
    );
    return JSON.parse(stdout);
  } finally {
    await server.stop();
  }
}

test('answers come over kept connections, which do not keep the process', async () => {
  expect(await asking('localhost')).toEqual(['ok', 'ok', 'ok']);
  expect(server.received.map(({ connection }) => connection).sort()).toEqual([1, 1, 2]);
});

test('a certificate for another name is refused, and nothing was sent', async () => {
  const refused = { failure: 'not_connected', unsent: true };
  expect(await asking('127.0.0.1')).toEqual([refused, refused, refused]);
  expect(server.received).toHaveLength(0);
});

test('a connection whose data is broken is lost at once, not at the deadline', async () => {
  const lost = { failure: 'connection_lost', unsent: false };
  const record = Buffer.from([0x17, 3, 3, 0, 5, 1, 2, 3, 4, 5]);
  const below = (socket: Socket): Socket => (socket as Socket & { readonly _parent: Socket })._parent;
  expect(await asking('localhost', (socket) => below(socket).write(record))).toEqual([lost, lost, lost]);
});
