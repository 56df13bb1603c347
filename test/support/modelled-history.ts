/** Histories of one order over the modelled world: what can happen, playing it, and what must hold at its end. */
import fc from 'fast-check';
import {
  requestCancellation,
  requestCapture,
  requestRefund,
  tryPaymentAgain,
  type Asking,
  type Change,
} from '../../src/operation/change.js';
import { wantedCapture } from '../../src/operation/terms.js';
import { brokenRefunds } from '../../src/operation/refund.js';
import type { Operation, Policy, Wish } from '../../src/operation/operation.js';
import { patchSpec } from '../../src/operation/patch.js';
import { ModelledLoop, READS, type Chance, type Crash } from './modelled-loop.js';
import {
  FAULTS,
  isBarred,
  isUndecided,
  METHODS,
  ModelledWorld,
  type ModelPayment,
} from './modelled-world.js';
import { aSpec, aWish, NOW, POLICY } from './operations.js';

const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

// What can happen, one thing at a time

export type Ask =
  | { readonly kind: 'cancel' | 'fulfil' | 'only_authorize' | 'pause' | 'resume' }
  | { readonly kind: 'amount'; readonly value: number }
  | { readonly kind: 'lines'; readonly quantity: number }
  | { readonly kind: 'refund'; readonly id: string; readonly amount: number }
  | { readonly kind: 'capture'; readonly amount: number | undefined }
  | { readonly kind: 'try_again'; readonly method: string | undefined };

export type Outside =
  | {
      readonly kind:
        'approve' | 'refuse' | 'lapse' | 'cancel' | 'escalate' | 'win' | 'lose' | 'refunds_succeed';
    }
  /**
   * `amount`: of the dispute, at most what was captured. `dispute_part`: what is not withdrawn can be refunded.
   * `dispute_more`: beside others, of more than was captured. `win_barred`: won, and refunds stay barred; so after `lose_barred`.
   */
  | {
      readonly kind: 'dispute' | 'inquire' | 'dispute_part' | 'dispute_more';
      readonly amount: number;
    }
  | { readonly kind: 'appeal' | 'hide_disputes' | 'show_disputes' }
  | { readonly kind: 'win_barred' | 'lose_barred' }
  /**
   * A payment that was canceled is paid after all, or (`hold_late`) authorized. `drop`: canceled in process. `lose_stock`: the
   * warehouse gives the reservation away.
   */
  | { readonly kind: 'pay_late' | 'hold_late' | 'drop' | 'lose_stock' }
  /** `refund_waits`: for the customer, after which it can be canceled. */
  | { readonly kind: 'last_refund_fails' | 'refund_waits' | 'refund_canceled' }
  | { readonly kind: 'refund_fails' | 'refund_again' | 'ship' | 'sold_out' | 'restocked' }
  | { readonly kind: 'capture' | 'refund'; readonly amount: number };

export type Event =
  | { readonly type: 'work'; readonly worker: number; readonly moments: number; readonly chance: Chance }
  | { readonly type: 'take_over'; readonly worker: number }
  | { readonly type: 'ask'; readonly ask: Ask }
  | { readonly type: 'outside'; readonly doing: Outside }
  | { readonly type: 'time'; readonly ms: number }
  /** An event of the provider; what a person commands (of refunds the first that failed); old journals go. */
  | { readonly type: 'hook' }
  | { readonly type: 'command'; readonly command: PersonsCommand }
  | { readonly type: 'housekeeping' };
export type PersonsCommand = 'retry' | 'retry_refund' | 'reauthorize' | 'give_up' | 'resume';

const amount = fc.constantFrom(30, 50, 80, 100, 120);
const chance: fc.Arbitrary<Chance> = fc.record({
  fault: fc.oneof(
    { weight: 3, arbitrary: fc.constant('none' as const) },
    { weight: 2, arbitrary: fc.constantFrom(...FAULTS) },
  ),
  reads: fc.oneof(
    { weight: 8, arbitrary: fc.constant('both' as const) },
    { weight: 1, arbitrary: fc.constantFrom(...READS) },
  ),
  crash: fc.oneof(
    { weight: 8, arbitrary: fc.constant<Crash>('never') },
    { weight: 1, arbitrary: fc.constantFrom<Crash>('before_sending', 'before_recording') },
  ),
  braked: fc.constantFrom(false, false, true),
});
export const ask: fc.Arbitrary<Ask> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('cancel' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('fulfil' as const, 'only_authorize' as const) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('pause' as const, 'resume' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('amount' as const), value: amount }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('lines' as const), quantity: fc.constantFrom(0, 1, 2, 11) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('refund' as const),
      id: fc.constantFrom('r1', 'r2', 'r3'),
      amount,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('capture' as const),
      amount: fc.option(amount, { nil: undefined }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('try_again' as const),
      method: fc.option(fc.constantFrom(...METHODS), { nil: undefined }),
    }),
  },
);
export const outside: fc.Arbitrary<Outside> = fc.oneof(
  fc.record({
    kind: fc.constantFrom(
      ...([
        'approve',
        'approve',
        'refuse',
        'lapse',
        'cancel',
        'escalate',
        'win',
        'win',
        'lose',
        'lose',
        'refunds_succeed',
        'refunds_succeed',
      ] as const),
    ),
  }),
  fc.record({
    kind: fc.constantFrom(
      'refund_fails' as const,
      'refund_again' as const,
      'ship' as const,
      'sold_out' as const,
      'restocked' as const,
    ),
  }),
  fc.record({
    kind: fc.constantFrom(
      'win_barred' as const,
      'lose_barred' as const,
      'pay_late' as const,
      'lose_stock' as const,
    ),
  }),
  fc.record({
    kind: fc.constantFrom(
      'hold_late' as const,
      'drop' as const,
      'last_refund_fails' as const,
      'refund_waits' as const,
      'refund_canceled' as const,
      'appeal' as const,
      'appeal' as const,
      'hide_disputes' as const,
      'show_disputes' as const,
    ),
  }),
  fc.record({ kind: fc.constantFrom('dispute_part' as const, 'dispute_more' as const), amount }),
  fc.record({
    kind: fc.constantFrom(
      'capture' as const,
      'refund' as const,
      'dispute' as const,
      'dispute' as const,
      'inquire' as const,
    ),
    amount,
  }),
);
const event: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      type: fc.constant('work' as const),
      worker: fc.nat(1),
      moments: fc.integer({ min: 1, max: 14 }),
      chance,
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('take_over' as const), worker: fc.nat(1) }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('ask' as const), ask }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('outside' as const), doing: outside }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('time' as const),
      ms: fc.constantFrom(MINUTE, MINUTE, 40 * MINUTE, 22 * HOUR, 25 * HOUR, 31 * DAY, 181 * DAY),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: 'hook' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('command' as const),
      command: fc.constantFrom<PersonsCommand[]>(
        'retry',
        'retry_refund',
        'retry_refund',
        'reauthorize',
        'give_up',
        'resume',
      ),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: 'housekeeping' as const }) },
);

export const start = fc.record({
  desired: fc.constantFrom('fulfilled' as const, 'fulfilled' as const, 'authorized' as const),
  capture: fc.constantFrom('automatic' as const, 'automatic' as const, 'manual' as const),
  method: fc.constantFrom('pm_pays', ...METHODS),
  lines: fc.constantFrom<number[]>(0, 2, 2),
  /** The front end made the payment, in this state. */
  adopts: fc.constantFrom(null, null, null, 'created' as const, 'authorized' as const, 'captured' as const),
});
export type Start = typeof start extends fc.Arbitrary<infer T> ? T : never;

export interface Case {
  readonly start: Start;
  readonly events: readonly Event[];
}
export const cases: fc.Arbitrary<Case> = fc.record({
  start,
  events: fc.array(event, { maxLength: 40, size: 'max' }),
});

// Playing it

export function begin(given: Start, steps_per_pass?: number): ModelledLoop {
  const { world, wish, policy } = beginning(given);
  return new ModelledLoop(world, wish, policy, steps_per_pass);
}

export function beginning({ desired, capture, method, lines, adopts }: Start): {
  world: ModelledWorld;
  wish: Wish;
  policy: Policy;
} {
  const world = new ModelledWorld(NOW.getTime());
  if (adopts !== null) {
    const payment = world.open({
      operation_id: null,
      amount: 100,
      currency: 'EUR',
      capture: 'manual',
      payment_method: 'pm_pays',
    });
    if (adopts !== 'created') world.approve(payment);
    if (adopts === 'captured') world.take(payment, 100);
  }
  const spec = aSpec({
    desired,
    amount: { value: 100, currency: 'EUR' },
    lines: lines === 0 ? [] : [{ sku: 'tea', quantity: lines }],
    payment: {
      capture,
      payment_method: adopts === null ? method : null,
      reference: adopts === null ? null : 'pi_1',
    },
  });
  return { world, wish: aWish(spec), policy: { ...POLICY, resync_interval_ms: HOUR } };
}

export function play(loop: ModelledLoop, event: Event): void {
  switch (event.type) {
    case 'work':
      if (!loop.works(event.worker) && loop.free) loop.claim(event.worker);
      for (let moment = 0; moment < event.moments && loop.works(event.worker); moment += 1) {
        loop.moment(event.worker, event.chance);
      }
      return;
    case 'take_over':
      loop.claim(event.worker);
      return;
    case 'ask':
      askFor(loop, event.ask);
      return;
    case 'outside':
      doOutside(loop.world, event.doing);
      return;
    case 'time':
      loop.world.pass(event.ms);
      return;
    case 'hook':
      loop.wake();
      return;
    case 'command':
      commandAs(loop, event.command);
      return;
    case 'housekeeping':
      loop.forgetJournal();
  }
}

/** False: it was refused. */
function commandAs(loop: ModelledLoop, command: PersonsCommand): boolean {
  switch (command) {
    case 'retry':
    case 'resume':
      return loop.command({ command, parameters: {} }).kind === 'accepted';
    case 'give_up':
      return loop.command({ command, parameters: { verdict: 'known_deviation' } }).kind === 'accepted';
    case 'reauthorize':
      return loop.command({ command, parameters: { payment_method: 'pm_pays' } }).kind === 'accepted';
    case 'retry_refund': {
      const [broken] = brokenRefunds(loop.record);
      if (broken === undefined) return false;
      return loop.command({ command, parameters: { refund_id: broken.refund_id } }).kind === 'accepted';
    }
  }
}

export function askFor(loop: ModelledLoop, wanted: Ask): void {
  loop.ask(decisionOf(wanted));
}

/** What the API does with a request, on the record as it is. */
export const decisionOf =
  (wanted: Ask) =>
  (operation: Operation, asking: Asking): Change => {
    switch (wanted.kind) {
      case 'cancel':
        return requestCancellation(operation, null, asking);
      case 'fulfil':
        return patchSpec(operation, { desired: 'fulfilled' }, asking);
      case 'only_authorize':
        return patchSpec(operation, { desired: 'authorized' }, asking);
      case 'amount':
        return patchSpec(operation, { amount: { value: wanted.value } }, asking);
      case 'lines': {
        const { quantity } = wanted;
        return patchSpec(operation, { lines: quantity === 0 ? [] : [{ sku: 'tea', quantity }] }, asking);
      }
      case 'refund':
        return requestRefund(operation, { refund_id: wanted.id, amount: wanted.amount, reason: null });
      case 'pause':
      case 'resume':
        return paused(operation.wish, wanted.kind === 'pause');
      case 'capture':
        return requestCapture(operation, wanted.amount, asking);
      case 'try_again':
        return tryPaymentAgain(operation, wanted.method, asking);
    }
  };

const paused = (wish: Wish, holds: boolean): Change => ({
  kind: 'changed',
  wish: { ...wish, paused: holds ? { by: 'support', reason: 'a look', at: NOW.toISOString() } : null },
  spec_changed: false,
  event: { type: 'paused', message: 'Paused or resumed.' },
});

export function doOutside(world: ModelledWorld, doing: Outside): void {
  world.outside += 1;
  const payment = world.payments.findLast(({ former }) => !former);
  if (doing.kind === 'ship') world.shipped ||= world.stock.state === 'committed';
  if (doing.kind === 'sold_out') world.available = 0;
  if (doing.kind === 'restocked') world.available = 10;
  const held = world.stock.state === 'reserved' || world.stock.state === 'committed';
  if (doing.kind === 'lose_stock' && held && !world.shipped) world.stock.state = 'released';
  if (doing.kind === 'ship' || doing.kind === 'sold_out' || doing.kind === 'restocked') return;
  if (doing.kind === 'lose_stock') return;
  if (doing.kind === 'hide_disputes' || doing.kind === 'show_disputes') {
    world.hides_disputes = doing.kind === 'hide_disputes';
    return;
  }
  if (payment === undefined) return;
  const waits = payment.state === 'processing' || payment.state === 'awaiting_customer';
  switch (doing.kind) {
    case 'approve':
      // Also what a front end does with a payment of its own.
      if (waits || (payment.operation_id === null && payment.state === 'created')) world.approve(payment);
      return;
    case 'refuse':
      if (waits) world.decline(payment);
      return;
    case 'lapse':
      if (payment.state === 'authorized') world.lapse(payment);
      return;
    case 'cancel':
      if (payment.state !== 'captured' && payment.state !== 'processing' && payment.state !== 'canceled') {
        payment.state = 'canceled';
        payment.authorized = 0;
        payment.canceled_because = 'abandoned';
      }
      return;
    case 'capture':
      if (payment.state === 'authorized') world.take(payment, Math.min(doing.amount, payment.authorized));
      return;
    case 'refund':
      if (payment.state === 'captured' && !isBarred(payment) && world.held() > 0) {
        world.refund(payment, Math.min(doing.amount, world.held()), null, null);
      }
      return;
    case 'drop':
      if (payment.state !== 'processing') return;
      payment.state = 'canceled';
      payment.canceled_because = 'abandoned';
      return;
    case 'dispute_more':
      if (payment.state === 'captured') world.dispute(payment, payment.captured + doing.amount, 'open');
      return;
    case 'appeal':
      world.appeal(payment);
      return;
    case 'dispute':
    case 'dispute_part':
    case 'inquire':
      if (payment.state === 'captured' && !isUndecided(payment)) {
        const lost = payment.disputes.filter(({ state }) => state === 'lost');
        const left = payment.captured - lost.reduce((sum, dispute) => sum + dispute.amount, 0);
        const most = Math.min(doing.amount, left);
        const state = doing.kind === 'inquire' ? 'inquiry' : 'open';
        if (most > 0) world.dispute(payment, most, state, doing.kind !== 'dispute_part');
      }
      return;
    case 'escalate':
      world.escalate(payment);
      return;
    case 'win':
    case 'win_barred':
      world.decide(payment, 'won', doing.kind === 'win_barred');
      return;
    case 'lose':
    case 'lose_barred':
      world.decide(payment, 'lost', doing.kind === 'lose_barred');
      return;
    case 'pay_late':
      if (payment.state === 'canceled' && payment.was_confirmed) {
        payment.canceled_because = null;
        payment.capture = 'automatic';
        world.approve(payment);
        world.bounced += payment.captured;
      }
      return;
    case 'hold_late':
      if (payment.state === 'canceled' && payment.was_confirmed) {
        payment.canceled_because = null;
        payment.capture = 'manual';
        payment.revived = true;
        world.approve(payment);
      }
      return;
    case 'last_refund_fails': {
      const refund = payment.refunds.findLast(({ state }) => state !== 'failed' && state !== 'canceled');
      if (refund !== undefined) world.bounce(refund);
      return;
    }
    case 'refund_waits':
      for (const refund of payment.refunds) if (refund.state === 'pending') refund.state = 'requires_action';
      return;
    case 'refund_canceled':
      for (const refund of payment.refunds)
        if (refund.state === 'requires_action') world.bounce(refund, 'canceled');
      return;
    case 'refunds_succeed':
      for (const refund of payment.refunds) if (refund.state === 'pending') refund.state = 'succeeded';
      return;
    case 'refund_again': {
      // A script that took our metadata over, or an effect of ours that came twice.
      const ours = payment.refunds.find(({ refund_id }) => refund_id !== null);
      if (ours === undefined || isBarred(payment) || world.held() <= 0) return;
      world.refund(payment, Math.min(ours.amount, world.held()), ours.refund_id, ours.operation_id);
      return;
    }
    case 'refund_fails': {
      const refund = payment.refunds.find(({ state }) => state === 'pending' || state === 'succeeded');
      if (refund !== undefined) world.bounce(refund);
    }
  }
}

/** From here on nothing fails, and everybody does what is theirs to do. */
function heal(loop: ModelledLoop): void {
  const { world } = loop;
  world.outside += 1;
  loop.dies(0);
  loop.dies(1);
  world.pass(HOUR);
  askFor(loop, { kind: 'resume' });
  commandAs(loop, 'resume');
  for (const payment of world.payments) world.decide(payment, 'won', false);
  loop.wake();
}

export function theBankFinishes(world: ModelledWorld): void {
  for (const payment of world.payments) {
    if (payment.state === 'processing') world.approve(payment);
    for (const refund of payment.refunds)
      if (refund.state === 'pending' || refund.state === 'requires_action') refund.state = 'succeeded';
  }
}

/** Passes in their own time; null when it came to rest, otherwise what it was still doing. */
function rest(loop: ModelledLoop): string | null {
  const { world } = loop;
  const sent = loop.sends;
  for (let passes = 0; passes < 130; passes += 1) {
    const before = JSON.stringify(loop.record.status);
    loop.wholePass();
    theBankFinishes(world);
    if (loop.sends - sent > 30) return 'it keeps sending';
    const { phase, settled_at, attention } = loop.record.status;
    const same = before === JSON.stringify(loop.record.status);
    const waits = phase === 'authorized' || settled_at !== null || attention !== null;
    if (loop.look_in_ms === null) return null;
    if (waits && same && loop.look_in_ms > 0) return null;
    world.pass(loop.look_in_ms);
  }
  return `it is still ${loop.record.status.phase} (${loop.record.status.condition})`;
}

const isGivenTwice = (payment: ReturnType<ModelledWorld['payment']>): boolean => {
  const ids = (payment?.refunds ?? [])
    .filter(({ refund_id, state }) => refund_id !== null && state !== 'failed' && state !== 'canceled')
    .map(({ refund_id }) => refund_id);
  return new Set(ids).size < ids.length;
};

/** Refunds and chargebacks gave the customer more than was taken. */
const isPaidTwice = (payment: ModelPayment): boolean => {
  const back = payment.refunds
    .filter(({ state }) => state !== 'failed' && state !== 'canceled')
    .reduce((sum, { amount }) => sum + amount, 0);
  const taken = payment.disputes
    .filter(({ state }) => state === 'lost' || state === 'open')
    .reduce((sum, { amount }) => sum + amount, 0);
  return back > 0 && back + taken > payment.captured;
};

/** What is said at rest must be what is. */
export function disagreements({ world, record }: Pick<ModelledLoop, 'world' | 'record'>): string[] {
  const { status, facts, wish } = record;
  const found: string[] = [];
  const expectThat = (holds: boolean, otherwise: string): void => {
    if (!holds) found.push(otherwise);
  };
  const ours = record.provider_reference === null ? undefined : world.payment(record.provider_reference);
  if (ours !== undefined) {
    expectThat(facts.payment.state === ours.state, `recorded ${facts.payment.state}, it is ${ours.state}`);
    expectThat(facts.payment.captured === ours.captured, 'another amount is recorded as captured');
    expectThat(facts.payment.authorized === ours.authorized, 'another amount is recorded as authorized');
  }
  const { phase, attention, settled_at } = status;
  if (attention !== null) {
    const known = wish.spec.payment.reference !== null || attention.reason !== 'PaymentMismatch';
    expectThat(known, 'a payment of our own making is not taken for ours');
    expectThat(attention.reason !== 'RefundBrake', 'a refund waits although there is room');
    if (attention.reason === 'RefundedTwice')
      expectThat(isGivenTwice(ours), 'said to have given back twice, and it was not so');
    if (attention.reason === 'DisputedAfterRefund' && !world.hides_disputes)
      expectThat(
        ours !== undefined && isPaidTwice(ours),
        'said to be charged back as well, and it was not so',
      );
    return found;
  }
  expectThat(facts.unresolved === null, 'something is in doubt at rest');
  switch (phase) {
    case 'fulfilled':
      expectThat(ours?.captured === wantedCapture(record), 'fulfilled with another amount than wanted');
      if (wish.spec.lines.length > 0) {
        expectThat(world.stock.state === 'committed', 'fulfilled without the goods');
        expectThat(
          JSON.stringify(world.stock.lines) === JSON.stringify(wish.spec.lines),
          'fulfilled with other goods',
        );
      } else expectThat(world.stock.state !== 'reserved', 'stock is held that nobody wants');
      break;
    case 'cancelled':
    case 'rejected':
      expectThat(settled_at !== null, `${phase} and not settled`);
      // A dispute that was lost can be won by an appeal; where disputes are shown no more, nobody learns of it from here.
      expectThat(
        world.held() === 0 || (world.hides_disputes && facts.payment.lost > 0),
        `${phase}, and money is kept`,
      );
      expectThat(world.alive().length === 0, `${phase}, and money can arrive`);
      expectThat(['none', 'released'].includes(world.stock.state), `${phase}, and stock is held`);
      expectThat(
        ours === undefined || ['canceled', 'captured'].includes(ours.state),
        `${phase}, payment open`,
      );
      break;
    case 'authorized':
      expectThat(ours?.state === 'authorized', 'authorized, and it is not');
      break;
    case 'accepted':
    case 'payment_pending':
    case 'awaiting_customer':
    case 'payment_failed':
    case 'payment_unknown':
    case 'fulfilling':
    case 'cancelling':
      found.push(`at rest in ${phase} without asking for a person`);
  }
  return found;
}

const needsAnotherRefund = ({ record }: ModelledLoop): boolean =>
  record.status.attention?.reason === 'RefundFailed';

export function verdict({ start, events }: Case): string[] {
  const loop = begin(start);
  for (const one of events) play(loop, one);
  heal(loop);
  let restless = rest(loop);
  // A refund that failed is made once more by a person, as often as it takes.
  for (let times = 0; restless === null && needsAnotherRefund(loop) && times < 5; times += 1) {
    if (!commandAs(loop, 'retry_refund')) break;
    restless = rest(loop);
  }
  const { world } = loop;
  const quiet = world.requests;
  // What only waits for a person may still be given up at its deadline.
  if (restless === null && loop.record.status.settled_at !== null) {
    for (let looks = 0; looks < 3; looks += 1) {
      world.pass(loop.look_in_ms ?? HOUR);
      loop.wholePass();
    }
  }
  const found = [
    ...world.violations,
    ...loop.violations,
    ...(restless === null ? disagreements(loop) : [restless]),
  ];
  if (world.requests !== quiet) found.push('looking at what had come to rest caused an effect');
  if (world.releases > 1) found.push('stock was released twice');
  return found;
}
