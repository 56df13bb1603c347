/** API keys: who calls, and whether they may. */
import { hash, timingSafeEqual } from 'node:crypto';
import type { ApiKey, Scope } from '../../config.js';
import type { Actor } from '../../store/record.js';

/** The key that a request came with; its secret stays here. */
export interface Caller {
  readonly kind: 'key' | 'person';
  readonly name: string;
  readonly scopes: readonly Scope[];
}

const digest = (secret: string): Buffer => hash('sha256', secret, 'buffer');
/** As whom the timeline names the caller. */
export const actorOf = ({ kind, name }: Caller): Actor => ({ kind, name });

export class Authenticator {
  readonly #keys: readonly { readonly digest: Buffer; readonly caller: Caller }[];

  constructor(keys: readonly ApiKey[]) {
    this.#keys = keys.map(({ name, scopes, secret }) => ({
      digest: digest(secret),
      caller: { kind: 'key', name, scopes },
    }));
  }

  /** Null without a known key. Takes the same time for every key, known or not. */
  identify(authorization: string | undefined): Caller | null {
    const presented = /^Bearer +([^\s]+) *$/i.exec(authorization ?? '')?.[1];
    if (presented === undefined) return null;
    const hashed = digest(presented);
    let found: Caller | null = null;
    for (const key of this.#keys) {
      if (timingSafeEqual(hashed, key.digest)) found = key.caller;
    }
    return found;
  }
}

/** What a scope stands for besides itself. */
const INCLUDES: Readonly<Record<Scope, readonly Scope[]>> = {
  checkout: ['checkout'],
  support: ['support'],
  support_lead: ['support_lead', 'support'],
  admin: ['admin', 'support_lead', 'support', 'checkout'],
};

/** True when one of `wanted` is granted. */
export const mayCall = (caller: Caller, wanted: readonly Scope[]): boolean =>
  caller.scopes.some((scope) => INCLUDES[scope].some((granted) => wanted.includes(granted)));
