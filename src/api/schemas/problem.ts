/** RFC 9457 problem details as every error of the API carries them. */
import { z } from 'zod';
import { PROBLEM_CODES } from '../http/problem.js';

export const Problem = z
  .strictObject({
    type: z.string().describe('A page of this service that explains the code'),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.enum(PROBLEM_CODES),
    request_id: z.string(),
    retryable: z.boolean().describe('The same request may succeed later'),
    errors: z
      .array(
        z.strictObject({
          pointer: z.string().describe('JSON pointer into the body, or ?name of a query parameter'),
          detail: z.string(),
        }),
      )
      .optional(),
    changes: z
      .array(z.strictObject({ what: z.string(), before: z.unknown(), after: z.unknown() }))
      .optional()
      .describe('operation_changed: what is not as it was previewed'),
  })
  .meta({
    id: 'Problem',
    examples: [
      {
        type: '/docs/failures#problem-invalid_request',
        title: 'The request is not valid',
        status: 400,
        detail: '/spec/amount/value must be greater than zero',
        code: 'invalid_request',
        request_id: '2f0c7f6e-7a51-4a7e-9a52-3d0c1a7a7f0e',
        retryable: false,
        errors: [{ pointer: '/spec/amount/value', detail: 'must be greater than zero' }],
      },
    ],
  });
export type Problem = z.infer<typeof Problem>;
