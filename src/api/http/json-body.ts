/** Request bodies as JSON, strictly: what two readers could understand differently is refused. */
import { toPointer } from '../../operation/pointer.js';
import { invalidRequest, ProblemError } from './problem.js';

/** The deepest body of the API has five levels; the bound keeps recursive code from deep input. */
const DEEPEST = 16;

const invalidJson = (detail: string): ProblemError => invalidRequest([{ pointer: '', detail }]);

/** Undefined for an empty body. Throws a 400 problem for everything that is not JSON in UTF-8. */
export function parseJsonBody(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined;
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw invalidJson('is not valid UTF-8');
  }
  if (text.trim() === '') return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalidJson('is not valid JSON');
  }
  refuseAmbiguous(text);
  return value;
}

/** A number as JSON writes it, at the place where the search begins. */
const NUMBER = /-?([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?/y;

/**
 * Walks over JSON that is known to be valid and refuses a member that appears twice (the last one would win here, the
 * first one in another reader), `__proto__`, nesting without end, and a fraction too small for a double to hold: it
 * would arrive as a whole number that nobody wrote.
 */
function refuseAmbiguous(text: string): void {
  // One entry for each open object (its member names) or array (null).
  const open: (Set<string> | null)[] = [];
  let memberNext = false;
  let at = 0;
  while (at < text.length) {
    const character = text.charAt(at);
    let next = at + 1;
    if (character === '{' || character === '[') {
      if (open.length === DEEPEST) throw invalidJson(`is nested more than ${DEEPEST} levels deep`);
      memberNext = character === '{';
      open.push(memberNext ? new Set() : null);
    } else if (character === '}' || character === ']') {
      open.pop();
      memberNext = false;
    } else if (character === ',') {
      memberNext = open.at(-1) instanceof Set;
    } else if (character === '"') {
      next = endOfString(text, at);
      if (memberNext) addMember(open.at(-1), text.slice(at, next));
      memberNext = false;
    } else if (character === '-' || (character >= '0' && character <= '9')) {
      next = endOfNumber(text, at);
    }
    at = next;
  }
}

/** Index after the closing quote of the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

/** Index after the number that begins at `start`. */
function endOfNumber(text: string, start: number): number {
  NUMBER.lastIndex = start;
  const match = NUMBER.exec(text);
  if (match === null) return start + 1;
  const [written, whole = '', fraction = '', exponent = '0'] = match;
  const digits = `${whole}${fraction}`.replace(/0+$/, '');
  // How many of the digits stand behind the decimal point.
  const behind = fraction.length - Number(exponent) - (whole.length + fraction.length - digits.length);
  if (digits !== '' && behind > 0 && Number.isInteger(Number(written))) {
    throw invalidJson('has a number that cannot be held exactly');
  }
  return start + written.length;
}

function addMember(members: Set<string> | null | undefined, quoted: string): void {
  const name = String(JSON.parse(quoted));
  if (name === '__proto__') throw invalidJson('has a member that is called __proto__');
  if (members?.has(name) === true) throw invalidJson(`has the member ${toPointer([name])} twice`);
  members?.add(name);
}
