/** The only reader of the environment: one schema, all errors at once. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { Currency } from './operation/money.js';
import { WATCH_DAYS } from './operation/schedule.js';
import { Account, DEFAULT_ACCOUNT } from './operation/spec.js';

export const SCOPES = ['checkout', 'support', 'support_lead', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

export interface ApiKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** As it is sent, or `sha256:` and the hash of it in hex. */
  readonly secret: string;
}

/** What `sha256:` begins is a hash, so that a slip in it is never taken for a secret of that look. */
const HASHED = /^sha256:/i;
const HASH = /^sha256:[0-9a-f]{64}$/i;

/**
 * `name:scope+scope:secret`, comma-separated; in place of the secret `sha256:` and its hash. Two keys may share a name:
 * the old one and the new one, while a key is replaced.
 */
const ApiKeys = z.string().transform((text, context): ApiKey[] => {
  const keys = text
    .split(',')
    .filter((part) => part.trim() !== '')
    .map((part, index): ApiKey | undefined => {
      const match = /^([^:]+):([^:]+):(.+)$/.exec(part.trim());
      const scopes = match?.[2]?.split('+') ?? [];
      const known = scopes.filter((scope): scope is Scope => (SCOPES as readonly string[]).includes(scope));
      if (match === null || known.length !== scopes.length) {
        // The entry itself is not shown: it holds a secret.
        context.addIssue({
          code: 'custom',
          message: `entry ${index + 1} must be name:scope+scope:secret with scopes of ${SCOPES.join(', ')}`,
        });
        return undefined;
      }
      const secret = match[3] ?? '';
      if (HASHED.test(secret) && !HASH.test(secret)) {
        const message = `entry ${index + 1} must have 64 hex digits after sha256:`;
        context.addIssue({ code: 'custom', message });
        return undefined;
      }
      return { name: match[1] ?? '', scopes: known, secret };
    })
    .filter((key) => key !== undefined);
  if (new Set(keys.map(({ secret }) => hashOf(secret))).size !== keys.length) {
    context.addIssue({ code: 'custom', message: 'two entries share a secret' });
  }
  return keys;
});

/** SHA-256 of an API key's secret in lower-case hex, however it was configured. */
export const hashOf = (secret: string): string =>
  HASH.test(secret) ? secret.slice('sha256:'.length).toLowerCase() : hash('sha256', secret);

const milliseconds = (fallback: number, min = 1) =>
  z.coerce
    .number()
    .int()
    .min(min)
    .max(2 ** 31 - 1)
    .default(fallback);
const url = (...protocols: string[]) =>
  z.string().refine(
    (text) => {
      try {
        return protocols.includes(new URL(text).protocol);
      } catch {
        return false;
      }
    },
    { error: `must be a URL beginning with ${protocols.map((p) => `${p}//`).join(' or ')}` },
  );

/** How many days something is kept; `never` deletes nothing. */
const days = (fallback: number, min: number) =>
  z
    .string()
    .regex(/^(never|[0-9]{1,5})$/, { error: 'must be a number of days, or never' })
    .transform((text) => (text === 'never' ? null : Number(text)))
    .refine((given) => given === null || given >= min, { error: `must be at least ${min} days, or never` })
    .default(fallback);

/** JSON: currency → minor units. */
const Amounts = z.string().transform((text, context): Readonly<Record<string, number>> => {
  try {
    const parsed = z.record(Currency, z.int().min(0)).safeParse(JSON.parse(text));
    if (parsed.success) return parsed.data;
  } catch {
    // Not JSON: said below.
  }
  context.addIssue({
    code: 'custom',
    message: 'must be JSON of minor units by currency, e.g. {"EUR": 500000}',
  });
  return z.NEVER;
});

const Environment = z.object({
  DATABASE_URL: url('postgres:', 'postgresql:'),
  REDIS_URL: url('redis:', 'rediss:').optional(),
  PORT: z.coerce.number().int().min(0).max(65535).default(3000),
  /** Loopback unless a deployment says otherwise. */
  HOST: z.string().default('127.0.0.1'),
  ROLE: z.enum(['all', 'api', 'worker']).default('all'),
  STRIPE_SECRET_KEY: z.string().min(1).optional(),
  STRIPE_WEBHOOK_SECRET: z.string().min(1).optional(),
  STRIPE_API_BASE: url('http:', 'https:').optional(),
  STRIPE_AUTOMATIC_METHODS: z
    .enum(['true', 'false'])
    .default('true')
    .transform((text) => text === 'true'),
  /** JSON: name → {provider, secret, webhook_secret, base}, where there is more than the default account. */
  ACCOUNTS_FILE: z.string().min(1).optional(),
  INVENTORY_URL: url('http:', 'https:').optional(),
  API_KEYS: ApiKeys.default([]),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** A card authorization through 3 networks usually answers in 2 to 4 s; beyond 20 s we rather read than wait. */
  PROVIDER_TIMEOUT_MS: milliseconds(20_000),
  /** At least twice the timeout (the client may resend once by itself) and a margin; three timeouts when not given. */
  LEASE_MS: z.coerce
    .number()
    .int()
    .min(1)
    .max(2 ** 31 - 1)
    .optional(),
  /** How late a lost bell can make work. */
  SWEEP_INTERVAL_MS: milliseconds(5_000),
  /** Waiting and settled records; webhooks usually come first. */
  RESYNC_INTERVAL_MS: milliseconds(900_000),
  /**
   * How often what the provider holds is compared with what is recorded. One list an interval is some 4,000 reads a month,
   * and Stripe lets even the smallest account read 10,000.
   */
  ORPHAN_SWEEP_INTERVAL_MS: milliseconds(600_000),
  /** Payments change after they were made: 30 days hold a late capture, a voucher, most refunds and bank debits. */
  ORPHAN_LOOKBACK_HOURS: z.coerce.number().int().min(1).max(8_760).default(720),
  /** From one slow round through that time to the next; a large shop's takes hours, and the next one just follows. */
  ORPHAN_LOOKBACK_INTERVAL_MS: milliseconds(21_600_000),
  /** A front end makes its payment minutes before its order; within an hour both should be here. */
  ORPHAN_GRACE_MS: milliseconds(3_600_000, 0),
  /** Comma-separated. On other accounts a shop may sell elsewhere, too, so only payments with our mark concern us. */
  ORPHAN_EXCLUSIVE_ACCOUNTS: z
    .string()
    .transform((text) => listed(text))
    .pipe(z.array(Account))
    .default([]),
  /** With the default backoff eight failures take about two minutes on average: beyond that a person should know. */
  RETRY_LIMIT: z.coerce.number().int().min(1).max(1000).default(8),
  BACKOFF_BASE_MS: milliseconds(1_000),
  BACKOFF_MAX_MS: milliseconds(300_000),
  /** Requests a second that the provider allows an account; used after an outage or a throttle. Stripe: 100 live. */
  PROVIDER_RATE_LIMIT: z.coerce.number().min(1).max(100_000).default(80),
  /**
   * Refunds within an hour that an account sends by itself. A shop with some ten thousand orders an hour stays below
   * it; a loop that has gone wild and gives back ten a second is stopped after less than two minutes.
   */
  REFUND_BRAKE_COUNT: z.coerce.number().int().min(0).max(1_000_000).default(1_000),
  /** How much within an hour. No default: what is much is another amount for each shop and currency. */
  REFUND_BRAKE_AMOUNT: Amounts.default({}),
  /** Above it a person's command needs a second one. No default: off, and what is much differs between shops. */
  APPROVAL_AMOUNT: Amounts.default({}),
  /** Orders in work at once per process; each holds no database connection while it waits for the provider. */
  WORKER_CONCURRENCY: z.coerce.number().int().min(1).max(1000).default(50),
  /** A name that only one worker has at a time, and has again after a restart: it then goes on at once with what it held. */
  WORKER_ID: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,128}$/, { error: 'must be 1 to 128 letters, digits, ".", "_" and "-"' })
    .optional(),
  /** Unpaid orders are given up after a day. */
  PAYMENT_DEADLINE_MS: milliseconds(86_400_000),
  /** What is deleted or erased in one round is little, so rounds come often; see src/retention/housekeeping.ts. */
  HOUSEKEEPING_INTERVAL_MS: milliseconds(60_000),
  /** Stripe sends a webhook again for three days, and on request for 30: until then the inbox tells that it was here. */
  WEBHOOK_RETENTION_DAYS: days(30, 7),
  /** Findings that were resolved: a year, which the yearly accounts are made of, and a month to make them. */
  FINDING_RETENTION_DAYS: days(400, 30),
  /**
   * Journal and timeline, after an order settled. Card networks end the last way to dispute 540 days after a payment, and who
   * answers for it then needs the journal: two years hold that. Never shorter than an order is watched.
   */
  JOURNAL_RETENTION_DAYS: days(730, WATCH_DAYS),
  /** After the watch: 180 + 365 days are past those 540, so that by then nobody has to find the customer any more. */
  PERSONAL_DATA_RETENTION_DAYS: days(365, 0),
  /** How long a stopping process may take to finish calls that are under way. */
  SHUTDOWN_GRACE_MS: milliseconds(25_000),
});

/** One provider account as configured: by the STRIPE_… variables (`default`) or in ACCOUNTS_FILE. */
const AccountConfig = z.strictObject({
  provider: z.literal('stripe'),
  secret: z.string().min(1),
  /** Several while a secret is being rotated. */
  webhook_secret: z.union([z.string().min(1), z.array(z.string().min(1))]).optional(),
  base: url('http:', 'https:').optional(),
  /** Its own limits instead of REFUND_BRAKE_COUNT and REFUND_BRAKE_AMOUNT; what is absent is as there. */
  refund_brake: z
    .strictObject({
      count: z.int().min(0).max(1_000_000).optional(),
      amount: z.record(Currency, z.int().min(0)).optional(),
    })
    .optional(),
});
export type AccountConfig = z.infer<typeof AccountConfig>;
const AccountsFile = z.record(Account, AccountConfig);

export type Config = z.infer<typeof Environment> & {
  readonly LEASE_MS: number;
  readonly accounts: ReadonlyMap<string, AccountConfig>;
};

/** For our own work around two timeouts: two statements and a claim, each far below 100 ms. */
const LEASE_MARGIN_MS = 500;

/** Throws one Error that names every variable that is wrong, and no value. */
export function readConfig(environment: Readonly<Record<string, string | undefined>> = process.env): Config {
  const values = given(environment);
  const parsed = Environment.safeParse(values);
  const keyless =
    values['STRIPE_SECRET_KEY'] === undefined && values['ACCOUNTS_FILE'] === undefined
      ? ['STRIPE_SECRET_KEY: is needed, or accounts in ACCOUNTS_FILE']
      : [];
  if (!parsed.success) throw configurationError([...problemsOf(parsed.error), ...keyless]);
  const { PROVIDER_TIMEOUT_MS } = parsed.data;
  const LEASE_MS = parsed.data.LEASE_MS ?? 3 * PROVIDER_TIMEOUT_MS + LEASE_MARGIN_MS;
  const short =
    LEASE_MS < 2 * PROVIDER_TIMEOUT_MS + LEASE_MARGIN_MS
      ? [`LEASE_MS: must be at least 2 × PROVIDER_TIMEOUT_MS + ${LEASE_MARGIN_MS}`]
      : [];
  if (keyless.length + short.length > 0) throw configurationError([...keyless, ...short]);
  const accounts = accountsOf(parsed.data);
  const strangers = parsed.data.ORPHAN_EXCLUSIVE_ACCOUNTS.filter((name) => !accounts.has(name));
  if (strangers.length > 0)
    throw configurationError(
      strangers.map((name) => `ORPHAN_EXCLUSIVE_ACCOUNTS: there is no account "${name}"`),
    );
  return { ...parsed.data, LEASE_MS, accounts };
}

/** The account of the STRIPE_… variables, and those of the file. */
function accountsOf(environment: z.infer<typeof Environment>): ReadonlyMap<string, AccountConfig> {
  const { STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET, STRIPE_API_BASE, ACCOUNTS_FILE } = environment;
  const accounts = new Map<string, AccountConfig>();
  if (STRIPE_SECRET_KEY !== undefined) {
    accounts.set(DEFAULT_ACCOUNT, {
      provider: 'stripe',
      secret: STRIPE_SECRET_KEY,
      ...(STRIPE_WEBHOOK_SECRET === undefined ? {} : { webhook_secret: listed(STRIPE_WEBHOOK_SECRET) }),
      ...(STRIPE_API_BASE === undefined ? {} : { base: STRIPE_API_BASE }),
    });
  }
  for (const [name, account] of Object.entries(
    ACCOUNTS_FILE === undefined ? {} : readAccounts(ACCOUNTS_FILE),
  )) {
    if (accounts.has(name))
      throw configurationError([`ACCOUNTS_FILE: ${name} is given by STRIPE_SECRET_KEY already`]);
    accounts.set(name, account);
  }
  if (accounts.size === 0) throw configurationError(['ACCOUNTS_FILE: holds no account']);
  return accounts;
}

/** Comma-separated. What is empty is no secret: anybody could sign with it. */
const listed = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

/** Values are never shown: they are secrets. */
function readAccounts(path: string): z.infer<typeof AccountsFile> {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const reason = error instanceof SyntaxError ? 'it is not JSON' : 'it cannot be read';
    throw configurationError([`ACCOUNTS_FILE: ${reason}`]);
  }
  const parsed = AccountsFile.safeParse(content);
  if (!parsed.success)
    throw configurationError(problemsOf(parsed.error).map((problem) => `ACCOUNTS_FILE: ${problem}`));
  return parsed.data;
}

/** What `node . migrate` needs. Throws like readConfig. */
export function readMigrateConfig(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Pick<Config, 'DATABASE_URL' | 'REDIS_URL' | 'LOG_LEVEL'> {
  const parsed = Environment.pick({ DATABASE_URL: true, REDIS_URL: true, LOG_LEVEL: true }).safeParse(
    given(environment),
  );
  if (!parsed.success) throw configurationError(problemsOf(parsed.error));
  return parsed.data;
}

/** An empty variable is what many deployment tools write for "not set". */
const given = (
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));

const problemsOf = (error: z.ZodError): string[] =>
  error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);

const configurationError = (problems: readonly string[]): Error =>
  new Error(`The configuration is not usable:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
