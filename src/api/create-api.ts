/** The HTTP side of a process, built and not yet listening. */
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { ApiModule } from './api.module.js';
import type { ApiDependencies } from './dependencies.js';
import { ApiKeyAuthenticator, firstOf } from './http/authentication.js';
import { drainGracefully } from './http/draining.js';
import { createServer } from './http/server.js';
import { SchemaPipe } from './http/schema-pipe.js';
import { NestLogger } from './nest-logger.js';
import { serveDocs } from './openapi/docs.js';
import { createDocument } from './openapi/document.js';
import { Waiters } from './operations/waiters.js';

/**
 * `app.listen(port, host)` starts it. `app.close()` refuses new connections, closes idle ones, answers those who wait
 * with the state as it is, and resolves when the last request under way has been answered.
 */
export async function createApi(dependencies: ApiDependencies): Promise<NestFastifyApplication> {
  const { apiKeys, people = [] } = dependencies;
  const authenticator = firstOf(new ApiKeyAuthenticator(apiKeys), ...people);
  const { adapter, filter } = createServer(dependencies.logger, authenticator);
  const instance = adapter.getInstance<FastifyInstance>();
  const app = await NestFactory.create<NestFastifyApplication>(ApiModule.with(dependencies), adapter, {
    bodyParser: false,
    logger: new NestLogger(dependencies.logger),
    abortOnError: false,
  });
  app.useGlobalFilters(filter);
  app.useGlobalPipes(new SchemaPipe());
  drainGracefully(instance, () => app.get(Waiters).close());
  serveDocs(instance, createDocument(app));
  await app.init();
  await instance.ready();
  return app;
}
