/** The Fastify server under Nest: limits, body parsers, request ids, headers, authentication, the access log. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { ofNamedMembers, type Logger } from '../../telemetry/logger.js';
import { type Authenticator, mayCall } from './authentication.js';
import { clientErrorHandler } from './client-error.js';
import { parseJsonBody } from './json-body.js';
import { invalidRequest, ProblemError } from './problem.js';
import { ProblemFilter } from './problem-filter.js';
import { RouteTable } from './route-table.js';

/** A create with 200 lines of 128 characters is some 60 kB; escapes make it at most a few times that. */
const JSON_LIMIT = 256 * 1024;
/** Providers' events: Stripe documents no limit, reports name some hundred kB. */
const RAW_LIMIT = 1024 * 1024;
/** An id takes 1536 characters at most (128 code points of four bytes, percent-encoded); above this is no id: 404. */
const LONGEST_PARAMETER = 16 * 1024;
/** A client that needs longer to send 256 kB is stuck or malicious. */
const REQUEST_TIMEOUT_MS = 20_000;
/** Longer than the idle timeout of usual load balancers (60 s), so that they close first and never race with us. */
const KEEP_ALIVE_MS = 72_000;

const SANE_REQUEST_ID = /^[A-Za-z0-9._:+/=@-]{1,128}$/;

function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : randomUUID();
}

export interface Server {
  readonly adapter: FastifyAdapter;
  readonly filter: ProblemFilter;
}

export function createServer(logger: Logger, authenticator: Authenticator | null): Server {
  const routes = new RouteTable();
  const filter = new ProblemFilter(routes, logger);
  const adapter = new FastifyAdapter({
    logger: false,
    bodyLimit: JSON_LIMIT,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    // What still arrives on a connection that is open is answered; the connection ends with it (see draining.ts).
    return503OnClosing: false,
    routerOptions: { maxParamLength: LONGEST_PARAMETER },
    requestIdHeader: false,
    genReqId: requestIdOf,
    clientErrorHandler,
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      beginAnswer(request, reply);
      filter.answer(error, request, reply);
    },
  });
  const instance = adapter.getInstance<FastifyInstance>();
  instance.decorateRequest('caller', null);
  instance.addHook('onRoute', (route) => declare(route, routes));
  instance.addHook('onRequest', (request, reply, done) => {
    beginAnswer(request, reply);
    // Nothing of the body is read before the answer.
    refusal(request, authenticator).then((problem) => done(problem), done);
  });
  const accessLogger = ofNamedMembers(logger);
  instance.addHook('onResponse', (request, reply, done) => {
    logAccess(request, reply, accessLogger);
    done();
  });
  parseBodies(instance);
  return { adapter, filter };
}

/** Default deny: what lives under /v1 says who may call it. */
function declare(route: RouteOptions, routes: RouteTable): void {
  routes.add(route.method, route.url);
  const access = route.config?.access;
  if (route.url.startsWith('/v1') && access === undefined) throw new Error(`${route.url} declares no access`);
  if (access?.raw_body === true) route.bodyLimit = RAW_LIMIT;
}

function beginAnswer(request: FastifyRequest, reply: FastifyReply): void {
  void reply.headers({
    'x-request-id': request.id,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
  });
  if (request.url.startsWith('/v1')) {
    void reply.headers({
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    });
  }
  // Some clients name a media type although they send nothing; nothing needs no parser.
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  if (encoding === undefined && (length === undefined || length === '0'))
    delete request.headers['content-type'];
}

/** Why the request stops before its body is read; undefined when it goes on. */
async function refusal(
  request: FastifyRequest,
  authenticator: Authenticator | null,
): Promise<ProblemError | undefined> {
  const access = request.routeOptions.config.access;
  if (request.is404 || access === undefined || access.scopes === 'public') return undefined;
  const caller = (await authenticator?.identify(request.headers.authorization)) ?? null;
  if (caller === null) {
    return new ProblemError('unauthorized', 'Send a valid API key: Authorization: Bearer <key>.', {
      headers: { 'www-authenticate': 'Bearer realm="order-reconciler"' },
    });
  }
  if (!mayCall(caller, access.scopes)) {
    const needed = access.scopes.join(' or ');
    return new ProblemError('scope_missing', `The key needs the scope ${needed}.`, {
      headers: {
        'www-authenticate': `Bearer realm="order-reconciler", error="insufficient_scope", scope="${needed}"`,
      },
    });
  }
  request.caller = caller;
  const parameters = Object.keys(request.query ?? {});
  if (access.query === true || parameters.length === 0) return undefined;
  return invalidRequest(
    parameters
      .slice(0, 20)
      .map((name) => ({ pointer: `?${name.slice(0, 100)}`, detail: 'is not a known parameter' })),
  );
}

function parseBodies(instance: FastifyInstance): void {
  instance.removeAllContentTypeParsers();
  const json = (mergePatch: boolean) => (request: FastifyRequest, body: Buffer) => {
    if (request.routeOptions.config.access?.raw_body === true) return Promise.resolve(body);
    return Promise.resolve().then(() => {
      checkEncoding(request, mergePatch);
      return parseJsonBody(body);
    });
  };
  instance.addContentTypeParser('application/json', { parseAs: 'buffer' }, json(false));
  instance.addContentTypeParser('application/merge-patch+json', { parseAs: 'buffer' }, json(true));
  instance.addContentTypeParser('*', { parseAs: 'buffer' }, (request: FastifyRequest, body: Buffer) => {
    // A body without a media type is examined, as RFC 9110 section 8.3 allows; one with another type is refused.
    if (request.headers['content-type'] === undefined) return json(false)(request, body);
    if (request.routeOptions.config.access?.raw_body === true) return Promise.resolve(body);
    return Promise.reject(new ProblemError('unsupported_media_type', 'Send JSON, as application/json.'));
  });
}

function checkEncoding(request: FastifyRequest, mergePatch: boolean): void {
  const refuse = (detail: string): ProblemError => new ProblemError('unsupported_media_type', detail);
  if (mergePatch && request.method !== 'PATCH') throw refuse('Send JSON, as application/json.');
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) throw refuse('JSON is sent in UTF-8.');
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw refuse('Bodies are sent uncompressed.');
}

/** The pattern of the route, not the address: an address may hold what callers put into their keys. */
function logAccess(request: FastifyRequest, reply: FastifyReply, logger: Logger): void {
  const { operation_id } = (request.params ?? {}) as { operation_id?: string };
  const line = {
    request_id: request.id,
    method: request.method,
    route: request.is404 ? null : request.routeOptions.url,
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime),
    ...(operation_id === undefined ? {} : { operation_id }),
    ...(request.caller === null ? {} : { caller: request.caller.name }),
  };
  if (request.url.startsWith('/v1')) logger.info(line, 'answered');
  else logger.debug(line, 'answered');
}
