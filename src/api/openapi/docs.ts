/** /openapi.json for programs and /docs for people (Swagger UI, from the files that come with Nest's module). */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, dirname } from 'node:path';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';
import { FAILURES_PAGE } from '../support/anchors.js';
import { failuresPage } from '../support/failures.js';

/** Served as they are. Nest would do it by @fastify/static, which needs a newer Node than this service does. */
const ASSETS: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Order reconciler: API</title>
<link rel="icon" href="./docs/favicon-32x32.png">
<link rel="stylesheet" href="./docs/swagger-ui.css">
</head>
<body>
<div id="ui"></div>
<script src="./docs/swagger-ui-bundle.js"></script>
<script src="./docs/start.js"></script>
</body>
</html>
`;

const START = `SwaggerUIBundle({ url: './openapi.json', dom_id: '#ui', deepLinking: true });\n`;

/** The page runs its own scripts only; Swagger UI writes styles and draws icons from data addresses. */
const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";

function assetFolder(): string {
  const ofNest = createRequire(import.meta.url).resolve('@nestjs/swagger');
  return dirname(createRequire(ofNest).resolve('swagger-ui-dist/package.json'));
}

export function serveDocs(instance: FastifyInstance, document: OpenAPIObject): void {
  const json = JSON.stringify(document);
  const folder = assetFolder();
  const failures = failuresPage();
  instance.get('/openapi.json', (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(json),
  );
  instance.get('/docs', (_request, reply) =>
    reply.type('text/html; charset=utf-8').header('content-security-policy', POLICY).send(PAGE),
  );
  instance.get(FAILURES_PAGE, (_request, reply) =>
    reply.type('text/html; charset=utf-8').header('content-security-policy', POLICY).send(failures),
  );
  instance.get('/docs/start.js', (_request, reply) =>
    reply.type('text/javascript; charset=utf-8').send(START),
  );
  for (const [name, type] of Object.entries(ASSETS)) {
    instance.get(`/docs/${name}`, async (_request, reply) => {
      const file = await readFile(join(folder, name));
      return reply.type(type).header('cache-control', 'public, max-age=3600').send(file);
    });
  }
}
