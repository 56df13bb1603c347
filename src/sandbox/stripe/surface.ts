/** The payments server as the request flow sees it: routing, keys, idempotency, errors, response headers. */
import { type Answer, decodeSegment, type Exchange, header, json } from '../http/exchange.js';
import { type Call, type ExecutionPlan, type Served, type Surface } from '../http/surface.js';
import { type Books } from '../payments/books.js';
import { expireAuthorizations } from '../payments/intents.js';
import { invalid, Refusal, type RefusalDetails } from '../payments/refusal.js';
import { API_VERSION, type EventLog } from '../webhooks/events.js';
import { type Endpoint } from './endpoint.js';
import { type Admission, type IdempotencyKeys } from './idempotency.js';
import { checkPermission, type Keys, type SecretKey } from './keys.js';
import { otherEndpoints } from './other-endpoints.js';
import { type Params, parseForm, unknownParameter } from './parameters.js';
import { paymentIntentEndpoints } from './payment-intents.js';
import { renderError } from './render.js';

const PREFIX = '/v1/';

/** Fixed segments come first, so that `search` is not taken for an id. */
const ENDPOINTS = [...paymentIntentEndpoints, ...otherEndpoints].map((endpoint) => ({
  endpoint,
  segments: endpoint.path.split('/'),
}));

interface Matched {
  endpoint: Endpoint;
  id: string;
}

export class StripeSurface implements Surface {
  readonly name = 'payments';

  constructor(
    readonly books: Books,
    readonly log: EventLog,
    readonly keys: Keys,
    readonly idempotency: IdempotencyKeys,
  ) {}

  open(exchange: Exchange): Call {
    const matched = match(exchange);
    const params = parseForm(exchange.method === 'GET' ? exchange.query : exchange.body);
    const key = exchange.method === 'POST' ? header(exchange, 'idempotency-key') : null;
    const requestId = this.books.world.id('req_', 14);
    return {
      route: matched?.endpoint.route ?? 'unknown',
      operationId: this.#operationOf(matched?.id ?? '', params),
      idempotencyKey: key,
      requestId,
      decidedByKey: key !== null && this.#isTaken(exchange, key),
      run: (plan) => this.#run(exchange, matched, params, key, requestId, plan),
    };
  }

  /** The operation that the object in the path, or else the parameters, belong to. */
  #operationOf(id: string, params: Params): string | null {
    const { intents, charges, refunds, disputes } = this.books;
    for (const named of [id, params['payment_intent'], params['charge']]) {
      if (typeof named !== 'string' || named === '') continue;
      const intent =
        intents.get(named) ??
        charges.get(named)?.intent ??
        (refunds.get(named) ?? disputes.get(named))?.charge.intent;
      const operation = intent?.metadata['operation_id'];
      if (operation !== undefined) return operation;
    }
    const given = params['metadata'];
    const operation =
      typeof given === 'object' && given !== null ? (given as Params)['operation_id'] : undefined;
    return typeof operation === 'string' ? operation : null;
  }

  #isTaken(exchange: Exchange, key: string): boolean {
    try {
      return this.idempotency.isTaken(this.keys.authenticate(exchange), key);
    } catch {
      return false;
    }
  }

  async #run(
    exchange: Exchange,
    matched: Matched | null,
    params: Params,
    key: string | null,
    requestId: string,
    plan: ExecutionPlan,
  ): Promise<Served> {
    const headers = responseHeaders(exchange, requestId, key);
    let admission: Admission | null = null;
    let secret: SecretKey;
    try {
      secret = this.keys.authenticate(exchange);
      if (key !== null) {
        admission = this.idempotency.admit(secret, key, exchange.path, params, requestId);
      }
    } catch (error) {
      await this.books.world.pause(plan.delayBeforeMs + plan.delayAfterMs);
      return { answer: errorAnswer(error, headers), replayed: false, hadEffect: false };
    }
    await this.books.world.pause(plan.delayBeforeMs);
    if (admission?.kind === 'replay') {
      await this.books.world.pause(plan.delayAfterMs);
      return { answer: replayed(admission, headers), replayed: true, hadEffect: false };
    }
    // What lapsed meanwhile is the provider's doing, not an effect of this request.
    expireAuthorizations(this.books);
    const versionBefore = this.books.version;
    const executed = plan.run
      ? this.#execute(exchange, matched, params, secret, requestId, key)
      : { body: '', status: 200, stored: true, headers: {} };
    const hadEffect = plan.run && this.books.version !== versionBefore;
    const genuine: Answer = {
      status: executed.status,
      headers: { ...headers, ...executed.headers },
      body: executed.body,
    };
    // A request that was never executed keeps its own answer, whatever was to happen after its effect.
    const answer = plan.replace && executed.stored ? plan.replace(genuine) : genuine;
    await this.books.world.pause(plan.delayAfterMs);
    admission?.finish(answer, executed.stored);
    return { answer, replayed: false, hadEffect };
  }

  #execute(
    exchange: Exchange,
    matched: Matched | null,
    params: Params,
    secret: SecretKey,
    requestId: string,
    key: string | null,
  ): { status: number; body: string; stored: boolean; headers: Record<string, string> } {
    const owner = { account: secret.account, livemode: secret.livemode };
    const cause = { source: 'api' as const, requestId, idempotencyKey: key };
    try {
      if (!matched) throw unrecognized(exchange);
      checkPermission(secret, matched.endpoint.route);
      checkEncoding(exchange);
      const refused = Object.keys(params).find((name) =>
        this.books.settings.refused_parameters.includes(name),
      );
      if (refused !== undefined) throw unknownParameter(refused);
      const apiVersion = header(exchange, 'stripe-version') ?? API_VERSION;
      const context = { books: this.books, log: this.log, owner, cause, apiVersion };
      const body = matched.endpoint.handle(context, params, matched.id);
      return { status: 200, body: JSON.stringify(body), stored: true, headers: {} };
    } catch (error) {
      const details = detailsOf(error);
      const body = JSON.stringify(renderError(details, requestId));
      return { status: details.status, body, stored: details.stored, headers: details.headers ?? {} };
    }
  }
}

export const PAYMENT_ROUTES: readonly string[] = [
  ...new Set(ENDPOINTS.map(({ endpoint }) => endpoint.route)),
];

function match(exchange: Exchange): Matched | null {
  if (!exchange.path.startsWith(PREFIX)) return null;
  const given = exchange.path.slice(PREFIX.length).split('/').map(decodeSegment);
  for (const { endpoint, segments } of ENDPOINTS) {
    if (endpoint.method !== exchange.method || segments.length !== given.length) continue;
    const fits = segments.every((segment, i) => (segment === ':id' ? given[i] : segment === given[i]));
    if (fits) return { endpoint, id: given[segments.indexOf(':id')] ?? '' };
  }
  return null;
}

function unrecognized(exchange: Exchange): Refusal {
  return new Refusal({
    status: 404,
    type: 'invalid_request_error',
    message: `Unrecognized request URL (${exchange.method}: ${exchange.path}). If you are trying to list objects, remove the trailing slash. If you are trying to retrieve an object, make sure you passed a valid (non-empty) identifier in your code.`,
    stored: false,
  });
}

function checkEncoding(exchange: Exchange): void {
  const type = header(exchange, 'content-type') ?? '';
  if (exchange.method !== 'POST' || exchange.body === '') return;
  if (type.startsWith('application/x-www-form-urlencoded')) return;
  throw invalid(
    'Invalid request (check that your POST content type is application/x-www-form-urlencoded). If you have any questions, we can help at https://support.stripe.com/.',
    undefined,
  );
}

function responseHeaders(exchange: Exchange, requestId: string, key: string | null): Record<string, string> {
  return {
    'content-type': 'application/json',
    'request-id': requestId,
    'stripe-version': header(exchange, 'stripe-version') ?? API_VERSION,
    ...(key === null ? {} : { 'idempotency-key': headerSafe(key), 'original-request': requestId }),
  };
}

/** Node refuses to send what a peer may have sent as raw bytes. */
function headerSafe(value: string): string {
  return value.replace(/[^\x20-\x7e]/g, '?');
}

function replayed(
  admission: Extract<Admission, { kind: 'replay' }>,
  headers: Record<string, string>,
): Answer {
  const { answer } = admission;
  return {
    status: answer.status,
    headers: {
      ...answer.headers,
      ...headers,
      'content-type': answer.headers['content-type'] ?? 'application/json',
      'original-request': admission.originalRequestId,
      'idempotent-replayed': 'true',
      // Asking again under this key can only give this error again.
      ...(answer.status >= 400 ? { 'stripe-should-retry': 'false' } : {}),
    },
    body: answer.body,
  };
}

function detailsOf(error: unknown): RefusalDetails {
  if (error instanceof Refusal) return error.details;
  // A fault of the sandbox itself must not look like one that was asked for.
  const message = `The sandbox failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
  return { status: 500, type: 'api_error', message, stored: false };
}

function errorAnswer(error: unknown, headers: Record<string, string>): Answer {
  const details = detailsOf(error);
  const requestId = headers['request-id'] ?? '';
  return json(details.status, renderError(details, requestId), { ...headers, ...details.headers });
}
