/**
 * What a cancellation leads to, by the state in which it arrives and by what becomes of its first effect. A line is what a
 * reader sees: the finalizers with their reasons (in brackets what else is the matter), `>` an effect with its answer,
 * `~` what others do once nothing moves by itself. A fault that cannot happen in a state has no row.
 */
import type { StateName } from './states.js';
import type { CancelFault } from './story.js';

type Row = Readonly<Partial<Record<CancelFault, readonly string[]>>> & { readonly none: readonly string[] };

const waits = (reason: string): string => `payment ${reason}, inventory WaitsForPayment`;
const CREATING = waits('CreatingPayment');
const CANCELING = waits('CancelingPayment');
const PROCESSING = waits('PaymentProcessing');
const REFUNDING = waits('Refunding');
const REFUND_PENDING = waits('RefundPending');
const DISPUTED = waits('DisputeOpen');
const REFUND_FAILED = `${waits('RefundFailed')} (person: RefundFailed)`;
const RELEASING = 'inventory ReleasingStock';
const GONE = 'inventory GoodsGone (person: GoodsGone)';
const DOUBT = '(AwaitingProviderReconciliation)';
const AWAY = '(ProviderUnreachable)';

// How it ends, in several states alike
const RELEASED = [RELEASING, '> release_inventory done', 'cancelled'];
const RELEASE_IN_DOUBT = [
  RELEASING,
  '> release_inventory unknown timeout',
  `${RELEASING} ${DOUBT}`,
  'cancelled',
];
const NOT_TAKEN_BACK = [RELEASING, '> release_inventory rejected goods_gone', GONE];
const VOIDED = ['> cancel_payment done', ...RELEASED];
const REFUNDED = [REFUND_PENDING, '> create_refund pending', '~ refunds arrive', ...RELEASED];
const REFUND_IN_DOUBT = [
  REFUND_PENDING,
  '> create_refund unknown timeout',
  `${REFUND_PENDING} ${DOUBT}`,
  REFUND_PENDING,
  '~ refunds arrive',
  ...RELEASED,
];
const REFUND_REFUSED = [
  REFUND_PENDING,
  '> create_refund rejected amount_too_large',
  `${REFUND_PENDING} (StepFailed)`,
  REFUND_PENDING,
  '~ refunds arrive',
  ...RELEASED,
];
const REFUND_DELAYED = [REFUND_PENDING, `${REFUND_PENDING} ${AWAY}`, ...REFUNDED];
const VOID = [CANCELING, ...VOIDED];
const VOID_IN_DOUBT = [CANCELING, '> cancel_payment unknown timeout', `${CANCELING} ${DOUBT}`, ...RELEASED];
const VOID_OVERTAKEN = [CANCELING, '> cancel_payment rejected payment_intent_unexpected_state', ...RELEASED];
const VOID_TOO_LATE = [CANCELING, '> cancel_payment rejected payment_intent_unexpected_state', ...REFUNDED];
const VOID_DELAYED = [CANCELING, `${CANCELING} ${AWAY}`, ...VOID];

// What several states lead to alike
const NOTHING: Row = {
  none: ['cancelled'],
};
const RESERVED: Row = {
  none: RELEASED,
  lost: RELEASE_IN_DOUBT,
  unreachable: [
    RELEASING,
    '> release_inventory not_sent not_connected',
    `${RELEASING} (StepFailed)`,
    '> release_inventory not_sent not_connected',
    '> release_inventory not_sent not_connected',
    '> release_inventory done',
    'cancelled',
  ],
};
const BEING_CREATED: Row = {
  none: [`${CREATING} ${DOUBT}`, '> create_payment done', ...VOID],
  lost: [`${CREATING} ${DOUBT}`, '> create_payment unknown timeout', '> create_payment done', ...VOID],
  moved: [`${CREATING} ${DOUBT}`, '> create_payment done', ...VOID_OVERTAKEN],
  unreachable: [
    `${CREATING} ${DOUBT}`,
    '> create_payment not_sent not_connected',
    '> create_payment not_sent not_connected',
    '> create_payment not_sent not_connected',
    '> create_payment done',
    ...VOID,
  ],
};
const OPEN: Row = {
  none: VOID,
  lost: VOID_IN_DOUBT,
  moved: VOID_OVERTAKEN,
  unreachable: VOID_DELAYED,
};
const APPROVABLE: Row = {
  none: VOID,
  lost: VOID_IN_DOUBT,
  moved: VOID_TOO_LATE,
  unreachable: VOID_DELAYED,
};
const TAKEN_IN_DOUBT: Row = {
  none: [`${CANCELING} ${DOUBT}`, ...REFUNDED],
  lost: [`${CANCELING} ${DOUBT}`, ...REFUND_IN_DOUBT],
  moved: [`${CANCELING} ${DOUBT}`, ...REFUND_REFUSED],
  unreachable: [`${CANCELING} ${DOUBT}`, ...REFUNDED],
};
const OPEN_IN_DOUBT: Row = {
  none: [`${CANCELING} ${DOUBT}`, ...VOIDED],
  lost: [`${CANCELING} ${DOUBT}`, '> cancel_payment unknown timeout', ...RELEASED],
  moved: [`${CANCELING} ${DOUBT}`, '> cancel_payment rejected payment_intent_unexpected_state', ...RELEASED],
  unreachable: [`${CANCELING} ${DOUBT}`, ...VOIDED],
};
const HELD_IN_DOUBT: Row = {
  none: [`${CANCELING} ${DOUBT}`, ...VOIDED],
  lost: [`${CANCELING} ${DOUBT}`, '> cancel_payment unknown timeout', ...RELEASED],
  moved: [`${CANCELING} ${DOUBT}`, '> cancel_payment rejected payment_intent_unexpected_state', ...REFUNDED],
  unreachable: [`${CANCELING} ${DOUBT}`, ...VOIDED],
};
const TAKEN: Row = {
  none: REFUNDED,
  lost: REFUND_IN_DOUBT,
  moved: REFUND_REFUSED,
  unreachable: REFUND_DELAYED,
};
const GIVEN_BACK: Row = {
  none: [REFUND_PENDING, ...RELEASED],
  lost: [REFUND_PENDING, ...RELEASE_IN_DOUBT],
  moved: [REFUND_PENDING, ...NOT_TAKEN_BACK],
  unreachable: [REFUND_PENDING, `${REFUND_PENDING} ${AWAY}`, ...RELEASED],
};

export const EXPECTED: Readonly<Record<StateName, Row>> = {
  'no payment yet': NOTHING,
  'stock reserved': RESERVED,
  'being created, made': BEING_CREATED,
  'being created, not made': BEING_CREATED,
  'being created, on its way': BEING_CREATED,
  created: OPEN,
  'awaiting the customer': APPROVABLE,
  declined: OPEN,
  'being confirmed, paid': TAKEN_IN_DOUBT,
  'being confirmed, not paid': OPEN_IN_DOUBT,
  'being confirmed, on its way': OPEN_IN_DOUBT,
  processing: {
    none: [PROCESSING, '~ the bank pays', ...REFUNDED],
    lost: [PROCESSING, '~ the bank pays', ...REFUND_IN_DOUBT],
    moved: [PROCESSING, '~ the bank pays', ...REFUND_REFUSED],
    unreachable: [PROCESSING, `${PROCESSING} ${AWAY}`, PROCESSING, '~ the bank pays', ...REFUNDED],
  },
  authorized: APPROVABLE,
  'being captured, taken': TAKEN_IN_DOUBT,
  'being captured, not taken': HELD_IN_DOUBT,
  'being captured, on its way': HELD_IN_DOUBT,
  captured: TAKEN,
  fulfilled: TAKEN,
  'partly refunded': TAKEN,
  'refund not sent': {
    none: [REFUNDING, '> create_refund pending', ...REFUNDED],
    lost: [REFUNDING, '> create_refund unknown timeout', `${REFUNDING} ${DOUBT}`, ...REFUNDED],
    moved: [
      REFUNDING,
      '> create_refund rejected amount_too_large',
      `${REFUNDING} (StepFailed)`,
      REFUND_PENDING,
      '~ refunds arrive',
      ...RELEASED,
    ],
    unreachable: [REFUNDING, `${REFUNDING} ${AWAY}`, REFUNDING, '> create_refund pending', ...REFUNDED],
  },
  'refund pending': TAKEN,
  'refund in doubt, made': {
    none: [`${REFUNDING} ${DOUBT}`, ...REFUNDED],
    lost: [`${REFUNDING} ${DOUBT}`, ...REFUND_IN_DOUBT],
    moved: [`${REFUNDING} ${DOUBT}`, ...REFUND_REFUSED],
    unreachable: [`${REFUNDING} ${DOUBT}`, ...REFUNDED],
  },
  'refund failed': {
    none: [REFUND_PENDING, '> create_refund pending', REFUND_FAILED, '~ refunds arrive'],
    lost: [
      REFUND_PENDING,
      '> create_refund unknown timeout',
      `${REFUND_PENDING} ${DOUBT}`,
      REFUND_FAILED,
      '~ refunds arrive',
    ],
    moved: REFUND_REFUSED,
    unreachable: [
      REFUND_PENDING,
      `${REFUND_PENDING} ${AWAY}`,
      REFUND_PENDING,
      '> create_refund pending',
      REFUND_FAILED,
      '~ refunds arrive',
    ],
  },
  'all refunded elsewhere': GIVEN_BACK,
  'canceled elsewhere': {
    none: [CANCELING, ...RELEASED],
    lost: [CANCELING, ...RELEASE_IN_DOUBT],
    unreachable: [CANCELING, `${CANCELING} ${AWAY}`, ...RELEASED],
  },
  lapsed: {
    none: RELEASED,
    lost: RELEASE_IN_DOUBT,
    unreachable: [RELEASING, `${RELEASING} ${AWAY}`, ...RELEASED],
  },
  disputed: {
    none: [REFUND_PENDING, DISPUTED, '~ the dispute is won', ...REFUNDED],
    lost: [REFUND_PENDING, DISPUTED, '~ the dispute is won', ...REFUND_IN_DOUBT],
    moved: [REFUND_PENDING, DISPUTED, '~ the dispute is won', ...REFUND_REFUSED],
    unreachable: [REFUND_PENDING, `${REFUND_PENDING} ${AWAY}`, DISPUTED, '~ the dispute is won', ...REFUNDED],
  },
  'dispute lost': GIVEN_BACK,
  'goods gone': {
    none: [REFUND_PENDING, '> create_refund pending', '~ refunds arrive', ...NOT_TAKEN_BACK],
    lost: [
      REFUND_PENDING,
      '> create_refund unknown timeout',
      `${REFUND_PENDING} ${DOUBT}`,
      REFUND_PENDING,
      '~ refunds arrive',
      ...NOT_TAKEN_BACK,
    ],
    moved: [
      REFUND_PENDING,
      '> create_refund rejected amount_too_large',
      `${REFUND_PENDING} (StepFailed)`,
      REFUND_PENDING,
      '~ refunds arrive',
      ...NOT_TAKEN_BACK,
    ],
    unreachable: [
      REFUND_PENDING,
      `${REFUND_PENDING} ${AWAY}`,
      REFUND_PENDING,
      '> create_refund pending',
      '~ refunds arrive',
      ...NOT_TAKEN_BACK,
    ],
  },
  'out of stock': RESERVED,
  'out of stock, rejected': NOTHING,
  'unpaid, rejected': {
    none: ['cancelled'],
    unreachable: ['cancelled'],
  },
  paused: {
    none: [`${CANCELING} (Paused)`, '~ resumed', ...VOID],
    lost: [`${CANCELING} (Paused)`, '~ resumed', ...VOID_IN_DOUBT],
    moved: [`${CANCELING} (Paused)`, '~ resumed', ...VOID_TOO_LATE],
    unreachable: [
      `${CANCELING} (Paused)`,
      `${CANCELING} ${AWAY}`,
      `${CANCELING} (Paused)`,
      '~ resumed',
      ...VOID,
    ],
  },
  'budget exhausted': {
    none: [CANCELING, ...VOIDED],
    lost: [CANCELING, '> cancel_payment unknown timeout', `${CANCELING} ${DOUBT}`, ...RELEASED],
    moved: [CANCELING, '> cancel_payment rejected payment_intent_unexpected_state', ...RELEASED],
    unreachable: [CANCELING, `${CANCELING} ${AWAY}`, ...VOID],
  },
};
