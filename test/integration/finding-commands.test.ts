/** Commands on findings through HTTP: what they do to the world, and what a stale, foreign or second one does not. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import type { FindingCommandOut } from '../../src/api/schemas/finding-commands.js';
import type { FindingOut } from '../../src/api/schemas/findings.js';
import { factsOf } from '../../src/findings/finding.js';
import { FindingCommandStore } from '../../src/store/finding-command-store.js';
import { collectStatistics } from '../../src/store/statistics.js';
import { pathOf, problem, refusal } from '../support/api.js';
import {
  aDesk,
  aFindingsDesk,
  findingCommanded,
  findingPreviewed,
  previewed,
  type FindingsDesk,
  approvalsOf,
} from '../support/desk.js';
import { NOW } from '../support/operations.js';
import { aSweptShop, type Swept } from '../support/orphans.js';
import { until } from '../support/product.js';

let shop: Swept;
let desk: FindingsDesk;
/** Accounts on which nothing else sells. */
const exclusive = new Set<string>();
beforeAll(async () => {
  shop = await aSweptShop({ works: true, patience_ms: 500, exclusive });
  desk = aFindingsDesk(shop);
  work();
});
afterAll(() => shop.stop());

/** A worker hears of decisions, as it does when the bell is rung; or none does, until the test says so. */
let works = true;
const work = (): void => {
  works = true;
  const worker = shop.sweeper();
  shop.onDecision(() => worker.carryOut());
};
const rest = (): void => {
  works = false;
  shop.onDecision(() => Promise.resolve());
};
/** The same command once more, until it is known what became of it, or why that is not known. */
async function toldOf(id: string, previewId: string): Promise<FindingCommandOut> {
  for (let asked = 1; ; asked += 1) {
    const told = findingCommanded(await desk.confirm(id, previewId));
    if (!works || told.state !== 'accepted' || told.waits_for !== null || asked === 10) return told;
  }
}
const decide = async (id: string, command: string): Promise<FindingCommandOut> =>
  toldOf(id, findingPreviewed(await desk.preview(id, command)).preview_id);
/** Requests that could have changed something at the provider. */
const posts = () => shop.control.journal({ method: 'POST' });
const refundsAsked = (operation_id: string) =>
  shop.control.journal({ operation_id, route: 'refunds.create' });
const stray = async (operation_id: string | null, more: Record<string, unknown> = {}): Promise<string> => {
  const metadata = operation_id === null ? {} : { operation_id };
  const payment = { amount: 10_000, currency: 'eur', payment_method: 'pm_card_visa', metadata };
  return (await shop.control.dashboard('create_stray', { ...payment, ...more })).id;
};
const fulfilled = async (name: string): Promise<void> => {
  await shop.order(name);
  expect((await shop.settle(name)).status.phase).toBe('fulfilled');
};
const findingOf = async (reference: string): Promise<FindingOut> => {
  const states = ['open', 'dismissed', 'resolved'];
  const all = await Promise.all(states.map((state) => shop.findings(`?state=${state}&limit=100`)));
  const found = all.flat().find(({ provider_reference }) => provider_reference === reference);
  if (found === undefined) throw new Error(`nothing was found about ${reference}`);
  return found;
};
/** A second payment of a fulfilled order, found. */
async function second(name: string, more: Record<string, unknown> = {}) {
  await fulfilled(name);
  return seconds(name, more);
}
async function seconds(name: string, more: Record<string, unknown> = {}) {
  const reference = await stray(name, more);
  const { finding_id: id } = await swept(reference, () => true);
  return { reference, id };
}
/** A tick has so many looks, and a worker may hold the account for a moment: ticks until this one was looked at. */
async function swept(reference: string, isSeen: (finding: FindingOut) => boolean): Promise<FindingOut> {
  for (let ticks = 0; ticks < 20; ticks += 1) {
    await shop.sweep();
    const found = await findingOf(reference).catch(() => null);
    if (found !== null && isSeen(found)) return found;
  }
  return findingOf(reference);
}
/** The same part, but for some of what it does. */
function like<Part extends object>(part: Part, but: Partial<Part>): Part {
  return new Proxy(part, {
    get(target, name) {
      const member: unknown = Reflect.get(name in but ? but : target, name);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}
/** What the provider holds of one payment. */
const ledgerOf = async (name: string, reference: string) => {
  const { intents } = await shop.control.ledger(name);
  const intent = intents.find(({ id }) => id === reference);
  if (intent === undefined) throw new Error(`the ledger has no ${reference}`);
  return intent;
};
const eventsOf = async (id: string) =>
  (await shop.asSupport('GET', pathOf(id, '/events'))).json<{
    items: { type: string; actor: { name: string }; message: string; data: Record<string, unknown> }[];
  }>().items;
/** Another look at this one payment, whatever else is due. */
const lookAgain = async (reference: string): Promise<void> => {
  await shop.decided();
  await shop.query(
    `UPDATE findings SET check_at = now() - interval '1 day' WHERE reference = $1 AND check_at IS NOT NULL`,
    [reference],
  );
  await shop.sweep();
};
/** A payment that names no order; only an account that nothing else sells on has findings of those. */
async function nobodys() {
  const reference = await stray(null);
  const { finding_id: id } = await swept(reference, () => true);
  return { reference, id };
}
const COMMANDS = ['refund_stray', 'dismiss', 'check_provider', 'adopt_payment'] as const;
/** A finding on which each command is possible: the order wants to be paid, and its own payment is gone. */
async function adoptable(name: string, more: Record<string, unknown> = {}) {
  await shop.order(name, { payment: { capture: 'manual' } });
  await shop.settle(name);
  await shop.control.dashboard('expire_authorization', { operation_id: name });
  await shop.settle(name);
  return seconds(name, more);
}
const possible = (command: (typeof COMMANDS)[number], name: string) =>
  command === 'adopt_payment' ? adoptable(name) : second(name);

describe('what every command has in common', () => {
  test.each(COMMANDS)('%s: the preview reads, shows and does nothing', async (command) => {
    const { reference, id } = await possible(command, `shown ${command}`);
    const before = await shop.control.journalSequence();
    const preview = findingPreviewed(await desk.preview(id, command));
    expect(preview).toMatchObject({
      evidence: {
        observed: { payment: { kind: 'present', value: { reference, captured: 10_000, refunds: [] } } },
        finding: { kind: 'second_payment', state: 'open', amount: 10_000 },
        recorded: [{ operation_id: `shown ${command}` }],
        attempts: [],
      },
      resource_version: expect.any(Number),
    });
    expect(preview.effects.length).toBeGreaterThan(0);
    const requests = await shop.control.journal({ after: before });
    expect(requests.filter(({ method }) => method === 'POST')).toEqual([]);
    expect(requests.some(({ path }) => path.includes(reference))).toBe(true);
    expect(await findingOf(reference)).toMatchObject({ state: 'open', last_command: null });
  });

  test.each(COMMANDS)('%s: 412 with what changed, and nothing is done', async (command) => {
    const name = `changed ${command}`;
    const { reference, id } = await possible(command, name);
    const { preview_id } = findingPreviewed(await desk.preview(id, command));
    await shop.control.dashboard('refund', { payment_intent: reference, amount: 400 });
    const before = (await posts()).length;
    const answer = await desk.confirm(id, preview_id);
    expect(refusal(answer)).toEqual([412, 'operation_changed']);
    expect(problem(answer).changes?.map(({ what }) => what)).toContain('refunds');
    expect((await posts()).length).toBe(before);
    expect(await findingOf(reference)).toMatchObject({ state: 'open', last_command: null });
    expect(await eventsOf(name)).not.toContainEqual(
      expect.objectContaining({ type: expect.stringContaining('finding') }),
    );
  });

  test.each(COMMANDS)('%s: it expires, belongs to one finding, and needs its scope', async (command) => {
    const { reference, id } = await possible(command, `expires ${command}`);
    const other = await second(`other ${command}`);
    const { preview_id } = findingPreviewed(await desk.preview(id, command));
    expect(refusal(await desk.confirm(other.id, preview_id))).toEqual([404, 'not_found']);
    expect(refusal(await desk.confirm(id, 'no-such-preview'))).toEqual([404, 'not_found']);
    expect(refusal(await desk.confirm(id, preview_id, 'shop'))).toEqual([403, 'scope_missing']);
    expect(refusal(await desk.preview(id, command, 'shop'))).toEqual([403, 'scope_missing']);
    expect(refusal(await desk.preview('4711', command))).toEqual([404, 'not_found']);
    expect(refusal(await desk.preview('x', command))).toEqual([404, 'not_found']);
    expect(refusal(await desk.approve(id, preview_id, 'desk'))).toEqual([403, 'scope_missing']);
    const before = (await posts()).length;
    await shop.query('UPDATE finding_commands SET expires_at = now() WHERE preview_id = $1', [preview_id]);
    await shop.query('UPDATE commands SET expires_at = now()');
    expect(refusal(await desk.confirm(id, preview_id))).toEqual([410, 'preview_expired']);
    expect((await posts()).length).toBe(before);
    expect(await findingOf(reference)).toMatchObject({ state: 'open', last_command: null });
  });

  test.each(COMMANDS)('%s: twice, and by two people at once, it is one command', async (command) => {
    const name = `twice ${command}`;
    const { reference, id } = await possible(command, name);
    const { preview_id } = findingPreviewed(await desk.preview(id, command));
    const answers = await Promise.all(
      (['desk', 'colleague', 'lead', 'desk', 'boss'] as const).map((by) =>
        desk.confirm(id, preview_id, by, `by ${by}`),
      ),
    );
    const commands = answers.map(findingCommanded);
    expect(new Set(commands.map(({ requested_by, reason }) => `${requested_by} ${reason}`)).size).toBe(1);
    const again = await toldOf(id, preview_id);
    expect(again).toMatchObject({ preview_id, state: 'observed', requested_by: commands[0]?.requested_by });
    expect((await findingOf(reference)).last_command).toMatchObject({
      preview_id,
      command,
      state: 'observed',
      requested_by: commands[0]?.requested_by,
      outcome: again.outcome?.summary,
    });
    const decided = command === 'adopt_payment' ? 'command_adopt_payment' : `finding_${command}`;
    expect((await eventsOf(name)).filter(({ type }) => type === decided)).toMatchObject([
      { actor: { name: commands[0]?.requested_by } },
    ]);
    const refunds = command === 'refund_stray' ? 1 : 0;
    expect((await ledgerOf(name, reference)).refunds).toHaveLength(refunds);
    expect(await refundsAsked(name)).toHaveLength(refunds);
  });

  test.each([
    [{ command: 'retry' }, '/command'],
    [{ command: 'dismiss', parameters: { amount: 1 } }, '/parameters/amount'],
    [{}, '/command'],
  ])('%j: 400', async (body, pointer) => {
    const answer = await shop.asSupport('POST', '/v1/findings/1/commands/preview', { body });
    expect(refusal(answer)).toEqual([400, 'invalid_request', pointer]);
  });

  test('without a reason nothing is decided', async () => {
    const { id } = await second('no reason');
    const { preview_id } = findingPreviewed(await desk.preview(id, 'dismiss'));
    const answer = await shop.asSupport('POST', `/v1/findings/${id}/commands`, { body: { preview_id } });
    expect(refusal(answer)).toEqual([400, 'invalid_request', '/reason']);
  });

  test('previews that nobody confirmed are forgotten after a day, decisions never', async () => {
    const { id } = await adoptable('tidy');
    const old = findingPreviewed(await desk.preview(id, 'dismiss')).preview_id;
    const decided = (await decide(id, 'check_provider')).preview_id;
    const adopted = findingPreviewed(await desk.preview(id, 'adopt_payment')).preview_id;
    await toldOf(id, adopted);
    await shop.query(`UPDATE finding_commands SET expires_at = now() - interval '25 hours'`);
    findingPreviewed(await desk.preview(id, 'check_provider'));
    const rows = await shop.query<{ preview_id: string }>('SELECT preview_id FROM finding_commands');
    const kept = rows.map(({ preview_id }) => preview_id);
    expect(kept).toEqual(expect.arrayContaining([decided, adopted]));
    expect(kept).not.toContain(old);
  });
});

describe('refund_stray', () => {
  test('gives back all that is left, once; the finding resolves and the order stays paid', async () => {
    const { reference, id } = await second('doubled');
    await shop.control.dashboard('refund', { payment_intent: reference, amount: 2_500 });
    const command = await decide(id, 'refund_stray');
    expect(command).toMatchObject({
      state: 'observed',
      requested_by: 'desk',
      outcome: {
        finding_state: 'resolved',
        payment: { captured: 10_000 },
        attempts: [{ step: 'create_refund', ordinal: 1, outcome: 'done' }],
      },
    });
    expect(command.effects[0]).toContain('75.00 EUR');
    expect(command.outcome?.summary).toContain('75.00 EUR was given back');
    expect((await ledgerOf('doubled', reference)).refunds).toMatchObject([
      { amount: 2_500 },
      { amount: 7_500, metadata: { operation_id: 'doubled', refund_id: `stray-${command.preview_id}` } },
    ]);
    expect((await shop.settle('doubled')).status).toMatchObject({
      phase: 'fulfilled',
      payment: { captured: 10_000, refunded: 0 },
      attention: null,
    });
    const told = (await eventsOf('doubled')).filter(({ type }) => type.startsWith('finding_'));
    expect(told).toMatchObject([
      { type: 'finding_refund_stray', actor: { name: 'desk' }, data: { reason: 'the customer paid twice' } },
      { type: 'finding_command_observed', data: { outcome: { finding_state: 'resolved' } } },
    ]);
    expect(await shop.findings('?state=resolved')).toContainEqual(
      expect.objectContaining({ finding_id: id, state: 'resolved' }),
    );
    expect(await desk.whyNot(id, 'refund_stray')).toContain('gone');
  });

  test('voids what is only held; and gives back money that names no order of ours', async () => {
    const { reference, id } = await second('held', { capture_method: 'manual' });
    const voided = await decide(id, 'refund_stray');
    expect(voided).toMatchObject({
      outcome: { finding_state: 'resolved', attempts: [{ step: 'cancel_payment', outcome: 'done' }] },
    });
    expect((await shop.intent(reference)).status).toBe('canceled');

    const orphan = await stray('nobody’s');
    const { finding_id } = await swept(orphan, () => true);
    expect(await decide(finding_id, 'refund_stray')).toMatchObject({
      outcome: { finding_state: 'resolved' },
    });
    expect((await ledgerOf('nobody’s', orphan)).refunded).toBe(10_000);
  });

  test('not the payment of an order, nor one that an order may still take', async () => {
    await fulfilled('own');
    const own = (await shop.get('own')).status.provider_reference ?? '';
    await shop.query(
      `INSERT INTO findings (account, kind, reference, operation_id, state, amount, currency, message, evidence, suggested,
         suspected_at, opened_at, first_seen_at, last_seen_at, check_at)
       VALUES ('default', 'orphan_payment', $1, 'own', 'open', 10000, 'EUR', 'wrong', '{"provider": null, "recorded": null}',
         'refund_stray', now(), now(), now(), now(), now() + interval '1 day')`,
      [own],
    );
    const { finding_id } = await findingOf(own);
    // A look shows that nothing is to be found; a worker that had been told otherwise meets the same bar.
    expect(await desk.whyNot(finding_id, 'refund_stray')).toContain('gone');
    const free = await adoptable('free');
    expect(await desk.whyNot(free.id, 'refund_stray')).toContain('may still take');

    const wanted = await second('wanted');
    rest();
    const decided = await decide(wanted.id, 'refund_stray');
    expect(decided.state).toBe('accepted');
    await shop.query(`UPDATE order_operations SET provider_reference = $1 WHERE operation_id = 'free'`, [
      wanted.reference,
    ]);
    work();
    await shop.sweeper().carryOut();
    const told = await toldOf(wanted.id, decided.preview_id);
    expect(told).toMatchObject({ state: 'observed', outcome: { attempts: [] } });
    expect(told.outcome?.summary).toContain('It is the payment of the operation "free"');
    expect((await ledgerOf('wanted', wanted.reference)).refunded).toBe(0);
  });

  test.each([
    [
      'an order is told to adopt it',
      (reference: string) => shop.adopt(`adopts ${reference}`, reference),
      /is to adopt it/,
    ],
    [
      'all writes of its account are stopped',
      () => shop.as('lead')('POST', '/v1/accounts/default/pause', { body: { reason: 'a look' } }),
      null,
    ],
    [
      'another worker takes the account over',
      () => shop.query('UPDATE orphan_sweeps SET fencing_token = fencing_token + 1'),
      null,
    ],
  ])('not when at the last moment %s: the intent is refused, so nothing is sent', async (how, act, end) => {
    const name = `late: ${how}`;
    const { reference, id } = await second(name);
    rest();
    const { preview_id } = await decide(id, 'refund_stray');
    const { brake } = shop.worker;
    const worker = shop.sweeper({
      brake: like(brake, {
        admit: async (...asked: Parameters<typeof brake.admit>) => {
          await act(reference);
          return brake.admit(...asked);
        },
      }),
    });
    await worker.carryOut();
    expect(await refundsAsked(name)).toEqual([]);
    expect(await shop.query('SELECT 1 FROM finding_attempts WHERE command = $1', [preview_id])).toEqual([]);
    await shop.query(`UPDATE provider_accounts SET paused = NULL`);
    await shop.query(`UPDATE orphan_sweeps SET lease_holder = NULL, lease_expires_at = NULL`);
    await shop.query('UPDATE finding_commands SET due_at = now() WHERE due_at IS NOT NULL');
    work();
    await shop.sweeper().carryOut();
    const told = await toldOf(id, preview_id);
    expect(told.outcome?.summary).toMatch(end ?? /was given back by the refund/);
    expect((await ledgerOf(name, reference)).refunds).toHaveLength(end === null ? 1 : 0);
  });

  test('not while a dispute stands, nor before the payment has ended, nor twice', async () => {
    const disputed = await second('disputed');
    await shop.control.dashboard('open_dispute', { payment_intent: disputed.reference });
    expect(await desk.whyNot(disputed.id, 'refund_stray')).toContain('dispute');
    const pending = await seconds('disputed', { payment_method: 'pm_card_pendingRefund' });
    await decide(pending.id, 'refund_stray');
    expect(await findingOf(pending.reference)).toMatchObject({ state: 'open' });
    expect(await desk.whyNot(pending.id, 'refund_stray')).toContain('on its way');
    await shop.control.dashboard('settle_refund', { payment_intent: pending.reference });
    await lookAgain(pending.reference);
    expect(await findingOf(pending.reference)).toMatchObject({ state: 'resolved' });
  });

  test('decided by two people on two previews at once: one refund, and one of them is told', async () => {
    const { reference, id } = await second('rivals');
    const previews = [await desk.preview(id, 'refund_stray'), await desk.preview(id, 'refund_stray')].map(
      findingPreviewed,
    );
    const answers = await Promise.all(
      previews.map(({ preview_id }, index) =>
        desk.confirm(id, preview_id, index === 0 ? 'desk' : 'colleague'),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([202, expect.any(Number)]);
    expect(answers.map(({ status }) => status).some((status) => status === 412 || status === 409)).toBe(true);
    await shop.decided();
    expect((await ledgerOf('rivals', reference)).refunds).toHaveLength(1);
  });

  test.each([
    ['takes effect and its answer is lost', 'effect_then_drop', 2],
    ['never arrives', 'drop_before', 2],
    ['takes effect and is answered 500', 'effect_then_500', 1],
  ] as const)('that %s is read, and sent again under the same key: one refund', async (_how, kind, times) => {
    const name = `lost ${kind}`;
    const { reference, id } = await second(name);
    await shop.control.inject({ route: 'refunds.create', kind, times, match: { operation_id: name } });
    const first = await decide(id, 'refund_stray');
    if (kind === 'drop_before') {
      expect(first).toMatchObject({ state: 'accepted', waits_for: expect.stringContaining('same key') });
      expect((await findingOf(reference)).last_command).toMatchObject({ state: 'accepted' });
      expect(await desk.whyNot(id, 'dismiss')).toContain('has not ended');
      await shop.query('UPDATE finding_commands SET due_at = now() WHERE due_at IS NOT NULL');
      await shop.sweeper().carryOut();
    }
    const told = await toldOf(id, first.preview_id);
    expect(told).toMatchObject({ state: 'observed', outcome: { finding_state: 'resolved' } });
    const { refunds } = await ledgerOf(name, reference);
    expect(refunds).toMatchObject([{ amount: 10_000 }]);
    const keys = (await refundsAsked(name)).map(({ idempotency_key }) => idempotency_key);
    expect(new Set(keys).size).toBe(1);
  });

  test('that the provider stored a failure for is sent under a second key, once a reading proved that nothing happened', async () => {
    const { reference, id } = await second('spent');
    await shop.control.inject({
      route: 'refunds.create',
      kind: '500_no_effect',
      times: 1,
      match: { operation_id: 'spent' },
    });
    const { preview_id } = await decide(id, 'refund_stray');
    for (let look = 0; look < 3; look += 1) {
      await shop.query(`UPDATE finding_attempts SET started_at = started_at - interval '11 seconds'`);
      await shop.query('UPDATE finding_commands SET due_at = now() WHERE due_at IS NOT NULL');
      await shop.sweeper().carryOut();
    }
    const told = await toldOf(id, preview_id);
    expect(told.outcome?.attempts.map(({ ordinal, outcome }) => [ordinal, outcome])).toEqual([
      [1, 'unknown'],
      [1, 'unknown'],
      [2, 'done'],
    ]);
    expect((await ledgerOf('spent', reference)).refunds).toHaveLength(1);
  });

  test('refused by the provider it is told so; decided again it goes under another key', async () => {
    const { reference, id } = await second('poor');
    await shop.control.inject({
      route: 'refunds.create',
      kind: '400_insufficient_funds',
      times: 1,
      match: { operation_id: 'poor' },
    });
    const told = await decide(id, 'refund_stray');
    expect(told).toMatchObject({ state: 'observed', outcome: { finding_state: 'open' } });
    expect(told.outcome?.summary).toContain('The provider refused it');
    expect(await decide(id, 'refund_stray')).toMatchObject({ outcome: { finding_state: 'resolved' } });
    expect((await ledgerOf('poor', reference)).refunds).toHaveLength(1);
  });

  test('of a payment that the provider no longer knows ends after a day, and can be decided again', async () => {
    const { reference, id } = await second('vanished');
    rest();
    const { preview_id } = await decide(id, 'refund_stray');
    const { accounts: real } = shop.world.worker();
    const provider = real.provider('default');
    if (provider === undefined) throw new Error('the account is configured');
    const observe: typeof provider.observe = () => Promise.resolve({ kind: 'absent' });
    const accounts = like(real, { provider: () => like(provider, { observe }) });
    const look = async (): Promise<FindingCommandOut> => {
      await shop.query('UPDATE finding_commands SET due_at = now() WHERE due_at IS NOT NULL');
      await shop.sweeper({ accounts }).carryOut();
      return toldOf(id, preview_id);
    };
    expect(await look()).toMatchObject({
      state: 'accepted',
      waits_for: 'The provider does not know this payment now.',
    });
    await shop.query(
      `UPDATE finding_commands SET carried_out_at = carried_out_at - interval '1 day' WHERE preview_id = $1`,
      [preview_id],
    );
    const told = await look();
    expect(told).toMatchObject({ state: 'observed', outcome: { finding_state: 'open', attempts: [] } });
    expect(told.outcome?.summary).toContain(
      'Nothing was sent for this. The provider does not know this payment',
    );
    work();
    expect(await decide(id, 'refund_stray')).toMatchObject({ outcome: { finding_state: 'resolved' } });
    expect((await ledgerOf('vanished', reference)).refunds).toHaveLength(1);
  });

  test('that fails at the bank days later is found again, and can be decided again', async () => {
    const { reference, id } = await second('returned');
    await decide(id, 'refund_stray');
    await shop.control.dashboard('fail_refund', { payment_intent: reference });
    await lookAgain(reference);
    await lookAgain(reference);
    expect(await findingOf(reference)).toMatchObject({ finding_id: id, state: 'open' });
    expect(await decide(id, 'refund_stray')).toMatchObject({ outcome: { finding_state: 'resolved' } });
    const { refunds } = await ledgerOf('returned', reference);
    expect(refunds.map(({ status }) => status)).toEqual(['failed', 'succeeded']);
  });

  test.each([
    [
      'given back in part',
      (reference: string) => shop.control.dashboard('refund', { payment_intent: reference, amount: 1 }),
    ],
    ['given back', (reference: string) => shop.control.dashboard('refund', { payment_intent: reference })],
    [
      'disputed',
      (reference: string) => shop.control.dashboard('open_dispute', { payment_intent: reference }),
    ],
  ])('decided and then %s by others: nothing is sent, and a person is told', async (how, act) => {
    const name = `overtaken ${how}`;
    const { reference, id } = await second(name);
    rest();
    const { preview_id } = await decide(id, 'refund_stray');
    await act(reference);
    work();
    await shop.sweeper().carryOut();
    const told = await toldOf(id, preview_id);
    expect(told).toMatchObject({ state: 'observed', outcome: { attempts: [] } });
    expect(told.outcome?.summary).toContain('Nothing was given back by this');
    expect(await refundsAsked(name)).toEqual([]);
  });

  test('waits while all writes of the account are stopped, and says for whom', async () => {
    const { reference, id } = await second('stopped');
    await shop.as('lead')('POST', '/v1/accounts/default/pause', { body: { reason: 'a wrong price list' } });
    const command = await decide(id, 'refund_stray');
    expect(command.effects.join(' ')).toContain('stopped by lead');
    expect(command).toMatchObject({ state: 'accepted', waits_for: expect.stringContaining('price list') });
    expect(await refundsAsked('stopped')).toEqual([]);
    await shop.as('lead')('POST', '/v1/accounts/default/resume', { body: { reason: 'repaired' } });
    // It would be let go little by little.
    await shop.query('UPDATE provider_accounts SET rate = NULL, rate_since = NULL');
    await shop.query('UPDATE finding_commands SET due_at = now() WHERE due_at IS NOT NULL');
    await shop.sweeper().carryOut();
    expect((await ledgerOf('stopped', reference)).refunded).toBe(10_000);
  });

  test('waits while the account is out', async () => {
    const { reference, id } = await second('out');
    const breaker = (state: 'open' | 'closed') =>
      shop.query(
        `UPDATE provider_accounts SET breaker = $1, reason = CASE $1 WHEN 'open' THEN 'outage' END,
           since = CASE $1 WHEN 'open' THEN now() END, probe_at = CASE $1 WHEN 'open' THEN now() END`,
        [state],
      );
    const { preview_id } = findingPreviewed(await desk.preview(id, 'refund_stray'));
    rest();
    await toldOf(id, preview_id);
    await breaker('open');
    await shop.sweeper().carryOut();
    expect(await refundsAsked('out')).toEqual([]);
    await breaker('closed');
    work();
    await shop.sweeper().carryOut();
    expect((await ledgerOf('out', reference)).refunded).toBe(10_000);
  });

  test('passes the money-out brake, since a person decided, and takes its room in the hour', async () => {
    const { reference, id } = await second('braked');
    const { brake } = shop.worker;
    rest();
    const { preview_id } = await decide(id, 'refund_stray');
    const counted: string[] = [];
    const effect = (...what: string[]): void => void counted.push(what.join(' '));
    await shop.sweeper({ observer: { request: () => undefined, effect } }).carryOut();
    work();
    expect(counted).toEqual(['create_refund done']);
    const told = await toldOf(id, preview_id);
    const { effect_key } = told.outcome?.attempts[0] ?? { effect_key: '' };
    expect((await ledgerOf('braked', reference)).refunded).toBe(10_000);
    expect(
      await shop.query('SELECT amount, currency FROM money_out WHERE effect_key = $1', [effect_key]),
    ).toEqual([{ amount: '10000', currency: 'EUR' }]);
    const limits = { refunds: 1_000, amounts: { EUR: 10_001 } };
    expect(await brake.admit('default', 'another', 10_000, 'EUR', limits)).toMatchObject({ kind: 'braked' });
    // Nor is one begun without leave, whoever asks.
    await expect(
      shop.query(
        `INSERT INTO finding_attempts (finding_id, command, step, target, ordinal, effect_key, parameters, worker, started_at)
         SELECT finding_id, preview_id, 'create_refund', 'x', 1, 'no leave', '{}', 'w', now()
         FROM finding_commands WHERE finding_id = $1::bigint`,
        [id],
      ),
    ).rejects.toThrow('without leave');
  });

  test('one that breaks off is told, and holds up no other', async () => {
    const broken = await second('broken');
    const other = await seconds('broken');
    rest();
    const { preview_id } = await decide(broken.id, 'refund_stray');
    const behind = await decide(other.id, 'check_provider');
    const { brake } = shop.worker;
    const said: string[] = [];
    const note = (_data: unknown, message: string): void => void said.push(message);
    const quiet = (): void => undefined;
    const worker = shop.sweeper({
      brake: like(brake, { admit: () => Promise.reject(new Error('odd')) }),
      log: { info: quiet, warn: quiet, error: note },
    });
    await worker.carryOut();
    expect(said).toEqual(['a decision about a finding broke off']);
    expect((await toldOf(other.id, behind.preview_id)).state).toBe('observed');
    expect((await findingOf(broken.reference)).last_command).toMatchObject({
      state: 'accepted',
      waits_for: expect.stringContaining('broke off'),
    });
    await shop.query('UPDATE finding_commands SET due_at = now() WHERE due_at IS NOT NULL');
    work();
    await shop.sweeper().carryOut();
    expect((await toldOf(broken.id, preview_id)).state).toBe('observed');
    expect((await ledgerOf('broken', broken.reference)).refunded).toBe(10_000);
  });

  test('a worker that dies between the call and its record leaves one refund, which the next one reads', async () => {
    const { reference, id } = await second('killed');
    rest();
    const { preview_id } = await decide(id, 'refund_stray');
    const { accounts: real } = shop.world.worker();
    const provider = real.provider('default');
    if (provider === undefined) throw new Error('the account is configured');
    const apply: typeof provider.apply = async (call) => {
      await provider.apply(call);
      throw new Error('killed');
    };
    const accounts = like(real, { provider: () => like(provider, { apply }) });
    // A dead process writes nothing.
    const store = new FindingCommandStore(shop.world.db.database);
    const commands = like(store, { postpone: () => Promise.reject(new Error('killed')) });
    await expect(shop.sweeper({ accounts, commands }).carryOut()).rejects.toThrow('killed');
    expect(await shop.query(`SELECT outcome FROM finding_attempts WHERE command = $1`, [preview_id])).toEqual(
      [{ outcome: null }],
    );
    work();
    await shop.query('UPDATE orphan_sweeps SET lease_expires_at = now()');
    await Promise.all([shop.sweeper().carryOut(), shop.sweeper().carryOut()]);
    const told = await toldOf(id, preview_id);
    expect(told).toMatchObject({ state: 'observed', outcome: { finding_state: 'resolved' } });
    expect((await ledgerOf('killed', reference)).refunds).toHaveLength(1);
    expect(await refundsAsked('killed')).toHaveLength(1);
  });
});

describe('dismiss', () => {
  test('leaves the open list with who and why, for as long as its facts are the same', async () => {
    const { reference, id } = await second('known');
    const told = await decide(id, 'dismiss');
    // It is kept for as long as the finding is: nobody is named in it.
    expect(told.outcome?.payment).not.toHaveProperty('payment_method', expect.any(String));
    expect(told).toMatchObject({ state: 'observed', outcome: { finding_state: 'dismissed' } });
    const listed = async (state: string): Promise<boolean> =>
      (await shop.findings(`?state=${state}&limit=100`)).some(({ finding_id }) => finding_id === id);
    expect([await listed('open'), await listed('dismissed')]).toEqual([false, true]);
    expect(await findingOf(reference)).toMatchObject({
      state: 'dismissed',
      dismissed: { by: 'desk', reason: 'the customer paid twice' },
      last_command: { command: 'dismiss' },
    });
    const counted = async (): Promise<number> =>
      (await collectStatistics(shop.world.db.database, ['default'])).findings.get('second_payment') ?? 0;
    const before = await counted();
    await lookAgain(reference);
    await lookAgain(reference);
    expect([await findingOf(reference), await counted()]).toMatchObject([{ state: 'dismissed' }, before]);
    expect(await desk.whyNot(id, 'dismiss')).toContain('already');

    // A new fact is not hidden.
    await shop.control.dashboard('refund', { payment_intent: reference, amount: 400 });
    await lookAgain(reference);
    expect(await findingOf(reference)).toMatchObject({
      state: 'open',
      dismissed: null,
      amount: { value: 9_600 },
    });
    expect(await counted()).toBe(before + 1);
    await decide(id, 'dismiss');
    await shop.cancel('known');
    await shop.settle('known');
    await lookAgain(reference);
    // The order was cancelled: whether its second payment stays is another question now.
    expect(await findingOf(reference)).toMatchObject({ state: 'open' });
    await decide(id, 'dismiss');
    await shop.control.dashboard('refund', { payment_intent: reference });
    await lookAgain(reference);
    expect(await findingOf(reference)).toMatchObject({ state: 'resolved', dismissed: null });
  });

  test('is not lost to a look that judged before it was written', async () => {
    const { reference, id } = await second('raced');
    const { amount, operation_id, evidence } = await findingOf(reference);
    const { provider, recorded } = evidence;
    const facts = factsOf({
      ...amount,
      amount: amount.value,
      operation_id,
      evidence: { provider, recorded },
    });
    await shop.query(
      `UPDATE findings SET check_at = now() - interval '1 day' WHERE finding_id = $1::bigint`,
      [id],
    );
    const person = new Client({ connectionString: shop.world.db.url });
    await person.connect();
    try {
      await person.query('BEGIN');
      await person.query(`SELECT 1 FROM findings WHERE finding_id = $1::bigint FOR UPDATE`, [id]);
      const sweep = shop.sweep();
      await until(
        async () => (await shop.query(`SELECT 1 FROM pg_locks WHERE NOT granted`)).length > 0,
        'the look that waits',
      );
      await person.query(
        `UPDATE findings SET state = 'dismissed', dismissed = $2 WHERE finding_id = $1::bigint`,
        [id, { by: 'desk', reason: 'known', at: NOW.toISOString(), facts }],
      );
      await person.query('COMMIT');
      await sweep;
    } finally {
      await person.end();
    }
    expect(await findingOf(reference)).toMatchObject({ state: 'dismissed', dismissed: { by: 'desk' } });
  });

  test('a person who thinks better of it gives the money back all the same', async () => {
    const { reference, id } = await second('regretted');
    await decide(id, 'dismiss');
    await decide(id, 'refund_stray');
    expect(await findingOf(reference)).toMatchObject({ state: 'resolved' });
    expect((await ledgerOf('regretted', reference)).refunded).toBe(10_000);
  });

  test('a payment that is missing is dismissed on what was recorded', async () => {
    await shop.query(
      `INSERT INTO findings (account, kind, reference, operation_id, state, amount, currency, message, evidence, suggested,
         suspected_at, opened_at, first_seen_at, last_seen_at, check_at)
       VALUES ('default', 'payment_missing', 'pi_gone', 'gone', 'open', 10000, 'EUR', 'missing',
         '{"provider": null, "recorded": {"operation_id": "gone", "captured": 10000}}', 'check_provider', now(), now(), now(),
         now(), now() + interval '1 day')`,
    );
    const { finding_id } = await findingOf('pi_gone');
    expect(await desk.whyNot(finding_id, 'refund_stray')).toContain('does not know');
    expect(await desk.whyNot(finding_id, 'adopt_payment')).toContain('that of an operation already');
    expect(await decide(finding_id, 'check_provider')).toMatchObject({
      outcome: { finding_state: 'open' },
    });
    await decide(finding_id, 'dismiss');
    expect(await findingOf('pi_gone')).toMatchObject({ state: 'dismissed' });
  });
});

describe('check_provider', () => {
  test('keeps what is still so, and resolves what is not; nothing is sent', async () => {
    const { reference, id } = await second('checked');
    expect(await decide(id, 'check_provider')).toMatchObject({ outcome: { finding_state: 'open' } });
    await shop.control.dashboard('refund', { payment_intent: reference });
    const before = (await posts()).length;
    expect(await decide(id, 'check_provider')).toMatchObject({
      state: 'observed',
      outcome: { finding_state: 'resolved', payment: { reference } },
    });
    expect((await posts()).length).toBe(before);
    // And looks again at what has been resolved.
    await shop.control.dashboard('fail_refund', { payment_intent: reference });
    expect(await decide(id, 'check_provider')).toMatchObject({ outcome: { finding_state: 'open' } });
  });
});

test('a payment that cannot be read: nothing is decided on it, and a look waits', async () => {
  const { id } = await second('unreadable');
  const fault = await shop.control.inject({
    route: 'payment_intents.retrieve',
    kind: '503_message',
    times: null,
    match: { operation_id: 'unreadable' },
  });
  expect(await desk.whyNot(id, 'refund_stray')).toContain('cannot be read');
  expect(await desk.whyNot(id, 'dismiss')).toContain('cannot be read');
  const told = await decide(id, 'check_provider');
  expect(told).toMatchObject({ state: 'accepted', waits_for: expect.stringContaining('cannot be read') });
  await shop.control.removeFault(fault.id);
  await shop.query('UPDATE finding_commands SET due_at = now() WHERE due_at IS NOT NULL');
  await shop.sweeper().carryOut();
  expect(await toldOf(id, told.preview_id)).toMatchObject({
    state: 'observed',
    outcome: { finding_state: 'open' },
  });
});

describe('adopt_payment', () => {
  test('is the operation’s own command: paid once, reported as the operation’s outcome', async () => {
    const { reference, id } = await adoptable('adopter');
    const told = await decide(id, 'adopt_payment');
    expect(told.effects.join(' ')).toContain('becomes the payment of this order');
    expect(told).toMatchObject({
      state: 'observed',
      outcome: { operation: { phase: 'fulfilled', payment: { captured: 10_000 } } },
    });
    expect((await shop.settle('adopter')).status).toMatchObject({
      phase: 'fulfilled',
      provider_reference: reference,
    });
    expect(await refundsAsked('adopter')).toEqual([]);
    await shop.decided();
    expect(await findingOf(reference)).toMatchObject({
      state: 'resolved',
      last_command: { command: 'adopt_payment', state: 'observed' },
    });
    expect(await desk.whyNot(id, 'refund_stray')).toContain('gone');
  });

  test('is checked by the same rules, and says plainly what the payment does not bring', async () => {
    const cheap = await adoptable('short', { amount: 9_000 });
    expect(await desk.whyNot(cheap.id, 'adopt_payment')).toContain('90.00 EUR');
    const partly = await adoptable('partly');
    await shop.control.dashboard('refund', { payment_intent: partly.reference, amount: 2_500 });
    const { effects } = findingPreviewed(await desk.preview(partly.id, 'adopt_payment'));
    expect(effects.join(' ')).toContain('25.00 EUR went back already');
    const disputed = await adoptable('charged-back');
    await shop.control.dashboard('open_dispute', { payment_intent: disputed.reference });
    expect(await desk.whyNot(disputed.id, 'adopt_payment')).toContain('Nothing of it is left');
    const orphan = await stray('no such order');
    await swept(orphan, () => true);
    expect(await desk.whyNot((await findingOf(orphan)).finding_id, 'adopt_payment')).toContain(
      'no operation',
    );
    const paid = await second('paid already');
    expect(await desk.whyNot(paid.id, 'adopt_payment')).toContain('not canceled');
  });

  test('by one person and given back by another at the same moment: one of them is told, and one thing is done', async () => {
    exclusive.add('default');
    const { reference, id } = await nobodys();
    const wanting = 'wanting it';
    await shop.order(wanting, { payment: { capture: 'manual' } });
    await shop.settle(wanting);
    await shop.control.dashboard('expire_authorization', { operation_id: wanting });
    await shop.settle(wanting);
    const orders = aDesk(shop);
    const adoption = previewed(await orders.preview(wanting, 'adopt_payment', { reference }));
    const refund = findingPreviewed(await desk.preview(id, 'refund_stray'));
    rest();
    const holder = new Client({ connectionString: shop.world.db.url });
    await holder.connect();
    try {
      // The adoption has looked, and is about to be written.
      await holder.query('BEGIN');
      await holder.query('SELECT 1 FROM order_operations WHERE operation_id = $1 FOR UPDATE', [wanting]);
      const adopted = orders.confirm(wanting, adoption.preview_id, 'colleague');
      await until(
        async () => (await shop.query(`SELECT 1 FROM pg_locks WHERE NOT granted`)).length > 0,
        'the adoption that waits',
      );
      findingCommanded(await desk.confirm(id, refund.preview_id));
      await holder.query('COMMIT');
      expect(refusal(await adopted)).toEqual([409, 'command_not_available']);
    } finally {
      await holder.end();
      exclusive.clear();
    }
    work();
    await shop.sweeper().carryOut();
    expect((await toldOf(id, refund.preview_id)).outcome?.summary).toContain('was given back by the refund');
    expect((await shop.settle(wanting)).status.provider_reference).not.toBe(reference);
  });

  test('an order that comes while the call is under way gets no goods for money that goes back', async () => {
    const reference = await stray('late order');
    const { finding_id: id } = await swept(reference, () => true);
    rest();
    const { preview_id } = await decide(id, 'refund_stray');
    const { accounts: real } = shop.world.worker();
    const provider = real.provider('default');
    if (provider === undefined) throw new Error('the account is configured');
    let meanwhile: unknown = null;
    const apply: typeof provider.apply = async (call) => {
      await shop.adopt('late order', reference);
      meanwhile = (await shop.settle('late order')).status;
      return provider.apply(call);
    };
    const accounts = like(real, { provider: () => like(provider, { apply }) });
    await shop.sweeper({ accounts }).carryOut();
    work();
    expect(meanwhile).toMatchObject({ provider_reference: null, payment: { captured: 0 } });
    expect((await toldOf(id, preview_id)).outcome?.summary).toContain('was given back by the refund');
    const { status } = await shop.settle('late order');
    expect(status).toMatchObject({
      provider_reference: reference,
      attention: { reason: 'RefundedElsewhere' },
      payment: { captured: 10_000, refunded: 10_000 },
    });
    expect(status.inventory.state).not.toBe('committed');
  });

  test('not while a person gives it back; and that not while an order is to adopt it', async () => {
    const wanting = await adoptable('wanting');
    const { reference, id } = await second('contested');
    rest();
    await decide(id, 'refund_stray');
    expect(await desk.whyNot(id, 'adopt_payment')).toContain('give this payment back');
    const preview = await shop.asSupport('POST', pathOf('wanting', '/commands/preview'), {
      body: { command: 'adopt_payment', parameters: { reference } },
    });
    expect(problem(preview).detail).toContain('give this payment back');
    work();
    await shop.sweeper().carryOut();
    expect(await desk.whyNot(wanting.id, 'refund_stray')).toContain('may still take');
  });
});

describe('money that one person may not move alone', () => {
  let guarded: Swept;
  let guardedDesk: FindingsDesk;
  beforeAll(async () => {
    guarded = await aSweptShop({ works: true, patience_ms: 500, approval_amount: { EUR: 2_000 } });
    guardedDesk = aFindingsDesk(guarded);
    const worker = guarded.sweeper();
    guarded.onDecision(() => worker.carryOut());
  });
  afterAll(() => guarded.stop());
  const found = async (name: string, amount: number) => {
    const payment = { amount, currency: 'eur', payment_method: 'pm_card_visa' };
    const { id } = await guarded.control.dashboard('create_stray', {
      ...payment,
      metadata: { operation_id: name },
    });
    await guarded.sweep();
    const finding = (await guarded.findings()).find(({ provider_reference }) => provider_reference === id);
    return { reference: id, id: finding?.finding_id ?? '' };
  };
  const refunds = async (name: string) => (await guarded.control.ledger(name)).refunds.length;

  test('waits for a second person, who sees what the first one saw; the first one cannot approve', async () => {
    const { reference, id } = await found('large', 3_000);
    const preview = findingPreviewed(await guardedDesk.preview(id, 'refund_stray', 'lead'));
    expect(preview.effects.join(' ')).toContain('a second one');
    expect(refusal(await guardedDesk.approve(id, preview.preview_id))).toEqual([
      409,
      'command_not_available',
    ]);
    const asked = findingCommanded(await guardedDesk.confirm(id, preview.preview_id, 'lead'));
    expect(asked).toMatchObject({ state: 'awaiting_approval', requested_by: 'lead', outcome: null });
    await guarded.sweep();
    expect(await refunds('large')).toBe(0);
    expect((await guarded.findings())[0]?.last_command).toMatchObject({ state: 'awaiting_approval' });
    const approve = `/v1/findings/${id}/commands/${preview.preview_id}/approval`;
    expect(await approvalsOf(guarded)).toMatchObject([
      { about: 'finding', id, command: 'refund_stray', approve },
    ]);

    expect(refusal(await guardedDesk.approve(id, preview.preview_id, 'desk'))).toEqual([
      403,
      'scope_missing',
    ]);
    expect(refusal(await guardedDesk.approve(id, preview.preview_id, 'lead'))).toEqual([
      403,
      'second_person_needed',
    ]);
    expect(findingCommanded(await guardedDesk.confirm(id, preview.preview_id, 'boss'))).toMatchObject({
      state: 'awaiting_approval',
      evidence: preview.evidence,
    });
    const answers = await Promise.all([
      guardedDesk.approve(id, preview.preview_id, 'boss'),
      guardedDesk.approve(id, preview.preview_id, 'boss'),
    ]);
    for (const answer of answers)
      expect(findingCommanded(answer)).toMatchObject({ requested_by: 'lead', approved_by: 'boss' });
    expect(await approvalsOf(guarded)).toEqual([]);
    await guarded.decided();
    expect(await refunds('large')).toBe(1);
    expect((await guarded.intent(reference)).status).toBe('succeeded');
  });

  test('approved too late, or when it is not as it was, it is not carried out; what is small needs nobody else', async () => {
    const { reference, id } = await found('stale', 3_000);
    const request = async (): Promise<string> => {
      const { preview_id } = findingPreviewed(await guardedDesk.preview(id, 'refund_stray'));
      expect(findingCommanded(await guardedDesk.confirm(id, preview_id))).toMatchObject({
        state: 'awaiting_approval',
      });
      return preview_id;
    };
    const late = await request();
    await guarded.query('UPDATE finding_commands SET expires_at = now() WHERE preview_id = $1', [late]);
    expect(refusal(await guardedDesk.approve(id, late))).toEqual([410, 'preview_expired']);
    expect(refusal(await guardedDesk.confirm(id, late))).toEqual([410, 'preview_expired']);
    const overtaken = await request();
    await guarded.control.dashboard('refund', { payment_intent: reference, amount: 500 });
    expect(refusal(await guardedDesk.approve(id, overtaken))).toEqual([412, 'operation_changed']);
    expect(await refunds('stale')).toBe(1);
    const small = await found('small', 2_000);
    await guardedDesk.command(small.id, 'refund_stray');
    await guarded.decided();
    expect(await refunds('small')).toBe(1);
  });

  test('an adoption is approved as the operation’s own command', async () => {
    await guarded.order('adopts', { payment: { capture: 'manual' } });
    await guarded.settle('adopts');
    await guarded.control.dashboard('expire_authorization', { operation_id: 'adopts' });
    await guarded.settle('adopts');
    const { reference, id } = await found('adopts', 10_000);
    const { preview_id } = findingPreviewed(await guardedDesk.preview(id, 'adopt_payment'));
    expect(findingCommanded(await guardedDesk.confirm(id, preview_id))).toMatchObject({
      state: 'awaiting_approval',
      requested_by: 'desk',
    });
    expect((await guarded.settle('adopts')).status.provider_reference).not.toBe(reference);
    expect(findingCommanded(await guardedDesk.approve(id, preview_id))).toMatchObject({
      approved_by: 'boss',
    });
    expect((await guarded.settle('adopts')).status).toMatchObject({
      phase: 'fulfilled',
      provider_reference: reference,
    });
  });
});
