/** Lists and searches: paging with cursors, filters by creation, the search language as far as it is needed. */
import { type Intent } from '../payments/model.js';
import { invalid } from '../payments/refusal.js';
import { type Shelf, type Shelved } from '../shelf.js';
import { type Context, find, IN_PATH } from './endpoint.js';
import { integer, object, oneOf, type Reader, text, type Values } from './parameters.js';
import { type Rendered } from './render-intent.js';
import { renderList } from './render.js';

const DEFAULT_LIMIT = 10;
const MAXIMUM_LIMIT = 100;

const limit: Reader<number> = (value, name) => {
  const number = integer(1)(value, name);
  if (number > MAXIMUM_LIMIT) {
    const message = `This value must be less than or equal to ${MAXIMUM_LIMIT} (it currently is '${number}').`;
    throw invalid(message, name, 'parameter_invalid_integer');
  }
  return number;
};

interface Range {
  from: number;
  to: number;
}

const bounds = object({ gt: integer(0), gte: integer(0), lt: integer(0), lte: integer(0) });

/** Either one second or a range of them; both ends of the result are inclusive. */
const created: Reader<Range> = (value, name) => {
  if (typeof value === 'string') {
    const second = integer(0)(value, name);
    return { from: second, to: second };
  }
  const { gt, gte, lt, lte } = bounds(value, name);
  return {
    from: Math.max(gte ?? 0, gt === undefined ? 0 : gt + 1),
    to: Math.min(lte ?? Number.POSITIVE_INFINITY, lt === undefined ? Number.POSITIVE_INFINITY : lt - 1),
  };
};

export const pageShape = { limit, created, starting_after: text, ending_before: text };

export function renderPage<T extends Shelved>(
  context: Context,
  shelf: Shelf<T>,
  kind: string,
  query: Values<typeof pageShape>,
  accept: (item: T) => boolean,
  render: (item: T) => Rendered,
  url: string,
): Rendered {
  if (query.starting_after !== undefined && query.ending_before !== undefined) {
    throw invalid('You may only specify one of these parameters: ending_before, starting_after.', undefined);
  }
  const cursor = (id: string | undefined, name: string): T | null =>
    id === undefined ? null : find(context, shelf, kind, id, IN_PATH(name));
  const range = query.created ?? { from: 0, to: Number.POSITIVE_INFINITY };
  const page = shelf.page(context.owner, {
    limit: Math.min(query.limit ?? DEFAULT_LIMIT, context.books.settings.page_size_limit),
    startingAfter: cursor(query.starting_after, 'starting_after'),
    endingBefore: cursor(query.ending_before, 'ending_before'),
    notBefore: range.from,
    accept: (item) => item.created <= range.to && accept(item),
  });
  return renderList(url, page.items.map(render), page.hasMore);
}

const CLAUSE =
  /^\s*(?:metadata\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]|([a-z_]+))\s*(:|>=|<=|>|<)\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(\d+))\s*/;

type Matcher = (intent: Intent, status: string) => boolean;

const FIELDS: Record<string, (intent: Intent, status: string) => string | number | null> = {
  amount: (intent) => intent.amount,
  created: (intent) => intent.created,
  currency: (intent) => intent.currency,
  customer: (intent) => intent.customer,
  status: (_intent, status) => status,
};

/** `metadata['k']:'v'`, `status:'…'`, `amount>100` and the like, joined by AND. */
export function parseSearch(query: string): Matcher {
  const matchers: Matcher[] = [];
  let rest = query;
  for (;;) {
    const clause = CLAUSE.exec(rest);
    if (!clause) throw invalid(`We were unable to parse your search query: ${query}`, 'query');
    matchers.push(matcherOf(clause, query));
    rest = rest.slice(clause[0].length);
    if (rest === '') return (intent, status) => matchers.every((matches) => matches(intent, status));
    if (!/^AND\s/i.test(rest)) throw invalid('Only AND joins the clauses of a search here.', 'query');
    rest = rest.slice('AND'.length);
  }
}

function matcherOf(clause: RegExpExecArray, query: string): Matcher {
  const [, singleKey, doubleKey, field, operator, singleValue, doubleValue, number] = clause;
  const key = singleKey ?? doubleKey;
  const value = unescape(singleValue ?? doubleValue ?? number ?? '');
  if (key !== undefined) {
    const name = unescape(key);
    return (intent) => intent.metadata[name] === value;
  }
  const pick = FIELDS[field ?? ''];
  if (!pick) throw invalid(`Field \`${field}\` is an unsupported search field: ${query}`, 'query');
  return (intent, status) => compare(pick(intent, status), operator ?? ':', value);
}

function compare(actual: string | number | null, operator: string, value: string): boolean {
  if (operator === ':') return String(actual).toLowerCase() === value.toLowerCase();
  const [a, b] = [Number(actual), Number(value)];
  if (operator === '>') return a > b;
  if (operator === '<') return a < b;
  return operator === '>=' ? a >= b : a <= b;
}

function unescape(quoted: string): string {
  return quoted.replace(/\\(.)/gs, '$1');
}

export const searchShape = { query: text, limit, page: text };

/** The status that the search index, lagging by `lagMs`, still knows; null while it does not know the intent. */
export function statusAsOf(intent: Intent, atMs: number): string | null {
  return intent.statusLog.findLast((entry) => entry.at <= atMs)?.status ?? null;
}

export const cancellationReason = oneOf('duplicate', 'fraudulent', 'requested_by_customer', 'abandoned');
