import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import {
  ApiKeyAuthenticator,
  firstOf,
  mayCall,
  type Authenticator,
} from '../../src/api/http/authentication.js';
import { checkIfMatch, parseIfMatch } from '../../src/api/http/if-match.js';
import { parseJsonBody } from '../../src/api/http/json-body.js';
import { problemBody, ProblemError } from '../../src/api/http/problem.js';
import { toProblem } from '../../src/api/http/problem-filter.js';
import { RouteTable } from '../../src/api/http/route-table.js';
import { Problem } from '../../src/api/schemas/problem.js';
import { SCOPES, type Scope } from '../../src/config.js';
import { StoreUnavailable } from '../../src/store/database.js';

function codeOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof ProblemError) return error.code;
    throw error;
  }
  return 'none';
}

describe('parseJsonBody', () => {
  const parse = (text: string): unknown => parseJsonBody(Buffer.from(text));

  test.each(['', ' ', '\r\n\t'])('%j is no body', (text) => {
    expect(parse(text)).toBeUndefined();
  });
  test.each([
    '{"a":{"a":1},"b":[{"a":1},{"a":2}]}',
    '{"a":"{\\"a\\":1,\\"a\\":2}","b":"\\\\"}',
    '{"constructor":"x","prototype":"y","toString":1}',
    '[1,"a",{"x":[]}]',
    'null',
    '[0,-0.0,1.0,1e2,1.5,100e-2,12900.000,-7,0.5e1,9007199254740993,0e5,0.0e-3]',
    '"\\u00e4\\ud83d\\ude00"',
  ])('%s is taken as it is', (text) => {
    expect(JSON.stringify(parse(text))).toBe(JSON.stringify(JSON.parse(text)));
  });
  test('a byte order mark is no part of the text', () => {
    expect(parse('\ufeff{"a":1}')).toEqual({ a: 1 });
  });
  test.each([
    ['a fraction that would vanish', '{"value":12900.00000000000000001}'],
    ['a fraction that would vanish, with an exponent', '{"value":1290000000000000000001e-17}'],
    ['a number too small for a double', '1e-400'],
    ['not JSON', '{a:1}'],
    ['two values', '{} {}'],
    ['cut off', '{"a":'],
    ['a member twice', '{"amount":1,"amount":2}'],
    ['a member twice, written differently', '{"a":1,"\\u0061":2}'],
    ['a member twice, deep', '{"x":[{"y":{"a":1,"b":2,"a":3}}]}'],
    ['a member twice, the first an object', '{"a":{"z":1},"a":2}'],
    ['__proto__', '{"labels":{"__proto__":{"admin":true}}}'],
    ['__proto__, written differently', '{"\\u005f_proto__":1}'],
    ['too deep', '['.repeat(17) + ']'.repeat(17)],
    ['far too deep', '{"a":'.repeat(20_000) + '1' + '}'.repeat(20_000)],
  ])('%s is refused', (_name, text) => {
    expect(codeOf(() => parse(text))).toBe('invalid_request');
  });
  test('bytes that are not UTF-8 are refused', () => {
    expect(codeOf(() => parseJsonBody(Buffer.from([0x22, 0xff, 0x22])))).toBe('invalid_request');
  });
});

describe('If-Match', () => {
  const table: [string, 'fits' | 'version_mismatch' | 'invalid_request' | 'missing'][] = [
    ['"7"', 'fits'],
    ['  "7" ', 'fits'],
    ['*', 'fits'],
    ['"5", "7"', 'fits'],
    ['"5","7","9"', 'fits'],
    ['W/"7", "7"', 'fits'],
    ['"a,b", "7"', 'fits'],
    ['"6"', 'version_mismatch'],
    ['W/"7"', 'version_mismatch'],
    ['"07"', 'version_mismatch'],
    ['"7.0"', 'version_mismatch'],
    ['""', 'version_mismatch'],
    ['"other"', 'version_mismatch'],
    ['7', 'invalid_request'],
    ['"7', 'invalid_request'],
    ['"7" "8"', 'invalid_request'],
    ['*, "7"', 'invalid_request'],
    ["'7'", 'invalid_request'],
    ['', 'missing'],
    ['   ', 'missing'],
  ];
  test.each(table)('%j at version 7: %s', (header, want) => {
    if (want === 'missing') {
      expect(parseIfMatch(header)).toBeUndefined();
      return;
    }
    expect(codeOf(() => checkIfMatch(parseIfMatch(header), 7))).toBe(want === 'fits' ? 'none' : want);
  });
  test('a mismatch carries the current tag', () => {
    try {
      checkIfMatch(parseIfMatch('"6"'), 7);
    } catch (error) {
      expect(error).toMatchObject({ headers: { etag: '"7"' } });
      return;
    }
    throw new Error('expected a refusal');
  });
});

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('API keys', () => {
  const authenticator = new ApiKeyAuthenticator([
    { name: 'shop', scopes: ['checkout'], secret: 'key-1' },
    { name: 'desk', scopes: ['support'], secret: 'key-2' },
    // Its successor, while it is replaced; only its hash is configured.
    { name: 'desk', scopes: ['support'], secret: `sha256:${sha256('key-2-new').toUpperCase()}` },
  ]);
  test.each([
    ['Bearer key-1', 'shop'],
    ['bearer key-2', 'desk'],
    ['Bearer   key-2 ', 'desk'],
    ['Bearer key-2-new', 'desk'],
    [`Bearer ${sha256('key-2-new')}`, undefined],
    [`Bearer sha256:${sha256('key-2-new')}`, undefined],
    ['Bearer key-3', undefined],
    ['Bearer key-1 key-2', undefined],
    ['Bearer ', undefined],
    ['Basic key-1', undefined],
    ['key-1', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%j is %j', async (header, name) => {
    expect((await authenticator.identify(header))?.name).toBe(name);
  });

  test('people may come in by another way, under their own names', async () => {
    const people: Authenticator = {
      identify: (header) =>
        Promise.resolve(
          header === 'Bearer token' ? { kind: 'person', name: 'ana', scopes: ['support'] } : null,
        ),
    };
    const both = firstOf(authenticator, people);
    expect(await both.identify('Bearer token')).toMatchObject({ kind: 'person', name: 'ana' });
    expect(await both.identify('Bearer key-1')).toMatchObject({ kind: 'key', name: 'shop' });
    expect(await both.identify('Bearer other')).toBeNull();
  });

  const grants: Record<Scope, Scope[]> = {
    checkout: ['checkout'],
    support: ['support'],
    support_lead: ['support', 'support_lead'],
    admin: ['checkout', 'support', 'support_lead', 'admin'],
  };
  test.each(SCOPES)('what %s includes', (scope) => {
    const granted = SCOPES.filter((wanted) => mayCall({ kind: 'key', name: 'k', scopes: [scope] }, [wanted]));
    expect(granted).toEqual(grants[scope]);
  });
  test('any of several scopes is enough', () => {
    expect(mayCall({ kind: 'key', name: 'k', scopes: ['support'] }, ['checkout', 'support'])).toBe(true);
    expect(mayCall({ kind: 'key', name: 'k', scopes: [] }, ['checkout', 'support'])).toBe(false);
  });
});

describe('problems', () => {
  test('the body is what the schema says', () => {
    const problem = new ProblemError('version_mismatch', 'changed', {
      errors: [{ pointer: '/a', detail: 'b' }],
    });
    expect(Problem.parse(problemBody(problem, 'r-1'))).toMatchObject({
      status: 412,
      code: 'version_mismatch',
      request_id: 'r-1',
      retryable: false,
    });
  });
  test('a database that is away is 503, and says when to come back', () => {
    const problem = toProblem(new StoreUnavailable(new Error('connect ECONNREFUSED 10.1.2.3:5432')));
    expect(problem).toMatchObject({ code: 'unavailable', headers: { 'retry-after': '2' } });
    expect(JSON.stringify(problem)).not.toContain('10.1.2.3');
  });
  test.each([new Error('secret'), 'text', null, undefined, { statusCode: 400 }])(
    '%p was not expected',
    (error) => {
      expect(toProblem(error)).toBeNull();
    },
  );
});

describe('RouteTable', () => {
  const routes = new RouteTable();
  routes.add('GET', '/v1/operations/:operation_id');
  routes.add(['PATCH'], '/v1/operations/:operation_id');
  routes.add('GET', '/docs/swagger-ui.css');
  test.each([
    ['/v1/operations/a%2Fb?wait=1', ['GET', 'OPTIONS', 'PATCH']],
    ['/v1/operations/a/b', []],
    ['/v1/operations/', []],
    ['/docs/swagger-uiXcss', []],
  ])('%s has %j', (url, methods) => {
    expect(routes.allowed(url)).toEqual(methods);
  });
});
