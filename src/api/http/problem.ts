/** RFC 9457 problems: the closed set of codes, and the error that carries one. */
import type { Difference } from '../../operation/evidence.js';
import { anchorOf } from '../support/anchors.js';
import type { InputProblem } from '../../operation/pointer.js';

interface Kind {
  readonly status: number;
  readonly title: string;
  /** The very same request may succeed later. */
  readonly retryable: boolean;
}

const no = { retryable: false } as const;
const yes = { retryable: true } as const;

export const PROBLEMS = {
  invalid_request: { status: 400, title: 'The request is not valid', ...no },
  signature_invalid: { status: 400, title: 'The signature is not valid', ...no },
  unauthorized: { status: 401, title: 'A valid API key is required', ...no },
  scope_missing: { status: 403, title: 'The API key may not do this', ...no },
  not_found: { status: 404, title: 'Not found', ...no },
  method_not_allowed: { status: 405, title: 'Method not allowed', ...no },
  request_timeout: { status: 408, title: 'The request did not arrive in time', ...yes },
  second_person_needed: { status: 403, title: 'Another person has to do this', ...no },
  operation_conflict: { status: 409, title: 'Another operation has this key or this order', ...no },
  refund_conflict: { status: 409, title: 'Another refund has this id', ...no },
  payment_alive: { status: 409, title: 'A payment lives', ...no },
  command_not_available: { status: 409, title: 'Not available in this state', ...no },
  preview_expired: { status: 410, title: 'The preview has expired', ...no },
  operation_changed: { status: 412, title: 'It is not as it was previewed', ...no },
  version_mismatch: { status: 412, title: 'The operation has changed', ...no },
  payload_too_large: { status: 413, title: 'The body is too large', ...no },
  uri_too_long: { status: 414, title: 'The address is too long', ...no },
  unsupported_media_type: { status: 415, title: 'The media type is not supported', ...no },
  amount_not_refundable: { status: 422, title: 'The amount cannot be refunded', ...no },
  amount_not_capturable: { status: 422, title: 'The amount cannot be captured', ...no },
  spec_member_immutable: { status: 422, title: 'The spec cannot change like this', ...no },
  precondition_required: { status: 428, title: 'If-Match is required', ...no },
  headers_too_large: { status: 431, title: 'The headers are too large', ...no },
  // Every request is idempotent, so it is safe to send it again.
  internal: { status: 500, title: 'Internal error', ...yes },
  unavailable: { status: 503, title: 'Not available now', ...yes },
  webhooks_not_configured: { status: 503, title: 'Webhooks are not configured', ...yes },
} as const satisfies Record<string, Kind>;

export type ProblemCode = keyof typeof PROBLEMS;
export const PROBLEM_CODES = Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]];

interface ProblemParts {
  readonly errors?: readonly InputProblem[];
  readonly changes?: readonly Difference[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Thrown anywhere below a route; the filter turns it into the answer. `detail` is shown to the caller. */
export class ProblemError extends Error {
  readonly errors: readonly InputProblem[] | undefined;
  readonly changes: readonly Difference[] | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    readonly code: ProblemCode,
    readonly detail: string,
    parts: ProblemParts = {},
  ) {
    super(`${code}: ${detail}`);
    this.name = 'ProblemError';
    this.errors = parts.errors;
    this.changes = parts.changes;
    this.headers = parts.headers ?? {};
  }
}

/** The sentence names so many; `errors` has all of them. */
const NAMED = 3;

/** One or more things are wrong with the body (JSON pointers) or the query (`?name`). */
export function invalidRequest(errors: readonly InputProblem[]): ProblemError {
  const named = errors
    .slice(0, NAMED)
    .map(({ pointer, detail }) => (pointer === '' ? `The body ${detail}` : `${pointer} ${detail}`));
  const more = errors.length > NAMED ? [`${errors.length - NAMED} more`] : [];
  return new ProblemError('invalid_request', [...named, ...more].join('; '), { errors });
}

export const operationNotFound = (): ProblemError =>
  new ProblemError('not_found', 'There is no such operation.');

/** Seconds after which a caller should try again; our own outages last seconds, not minutes. */
const RETRY_AFTER = { 'retry-after': '2' } as const;

export const unavailable = (detail: string): ProblemError =>
  new ProblemError('unavailable', detail, { headers: RETRY_AFTER });

/** The body of the answer. */
export function problemBody(problem: ProblemError, requestId: string): Record<string, unknown> {
  const { status, title, retryable } = PROBLEMS[problem.code];
  return {
    // A path of this service: it leads to an explanation from every deployment, and is the same in all of them.
    type: anchorOf('problem', problem.code),
    title,
    status,
    detail: problem.detail,
    code: problem.code,
    request_id: requestId,
    retryable,
    ...(problem.errors === undefined ? {} : { errors: problem.errors }),
    ...(problem.changes === undefined ? {} : { changes: problem.changes }),
  };
}
export const PROBLEM_MEDIA_TYPE = 'application/problem+json; charset=utf-8';
