/** The payment methods that tests may name, and what each one does. Names are those of Stripe's test methods. */

export interface Decline {
  code: string;
  declineCode: string | null;
  adviceCode: string | null;
  message: string;
}

export interface TestMethod {
  name: string;
  type: 'card' | 'sepa_debit' | 'ideal';
  brand: string;
  last4: string;
  /** What confirming does: approved at once, declined, the customer must act, or an answer days later. */
  confirm: 'approve' | 'authenticate' | 'redirect' | 'process' | Decline;
  /** What follows once the customer has authenticated. */
  afterAuthentication: 'approve' | Decline;
  /** State that a refund of it starts in. */
  refund: 'succeeded' | 'pending' | 'requires_action';
  /** A dispute that opens right after the payment succeeded. */
  dispute: 'chargeback' | 'inquiry' | null;
}

const decline = (
  declineCode: string | null,
  adviceCode: string | null,
  message: string,
  code = 'card_declined',
): Decline => ({ code, declineCode, adviceCode, message });

const GENERIC = decline('generic_decline', 'try_again_later', 'Your card was declined.');

export const AUTHENTICATION_REQUIRED = decline(
  'authentication_required',
  'confirm_card_data',
  'Your card was declined. This transaction requires authentication.',
  'authentication_required',
);

export const AUTHENTICATION_FAILED = decline(
  null,
  null,
  'We are unable to authenticate your payment method. Please choose a different payment method and try again.',
  'payment_intent_authentication_failure',
);

export const ASYNC_PAYMENT_FAILED = decline(
  'generic_decline',
  null,
  'The payment failed because the bank did not pay it.',
  'payment_intent_payment_attempt_failed',
);

const card = (name: string, last4: string, more: Partial<TestMethod> = {}): TestMethod => ({
  name,
  type: 'card',
  brand: 'visa',
  last4,
  confirm: 'approve',
  afterAuthentication: 'approve',
  refund: 'succeeded',
  dispute: null,
  ...more,
});

const declines: [string, string, Decline][] = [
  ['chargeDeclined', '0002', GENERIC],
  [
    'chargeDeclinedInsufficientFunds',
    '9995',
    decline('insufficient_funds', 'try_again_later', 'Your card has insufficient funds.'),
  ],
  ['chargeDeclinedLostCard', '9987', decline('lost_card', 'do_not_try_again', 'Your card was declined.')],
  ['chargeDeclinedStolenCard', '9979', decline('stolen_card', 'do_not_try_again', 'Your card was declined.')],
  ['chargeDeclinedFraudulent', '0019', decline('fraudulent', 'do_not_try_again', 'Your card was declined.')],
  [
    'chargeDeclinedExpiredCard',
    '0069',
    decline(null, 'do_not_try_again', 'Your card has expired.', 'expired_card'),
  ],
  [
    'chargeDeclinedIncorrectCvc',
    '0127',
    decline(null, 'confirm_card_data', "Your card's security code is incorrect.", 'incorrect_cvc'),
  ],
  [
    'chargeDeclinedProcessingError',
    '0119',
    decline(
      null,
      'try_again_later',
      'An error occurred while processing your card. Try again in a little bit.',
      'processing_error',
    ),
  ],
];

const methods: TestMethod[] = [
  card('pm_card_visa', '4242'),
  card('pm_card_visa_debit', '5556'),
  card('pm_card_mastercard', '4444', { brand: 'mastercard' }),
  card('pm_card_amex', '8431', { brand: 'amex' }),
  // Both spellings of the declining ones are in use.
  ...declines.flatMap(([name, last4, confirm]) => [
    card(`pm_card_${name}`, last4, { confirm }),
    card(`pm_card_visa_${name}`, last4, { confirm }),
  ]),
  card('pm_card_authenticationRequired', '3184', { confirm: 'authenticate' }),
  card('pm_card_threeDSecure2Required', '3220', { confirm: 'authenticate' }),
  card('pm_card_threeDSecureRequired', '3063', { confirm: 'authenticate' }),
  card('pm_card_threeDSecureRequiredChargeDeclined', '1629', {
    confirm: 'authenticate',
    afterAuthentication: GENERIC,
  }),
  card('pm_card_createDispute', '0259', { dispute: 'chargeback' }),
  card('pm_card_createDisputeInquiry', '1976', { dispute: 'inquiry' }),
  card('pm_card_refundFail', '5126'),
  card('pm_card_pendingRefund', '7726', { refund: 'pending' }),
  // Not one of Stripe's: the only way to see a refund that waits for the customer and may be canceled.
  card('pm_card_refundRequiresAction', '7734', { refund: 'requires_action' }),
  card('pm_sepaDebit', '3000', { type: 'sepa_debit', brand: '', confirm: 'process', refund: 'pending' }),
  card('pm_ideal', '0000', { type: 'ideal', brand: '', confirm: 'redirect', refund: 'pending' }),
];

export const TEST_METHODS: ReadonlyMap<string, TestMethod> = new Map(methods.map((m) => [m.name, m]));
