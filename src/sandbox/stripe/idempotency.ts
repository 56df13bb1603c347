/** Idempotency keys: the first answer of an executed request is kept and given again for the same request. */
import { createHash } from 'node:crypto';
import { type Answer } from '../http/exchange.js';
import { type Owner } from '../payments/model.js';
import { invalid, Refusal } from '../payments/refusal.js';
import { type World } from '../world.js';

const KEY_LENGTH = 255;
/** Keys are documented to be kept for at least 24 hours; pruning at once is the harshest reading. */
const LIFE_MS = 24 * 3_600_000;
/** At some three kilobytes per stored answer; beyond it the oldest are forgotten, as after 24 hours. */
const KEY_LIMIT = 100_000;

interface Entry {
  createdMs: number;
  path: string;
  parameters: string;
  requestId: string;
  /** Null while the first request is still executing. */
  answer: Answer | null;
}

export type Admission =
  | { kind: 'first'; finish: (answer: Answer, stored: boolean) => void }
  | { kind: 'replay'; answer: Answer; originalRequestId: string };

export class IdempotencyKeys {
  readonly #entries = new Map<string, Entry>();

  constructor(readonly world: World) {}

  /** True when the key is taken, so that no execution follows whatever the request says. */
  isTaken(owner: Owner, key: string): boolean {
    this.#prune();
    return this.#entries.has(scoped(owner, key));
  }

  admit(owner: Owner, key: string, path: string, params: unknown, requestId: string): Admission {
    if (key.length > KEY_LENGTH) {
      throw invalid(
        `Idempotency key is too long: it may have up to ${KEY_LENGTH} characters, got ${key.length}.`,
        undefined,
      );
    }
    this.#prune();
    const name = scoped(owner, key);
    const parameters = fingerprint(params);
    const known = this.#entries.get(name);
    if (known) return replay(known, key, path, parameters);
    const entry: Entry = { createdMs: this.world.now(), path, parameters, requestId, answer: null };
    this.#entries.set(name, entry);
    return {
      kind: 'first',
      finish: (answer, stored) => {
        if (stored) entry.answer = answer;
        else if (this.#entries.get(name) === entry) this.#entries.delete(name);
      },
    };
  }

  clear(): void {
    this.#entries.clear();
  }

  #prune(): void {
    const now = this.world.now();
    for (const [name, entry] of this.#entries) {
      if (entry.createdMs + LIFE_MS > now && this.#entries.size <= KEY_LIMIT) return;
      this.#entries.delete(name);
    }
  }
}

function replay(known: Entry, key: string, path: string, parameters: string): Admission {
  if (known.path !== path) {
    throw mismatch(
      `Keys for idempotent requests can only be used for the same endpoint they were first used for ('${path}' vs '${known.path}'). Try using a key other than '${key}' if you meant to execute a different request.`,
    );
  }
  if (known.parameters !== parameters) {
    throw mismatch(
      `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}' if you meant to execute a different request.`,
    );
  }
  if (!known.answer) throw keyInUse(key);
  return { kind: 'replay', answer: known.answer, originalRequestId: known.requestId };
}

function mismatch(message: string): Refusal {
  return new Refusal({ status: 400, type: 'idempotency_error', message, stored: false });
}

export function keyInUse(key: string): Refusal {
  return new Refusal({
    status: 409,
    type: 'invalid_request_error',
    code: 'idempotency_key_in_use',
    message: `There is currently another in-progress request using this Stripe-Idempotency-Key (that probably means you submitted twice, and the other request is still going through): ${key}.`,
    headers: { 'stripe-should-retry': 'true' },
    stored: false,
  });
}

function scoped(owner: Owner, key: string): string {
  return `${owner.account}/${owner.livemode}/${key}`;
}

/** The order in which parameters were written does not matter, their values do. */
function fingerprint(params: unknown): string {
  return createHash('sha1').update(canonical(params)).digest('base64');
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `{${entries.map(([key, entry]) => `${JSON.stringify(key)}:${canonical(entry)}`).join(',')}}`;
}
