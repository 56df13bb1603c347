/** Fault rules: which call meets which fault, how many times. */
import { z } from 'zod';
import { type Call, type Surface } from '../http/surface.js';
import { routeMatches } from '../journal.js';
import { PAYMENT_ROUTES } from '../stripe/surface.js';
import { WAREHOUSE_ROUTES } from '../warehouse/surface.js';
import { FAULT_KINDS, type FaultKind, FAULTS, type FaultOptions } from './kinds.js';

const ROUTES = [...PAYMENT_ROUTES, ...WAREHOUSE_ROUTES];

const route = z.string().refine((pattern) => ROUTES.some((name) => routeMatches(pattern, name)), {
  error: `unknown route; known are *, NAME.* and ${ROUTES.join(', ')}`,
});

export const faultSchema = z
  .strictObject({
    route,
    kind: z.enum(FAULT_KINDS),
    match: z.strictObject({ operation_id: z.string().optional() }).optional(),
    /** How many calls it hits; null: until it is removed. */
    times: z.int().min(1).nullable().default(1),
    /** How many matching calls pass first. */
    skip: z.int().min(0).default(0),
    /** Whether the effect takes place; each kind has its default. */
    effect: z.enum(['before', 'none']).optional(),
    /** Pause before the answer (or the drop); with delay_before, before the effect. */
    delay_ms: z.int().min(0).optional(),
    /** Seconds for the Retry-After header of a 429. */
    retry_after: z.int().min(0).optional(),
    /** Value of Stripe-Rate-Limited-Reason on a 429. */
    reason: z.string().optional(),
    /** Sends Stripe-Should-Retry with this value. */
    should_retry: z.boolean().optional(),
    /** For kind `answer`. */
    status: z.int().min(200).max(599).optional(),
    headers: z.record(z.string(), z.string()).optional(),
    /** Text is sent as it is, anything else as JSON. */
    body: z.unknown().optional(),
  })
  .refine((rule) => (rule.status === undefined && rule.body === undefined) || rule.kind === 'answer', {
    error: 'status and body are for kind answer only',
  })
  .refine((rule) => rule.kind !== 'answer' || rule.status !== undefined, {
    error: 'kind answer needs a status',
  })
  .refine((rule) => !rule.kind.startsWith('delay_') || rule.delay_ms !== undefined, {
    error: 'a delay needs delay_ms',
  });

export interface FaultRule extends FaultOptions {
  id: string;
  route: string;
  kind: FaultKind;
  operationId: string | null;
  /** Calls it will still hit; null: no limit. */
  times: number | null;
  skip: number;
  hits: number;
}

export class FaultRules {
  #rules: FaultRule[] = [];
  #count = 0;

  add(given: z.infer<typeof faultSchema>): FaultRule {
    const { match, ...rest } = given;
    this.#count += 1;
    const rule = { ...rest, id: `fault_${this.#count}`, operationId: match?.operation_id ?? null, hits: 0 };
    this.#rules.push(rule);
    return rule;
  }

  list(): readonly FaultRule[] {
    return this.#rules;
  }

  remove(id: string): boolean {
    const before = this.#rules.length;
    this.#rules = this.#rules.filter((rule) => rule.id !== id);
    return this.#rules.length < before;
  }

  clear(): void {
    this.#rules = [];
  }

  /** The first rule, in the order of their making, that hits this call. A used-up rule is removed. */
  take(surface: Surface['name'], call: Call): FaultRule | null {
    for (const rule of this.#rules) {
      if (!applies(rule, surface, call)) continue;
      if (rule.skip > 0) {
        rule.skip -= 1;
        continue;
      }
      rule.hits += 1;
      if (rule.times !== null) rule.times -= 1;
      if (rule.times === 0) this.remove(rule.id);
      return rule;
    }
    return null;
  }
}

function applies(rule: FaultRule, surface: Surface['name'], call: Call): boolean {
  const fault = FAULTS[rule.kind];
  if (fault.surface !== null && fault.surface !== surface) return false;
  if (!routeMatches(rule.route, call.route)) return false;
  if (rule.operationId !== null && rule.operationId !== call.operationId) return false;
  // Where a stored answer is given again nothing executes, so nothing can go wrong in executing.
  return !(fault.executing && call.decidedByKey);
}
