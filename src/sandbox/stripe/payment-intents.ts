/** The endpoints of payment intents. */
import { checkConfirmable, confirmIntent, type ConfirmOptions } from '../payments/confirm.js';
import { captureIntent } from '../payments/capture.js';
import { cancelIntent, createIntent, type IntentFields, updateIntent } from '../payments/intents.js';
import { type Intent } from '../payments/model.js';
import { readCurrency } from '../payments/money.js';
import { invalid } from '../payments/refusal.js';
import { type Context, type Endpoint, expandList, findIntent, findMethod, IN_PATH } from './endpoint.js';
import { cancellationReason, pageShape, parseSearch, renderPage, searchShape, statusAsOf } from './lists.js';
import {
  flag,
  ignored,
  integer,
  list,
  metadata,
  object,
  oneOf,
  optionalText,
  type Params,
  read,
  type Reader,
  required,
  text,
  unknownParameter,
  type Values,
} from './parameters.js';
import { renderIntent, type Rendered } from './render-intent.js';
import { expand } from './render.js';

const amount = integer(1);
const currency: Reader<string> = (value, name) => readCurrency(text(value, name));
const captureMethod = oneOf('automatic', 'automatic_async', 'manual');
/** Either a flag or, as documented for saved cards, the kind of charge. */
const offSession: Reader<boolean> = (value, name) =>
  value === 'one_off' || value === 'recurring' ? true : flag(value, name);

const fieldsShape = {
  amount,
  currency,
  capture_method: captureMethod,
  customer: optionalText,
  description: optionalText,
  expand: expandList,
  metadata,
  payment_method: text,
  allowed_payment_method_types: list(text),
  payment_method_types: list(text),
  receipt_email: optionalText,
  setup_future_usage: optionalText,
  shipping: ignored,
  statement_descriptor: optionalText,
  statement_descriptor_suffix: optionalText,
  amount_details: ignored,
  application_fee_amount: ignored,
  customer_account: ignored,
  excluded_payment_method_types: ignored,
  hooks: ignored,
  payment_details: ignored,
  payment_method_configuration: ignored,
  payment_method_options: ignored,
  transfer_data: ignored,
  transfer_group: ignored,
};

/** Parameters of a confirmation; on creation they are allowed together with confirm=true only. */
const confirmationShape = {
  error_on_requires_action: flag,
  mandate: text,
  mandate_data: ignored,
  off_session: offSession,
  radar_options: ignored,
  return_url: text,
  use_stripe_sdk: flag,
};

const createShape = {
  ...fieldsShape,
  ...confirmationShape,
  automatic_payment_methods: object({ enabled: flag, allow_redirects: oneOf('always', 'never') }),
  confirm: flag,
  confirmation_method: oneOf('automatic', 'manual'),
  on_behalf_of: ignored,
};

const confirmShape = {
  ...confirmationShape,
  amount_details: ignored,
  amount_to_confirm: amount,
  capture_method: captureMethod,
  expand: expandList,
  payment_method: text,
  hooks: ignored,
  payment_details: ignored,
  payment_method_options: ignored,
  receipt_email: optionalText,
  setup_future_usage: optionalText,
  shipping: ignored,
};

const captureShape = {
  amount_details: ignored,
  amount_to_capture: amount,
  expand: expandList,
  final_capture: flag,
  hooks: ignored,
  metadata,
  payment_details: ignored,
  statement_descriptor: text,
  statement_descriptor_suffix: text,
  application_fee_amount: ignored,
  transfer_data: ignored,
};

const listShape = { ...pageShape, customer: text, customer_account: ignored, expand: expandList };

/** Renamed to allowed_payment_method_types from this version on. */
const METHOD_TYPES_RENAMED = '2026-09-30';

function fieldsOf(context: Context, given: Values<typeof fieldsShape>): IntentFields {
  if (given.payment_method_types !== undefined && context.apiVersion >= METHOD_TYPES_RENAMED) {
    throw unknownParameter('payment_method_types');
  }
  return {
    amount: given.amount,
    currency: given.currency,
    captureMethod: given.capture_method,
    methodTypes: given.payment_method_types,
    allowedMethodTypes: given.allowed_payment_method_types,
    customer: given.customer,
    description: given.description,
    metadata: given.metadata,
    receiptEmail: given.receipt_email,
    setupFutureUsage: given.setup_future_usage,
    shipping: given.shipping,
    statementDescriptor: given.statement_descriptor,
    statementDescriptorSuffix: given.statement_descriptor_suffix,
    ...(given.payment_method === undefined
      ? {}
      : { paymentMethod: findMethod(context, given.payment_method) }),
  };
}

function confirmOptions(given: Values<typeof confirmationShape>): ConfirmOptions {
  return {
    returnUrl: given.return_url,
    offSession: given.off_session,
    errorOnRequiresAction: given.error_on_requires_action,
  };
}

function answer(context: Context, intent: Intent, paths: string[] | undefined): Rendered {
  return expand(context.books, renderIntent(intent), paths ?? []);
}

function create(context: Context, params: Params): Rendered {
  const given = read(params, createShape);
  const automatic = given.automatic_payment_methods;
  const wanted = {
    ...fieldsOf(context, given),
    amount: required(given.amount, 'amount'),
    currency: required(given.currency, 'currency'),
    confirmationMethod: given.confirmation_method,
    ...(automatic && {
      automaticMethods: {
        enabled: required(automatic.enabled, 'automatic_payment_methods[enabled]'),
        allowRedirects: automatic.allow_redirects ?? ('always' as const),
      },
    }),
  };
  if (given.confirm && given.payment_method === undefined) {
    throw invalid(
      'A payment_method is needed to confirm the PaymentIntent.',
      'payment_method',
      'parameter_missing',
    );
  }
  const early = Object.keys(confirmationShape).find((name) => params[name] !== undefined);
  if (!given.confirm && early !== undefined) {
    throw invalid(
      `The parameter \`${early}\` cannot be passed when creating a PaymentIntent unless \`confirm\` is set to true.`,
      early,
    );
  }
  const options = confirmOptions(given);
  const check = (draft: Intent): void => {
    if (given.confirm) checkConfirmable(context.books, draft, options);
  };
  const intent = createIntent(context.books, context.owner, wanted, check, context.cause);
  if (given.confirm) confirmIntent(context.books, intent, options, context.cause);
  return answer(context, intent, given.expand);
}

function update(context: Context, params: Params, id: string): Rendered {
  const intent = findIntent(context, id, IN_PATH('intent'));
  const given = read(params, fieldsShape);
  updateIntent(context.books, intent, fieldsOf(context, given), context.cause);
  return answer(context, intent, given.expand);
}

function confirm(context: Context, params: Params, id: string): Rendered {
  const intent = findIntent(context, id, IN_PATH('intent'));
  const given = read(params, confirmShape);
  if (given.amount_to_confirm !== undefined && given.amount_to_confirm !== intent.amount) {
    throw invalid(
      `The amount to confirm differs from the PaymentIntent's (${intent.amount}).`,
      'amount_to_confirm',
    );
  }
  const options: ConfirmOptions = {
    ...confirmOptions(given),
    captureMethod: given.capture_method,
    ...(given.payment_method && { paymentMethod: findMethod(context, given.payment_method) }),
  };
  confirmIntent(context.books, intent, options, context.cause);
  return answer(context, intent, given.expand);
}

function capture(context: Context, params: Params, id: string): Rendered {
  const intent = findIntent(context, id, IN_PATH('intent'));
  const given = read(params, captureShape);
  if (given.final_capture === false) {
    throw invalid('This PaymentIntent is not eligible for multiple captures.', 'final_capture');
  }
  captureIntent(context.books, intent, given.amount_to_capture ?? null, context.cause);
  if (given.metadata !== undefined) {
    updateIntent(context.books, intent, { metadata: given.metadata }, context.cause);
  }
  return answer(context, intent, given.expand);
}

function cancel(context: Context, params: Params, id: string): Rendered {
  const intent = findIntent(context, id, IN_PATH('intent'));
  const given = read(params, { cancellation_reason: cancellationReason, expand: expandList });
  cancelIntent(context.books, intent, given.cancellation_reason ?? null, context.cause);
  return answer(context, intent, given.expand);
}

function retrieve(context: Context, params: Params, id: string): Rendered {
  const given = read(params, { expand: expandList, client_secret: text });
  return answer(context, findIntent(context, id, IN_PATH('intent')), given.expand);
}

function listAll(context: Context, params: Params): Rendered {
  const given = read(params, listShape);
  const page = renderPage(
    context,
    context.books.intents,
    'payment_intent',
    given,
    (intent) => given.customer === undefined || intent.customer === given.customer,
    renderIntent,
    '/v1/payment_intents',
  );
  return expand(context.books, page, given.expand ?? []);
}

function search(context: Context, params: Params): Rendered {
  const given = read(params, { ...searchShape, expand: expandList });
  const matches = parseSearch(required(given.query, 'query'));
  const { settings, world } = context.books;
  const asOf = world.now() - settings.search_lag_s * 1000;
  const page = context.books.intents.page(context.owner, {
    limit: Math.min(given.limit ?? 10, settings.page_size_limit),
    // The page token is the id of the last hit.
    startingAfter: given.page === undefined ? null : findIntent(context, given.page, IN_PATH('page')),
    endingBefore: null,
    notBefore: 0,
    accept: (intent) => {
      const status = statusAsOf(intent, asOf);
      return status !== null && matches(intent, status);
    },
  });
  const data = page.items.map((intent) => ({ ...renderIntent(intent), status: statusAsOf(intent, asOf) }));
  const found = {
    object: 'search_result',
    data,
    has_more: page.hasMore,
    next_page: page.hasMore ? (page.items.at(-1)?.id ?? null) : null,
    url: '/v1/payment_intents/search',
  };
  return expand(context.books, found, given.expand ?? []);
}

export const paymentIntentEndpoints: Endpoint[] = [
  { route: 'payment_intents.create', method: 'POST', path: 'payment_intents', handle: create },
  { route: 'payment_intents.list', method: 'GET', path: 'payment_intents', handle: listAll },
  { route: 'payment_intents.search', method: 'GET', path: 'payment_intents/search', handle: search },
  { route: 'payment_intents.retrieve', method: 'GET', path: 'payment_intents/:id', handle: retrieve },
  { route: 'payment_intents.update', method: 'POST', path: 'payment_intents/:id', handle: update },
  { route: 'payment_intents.confirm', method: 'POST', path: 'payment_intents/:id/confirm', handle: confirm },
  { route: 'payment_intents.capture', method: 'POST', path: 'payment_intents/:id/capture', handle: capture },
  { route: 'payment_intents.cancel', method: 'POST', path: 'payment_intents/:id/cancel', handle: cancel },
];
