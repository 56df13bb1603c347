/** Logs: one JSON object a line on stdout. Nothing secret leaves through it, whatever is handed in. */
import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';

export type Logger = PinoLogger;
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Members whose values are never written, at the top and one and two levels below. */
const SECRET_MEMBERS = [
  'authorization',
  'secret',
  'client_secret',
  'webhook_secret',
  'api_key',
  'apiKey',
  'api_keys',
  'apiKeys',
  'password',
  'DATABASE_URL',
  'REDIS_URL',
  'API_KEYS',
  'STRIPE_SECRET_KEY',
  'STRIPE_WEBHOOK_SECRET',
];

/** Secrets inside texts: provider keys, client secrets, bearer tokens, passwords in URLs. */
const SECRET_TEXTS: readonly [RegExp, string][] = [
  [/\b(sk|rk|whsec)_[A-Za-z0-9_]{4,}/g, '$1_[redacted]'],
  [/_secret_[A-Za-z0-9]+/g, '_secret_[redacted]'],
  [/\bBearer [^\s"\\]+/gi, 'Bearer [redacted]'],
  [/(\w+:\/\/[^\s:/@"]*):[^\s@/"]+@/g, '$1:[redacted]@'],
];

/** Writes each line with secret texts replaced. */
function scrubbed(destination: DestinationStream): DestinationStream {
  return {
    write: (line) =>
      destination.write(SECRET_TEXTS.reduce((text, [secret, shown]) => text.replace(secret, shown), line)),
  };
}

/** Also an error of another realm, which is no instance of ours. */
const isError = (value: unknown): value is Error =>
  value instanceof Error ||
  (typeof value === 'object' && value !== null && 'message' in value && 'stack' in value);

/** Name, message, code and stack, down the chain of causes; other members may carry requests with their headers. */
function describeError(error: unknown, depth = 0): unknown {
  if (!isError(error)) return typeof error === 'string' ? error : { type: typeof error };
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    message: error.message,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    stack: error.stack,
    ...(error.cause !== undefined && depth < 3 ? { cause: describeError(error.cause, depth + 1) } : {}),
  };
}

/**
 * For lines that are frequent and whose members are all named in one place, none of them secret: texts are scrubbed as
 * everywhere, but secret members are not searched for, which costs several times what the line itself does.
 */
export const ofNamedMembers = (logger: Logger): Logger => logger.child({}, { redact: [] });

/** Use the members `operation_id` and `request_id` for what a line is about, and `err` for an error. */
export function createLogger(
  level: LogLevel,
  destination: DestinationStream = pino.destination({ fd: 1, sync: true }),
): Logger {
  return pino(
    {
      level,
      base: null,
      messageKey: 'message',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (error: unknown) => describeError(error) },
      redact: {
        paths: SECRET_MEMBERS.flatMap((member) => [member, `*.${member}`, `*.*.${member}`]),
        censor: '[redacted]',
      },
    },
    scrubbed(destination),
  );
}
