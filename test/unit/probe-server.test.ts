/** The probes of a process that serves nothing else. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { probeServer } from '../../src/api/probes/probe-server.js';
import type { Readiness } from '../../src/api/dependencies.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { Metrics } from '../../src/telemetry/metrics.js';
import { refusal } from '../support/api.js';
import { clientOf, type Client } from '../support/http.js';

async function aProcess(check: Readiness['check']): Promise<{ probe: Client; stop: () => Promise<unknown> }> {
  const server = probeServer({ readiness: { check }, metrics: new Metrics() }, createLogger('silent'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = (): Promise<unknown> => {
    server.close();
    return once(server, 'close');
  };
  return { probe: clientOf((server.address() as AddressInfo).port), stop };
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
  expect(refusal(await probe('POST', '/livez'))).toEqual([405, 'method_not_allowed']);
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
