/** Reading from Stripe: the payment, its charge, its refunds and its disputes. Nothing here throws or has an effect. */
import type Stripe from 'stripe';
import type { z } from 'zod';
import type { Failure } from '../../operation/failure.js';
import { withoutTrace } from './client.js';
import { saysAbsent, toFault, type Fault } from './fault.js';
import { envelopeOf, isSuccess } from './to-outcome.js';
import {
  notUnderstood,
  understand,
  WireAccount,
  WireBalance,
  WireCharge,
  WireDispute,
  WireList,
  WirePayment,
  WirePaymentWithSecret,
  WireRefund,
} from './wire.js';

export type Got<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: Failure; readonly fault: Fault | null };

/** The largest page that Stripe gives. */
const PAGE = 100;
/** 10 000 refunds of one payment: no order has them, but a server that pages in circles would. */
const MOST_PAGES = 100;
/** 100 000 payments created within some minutes: beyond the largest account's limit of 100 requests a second. */
const MOST_WINDOW_PAGES = 1_000;

export class StripeReader {
  readonly #stripe: Stripe;
  /** Set once the server refused to expand; it is not asked for it again. */
  #cannotExpand = false;
  #cannotExpandLists = false;

  constructor(stripe: Stripe) {
    this.#stripe = stripe;
  }

  /** With its latest charge inside where the server can do that. */
  async payment(reference: string): Promise<Got<WirePayment>> {
    const plain = () => this.#stripe.paymentIntents.retrieve(reference);
    if (this.#cannotExpand) return read(plain, WirePayment);
    const expanded = await read(
      () => this.#stripe.paymentIntents.retrieve(reference, { expand: ['latest_charge'] }),
      WirePayment,
    );
    if (expanded.ok || !refusesExpand(expanded.fault)) return expanded;
    this.#cannotExpand = true;
    return read(plain, WirePayment);
  }

  /** Without its charge: the secret needs no more. */
  paymentWithSecret(reference: string): Promise<Got<WirePaymentWithSecret>> {
    return read(() => this.#stripe.paymentIntents.retrieve(reference), WirePaymentWithSecret);
  }

  /** Whose account the key opens. Null: the key may not ask, or the server does not offer it. */
  async account(): Promise<Got<WireAccount | null>> {
    return unlessBarred(await read(() => this.#stripe.accounts.retrieveCurrent(), WireAccount));
  }

  /** The only object that always says whether a key is live. Null as for the account. */
  async balance(): Promise<Got<WireBalance | null>> {
    return unlessBarred(await read(() => this.#stripe.balance.retrieve(), WireBalance));
  }

  /** Null: the server does not offer charges by themselves. */
  async charge(id: string): Promise<Got<WireCharge | null>> {
    const charge = await read(() => this.#stripe.charges.retrieve(id), WireCharge);
    // The payment names it, so it is there: what is missing is the route.
    return isMissing(charge) ? { ok: true, value: null } : charge;
  }

  /** All refunds of the payment, newest first, whoever made them. */
  async refunds(reference: string, charge: string | null): Promise<Got<WireRefund[]>> {
    const all = await readPages(
      (page) => this.#stripe.refunds.list({ payment_intent: reference, ...page }),
      WireRefund,
    );
    if (!all.ok) return all;
    // A server that ignores the filter would show the refunds of other orders.
    const isOurs = (refund: WireRefund): boolean =>
      refund.payment_intent !== null
        ? refund.payment_intent === reference
        : refund.charge === null || charge === null || refund.charge === charge;
    return { ok: true, value: all.value.filter(isOurs) };
  }

  /** The first payment created within the window (seconds since 1970) that `matches`; null when none does. */
  async created(
    window: { readonly gte: number; readonly lte: number },
    matches: (payment: WirePayment) => boolean,
  ): Promise<Got<WirePayment | null>> {
    let after: string | undefined;
    for (let page = 0; page < MOST_WINDOW_PAGES; page += 1) {
      const position: Page = { limit: PAGE, ...(after !== undefined && { starting_after: after }) };
      const list = await read(
        () => this.#stripe.paymentIntents.list({ created: window, ...position }),
        WireList,
      );
      if (!list.ok) return list;
      for (const raw of list.value.data) {
        const payment = understand(WirePayment, raw);
        // One that is not understood could be the one that is looked for.
        if (!payment.ok) return { ok: false, failure: payment.failure, fault: null };
        if (matches(payment.value)) return { ok: true, value: payment.value };
        after = payment.value.id;
      }
      if (!list.value.has_more) return { ok: true, value: null };
    }
    return { ok: false, failure: notUnderstood('list_without_end', 'the list does not end'), fault: null };
  }

  /** One page of all payments created within the window (seconds since 1970), each with its latest charge where possible. */
  async page(
    window: { readonly gte: number; readonly lte: number },
    after: string | null,
  ): Promise<Got<WireList>> {
    const position: Page = { limit: PAGE, ...(after !== null && { starting_after: after }) };
    const plain = () => this.#stripe.paymentIntents.list({ created: window, ...position });
    if (this.#cannotExpandLists) return read(plain, WireList);
    const expanded = await read(
      () =>
        this.#stripe.paymentIntents.list({ created: window, ...position, expand: ['data.latest_charge'] }),
      WireList,
    );
    if (expanded.ok || !refusesExpand(expanded.fault)) return expanded;
    this.#cannotExpandLists = true;
    return read(plain, WireList);
  }

  /** Empty also where the key or the server does not offer them. */
  async disputes(reference: string): Promise<Got<WireDispute[]>> {
    const all = await readPages(
      (page) => this.#stripe.disputes.list({ payment_intent: reference, ...page }),
      WireDispute,
    );
    const status = all.ok ? null : (all.fault?.error.status ?? null);
    return status === 400 || status === 403 || status === 404 ? { ok: true, value: [] } : all;
  }
}

/** Failures that pass, or that stop everything; with any other answer the server says that it has no such route. */
const NOT_FOR_EVER = /^(timeout|connection_lost|http_5(?!01))/;

function unlessBarred<T>(got: Got<T>): Got<T | null> {
  if (got.ok) return got;
  const { failure, fault } = got;
  const isRefused = failure.class === 'authorization' && fault?.error.status === 401;
  const passes =
    failure.class === 'transient' || failure.class === 'throttled' || NOT_FOR_EVER.test(failure.code);
  return isRefused || passes || isGatewayPage(fault) ? got : { ok: true, value: null };
}

/** A server without the route may say so by a page, too; any other page stands in the way of the account. */
function isGatewayPage(fault: Fault | null): boolean {
  const { failure, status } = fault?.error.transport ?? { failure: null, status: null };
  return failure === 'invalid_body' && (status === null || status < 400 || status >= 500);
}

const isMissing = <T>(got: Got<T>): boolean =>
  !got.ok && got.fault?.error.status === 404 && saysAbsent(got.fault);

const refusesExpand = (fault: Fault | null): boolean =>
  fault?.error.status === 400 &&
  (/^expand/.test(fault.error.param ?? '') || /\bexpand/i.test(fault.error.message));

/** One GET. The SDK resolves on any status, so status and shape are both checked. */
async function read<T>(get: () => Promise<unknown>, schema: z.ZodType<T>): Promise<Got<T>> {
  let value: unknown;
  try {
    value = await withoutTrace(get);
  } catch (thrown) {
    const fault = toFault(thrown);
    return { ok: false, failure: fault.failure, fault };
  }
  const envelope = envelopeOf(value);
  if (!isSuccess(envelope)) {
    const failure = notUnderstood(`http_${envelope.status ?? 'none'}`, 'it is not the provider’s own');
    return { ok: false, failure, fault: null };
  }
  const understood = understand(schema, value);
  return understood.ok ? understood : { ok: false, failure: understood.failure, fault: null };
}

type Page = { limit: number; starting_after?: string };

/** All pages or none: a list that is cut would hide refunds. */
async function readPages<T extends { readonly id: string }>(
  get: (page: Page) => Promise<unknown>,
  schema: z.ZodType<T>,
): Promise<Got<T[]>> {
  const all = new Map<string, T>();
  let after: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const position: Page = { limit: PAGE, ...(after !== undefined && { starting_after: after }) };
    const list = await read(() => get(position), WireList);
    if (!list.ok) return list;
    const before = all.size;
    for (const raw of list.value.data) {
      const item = understand(schema, raw);
      if (!item.ok) return { ok: false, failure: item.failure, fault: null };
      all.set(item.value.id, item.value);
      after = item.value.id;
    }
    if (!list.value.has_more) return { ok: true, value: [...all.values()] };
    if (all.size === before) break;
  }
  return {
    ok: false,
    failure: notUnderstood('endless_list', 'the list does not come to an end'),
    fault: null,
  };
}
