/** Secret keys: which account and mode each one speaks for, and the 401 and 403 answers. */
import { type Exchange, header } from '../http/exchange.js';
import { type Owner } from '../payments/model.js';
import { Refusal } from '../payments/refusal.js';

export interface SecretKey extends Owner {
  key: string;
  /** Routes that a restricted key may not use. */
  deniedRoutes?: string[] | undefined;
}

export const DEFAULT_ACCOUNT = 'acct_1SandboxDefault0';

export class Keys {
  readonly #initial: readonly SecretKey[] | null;
  readonly #known = new Map<string, SecretKey>();
  readonly #revoked = new Set<string>();
  #anyTestKey: boolean;

  /** Without a list every test key is accepted and speaks for one account. */
  constructor(initial: readonly SecretKey[] | null) {
    this.#initial = initial;
    this.#anyTestKey = initial === null;
    this.reset();
  }

  reset(): void {
    this.#known.clear();
    this.#revoked.clear();
    this.#anyTestKey = this.#initial === null;
    for (const key of this.#initial ?? []) this.#known.set(key.key, key);
  }

  add(key: SecretKey): void {
    this.#known.set(key.key, key);
    this.#revoked.delete(key.key);
  }

  revoke(key: string): void {
    this.#revoked.add(key);
  }

  restore(key: string): void {
    this.#revoked.delete(key);
  }

  list(): { key: string; account: string; livemode: boolean; revoked: boolean }[] {
    const known = [...this.#known.values()].map(({ key, account, livemode }) => ({ key, account, livemode }));
    const others = [...this.#revoked].filter((key) => !this.#known.has(key));
    const all = [...known, ...others.map((key) => ({ key, account: DEFAULT_ACCOUNT, livemode: false }))];
    return all.map((entry) => ({ ...entry, revoked: this.#revoked.has(entry.key) }));
  }

  authenticate(exchange: Exchange): SecretKey {
    const key = secretOf(header(exchange, 'authorization'));
    if (key === null) {
      throw unauthorized(
        "You did not provide an API key. You need to provide your API key in the Authorization header, using Bearer auth (e.g. 'Authorization: Bearer YOUR_SECRET_KEY').",
      );
    }
    if (this.#revoked.has(key)) {
      throw unauthorized(`Expired API Key provided: ${masked(key)}`, 'api_key_expired');
    }
    const known = this.#known.get(key);
    if (known) return this.#forAccount(known, exchange);
    if (this.#anyTestKey && key.startsWith('sk_test_')) {
      return this.#forAccount({ key, account: DEFAULT_ACCOUNT, livemode: false }, exchange);
    }
    throw unauthorized(`Invalid API Key provided: ${masked(key)}`);
  }

  #forAccount(key: SecretKey, exchange: Exchange): SecretKey {
    const wanted = header(exchange, 'stripe-account');
    if (wanted === null || wanted === key.account) return key;
    throw new Refusal({
      status: 403,
      type: 'invalid_request_error',
      code: 'account_invalid',
      message: `The provided key '${masked(key.key)}' does not have access to account '${wanted}' (or that account does not exist). Application access may have been revoked.`,
      stored: false,
    });
  }
}

export function checkPermission(key: SecretKey, route: string): void {
  if (!key.deniedRoutes?.includes(route)) return;
  throw new Refusal({
    status: 403,
    type: 'invalid_request_error',
    message: `The provided key '${masked(key.key)}' does not have the required permissions for this endpoint on account '${key.account}'.`,
    stored: false,
  });
}

/** The key of a Bearer header, or the user name of a Basic one, whose password stays empty. */
function secretOf(authorization: string | null): string | null {
  const [scheme, value] = authorization?.trim().split(/\s+/, 2) ?? [];
  if (!scheme || !value) return null;
  if (scheme.toLowerCase() === 'bearer') return value;
  if (scheme.toLowerCase() !== 'basic') return null;
  const user = Buffer.from(value, 'base64').toString('utf8').split(':', 1)[0];
  return user ? user : null;
}

function masked(key: string): string {
  return key.length <= 12 ? '*'.repeat(key.length) : `${key.slice(0, 8)}${'*'.repeat(8)}${key.slice(-4)}`;
}

function unauthorized(message: string, code?: string): Refusal {
  return new Refusal({ status: 401, type: 'invalid_request_error', message, code, stored: false });
}
