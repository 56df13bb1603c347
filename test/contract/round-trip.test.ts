/** One exchange over real connections: what is lost, what can have left, and which connection is used. */
import type { Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Peer, send, TransportError, type Outgoing } from '../../src/outgoing/round-trip.js';
import { startRawServer, type RawAnswer, type RawServer } from '../support/raw-server.js';
import { closedPort } from '../support/scripted-server.js';

/** Patience for what comes, on a loaded machine, and for what never does. */
const TIMEOUT_MS = 10_000;
const SHORT_MS = 200;
const SECRET = 'sk_test_RoundTrip123';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const reset = (socket: Socket): void => void socket.resetAndDestroy();
const silence = (): void => undefined;
const saying =
  (bytes: string, after: (socket: Socket) => void) =>
  (socket: Socket): void =>
    void socket.write(bytes, () => after(socket));
const thenEnd = (bytes: string): RawAnswer => saying(bytes, (socket) => socket.end());
/** The bytes are read before the reset is. */
const thenReset = (bytes: string): RawAnswer =>
  saying(bytes, (socket) => setTimeout(() => reset(socket), 30));
const dripping =
  (before: string) =>
  (socket: Socket): void => {
    socket.write(before);
    const timer = setInterval(() => socket.write('x'), 20);
    socket.once('close', () => clearInterval(timer));
  };

const servers: RawServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});
async function aServer(
  options: Parameters<typeof startRawServer>[0] & { name?: string } = {},
): Promise<{ server: RawServer; peer: Peer }> {
  const server = await startRawServer(options);
  servers.push(server);
  const scheme = options.secure === true ? 'https' : 'http';
  return { server, peer: new Peer(`${scheme}://${options.name ?? '127.0.0.1'}:${server.port}`) };
}

/** What came: status and body, or what was lost of it. */
async function got(peer: Peer, more: Partial<Outgoing> = {}): Promise<Record<string, unknown>> {
  try {
    const answer = await send({
      peer,
      path: '/',
      method: 'POST',
      headers: { authorization: `Bearer ${SECRET}` },
      body: 'hello',
      timeout_ms: TIMEOUT_MS,
      largest_body_bytes: 1000,
      ...more,
    });
    return { status: answer.status, text: answer.text() };
  } catch (error) {
    expect(error).toBeInstanceOf(TransportError);
    expect(error).not.toHaveProperty('code');
    const { failure, unsent, status, message } = error as TransportError;
    expect(message).not.toContain(SECRET);
    return { failure, unsent, status };
  }
}

const lost = { failure: 'connection_lost', unsent: false, status: null };
const brokeOff = { failure: 'connection_lost', unsent: false, status: 200 };
const noAnswer = { failure: 'timeout', unsent: false, status: null };
const refused = { failure: 'not_connected', unsent: true, status: null };
const ok = { status: 200, text: 'ok' };

describe('an answer', () => {
  const body = (bytes: Buffer | string): Buffer => {
    const content = Buffer.from(bytes);
    return Buffer.concat([
      Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${content.length}\r\n\r\n`),
      content,
    ]);
  };
  test.each<{ name: string; given: RawAnswer; want: object }>([
    { name: 'with a length', given: OK, want: ok },
    { name: 'without a body', given: 'HTTP/1.1 204 No\r\n\r\n', want: { status: 204, text: '' } },
    {
      name: 'in chunks',
      given: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n',
      want: ok,
    },
    { name: 'that ends with the connection', given: thenEnd('HTTP/1.1 200 OK\r\n\r\nok'), want: ok },
    { name: 'of HTTP/1.0', given: thenEnd('HTTP/1.0 200 OK\r\n\r\nok'), want: ok },
    { name: 'after hints', given: `HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${OK}`, want: ok },
    {
      name: 'that leads elsewhere',
      given: 'HTTP/1.1 307 Go\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n',
      want: { status: 307, text: '' },
    },
    { name: 'with a byte order mark', given: body('\uFEFFok'), want: ok },
    {
      name: 'that is no UTF-8',
      given: body(Buffer.from([0xff, 0x61, 0xe2, 0x82])),
      want: { status: 200, text: '\uFFFDa\uFFFD' },
    },
    { name: 'that is as large as it may be', given: body('x'.repeat(1000)), want: { status: 200 } },
    {
      name: 'that is too large',
      given: body('x'.repeat(1001)),
      want: { failure: 'invalid_body', unsent: false, status: 200 },
    },
    {
      name: 'that is too large and never ends',
      given: dripping(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(2000)}`),
      want: { failure: 'invalid_body', unsent: false, status: 200 },
    },
    {
      name: 'that ends early',
      given: thenEnd('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok'),
      want: brokeOff,
    },
    {
      name: 'whose chunks end early',
      given: thenEnd('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n'),
      want: brokeOff,
    },
    { name: 'without a length, reset', given: thenReset('HTTP/1.1 200 OK\r\n\r\nok'), want: brokeOff },
    { name: 'whose head ends early', given: thenEnd('HTTP/1.1 200 OK\r\nContent-Le'), want: lost },
    { name: 'that is none', given: 'SMTP ready\r\n\r\n', want: lost },
    {
      name: 'that switches protocols',
      given: 'HTTP/1.1 101 Go\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
      want: lost,
    },
    // Nobody asked whether to continue. undici ends such a connection; it is not asked twice.
    { name: 'after an unasked 100', given: `HTTP/1.1 100 Continue\r\n\r\n${OK}`, want: lost },
    { name: 'that never came after hints', given: thenEnd('HTTP/1.1 103 Early Hints\r\n\r\n'), want: lost },
    { name: 'that is a close', given: thenEnd(''), want: lost },
    { name: 'that is a reset', given: reset, want: lost },
  ])('$name, on a new connection and on a kept one', async ({ given, want }) => {
    const { server, peer } = await aServer();
    server.answer(given);
    expect(await got(peer)).toMatchObject(want);
    expect(server.received).toHaveLength(1);
    server.answer(OK, given);
    expect(await got(peer)).toEqual(ok);
    expect(await got(peer)).toMatchObject(want);
  });

  test('of several headers of one name the first counts', async () => {
    const { server, peer } = await aServer();
    server.answer(OK.replace('\r\n', '\r\nRetry-After: 3\r\nRetry-After: 60\r\n'));
    const { headers } = await send({
      peer,
      path: '/',
      method: 'GET',
      headers: {},
      timeout_ms: TIMEOUT_MS,
      largest_body_bytes: 9,
    });
    expect(headers).toEqual({ 'retry-after': '3', 'content-length': '2' });
  });

  test.each([
    { name: 'silence', given: silence, want: noAnswer },
    { name: 'half a head', given: saying('HTTP/1.1 200 OK\r\nX: ', silence), want: noAnswer },
    { name: 'a head that drips', given: dripping('HTTP/1.1 200 OK\r\nX: '), want: noAnswer },
    {
      name: 'a body that drips',
      given: dripping('HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n'),
      want: { ...noAnswer, status: 200 },
    },
  ])('that does not come in time: $name', async ({ given, want }) => {
    const { server, peer } = await aServer();
    for (const answers of [[given], [OK, given]]) {
      server.answer(...answers);
      if (answers.length > 1) await got(peer);
      const begun = performance.now();
      expect(await got(peer, { timeout_ms: SHORT_MS })).toEqual(want);
      expect(performance.now() - begun).toBeLessThan(SHORT_MS * 10);
    }
    // Each was sent once.
    expect(server.received).toHaveLength(3);
  });
});

describe('nothing was sent', () => {
  test('where nobody listens, whether one asks or many', async () => {
    const peer = new Peer(`http://127.0.0.1:${await closedPort()}`);
    expect(await Promise.all([1, 2, 3].map(() => got(peer)))).toEqual([refused, refused, refused]);
  });

  test('where a certificate is refused', async () => {
    for (const name of ['localhost', '127.0.0.1']) {
      const { server, peer } = await aServer({ secure: true, name });
      server.answer(OK);
      expect(await got(peer)).toEqual(refused);
      expect(server.received).toHaveLength(0);
    }
  });

  test('where the other side speaks no TLS, or never ends its handshake', async () => {
    const { server, peer } = await aServer({ silent: true, secure: true });
    expect(await got(peer, { timeout_ms: SHORT_MS })).toEqual({ ...noAnswer, unsent: true });
    while (server.open > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(server.connections).toBe(1);
    const plain = await aServer();
    const secure = new Peer(plain.peer.origin.replace('http:', 'https:'));
    expect(await got(secure, { timeout_ms: SHORT_MS })).toMatchObject({ unsent: true });
    expect(plain.server.received).toHaveLength(0);
  });

  test('of a header that cannot be written, on a new connection and on a kept one', async () => {
    const { server, peer } = await aServer();
    const headers = { authorization: `Bearer ${SECRET}\r\nx: y` };
    expect(await got(peer, { headers })).toEqual(refused);
    server.answer(OK);
    expect(await got(peer)).toEqual(ok);
    expect(await got(peer, { headers })).toEqual(refused);
    expect(server.received).toHaveLength(1);
  });

  test('and nothing is, after the deadline has said so', async () => {
    const { server, peer } = await aServer();
    server.answer(OK);
    await got(peer);
    // The deadline passes before the kept connection is looked at.
    const answer = got(peer, { timeout_ms: 1 });
    const until = performance.now() + 20;
    while (performance.now() < until);
    const { unsent } = await answer;
    await new Promise((resolve) => setTimeout(resolve, 50));
    if (unsent === true) expect(server.received).toHaveLength(1);
    expect(await got(peer)).toEqual(ok);
  });
});

describe('a kept connection', () => {
  const numbers = ({ received }: RawServer) => received.map(({ connection }) => connection);

  test('is used one request after the other', async () => {
    const { server, peer } = await aServer();
    server.answer(OK);
    for (let count = 0; count < 5; count += 1) expect(await got(peer)).toEqual(ok);
    expect(server.connections).toBe(1);
  });

  test('carries one request at a time, and there are as many as are needed', async () => {
    const { server, peer } = await aServer();
    server.answer((socket) => setTimeout(() => socket.write(OK), 20));
    const round = () => Promise.all(Array.from({ length: 20 }, () => got(peer)));
    expect(await round()).toEqual(Array.from({ length: 20 }, () => ok));
    expect(server.connections).toBe(20);
    await round();
    expect(server.connections).toBe(20);
  });

  test.each([
    ['says that it closes', thenEnd('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok')],
    ['closes without a word', thenEnd(OK)],
    ['resets', thenReset(OK)],
    ['keeps it for too short', OK.replace('\r\n', '\r\nKeep-Alive: timeout=1\r\n')],
  ])('is not used again where the other side %s', async (_, given) => {
    const { server, peer } = await aServer();
    server.answer(given);
    expect(await got(peer)).toEqual(ok);
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(await got(peer)).toEqual(ok);
    expect(numbers(server)).toEqual([1, 2]);
  });

  test.each([
    ['closed', thenEnd('')],
    ['reset', reset],
  ])('that turns out to be %s is worth one resend, on a new connection', async (_, closed) => {
    const { server, peer } = await aServer();
    server.answer(OK, closed, OK);
    await got(peer);
    expect(await got(peer)).toEqual(ok);
    expect(numbers(server)).toEqual([1, 1, 2]);
    expect(server.received[1]?.text).toBe(server.received[2]?.text);
  });

  test('that is lost after the request was read does not make it unsent, however the resend ends', async () => {
    const { server, peer } = await aServer();
    server.answer(OK, reset, reset);
    await got(peer);
    expect(await got(peer)).toEqual(lost);
    expect(numbers(server)).toEqual([1, 1, 2]);

    server.answer(OK, (socket) => void server.stop().then(() => socket.destroy()));
    await got(peer);
    expect(await got(peer)).toEqual({ ...refused, unsent: false });
  });

  test('that is lost after a byte of the answer is worth no resend', async () => {
    const { server, peer } = await aServer();
    server.answer(OK, thenReset('H'));
    await got(peer);
    expect(await got(peer)).toEqual(lost);
    expect(server.received).toHaveLength(2);
  });

  test('shares the one deadline with its resend', async () => {
    const { server, peer } = await aServer();
    const late = (socket: Socket): void => void setTimeout(() => reset(socket), 400);
    server.answer(OK, late, silence);
    await got(peer);
    const begun = performance.now();
    expect(await got(peer, { timeout_ms: 500 })).toEqual(noAnswer);
    expect(performance.now() - begun).toBeLessThan(850);
  });

  test('is left alone after a body that was too large', async () => {
    const { server, peer } = await aServer();
    server.answer(`HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n${'x'.repeat(2000)}`, OK);
    await got(peer);
    expect(await got(peer)).toEqual(ok);
    expect(numbers(server)).toEqual([1, 2]);
  });
});

test('whatever a server does, what is told to be unsent never arrived, and nothing arrives three times', async () => {
  const { server, peer } = await aServer();
  const faults: RawAnswer[] = [
    OK,
    OK,
    OK,
    reset,
    silence,
    thenEnd(''),
    thenEnd(OK),
    thenReset(OK),
    thenReset('HT'),
  ];
  server.answer(...Array.from({ length: 2000 }, (_, index) => faults[(index * 7) % faults.length] ?? OK));
  const unsent = new Set<string>();
  await Promise.all(
    Array.from({ length: 20 }, async (_, lane) => {
      for (let count = 0; count < 20; count += 1) {
        const id = `/${lane}-${count}`;
        const { unsent: told } = await got(peer, { path: id, timeout_ms: 5 + ((lane * count) % 60) });
        if (told === true) unsent.add(id);
      }
    }),
  );
  const times = new Map<string, number>();
  for (const { text } of server.received) {
    const id = text.split(' ')[1] ?? '';
    times.set(id, (times.get(id) ?? 0) + 1);
  }
  expect([...times.keys()].filter((id) => unsent.has(id))).toEqual([]);
  expect(Math.max(...times.values())).toBeLessThanOrEqual(2);
});

test('an IPv6 address is one', async () => {
  const { server, peer } = await aServer({ host: '::1', name: '[::1]' });
  server.answer(OK);
  expect(await got(peer)).toEqual(ok);
  expect(server.received[0]?.text).toContain(`host: [::1]:${server.port}\r\n`);
});
