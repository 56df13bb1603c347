/** Outages of a whole service: every request meets them until they are lifted. */
import { z } from 'zod';
import { type Answer, html } from '../http/exchange.js';
import { type Surface } from '../http/surface.js';
import { type World } from '../world.js';
import { GATEWAY_PAGE, rateLimited } from './kinds.js';

const surface = z.enum(['payments', 'warehouse', 'all']).default('all');

export const outageSchema = z.discriminatedUnion('mode', [
  z.strictObject({ mode: z.literal('none'), surface }),
  /** Connections are accepted and then reset, without effect. */
  z.strictObject({ mode: z.literal('drop'), surface }),
  /** A gateway page with 503. */
  z.strictObject({ mode: z.literal('unavailable'), surface }),
  /** So many requests per second pass, the others get 429. */
  z.strictObject({
    mode: z.literal('rate_limit'),
    surface,
    per_second: z.number().positive(),
    retry_after: z.int().min(0).optional(),
  }),
  /** The port is closed, for the control API as well, and opens again by itself. */
  z.strictObject({ mode: z.literal('refuse'), duration_ms: z.int().min(1).max(600_000) }),
]);

type Outage = Exclude<z.infer<typeof outageSchema>, { mode: 'refuse' } | { mode: 'none' }>;

export type OutageVerdict = { mode: string; answer: Answer | 'drop' } | null;

export class Outages {
  readonly #active = new Map<Surface['name'], Outage>();
  readonly #passed = new Map<Surface['name'], number[]>();

  constructor(readonly world: World) {}

  set(outage: Outage | { mode: 'none'; surface: 'payments' | 'warehouse' | 'all' }): void {
    const named: Surface['name'][] = outage.surface === 'all' ? ['payments', 'warehouse'] : [outage.surface];
    for (const name of named) {
      this.#passed.delete(name);
      if (outage.mode === 'none') this.#active.delete(name);
      else this.#active.set(name, outage);
    }
  }

  list(): Record<string, unknown> {
    return Object.fromEntries(this.#active);
  }

  clear(): void {
    this.#active.clear();
    this.#passed.clear();
  }

  verdict(name: Surface['name']): OutageVerdict {
    const outage = this.#active.get(name);
    switch (outage?.mode) {
      case undefined:
        return null;
      case 'drop':
        return { mode: 'outage:drop', answer: 'drop' };
      case 'unavailable':
        return { mode: 'outage:unavailable', answer: html(503, GATEWAY_PAGE) };
      case 'rate_limit': {
        if (this.#passes(name, outage.per_second)) return null;
        return { mode: 'outage:rate_limit', answer: rateLimited({ retry_after: outage.retry_after }, name) };
      }
    }
  }

  /** A sliding window: as many as were allowed in the second just past. Below one per second it is longer. */
  #passes(name: Surface['name'], perSecond: number): boolean {
    const now = this.world.elapsed();
    const windowMs = Math.max(1000, 1000 / perSecond);
    const recent = (this.#passed.get(name) ?? []).filter((at) => at > now - windowMs);
    const passes = recent.length < Math.max(1, perSecond);
    if (passes) recent.push(now);
    this.#passed.set(name, recent);
    return passes;
  }
}
