/** Commands of support staff through HTTP: what they do to the world, and what a stale, foreign or second one does not. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CommandStore } from '../../src/store/command-store.js';
import { pathOf, problem, refusal } from '../support/api.js';
import { aDesk, approvalsOf, commanded, previewed, type Desk } from '../support/desk.js';
import { until } from '../support/product.js';
import { aShop, HOUR, type Shop } from '../support/shop.js';

let shop: Shop;
let desk: Desk;
beforeAll(async () => {
  shop = await aShop({ works: true, patience_ms: 5_000 });
  desk = aDesk(shop);
});
afterAll(() => shop.stop());

const paid = async (id: string, payment_method = 'pm_card_visa'): Promise<void> => {
  await shop.order(id, { payment: { payment_method } });
  expect((await shop.settle(id)).status.phase).toBe('fulfilled');
};
const refund = (id: string, refund_id: string, amount: number) =>
  shop.call('POST', pathOf(id, '/refunds'), { body: { refund_id, amount } });
const posts = async (id: string, route: string) =>
  (await shop.control.journal({ operation_id: id, route })).length;
const eventsOf = async (id: string) =>
  (await shop.asSupport('GET', pathOf(id, '/events'))).json<{
    items: { type: string; actor: { kind: string; name: string }; data: Record<string, unknown> | null }[];
  }>().items;
const expire = (previewId: string) =>
  shop.world.db.database.query('UPDATE commands SET expires_at = now() WHERE preview_id = $1', [previewId]);

/** An order whose refund r1 of 30.00 failed at the bank. */
async function failedRefund(id: string): Promise<string> {
  await paid(id, 'pm_card_refundFail');
  await refund(id, 'r1', 3_000);
  const [sent] = (await shop.settle(id)).status.refunds;
  if (sent?.state !== 'failed')
    await shop.control.dashboard('fail_refund', { refund: sent?.provider_reference });
  const { status } = await shop.settle(id);
  expect(status).toMatchObject({ attention: { reason: 'RefundFailed' } });
  return status.refunds[0]?.provider_reference ?? '';
}

describe('what every command has in common', () => {
  test('the preview shows what is observed now, what is recorded and what will happen; it does nothing', async () => {
    await paid('shown');
    const before = await shop.control.journalSequence();
    await shop.control.dashboard('refund', { operation_id: 'shown', amount: 400 });
    const preview = previewed(await desk.preview('shown', 'pause'));
    expect(preview).toMatchObject({
      evidence: {
        observed: {
          payment: { kind: 'present', value: { provider_status: 'succeeded', captured: 10_000 } },
          inventory: { kind: 'present', value: { state: 'committed' } },
        },
        recorded: { phase: 'fulfilled', payment: { captured: 10_000, refunded: 0 } },
        open_attempts: [],
        last_attempt: { step: 'commit_inventory', outcome: 'done' },
      },
      effects: [expect.stringContaining('Nothing is sent'), expect.any(String)],
    });
    const journal = await shop.control.journal({ after: before, method: 'POST' });
    expect(journal).toEqual([]);
    expect((await shop.get('shown')).metadata.paused).toBeNull();
  });

  test('it is bound to what was seen: 412 with what changed, and nothing is done', async () => {
    await paid('changed');
    const { preview_id } = previewed(await desk.preview('changed', 'pause'));
    await shop.control.dashboard('refund', { operation_id: 'changed', amount: 400 });
    const answer = await desk.confirm('changed', preview_id);
    expect(refusal(answer)).toEqual([412, 'operation_changed']);
    expect(problem(answer).changes?.map(({ what }) => what)).toContain('refunds');
    await refund('changed', 'r1', 100);
    expect(refusal(await desk.confirm('changed', preview_id))).toEqual([412, 'operation_changed']);
    expect((await shop.get('changed')).metadata.paused).toBeNull();
  });

  test('it expires, belongs to one operation, and needs its scope', async () => {
    await paid('expires');
    await paid('other');
    const { preview_id } = previewed(await desk.preview('expires', 'pause'));
    expect(refusal(await desk.confirm('other', preview_id))).toEqual([404, 'not_found']);
    expect(refusal(await desk.confirm('expires', 'no-such-preview'))).toEqual([404, 'not_found']);
    expect(refusal(await desk.confirm('expires', preview_id, 'shop'))).toEqual([403, 'scope_missing']);
    expect(refusal(await desk.preview('expires', 'pause', {}, 'shop'))).toEqual([403, 'scope_missing']);
    expect(refusal(await desk.preview('nobody', 'pause'))).toEqual([404, 'not_found']);
    await expire(preview_id);
    expect(refusal(await desk.confirm('expires', preview_id))).toEqual([410, 'preview_expired']);
    expect((await shop.get('expires')).metadata.paused).toBeNull();
  });

  test.each([
    ['record_outcome', { step: 'confirm_payment', outcome: 'done', evidence: 'seen' }],
    ['release_finalizer', { name: 'payment', left_behind: 'all' }],
    ['give_up', {}],
  ])('%s is for a lead', async (command, parameters) => {
    expect(refusal(await desk.preview('shown', command, parameters))).toEqual([403, 'scope_missing']);
    expect([201, 409]).toContain((await desk.preview('shown', command, parameters, 'lead')).status);
  });

  test.each([
    ['retry_refund', {}, '/parameters/refund_id'],
    ['reauthorize', { payment_method: '' }, '/parameters/payment_method'],
    ['adopt_payment', { reference: 'ch_1' }, '/parameters/reference'],
    ['pause', { reason: 'no' }, '/parameters/reason'],
    ['new_key', {}, '/command'],
  ])('%s with %j: 400', async (command, parameters, pointer) => {
    expect(refusal(await desk.preview('shown', command, parameters))).toEqual([
      400,
      'invalid_request',
      pointer,
    ]);
  });

  test('twice, and by two people at once, it is one command', async () => {
    const failed = await failedRefund('twice');
    const { preview_id } = previewed(await desk.preview('twice', 'retry_refund', { refund_id: 'r1' }));
    const answers = await Promise.all(
      (['desk', 'colleague', 'lead', 'desk', 'boss'] as const).map((by) =>
        desk.confirm('twice', preview_id, by, `by ${by}`),
      ),
    );
    const commands = answers.map(commanded);
    expect(new Set(commands.map(({ requested_by, reason }) => `${requested_by} ${reason}`)).size).toBe(1);
    const again = commanded(await desk.confirm('twice', preview_id));
    expect(again).toMatchObject({ preview_id, state: 'observed', requested_by: commands[0]?.requested_by });
    await shop.settle('twice');
    expect(await posts('twice', 'refunds.create')).toBe(2);
    expect((await eventsOf('twice')).filter(({ type }) => type === 'command_retry_refund')).toHaveLength(1);
    expect((await eventsOf('twice')).filter(({ type }) => type === 'command_observed')).toHaveLength(1);
    // Two previews of the same thing are not two effects either.
    expect(failed).toMatch(/^re_/);
    expect(await desk.whyNot('twice', 'retry_refund', { refund_id: 'r1' })).toBe(
      'No refund of this order has failed or was canceled at the provider.',
    );
  });
});

test('whoever decides is named as what they are: a key, or a person who signed in', async () => {
  const actors = async (id: string, type: string) =>
    (await eventsOf(id)).filter((event) => event.type === type).map(({ actor }) => actor);
  const anna = { kind: 'person', name: 'anna' };
  await paid('signed');
  await desk.command('signed', 'pause', {}, 'anna');
  await desk.command('signed', 'resume', {}, 'lead');
  expect(await actors('signed', 'command_pause')).toEqual([anna]);
  expect(await actors('signed', 'command_resume')).toEqual([{ kind: 'key', name: 'lead' }]);

  const bulk = { command: 'pause', operation_ids: ['signed'] };
  const { bulk_id } = (await shop.as('anna')('POST', '/v1/bulk-commands/preview', { body: bulk })).json<{
    bulk_id: string;
  }>();
  const body = { bulk_id, reason: 'a wrong price list' };
  expect((await shop.as('anna')('POST', '/v1/bulk-commands', { body })).status).toBe(202);
  await until(
    async () => (await actors('signed', 'command_pause')).length === 2,
    'the row to be carried out',
  );
  expect(await actors('signed', 'command_pause')).toEqual([anna, anna]);
});

test('a process that dies before it can tell the outcome leaves a command that is done once, and told later', async () => {
  await paid('died');
  const { preview_id } = previewed(await desk.preview('died', 'pause'));
  commanded(await desk.confirm('died', preview_id));
  await shop.world.db.database.query(
    `UPDATE commands SET state = 'accepted', outcome = NULL WHERE preview_id = $1`,
    [preview_id],
  );
  const { metadata } = await shop.get('died');
  const told = commanded(await desk.confirm('died', preview_id, 'colleague'));
  expect(told).toMatchObject({ state: 'observed', requested_by: 'desk', outcome: { phase: 'fulfilled' } });
  expect((await shop.get('died')).metadata).toEqual(metadata);
});

test('a pass that broke off, or whose lease was taken away, has told nothing of what a command did', async () => {
  await paid('told');
  const { preview_id } = previewed(await desk.preview('told', 'pause'));
  commanded(await desk.confirm('told', preview_id));
  const { database } = shop.world.db;
  const store = new CommandStore(database);
  const looked = async (column: string): Promise<boolean> => {
    await database.query(`UPDATE order_operations SET ${column} = ${column} + 1 WHERE operation_id = 'told'`);
    const is = await store.looked(preview_id);
    await database.query(`UPDATE order_operations SET ${column} = ${column} - 1 WHERE operation_id = 'told'`);
    return is;
  };
  expect(await store.looked(preview_id)).toBe(true);
  expect(await looked('broken')).toBe(false);
  // As when another payment wakes the order and ends the lease.
  expect(await looked('wake')).toBe(false);
});

test('previews that nobody confirmed are forgotten after a day, decisions never', async () => {
  await paid('tidy');
  await paid('beside');
  const age = `UPDATE commands SET expires_at = now() - interval '25 hours' WHERE preview_id = $1`;
  const old = async (id: string): Promise<string> => {
    const { preview_id } = previewed(await desk.preview(id, 'check_provider'));
    await shop.world.db.database.query(age, [preview_id]);
    return preview_id;
  };
  const { preview_id: decided } = previewed(await desk.preview('tidy', 'check_provider'));
  commanded(await desk.confirm('tidy', decided));
  await shop.world.db.database.query(age, [decided]);
  const other = await old('beside');
  const [first, fresh] = [await old('tidy'), previewed(await desk.preview('tidy', 'pause')).preview_id];
  const rows = await shop.world.db.database.query<{ preview_id: string }>('SELECT preview_id FROM commands');
  const kept = rows.map(({ preview_id }) => preview_id);
  expect(kept).toEqual(expect.arrayContaining([decided, other, fresh]));
  expect(kept).not.toContain(first);
});

describe('when nothing can be read', () => {
  let dark: Shop;
  let darkDesk: Desk;
  beforeAll(async () => {
    dark = await aShop({ works: true, patience_ms: 5_000 });
    darkDesk = aDesk(dark);
    await dark.order('calm');
    await dark.settle('calm');
    await dark.order('lapsed', { payment: { capture: 'manual' } });
    await dark.settle('lapsed');
    await dark.control.dashboard('expire_authorization', { operation_id: 'lapsed' });
    await dark.settle('lapsed');
    await dark.order('refused', { payment: { payment_method: 'pm_card_refundFail' } });
    await dark.settle('refused');
    await dark.call('POST', pathOf('refused', '/refunds'), { body: { refund_id: 'r1', amount: 100 } });
    await dark.settle('refused');
    await dark.control.dashboard('fail_refund', { operation_id: 'refused' });
    await dark.settle('refused');
    await dark.control.outage({ mode: 'drop' });
  });
  afterAll(() => dark.stop());

  test.each([
    ['lapsed', 'reauthorize', { payment_method: 'pm_card_visa' }, 'cannot be read now'],
    ['lapsed', 'adopt_payment', { reference: 'pi_another' }, 'cannot be read now'],
    ['refused', 'retry_refund', { refund_id: 'r1' }, 'cannot be read now'],
    ['calm', 'retry', {}, 'when it was last seen'],
    ['calm', 'give_up', {}, 'when it was last seen'],
  ])(
    '%s, %s: what is recorded is not decided on as if it had been read',
    async (id, command, parameters, why) => {
      expect(await darkDesk.whyNot(id, command, parameters, 'lead')).toContain(why);
    },
  );

  test('a look that sees nothing says so, and when it was seen last', async () => {
    const { status } = await dark.get('calm');
    await dark.later(HOUR);
    const { outcome } = await darkDesk.command('calm', 'check_provider');
    expect(outcome?.summary).toContain('Not all could be read');
    expect(outcome?.summary).not.toContain('observed at the provider');
    expect(outcome?.observed_at).toBe(status.payment.observed_at);
  });
});

describe('check_provider', () => {
  test('says at once what was read, and the record follows; nothing is sent', async () => {
    await paid('checked');
    await shop.control.dashboard('refund', { operation_id: 'checked', amount: 400 });
    const before = await shop.control.journalSequence();
    const { metadata } = await shop.get('checked');
    const command = await desk.command('checked', 'check_provider');
    expect(command).toMatchObject({
      state: 'observed',
      outcome: { phase: 'fulfilled', payment: { captured: 10_000, refunded: 400 }, attempts: [] },
    });
    const { status } = await shop.settle('checked');
    expect(status.payment.refunded).toBe(400);
    expect(await shop.control.journal({ after: before, method: 'POST' })).toEqual([]);
    expect(metadata.closed).toBeNull();
    expect((await shop.get('checked')).metadata.closed).toBeNull();
  });
});

describe('retry', () => {
  test('gives a fresh budget under the same keys, as often as asked; the order converges once it is healed', async () => {
    const fault = await shop.control.inject({
      route: 'payment_intents.confirm',
      kind: '503_message',
      times: null,
      match: { operation_id: 'exhausted' },
    });
    await shop.order('exhausted');
    const exhaust = async (): Promise<void> => {
      const { status } = await shop.settle('exhausted');
      expect(status).toMatchObject({
        attention: { reason: 'RetryBudgetExhausted' },
        retry_budget: { limit: 8, used: 8 },
      });
      const commands = Object.fromEntries(
        (status.attention?.commands ?? []).map(({ name, available }) => [name, available]),
      );
      expect(commands).toMatchObject({
        retry: true,
        check_provider: true,
        resume: false,
        retry_refund: false,
      });
    };
    await exhaust();
    const first = await desk.command('exhausted', 'retry');
    expect(first.effects.join(' ')).toContain('under the same key');
    expect(first.outcome).toMatchObject({
      attempts: [{ step: 'confirm_payment', outcome: 'unknown' }],
    });
    await exhaust();
    await shop.control.removeFault(fault.id);
    const second = await desk.command('exhausted', 'retry');
    expect(second.outcome?.attempts.map(({ step, outcome }) => `${step} ${outcome}`)).toContain(
      'confirm_payment done',
    );
    const done = await shop.settle('exhausted');
    expect(done).toMatchObject({
      status: { phase: 'fulfilled', attention: null, retry_budget: { used: 0 } },
      metadata: { closed: { verdict: 'baseline', by: 'desk' } },
    });
    expect(await shop.control.ledger('exhausted')).toMatchObject({
      captured: 10_000,
      effects: { creates: 1, confirms: 1 },
      violations: [],
    });
    expect(await desk.whyNot('exhausted', 'retry')).toContain('as wanted');
  });
});

describe('retry_refund', () => {
  test('makes a failed refund once more under a new ordinal and key; of the amount, one goes out', async () => {
    const failed = await failedRefund('again');
    expect(await desk.whyNot('again', 'retry_refund', { refund_id: 'r9' })).toContain('no refund r9');
    const command = await desk.command('again', 'retry_refund', { refund_id: 'r1' });
    expect(command.effects[0]).toContain(failed);
    expect(command.outcome?.attempts).toMatchObject([{ step: 'create_refund', target: 'r1', ordinal: 2 }]);
    const keys = new Set(
      (await shop.control.journal({ operation_id: 'again', route: 'refunds.create' })).map(
        ({ idempotency_key }) => idempotency_key,
      ),
    );
    expect(keys.size).toBe(2);
    const { status } = await shop.settle('again');
    expect(status.refunds.filter(({ refund_id }) => refund_id === 'r1')).toHaveLength(2);
    expect((await shop.control.ledger('again')).violations).toEqual([]);
  });

  test('an answer that is lost is no second refund; one that is not failed is not made again', async () => {
    await failedRefund('again-lost');
    await shop.control.inject({
      route: 'refunds.create',
      kind: 'effect_then_drop',
      times: 2,
      match: { operation_id: 'again-lost' },
    });
    await desk.command('again-lost', 'retry_refund', { refund_id: 'r1' });
    await shop.settle('again-lost');
    const keys = (await shop.control.journal({ operation_id: 'again-lost', route: 'refunds.create' })).map(
      ({ idempotency_key }) => idempotency_key,
    );
    expect(new Set(keys).size).toBe(2);
    expect((await shop.control.ledger('again-lost')).effects.refunds).toBe(2);

    await paid('whole');
    await refund('whole', 'r1', 1_000);
    await shop.settle('whole');
    expect(await desk.whyNot('whole', 'retry_refund', { refund_id: 'r1' })).toContain('No refund');
  });

  test('a cancellation’s own refund that failed is made again, and the cancellation completes', async () => {
    await paid('cancel-again', 'pm_card_refundFail');
    await shop.cancel('cancel-again');
    let seen = await shop.settle('cancel-again');
    const own = seen.status.refunds.find(({ refund_id }) => refund_id === 'cancellation');
    if (own?.state !== 'failed') {
      await shop.control.dashboard('fail_refund', { refund: own?.provider_reference });
      seen = await shop.settle('cancel-again');
    }
    expect(seen.status).toMatchObject({ phase: 'cancelling', attention: { reason: 'RefundFailed' } });
    await desk.command('cancel-again', 'retry_refund', { refund_id: 'cancellation' });
    seen = await shop.settle('cancel-again');
    expect(seen.status.refunds.map(({ refund_id }) => refund_id)).toEqual(['cancellation', 'cancellation-2']);
    expect(seen).toMatchObject({
      status: { phase: 'cancelled', attention: null },
      metadata: { closed: { verdict: 'baseline' } },
    });
  });
});

describe('refunds that others get in the way of', () => {
  test('refused by the provider (31): never sent as far as anybody can see, until a person tries again', async () => {
    await paid('refused');
    const fault = await shop.control.inject({
      route: 'refunds.create',
      kind: '400_insufficient_funds',
      times: null,
      match: { operation_id: 'refused' },
    });
    await refund('refused', 'r1', 4_000);
    const { status } = await shop.settle('refused');
    expect(status).toMatchObject({
      attention: { reason: 'ProviderRejected' },
      refunds: [{ refund_id: 'r1', state: 'requested', provider_reference: null }],
    });
    expect(await desk.whyNot('refused', 'retry_refund', { refund_id: 'r1' })).toContain('No refund');
    const still = await desk.command('refused', 'retry');
    expect(still.outcome?.refunds).toMatchObject([{ refund_id: 'r1', state: 'requested' }]);
    await shop.settle('refused');
    await shop.control.removeFault(fault.id);
    await desk.command('refused', 'retry');
    expect((await shop.settle('refused')).status).toMatchObject({
      attention: null,
      payment: { refunded: 4_000 },
      refunds: [{ refund_id: 'r1', state: 'succeeded' }],
    });
    expect(await shop.control.ledger('refused')).toMatchObject({ refunded: 4_000, effects: { refunds: 1 } });
  });

  test('given back in the dashboard (36): nothing is left to send, whatever a person asks', async () => {
    await failedRefund('elsewhere');
    const { preview_id } = previewed(await desk.preview('elsewhere', 'retry_refund', { refund_id: 'r1' }));
    await shop.control.dashboard('refund', { operation_id: 'elsewhere', amount: 10_000 });
    expect(refusal(await desk.confirm('elsewhere', preview_id))).toEqual([412, 'operation_changed']);
    expect(await desk.whyNot('elsewhere', 'retry_refund', { refund_id: 'r1' })).toContain('0.00 EUR is left');
    const checked = await desk.command('elsewhere', 'check_provider');
    expect(checked.outcome).toMatchObject({ attention: null, payment: { refunded: 10_000 } });
    expect((await shop.settle('elsewhere')).status.attention).toBeNull();
    expect(await desk.whyNot('elsewhere', 'give_up', {}, 'lead')).toContain('as wanted');
    expect(await shop.control.ledger('elsewhere')).toMatchObject({ refunded: 10_000, violations: [] });
  });
});

describe('reauthorize (34)', () => {
  const held = { payment: { capture: 'manual' } };

  test('only once the old payment is observed canceled; then a new one is made and kept apart', async () => {
    await shop.order('lapsed', held);
    await shop.settle('lapsed');
    expect(await desk.whyNot('lapsed', 'reauthorize', { payment_method: 'pm_card_visa' })).toContain(
      'canceled',
    );
    await shop.control.dashboard('expire_authorization', { operation_id: 'lapsed' });
    const { status } = await shop.settle('lapsed');
    expect(status).toMatchObject({ phase: 'payment_failed', attention: { reason: 'AuthorizationExpired' } });
    const former = status.provider_reference;
    await shop.later(48 * HOUR);

    const command = await desk.command('lapsed', 'reauthorize', { payment_method: 'pm_card_mastercard' });
    expect(command.outcome).toMatchObject({ phase: 'authorized' });
    const again = await shop.settle('lapsed');
    expect(again.status).toMatchObject({
      phase: 'authorized',
      attention: null,
      payment: { state: 'authorized', authorized: 10_000 },
    });
    expect(again.status.provider_reference).not.toBe(former);
    expect((await shop.intent(former ?? '')).status).toBe('canceled');

    await shop.call('POST', pathOf('lapsed', '/capture'));
    expect((await shop.settle('lapsed')).status.phase).toBe('fulfilled');
    expect(await shop.control.ledger('lapsed')).toMatchObject({ captured: 10_000, violations: [] });
  });

  test('not before it is recorded what became of every call to the old one', async () => {
    const fault = await shop.control.inject({
      route: 'payment_intents.confirm',
      kind: 'drop_before',
      times: null,
      match: { operation_id: 'doubted' },
    });
    await shop.order('doubted');
    expect((await shop.settle('doubted')).status.phase).toBe('payment_unknown');
    await shop.control.removeFault(fault.id);
    await shop.control.dashboard('cancel', { operation_id: 'doubted' });
    // The desk's own reading settles the doubt; the journal does not say so yet.
    const parameters = { payment_method: 'pm_card_visa' };
    expect(await desk.whyNot('doubted', 'reauthorize', parameters)).toContain('confirm_payment');
    expect((await shop.settle('doubted')).status.phase).toBe('payment_failed');
    await desk.command('doubted', 'reauthorize', parameters);
    const { status } = await shop.settle('doubted');
    expect(status).toMatchObject({ phase: 'fulfilled', attention: null });
    expect(await shop.control.ledger('doubted')).toMatchObject({ captured: 10_000, violations: [] });
  });

  test('a worker that still works with the old payment loses its lease', async () => {
    await shop.order('fenced', held);
    await shop.settle('fenced');
    await shop.control.dashboard('expire_authorization', { operation_id: 'fenced' });
    await shop.settle('fenced');
    const preview = previewed(
      await desk.preview('fenced', 'reauthorize', { payment_method: 'pm_card_visa' }),
    );
    await shop.world.hurry('fenced');
    const stale = shop.world.worker({ clock: shop.clock });
    const { claims } = await shop.world.passes.claim(1, stale.worker, stale.lease_ms, 1_000);
    expect(claims.map(({ record }) => record.operation_id)).toEqual(['fenced']);
    commanded(await desk.confirm('fenced', preview.preview_id));
    const [claim] = claims;
    if (claim === undefined) throw new Error('nothing was claimed');
    const { facts, status } = claim.record;
    const late = await shop.world.passes.recordAll([
      {
        row: claim.row,
        worker: stale.worker,
        fencing_token: claim.fencing_token,
        resource_version: claim.record.resource_version,
        generation: claim.record.generation,
        facts,
        status,
        provider_reference: claim.record.provider_reference,
        changed: true,
        completed: null,
        resolved: [],
        events: [],
        transitions: [],
        next: { kind: 'release', look_in_ms: 0 },
      },
    ]);
    expect(late).toMatchObject([{ held: false }]);
    const after = await shop.settle('fenced');
    expect(after.status).toMatchObject({ phase: 'authorized' });
    expect(after.status.provider_reference).not.toBe(claim.record.provider_reference);
  });
});

describe('adopt_payment', () => {
  test('is checked like a payment that the caller names, and pays the order once', async () => {
    await shop.order('adopter', { payment: { capture: 'manual' } });
    await shop.settle('adopter');
    const good = await shop.checkout({ payment_method: 'pm_card_visa' });
    expect(await desk.whyNot('adopter', 'adopt_payment', { reference: good.id })).toContain('not canceled');
    await shop.control.dashboard('expire_authorization', { operation_id: 'adopter' });
    await shop.settle('adopter');

    const cheap = await shop.checkout({ amount: 9_000, payment_method: 'pm_card_visa' });
    expect(await desk.whyNot('adopter', 'adopt_payment', { reference: cheap.id })).toContain('90.00 EUR');
    expect(await desk.whyNot('adopter', 'adopt_payment', { reference: 'pi_unknown' })).toContain(
      'pi_unknown',
    );
    const taken = await shop.checkout({ payment_method: 'pm_card_visa' });
    await shop.adopt('first', taken.id);
    await shop.settle('first');
    expect(await desk.whyNot('adopter', 'adopt_payment', { reference: taken.id })).toContain('"first"');

    await desk.command('adopter', 'adopt_payment', { reference: good.id });
    const { status } = await shop.settle('adopter');
    expect(status).toMatchObject({ phase: 'fulfilled', provider_reference: good.id, attention: null });
    expect(await shop.requests(good.id)).toEqual([]);
  });
});

describe('pause and resume', () => {
  test('stop what is sent, not what is read; resuming looks at once', async () => {
    await shop.order('paused', { payment: { capture: 'manual' } });
    await shop.settle('paused');
    await desk.command('paused', 'pause');
    expect((await shop.call('POST', pathOf('paused', '/capture'))).status).toBe(202);
    const held = await shop.settle('paused');
    expect(held).toMatchObject({
      metadata: { paused: { by: 'desk', reason: 'seen in the dashboard' } },
      status: { condition: 'Paused', payment: { state: 'authorized' } },
    });
    expect(await posts('paused', 'payment_intents.capture')).toBe(0);
    expect(await desk.whyNot('paused', 'pause')).toContain('paused');
    const resumed = await desk.command('paused', 'resume');
    expect(resumed.outcome).toMatchObject({ phase: 'fulfilled', payment: { captured: 10_000 } });
    expect(await shop.settle('paused')).toMatchObject({
      metadata: { paused: null, closed: null },
      status: { phase: 'fulfilled' },
    });
    expect(await desk.whyNot('paused', 'resume')).toContain('neither');
  });
});

describe('release_finalizer', () => {
  test('goods that are gone: cancelled, and what was left behind stays visible', async () => {
    await paid('gone');
    await shop.control.dashboard('ship', { operation_id: 'gone' });
    await shop.cancel('gone');
    const stuck = await shop.settle('gone');
    expect(stuck.status.cancellation?.finalizers).toMatchObject([{ name: 'inventory', reason: 'GoodsGone' }]);
    expect(
      await desk.whyNot('gone', 'release_finalizer', { name: 'payment', left_behind: 'x' }, 'lead'),
    ).toContain('no finalizer payment');
    const left_behind = 'two packets of tea at the customer';
    await desk.command('gone', 'release_finalizer', { name: 'inventory', left_behind }, 'lead');
    const { status, metadata } = await shop.settle('gone');
    expect(status).toMatchObject({ phase: 'cancelled', attention: null, cancellation: { finalizers: [] } });
    expect(status.conditions.find(({ type }) => type === 'LeftBehind')?.message).toContain(left_behind);
    expect(metadata.closed).toMatchObject({ verdict: 'known_deviation', by: 'lead', reason: left_behind });
    expect(await shop.control.ledger('gone')).toMatchObject({ refunded: 10_000, violations: [] });
  });

  test('a refund that fails for good: the money is named, nothing is sent, and more money asks again', async () => {
    await paid('kept', 'pm_card_refundFail');
    await shop.cancel('kept');
    let seen = await shop.settle('kept');
    const own = seen.status.refunds[0];
    if (own?.state !== 'failed') {
      await shop.control.dashboard('fail_refund', { refund: own?.provider_reference });
      seen = await shop.settle('kept');
    }
    const before = await posts('kept', 'refunds.create');
    await desk.command(
      'kept',
      'release_finalizer',
      { name: 'payment', left_behind: '100.00 EUR, paid back in cash' },
      'lead',
    );
    seen = await shop.settle('kept');
    expect(seen).toMatchObject({
      status: { phase: 'cancelled', payment: { captured: 10_000, refunded: 0 } },
      metadata: { closed: { verdict: 'known_deviation' } },
    });
    expect(await posts('kept', 'refunds.create')).toBe(before);
  });

  test('not while it goes on by itself', async () => {
    await paid('going');
    expect(
      await desk.whyNot('going', 'release_finalizer', { name: 'payment', left_behind: 'x' }, 'lead'),
    ).toContain('cancellation');
  });
});

describe('give_up', () => {
  test('nothing is sent any more, whoever asks; it is closed, and can be resumed', async () => {
    await failedRefund('given-up');
    await desk.command('given-up', 'give_up', { verdict: 'escalated' }, 'lead');
    let seen = await shop.settle('given-up');
    expect(seen).toMatchObject({
      status: { attention: null, condition: 'GivenUp' },
      metadata: { closed: { verdict: 'escalated', by: 'lead', reason: 'seen in the dashboard' } },
    });
    const before = await posts('given-up', 'refunds.create');
    // A new wish is not lost: it asks a person.
    expect((await shop.cancel('given-up')).status).toBe(202);
    seen = await shop.settle('given-up');
    expect(seen.status).toMatchObject({ phase: 'cancelling', attention: { reason: 'GivenUp' } });
    expect(await posts('given-up', 'refunds.create')).toBe(before);
    expect(refusal(await desk.preview('given-up', 'resume'))).toEqual([403, 'scope_missing']);
    const { preview_id } = previewed(await desk.preview('given-up', 'resume', {}, 'lead'));
    expect(refusal(await desk.confirm('given-up', preview_id))).toEqual([403, 'scope_missing']);
    commanded(await desk.confirm('given-up', preview_id, 'lead'));
    await shop.settle('given-up');
    expect(await posts('given-up', 'refunds.create')).toBeGreaterThan(before);
  });
});

describe('record_outcome', () => {
  const doubt = async (id: string) => {
    await shop.control.inject({
      route: 'payment_intents.confirm',
      kind: 'drop_before',
      times: null,
      match: { operation_id: id },
    });
    await shop.order(id);
    expect((await shop.settle(id)).status).toMatchObject({
      phase: 'payment_unknown',
      money_moved: { verdict: 'unknown' },
    });
    await shop.later(60_000);
  };
  const word = (outcome: string) => ({
    step: 'confirm_payment',
    outcome,
    evidence: 'ticket 4711 of the provider',
  });

  test('what a person says ends the doubt, stays marked, and is held against what is read', async () => {
    await doubt('asserted');
    expect(
      await desk.whyNot('asserted', 'record_outcome', { ...word('done'), step: 'capture_payment' }, 'lead'),
    ).toContain('not in doubt');
    // The provider can be read and does not show it.
    expect(await desk.whyNot('asserted', 'record_outcome', word('done'), 'lead')).toContain('read just now');
    await desk.command('asserted', 'pause');
    const preview = previewed(await desk.preview('asserted', 'record_outcome', word('no_effect'), 'lead'));
    commanded(await desk.confirm('asserted', preview.preview_id, 'lead'));
    await shop.later(60_000);
    let { status } = await shop.settle('asserted');
    expect(status.phase).not.toBe('payment_unknown');
    expect(status.conditions.find(({ type }) => type === 'Asserted')).toMatchObject({
      reason: 'OutcomeAsserted',
      message: expect.stringContaining('ticket 4711'),
    });
    // It happened after all: the late confirmation shows, and a person is told.
    await shop.control.dashboard('confirm', { operation_id: 'asserted', payment_method: 'pm_card_visa' });
    ({ status } = await shop.settle('asserted'));
    expect(status).toMatchObject({
      attention: { reason: 'AssertionRefuted' },
      payment: { captured: 10_000 },
      money_moved: { verdict: 'moved', amount: 10_000 },
    });
    await shop.later(60_000);
    await desk.command('asserted', 'record_outcome', word('done'), 'lead');
    await desk.command('asserted', 'resume');
    ({ status } = await shop.settle('asserted'));
    expect(status).toMatchObject({ phase: 'fulfilled', attention: null });
    expect(await shop.control.ledger('asserted')).toMatchObject({ captured: 10_000, violations: [] });
  });
});

describe('money that one person may not move alone', () => {
  let guarded: Shop;
  let guardedDesk: Desk;
  beforeAll(async () => {
    guarded = await aShop({ works: true, patience_ms: 5_000, approval_amount: { EUR: 2_000 } });
    guardedDesk = aDesk(guarded);
  });
  afterAll(() => guarded.stop());

  test('a request that nobody approved in time is over, for whoever asked as well', async () => {
    await guarded.order('lapsed', { payment: { capture: 'manual' } });
    await guarded.settle('lapsed');
    await guarded.control.dashboard('expire_authorization', { operation_id: 'lapsed' });
    await guarded.settle('lapsed');
    const { preview_id } = previewed(
      await guardedDesk.preview('lapsed', 'reauthorize', { payment_method: 'pm_card_visa' }),
    );
    expect(commanded(await guardedDesk.confirm('lapsed', preview_id)).state).toBe('awaiting_approval');
    await guarded.world.db.database.query('UPDATE commands SET expires_at = now() WHERE preview_id = $1', [
      preview_id,
    ]);
    expect(refusal(await guardedDesk.confirm('lapsed', preview_id))).toEqual([410, 'preview_expired']);
    expect(refusal(await guardedDesk.approve('lapsed', preview_id))).toEqual([410, 'preview_expired']);
  });

  test('waits for a second person, who sees what the first one saw; the first one cannot approve', async () => {
    await guarded.order('large', { payment: { payment_method: 'pm_card_refundFail' } });
    await guarded.settle('large');
    await guarded.call('POST', pathOf('large', '/refunds'), { body: { refund_id: 'r1', amount: 3_000 } });
    const [sent] = (await guarded.settle('large')).status.refunds;
    if (sent?.state !== 'failed')
      await guarded.control.dashboard('fail_refund', { refund: sent?.provider_reference });
    await guarded.settle('large');
    const refunds = async () =>
      (await guarded.control.journal({ operation_id: 'large', route: 'refunds.create' })).length;

    const preview = previewed(
      await guardedDesk.preview('large', 'retry_refund', { refund_id: 'r1' }, 'lead'),
    );
    expect(preview.effects.join(' ')).toContain('a second one');
    expect(refusal(await guardedDesk.approve('large', preview.preview_id))).toEqual([
      409,
      'command_not_available',
    ]);
    const asked = commanded(await guardedDesk.confirm('large', preview.preview_id, 'lead'));
    expect(asked).toMatchObject({ state: 'awaiting_approval', requested_by: 'lead', outcome: null });
    const approve = `/v1/operations/large/commands/${preview.preview_id}/approval`;
    expect((await approvalsOf(guarded)).at(-1)).toMatchObject({
      about: 'operation',
      id: 'large',
      command: 'retry_refund',
      approve,
    });
    await guarded.settle('large');
    expect(await refunds()).toBe(1);

    expect(refusal(await guardedDesk.approve('large', preview.preview_id, 'desk'))).toEqual([
      403,
      'scope_missing',
    ]);
    expect(refusal(await guardedDesk.approve('large', preview.preview_id, 'lead'))).toEqual([
      403,
      'second_person_needed',
    ]);
    expect(commanded(await guardedDesk.confirm('large', preview.preview_id, 'boss'))).toMatchObject({
      state: 'awaiting_approval',
      evidence: preview.evidence,
    });
    const waiting = (await approvalsOf(guarded)).length;
    const [approved, again] = await Promise.all([
      guardedDesk.approve('large', preview.preview_id, 'boss'),
      guardedDesk.approve('large', preview.preview_id, 'boss'),
    ]);
    for (const answer of [approved, again])
      expect(commanded(answer)).toMatchObject({ requested_by: 'lead', approved_by: 'boss' });
    expect(await approvalsOf(guarded)).toHaveLength(waiting - 1);
    await guarded.settle('large');
    expect(await refunds()).toBe(2);
  });
});
