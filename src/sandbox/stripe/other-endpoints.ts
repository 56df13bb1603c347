/** The endpoints of charges, refunds, disputes, events, payment methods, the account and its balance. */
import { type Charge, type Dispute, type Refund } from '../payments/model.js';
import { mergeMetadata } from '../payments/intents.js';
import { cancelRefund, createRefund, refundableCharge } from '../payments/refunds.js';
import { invalid, missing } from '../payments/refusal.js';
import {
  type Context,
  type Endpoint,
  expandList,
  find,
  findCharge,
  findDispute,
  findIntent,
  findMethod,
  findRefund,
  IN_PATH,
} from './endpoint.js';
import { pageShape, renderPage } from './lists.js';
import { ignored, integer, list, metadata, oneOf, type Params, read, text } from './parameters.js';
import { renderCharge, renderMethod, type Rendered } from './render-intent.js';
import { expand, renderAccount, renderBalance, renderDispute, renderRefund } from './render.js';

const ofPayment = { payment_intent: text, charge: text };

/** A filter that names an unknown payment is refused rather than answered with an empty list. */
function belongsTo(
  context: Context,
  given: { payment_intent?: string | undefined; charge?: string | undefined },
): (charge: Charge) => boolean {
  const intent =
    given.payment_intent === undefined
      ? null
      : findIntent(context, given.payment_intent, IN_PATH('payment_intent'));
  const wanted = given.charge === undefined ? null : findCharge(context, given.charge, IN_PATH('charge'));
  return (charge) => (!intent || charge.intent === intent) && (!wanted || charge === wanted);
}

function listCharges(context: Context, params: Params): Rendered {
  const given = read(params, { ...pageShape, payment_intent: text, customer: text, expand: expandList });
  const accept = belongsTo(context, given);
  const page = renderPage(
    context,
    context.books.charges,
    'charge',
    given,
    (charge) => accept(charge) && (given.customer === undefined || charge.intent.customer === given.customer),
    (charge) => renderCharge(charge, context.books.settings),
    '/v1/charges',
  );
  return expand(context.books, page, given.expand ?? []);
}

function retrieveCharge(context: Context, params: Params, id: string): Rendered {
  const given = read(params, { expand: expandList });
  const charge = findCharge(context, id, IN_PATH('id'));
  return expand(context.books, renderCharge(charge, context.books.settings), given.expand ?? []);
}

const refundShape = {
  ...ofPayment,
  amount: integer(1),
  reason: oneOf('duplicate', 'fraudulent', 'requested_by_customer'),
  metadata,
  expand: expandList,
  instructions_email: ignored,
  refund_application_fee: ignored,
  reverse_transfer: ignored,
};

function refund(context: Context, params: Params): Rendered {
  const given = read(params, refundShape);
  if (given.payment_intent === undefined && given.charge === undefined) {
    throw invalid(
      'One of the following params should be provided for this request: payment_intent or charge.',
      undefined,
      'parameter_missing',
    );
  }
  const byIntent =
    given.payment_intent === undefined
      ? null
      : refundableCharge(findIntent(context, given.payment_intent, IN_PATH('payment_intent')));
  const byId = given.charge === undefined ? null : findCharge(context, given.charge, IN_PATH('charge'));
  const charge = byIntent ?? byId;
  if (!charge || (byId && byId !== charge)) {
    throw invalid('The charge does not belong to the given payment_intent.', 'charge');
  }
  const wanted = {
    amount: given.amount,
    reason: given.reason,
    metadata: mergeMetadata({}, given.metadata ?? {}),
  };
  const made = createRefund(context.books, charge, wanted, context.cause);
  return answer(context, made, given.expand);
}

function answer(context: Context, made: Refund, paths: string[] | undefined): Rendered {
  return expand(context.books, renderRefund(made), paths ?? []);
}

function updateRefund(context: Context, params: Params, id: string): Rendered {
  const found = findRefund(context, id);
  const given = read(params, { metadata, expand: expandList });
  if (given.metadata !== undefined) found.metadata = mergeMetadata(found.metadata, given.metadata);
  context.books.announce(context.cause, { type: 'refund.updated', object: 'refund', record: found });
  return answer(context, found, given.expand);
}

function retrieveRefund(context: Context, params: Params, id: string): Rendered {
  return answer(context, findRefund(context, id), read(params, { expand: expandList }).expand);
}

function cancelOne(context: Context, params: Params, id: string): Rendered {
  const given = read(params, { expand: expandList });
  return answer(context, cancelRefund(context.books, findRefund(context, id), context.cause), given.expand);
}

function listRefunds(context: Context, params: Params): Rendered {
  const given = read(params, { ...pageShape, ...ofPayment, expand: expandList });
  const accept = belongsTo(context, given);
  const page = renderPage(
    context,
    context.books.refunds,
    'refund',
    given,
    (found) => accept(found.charge),
    renderRefund,
    '/v1/refunds',
  );
  return expand(context.books, page, given.expand ?? []);
}

function retrieveDispute(context: Context, params: Params, id: string): Rendered {
  const given = read(params, { expand: expandList });
  return expand(context.books, renderDispute(findDispute(context, id)), given.expand ?? []);
}

function listDisputes(context: Context, params: Params): Rendered {
  const given = read(params, { ...pageShape, ...ofPayment, expand: expandList });
  const accept = belongsTo(context, given);
  const page = renderPage(
    context,
    context.books.disputes,
    'dispute',
    given,
    (found: Dispute) => accept(found.charge),
    renderDispute,
    '/v1/disputes',
  );
  return expand(context.books, page, given.expand ?? []);
}

const asObject = (payload: string): Rendered => JSON.parse(payload) as Rendered;

function listEvents(context: Context, params: Params): Rendered {
  const given = read(params, { ...pageShape, type: text, types: list(text), delivery_success: ignored });
  const wanted = given.types ?? (given.type === undefined ? null : [given.type]);
  return renderPage(
    context,
    context.log.events,
    'event',
    given,
    (event) => wanted === null || wanted.includes(event.type),
    (event) => asObject(event.payload),
    '/v1/events',
  );
}

function retrieveEvent(context: Context, params: Params, id: string): Rendered {
  read(params, {});
  return asObject(find(context, context.log.events, 'event', id, IN_PATH('id')).payload);
}

function retrieveMethod(context: Context, params: Params, id: string): Rendered {
  read(params, { expand: expandList });
  return renderMethod(findMethod(context, id));
}

/** A key reads its own account; others answer as if they did not exist. */
function retrieveAccount(context: Context, params: Params, id: string): Rendered {
  read(params, { expand: expandList });
  if (id !== '' && id !== context.owner.account) throw missing('account', id, 'account', 404);
  return renderAccount(context.owner.account);
}

export const otherEndpoints: Endpoint[] = [
  { route: 'account.retrieve', method: 'GET', path: 'account', handle: retrieveAccount },
  { route: 'account.retrieve', method: 'GET', path: 'accounts/:id', handle: retrieveAccount },
  {
    route: 'balance.retrieve',
    method: 'GET',
    path: 'balance',
    handle: (context, params) => {
      read(params, { expand: expandList });
      return renderBalance(context.owner);
    },
  },
  { route: 'charges.list', method: 'GET', path: 'charges', handle: listCharges },
  { route: 'charges.retrieve', method: 'GET', path: 'charges/:id', handle: retrieveCharge },
  { route: 'refunds.create', method: 'POST', path: 'refunds', handle: refund },
  { route: 'refunds.list', method: 'GET', path: 'refunds', handle: listRefunds },
  { route: 'refunds.retrieve', method: 'GET', path: 'refunds/:id', handle: retrieveRefund },
  { route: 'refunds.update', method: 'POST', path: 'refunds/:id', handle: updateRefund },
  { route: 'refunds.cancel', method: 'POST', path: 'refunds/:id/cancel', handle: cancelOne },
  { route: 'disputes.list', method: 'GET', path: 'disputes', handle: listDisputes },
  { route: 'disputes.retrieve', method: 'GET', path: 'disputes/:id', handle: retrieveDispute },
  { route: 'events.list', method: 'GET', path: 'events', handle: listEvents },
  { route: 'events.retrieve', method: 'GET', path: 'events/:id', handle: retrieveEvent },
  { route: 'payment_methods.retrieve', method: 'GET', path: 'payment_methods/:id', handle: retrieveMethod },
];
