/** What people, banks and customers do outside the API: the dashboard's buttons, and what time brings. */
import { z } from 'zod';
import { type Books, latestCharge } from '../payments/books.js';
import { captureIntent } from '../payments/capture.js';
import {
  completeAuthentication,
  confirmIntent,
  endProcessing,
  failAuthentication,
  payLate,
} from '../payments/confirm.js';
import { closeDispute, escalateDispute, openDispute } from '../payments/disputes.js';
import { createIntent, voidIntent } from '../payments/intents.js';
import { type Cause, type Charge, type Dispute, type Intent, type Refund } from '../payments/model.js';
import { readCurrency } from '../payments/money.js';
import { createRefund, failRefund, refundableCharge, settleRefund } from '../payments/refunds.js';
import { refused } from '../payments/refusal.js';
import { DEFAULT_ACCOUNT } from '../stripe/keys.js';
import { renderIntent, type Rendered } from '../stripe/render-intent.js';
import { renderDispute, renderRefund } from '../stripe/render.js';
import { type Stock } from '../warehouse/stock.js';

/** A payment is named by its id or by its operation; of several the newest that fits is taken. */
const payment = { payment_intent: z.string().optional(), operation_id: z.string().optional() };
const ofRefund = { refund: z.string().optional(), ...payment };
const ofDispute = { dispute: z.string().optional(), ...payment };
const amount = z.int().min(1).optional();
const action = <const N extends string, S extends z.ZodRawShape>(name: N, shape: S) =>
  z.strictObject({ action: z.literal(name), ...shape });

export const dashboardSchema = z.discriminatedUnion('action', [
  action('capture', { ...payment, amount }),
  action('cancel', { ...payment, reason: z.string().optional() }),
  action('confirm', { ...payment, payment_method: z.string() }),
  action('refund', { ...payment, amount, reason: z.string().optional() }),
  action('complete_authentication', payment),
  action('fail_authentication', payment),
  action('settle_payment', payment),
  action('fail_payment', payment),
  action('pay_late', { ...payment, payment_method: z.string().optional() }),
  action('expire_authorization', {
    ...payment,
    /** Older versions of the API say automatic. */
    reason: z.enum(['expired', 'automatic']).default('expired'),
  }),
  action('settle_refund', ofRefund),
  action('fail_refund', { ...ofRefund, reason: z.string().default('expired_or_canceled_card') }),
  action('open_dispute', {
    ...payment,
    amount,
    reason: z.string().optional(),
    inquiry: z.boolean().optional(),
  }),
  action('escalate_dispute', ofDispute),
  action('win_dispute', { ...ofDispute, refundable: z.boolean().default(true) }),
  /** refundable: whether the rest of a charge that was disputed in part can be refunded again. */
  action('lose_dispute', { ...ofDispute, refundable: z.boolean().default(false) }),
  action('close_dispute', ofDispute),
  action('create_stray', {
    amount: z.int().min(1),
    currency: z.string(),
    metadata: z.record(z.string(), z.string()).default({}),
    /** Given: it is confirmed with this method; else it stays without money. */
    payment_method: z.string().optional(),
    capture_method: z.enum(['automatic', 'manual']).default('automatic'),
    account: z.string().default(DEFAULT_ACCOUNT),
    livemode: z.boolean().default(false),
  }),
  action('ship', { operation_id: z.string() }),
  action('lose_reservation', { operation_id: z.string(), forget: z.boolean().default(false) }),
]);

export type DashboardAction = z.infer<typeof dashboardSchema>;

const PERSON: Cause = { source: 'dashboard', requestId: null, idempotencyKey: null };
const PROVIDER: Cause = { ...PERSON, source: 'provider' };

export function act(books: Books, stock: Stock, wanted: DashboardAction): Rendered {
  switch (wanted.action) {
    case 'capture':
      return renderIntent(captureIntent(books, named(books, wanted), wanted.amount ?? null, PERSON));
    case 'cancel': {
      const intent = named(books, wanted, (one) => one.status !== 'canceled');
      if (intent.status === 'succeeded') throw refused(`${intent.id} has succeeded; refund it instead`);
      return renderIntent(voidIntent(books, intent, wanted.reason ?? 'requested_by_customer', PERSON));
    }
    case 'confirm': {
      const intent = named(books, wanted);
      return renderIntent(confirmWith(books, intent, wanted.payment_method));
    }
    case 'refund': {
      const charge = refundableCharge(named(books, wanted, hasMoney));
      return renderRefund(
        createRefund(books, charge, { amount: wanted.amount, reason: wanted.reason }, PERSON),
      );
    }
    case 'complete_authentication':
      return renderIntent(completeAuthentication(books, named(books, wanted), PROVIDER));
    case 'fail_authentication':
      return renderIntent(failAuthentication(books, named(books, wanted), PROVIDER));
    case 'settle_payment':
      return renderIntent(endProcessing(books, named(books, wanted), true, PROVIDER));
    case 'fail_payment':
      return renderIntent(endProcessing(books, named(books, wanted), false, PROVIDER));
    case 'pay_late': {
      const intent = named(books, wanted, ({ status }) => status === 'canceled');
      const id = wanted.payment_method ?? intent.paymentMethod?.id ?? 'pm_card_visa';
      const method = books.paymentMethod(intent.owner, id);
      if (!method) throw refused(`no payment method ${id}`);
      return renderIntent(payLate(books, intent, method, PROVIDER));
    }
    case 'expire_authorization': {
      const intent = named(books, wanted);
      if (intent.status !== 'requires_capture') throw refused(`${intent.id} holds no authorization`);
      return renderIntent(voidIntent(books, intent, wanted.reason, PROVIDER));
    }
    case 'settle_refund':
      return renderRefund(settleRefund(books, namedRefund(books, wanted), PROVIDER));
    case 'fail_refund':
      return renderRefund(failRefund(books, namedRefund(books, wanted), wanted.reason, PROVIDER));
    case 'open_dispute':
      return renderDispute(openDispute(books, charged(named(books, wanted, hasMoney)), wanted, PROVIDER));
    case 'escalate_dispute':
      return renderDispute(escalateDispute(books, namedDispute(books, wanted), PROVIDER));
    case 'win_dispute':
      return close(books, wanted, 'won', wanted.refundable);
    case 'lose_dispute':
      return close(books, wanted, 'lost', wanted.refundable);
    case 'close_dispute':
      return close(books, wanted, 'warning_closed', true);
    case 'create_stray':
      return renderIntent(createStray(books, wanted));
    case 'ship':
      return { ...stock.ship(wanted.operation_id) };
    case 'lose_reservation':
      stock.lose(wanted.operation_id, wanted.forget);
      return { operation_id: wanted.operation_id };
  }
}

interface PaymentName {
  payment_intent?: string | undefined;
  operation_id?: string | undefined;
}

const hasMoney = (intent: Intent): boolean => latestCharge(intent)?.captured ?? false;

function named(books: Books, wanted: PaymentName, fits: (intent: Intent) => boolean = () => true): Intent {
  if (wanted.payment_intent !== undefined) {
    const intent = books.intents.get(wanted.payment_intent);
    if (!intent) throw refused(`no payment intent ${wanted.payment_intent}`);
    return intent;
  }
  if (wanted.operation_id === undefined) throw refused('name a payment_intent or an operation_id');
  const all = [...(books.byOperation.get(wanted.operation_id) ?? [])];
  const intent = all.findLast(fits) ?? all.at(-1);
  if (!intent) throw refused(`no payment intent carries the operation_id ${wanted.operation_id}`);
  return intent;
}

function charged(intent: Intent): Charge {
  const charge = latestCharge(intent);
  if (!charge) throw refused(`${intent.id} has no charge`);
  return charge;
}

function namedRefund(books: Books, wanted: PaymentName & { refund?: string | undefined }): Refund {
  const refund =
    wanted.refund === undefined
      ? charged(named(books, wanted, hasMoney)).refunds.at(-1)
      : books.refunds.get(wanted.refund);
  if (!refund) throw refused('no such refund');
  return refund;
}

function namedDispute(books: Books, wanted: PaymentName & { dispute?: string | undefined }): Dispute {
  const dispute =
    wanted.dispute === undefined
      ? charged(named(books, wanted, hasMoney)).disputes.at(-1)
      : books.disputes.get(wanted.dispute);
  if (!dispute) throw refused('no such dispute');
  return dispute;
}

function close(
  books: Books,
  wanted: PaymentName & { dispute?: string | undefined },
  verdict: 'won' | 'lost' | 'warning_closed',
  refundable: boolean,
): Rendered {
  return renderDispute(closeDispute(books, namedDispute(books, wanted), verdict, refundable, PROVIDER));
}

function confirmWith(books: Books, intent: Intent, method: string): Intent {
  const paymentMethod = books.paymentMethod(intent.owner, method);
  if (!paymentMethod) throw refused(`no payment method ${method}`);
  return confirmIntent(books, intent, { paymentMethod, returnUrl: 'https://shop.example/return' }, PERSON);
}

function createStray(books: Books, wanted: Extract<DashboardAction, { action: 'create_stray' }>): Intent {
  const fields = {
    amount: wanted.amount,
    currency: readCurrency(wanted.currency),
    metadata: wanted.metadata,
    captureMethod: wanted.capture_method,
  };
  const owner = { account: wanted.account, livemode: wanted.livemode };
  const intent = createIntent(books, owner, fields, () => undefined, PERSON);
  return wanted.payment_method === undefined ? intent : confirmWith(books, intent, wanted.payment_method);
}
