/** The warehouse's HTTP routes: one reservation per operation, every call repeatable. */
import { z } from 'zod';
import { type Answer, decodeSegment, type Exchange, json } from '../http/exchange.js';
import { type Call, type ExecutionPlan, type Served, type Surface } from '../http/surface.js';
import { type World } from '../world.js';
import { type Reservation, type Stock, StockRefusal } from './stock.js';

const PREFIX = '/warehouse/reservations/';

const bodySchema = z.strictObject({
  lines: z.array(z.strictObject({ sku: z.string().min(1), quantity: z.int().min(1) })).min(1),
});

type Route = 'put' | 'get' | 'delete' | 'commit';

export const WAREHOUSE_ROUTES: readonly string[] = (['put', 'get', 'delete', 'commit'] satisfies Route[]).map(
  (route) => `reservations.${route}`,
);

interface Matched {
  route: Route;
  operationId: string;
}

export class WarehouseSurface implements Surface {
  readonly name = 'warehouse';

  constructor(
    readonly stock: Stock,
    readonly world: World,
  ) {}

  open(exchange: Exchange): Call {
    const matched = match(exchange);
    return {
      route: matched ? `reservations.${matched.route}` : 'unknown',
      operationId: matched?.operationId ?? null,
      idempotencyKey: null,
      requestId: null,
      decidedByKey: false,
      run: (plan) => this.#run(exchange, matched, plan),
    };
  }

  async #run(exchange: Exchange, matched: Matched | null, plan: ExecutionPlan): Promise<Served> {
    await this.world.pause(plan.delayBeforeMs);
    const before = this.stock.version;
    const genuine = plan.run ? this.#execute(exchange, matched) : json(200, {});
    const hadEffect = plan.run && this.stock.version !== before;
    const answer = plan.replace ? plan.replace(genuine) : genuine;
    await this.world.pause(plan.delayAfterMs);
    return { answer, replayed: false, hadEffect };
  }

  #execute(exchange: Exchange, matched: Matched | null): Answer {
    if (!matched) return problem(404, 'not_found', `No route ${exchange.method} ${exchange.path}.`);
    try {
      return this.#carryOut(exchange, matched);
    } catch (error) {
      if (error instanceof StockRefusal) return problem(error.status, error.code, error.message);
      throw error;
    }
  }

  #carryOut(exchange: Exchange, { route, operationId }: Matched): Answer {
    switch (route) {
      case 'put': {
        const body = readBody(exchange.body);
        if (!body.success) return problem(400, 'invalid_request', z.prettifyError(body.error));
        const { reservation, created } = this.stock.reserve(operationId, body.data.lines);
        return json(created ? 201 : 200, render(reservation));
      }
      case 'get': {
        const reservation = this.stock.find(operationId);
        if (!reservation) return problem(404, 'not_found', `There is no reservation for ${operationId}.`);
        return json(200, render(reservation));
      }
      case 'commit':
        return json(200, render(this.stock.commit(operationId)));
      case 'delete':
        return json(200, render(this.stock.release(operationId)));
    }
  }
}

/** An id travels as one percent-encoded segment, so it may hold slashes and any Unicode. */
function match({ method, path }: Exchange): Matched | null {
  if (!path.startsWith(PREFIX)) return null;
  const [encoded, action, ...rest] = path.slice(PREFIX.length).split('/');
  const operationId = decodeSegment(encoded ?? '');
  if (!operationId || rest.length > 0) return null;
  if (action === 'commit') return method === 'POST' ? { route: 'commit', operationId } : null;
  if (action !== undefined) return null;
  if (method === 'PUT') return { route: 'put', operationId };
  if (method === 'GET') return { route: 'get', operationId };
  return method === 'DELETE' ? { route: 'delete', operationId } : null;
}

function readBody(text: string): ReturnType<typeof bodySchema.safeParse> {
  try {
    return bodySchema.safeParse(JSON.parse(text));
  } catch {
    return bodySchema.safeParse(text);
  }
}

function render({ operationId, state, lines }: Reservation): object {
  return { operation_id: operationId, state, lines };
}

function problem(status: number, code: string, message: string): Answer {
  return json(status, { code, message });
}
