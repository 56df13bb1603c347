import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { readConfig } from '../../src/config.js';

const MINIMUM = { DATABASE_URL: 'postgres://u:p@db/x', STRIPE_SECRET_KEY: 'sk_test_1' };

const HASH_OF_ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

describe('the configuration', () => {
  const folder = mkdtempSync(join(tmpdir(), 'order-reconciler-config-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const file = (name: string, content: string): string => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };

  test('needs little, and an empty variable is one that is not set', () => {
    const config = readConfig({ ...MINIMUM, REDIS_URL: '', LEASE_MS: '' });
    expect(config.REDIS_URL).toBeUndefined();
    expect(config.LEASE_MS).toBeGreaterThanOrEqual(2 * config.PROVIDER_TIMEOUT_MS);
    expect([...config.accounts.keys()]).toEqual(['default']);
  });

  test('a lease follows a longer timeout by itself', () => {
    expect(readConfig({ ...MINIMUM, PROVIDER_TIMEOUT_MS: '40000' }).LEASE_MS).toBeGreaterThan(80_000);
  });

  test('accounts come from the variables and from the file', () => {
    const accounts = {
      second: { provider: 'stripe', secret: 'sk_live_2', webhook_secret: ['a', 'b'], base: 'http://h:1' },
    };
    const config = readConfig({ ...MINIMUM, ACCOUNTS_FILE: file('good.json', JSON.stringify(accounts)) });
    expect([...config.accounts.keys()]).toEqual(['default', 'second']);
    expect(config.accounts.get('second')).toMatchObject({ secret: 'sk_live_2', base: 'http://h:1' });
  });

  test('an account may have a brake of its own', () => {
    const brake = { count: 5, amount: { EUR: 20_000 } };
    const accounts = { a: { provider: 'stripe', secret: 'sk_live_2', refund_brake: brake } };
    const config = readConfig({ ...MINIMUM, ACCOUNTS_FILE: file('brake.json', JSON.stringify(accounts)) });
    expect(config.accounts.get('a')?.refund_brake).toEqual(brake);
  });

  test('the default account may stand in the file alone', () => {
    const accounts = { default: { provider: 'stripe', secret: 'sk_live_1' } };
    const { DATABASE_URL } = MINIMUM;
    const config = readConfig({ DATABASE_URL, ACCOUNTS_FILE: file('alone.json', JSON.stringify(accounts)) });
    expect([...config.accounts.keys()]).toEqual(['default']);
  });

  test.each([
    ['no JSON', 'sk_live_hunter2 {', 'it is not JSON'],
    [
      'an unknown member',
      '{"a": {"provider": "stripe", "secret": "sk_live_hunter2", "typo": 1}}',
      'ACCOUNTS_FILE',
    ],
    ['no secret', '{"a": {"provider": "stripe"}}', 'a.secret'],
    [
      'a brake in no currency',
      '{"a": {"provider": "stripe", "secret": "sk_live_hunter2", "refund_brake": {"amount": {"euro": 1}}}}',
      'a.refund_brake.amount',
    ],
    [
      'a brake below nothing',
      '{"a": {"provider": "stripe", "secret": "sk_live_hunter2", "refund_brake": {"count": -1}}}',
      'a.refund_brake.count',
    ],
    ['an impossible name', '{"A b": {"provider": "stripe", "secret": "sk_live_hunter2"}}', 'ACCOUNTS_FILE'],
    ['the same account twice', '{"default": {"provider": "stripe", "secret": "sk_live_hunter2"}}', 'already'],
  ])('a file with %s is refused without showing a secret', (_name, content, expected) => {
    const read = (): unknown => readConfig({ ...MINIMUM, ACCOUNTS_FILE: file('bad.json', content) });
    expect(read).toThrow(expected);
    expect(read).not.toThrow(/hunter2/);
  });

  test('a file that is not there, or none at all, is said', () => {
    expect(() => readConfig({ ...MINIMUM, ACCOUNTS_FILE: join(folder, 'none.json') })).toThrow(
      'cannot be read',
    );
    expect(() => readConfig({ DATABASE_URL: MINIMUM.DATABASE_URL })).toThrow('STRIPE_SECRET_KEY');
  });

  test.each([
    ['checkout:checkout:s3cret', [{ name: 'checkout', scopes: ['checkout'], secret: 's3cret' }]],
    [
      'a:checkout+support:s:with:colons',
      [{ name: 'a', scopes: ['checkout', 'support'], secret: 's:with:colons' }],
    ],
    [
      `a:support:sha256:${HASH_OF_ABC}`,
      [{ name: 'a', scopes: ['support'], secret: `sha256:${HASH_OF_ABC}` }],
    ],
    ['', []],
  ])('API_KEYS %s', (text, keys) => {
    expect(readConfig({ ...MINIMUM, API_KEYS: text }).API_KEYS).toEqual(keys);
  });

  test.each([
    ['a hash with a slip in it', 'a:support:sha256:abc', '64 hex digits'],
    ['the same secret plain and hashed', `a:support:abc,b:support:sha256:${HASH_OF_ABC}`, 'share a secret'],
  ])('API_KEYS with %s are refused without showing one', (_name, text, expected) => {
    const read = (): unknown => readConfig({ ...MINIMUM, API_KEYS: text });
    expect(read).toThrow(expected);
    expect(read).not.toThrow(/:abc|ba7816/);
  });

  test('a key that is replaced and its successor share a name', () => {
    const keys = readConfig({ ...MINIMUM, API_KEYS: 'a:support:old,a:support:new' }).API_KEYS;
    expect(keys.map(({ name }) => name)).toEqual(['a', 'a']);
  });

  test('the money-out brake is generous in number and off in amount, unless told', () => {
    expect(readConfig(MINIMUM)).toMatchObject({ REFUND_BRAKE_COUNT: 1_000, REFUND_BRAKE_AMOUNT: {} });
    const told = { REFUND_BRAKE_COUNT: '0', REFUND_BRAKE_AMOUNT: '{"EUR": 500000, "JPY": 0}' };
    expect(readConfig({ ...MINIMUM, ...told })).toMatchObject({
      REFUND_BRAKE_COUNT: 0,
      REFUND_BRAKE_AMOUNT: { EUR: 500_000, JPY: 0 },
    });
  });

  test.each(['500000', '{"EUR": -1}', '{"EUR": 1.5}', '{"EURO": 1}', '[]', '{'])(
    'REFUND_BRAKE_AMOUNT refused: %s',
    (text) => {
      expect(() => readConfig({ ...MINIMUM, REFUND_BRAKE_AMOUNT: text })).toThrow('REFUND_BRAKE_AMOUNT');
    },
  );

  test('what is kept how long has safe defaults, can be for ever, and never ends before the watch does', () => {
    expect(readConfig(MINIMUM)).toMatchObject({
      WEBHOOK_RETENTION_DAYS: 30,
      FINDING_RETENTION_DAYS: 400,
      JOURNAL_RETENTION_DAYS: 730,
      PERSONAL_DATA_RETENTION_DAYS: 365,
    });
    const told = {
      JOURNAL_RETENTION_DAYS: '180',
      PERSONAL_DATA_RETENTION_DAYS: '0',
      WEBHOOK_RETENTION_DAYS: 'never',
    };
    expect(readConfig({ ...MINIMUM, ...told })).toMatchObject({
      WEBHOOK_RETENTION_DAYS: null,
      JOURNAL_RETENTION_DAYS: 180,
      PERSONAL_DATA_RETENTION_DAYS: 0,
    });
  });

  test.each([
    ['JOURNAL_RETENTION_DAYS', '179'],
    ['JOURNAL_RETENTION_DAYS', '1e3'],
    ['WEBHOOK_RETENTION_DAYS', '6'],
    ['FINDING_RETENTION_DAYS', '29'],
    ['PERSONAL_DATA_RETENTION_DAYS', '-1'],
    ['PERSONAL_DATA_RETENTION_DAYS', 'off'],
  ])('%s refused: %s', (name, text) => {
    expect(() => readConfig({ ...MINIMUM, [name]: text })).toThrow(name);
  });

  test.each(['nonsense', 'a:unknown:hunter2', 'a:checkout:hunter2,b:checkout:hunter2'])(
    'API_KEYS refused: %s',
    (text) => {
      const read = (): unknown => readConfig({ ...MINIMUM, API_KEYS: text });
      expect(read).toThrow('API_KEYS');
      expect(read).not.toThrow(/hunter2/);
    },
  );
});
