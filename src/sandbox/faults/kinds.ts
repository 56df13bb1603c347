/** The kinds of fault, each with what becomes of the effect and what the caller gets to see. */
import { type Answer, html, json } from '../http/exchange.js';
import { AS_USUAL, type ExecutionPlan, type Surface } from '../http/surface.js';

export const FAULT_KINDS = [
  'effect_then_drop',
  'drop_before',
  'effect_then_500',
  '500_no_effect',
  '503_html',
  '503_message',
  '401_message',
  '429',
  'lock_timeout',
  'delay_before',
  'delay_after',
  'hang',
  'truncated_json',
  'empty_object',
  'wrong_object',
  'html_200',
  'redirect_302',
  '409_in_flight',
  'unknown_status',
  '400_insufficient_funds',
  'stock_409',
  'answer',
] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];

export interface FaultOptions {
  effect?: 'before' | 'none' | undefined;
  delay_ms?: number | undefined;
  retry_after?: number | undefined;
  reason?: string | undefined;
  should_retry?: boolean | undefined;
  status?: number | undefined;
  headers?: Record<string, string> | undefined;
  body?: unknown;
}

type SurfaceName = Surface['name'];

/** How the caller's side ends; `genuine` is the answer of the service, where it was asked. */
export type Finish = 'drop' | 'hang' | ((genuine: Answer | null) => Answer);

export interface FaultPlan {
  /** Null: the service never sees the request. */
  serve: ExecutionPlan | null;
  finish: Finish;
}

interface Fault {
  /** The one surface that it makes sense for; null: both. */
  surface: SurfaceName | null;
  /** Happens while the request executes, so its answer is stored and a replay does not meet it. */
  executing: boolean;
  plan: (options: FaultOptions, surface: SurfaceName) => FaultPlan;
}

const pass: Finish = (genuine) => genuine ?? json(200, {});

/** Something in front of the service answers; by default the service never saw the request. */
const gateway = (
  make: (options: FaultOptions, surface: SurfaceName) => Answer,
  surface: SurfaceName | null = null,
): Fault => ({
  surface,
  executing: false,
  plan: (options, on) => ({ serve: asked(options, 'none'), finish: () => make(options, on) }),
});

/** The service itself gives this answer and keeps it under the idempotency key. */
const executing = (
  run: boolean,
  make: (options: FaultOptions, surface: SurfaceName) => Answer,
  surface: SurfaceName | null = null,
): Fault => ({
  surface,
  executing: true,
  plan: (options, on) => ({
    serve: {
      ...AS_USUAL,
      run,
      replace: (genuine) => withHeaders(make(options, on), genuine),
      delayAfterMs: options.delay_ms ?? 0,
    },
    finish: pass,
  }),
});

/** The service answers; on its way back the answer is spoilt. */
const spoilt = (finish: Finish): Fault => ({
  surface: null,
  executing: false,
  plan: (options) => ({ serve: asked(options, 'before'), finish }),
});

function asked(options: FaultOptions, usual: 'before' | 'none'): ExecutionPlan | null {
  const effect = options.effect ?? usual;
  return effect === 'before' ? { ...AS_USUAL, delayAfterMs: options.delay_ms ?? 0 } : null;
}

const delayed = (side: 'delayBeforeMs' | 'delayAfterMs'): Fault => ({
  surface: null,
  executing: false,
  plan: (options) => ({ serve: { ...AS_USUAL, [side]: options.delay_ms ?? 0 }, finish: pass }),
});

export const FAULTS: Record<FaultKind, Fault> = {
  effect_then_drop: spoilt('drop'),
  drop_before: {
    surface: null,
    executing: false,
    plan: () => ({ serve: null, finish: 'drop' }),
  },
  effect_then_500: executing(true, serverError),
  '500_no_effect': executing(false, serverError),
  '503_html': gateway((options) => html(503, GATEWAY_PAGE, retryHeaders(options))),
  '503_message': gateway((options) => json(503, { message: 'Service Unavailable' }, retryHeaders(options))),
  '401_message': gateway(() => json(401, { message: 'Unauthorized' })),
  '429': gateway(rateLimited),
  lock_timeout: gateway(lockTimeout),
  delay_before: delayed('delayBeforeMs'),
  delay_after: delayed('delayAfterMs'),
  hang: {
    surface: null,
    executing: false,
    plan: (options) => ({ serve: asked(options, 'none'), finish: 'hang' }),
  },
  truncated_json: spoilt((genuine) => {
    const answer = pass(genuine);
    return { ...answer, body: answer.body.slice(0, Math.floor(answer.body.length / 2)) };
  }),
  empty_object: gateway(() => json(200, {})),
  wrong_object: gateway(() =>
    json(200, { id: 'cus_NotWhatWasAskedFor', object: 'customer', livemode: false }),
  ),
  html_200: gateway(() => html(200, '<html><body>Please sign in to the network.</body></html>')),
  redirect_302: gateway(() => html(302, '', { location: 'https://login.example/' })),
  '409_in_flight': gateway(inFlight),
  unknown_status: spoilt((genuine) => {
    const answer = pass(genuine);
    return answer.status < 300 ? { ...answer, body: withUnknownStatus(answer.body) } : answer;
  }),
  '400_insufficient_funds': executing(
    false,
    () =>
      stripeError(400, {
        code: 'balance_insufficient',
        message: 'Insufficient funds in your Stripe balance to refund this amount.',
        type: 'invalid_request_error',
      }),
    'payments',
  ),
  stock_409: gateway(
    () => json(409, { code: 'insufficient', message: 'Not enough stock for all lines.' }),
    'warehouse',
  ),
  answer: gateway((options) => {
    const { status = 200, headers = {}, body = {} } = options;
    return typeof body === 'string'
      ? { status, headers: { 'content-type': 'text/plain', ...headers }, body }
      : json(status, body, headers);
  }),
};

export const GATEWAY_PAGE =
  '<html><head><title>503 Service Temporarily Unavailable</title></head><body><center><h1>503 Service Temporarily Unavailable</h1></center></body></html>';

/** A word that no version of the API has. */
const UNKNOWN_STATUS = 'half_settled';

function withUnknownStatus(body: string): string {
  const parsed = JSON.parse(body) as Record<string, unknown>;
  const items = Array.isArray(parsed['data']) ? (parsed['data'] as Record<string, unknown>[]) : [parsed];
  for (const item of items) {
    if ('status' in item) item['status'] = UNKNOWN_STATUS;
    if ('state' in item) item['state'] = UNKNOWN_STATUS;
  }
  return JSON.stringify(parsed);
}

function stripeError(status: number, error: object, headers: Record<string, string> = {}): Answer {
  return json(status, { error }, headers);
}

function serverError(options: FaultOptions, surface: SurfaceName): Answer {
  const message = 'An unknown error occurred.';
  if (surface === 'warehouse') return json(500, { code: 'internal', message }, retryHeaders(options));
  return stripeError(500, { message, type: 'api_error' }, retryHeaders(options));
}

export function rateLimited(options: FaultOptions, surface: SurfaceName): Answer {
  const message =
    'Request rate limit exceeded. Learn more about rate limits here https://stripe.com/docs/rate-limits.';
  if (surface === 'warehouse') {
    return json(429, { code: 'rate_limited', message: 'Too many requests.' }, retryHeaders(options));
  }
  const headers = {
    'stripe-rate-limited-reason': options.reason ?? 'global-rate',
    ...retryHeaders(options),
  };
  return stripeError(429, { code: 'rate_limit', message, type: 'invalid_request_error' }, headers);
}

function lockTimeout(options: FaultOptions, surface: SurfaceName): Answer {
  const message =
    'This object cannot be accessed right now because another API request or Stripe process is currently accessing it. If you see this error intermittently, retry the request.';
  if (surface === 'warehouse') return json(423, { code: 'locked', message }, retryHeaders(options));
  return stripeError(
    429,
    { code: 'lock_timeout', message, type: 'invalid_request_error' },
    retryHeaders(options),
  );
}

function inFlight(options: FaultOptions, surface: SurfaceName): Answer {
  const message = 'There is currently another in-progress request using this Stripe-Idempotency-Key.';
  if (surface === 'warehouse') return json(409, { code: 'in_progress', message });
  return stripeError(
    409,
    { code: 'idempotency_key_in_use', message, type: 'invalid_request_error' },
    retryHeaders(options),
  );
}

function retryHeaders(options: FaultOptions): Record<string, string> {
  return {
    ...(options.retry_after === undefined ? {} : { 'retry-after': String(options.retry_after) }),
    ...(options.should_retry === undefined ? {} : { 'stripe-should-retry': String(options.should_retry) }),
    ...options.headers,
  };
}

/** A faulty answer of the service itself still carries its request id and idempotency headers. */
function withHeaders(answer: Answer, genuine: Answer): Answer {
  return { ...answer, headers: { ...genuine.headers, ...answer.headers } };
}
