/** What an endpoint is, what it is given, and the look-ups that several endpoints share. */
import { type Books, sameOwner } from '../payments/books.js';
import {
  type Cause,
  type Charge,
  type Dispute,
  type Intent,
  type Owner,
  type PaymentMethod,
  type Refund,
} from '../payments/model.js';
import { missing } from '../payments/refusal.js';
import { type Shelf, type Shelved } from '../shelf.js';
import { type EventLog } from '../webhooks/events.js';
import { type Params, list, text } from './parameters.js';
import { type Rendered } from './render-intent.js';

export interface Context {
  books: Books;
  log: EventLog;
  owner: Owner;
  cause: Cause;
  /** As the caller asked for it, else the current one. */
  apiVersion: string;
}

export interface Endpoint {
  /** As fault rules and the journal name it. */
  route: string;
  method: 'GET' | 'POST';
  /** Segments behind /v1; `:id` stands for any. */
  path: string;
  handle: (context: Context, params: Params, id: string) => Rendered;
}

export const expandList = list(text);

type Where = { param: string; status: 400 | 404 };

/** An id in the path. */
export const IN_PATH = (param: string): Where => ({ param, status: 404 });

export function findIntent(context: Context, id: string, where: Where): Intent {
  return find(context, context.books.intents, 'payment_intent', id, where);
}

export function findCharge(context: Context, id: string, where: Where): Charge {
  return find(context, context.books.charges, 'charge', id, where);
}

export function findRefund(context: Context, id: string): Refund {
  return find(context, context.books.refunds, 'refund', id, IN_PATH('id'));
}

export function findDispute(context: Context, id: string): Dispute {
  return find(context, context.books.disputes, 'dispute', id, IN_PATH('dispute'));
}

export function findMethod(context: Context, nameOrId: string): PaymentMethod {
  const method = context.books.paymentMethod(context.owner, nameOrId);
  if (!method) throw missing('PaymentMethod', nameOrId, 'payment_method', 400);
  return method;
}

export function find<T extends Shelved>(
  context: Context,
  shelf: Shelf<T>,
  kind: string,
  id: string,
  where: Where,
): T {
  const item = shelf.get(id);
  if (item && sameOwner(item.owner, context.owner)) return item;
  // Only the other mode of the same account is hinted at; another account's objects simply do not exist.
  const hint =
    item?.owner.account === context.owner.account
      ? item.owner.livemode
        ? '; a similar object exists in live mode, but a test mode key was used to make this request.'
        : '; a similar object exists in test mode, but a live mode key was used to make this request.'
      : '';
  throw missing(kind, id, where.param, where.status, hint);
}
