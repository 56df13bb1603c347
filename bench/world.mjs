// The provider and the warehouse in one cheap process, answering from memory after a set latency. The project's sandbox
// checks, journals and renders so much that it would take the CPU that the contestants are to be measured by.
//
// Control: GET /control/counts; GET /control/ledger, what each order came to; POST /control/reset {latency_ms}, which
// also forgets everything.
import http from 'node:http';

let latencyMs = 5;
let state;
/** Never begun anew: an id that came twice would be another order's payment. */
let lastPayment = 0;
reset();

function reset() {
  state = {
    payments: new Map(),
    answers: new Map(), // by idempotency key
    refunds: new Map(), // by payment
    reservations: new Map(),
    calls: new Map(), // by order
    charges: new Map(), // captured payments by order
    requests: 0,
    routes: {},
    repeated: 0, // writes that had arrived before
    committed: 0,
  };
}

const counts = () => ({
  requests: state.requests,
  routes: state.routes,
  repeated: state.repeated,
  charged: state.charges.size,
  charged_twice: [...state.charges.values()].filter((captures) => captures > 1).length,
  committed: state.committed,
});

/** By order: its money (minor units), its stock, and the calls that were made for it. */
function ledger() {
  const orders = {};
  const of = (id) => (orders[id] ??= { captured: 0, held: 0, refunds: [], stock: null, calls: 0 });
  for (const payment of state.payments.values()) {
    const order = of(payment.metadata.operation_id);
    order.captured += payment.amount_received;
    order.held += payment.amount_capturable;
    order.refunds.push(
      ...refundsOf(payment.id).map(({ amount, metadata }) => ({ amount, id: metadata.refund_id })),
    );
  }
  for (const [id, reservation] of state.reservations) of(id).stock = reservation.state;
  for (const [id, calls] of state.calls) of(id).calls = calls;
  return orders;
}

const refundsOf = (payment) => state.refunds.get(payment) ?? [];
const sum = (refunds) => refunds.reduce((total, { amount }) => total + amount, 0);

const missing = { status: 404, body: { error: { type: 'invalid_request_error', code: 'resource_missing' } } };
const ok = (body) => ({ status: 200, body });

const ROUTES = [
  ['payment.create', 'POST', /^\/v1\/payment_intents$/, once(createPayment)],
  ['payment.confirm', 'POST', /^\/v1\/payment_intents\/([^/?]+)\/confirm$/, once(confirmPayment)],
  ['payment.capture', 'POST', /^\/v1\/payment_intents\/([^/?]+)\/capture$/, once(capturePayment)],
  ['payment.cancel', 'POST', /^\/v1\/payment_intents\/([^/?]+)\/cancel$/, once(cancelPayment)],
  ['payment.read', 'GET', /^\/v1\/payment_intents\/([^/?]+)/, readPayment],
  ['payment.list', 'GET', /^\/v1\/payment_intents/, listPayments],
  ['refund.create', 'POST', /^\/v1\/refunds$/, once(createRefund)],
  ['refund.list', 'GET', /^\/v1\/refunds\?.*payment_intent=([^&]+)/, listRefunds],
  ['account', 'GET', /^\/v1\/account/, () => ok({ id: 'acct_bench', object: 'account' })],
  ['balance', 'GET', /^\/v1\/balance/, () => ok({ object: 'balance', livemode: false })],
  ['reservation.put', 'PUT', /^\/reservations\/([^/]+)$/, reserve],
  ['reservation.commit', 'POST', /^\/reservations\/([^/]+)\/commit$/, commit],
  ['reservation.release', 'DELETE', /^\/reservations\/([^/]+)$/, release],
  ['reservation.read', 'GET', /^\/reservations\/([^/]+)$/, readReservation],
];

/** The same key gets the stored answer again. */
function once(act) {
  return (request) => {
    const stored = state.answers.get(request.key);
    if (stored !== undefined) {
      state.repeated += 1;
      return { ...stored, replayed: true };
    }
    const answer = act(request);
    // A copy: the object goes on to change.
    if (request.key !== undefined) state.answers.set(request.key, { ...answer, body: { ...answer.body } });
    return answer;
  };
}

function createPayment({ body }) {
  const form = new URLSearchParams(body);
  lastPayment += 1;
  const payment = {
    id: `pi_${lastPayment}`,
    object: 'payment_intent',
    status: form.has('payment_method') ? 'requires_confirmation' : 'requires_payment_method',
    amount: Number(form.get('amount')),
    amount_received: 0,
    amount_capturable: 0,
    currency: form.get('currency'),
    capture_method: form.get('capture_method') ?? 'automatic',
    payment_method: form.get('payment_method'),
    latest_charge: null,
    last_payment_error: null,
    next_action: null,
    livemode: false,
    metadata: { operation_id: form.get('metadata[operation_id]') },
  };
  state.payments.set(payment.id, payment);
  return ok(payment);
}

function confirmPayment({ id }) {
  const payment = state.payments.get(id);
  if (payment === undefined) return missing;
  if (payment.latest_charge !== null || payment.status === 'canceled') return unexpectedState(payment);
  payment.latest_charge = `ch_${id}`;
  if (payment.capture_method === 'manual') {
    payment.status = 'requires_capture';
    payment.amount_capturable = payment.amount;
    return ok(payment);
  }
  return capture(payment);
}

function capturePayment({ id }) {
  const payment = state.payments.get(id);
  if (payment === undefined) return missing;
  return payment.status === 'requires_capture' ? capture(payment) : unexpectedState(payment);
}

function capture(payment) {
  payment.status = 'succeeded';
  payment.amount_received = payment.amount;
  payment.amount_capturable = 0;
  const order = payment.metadata.operation_id;
  state.charges.set(order, (state.charges.get(order) ?? 0) + 1);
  return ok(payment);
}

function cancelPayment({ id }) {
  const payment = state.payments.get(id);
  if (payment === undefined) return missing;
  if (payment.status === 'succeeded' || payment.status === 'canceled') return unexpectedState(payment);
  payment.status = 'canceled';
  payment.amount_capturable = 0;
  return ok(payment);
}

const unexpectedState = (payment) => ({
  status: 400,
  body: {
    error: {
      type: 'invalid_request_error',
      code: 'payment_intent_unexpected_state',
      payment_intent: { ...payment },
    },
  },
});

function readPayment({ id, url }) {
  const payment = state.payments.get(id);
  if (payment === undefined) return missing;
  const isExpanded = url.includes('expand') && payment.latest_charge !== null;
  return ok(isExpanded ? { ...payment, latest_charge: chargeOf(payment) } : payment);
}

const chargeOf = (payment) => ({
  id: payment.latest_charge,
  object: 'charge',
  amount: payment.amount,
  amount_captured: payment.amount_received,
  amount_refunded: sum(refundsOf(payment.id)),
  captured: payment.amount_received > 0,
  refunded: payment.amount_received > 0 && sum(refundsOf(payment.id)) === payment.amount_received,
  disputed: false,
});

function listPayments() {
  return ok({ object: 'list', data: [...state.payments.values()].slice(-100), has_more: false });
}

function createRefund({ body }) {
  const form = new URLSearchParams(body);
  const payment = state.payments.get(form.get('payment_intent'));
  if (payment === undefined) return missing;
  const given = refundsOf(payment.id);
  const amount = Number(form.get('amount'));
  if (sum(given) + amount > payment.amount_received) return moreThanIsHeld;
  const refund = {
    id: `re_${state.answers.size}`,
    object: 'refund',
    status: 'succeeded',
    amount,
    currency: payment.currency,
    payment_intent: payment.id,
    metadata: {
      operation_id: form.get('metadata[operation_id]'),
      refund_id: form.get('metadata[refund_id]'),
    },
  };
  state.refunds.set(payment.id, [...given, refund]);
  return ok(refund);
}

const moreThanIsHeld = {
  status: 400,
  body: { error: { type: 'invalid_request_error', code: 'amount_too_large', message: 'more than is held' } },
};

function listRefunds({ id }) {
  return ok({ object: 'list', data: refundsOf(id), has_more: false });
}

function reserve({ id, body }) {
  const known = state.reservations.get(id);
  if (known !== undefined) {
    state.repeated += 1;
    return known.state === 'released' ? { status: 409, body: { code: 'released' } } : ok(known);
  }
  const reservation = { state: 'reserved', lines: JSON.parse(body).lines };
  state.reservations.set(id, reservation);
  return { status: 201, body: reservation };
}

function commit({ id }) {
  const reservation = state.reservations.get(id);
  if (reservation === undefined) return { status: 404, body: {} };
  if (reservation.state === 'released') return { status: 409, body: {} };
  if (reservation.state === 'committed') state.repeated += 1;
  else state.committed += 1;
  reservation.state = 'committed';
  return ok(reservation);
}

/** Also of what was never reserved: a lost request reserves nothing later. Goods are taken back. */
function release({ id }) {
  const released = { ...state.reservations.get(id), state: 'released' };
  state.reservations.set(id, released);
  return ok(released);
}

function readReservation({ id }) {
  const reservation = state.reservations.get(id);
  return reservation === undefined ? { status: 404, body: {} } : ok(reservation);
}

const server = http.createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    if (request.url.startsWith('/control/')) return answer(response, control(request.url, body));
    // The effect comes first: it has happened even if the caller dies while it waits.
    const result = act(request, body);
    if (latencyMs > 0) setTimeout(answer, latencyMs, response, result);
    else answer(response, result);
  });
});

function control(url, body) {
  if (url === '/control/ledger') return ok(ledger());
  if (url === '/control/reset') {
    reset();
    latencyMs = JSON.parse(body).latency_ms;
  }
  return ok(counts());
}

function act(request, body) {
  for (const [name, method, pattern, route] of ROUTES) {
    const match = method === request.method && pattern.exec(request.url);
    if (!match) continue;
    state.requests += 1;
    state.routes[name] = (state.routes[name] ?? 0) + 1;
    const asked = { id: match[1], url: request.url, key: request.headers['idempotency-key'], body };
    const result = route(asked);
    const order = orderOf(name, asked, result);
    state.calls.set(order, (state.calls.get(order) ?? 0) + 1);
    return result;
  }
  return missing;
}

/** Whose order a call was made for; undefined for what concerns none. */
function orderOf(name, { id, body }, result) {
  if (name.startsWith('reservation.')) return id;
  const named = name === 'refund.create' ? new URLSearchParams(body).get('payment_intent') : id;
  return (state.payments.get(named ?? result.body.id) ?? null)?.metadata.operation_id;
}

function answer(response, { status, body, replayed }) {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'request-id': 'req_bench',
    ...(replayed && { 'idempotent-replayed': 'true' }),
  });
  response.end(text);
}

server.keepAliveTimeout = 120_000;
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('disconnect', () => process.exit());
