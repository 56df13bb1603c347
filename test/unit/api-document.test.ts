import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApi } from '../../src/api/create-api.js';
import type { ApiDependencies } from '../../src/api/dependencies.js';
import { PROBLEMS } from '../../src/api/http/problem.js';
import { CreateBody } from '../../src/api/schemas/requests.js';
import { systemClock } from '../../src/clock.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { Metrics } from '../../src/telemetry/metrics.js';
import { clientOf, listen, type Client } from '../support/http.js';
import { POLICY } from '../support/operations.js';

interface Operation {
  operationId: string;
  summary?: string;
  security?: unknown[];
  parameters?: { name: string; in: string }[];
  requestBody?: { required: boolean; content: Record<string, unknown> };
  responses: Record<string, { description: string; content?: Record<string, unknown> }>;
}
interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, { properties?: object; examples?: unknown[]; example?: unknown }>;
    securitySchemes: object;
  };
}

let app: NestFastifyApplication;
let call: Client;
let document: Document;
beforeAll(async () => {
  // Nothing of it is used: no request reaches a handler.
  const nothing = {} as ApiDependencies['store'] &
    ApiDependencies['findings'] &
    ApiDependencies['bell'] &
    ApiDependencies['planner'] &
    ApiDependencies['commands'] &
    ApiDependencies['bulk'] &
    ApiDependencies['findingCommands'] &
    ApiDependencies['clientSecrets'] &
    ApiDependencies['desk'] &
    ApiDependencies['eraser'] &
    ApiDependencies['inbox'];
  app = await createApi({
    store: nothing,
    findings: nothing,
    bell: nothing,
    planner: nothing,
    commands: nothing,
    bulk: nothing,
    findingCommands: nothing,
    clientSecrets: nothing,
    clock: systemClock,
    policy: POLICY,
    apiKeys: [],
    accounts: ['default'],
    amountProblem: () => null,
    desk: nothing,
    eraser: nothing,
    inbox: nothing,
    webhookSecrets: new Map(),
    readiness: { check: () => Promise.resolve({ ready: true, checks: {} }) },
    metrics: new Metrics(),
    logger: createLogger('silent'),
  });
  call = clientOf(await listen(app));
  document = (await call('GET', '/openapi.json')).json<Document>();
});
afterAll(() => app.close());

const operations = (): [string, Operation][] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method} ${path}`,
      operation,
    ]),
  );

describe('the OpenAPI document', () => {
  test('is 3.1 and names every route', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(
      operations()
        .map(([name]) => name)
        .sort(),
    ).toEqual([
      'get /livez',
      'get /metrics',
      'get /readyz',
      'get /v1/accounts',
      'get /v1/attention',
      'get /v1/bulk-commands/{bulk_id}',
      'get /v1/findings',
      'get /v1/operations',
      'get /v1/operations/{operation_id}',
      'get /v1/operations/{operation_id}/attempts',
      'get /v1/operations/{operation_id}/client_secret',
      'get /v1/operations/{operation_id}/events',
      'get /v1/operations/{operation_id}/handover',
      'get /v1/operations/{operation_id}/plan',
      'get /v1/operations/{operation_id}/triage',
      'patch /v1/operations/{operation_id}',
      'post /v1/accounts/{account}/pause',
      'post /v1/accounts/{account}/resume',
      'post /v1/bulk-commands',
      'post /v1/bulk-commands/preview',
      'post /v1/bulk-commands/{bulk_id}/approval',
      'post /v1/findings/{finding_id}/commands',
      'post /v1/findings/{finding_id}/commands/preview',
      'post /v1/findings/{finding_id}/commands/{preview_id}/approval',
      'post /v1/operations',
      'post /v1/operations/{operation_id}/cancel',
      'post /v1/operations/{operation_id}/capture',
      'post /v1/operations/{operation_id}/commands',
      'post /v1/operations/{operation_id}/commands/preview',
      'post /v1/operations/{operation_id}/commands/{preview_id}/approval',
      'post /v1/operations/{operation_id}/erasure',
      'post /v1/operations/{operation_id}/payment',
      'post /v1/operations/{operation_id}/refunds',
      'post /v1/webhooks/stripe',
      'post /v1/webhooks/stripe/{account}',
      'put /v1/operations/{operation_id}/triage',
    ]);
  });

  test('every reference leads somewhere, and every component is used', () => {
    const text = JSON.stringify(document);
    const references = [...text.matchAll(/"\$ref":"([^"]*)"/g)].map(([, reference]) => reference ?? '');
    const names = references.map((reference) => reference.replace('#/components/schemas/', ''));
    expect(references.every((reference) => reference.startsWith('#/components/schemas/'))).toBe(true);
    expect([...new Set(names)].sort()).toEqual(Object.keys(document.components.schemas).sort());
  });

  test('has schemas of the documented kind, and nothing of their library', () => {
    const text = JSON.stringify(document);
    expect(text).not.toMatch(/~standard|_zod|"def":|\$defs|"nullable"/);
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      expect({ name, members: Object.keys(schema.properties ?? {}).length }).not.toEqual({
        name,
        members: 0,
      });
    }
    expect(document.components.schemas['Operation']?.properties).toHaveProperty('metadata');
  });

  test('names are unique, and everything has a summary and an answer with a form', () => {
    const ids = operations().map(([, { operationId }]) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [name, operation] of operations()) {
      expect({ name, summary: operation.summary }).not.toEqual({ name, summary: undefined });
      const good = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'));
      expect({
        name,
        good: good.length > 0 && good.every(([, { content }]) => content !== undefined),
      }).toEqual({
        name,
        good: true,
      });
    }
  });

  test('says which routes need a key, and documents its errors as problems', () => {
    for (const [name, operation] of operations()) {
      const isProbe = !name.includes('/v1/');
      // The signature is the credential there.
      const isOpen = isProbe || name.includes('/v1/webhooks/');
      expect({ name, open: operation.security === undefined }).toEqual({ name, open: isOpen });
      if (isProbe) continue;
      for (const status of isOpen ? ['400', '500', '503'] : ['400', '401', '403', '500', '503']) {
        expect({ name, status, types: Object.keys(operation.responses[status]?.content ?? {}) }).toEqual({
          name,
          status,
          types: ['application/problem+json'],
        });
      }
    }
    const text = JSON.stringify(document.paths);
    const everywhere = ['method_not_allowed', 'request_timeout', 'uri_too_long', 'headers_too_large'];
    for (const code of Object.keys(PROBLEMS).filter((name) => !everywhere.includes(name))) {
      expect({ code, documented: text.includes(`\`${code}\``) }).toEqual({ code, documented: true });
    }
  });

  test('a patch may say what it is, and optional bodies are optional', () => {
    const patch = document.paths['/v1/operations/{operation_id}']?.['patch'];
    expect(Object.keys(patch?.requestBody?.content ?? {})).toEqual([
      'application/json',
      'application/merge-patch+json',
    ]);
    expect(patch?.parameters?.map(({ name }) => name)).toEqual(['operation_id', 'If-Match']);
    const required = operations().flatMap(([name, { requestBody }]) =>
      requestBody === undefined ? [] : [[name.split('/').at(-1), requestBody.required]],
    );
    expect(Object.fromEntries(required)).toEqual({
      operations: true,
      '{operation_id}': true,
      stripe: true,
      '{account}': true,
      cancel: false,
      preview: true,
      commands: true,
      'bulk-commands': true,
      approval: false,
      triage: true,
      erasure: true,
      pause: true,
      resume: true,
      capture: false,
      payment: false,
      refunds: true,
    });
  });

  test('its example of a create is one', () => {
    const { examples, example } = document.components.schemas['CreateOperation'] ?? {};
    expect(CreateBody.safeParse(example ?? examples?.[0])).toMatchObject({ success: true });
  });
});

describe('the page for people', () => {
  test('and everything that it loads is there, and is allowed by its policy', async () => {
    const page = await call('GET', '/docs');
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.headers['content-security-policy']).toContain("default-src 'self'");
    const loaded = [...page.text.matchAll(/(?:src|href)="\.(\/docs\/[^"]+)"/g)].map(([, path]) => path ?? '');
    expect(loaded).toHaveLength(4);
    for (const path of loaded) expect((await call('GET', path)).status).toBe(200);
    expect((await call('GET', '/docs/start.js')).text).toContain("url: './openapi.json'");
    expect(page.text).not.toContain('<script>');
    const failures = await call('GET', '/docs/failures');
    expect(failures.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(failures.text).toContain('id="problem-version_mismatch"');
  });
});
