/** Capturing an authorized payment, once; what is not captured is given back. */
import { type Books, latestCharge } from './books.js';
import { disputeIfTold } from './confirm.js';
import { type Cause, type Intent } from './model.js';
import { checkPrecision } from './money.js';
import { refused, unexpectedState } from './refusal.js';

export function captureIntent(books: Books, intent: Intent, amount: number | null, cause: Cause): Intent {
  const charge = latestCharge(intent);
  if (intent.status === 'succeeded') {
    throw unexpectedState(
      'This PaymentIntent could not be captured because it has already been captured.',
      intent,
    );
  }
  if (intent.status !== 'requires_capture' || !charge) {
    throw unexpectedState(
      `This PaymentIntent could not be captured because it has a status of ${intent.status}. Only a PaymentIntent with one of the following statuses may be captured: requires_capture.`,
      intent,
    );
  }
  const captured = amount ?? charge.amount;
  if (captured > charge.amount) {
    throw refused(
      `The provided amount_to_capture (${captured}) is greater than the remaining capturable amount (${charge.amount}).`,
      { code: 'amount_too_large', param: 'amount_to_capture', intent },
    );
  }
  checkPrecision(captured, intent.currency, 'amount_to_capture');
  charge.captured = true;
  charge.amountCaptured = captured;
  charge.amountReleased = charge.amount - captured;
  charge.captureBefore = null;
  charge.balanceTransaction = books.world.id('txn_3');
  intent.effects[cause.source].captures += 1;
  books.moveTo(intent, 'succeeded');
  books.announce(
    cause,
    { type: 'charge.captured', object: 'charge', record: charge },
    { type: 'payment_intent.succeeded', object: 'payment_intent', record: intent },
  );
  disputeIfTold(books, charge, cause);
  return intent;
}
