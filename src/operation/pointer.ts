/** What is wrong with an input, as RFC 6901 JSON pointers into it. */
import { type z } from 'zod';

/** `pointer` is '' for the input as a whole. */
export interface InputProblem {
  readonly pointer: string;
  readonly detail: string;
}

export const toPointer = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** Long lists help nobody, and each entry may echo a name that the caller chose. */
const MOST_PROBLEMS = 50;
const LONGEST_POINTER = 300;

const shortened = (pointer: string): string => [...pointer].slice(0, LONGEST_POINTER).join('');

function problemsOf(issue: z.core.$ZodIssue, under: readonly PropertyKey[]): InputProblem[] {
  const path = [...under, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ pointer: toPointer([...path, key]), detail: 'is not a known member' }));
  }
  const missing = issue.code === 'invalid_type' && issue.message.endsWith('received undefined');
  return [{ pointer: toPointer(path), detail: missing ? 'is required' : issue.message }];
}

/** One entry for each thing that is wrong. `under` is put before each path. */
export function inputProblems(
  issues: readonly z.core.$ZodIssue[],
  under: readonly PropertyKey[] = [],
): InputProblem[] {
  return issues
    .flatMap((issue) => problemsOf(issue, under))
    .slice(0, MOST_PROBLEMS)
    .map(({ pointer, detail }) => ({ pointer: shortened(pointer), detail }));
}
