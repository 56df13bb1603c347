/** What happens by itself and what a person can do, for every reason and every class of failure. Total, and pure data. */
import type { FailureClass } from './failure.js';
import type { Reason } from './reason.js';

interface ActText {
  readonly how: string;
  /** Carrying it out can take money or give it back. */
  readonly moves_money: boolean;
}

/** What a person can do that is safe: each of these reads before anything is written, or writes nothing. */
export const ACTS = {
  wait: { how: 'Wait: it goes on by itself. Nothing has to be sent again.', moves_money: false },
  read_plan: {
    how: 'GET …/plan reads the provider and the warehouse at this moment and does nothing.',
    moves_money: false,
  },
  look_at_provider: {
    how: "Look at the payment in the provider's dashboard; do not charge or refund there while this order is open.",
    moves_money: false,
  },
  ask_customer: { how: 'Ask the customer to act on the payment page.', moves_money: false },
  pay_again: {
    how: 'POST …/payment: the customer tries again, with the same method or another.',
    moves_money: true,
  },
  capture: { how: 'POST …/capture takes what is authorized, once.', moves_money: true },
  lower_amount: {
    how: 'PATCH the amount down to what is authorized. It is fixed once money was captured.',
    moves_money: true,
  },
  refund_difference: {
    how: 'POST …/refunds gives back what was taken above the amount.',
    moves_money: true,
  },
  cancel: {
    how: 'POST …/cancel gives back all money and stock; it is read what is still owed, and no more is given back.',
    moves_money: true,
  },
  repair_credential: {
    how: "Repair the account's key, account or mode; then it goes on by itself. GET /v1/accounts tells when it works.",
    moves_money: false,
  },
  resume_account: {
    how: 'POST /v1/accounts/{account}/resume, by a lead, once the reason for the stop is gone.',
    moves_money: true,
  },
  ask_warehouse: { how: 'Ask the warehouse what became of the reservation.', moves_money: false },
  raise_brake: {
    how: 'See in GET /v1/accounts why so much is given back. Raise REFUND_BRAKE_… only when all of it is meant.',
    moves_money: true,
  },
  answer_dispute: {
    how: "Answer the dispute at the provider with the proof of the refund, before the bank's deadline.",
    moves_money: false,
  },
  upgrade_service: {
    how: 'Find the error by its operation_id in the log, and deploy a version that can read the record.',
    moves_money: false,
  },
  upgrade: { how: "Deploy a version that knows the provider's new word.", moves_money: false },
  // Commands: previewed on a fresh reading, and read again when they are confirmed.
  retry: {
    how: 'Command retry: a fresh budget under the same keys; lets a refund pass the brake.',
    moves_money: true,
  },
  retry_refund: { how: 'Command retry_refund: the refund that failed, once more.', moves_money: true },
  reauthorize: {
    how: 'Command reauthorize: a new payment, once the old one is observed canceled.',
    moves_money: true,
  },
  adopt_payment: {
    how: 'Command adopt_payment: take over another payment, after its checks.',
    moves_money: true,
  },
  record_outcome: {
    how: 'Command record_outcome, by a lead with evidence: what became of a call in doubt.',
    moves_money: true,
  },
  release_finalizer: {
    how: 'Command release_finalizer, by a lead: stop waiting, and name what is left behind.',
    moves_money: false,
  },
  give_up: {
    how: 'Command give_up, by a lead: nothing is sent any more, and it is closed with a verdict.',
    moves_money: false,
  },
  resume: {
    how: 'Command resume, once the reason for the stop is gone (metadata.paused, metadata.closed).',
    moves_money: true,
  },
} as const satisfies Record<string, ActText>;
export type Act = keyof typeof ACTS;

export interface Guidance {
  readonly by_itself: string;
  /** In the order in which to try them; the first is the safest. */
  readonly person: readonly Act[];
}

const goesOn = (by_itself: string): Guidance => ({ by_itself, person: ['wait'] });
const rests = (by_itself: string): Guidance => ({ by_itself, person: [] });

export const REASON_GUIDANCE: Readonly<Record<Reason, Guidance>> = {
  Accepted: goesOn('The next pass begins the work.'),
  ReservingStock: goesOn('The warehouse answers, or is asked again.'),
  CreatingPayment: goesOn('The payment is created unconfirmed; its id is stored before money can move.'),
  ConfirmingPayment: goesOn('The provider answers, or the payment is read.'),
  PaymentProcessing: goesOn('The bank decides; that may take days. It is read until then.'),
  AwaitingCustomer: {
    by_itself: 'The payment deadline ends it, after the provider was read.',
    person: ['ask_customer', 'pay_again', 'cancel'],
  },
  Authorized: {
    by_itself: 'Nothing, until it is captured or the authorization ends.',
    person: ['capture', 'cancel'],
  },
  Capturing: goesOn('The provider answers, or the payment is read.'),
  CommittingStock: goesOn('The warehouse answers, or is asked again.'),
  Fulfilled: rests('It is watched: a refund can fail and a dispute can come later.'),
  Refunding: goesOn('The refund is sent, and read until the bank is done with it.'),
  Drifted: {
    by_itself:
      'What may be repaired is repaired; for the rest a person is asked under the reason of the headline.',
    person: ['read_plan', 'look_at_provider'],
  },
  Observed: rests('Nothing: the last reading succeeded.'),
  AwaitingProviderReconciliation: {
    by_itself: 'The provider is read; what had no effect is sent again under the same key.',
    person: ['wait', 'read_plan', 'look_at_provider', 'record_outcome'],
  },
  ProviderUnreachable: {
    by_itself: 'It is read again until the provider answers; nothing is written until then.',
    person: ['wait', 'read_plan'],
  },
  ProviderThrottled: goesOn('It goes on when the time is over that the provider asked for.'),
  ProviderRefusesCredential: {
    by_itself: 'A probe now and then shows when the account works again.',
    person: ['repair_credential'],
  },
  InventoryUnreachable: {
    by_itself: 'It is read again until the warehouse answers.',
    person: ['wait', 'ask_warehouse'],
  },
  StepFailed: {
    by_itself: 'It is tried again after a pause, under the same key.',
    person: ['wait', 'read_plan'],
  },
  DisputeOpen: {
    by_itself: 'The bank decides. What is owed after that is given back, and no more.',
    person: ['wait', 'look_at_provider'],
  },
  DisputeInquiry: {
    by_itself: 'The bank decides. Refunds that are wanted are sent: no money was taken.',
    person: ['look_at_provider'],
  },
  DisputeLost: rests('It is decided: what the bank took counts as given back, and no more is given.'),
  Paused: { by_itself: 'It is read slowly, and nothing is written.', person: ['resume'] },
  GivenUp: {
    by_itself: 'It is read, slowly. A new wish, or more money, asks a person again.',
    person: ['read_plan', 'resume'],
  },
  OutcomeAsserted: rests('It is read; what is seen takes the place of what was said.'),
  LeftBehind: rests('Nothing: it says what was left behind. More money asks a person again.'),
  AssertionRefuted: {
    by_itself: 'It is read; nothing is sent until a person has said what is right.',
    person: ['read_plan', 'look_at_provider', 'record_outcome'],
  },
  AccountPaused: {
    by_itself: 'It is read slowly, and nothing is written; it goes on when the account is resumed.',
    person: ['resume_account'],
  },
  PaymentDeclined: {
    by_itself: 'The stock is held until the payment deadline; then all is given back.',
    person: ['pay_again', 'cancel'],
  },
  AuthorizationExpired: { by_itself: 'Nothing: the money is free again.', person: ['reauthorize', 'cancel'] },
  AuthorizationExpiring: {
    by_itself: 'The authorization ends, and the money is free again.',
    person: ['capture', 'cancel'],
  },
  PaymentCanceledElsewhere: {
    by_itself: 'The payment deadline ends it.',
    person: ['look_at_provider', 'reauthorize', 'cancel'],
  },
  OutOfStock: goesOn('The payment is canceled, and the order rejected once that was seen.'),
  PaymentDeadlinePassed: goesOn('The payment is canceled and the stock released, each after it was seen.'),
  Cancelling: goesOn('Money and stock are given back, one after the other.'),
  Cancelled: rests('It is watched: money that arrives late is given back.'),
  CancelingPayment: goesOn('The provider answers, or the payment is read.'),
  RefundPending: goesOn('The refund is sent, and read until the bank is done with it.'),
  WaitsForPayment: goesOn('The stock is released as soon as no money can arrive any more.'),
  ReleasingStock: goesOn('The warehouse answers, or is asked again.'),
  RetryBudgetExhausted: {
    by_itself: 'It is read slowly; if a reading shows that it is as wanted, it settles.',
    person: ['read_plan', 'retry', 'look_at_provider', 'cancel'],
  },
  PassBroken: {
    by_itself: 'It is tried again slowly; a version that can read the record goes on with it.',
    person: ['upgrade_service', 'look_at_provider'],
  },
  RefundedTwice: {
    by_itself: 'No more is sent.',
    person: ['look_at_provider', 'give_up'],
  },
  DisputedAfterRefund: {
    by_itself: 'The bank decides; without an answer the money goes twice.',
    person: ['answer_dispute'],
  },
  NotRefundable: {
    by_itself: 'It is read on; the refund goes when the provider lets it.',
    person: ['look_at_provider', 'give_up'],
  },
  RefundFailed: {
    by_itself: 'It is read on, and never sent again by itself.',
    person: ['read_plan', 'retry_refund', 'look_at_provider'],
  },
  RefundBrake: {
    by_itself: 'The refund goes on when the hour has room again.',
    person: ['wait', 'raise_brake', 'retry'],
  },
  RefundNotPossible: {
    by_itself: 'It is read on; nothing is given back beyond what is there.',
    person: ['look_at_provider', 'cancel'],
  },
  ProviderRejected: {
    by_itself: 'It is read on, and the request is not repeated.',
    person: ['read_plan', 'retry', 'pay_again', 'cancel'],
  },
  UnknownProviderStatus: {
    by_itself: 'It is read on until the provider reports a status that is known.',
    person: ['look_at_provider', 'upgrade'],
  },
  PaymentNotFound: {
    by_itself: 'It is looked for slowly, and adopted when it is seen after all.',
    person: ['look_at_provider', 'adopt_payment', 'cancel'],
  },
  PaymentMismatch: {
    by_itself: 'It is read on; the payment is not touched.',
    person: ['look_at_provider', 'adopt_payment', 'cancel'],
  },
  AmountAboveAuthorization: {
    by_itself: 'The authorization is kept until it ends; nothing is captured.',
    person: ['lower_amount', 'cancel'],
  },
  CapturedShort: {
    by_itself: 'The goods are kept back; the rest is not charged.',
    person: ['look_at_provider', 'cancel', 'give_up'],
  },
  CapturedAbove: {
    by_itself: 'The goods are kept back; nothing is given back by itself.',
    person: ['refund_difference', 'cancel', 'give_up'],
  },
  StockLostAfterPayment: {
    by_itself: 'The warehouse is read on; nothing is reserved anew.',
    person: ['ask_warehouse', 'cancel'],
  },
  StockMismatch: { by_itself: 'The warehouse is read on.', person: ['ask_warehouse', 'cancel'] },
  RefundedElsewhere: {
    by_itself: 'The goods are kept back.',
    person: ['look_at_provider', 'cancel'],
  },
  GoodsGone: {
    by_itself: 'The warehouse is asked on; the cancellation ends when it takes the goods back.',
    person: ['ask_warehouse', 'release_finalizer'],
  },
};

export interface FailureGuidance {
  readonly meaning: string;
  readonly by_itself: string;
}

export const FAILURE_GUIDANCE: Readonly<Record<FailureClass, FailureGuidance>> = {
  transient: {
    meaning: 'The call was provably not sent, or not taken.',
    by_itself: 'Tried again after a pause, with full jitter.',
  },
  throttled: {
    meaning: 'The other side asked for time.',
    by_itself: 'The whole account waits as long as it was told, and goes on more slowly.',
  },
  outage: {
    meaning: 'The whole account is in trouble, not this order.',
    by_itself: 'Waits for a probe to succeed.',
  },
  unknown: {
    meaning: 'No answer, or one that does not say whether it took effect.',
    by_itself: 'Read first; only what is seen to have had no effect is sent again.',
  },
  declined: {
    meaning: "The customer's bank, or the warehouse, said no.",
    by_itself: 'The customer can try again until the payment deadline.',
  },
  rejected: {
    meaning: 'The request as it stands is refused.',
    by_itself: 'Planned once more from a fresh reading; the second refusal needs a person.',
  },
  authorization: {
    meaning: 'The key is refused, or it belongs to another account or mode.',
    by_itself: 'The account is stopped with one alert; no order fails. It goes on when the key is repaired.',
  },
  conflict: {
    meaning: 'Somebody else was faster, or it is done already.',
    by_itself: 'Read again; what is still missing is done.',
  },
  compatibility: {
    meaning: 'A word of the provider that this version does not know.',
    by_itself: 'Reading goes on, nothing is written.',
  },
  prerequisite: {
    meaning: 'The warehouse or a setting is missing.',
    by_itself: 'Waits until it is there.',
  },
  partial: {
    meaning: 'One of several effects of a step is done.',
    by_itself: 'Only what is still missing is done.',
  },
  cancelled_by_operator: {
    meaning: 'A person stopped it.',
    by_itself: 'Reading goes on until it is resumed.',
  },
};

/** Our own stable codes. All others are the words of the provider or the warehouse, or `http_…` with their status. */
export const FAILURE_CODES: Readonly<Record<string, string>> = {
  account_not_configured: 'This process has no key for the account of the order.',
  amount_not_expressible: 'The provider cannot express this amount exactly.',
  answer_disagrees: 'The answer contradicts what was sent, so it proves nothing.',
  effect_not_seen: 'The answer says done, and does not show it.',
  goods_gone: 'The goods have left the warehouse.',
  idempotency_key_in_use: 'An earlier request of ours under this key is still being worked on.',
  idempotency_mismatch: 'The provider has other parameters stored under this key; nothing is sent.',
  identity_not_kept: 'Who the account is could not be written down, so it is not used.',
  insufficient_stock: 'The warehouse cannot deliver what was ordered.',
  inventory_misconfigured: 'The address of the warehouse cannot be made.',
  inventory_throttled: 'The warehouse asked for time.',
  inventory_unexpected_body: 'The answer of the warehouse could not be understood.',
  lease_too_short: 'This process stood still for so long that the call was not begun.',
  livemode_mismatch: 'The object is of the other mode (live, test) than our key.',
  other_object: 'The answer shows another object than was asked for.',
  payment_given_back:
    'A person decided to give this payment back, and that has not ended; until then no order takes it.',
  payment_not_found: 'The provider does not know the id in this account and mode, which proves nothing.',
  reference_missing: 'The step needs a payment that has no id yet.',
  refunds_not_listed: 'The refunds were asked for and not shown; without them nothing is given back.',
  step_out: 'The account answers, but takes no call of this kind now; one is tried now and then for all.',
  timeout: 'No answer came in time: it may or may not have taken effect.',
  unknown_status: 'A status that this version does not know.',
  wrong_account: 'The key belongs to another account or mode than at first contact.',
};
