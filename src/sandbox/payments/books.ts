/** The books of the payments server: all records in memory, the hooks that tell of changes, basic look-ups. */
import { type Settings } from '../settings.js';
import { Shelf } from '../shelf.js';
import { type World } from '../world.js';
import { TEST_METHODS } from './methods.js';
import {
  type Cause,
  type Charge,
  type Dispute,
  type EffectCounts,
  type Intent,
  type IntentStatus,
  type Owner,
  type PaymentMethod,
  type Refund,
} from './model.js';

export type Change =
  | { type: string; object: 'payment_intent'; record: Intent }
  | { type: string; object: 'charge'; record: Charge }
  | { type: string; object: 'refund'; record: Refund }
  | { type: string; object: 'dispute'; record: Dispute };

export class Books {
  readonly intents = new Shelf<Intent>();
  readonly charges = new Shelf<Charge>();
  readonly refunds = new Shelf<Refund>();
  readonly disputes = new Shelf<Dispute>();
  readonly methods = new Shelf<PaymentMethod>();
  /** Intents by metadata.operation_id, kept up to date by `index`. */
  readonly byOperation = new Map<string, Set<Intent>>();
  /** Second at which each held authorization lapses, and the nearest of them (or one earlier). */
  readonly deadlines = new Map<Intent, number>();
  nextDeadline = Number.POSITIVE_INFINITY;
  /** Grows with each change; a call that left it alone had no effect. */
  version = 0;
  /** Told of each change with the record as it is at that moment. */
  onChange: (change: Change, cause: Cause) => void = () => undefined;

  constructor(
    readonly world: World,
    readonly settings: Settings,
  ) {}

  announce(cause: Cause, ...changes: Change[]): void {
    this.version += 1;
    for (const change of changes) this.onChange(change, cause);
  }

  moveTo(intent: Intent, status: IntentStatus): void {
    intent.status = status;
    intent.statusLog.push({ at: this.world.now(), status });
    if (status !== 'requires_capture') this.deadlines.delete(intent);
    if (status !== 'requires_action') intent.nextAction = null;
  }

  /** Files the intent under the operation that its metadata names, and only there. */
  index(intent: Intent, before: string | undefined): void {
    const now = intent.metadata['operation_id'];
    if (before !== undefined && before !== now) this.byOperation.get(before)?.delete(intent);
    if (now === undefined) return;
    const filed = this.byOperation.get(now);
    if (filed) filed.add(intent);
    else this.byOperation.set(now, new Set([intent]));
  }

  holdUntil(intent: Intent, deadline: number): void {
    this.deadlines.set(intent, deadline);
    this.nextDeadline = Math.min(this.nextDeadline, deadline);
  }

  /** A test method's name makes a fresh payment method; an id finds the one made before. */
  paymentMethod(owner: Owner, nameOrId: string): PaymentMethod | null {
    const known = this.methods.get(nameOrId);
    if (known) return sameOwner(known.owner, owner) ? known : null;
    const method = TEST_METHODS.get(nameOrId);
    if (!method) return null;
    const made: PaymentMethod = {
      id: this.world.id('pm_1'),
      owner,
      created: this.world.seconds(),
      method,
    };
    this.methods.put(made);
    return made;
  }

  clear(): void {
    for (const shelf of [this.intents, this.charges, this.refunds, this.disputes, this.methods])
      shelf.clear();
    this.byOperation.clear();
    this.deadlines.clear();
    this.nextDeadline = Number.POSITIVE_INFINITY;
    this.version += 1;
  }
}

export function sameOwner(a: Owner, b: Owner): boolean {
  return a.account === b.account && a.livemode === b.livemode;
}

export function latestCharge(intent: Intent): Charge | null {
  return intent.charges.at(-1) ?? null;
}

export function noEffects(): EffectCounts {
  return { confirms: 0, captures: 0, refunds: 0, voids: 0 };
}

/** Refunds that took, or may still take, money back: all but failed and canceled ones. */
export function committedRefunds(charge: Charge): number {
  return charge.refunds
    .filter((refund) => refund.status !== 'failed' && refund.status !== 'canceled')
    .reduce((sum, refund) => sum + refund.amount, 0);
}
