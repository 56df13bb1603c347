/** Which methods an address has: tells "not found" from "method not allowed". */

const escape = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

export class RouteTable {
  readonly #routes = new Map<string, { readonly pattern: RegExp; readonly methods: Set<string> }>();

  /** `url` as the framework writes it: `/a/:name/b`, `/a/*`. */
  add(methods: string | readonly string[], url: string): void {
    const pattern = url
      .split('/')
      .map((part) => (part === '*' ? '.*' : part.startsWith(':') ? '[^/]+' : escape(part)));
    const route = this.#routes.get(url) ?? {
      pattern: new RegExp(`^${pattern.join('/')}$`),
      methods: new Set(),
    };
    [methods].flat().forEach((method) => route.methods.add(method));
    this.#routes.set(url, route);
  }

  /** Methods of the address, sorted; none when it does not exist. `url` may carry a query. */
  allowed(url: string): string[] {
    const path = url.split('?')[0] ?? '';
    const methods = [...this.#routes.values()]
      .filter(({ pattern }) => pattern.test(path))
      .flatMap((route) => [...route.methods]);
    return methods.length === 0 ? [] : [...new Set([...methods, 'OPTIONS'])].sort();
  }
}
