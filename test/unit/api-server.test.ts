import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { drainGracefully } from '../../src/api/http/draining.js';
import { createServer } from '../../src/api/http/server.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { clientOf, type Client } from '../support/http.js';

const server = (): FastifyInstance =>
  createServer(createLogger('silent'), null).adapter.getInstance<FastifyInstance>();

test('a route under /v1 that says nothing about access stops the start', () => {
  expect(() => server().get('/v1/forgotten', () => 'x')).toThrow('/v1/forgotten declares no access');
});

test('a connection that says nothing does not hold up the stop', async () => {
  const instance = server();
  drainGracefully(instance, () => undefined);
  await instance.listen({ port: 0, host: '127.0.0.1' });
  const accepted = once(instance.server, 'connection');
  const socket = connect((instance.server.address() as AddressInfo).port, '127.0.0.1');
  await accepted;
  const ended = once(socket, 'close');
  await instance.close();
  await ended;
}, 1_500);

describe('a route that takes raw bodies', () => {
  const instance = server();
  let call: Client;
  beforeAll(async () => {
    const config = { access: { scopes: 'public', raw_body: true } } as const;
    instance.post('/v1/hook', { config }, (request) => {
      const { body } = request;
      return { bytes: Buffer.isBuffer(body) ? body.toString('base64') : typeof body };
    });
    await instance.listen({ port: 0, host: '127.0.0.1' });
    call = clientOf((instance.server.address() as AddressInfo).port);
  });
  afterAll(() => instance.close());

  const odd = Buffer.from('{ "b":1,\n"a" : "\u00e4", "b":2 } ');
  test.each([
    ['JSON', { 'content-type': 'application/json; charset=utf-8' }],
    ['text', { 'content-type': 'text/plain' }],
    ['no media type', {}],
    ['an unknown media type', { 'content-type': 'application/octet-stream' }],
  ] as [string, Record<string, string>][])('gets the bytes as they were sent: %s', async (_name, headers) => {
    const answer = await call('POST', '/v1/hook', { body: odd, headers });
    expect(answer.json()).toEqual({ bytes: odd.toString('base64') });
  });
  test('takes 300 kB, and not more than a megabyte', async () => {
    const headers = { 'content-type': 'application/json' };
    const large = await call('POST', '/v1/hook', { body: Buffer.alloc(300_000, 'x'), headers });
    expect(large.json<{ bytes: string }>().bytes).toHaveLength(400_000);
    const tooLarge = await call('POST', '/v1/hook', { body: Buffer.alloc(1_048_577, 'x'), headers });
    expect(tooLarge.status).toBe(413);
  });
});
