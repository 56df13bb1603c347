// The product's HTTP server (its Nest and Fastify set-up, limits, authentication, access log) with one route, which
// does nothing but one bare INSERT: what creating costs at least in this stack. `FOLDER`: where the product is built.
import 'reflect-metadata';
import { Body, Controller, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import pg from 'pg';
import { INSERT } from './schema.mjs';

const { DATABASE_URL, PORT, FOLDER, API_KEY } = process.env;
const built = (path) => import(`${FOLDER}/dist/src/${path}.js`);
const { createServer } = await built('api/http/server');
const { ApiKeyAuthenticator } = await built('api/http/authentication');
const { Access } = await built('api/http/access');
const { NestLogger } = await built('api/nest-logger');
const { createLogger } = await built('telemetry/logger');

const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 });

class Orders {
  async create(body) {
    await pool.query({ ...INSERT, values: [body.operation_id, JSON.stringify(body)] });
    return body;
  }
}
class Orderly {}

// This file is not compiled, so the decorators are applied by hand.
const method = [Orders.prototype, 'create', Object.getOwnPropertyDescriptor(Orders.prototype, 'create')];
Post()(...method);
Access({ scopes: ['checkout'] })(...method);
Body()(Orders.prototype, 'create', 0);
Controller('v1/operations')(Orders);
Module({ controllers: [Orders] })(Orderly);

const logger = createLogger('info');
const authenticator = new ApiKeyAuthenticator([{ name: 'bench', scopes: ['checkout'], secret: API_KEY }]);
const { adapter, filter } = createServer(logger, authenticator);
const app = await NestFactory.create(Orderly, adapter, {
  bodyParser: false,
  logger: new NestLogger(logger),
  abortOnError: false,
});
app.useGlobalFilters(filter);
await app.listen(Number(PORT), '127.0.0.1');
process.send('ready');
