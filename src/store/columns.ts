/**
 * Many rows as the parameters of one statement: a text for each column, in which the values follow one another. Postgres takes
 * it in half the time of rows in JSON, and nothing has to be escaped: the separator can be in no JSON text.
 */
import { isStorable, storable } from './storable.js';

/** By name, in the order of the parameters: the type in Postgres, and what is given of an item. Nothing and '' are null there. */
export type Columns<Item> = Readonly<
  Record<
    string,
    readonly [
      type: 'bigint' | 'boolean' | 'float8' | 'integer' | 'json' | 'jsonb' | 'text' | 'timestamptz',
      of: (item: Item) => unknown,
    ]
  >
>;

/** U+001E, which ASCII calls "record separator". */
const SEPARATOR = '\x1e';
const OUT_OF_PLACE = new RegExp(`[\\0${SEPARATOR}]`, 'g');

/** The rows, to be read `FROM`; the parameters are numbered from `first` on. */
export function rowsOf<Item>(columns: Columns<Item>, first: number): string {
  const lists = Object.values(columns).map(
    ([type], place) => `string_to_array($${String(first + place)}, chr(30), '')::${type}[]`,
  );
  const names = Object.keys(columns).map((name) => `"${name}"`);
  return `unnest(${lists.join(', ')}) AS i(${names.join(', ')})`;
}

/** The parameters for `rowsOf`. */
export const valuesOf = <Item>(columns: Columns<Item>, items: readonly Item[]): string[] =>
  Object.values(columns).map(([type, of]) => {
    const values = items.map(of);
    return type === 'json' || type === 'jsonb' ? documents(values) : scalars(values);
  });

function documents(values: readonly unknown[]): string {
  const column = joined(values, JSON.stringify);
  return isStorable(column) ? column : joined(values, storable);
}

const scalars = (values: readonly unknown[]): string =>
  joined(values, (value) =>
    typeof value === 'string' ? value.replace(OUT_OF_PLACE, '\uFFFD') : String(value),
  );

const joined = (values: readonly unknown[], written: (value: unknown) => string): string =>
  values.map((value) => (value === null || value === undefined ? '' : written(value))).join(SEPARATOR);
