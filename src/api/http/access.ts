/** What a route declares about itself; the server's hooks read it before the body is. */
import { applyDecorators, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBearerAuth } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import type { Scope } from '../../config.js';
import type { Caller } from './authentication.js';

export interface RouteAccess {
  /** One of these scopes is needed; `public` routes check their callers themselves or serve everybody. */
  readonly scopes: readonly Scope[] | 'public';
  /** The handler checks the query by a schema; otherwise any query parameter is refused. */
  readonly query?: true;
  /** The body arrives as the bytes that were sent (a Buffer), of any media type: for signatures. */
  readonly raw_body?: true;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: RouteAccess;
  }
  interface FastifyRequest {
    /** Set on every route that needs a scope. */
    caller: Caller | null;
  }
}

/** Every route under /v1 carries this; a route without it stops the start. */
export const Access = (access: RouteAccess): MethodDecorator & ClassDecorator =>
  access.scopes === 'public'
    ? applyDecorators(RouteConfig({ access }))
    : applyDecorators(RouteConfig({ access }), ApiBearerAuth('api_key'));

/** The key that calls. Only for routes with scopes, where there always is one. */
export const CallerOf = createParamDecorator((_data: undefined, context: ExecutionContext): Caller => {
  const { caller } = context.switchToHttp().getRequest<FastifyRequest>();
  if (caller === null) throw new Error('the route has no scopes, so nobody is known to call');
  return caller;
});
