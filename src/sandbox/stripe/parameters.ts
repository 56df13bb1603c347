/** Form-encoded parameters, read as strictly as Stripe reads them. */
import qs from 'qs';
import { invalid } from '../payments/refusal.js';

export type Params = Record<string, unknown>;
export type Reader<T> = (value: unknown, name: string) => T;
type Shape = Record<string, Reader<unknown>>;
export type Values<S extends Shape> = { [K in keyof S]?: ReturnType<S[K]> | undefined };

/** Metadata may have 50 keys, each of which is a parameter. */
const PARAMETER_LIMIT = 1000;

export function parseForm(text: string): Params {
  const parsed = qs.parse(text, {
    depth: 10,
    parameterLimit: PARAMETER_LIMIT,
    plainObjects: true,
    // Metadata keys may be numbers; closing the gaps between them would rename the keys.
    allowSparse: true,
  });
  return { ...parsed };
}

/** Reads what the shape names and refuses everything else. */
export function read<S extends Shape>(params: Params, shape: S, prefix = ''): Values<S> {
  const values: Params = {};
  for (const [key, value] of Object.entries(params)) {
    const name = prefix ? `${prefix}[${key}]` : key;
    const reader = Object.hasOwn(shape, key) ? shape[key] : undefined;
    if (!reader) throw unknownParameter(name);
    values[key] = reader(value, name);
  }
  return values as Values<S>;
}

export function unknownParameter(name: string): Error {
  return invalid(`Received unknown parameter: ${name}`, name, 'parameter_unknown');
}

export function required<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw invalid(`Missing required param: ${name}.`, name, 'parameter_missing');
  return value;
}

export const text: Reader<string> = (value, name) => {
  if (typeof value !== 'string') throw invalid(`Invalid string: ${JSON.stringify(value)}`, name);
  if (value === '') {
    throw invalid(
      `You passed an empty string for '${name}'. We assume empty values are an attempt to unset a parameter; however '${name}' cannot be unset. You should remove '${name}' from your request or supply a non-empty value.`,
      name,
      'parameter_invalid_empty',
    );
  }
  return value;
};

/** An empty value unsets it. */
export const optionalText: Reader<string | null> = (value, name) => (value === '' ? null : text(value, name));

export const integer =
  (minimum: number): Reader<number> =>
  (value, name) => {
    const written = text(value, name);
    if (!/^[+-]?\d+$/.test(written) || !Number.isSafeInteger(Number(written))) {
      throw invalid(`Invalid integer: ${written}`, name, 'parameter_invalid_integer');
    }
    const number = Number(written);
    if (number < minimum) {
      const message = `This value must be greater than or equal to ${minimum}.`;
      throw invalid(message, name, 'parameter_invalid_integer');
    }
    return number;
  };

export const flag: Reader<boolean> = (value, name) => {
  if (value === 'true') return true;
  if (value === 'false') return false;
  throw invalid(`Invalid boolean: ${String(value)}`, name);
};

export const oneOf =
  <const T extends string>(...allowed: T[]): Reader<T> =>
  (value, name) => {
    const found = allowed.find((word) => word === value);
    if (found === undefined) throw invalid(`Invalid ${name}: must be one of ${allowed.join(', ')}`, name);
    return found;
  };

export const object =
  <S extends Shape>(shape: S): Reader<Values<S>> =>
  (value, name) => {
    if (!isRecord(value)) throw invalid('Invalid object', name);
    return read(value, shape, name);
  };

export const list =
  <T>(item: Reader<T>): Reader<T[]> =>
  (value, name) => {
    // Indexed items beyond qs's array limit arrive as an object; both forms are sent by clients.
    if (!Array.isArray(value) && !isRecord(value)) throw invalid('Invalid array', name);
    const items: unknown[] = Object.values(value);
    return items.map((entry, index) => item(entry, `${name}[${index}]`));
  };

/** Parameters that are documented, accepted and of no consequence here. */
export const ignored: Reader<unknown> = (value) => value;

const METADATA_KEYS = 50;
const METADATA_KEY_LENGTH = 40;
const METADATA_VALUE_LENGTH = 500;

/** Null when the whole is unset by an empty string. */
export const metadata: Reader<Record<string, string> | null> = (value, name) => {
  if (value === '') return null;
  const entries = Array.isArray(value) ? { ...(value as unknown[]) } : value;
  if (!isRecord(entries)) throw invalid('Invalid hash', name);
  const keys = Object.keys(entries);
  if (keys.length > METADATA_KEYS) {
    throw invalid(`You can only have up to ${METADATA_KEYS} metadata keys.`, name);
  }
  const read: Record<string, string> = {};
  for (const key of keys) {
    const entry = entries[key];
    if ([...key].length > METADATA_KEY_LENGTH) {
      throw invalid(`Metadata keys can have up to ${METADATA_KEY_LENGTH} characters.`, name);
    }
    if (typeof entry !== 'string') {
      throw invalid('Metadata values must be strings and keys may not have brackets.', `${name}[${key}]`);
    }
    if ([...entry].length > METADATA_VALUE_LENGTH) {
      throw invalid(`Metadata values can have up to ${METADATA_VALUE_LENGTH} characters.`, `${name}[${key}]`);
    }
    read[key] = entry;
  }
  return read;
};

function isRecord(value: unknown): value is Params {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
