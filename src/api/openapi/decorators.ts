/** Shorthands for what routes say about themselves in the OpenAPI document. */
import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiHeader, ApiResponse } from '@nestjs/swagger';
import type { z } from 'zod';
import { PROBLEMS, type ProblemCode } from '../http/problem.js';
import { Problem } from '../schemas/problem.js';

type Decorator = MethodDecorator & ClassDecorator;

const HEADERS = {
  ETag: { description: 'The version, for If-Match', schema: { type: 'string' as const, example: '"7"' } },
  Location: { description: 'Address of the operation', schema: { type: 'string' as const } },
};

export const Answers = (
  status: number,
  schema: z.ZodType,
  description: string,
  headers: readonly (keyof typeof HEADERS)[] = [],
): Decorator =>
  ApiResponse({
    status,
    description,
    standardSchema: schema,
    headers: Object.fromEntries(headers.map((name) => [name, HEADERS[name]])),
  });

/** What every route with a scope can answer, besides its own. */
const EVERYWHERE: readonly ProblemCode[] = ['unauthorized', 'scope_missing', 'internal', 'unavailable'];
/** What every route with a body can answer. */
const WITH_BODY: readonly ProblemCode[] = ['invalid_request', 'payload_too_large', 'unsupported_media_type'];

/** The codes of a route with a scope. */
export const Problems = (...codes: readonly ProblemCode[]): Decorator =>
  problems([...codes, 'invalid_request', ...EVERYWHERE]);
/** The codes of a route that needs no key. */
export const PublicProblems = (...codes: readonly ProblemCode[]): Decorator =>
  problems([...codes, 'internal', 'unavailable']);

/** A status that has several codes is documented once. */
function problems(codes: readonly ProblemCode[]): Decorator {
  const all = [...new Set(codes)];
  const statuses = [...new Set(all.map((code) => PROBLEMS[code].status))];
  return applyDecorators(
    ...statuses.map((status) =>
      ApiResponse({
        status,
        description: all
          .filter((code) => PROBLEMS[code].status === status)
          .map((code) => `\`${code}\`: ${PROBLEMS[code].title}`)
          .join(' · '),
        standardSchema: Problem,
      }),
    ),
  );
}
export const ProblemsWithBody = (...codes: readonly ProblemCode[]): Decorator =>
  Problems(...codes, ...WITH_BODY);

export const IfMatchHeader = (required: boolean): Decorator =>
  ApiHeader({
    name: 'If-Match',
    required,
    description: required
      ? 'ETag of the version that the change is based on, or *'
      : 'Only carry this out on that version',
    schema: { type: 'string', example: '"7"' },
  });

/** No body, an empty one and {} say the same. */
export const OptionalBody = (): MethodDecorator => ApiBody({ required: false });
