/** Checks parameters by the zod schema of their decorator and hands on what the schema made of them. */
import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import { z } from 'zod';
import { inputProblems, type InputProblem } from '../../operation/pointer.js';
import { invalidRequest, operationNotFound } from './problem.js';

/** A query parameter has one name and no depth. */
const ofQuery = ({ pointer, detail }: InputProblem): InputProblem => ({
  pointer: `?${pointer.slice(1).split('/')[0] ?? ''}`,
  detail: detail.replace('is not a known member', 'is not a known parameter'),
});

export class SchemaPipe implements PipeTransform {
  transform(value: unknown, metadata: ArgumentMetadata): unknown {
    const { schema, type } = metadata;
    if (!(schema instanceof z.ZodType)) return value;
    // No body at all and an empty object say the same.
    const parsed = schema.safeParse(type === 'body' && value === undefined ? {} : value);
    if (parsed.success) return parsed.data;
    // An id that no operation can have is an id that no operation has.
    if (type === 'param') throw operationNotFound();
    const problems = inputProblems(parsed.error.issues);
    throw invalidRequest(type === 'query' ? problems.map(ofQuery) : problems);
  }
}
