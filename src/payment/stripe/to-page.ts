/** One page of Stripe's list of payments in our words. Source: API reference, "List all PaymentIntents". */
import type { Parameters } from '../../operation/attempt.js';
import type { ListedPayment, PaymentPage } from '../port.js';
import { fromProviderAmount } from './money.js';
import { capturedAmount, expandedCharge, NOTHING_ELSE_SEEN, toPaymentReading } from './to-observation.js';
import {
  metadataText,
  notUnderstood,
  understand,
  WireListedPayment,
  type Understood,
  type WireList,
} from './wire.js';

/** A page that does not lead beyond `after` is a failure: the walk would not end. */
export function toPage({ data, has_more }: WireList, after: string | null): Understood<PaymentPage> {
  const payments: ListedPayment[] = [];
  const unreadable: string[] = [];
  let last: string | null = null;
  for (const raw of data) {
    const id = idOf(raw);
    if (id === null)
      return {
        ok: false,
        failure: notUnderstood('unexpected_object', 'the list holds something without an id'),
      };
    last = id;
    const listed = toListed(raw);
    // One odd payment must not hide all others.
    if (listed.ok) payments.push(listed.value);
    else unreadable.push(id);
  }
  if (has_more && (last === null || last === after)) {
    return { ok: false, failure: notUnderstood('endless_list', 'the list does not come to an end') };
  }
  return { ok: true, value: { payments, unreadable, last, has_more } };
}

function idOf(raw: unknown): string | null {
  const id: unknown = typeof raw === 'object' && raw !== null && 'id' in raw ? raw.id : null;
  return typeof id === 'string' && /^\w{1,255}$/.test(id) ? id : null;
}

function toListed(raw: unknown): Understood<ListedPayment> {
  const payment = understand(WireListedPayment, raw);
  if (!payment.ok) return payment;
  const reading = toPaymentReading(payment.value, NOTHING_ELSE_SEEN);
  if (!reading.ok) return reading;
  const refunded = refundedAmount(payment.value, reading.value.currency);
  if (!refunded.ok) return refunded;
  return {
    ok: true,
    value: {
      payment: reading.value,
      created_at: new Date(payment.value.created * 1000).toISOString(),
      refunded: refunded.value,
      terms: termsOf(payment.value),
    },
  };
}

/** As the charge sums them up. Null: the charge did not come along although money was taken. */
function refundedAmount(payment: WireListedPayment, currency: string): Understood<number | null> {
  const charge = expandedCharge(payment);
  const captured = capturedAmount(payment, charge) ?? 0;
  if (captured === 0) return { ok: true, value: 0 };
  const sum = charge?.amount_refunded ?? null;
  if (charge === null || sum === null) return { ok: true, value: null };
  // Old charges count what was only released of the authorization: no customer got that back.
  const released = Math.max(0, charge.amount - captured);
  const refunded = fromProviderAmount(sum > captured ? Math.max(0, sum - released) : sum, currency);
  return refunded.ok
    ? { ok: true, value: refunded.amount }
    : {
        ok: false,
        failure: notUnderstood('amount_not_expressible', `${payment.id}: refunded ${refunded.problem}`),
      };
}

/** The members of `prepare` for create_payment that a payment shows as long as nobody has changed it. */
function termsOf(payment: WireListedPayment): Parameters {
  const operation_id = metadataText(payment.metadata, 'operation_id');
  return {
    amount: payment.amount,
    currency: payment.currency.toLowerCase(),
    ...(operation_id !== null && { metadata: { operation_id } }),
    ...(payment.capture_method === 'manual' && { capture_method: 'manual' }),
  };
}
