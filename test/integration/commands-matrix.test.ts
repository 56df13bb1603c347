/**
 * Every command in every state, through HTTP: offered or refused with a reason, for the right person, before it expires,
 * while nothing changed, and once, however often and by however many people it is confirmed.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { COMMAND_NAMES, type CommandName } from '../../src/operation/command-rule.js';
import { needsLead } from '../../src/operation/command.js';
import { pathOf, problem, refusal } from '../support/api.js';
import { aDesk, commanded, previewed, type Desk } from '../support/desk.js';
import { aShop, type Shop } from '../support/shop.js';

let shop: Shop;
let desk: Desk;

type Name = Parameters<Shop['as']>[0];
interface State {
  readonly name: string;
  readonly make: (id: string) => Promise<unknown>;
  /** Something that matters, done by others meanwhile: at the provider or in the warehouse. */
  readonly happens: (id: string) => Promise<unknown>;
  /** What is offered here besides `check_provider`. */
  readonly offers: readonly CommandName[];
  /** Where it is not the one of `PARAMETERS`. */
  readonly parameters?: Partial<Record<CommandName, object>>;
}

const PARAMETERS: Partial<Record<CommandName, object>> = {
  retry_refund: { refund_id: 'r1' },
  reauthorize: { payment_method: 'pm_card_mastercard' },
  record_outcome: { step: 'confirm_payment', outcome: 'no_effect', evidence: 'ticket 4711 of the provider' },
  release_finalizer: { name: 'payment', left_behind: 'settled by bank transfer' },
  give_up: { verdict: 'escalated' },
};

const MANUAL = { payment: { capture: 'manual' } };
const act =
  (action: Parameters<Shop['control']['dashboard']>[0], more: object = {}) =>
  (id: string) =>
    shop.control.dashboard(action, { operation_id: id, ...more });
const lost = act('lose_reservation');
const refundedElsewhere = act('refund', { amount: 400 });
const paid = async (id: string, spec: Record<string, unknown> = {}): Promise<void> => {
  await shop.order(id, spec);
  expect((await shop.settle(id)).status.phase).toBe('fulfilled');
};
/** An order whose confirmation fails for good; another is served first, since three that fail alike look like an outage. */
async function unconfirmed(id: string, kind: 'drop_before' | '400_insufficient_funds'): Promise<void> {
  await paid(`${id}/served`);
  await shop.control.inject({
    route: 'payment_intents.confirm',
    kind,
    times: null,
    match: { operation_id: id },
  });
  await shop.order(id);
  await shop.settle(id);
}
const refund = (id: string, amount: number) =>
  shop.call('POST', pathOf(id, '/refunds'), { body: { refund_id: 'r1', amount } });
/** The newest refund fails at the bank, if it has not yet. */
const failing = async (id: string): Promise<void> => {
  const sent = (await shop.settle(id)).status.refunds.at(-1);
  if (sent?.state !== 'failed')
    await shop.control.dashboard('fail_refund', { refund: sent?.provider_reference });
};
const FAILS_LATER = { payment: { payment_method: 'pm_card_refundFail' } };

const STATES: readonly State[] = [
  {
    name: 'nothing done yet',
    make: (id) => shop.order(id),
    happens: (id) => shop.pass(id),
    offers: ['adopt_payment', 'pause', 'give_up'],
  },
  {
    name: 'authorized',
    async make(id) {
      await shop.order(id, MANUAL);
      await shop.settle(id);
    },
    happens: act('cancel'),
    offers: ['pause', 'give_up'],
  },
  { name: 'fulfilled', make: paid, happens: refundedElsewhere, offers: ['pause'] },
  {
    name: 'rejected by the provider',
    make: (id) => unconfirmed(id, '400_insufficient_funds'),
    happens: lost,
    offers: ['retry', 'pause', 'give_up'],
  },
  {
    name: 'in doubt',
    make: (id) => unconfirmed(id, 'drop_before'),
    happens: act('confirm', { payment_method: 'pm_card_visa' }),
    offers: ['retry', 'record_outcome', 'pause', 'give_up'],
  },
  {
    name: 'paused',
    async make(id) {
      await shop.order(id, MANUAL);
      await shop.settle(id);
      await desk.command(id, 'pause');
      await shop.call('POST', pathOf(id, '/capture'));
    },
    happens: act('cancel'),
    offers: ['resume', 'give_up'],
  },
  {
    name: 'given up',
    async make(id) {
      await paid(id);
      await shop.control.dashboard('lose_reservation', { operation_id: id });
      await shop.settle(id);
      await desk.command(id, 'give_up', { verdict: 'escalated' }, 'lead');
    },
    happens: refundedElsewhere,
    offers: ['resume'],
  },
  {
    name: 'a refund failed',
    async make(id) {
      await paid(id, FAILS_LATER);
      await refund(id, 3_000);
      await failing(id);
      await shop.settle(id);
    },
    happens: refundedElsewhere,
    offers: ['retry_refund', 'pause', 'give_up'],
  },
  {
    name: 'held back by the brake',
    async make(id) {
      await paid(id, { amount: { value: 10_000, currency: 'CHF' } });
      await refund(id, 4_000);
      await shop.settle(id);
    },
    happens: refundedElsewhere,
    offers: ['retry', 'pause', 'give_up'],
  },
  {
    name: 'authorization expired',
    async make(id) {
      await shop.order(id, MANUAL);
      await shop.settle(id);
      await shop.control.dashboard('expire_authorization', { operation_id: id });
      await shop.settle(id);
    },
    happens: lost,
    offers: ['reauthorize', 'adopt_payment', 'pause', 'give_up'],
  },
  {
    name: 'stock lost after payment',
    async make(id) {
      await paid(id);
      await shop.control.dashboard('lose_reservation', { operation_id: id });
      await shop.settle(id);
    },
    happens: refundedElsewhere,
    offers: ['pause', 'give_up'],
  },
  {
    name: 'about to be cancelled',
    async make(id) {
      await paid(id);
      await shop.cancel(id);
    },
    happens: refundedElsewhere,
    offers: ['pause', 'give_up'],
  },
  {
    name: 'cancelling, goods gone',
    async make(id) {
      await paid(id);
      await shop.control.dashboard('ship', { operation_id: id });
      await shop.cancel(id);
      await shop.settle(id);
    },
    happens: act('open_dispute'),
    offers: ['retry', 'release_finalizer', 'pause', 'give_up'],
    parameters: { release_finalizer: { name: 'inventory', left_behind: 'one packet at the customer' } },
  },
  {
    name: 'cancelling, its refund failed',
    async make(id) {
      await paid(id, FAILS_LATER);
      await shop.cancel(id);
      await failing(id);
      await shop.settle(id);
    },
    happens: refundedElsewhere,
    offers: ['retry_refund', 'release_finalizer', 'pause', 'give_up'],
    parameters: { retry_refund: { refund_id: 'cancellation' } },
  },
  {
    name: 'cancelled',
    async make(id) {
      await paid(id);
      await shop.cancel(id);
      expect((await shop.settle(id)).status.phase).toBe('cancelled');
    },
    happens: act('open_dispute'),
    offers: ['pause'],
  },
];

const offeredIn = ({ offers }: State): readonly CommandName[] => ['check_provider', ...offers];
const idOf = (state: State, ...rest: string[]): string => [state.name, ...rest].join('/');

/** A command with all that it needs, as these people would ask for it. */
async function aWay(state: State, command: CommandName) {
  const chosen =
    command === 'adopt_payment'
      ? { reference: (await shop.checkout({ payment_method: 'pm_card_visa' })).id }
      : (state.parameters?.[command] ?? PARAMETERS[command]);
  // What a lead gave up is taken up again by a lead.
  const lead = needsLead(command) || (command === 'resume' && state.name === 'given up');
  const [one, other, below]: readonly [Name, Name, Name] = lead
    ? ['lead', 'boss', 'desk']
    : ['desk', 'colleague', 'shop'];
  return {
    one,
    other,
    below,
    preview: (id: string, by: Name = one) => desk.preview(id, command, chosen, by),
  };
}

const happened = async (id: string) => ({
  record: await shop.get(id),
  sent: (await shop.control.journal({ operation_id: id, method: 'POST' })).length,
});
const commandsIn = async (id: string, command: CommandName) => {
  const timeline = await shop.timeline(id);
  const count = (type: string): number => timeline.filter((one) => one === type).length;
  return { carried_out: count(`command_${command}`), observed: count('command_observed') };
};

describe.each(STATES)('$name', (state) => {
  const offered = offeredIn(state);
  beforeAll(async () => {
    shop = await aShop({ brake: { refunds: 1_000, amounts: { CHF: 1_000 } } });
    desk = aDesk(shop);
  });
  afterAll(() => shop.stop());

  test('nothing else is offered, and each refusal says why', async () => {
    const id = idOf(state, 'refused');
    await state.make(id);
    const before = await happened(id);
    for (const command of COMMAND_NAMES.filter((name) => !offered.includes(name))) {
      const { below, preview } = await aWay(state, command);
      const answer = await preview(id, 'lead');
      expect([command, ...refusal(answer)]).toEqual([command, 409, 'command_not_available']);
      expect(problem(answer).detail).toMatch(/^[A-Z].*[.]$/);
      expect(refusal(await preview(id, below))).toEqual([403, 'scope_missing']);
    }
    expect(await happened(id)).toEqual(before);
  });

  test.each(offered)(
    '%s: refused below its scope and after its time; done once by two people',
    async (command) => {
      const id = idOf(state, command);
      await state.make(id);
      const { one, other, below, preview } = await aWay(state, command);
      const before = await happened(id);
      const done = await commandsIn(id, command);

      expect(refusal(await preview(id, below))).toEqual([403, 'scope_missing']);
      const late = previewed(await preview(id)).preview_id;
      expect(refusal(await desk.confirm(id, late, below))).toEqual([403, 'scope_missing']);
      await shop.world.db.database.query('UPDATE commands SET expires_at = now() WHERE preview_id = $1', [
        late,
      ]);
      expect(refusal(await desk.confirm(id, late, one))).toEqual([410, 'preview_expired']);
      expect(await happened(id)).toEqual(before);

      const first = previewed(await preview(id)).preview_id;
      const second = previewed(await preview(id, other)).preview_id;
      const answers = await Promise.all([
        desk.confirm(id, first, one),
        desk.confirm(id, first, other),
        desk.confirm(id, second, other),
        desk.confirm(id, second, one),
      ]);
      const taken = answers.filter(({ status }) => status === 202).map(commanded);
      const refused = answers.filter(({ status }) => status !== 202).map(refusal);
      // Looking changes nothing, so both of two looks are taken.
      const looks = command === 'check_provider';
      expect(new Set(taken.map(({ preview_id }) => preview_id)).size).toBe(looks ? 2 : 1);
      expect(taken).toHaveLength(looks ? 4 : 2);
      for (const answer of refused) expect(answer).toEqual([412, 'operation_changed']);
      const decided = taken[0];
      for (const { preview_id, requested_by } of taken)
        if (preview_id === decided?.preview_id) expect(requested_by).toBe(decided.requested_by);

      await shop.settle(id);
      const again = commanded(await desk.confirm(id, decided?.preview_id ?? '', other));
      expect(again).toMatchObject({ state: 'observed', requested_by: decided?.requested_by });
      const { carried_out, observed } = await commandsIn(id, command);
      expect([carried_out - done.carried_out, observed - done.observed]).toEqual(looks ? [2, 2] : [1, 1]);
      expect((await shop.control.ledger(id)).violations).toEqual([]);
    },
  );

  test.each(offered)('%s: refused when something else happened meanwhile', async (command) => {
    const id = idOf(state, command, 'happened');
    await state.make(id);
    const { one, preview } = await aWay(state, command);
    const { preview_id } = previewed(await preview(id));
    await state.happens(id);
    const before = await happened(id);
    const answer = await desk.confirm(id, preview_id, one);
    expect(refusal(answer)).toEqual([412, 'operation_changed']);
    expect(problem(answer).changes?.length).toBeGreaterThan(0);
    expect(await happened(id)).toEqual(before);
  });

  test.each(offered)('%s: refused when somebody else decided meanwhile', async (command) => {
    const id = idOf(state, command, 'decided');
    await state.make(id);
    const { one, preview } = await aWay(state, command);
    const { preview_id } = previewed(await preview(id));
    await desk.command(id, offered.includes('resume') ? 'resume' : 'pause', {}, 'boss');
    const before = await happened(id);
    expect(refusal(await desk.confirm(id, preview_id, one))).toEqual([412, 'operation_changed']);
    expect(await happened(id)).toEqual(before);
  });
});
