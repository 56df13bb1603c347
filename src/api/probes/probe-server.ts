/**
 * The probes of a process that serves nothing else, without the API and its framework: a worker that comes back has orders in
 * the middle, and loading those would take longer than all the rest of its start.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { Logger } from '../../telemetry/logger.js';
import { clientErrorHandler } from '../http/client-error.js';
import {
  PROBLEM_MEDIA_TYPE,
  problemBody,
  ProblemError,
  PROBLEMS,
  type ProblemCode,
} from '../http/problem.js';
import { alive, readinessOf, statusOf, type Probed } from './probes.js';

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

const json = (status: number, value: unknown, type = 'application/json; charset=utf-8'): Answer => ({
  status,
  type,
  body: JSON.stringify(value),
});

const ROUTES: { readonly [Path in string]?: (probed: Probed) => Answer | Promise<Answer> } = {
  '/livez': () => json(200, alive()),
  async '/readyz'({ readiness }) {
    const answer = await readinessOf(readiness);
    return json(statusOf(answer), answer);
  },
  async '/metrics'({ metrics }) {
    return { status: 200, type: metrics.contentType, body: await metrics.exposition() };
  },
};

const METHODS: readonly string[] = ['GET', 'HEAD'];
const ALWAYS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', connection: 'close' };

/** Not yet listening. */
export function probeServer(probed: Probed, logger: Logger): Server {
  const answerTo = async (method: string, path: string, request_id: string): Promise<Answer> => {
    const problem = (code: ProblemCode, detail: string): Answer =>
      json(
        PROBLEMS[code].status,
        problemBody(new ProblemError(code, detail), request_id),
        PROBLEM_MEDIA_TYPE,
      );
    const route = Object.hasOwn(ROUTES, path) ? ROUTES[path] : undefined;
    if (route === undefined) return problem('not_found', 'This process serves its probes only.');
    if (!METHODS.includes(method)) return problem('method_not_allowed', 'Probes are read.');
    try {
      return await route(probed);
    } catch (error) {
      logger.error({ err: error, request_id }, 'a probe failed');
      return problem('internal', 'Something went wrong; it is logged.');
    }
  };
  const server = createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    const id = randomUUID();
    void answerTo(request.method ?? '', path, id).then(({ status, type, body }) => {
      const allow = status === PROBLEMS.method_not_allowed.status && { allow: METHODS.join(', ') };
      response.writeHead(status, { ...ALWAYS, ...allow, 'content-type': type, 'x-request-id': id }).end(body);
    });
  });
  server.on('clientError', clientErrorHandler);
  return server;
}

/** Cuts off whoever still asks, or is connected and says nothing: a probe is asked again, and nobody is to hold up the stop. */
export async function stopped(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}
