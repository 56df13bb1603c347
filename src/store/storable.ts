/** Documents as text that Postgres takes. */

/** In JSON: what no jsonb can hold, a NUL or half of a pair of surrogates. An answer may hold anything. */
const UNSTORABLE = /\\u(?:0000|d[89a-f][0-9a-f]{2})/i;

/** As JSON that Postgres takes: an answer with such a character is kept with a mark in its place, not lost. */
export function storable(value: unknown): string {
  const json = JSON.stringify(value);
  return isStorable(json) ? json : JSON.stringify(marked(value));
}

/** The search for any escape is many times faster, and there is none as a rule. */
export const isStorable = (json: string): boolean => !json.includes('\\u') || !UNSTORABLE.test(json);

function marked(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('\0', '\uFFFD').replaceAll(/\p{Cs}/gu, '\uFFFD');
  if (Array.isArray(value)) return value.map(marked);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [marked(name), marked(member)]));
}
