/** JSON values: comparing them with member order aside, and RFC 7396 merge patches. Pure. */

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Deep equality of two JSON values: the order of members does not matter, that of array items does. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => sameJson(item, b[index]));
  }
  if (isObject(a) && isObject(b)) {
    const members = Object.keys(a);
    return (
      members.length === Object.keys(b).length &&
      members.every((member) => Object.hasOwn(b, member) && sameJson(a[member], b[member]))
    );
  }
  return a === b;
}

/**
 * RFC 7396: objects are merged, everything else replaces. A null stays as null, so that the schema of the result refuses
 * it where a member may not be empty: a client that sends null for what it does not know must not reset a member that
 * decides about money.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [member, value] of Object.entries(patch)) {
    merged.set(member, mergePatch(merged.get(member), value));
  }
  // fromEntries defines members and so cannot reach a prototype, whatever they are called.
  return Object.fromEntries(merged);
}
