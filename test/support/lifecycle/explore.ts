/**
 * Every way an order can go, as far as it matters to a reader: from each kind of start, everything that can happen next is
 * played over the modelled world, one step a pass, until nothing new is reached. What docs/lifecycle.md draws is what the
 * functions of the core did here.
 */
import type { Finalizer, Phase } from '../../../src/operation/operation.js';
import { nextStep } from '../../../src/operation/next-step.js';
import { ALL_SEEN } from '../../../src/operation/observation.js';
import type { Reason } from '../../../src/operation/reason.js';
import { askFor, begin, doOutside, HOUR, type Ask, type Outside, type Start } from '../modelled-history.js';
import { GOOD_CHANCE, type Chance, type ModelledLoop } from '../modelled-loop.js';

/** Who moves it: this service by itself, callers, the customer or the bank, others at the provider, time, trouble. */
export type Mover = 'service' | 'caller' | 'customer' | 'others' | 'time' | 'trouble';
export interface Cause {
  readonly mover: Mover;
  readonly label: string;
}
export interface Transition {
  readonly from: Phase;
  readonly to: Phase;
  readonly cause: Cause;
}
/** What was seen while the record was in one phase. */
export interface Stay {
  readonly conditions: ReadonlySet<Reason>;
  readonly attention: ReadonlySet<Reason>;
  readonly steps: ReadonlySet<string>;
}
export interface Lifecycle {
  readonly transitions: readonly Transition[];
  readonly stays: ReadonlyMap<Phase, Stay>;
  /** Reasons of finalizers by their name. */
  readonly finalizers: ReadonlyMap<Finalizer['name'], ReadonlySet<Reason>>;
  /** How many different situations were reached. */
  readonly situations: number;
}

/** Troubles and strangers come in no order, so a few of them in one history show what each leads to. */
const SURPRISES = 3;

interface Happening extends Cause {
  /** Returns false where it cannot happen. */
  readonly happens: (loop: ModelledLoop) => boolean;
  readonly chance?: Chance;
  /** Surprises that may have come before it; where more of them tell nothing new, leaving them out saves half the time. */
  readonly after?: number;
}

const asked = (label: string, ask: Ask): Happening => ({
  mover: 'caller',
  label,
  happens: (loop) => {
    const before = loop.record.resource_version;
    askFor(loop, ask);
    return loop.record.resource_version !== before;
  },
});
const outside = (mover: Mover, label: string, doing: Outside, after = SURPRISES - 1): Happening => ({
  mover,
  label,
  after,
  happens: (loop) => {
    const shown = (): string =>
      JSON.stringify([loop.world.payments, loop.world.available, loop.world.shipped, loop.world.stock]);
    const before = shown();
    doOutside(loop.world, doing);
    return shown() !== before;
  },
});
const missing = (loop: ModelledLoop): string | null => {
  const next = nextStep(loop.record, ALL_SEEN, new Date(loop.world.now), loop.policy);
  return next.kind === 'step' ? next.step.name : null;
};

const READING = 'a reading';
const JUST_READ: Happening = { mover: 'service', label: READING, happens: () => true };
const NONE: ReadonlySet<string> = new Set();

const HAPPENINGS: readonly Happening[] = [
  JUST_READ,
  ...(['lost_after', 'lost_before'] as const).map((fault): Happening => ({
    mover: 'trouble',
    label: 'an answer is lost',
    chance: { ...GOOD_CHANCE, fault },
    happens: (loop) => missing(loop) !== null,
  })),
  ...(['not_sent', 'throttled', 'refused_key'] as const).map((fault): Happening => ({
    mover: 'trouble',
    label: 'a call is turned away',
    chance: { ...GOOD_CHANCE, fault },
    happens: (loop) => missing(loop) !== null,
  })),
  {
    mover: 'trouble',
    label: 'the warehouse cannot be read',
    chance: { ...GOOD_CHANCE, reads: 'no_stock' },
    happens: (loop) => loop.record.facts.inventory.requested,
  },
  {
    mover: 'trouble',
    label: 'the provider cannot be read',
    chance: { ...GOOD_CHANCE, reads: 'no_payment' },
    happens: (loop) => loop.record.provider_reference !== null,
  },
  asked('cancel', { kind: 'cancel' }),
  asked('capture', { kind: 'capture', amount: undefined }),
  asked('try again', { kind: 'try_again', method: 'pm_pays' }),
  asked('refund', { kind: 'refund', id: 'r1', amount: 30 }),
  asked('pause', { kind: 'pause' }),
  asked('resume', { kind: 'resume' }),
  asked('fulfil', { kind: 'fulfil' }),
  asked('other amount', { kind: 'amount', value: 120 }),
  outside('customer', 'the customer or the bank pays', { kind: 'approve' }),
  outside('customer', 'the customer fails or the bank declines', { kind: 'refuse' }),
  outside('customer', 'refunds arrive', { kind: 'refunds_succeed' }),
  outside('others', 'the authorization lapses', { kind: 'lapse' }),
  outside('others', 'canceled at the provider', { kind: 'cancel' }),
  outside('others', 'captured at the provider', { kind: 'capture', amount: 50 }),
  outside('others', 'refunded at the provider', { kind: 'refund', amount: 100 }),
  outside('others', 'a refund of ours is made again', { kind: 'refund_again' }),
  outside('others', 'a refund fails', { kind: 'refund_fails' }),
  outside('others', 'a dispute is opened', { kind: 'dispute', amount: 100 }),
  outside('others', 'a dispute is lost', { kind: 'lose' }),
  outside('others', 'the bank inquires', { kind: 'inquire', amount: 100 }, 0),
  outside('others', 'a dispute is won', { kind: 'win' }, 1),
  outside('others', 'a dispute is won, and refunds stay barred', { kind: 'win_barred' }, 1),
  outside('others', 'paid although canceled', { kind: 'pay_late' }, 1),
  outside('others', 'the warehouse gives the stock away', { kind: 'lose_stock' }, 0),
  outside('others', 'the goods leave', { kind: 'ship' }),
  {
    mover: 'time',
    label: 'the payment deadline passes',
    happens: (loop) => {
      const { deadline_at } = loop.record.status;
      if (deadline_at === null || Date.parse(deadline_at) > loop.world.now + 25 * HOUR) return false;
      loop.world.pass(25 * HOUR);
      return true;
    },
  },
];

const usual: Start = {
  desired: 'fulfilled',
  capture: 'automatic',
  method: 'pm_pays',
  lines: 2,
  adopts: null,
};
const STARTS: readonly Start[] = [
  usual,
  { ...usual, capture: 'manual' },
  { ...usual, desired: 'authorized' },
  { ...usual, method: 'pm_declines' },
  { ...usual, method: 'pm_asks', capture: 'manual' },
  { ...usual, method: 'pm_slow' },
  { ...usual, lines: 11 },
  { ...usual, adopts: 'created' },
  { ...usual, adopts: 'captured', lines: 0 },
];

/** Beyond this many happenings nothing new is told of phases; the test says when that is no longer so. */
export const DEPTH = 9;
class Findings {
  readonly transitions = new Map<string, Transition>();
  readonly stays = new Map<Phase, { conditions: Set<Reason>; attention: Set<Reason>; steps: Set<string> }>();
  readonly finalizers = new Map<Finalizer['name'], Set<Reason>>();

  stay({ record: { status } }: ModelledLoop, step: string | null): void {
    const stay = this.stays.get(status.phase) ?? {
      conditions: new Set(),
      attention: new Set(),
      steps: new Set(),
    };
    this.stays.set(status.phase, stay);
    stay.conditions.add(status.condition);
    for (const { type, reason } of status.conditions) {
      if (type !== 'Synced' && type !== 'Ready') stay.conditions.add(reason);
    }
    if (status.attention !== null) stay.attention.add(status.attention.reason);
    if (step !== null) stay.steps.add(step);
    for (const { name, reason } of status.finalizers) {
      this.finalizers.set(name, (this.finalizers.get(name) ?? new Set()).add(reason));
    }
  }

  /** `known`: moves that a reading alone would have made just as well, whatever happened beside it. */
  move(from: Phase, to: Phase, cause: Cause, known: ReadonlySet<string>): void {
    if (from !== to && (cause.label === READING || cause.mover === 'service' || !known.has(`${from} ${to}`)))
      this.transitions.set(`${from} ${to} ${cause.label}`, { from, to, cause });
  }
}

/**
 * One pass, told moment by moment: what the record says after each write, and which answer made it say so. Returns what
 * the reading alone moved.
 */
function goOn(
  loop: ModelledLoop,
  happening: Happening,
  found: Findings,
  known: ReadonlySet<string>,
): Set<string> {
  const worker = 0;
  const byReading = new Set<string>();
  let cause: Cause = happening;
  loop.claim(worker);
  while (loop.works(worker)) {
    const before = loop.record;
    const open = loop.attempts.at(-1);
    loop.moment(worker, happening.chance ?? GOOD_CHANCE);
    const answered = loop.attempts.find(({ attempt_id }) => attempt_id === open?.attempt_id);
    if (open?.completed_at === null && answered?.completed_at !== null && answered !== undefined) {
      const { step, outcome } = answered;
      const mover = outcome === 'unknown' || outcome === 'not_sent' ? 'trouble' : 'service';
      cause = { mover, label: `${step} ${outcome ?? ''}` };
    }
    const { phase } = loop.record.status;
    if (cause === happening) byReading.add(`${before.status.phase} ${phase}`);
    found.move(before.status.phase, phase, cause, known);
    found.stay(loop, loop.record.task);
  }
  return byReading;
}

/** What makes two moments the same for what can follow and for what is shown. */
function situation({ record, world, attempts }: ModelledLoop, start: Start): string {
  const { status, facts, wish } = record;
  const { phase, condition, attention } = status;
  const last = attempts.at(-1);
  return JSON.stringify([
    [start.capture, start.desired, start.method, start.lines, start.adopts],
    [phase, condition, attention?.reason, record.task, facts.unresolved?.step],
    [facts.payment.state, facts.payment.disputed, facts.inventory.state, facts.inventory.requested],
    facts.refunds.map(({ state, source }) => [state, source]),
    [facts.failure?.step, facts.failure?.class, facts.budget.rejections],
    world.payments.map(({ state, captured, disputes, refunds }) => [
      state,
      captured,
      disputes.map((dispute) => [dispute.state, dispute.bars]),
      refunds.map((refund) => refund.state),
    ]),
    [world.stock.state, world.shipped],
    [wish.cancellation !== null, wish.paused !== null, wish.spec.refunds.length, wish.confirmation],
    [wish.spec.desired, wish.spec.amount.value, wish.spec.payment.capture_amount],
    last?.outcome === 'unknown' && last.resolution === null,
  ]);
}

export function explore(depth: number = DEPTH): Lifecycle {
  const found = new Findings();
  const seen = new Set<string>();
  let edge = STARTS.map((start) => ({ start, loop: begin(start, 1), surprises: 0 }));
  for (const { loop } of edge) found.stay(loop, null);
  for (let far = 0; far < depth && edge.length > 0; far += 1) {
    const next: typeof edge = [];
    for (const { start, loop: before, surprises } of edge) {
      const byItself = goOn(before.copy(), JUST_READ, found, NONE);
      for (const happening of HAPPENINGS) {
        const surprise = happening !== JUST_READ;
        if (surprise && surprises > (happening.after ?? SURPRISES - 1)) continue;
        const loop = before.copy();
        const { phase } = loop.record.status;
        if (!happening.happens(loop)) continue;
        found.move(phase, loop.record.status.phase, happening, NONE);
        found.stay(loop, null);
        // What a caller asks for shows at once; what follows is the pass.
        goOn(loop, happening.mover === 'caller' ? JUST_READ : happening, found, byItself);
        const key = situation(loop, start);
        if (seen.has(key)) continue;
        seen.add(key);
        next.push({ start, loop, surprises: surprises + (surprise ? 1 : 0) });
      }
    }
    edge = next;
  }
  return {
    transitions: [...found.transitions.values()],
    stays: found.stays,
    finalizers: found.finalizers,
    situations: seen.size,
  };
}
