/** Every reason word, declared once: conditions, logs, metrics, the API and the documents use these. */

interface ReasonText {
  /** One sentence for a person who was not there. */
  readonly meaning: string;
}

export const REASONS = {
  // Progress
  Accepted: { meaning: 'The wish is stored; nothing has been done yet.' },
  ReservingStock: { meaning: 'Stock is being reserved before any money is taken.' },
  CreatingPayment: { meaning: 'The payment is being given an identity at the provider; no money moves.' },
  ConfirmingPayment: { meaning: 'The payment is being confirmed at the provider.' },
  PaymentProcessing: { meaning: 'The provider works on the payment; money may still arrive.' },
  AwaitingCustomer: { meaning: 'The customer has to act, for instance by 3-D Secure.' },
  Authorized: { meaning: 'The money is authorized and waits for its capture.' },
  Capturing: { meaning: 'The authorized money is being captured.' },
  CommittingStock: { meaning: 'The money is captured; the reserved stock is being committed.' },
  Fulfilled: { meaning: 'Money and stock are as wanted, observed at the provider and in the warehouse.' },
  Refunding: { meaning: 'A wanted refund is not yet final at the provider.' },
  Drifted: { meaning: 'It was as wanted, and was changed by others; the wish is the same.' },
  Observed: { meaning: 'The last reading succeeded and is recorded.' },
  // Waiting for others
  AwaitingProviderReconciliation: {
    meaning: 'A call was sent and its outcome is not known; the provider is read until it is.',
  },
  ProviderUnreachable: { meaning: 'The provider could not be read; nothing is written until it can be.' },
  ProviderThrottled: { meaning: 'The provider asked us to slow down.' },
  ProviderRefusesCredential: {
    meaning:
      'The provider refuses our key, or does not know an id that we created: wrong key, account or mode.',
  },
  InventoryUnreachable: { meaning: 'The warehouse could not be read; nothing is written until it can be.' },
  StepFailed: { meaning: 'The last try of a step failed; it is tried again after a pause.' },
  DisputeOpen: { meaning: 'The customer disputes the charge; no refund is sent while it may be withdrawn.' },
  DisputeInquiry: {
    meaning: 'The bank asks about the charge; no money was taken, and it can still be refunded.',
  },
  DisputeLost: { meaning: 'A dispute was lost: the bank gave its amount back to the customer for good.' },
  Paused: { meaning: 'A person paused this operation; it is read but nothing is written.' },
  GivenUp: { meaning: 'A person gave this operation up; it is read but nothing is written.' },
  OutcomeAsserted: {
    meaning: 'A person said what became of a call; no reading has shown it yet, and it is not sent again.',
  },
  LeftBehind: { meaning: 'A person released a finalizer and named what is left behind.' },
  AccountPaused: {
    meaning: 'A person stopped all writes of the account; it is read but nothing is written.',
  },
  // Needs the customer
  PaymentDeclined: { meaning: 'The payment was declined; the customer can try again until the deadline.' },
  AuthorizationExpired: {
    meaning: 'The authorization lapsed before it was captured; the money is free again.',
  },
  AuthorizationExpiring: {
    meaning: 'The authorization ends within a day, and nothing captures it before.',
  },
  PaymentCanceledElsewhere: { meaning: 'Somebody else canceled the payment at the provider.' },
  // Rejected
  OutOfStock: { meaning: 'The warehouse cannot deliver what was ordered; no money was taken.' },
  PaymentDeadlinePassed: { meaning: 'Nobody paid before the payment deadline; all is given back.' },
  // Cancellation and its finalizers
  Cancelling: { meaning: 'Cancellation is accepted and being carried out.' },
  Cancelled: { meaning: 'Cancelled: observed that no money is kept and no stock is held.' },
  CancelingPayment: { meaning: 'The payment is being canceled at the provider before money can arrive.' },
  RefundPending: { meaning: 'A refund is under way and not yet final at the provider.' },
  WaitsForPayment: { meaning: 'Stock is kept until it is observed that no money can arrive any more.' },
  ReleasingStock: { meaning: 'The stock is being given back.' },
  // Needs a person
  RetryBudgetExhausted: {
    meaning: 'The step failed as often as allowed; the provider is still read, slowly.',
  },
  PassBroken: {
    meaning:
      'The service fails over this record again and again, and tries it slowly; others are not held up.',
  },
  RefundFailed: { meaning: 'A refund failed or was canceled at the provider; it is never resent by itself.' },
  RefundedTwice: {
    meaning:
      'A refund of ours exists twice at the provider, or gave back more than was wanted; no more is sent.',
  },
  RefundBrake: {
    meaning:
      'The account has given back as much within an hour as it may by itself; the refund waits for room.',
  },
  DisputedAfterRefund: {
    meaning: 'Money that was refunded is charged back as well; without an answer to the bank it goes twice.',
  },
  NotRefundable: {
    meaning: 'Refunds on this charge stay barred: the dispute is decided, or the provider does not show it.',
  },
  RefundNotPossible: { meaning: 'Less money is left at the provider than the wanted refund needs.' },
  ProviderRejected: {
    meaning: 'The provider refuses the request as it stands; repeating it would not help.',
  },
  UnknownProviderStatus: { meaning: 'The provider reports a status that this version does not know.' },
  PaymentNotFound: {
    meaning: 'The payment that was to be adopted is not known in this account and mode; nothing is done.',
  },
  PaymentMismatch: { meaning: 'The payment at the provider does not agree with what is wanted.' },
  AmountAboveAuthorization: { meaning: 'More is wanted than was authorized; a new payment is needed.' },
  CapturedShort: { meaning: 'Less was captured than is wanted and the rest can no longer be captured.' },
  CapturedAbove: { meaning: 'More was captured than is wanted now.' },
  StockLostAfterPayment: { meaning: 'The money is captured but the stock is no longer held.' },
  StockMismatch: { meaning: 'The warehouse has committed other goods than are wanted.' },
  RefundedElsewhere: {
    meaning: 'All money was given back by somebody else before the goods were committed; they are kept back.',
  },
  AssertionRefuted: {
    meaning: 'What a person said became of a call does not agree with what was read since.',
  },
  GoodsGone: { meaning: 'The goods have left the warehouse and cannot be taken back by it.' },
} as const satisfies Record<string, ReasonText>;

export type Reason = keyof typeof REASONS;
