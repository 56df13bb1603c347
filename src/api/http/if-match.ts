/** ETags and If-Match (RFC 9110, sections 8.8.3 and 13.1.1). */
import { ProblemError } from './problem.js';

export const etagOf = (version: number): string => `"${version}"`;

/** `any`: whatever the version. `versions`: one of these (empty: tags that we never gave out). */
export type IfMatch =
  { readonly kind: 'any' } | { readonly kind: 'versions'; readonly versions: readonly number[] };

/** One entity tag at the beginning of the text, with what separates it from the next. */
const TAG = /^\s*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*(?:,|$)/;

/** Undefined without the header. Throws a 400 problem for what is not an If-Match. */
export function parseIfMatch(header: string | undefined): IfMatch | undefined {
  const text = header?.trim() ?? '';
  if (text === '') return undefined;
  if (text === '*') return { kind: 'any' };
  const versions: number[] = [];
  let rest = text;
  while (rest !== '') {
    const match = TAG.exec(rest);
    if (match === null) {
      throw new ProblemError('invalid_request', 'If-Match must be *, or quoted entity tags such as "7".');
    }
    // A weak tag never matches here: If-Match compares strongly, and bytes that were changed on the way prove nothing.
    const [whole, weak, tag = ''] = match;
    if (weak === undefined && /^[1-9][0-9]{0,15}$/.test(tag)) versions.push(Number(tag));
    rest = rest.slice(whole.length);
  }
  return { kind: 'versions', versions };
}

/** Throws 412, which carries the current tag, unless the condition holds. */
export function checkIfMatch(condition: IfMatch | undefined, current: number): void {
  if (condition === undefined || condition.kind === 'any' || condition.versions.includes(current)) return;
  throw versionMismatch(current);
}

export const versionMismatch = (current: number): ProblemError =>
  new ProblemError(
    'version_mismatch',
    `If-Match does not name the current version, which is ${etagOf(current)} (weak tags never match). Read and decide again.`,
    { headers: { etag: etagOf(current) } },
  );
