/** What a command is, and what its rules are made of. Pure. */
import { z } from 'zod';
import { STEPS } from './attempt.js';
import type { Asking as ChangeAsking } from './change.js';
import { ASSERTIONS, decisionsOf, VERDICTS, type Decided, type Decisions } from './decisions.js';
import { nextStep } from './next-step.js';
import { ALL_SEEN, type Seen } from './observation.js';
import type { Journaled, Operation, Wish } from './operation.js';
import { PaymentSpec, printable } from './spec.js';
import type { Decision } from './step.js';

export const COMMAND_NAMES = [
  'check_provider',
  'retry',
  'retry_refund',
  'reauthorize',
  'adopt_payment',
  'record_outcome',
  'release_finalizer',
  'pause',
  'resume',
  'give_up',
] as const;
export type CommandName = (typeof COMMAND_NAMES)[number];

/** What others will read later, to understand and to go on. */
const Words = printable(2_000);
const PaymentMethod = PaymentSpec.shape.payment_method.unwrap().unwrap();
const Reference = PaymentSpec.shape.reference.unwrap().unwrap();

/** The closed set: there is no "edit state" and no "new key". Parameters of each. */
export const PARAMETERS = {
  check_provider: z.strictObject({}),
  retry: z.strictObject({}),
  // Also of a cancellation's own refund, so not only ids that callers may give.
  retry_refund: z.strictObject({ refund_id: printable(64) }),
  reauthorize: z.strictObject({ payment_method: PaymentMethod }),
  adopt_payment: z.strictObject({ reference: Reference }),
  record_outcome: z.strictObject({ step: z.enum(STEPS), outcome: z.enum(ASSERTIONS), evidence: Words }),
  release_finalizer: z.strictObject({ name: z.enum(['payment', 'inventory']), left_behind: Words }),
  pause: z.strictObject({}),
  resume: z.strictObject({}),
  give_up: z.strictObject({
    verdict: z.enum(VERDICTS).exclude(['baseline']).default('known_deviation'),
  }),
} as const satisfies Record<CommandName, z.ZodType>;

export type Command = {
  readonly [Name in CommandName]: {
    readonly command: Name;
    readonly parameters: Readonly<z.infer<(typeof PARAMETERS)[Name]>>;
  };
}[CommandName];

/** Who asks and why, when, under which numbers, and which sides could be read just now. */
export interface Asking extends ChangeAsking {
  readonly reason: string;
  readonly seen: Seen;
}

export type Why = string | null;

export interface Rule<C extends Command> {
  /** Needs the scope of a lead: it replaces what the machine insists on by a person's word. */
  readonly lead: boolean;
  /** For which orders it needs that scope where `lead` is false. */
  readonly leadFor?: (operation: Operation) => boolean;
  /** Why it makes no sense now, whatever its parameters. */
  readonly whyNot: (operation: Operation, asking: Asking) => Why;
  /** Called when it makes sense; `{why}` refuses these parameters. */
  readonly carryOut: (before: Journaled, parameters: C['parameters'], asking: Asking) => Made | Refusal;
}
export interface Made {
  readonly wish: Wish;
  readonly effects: readonly string[];
  readonly another_payment?: true;
}
export interface Refusal {
  readonly why: string;
}

export const decided = ({ by, now, reason }: Asking): Decided => ({ by, reason, at: now.toISOString() });

export const withDecisions = (wish: Wish, patch: Partial<Decisions>): Wish => ({
  ...wish,
  decisions: { ...decisionsOf(wish), ...patch },
});
export const withFreshBudget = (wish: Wish): Wish =>
  withDecisions(wish, { retries: decisionsOf(wish).retries + 1 });
export const withWish = (operation: Operation, wish: Wish): Operation => ({ ...operation, wish });

export const decide = (operation: Operation, { now, policy }: Asking, seen: Seen = ALL_SEEN): Decision =>
  nextStep(operation, seen, now, policy);

/** Nothing is left to do. What is recorded is not said as if it had just been read. */
export const whyAgreed = ({ seen }: Asking, why: string): string =>
  seen.payment && seen.inventory
    ? why
    : 'All was as wanted when it was last seen; now not all of it can be read.';

/** Another payment, or another refund, is decided on only by a reading of the one that was. */
export const unread = ({ seen }: Asking): Why =>
  seen.payment ? null : 'The payment of the order cannot be read now, so that it is not known how it stands.';

export function stopped({ wish }: Operation): Why {
  if (decisionsOf(wish).given_up !== null) return 'It was given up; resume it first.';
  return wish.paused === null ? null : 'It is paused; resume it first.';
}
