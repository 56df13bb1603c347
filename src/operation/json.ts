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

/** RFC 7396, section 2: objects are merged, null removes a member, everything else replaces. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [member, value] of Object.entries(patch)) {
    if (value === null) merged.delete(member);
    else merged.set(member, mergePatch(merged.get(member), value));
  }
  // fromEntries defines members and so cannot reach a prototype, whatever they are called.
  return Object.fromEntries(merged);
}
