/** Who calls, and whether they may. */
import { hash, timingSafeEqual } from 'node:crypto';
import { hashOf, type ApiKey, type Scope } from '../../config.js';
import type { Actor } from '../../store/record.js';

/** Who a request came from; what proved it stays here. */
export interface Caller {
  readonly kind: 'key' | 'person';
  readonly name: string;
  readonly scopes: readonly Scope[];
}

/** As whom the timeline names the caller. */
export const actorOf = ({ kind, name }: Caller): Actor => ({ kind, name });

/**
 * Who calls, by the header `Authorization`; null when this authenticator does not know them. Never throws for a credential
 * that is wrong; StoreUnavailable and the like for one that cannot be checked now. People who sign in by OpenID Connect are
 * one more implementation, which returns callers of kind `person`.
 */
export interface Authenticator {
  identify(authorization: string | undefined): Promise<Caller | null>;
}

/** Keys of high entropy: their plain hash cannot be guessed back, and compares in constant time. */
export class ApiKeyAuthenticator implements Authenticator {
  readonly #keys: readonly { readonly digest: Buffer; readonly caller: Caller }[];

  constructor(keys: readonly ApiKey[]) {
    this.#keys = keys.map(({ name, scopes, secret }) => ({
      digest: Buffer.from(hashOf(secret), 'hex'),
      caller: { kind: 'key', name, scopes },
    }));
  }

  /** Takes the same time for every key, known or not. */
  identify(authorization: string | undefined): Promise<Caller | null> {
    const presented = /^Bearer +([^\s]+) *$/i.exec(authorization ?? '')?.[1];
    if (presented === undefined) return Promise.resolve(null);
    const hashed = hash('sha256', presented, 'buffer');
    let found: Caller | null = null;
    for (const key of this.#keys) {
      if (timingSafeEqual(hashed, key.digest)) found = key.caller;
    }
    return Promise.resolve(found);
  }
}

/** The first that knows the caller. */
export const firstOf = (...authenticators: readonly Authenticator[]): Authenticator => ({
  async identify(authorization) {
    for (const authenticator of authenticators) {
      const caller = await authenticator.identify(authorization);
      if (caller !== null) return caller;
    }
    return null;
  },
});

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
