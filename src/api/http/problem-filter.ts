/** The one place where errors become answers: ours, Nest's, Fastify's, the store's and those nobody expected. */
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { StoreUnavailable } from '../../store/database.js';
import type { Logger } from '../../telemetry/logger.js';
import {
  PROBLEM_MEDIA_TYPE,
  PROBLEMS,
  problemBody,
  ProblemError,
  unavailable,
  type ProblemCode,
} from './problem.js';
import type { RouteTable } from './route-table.js';

/** Statuses that the framework answers with by itself, before a handler runs. */
const FRAMEWORK: Readonly<Partial<Record<number, { code: ProblemCode; detail: string }>>> = {
  400: { code: 'invalid_request', detail: 'The request could not be understood.' },
  404: { code: 'not_found', detail: 'There is no such route.' },
  408: { code: 'request_timeout', detail: 'The request did not arrive in time.' },
  413: { code: 'payload_too_large', detail: 'The body is larger than this route takes.' },
  414: { code: 'uri_too_long', detail: 'The address is too long.' },
  415: { code: 'unsupported_media_type', detail: 'Send JSON, as application/json.' },
  431: { code: 'headers_too_large', detail: 'The headers are too large.' },
};

/** An error as the caller will see it; null for one that nobody expected. */
export function toProblem(error: unknown): ProblemError | null {
  if (error instanceof ProblemError) return error;
  if (error instanceof StoreUnavailable)
    return unavailable(
      'The database is not available. Send it again: it may have been stored, and is then not stored twice.',
    );
  const status = error instanceof HttpException ? error.getStatus() : frameworkStatus(error);
  const known = status === null ? undefined : FRAMEWORK[status];
  return known === undefined ? null : new ProblemError(known.code, known.detail);
}

function frameworkStatus(error: unknown): number | null {
  if (!(error instanceof Error) || !('statusCode' in error) || error.name !== 'FastifyError') return null;
  return typeof error.statusCode === 'number' ? error.statusCode : null;
}

@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    private readonly routes: RouteTable,
    private readonly logger: Logger,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.answer(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }

  answer(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    if (reply.sent) return;
    const problem = this.ofRoute(toProblem(error), request);
    if (problem === 'options') {
      void reply.status(204).header('allow', this.routes.allowed(request.url).join(', ')).send();
      return;
    }
    const shown =
      problem ?? new ProblemError('internal', 'Something went wrong; it is logged under the request id.');
    if (problem === null || shown.code === 'unavailable') {
      this.logger.error(
        { err: error, request_id: request.id, method: request.method, route: request.routeOptions?.url },
        problem === null ? 'request failed unexpectedly' : 'request failed: a dependency is away',
      );
    }
    void reply
      .status(PROBLEMS[shown.code].status)
      .headers(shown.headers)
      .header('cache-control', 'no-store')
      .type(PROBLEM_MEDIA_TYPE)
      .send(problemBody(shown, request.id));
  }

  /** An address that exists for other methods is not "not found". */
  private ofRoute(problem: ProblemError | null, request: FastifyRequest): ProblemError | null | 'options' {
    if (problem?.code !== 'not_found' || !request.is404) return problem;
    const allowed = this.routes.allowed(request.url);
    if (allowed.length === 0) return problem;
    if (request.method === 'OPTIONS') return 'options';
    return new ProblemError('method_not_allowed', `Possible here: ${allowed.join(', ')}.`, {
      headers: { allow: allowed.join(', ') },
    });
  }
}
