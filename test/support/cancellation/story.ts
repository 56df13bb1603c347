/** What happens from an accepted cancellation to its end, as a reader of the record and of its journal would tell it. */
import { nextStep } from '../../../src/operation/next-step.js';
import { ALL_SEEN } from '../../../src/operation/observation.js';
import { askFor, doOutside } from '../modelled-history.js';
import { isUndecided } from '../modelled-world.js';
import { GOOD_CHANCE, type Chance, type ModelledLoop } from '../modelled-loop.js';

/**
 * What becomes of the first effect after the cancellation. `moved`: somebody is faster between the reading and the effect.
 * `unreachable`: for three passes the provider neither answers a reading nor takes a call.
 */
export const FAULTS = ['none', 'lost', 'moved', 'unreachable'] as const;
export type CancelFault = (typeof FAULTS)[number];

/** Who is faster than the effect that is about to be sent, or false where nobody can be. */
function somebodyIsFaster({ world, record }: ModelledLoop): boolean {
  const payment = world.payments.at(-1);
  const before = JSON.stringify(world.payments);
  if (record.task === 'cancel_payment') {
    if (payment?.state === 'authorized') doOutside(world, { kind: 'capture', amount: 100 });
    else if (payment?.state === 'awaiting_customer') doOutside(world, { kind: 'approve' });
    else doOutside(world, { kind: 'cancel' });
  }
  if (record.task === 'create_refund') doOutside(world, { kind: 'refund', amount: 100 });
  if (record.task === 'release_inventory') doOutside(world, { kind: 'ship' });
  if (world.shipped && record.task === 'release_inventory') return true;
  return before !== JSON.stringify(world.payments);
}

/** What the record says: finalizers with their reasons, or the end; and the person, where one is needed. */
function told({ record: { status } }: ModelledLoop): string {
  const open = status.finalizers.map(({ name, reason }) => `${name} ${reason}`).join(', ');
  if (status.phase !== 'cancelling') return status.phase;
  if (status.attention !== null) return `${open} (person: ${status.attention.reason})`;
  const explained = status.finalizers.some(({ reason }) => reason === status.condition);
  return explained ? open : `${open} (${status.condition})`;
}

export interface Story {
  /** Finalizers and effects in their order, without repetitions. */
  readonly told: readonly string[];
  /** Moments at which goods were free while money could come or was kept. */
  readonly wrong: readonly string[];
  /** False where nothing could be done to the first effect. */
  readonly applied: boolean;
}

export function cancelIn(loop: ModelledLoop, fault: CancelFault): Story {
  const lines: string[] = [];
  const wrong: string[] = [];
  let last = '';
  const tell = (line: string): void => {
    if (line !== last) lines.push(line);
    last = line;
  };
  let pending = fault !== 'none';
  let unreachable = fault === 'unreachable' ? 3 : 0;
  const stockBefore = loop.world.stock.state;

  const pass = (): void => {
    const worker = 0;
    loop.claim(worker);
    const away = unreachable > 0;
    if (away) unreachable -= 1;
    while (loop.works(worker)) {
      const sending = loop.attempts.at(-1)?.completed_at === null && loop.record.task !== null;
      const lost = sending && pending && fault === 'lost';
      if (sending && pending && fault === 'moved' && somebodyIsFaster(loop)) pending = false;
      if (lost) pending = false;
      const chance: Chance = {
        ...GOOD_CHANCE,
        fault: away ? 'not_sent' : lost ? 'lost_after' : 'none',
        reads: away ? 'no_payment' : 'both',
      };
      const open = loop.attempts.filter(({ completed_at }) => completed_at === null);
      loop.moment(worker, chance);
      for (const { attempt_id } of open) {
        const answered = loop.attempts.find((one) => one.attempt_id === attempt_id);
        if (answered?.outcome == null) continue;
        const why = answered.failure === null ? '' : ` ${answered.failure.code}`;
        lines.push(`> ${answered.step} ${answered.outcome}${why}`);
      }
      if (away && loop.record.facts.failure !== null) pending = false;
      tell(told(loop));
      const { world, record } = loop;
      if (stockBefore !== 'released' && world.stock.state === 'released' && world.alive().length > 0)
        wrong.push(`released while money could arrive (${record.status.condition})`);
      if (record.wish.cancellation === null) wrong.push('the cancellation is lost');
    }
  };
  const quiet = (): void => {
    for (let passes = 0, still = 0; passes < 60 && still < 2; passes += 1) {
      const before = JSON.stringify([loop.record.status, loop.attempts.length]);
      const wasAway = unreachable > 0;
      pass();
      const same = before === JSON.stringify([loop.record.status, loop.attempts.length]);
      still = same && unreachable === 0 && !wasAway ? still + 1 : 0;
      if (loop.look_in_ms === null) return;
      loop.world.pass(Math.max(loop.look_in_ms, 60_000));
    }
  };

  askFor(loop, { kind: 'cancel' });
  tell(told(loop));
  quiet();
  for (const { name, happens } of OTHERS) {
    if (!happens(loop)) continue;
    lines.push(`~ ${name}`);
    quiet();
  }
  return {
    told: lines,
    wrong: [...wrong, ...loop.world.violations, ...loop.violations],
    applied: !pending || fault === 'none',
  };
}

/** What others do once nothing moves by itself, and whether there was any of it to do. */
const OTHERS: readonly { readonly name: string; readonly happens: (loop: ModelledLoop) => boolean }[] = [
  {
    name: 'resumed',
    happens: (loop) => {
      if (loop.record.wish.paused === null) return false;
      askFor(loop, { kind: 'resume' });
      return true;
    },
  },
  {
    name: 'the dispute is won',
    happens: ({ world }) => {
      const open = world.payments.filter(isUndecided);
      for (const payment of open) world.decide(payment, 'won', false);
      return open.length > 0;
    },
  },
  {
    name: 'the bank pays',
    happens: ({ world }) => {
      const slow = world.payments.filter(({ state }) => state === 'processing');
      for (const payment of slow) world.approve(payment);
      return slow.length > 0;
    },
  },
  {
    name: 'refunds arrive',
    happens: ({ world }) => {
      const before = JSON.stringify(world.payments);
      doOutside(world, { kind: 'refunds_succeed' });
      return before !== JSON.stringify(world.payments);
    },
  },
];

/** Whether nothing is left to do: what is wanted and what is agree, or a person was told why not. */
export function rests(loop: ModelledLoop): boolean {
  const decision = nextStep(loop.record, ALL_SEEN, new Date(loop.world.now), loop.policy);
  return decision.kind === 'agreed' || decision.kind === 'person';
}
