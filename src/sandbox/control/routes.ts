/** The control API under /_sandbox: faults, outages, dashboard, clock, keys, stock, webhooks, ledger, journal. */
import { z } from 'zod';
import { outageSchema } from '../faults/outages.js';
import { type FaultRule, faultSchema } from '../faults/rules.js';
import { type Answer, decodeSegment, type Exchange, json } from '../http/exchange.js';
import { expireAuthorizations } from '../payments/intents.js';
import { Refusal } from '../payments/refusal.js';
import { changeSettings, settingsPatchSchema } from '../settings.js';
import { type Universe } from '../universe.js';
import { StockRefusal } from '../warehouse/stock.js';
import { act, dashboardSchema } from './dashboard.js';
import { everything, ledgerOf } from './ledger.js';

export const CONTROL_PREFIX = '/_sandbox';

/** What the control API can do to the listener, which is not part of the universe. */
export interface Listener {
  refuse(durationMs: number): void;
}

const none = z.strictObject({});
const operationId = z.string().min(1);
const whole = z.coerce.number().int().min(0);

const journalQuery = z.strictObject({
  route: z.string().optional(),
  operation_id: z.string().optional(),
  idempotency_key: z.string().optional(),
  method: z.string().optional(),
  had_effect: z.stringbool().optional(),
  after: whole.optional(),
  limit: whole.optional(),
});

const keySchema = z.discriminatedUnion('action', [
  z.strictObject({
    action: z.literal('add'),
    key: z.string().min(1),
    account: z.string().regex(/^acct_/),
    livemode: z.boolean().default(false),
    denied_routes: z.array(z.string()).optional(),
  }),
  z.strictObject({ action: z.literal('revoke'), key: z.string().min(1) }),
  z.strictObject({ action: z.literal('restore'), key: z.string().min(1) }),
]);

const clockSchema = z.strictObject({ advance_ms: z.int().min(0) });
const stockSchema = z.strictObject({ sku: z.string().min(1), available: z.int().min(0) });
const webhookSchema = z.strictObject({
  url: z.url({ protocol: /^https?$/ }),
  secret: z.string().min(1),
  account: z.string().optional(),
});

interface Input {
  universe: Universe;
  listener: Listener;
  /** The segment behind the route, percent-decoded; empty where there is none. */
  id: string;
}

type Handler = (input: Input, body: unknown) => Answer;

function route<T>(schema: z.ZodType<T>, handle: (input: Input, body: T) => unknown): Handler {
  return (input, body) => {
    const parsed = schema.safeParse(body);
    if (!parsed.success) return json(400, { error: z.prettifyError(parsed.error) });
    const result = handle(input, parsed.data);
    return result === undefined ? json(404, { error: `there is no ${input.id}` }) : json(200, result);
  };
}

function clock({ universe }: Input): unknown {
  return { now: universe.world.iso(), advanced_ms: universe.world.advancedMs };
}

function rendered(rule: FaultRule): unknown {
  const { operationId: id, ...rest } = rule;
  return { ...rest, match: id === null ? {} : { operation_id: id } };
}

const HANDLERS: Record<string, Handler> = {
  'GET ': route(none, ({ universe }) => ({
    now: universe.world.iso(),
    ...everything(universe),
    journal_sequence: universe.journal.lastSequence,
  })),
  'GET faults': route(none, ({ universe }) => ({ items: universe.faults.list().map(rendered) })),
  'POST faults': route(faultSchema, ({ universe }, rule) => rendered(universe.faults.add(rule))),
  'DELETE faults': route(none, ({ universe }) => {
    universe.faults.clear();
    return {};
  }),
  'DELETE faults/:id': route(none, ({ universe, id }) => (universe.faults.remove(id) ? {} : undefined)),
  'GET outage': route(none, ({ universe }) => universe.outages.list()),
  'POST outage': route(outageSchema, ({ universe, listener }, outage) => {
    if (outage.mode === 'refuse') listener.refuse(outage.duration_ms);
    else universe.outages.set(outage);
    return outage;
  }),
  'POST dashboard': route(dashboardSchema, ({ universe }, wanted) => {
    expireAuthorizations(universe.books);
    return act(universe.books, universe.stock, wanted);
  }),
  'GET keys': route(none, ({ universe }) => ({ items: universe.keys.list() })),
  'POST keys': route(keySchema, ({ universe }, wanted) => {
    if (wanted.action === 'add') {
      const { key, account, livemode } = wanted;
      universe.keys.add({ key, account, livemode, deniedRoutes: wanted.denied_routes });
    } else universe.keys[wanted.action](wanted.key);
    return { items: universe.keys.list() };
  }),
  'GET clock': route(none, clock),
  'POST clock': route(clockSchema, (input, { advance_ms: ms }) => {
    input.universe.world.advance(ms);
    expireAuthorizations(input.universe.books);
    return clock(input);
  }),
  'GET stock': route(z.strictObject({ sku: z.string().optional() }), ({ universe }, { sku }) =>
    sku === undefined
      ? { default: universe.settings.default_stock, items: universe.stock.known() }
      : { sku, available: universe.stock.available(sku) },
  ),
  'POST stock': route(stockSchema, ({ universe }, { sku, available }) => {
    universe.stock.setAvailable(sku, available);
    return { sku, available };
  }),
  'GET settings': route(none, ({ universe }) => universe.settings),
  'POST settings': route(settingsPatchSchema, ({ universe }, patch) => {
    changeSettings(universe.settings, patch);
    return universe.settings;
  }),
  'GET webhooks': route(none, ({ universe }) => ({ items: universe.deliveries.list() })),
  'POST webhooks': route(webhookSchema, ({ universe }, endpoint) => universe.deliveries.register(endpoint)),
  'DELETE webhooks/:id': route(none, ({ universe, id }) =>
    universe.deliveries.unregister(id) ? {} : undefined,
  ),
  'GET deliveries': route(none, ({ universe }) => ({ items: universe.deliveries.log() })),
  'GET events': route(
    z.strictObject({ operation_id: z.string().optional(), type: z.string().optional() }),
    ({ universe }, wanted) => ({
      items: [...universe.log.events.all()]
        .filter((event) => wanted.type === undefined || event.type === wanted.type)
        .filter((event) => wanted.operation_id === undefined || event.operationId === wanted.operation_id)
        .map(({ id, type, objectId, operationId: operation, created }) => ({
          id,
          type,
          object: objectId,
          operation_id: operation,
          created,
        })),
    }),
  ),
  'POST events/:id': route(none, ({ universe, id }) => {
    const event = universe.log.events.get(id);
    return event ? { sent: universe.deliveries.send(event) } : undefined;
  }),
  'GET ledger': route(z.strictObject({ operation_id: operationId.optional() }), ({ universe }, wanted) => {
    expireAuthorizations(universe.books);
    return wanted.operation_id === undefined ? everything(universe) : ledgerOf(universe, wanted.operation_id);
  }),
  'GET journal': route(journalQuery, ({ universe }, filter) => ({
    items: universe.journal.find(filter),
    last_sequence: universe.journal.lastSequence,
  })),
  'POST reset': route(none, ({ universe }) => {
    universe.reset();
    return {};
  }),
};

export function control(universe: Universe, listener: Listener, exchange: Exchange): Answer {
  const [name = '', id, action] = exchange.path.slice(CONTROL_PREFIX.length + 1).split('/');
  // Redelivery reads as events/{id}/deliver; no other route has a third segment.
  const known = action === undefined ? name !== 'events' || id === undefined : action === 'deliver';
  const handler = known ? HANDLERS[`${exchange.method} ${name}${id === undefined ? '' : '/:id'}`] : undefined;
  if (!handler) return json(404, { error: `no control route ${exchange.method} ${exchange.path}` });
  const input = { universe, listener, id: decodeSegment(id ?? '') ?? '' };
  try {
    return handler(input, bodyOf(exchange));
  } catch (error) {
    if (error instanceof SyntaxError) return json(400, { error: `the body is not JSON: ${error.message}` });
    if (error instanceof Refusal || error instanceof StockRefusal) {
      return json(400, { error: error.message });
    }
    throw error;
  }
}

function bodyOf(exchange: Exchange): unknown {
  if (exchange.method === 'POST') return exchange.body === '' ? {} : (JSON.parse(exchange.body) as unknown);
  return Object.fromEntries(new URLSearchParams(exchange.query));
}
