/** The probes of a process that serves nothing else. */
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { probeServer, stopped } from '../../src/api/probes/probe-server.js';
import type { Readiness } from '../../src/api/dependencies.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { Metrics } from '../../src/telemetry/metrics.js';
import { refusal } from '../support/api.js';
import { clientOf, type Client } from '../support/http.js';

async function aProcess(
  check: Readiness['check'],
): Promise<{ probe: Client; port: number; stop: () => Promise<void> }> {
  const server = probeServer({ readiness: { check }, metrics: new Metrics() }, createLogger('silent'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { probe: clientOf(port), port, stop: () => stopped(server) };
}

test('it serves its probes and nothing else', async () => {
  const { probe, stop } = await aProcess(() =>
    Promise.resolve({ ready: false, checks: { postgres: 'away' } }),
  );
  expect((await probe('GET', '/livez?verbose')).json()).toEqual({ status: 'alive' });
  const ready = await probe('GET', '/readyz');
  expect([ready.status, ready.json()]).toEqual([503, { status: 'not_ready', checks: { postgres: 'away' } }]);
  const metrics = await probe('GET', '/metrics');
  expect(metrics.headers['content-type']).toMatch(/^text\/plain/);
  expect(metrics.text).toContain('process_cpu_seconds_total');
  expect(await probe('HEAD', '/livez')).toMatchObject({ status: 200, text: '' });
  for (const path of ['/v1/operations', '/openapi.json', '/docs', '/', '/livez/'])
    expect(refusal(await probe('GET', path))).toEqual([404, 'not_found']);
  const posted = await probe('POST', '/livez');
  expect([...refusal(posted), posted.headers.allow]).toEqual([405, 'method_not_allowed', 'GET, HEAD']);
  await stop();
});

test.each([
  ['fails', () => Promise.reject(new Error('postgres://app:secret@db'))],
  ['hangs', () => new Promise<never>(() => undefined)],
])('a readiness check that %s is "not ready", and says nothing secret', async (_name, check) => {
  const { probe, stop } = await aProcess(check);
  const answer = await probe('GET', '/readyz');
  expect(answer.status).toBe(503);
  expect(answer.text).not.toContain('secret');
  expect((await probe('GET', '/livez')).status).toBe(200);
  await stop();
});

test.each([
  ['says nothing', ''],
  ['is in the middle of a request', 'GET /livez HTTP/1.1\r\n'],
  ['waits for an answer', 'GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n'],
])(
  'a connection that %s does not hold up the stop',
  async (_name, said) => {
    let answer = (): void => undefined;
    const late = new Promise<void>((resolve) => (answer = resolve));
    const { port, stop } = await aProcess(() => late.then(() => ({ ready: true, checks: {} })));
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(said);
    const ended = once(socket, 'close');
    await new Promise((resolve) => setTimeout(resolve, 20));
    await stop();
    await ended;
    answer();
  },
  1_500,
);
