/** What a person can do about a finding, when it is possible, and what they are told before. Pure and total. */
import { openAttempts, type Attempt } from '../operation/attempt.js';
import { triedOf, type Bound, type CommandOutcome, type Tried } from '../operation/evidence.js';
import { formatMoney } from '../operation/money.js';
import type { PaymentReading, Reading } from '../operation/observation.js';
import { withoutPerson } from '../operation/personal-data.js';
import type { Pause } from '../operation/operation.js';
import { recordedEvidence } from './compare.js';
import {
  factsOf,
  FINDING_KINDS,
  type Draft,
  type Finding,
  type FindingCommand,
  type FindingState,
  type RecordedSide,
} from './finding.js';
import { giveBackOf, type GiveBack } from './give-back.js';
import { isClosed, whoseItMayBe } from './sides.js';

/** One look at one finding: as it is stored, and its payment as it was just read. */
export interface FindingLook {
  readonly finding: Finding;
  /** With its refunds. */
  readonly reading: Reading<PaymentReading>;
  /** What the reading makes of this finding; null: its reason is gone, or the payment could not be read. */
  readonly draft: Draft | null;
  readonly records: readonly RecordedSide[];
  /** What was sent because of this finding, oldest first. */
  readonly attempts: readonly Attempt[];
  /** A refund of this payment was decided, and has not ended. */
  readonly at_work: boolean;
  readonly account_paused: Pause | null;
  /** RFC 3339. */
  readonly at: string;
}

/** What the command would do, in words; or why it makes no sense now. */
export type Possible =
  | {
      readonly kind: 'possible';
      readonly effects: readonly string[];
      /** For refund_stray only. */
      readonly gives_back: GiveBack | null;
    }
  | { readonly kind: 'refused'; readonly why: string };

const possible = (effects: readonly string[], gives_back: GiveBack | null = null): Possible => ({
  kind: 'possible',
  effects,
  gives_back,
});
const refused = (why: string): Possible => ({ kind: 'refused', why });

/** adopt_payment is the operation's own command: what is said here are only the bars that the finding knows of. */
const RULES: { readonly [Name in FindingCommand]: (look: FindingLook) => Possible } = {
  check_provider: ({ finding }) =>
    possible([
      `The payment ${finding.provider_reference} is read once more; nothing is sent. The finding is resolved when its reason is gone.`,
    ]),
  dismiss: (look) => {
    const why = settledOf(look) ?? atWork(look) ?? unseen(look);
    if (why !== null) return refused(why);
    if (look.finding.state === 'dismissed') return refused('It is dismissed already.');
    return possible([
      `It leaves the list of open findings on your word; no money moves, and ${left(look)} stays where it is.`,
      'It is opened again by itself when an amount or a state changes on either side.',
    ]);
  },
  refund_stray: (look) => {
    const why = settledOf(look) ?? atWork(look) ?? unread(look);
    if (why !== null) return refused(why);
    const payment = presentIn(look);
    if (payment === null) return refused('The provider does not know this payment.');
    const whose = whoseItMayBe(payment, look.records, look.finding.account);
    if (whose !== null) return refused(whose);
    const gives = giveBackOf(payment);
    return 'why' in gives ? refused(gives.why) : possible(effectsOf(gives, look), gives);
  },
  adopt_payment: (look) => {
    const why = settledOf(look) ?? atWork(look) ?? unread(look) ?? withoutOrder(look);
    return why === null ? possible([]) : refused(why);
  },
};

export const possibleNow = (command: FindingCommand, look: FindingLook): Possible => RULES[command](look);

const settledOf = ({ finding, draft, reading }: FindingLook): string | null =>
  finding.state === 'resolved' || (reading.kind === 'present' && draft === null)
    ? 'The reason of this finding is gone; nothing is left to decide.'
    : null;

const atWork = ({ at_work }: FindingLook): string | null =>
  at_work ? 'A person decided to give this payment back, and that has not ended yet.' : null;

const unread = ({ reading }: FindingLook): string | null =>
  reading.kind === 'unknown' ? `The payment cannot be read now: ${reading.failure.message}` : null;

/** That a payment is missing is what one of the kinds says; of all others it shows nothing to decide on. */
const unseen = (look: FindingLook): string | null =>
  look.reading.kind === 'absent' && look.finding.kind !== 'payment_missing'
    ? 'The provider does not know this payment; what that means is not known.'
    : unread(look);

function withoutOrder({ finding, records }: FindingLook): string | null {
  if (finding.kind !== 'orphan_payment' && finding.kind !== 'second_payment')
    return 'The payment is that of an operation already, or holds no money.';
  const { operation_id } = finding;
  if (operation_id === null)
    return 'The payment names no operation. The operation that it is for can adopt it.';
  const named = records.find(({ operation }) => operation.operation_id === operation_id);
  if (named === undefined) return `There is no operation "${operation_id}" that could adopt it.`;
  return named.operation.account === finding.account
    ? null
    : `The operation "${operation_id}" belongs to the account "${named.operation.account}".`;
}

const presentIn = ({ reading }: FindingLook): PaymentReading | null =>
  reading.kind === 'present' ? reading.value : null;

const left = ({ finding }: FindingLook): string => formatMoney(finding.amount, finding.currency);

function effectsOf({ step, amount, currency }: GiveBack, look: FindingLook): string[] {
  const { finding, records, account_paused } = look;
  const money = formatMoney(amount, currency);
  const reference = finding.provider_reference;
  const named = records.find(({ operation }) => operation.operation_id === finding.operation_id);
  return [
    step === 'create_refund'
      ? `${money}, all that ${reference} still holds, go back to whoever paid, by one refund.`
      : `The authorization of ${money} on ${reference} is voided; nothing is taken.`,
    ...(named === undefined
      ? []
      : [
          `The operation "${named.operation.operation_id}" (${named.operation.status.phase}) and its own payment are not touched.`,
        ]),
    'It is read once more before it is sent, sent under one key, and read afterwards; when it is not as shown here, nothing is sent.',
    ...(step === 'create_refund'
      ? ['The money-out brake does not hold it back, since a person decided; it takes its room in the hour.']
      : []),
    ...(account_paused === null
      ? []
      : [`All writes of the account are stopped by ${account_paused.by}: it waits until they are resumed.`]),
  ];
}

/** What a person is shown before they decide; JSON. */
export interface FindingEvidence {
  readonly observed: { readonly at: string; readonly payment: Reading<object> };
  readonly finding: {
    readonly kind: string;
    readonly meaning: string;
    readonly state: FindingState;
    readonly amount: number;
    readonly currency: string;
    readonly message: string;
  };
  /** The operations that could have to do with it, as they are recorded. */
  readonly recorded: readonly object[];
  readonly attempts: readonly Tried[];
}

export const evidenceOf = (look: FindingLook): FindingEvidence => ({
  observed: { at: look.at, payment: shown(look.reading) },
  finding: {
    kind: look.finding.kind,
    meaning: FINDING_KINDS[look.finding.kind],
    state: look.finding.state,
    amount: look.finding.amount,
    currency: look.finding.currency,
    message: look.draft?.message ?? look.finding.message,
  },
  recorded: look.records.map(({ operation }) => recordedEvidence(operation)),
  attempts: look.attempts.map(triedOf),
});

const shown = (reading: Reading<PaymentReading>): Reading<object> =>
  reading.kind === 'present' ? { kind: 'present', value: withoutPerson(reading.value) } : reading;

const byId = (a: RecordedSide, b: RecordedSide): number =>
  a.operation.operation_id < b.operation.operation_id ? -1 : 1;

/** All that a decision may rest on, flat, so that each difference has a name. */
export function boundOf(look: FindingLook): Bound {
  const { finding, draft, records, reading } = look;
  const payment = presentIn(look);
  return {
    'finding.state': finding.state,
    'finding.facts': draft === null ? null : factsOf(draft),
    'payment.read': reading.kind,
    'payment.state': payment?.state ?? null,
    'payment.provider_status': payment?.provider_status ?? null,
    'payment.amount': payment?.amount ?? null,
    'payment.currency': payment?.currency ?? null,
    'payment.authorized': payment?.authorized ?? null,
    'payment.captured': payment?.captured ?? null,
    'payment.lost': payment?.lost ?? null,
    'payment.disputed': payment?.disputed ?? null,
    refunds: (payment?.refunds ?? []).map(({ reference, amount, state }) => ({ reference, amount, state })),
    operations: [...records].sort(byId).map(({ operation }) => ({
      operation_id: operation.operation_id,
      provider_reference: operation.provider_reference,
      adopts: operation.wish.spec.payment.reference,
      closed: isClosed(operation),
    })),
    at_work: look.at_work,
    in_doubt: openAttempts(look.attempts).map(({ effect_key }) => effect_key),
  };
}

/** What a dismissal rests on. A payment that is missing has no look of its own: what was recorded of it then counts. */
export const dismissedOn = ({ finding, draft }: FindingLook): Record<string, unknown> =>
  factsOf(draft ?? finding);

/** What was observed after a command was carried out. */
export interface FindingOutcome {
  readonly summary: string;
  readonly finding_state: FindingState;
  /** As it was read then; null: it was not. */
  readonly payment: Readonly<Record<string, unknown>> | null;
  /** What was sent for it. */
  readonly attempts: readonly Tried[];
  readonly observed_at: string;
  /** Of the operation that adopts the payment. */
  readonly operation: CommandOutcome | null;
}
