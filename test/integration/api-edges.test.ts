import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connect } from 'node:net';
import { aBody, anApi, operation, pathOf, problem, refusal, type TestApi } from '../support/api.js';

let api: TestApi;
beforeAll(async () => {
  api = await anApi();
});
afterAll(() => api.stop());

const post = (body: string | Buffer, headers: Record<string, string>) =>
  api.call('POST', '/v1/operations', { body, headers });
const JSON_TYPE = { 'content-type': 'application/json' };
const aText = (id: string): string => JSON.stringify(aBody(id));

describe('who calls', () => {
  test.each([
    ['nothing', {}],
    ['another key', { authorization: 'Bearer wrong' }],
    ['another scheme', { authorization: 'Basic shop-secret' }],
    ['an empty key', { authorization: 'Bearer ' }],
  ] as [string, Record<string, string>][])('%s: 401, whatever the body is', async (_name, headers) => {
    for (const body of [aText('anonymous'), '{', 'x'.repeat(300_000)]) {
      const answer = await api.anonymous('POST', '/v1/operations', {
        body,
        headers: { ...JSON_TYPE, ...headers },
      });
      expect(refusal(answer)).toEqual([401, 'unauthorized']);
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer /);
    }
    expect(refusal(await api.call('GET', pathOf('anonymous')))).toEqual([404, 'not_found']);
  });
  test('probes and documents need no key', async () => {
    for (const path of ['/livez', '/readyz', '/metrics', '/openapi.json', '/docs']) {
      expect((await api.anonymous('GET', path)).status).toBe(200);
    }
  });
});

describe('bodies', () => {
  test.each([
    ['text/plain', { 'content-type': 'text/plain' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['XML', { 'content-type': 'application/xml' }],
    ['something like JSON', { 'content-type': 'application/jsonx' }],
    ['another kind of JSON', { 'content-type': 'application/vnd.api+json' }],
    ['a merge patch, where none is taken', { 'content-type': 'application/merge-patch+json' }],
    ['no media type at all', { 'content-type': 'json' }],
    ['another charset', { 'content-type': 'application/json; charset=utf-16' }],
    ['compression', { ...JSON_TYPE, 'content-encoding': 'gzip' }],
  ])('%s: 415', async (name, headers) => {
    expect(refusal(await post(aText(`type ${name}`), headers))).toEqual([415, 'unsupported_media_type']);
    expect(refusal(await api.call('GET', pathOf(`type ${name}`)))).toEqual([404, 'not_found']);
  });
  test.each([
    ['with a charset', { 'content-type': 'application/json; charset=UTF-8' }],
    ['in capitals', { 'content-type': 'Application/JSON' }],
    ['without a media type', {}],
  ] as [string, Record<string, string>][])('JSON %s is taken', async (name, headers) => {
    operation(await post(aText(`json ${name}`), headers), 201);
  });
  test.each([
    ['not JSON', '{'],
    ['a member twice', aText('twice').replace('"spec"', '"operation_id":"other","spec"')],
    ['__proto__', aText('proto').replace('"spec"', '"__proto__":{"x":1},"spec"')],
    ['bytes that are no text', Buffer.from([0x7b, 0xff, 0x7d])],
    ['nesting', '['.repeat(100_000) + ']'.repeat(100_000)],
  ])('%s: 400', async (_name, body) => {
    const before = await api.rows('order_operations');
    expect(refusal(await post(body, JSON_TYPE)).slice(0, 2)).toEqual([400, 'invalid_request']);
    expect(await api.rows('order_operations')).toBe(before);
  });
  test('the largest create fits, what is larger is 413, declared or not', async () => {
    const lines = Array.from({ length: 200 }, (_, n) => ({
      sku: `${n + 100}${'😀'.repeat(125)}`,
      quantity: 1,
    }));
    operation(await api.call('POST', '/v1/operations', { body: aBody('largest', { lines }) }), 201);
    const large = JSON.stringify({ ...aBody('too large'), labels: { a: 'x'.repeat(300_000) } });
    expect(refusal(await post(large, JSON_TYPE))).toEqual([413, 'payload_too_large']);
    const chunked = await api
      .call('POST', '/v1/operations', {
        body: large,
        headers: { ...JSON_TYPE, 'transfer-encoding': 'chunked' },
      })
      .catch((error: unknown) => error);
    // The server may close before everything was sent; it never stores.
    if (!(chunked instanceof Error)) expect(chunked).toMatchObject({ status: 413 });
    expect(refusal(await api.call('GET', pathOf('too large')))).toEqual([404, 'not_found']);
  });
});

describe('addresses and methods', () => {
  test.each([
    ['GET', '/nowhere'],
    ['GET', '/v1'],
    ['GET', '/v1/operations/'],
    ['GET', '/v1/operations/a/b'],
    ['GET', '/v1/operations/a/cancel/b'],
    ['POST', '/v1/operations//cancel'],
    ['GET', '/docs/../package.json'],
    ['GET', '/docs/index.js'],
  ])('%s %s: 404', async (method, path) => {
    expect(refusal(await api.call(method, path))).toEqual([404, 'not_found']);
  });
  test.each([
    ['DELETE', '/v1/operations/a', 'GET, HEAD, OPTIONS, PATCH'],
    ['PUT', '/v1/operations', 'GET, HEAD, OPTIONS, POST'],
    ['GET', '/v1/operations/a/cancel', 'OPTIONS, POST'],
    ['POST', '/v1/operations/a/plan', 'GET, HEAD, OPTIONS'],
    ['POST', '/livez', 'GET, HEAD, OPTIONS'],
  ])('%s %s: 405, and what is possible', async (method, path, allow) => {
    const answer = await api.call(method, path);
    expect(refusal(answer)).toEqual([405, 'method_not_allowed']);
    expect(answer.headers.allow).toBe(allow);
  });
  test('an address that cannot be decoded: 400', async () => {
    expect(refusal(await api.call('GET', '/v1/operations/%ff'))).toEqual([400, 'invalid_request']);
    expect(refusal(await api.call('GET', '/v1/operations/%zz'))).toEqual([400, 'invalid_request']);
  });
  test('unknown query parameters are refused on every route', async () => {
    await api.create('query');
    const routes: [string, string][] = [
      ['POST', '/v1/operations?dry_run=1'],
      ['GET', pathOf('query', '?verbose=1')],
      ['PATCH', pathOf('query', '?force')],
      ['POST', pathOf('query', '/cancel?now=1')],
      ['GET', pathOf('query', '/events?limit=1')],
    ];
    for (const [method, path] of routes) {
      const answer = await api.call(method, path, { headers: { 'if-match': '*' } });
      expect(refusal(answer)).toEqual([400, 'invalid_request', `?${/\?(\w+)/.exec(path)?.[1]}`]);
    }
    expect(operation(await api.call('GET', pathOf('query')), 200).status.cancellation).toBeNull();
  });
});

describe('request ids', () => {
  test.each(['abc-123', 'A.b:c_d+e/f=@', 'x'.repeat(128)])('%s is kept', async (id) => {
    const answer = await api.call('GET', pathOf('nothing'), { headers: { 'x-request-id': id } });
    expect(answer.headers['x-request-id']).toBe(id);
    expect(problem(answer).request_id).toBe(id);
  });
  test.each(['x'.repeat(129), 'a b', '<script>', '"', ''])('%s is replaced', async (id) => {
    const answer = await api.call('GET', pathOf('nothing'), { headers: { 'x-request-id': id } });
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });
  test('each request has one of its own', async () => {
    const ids = await Promise.all(
      [1, 2, 3].map(async () => (await api.anonymous('GET', '/livez')).headers['x-request-id']),
    );
    expect(new Set(ids).size).toBe(3);
  });
});

describe('what is not HTTP', () => {
  const raw = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(api.port, '127.0.0.1', () => socket.write(text));
      let answer = '';
      socket.on('data', (chunk) => (answer += chunk.toString()));
      socket.on('end', () => resolve(answer));
      socket.on('error', reject);
    });
  test('is answered with a problem', async () => {
    const answer = await raw('NONSENSE\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('application/problem+json');
    expect(answer).toContain('"code":"invalid_request"');
  });
  test('headers without end are 431', async () => {
    const answer = await raw(`GET /livez HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(20_000)}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
  });
});
