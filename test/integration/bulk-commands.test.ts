/** Commands for many operations through HTTP: frozen when previewed, looked at again row by row, each carried out once. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { BulkOut, BulkPreviewOut } from '../../src/api/schemas/bulk.js';
import { CommandDesk } from '../../src/reconciler/command-desk.js';
import { CommandStore } from '../../src/store/command-store.js';
import { pathOf, problem, refusal } from '../support/api.js';
import { aDesk, approvalsOf, previewed, type Desk } from '../support/desk.js';
import type { Answer } from '../support/http.js';
import { until } from '../support/product.js';
import { aShop, type Shop, type ShopOptions } from '../support/shop.js';

type Name = Parameters<Shop['as']>[0];

interface BulkShop extends Shop {
  readonly desk: Desk;
  preview(command: string, operation_ids: readonly string[], by?: Name): Promise<Answer>;
  confirm(bulk_id: string, by?: Name, more?: object): Promise<Answer>;
  approve(bulk_id: string, by?: Name): Promise<Answer>;
  read(bulk_id: string, query?: string): Promise<BulkOut>;
  ended(bulk_id: string): Promise<BulkOut>;
  /** Orders that are captured as soon as they are resumed. */
  held(...ids: readonly string[]): Promise<void>;
  /** Statement about the bulk command $1. */
  sql(statement: string, bulk_id: string): Promise<unknown[]>;
  captures(id: string): Promise<number>;
}

async function aBulkShop(options: ShopOptions = {}): Promise<BulkShop> {
  const shop = await aShop({ works: true, patience_ms: 5_000, ...options });
  const desk = aDesk(shop);
  const bulk: BulkShop = {
    ...shop,
    desk,
    preview: (command, operation_ids, by = 'desk') =>
      shop.as(by)('POST', '/v1/bulk-commands/preview', { body: { command, operation_ids } }),
    confirm: (bulk_id, by = 'desk', more = {}) =>
      shop.as(by)('POST', '/v1/bulk-commands', { body: { bulk_id, reason: `by ${by}`, ...more } }),
    approve: (bulk_id, by = 'boss') => shop.as(by)('POST', `/v1/bulk-commands/${bulk_id}/approval`),
    async read(bulk_id, query = '') {
      return shown(await shop.asSupport('GET', `/v1/bulk-commands/${bulk_id}${query}`), 200);
    },
    ended: (bulk_id) =>
      until(async () => {
        const now = await bulk.read(bulk_id);
        return now.state === 'ended' && now;
      }, 'the bulk command to end'),
    async held(...ids) {
      for (const id of ids) {
        await shop.order(id, { payment: { capture: 'manual' } });
        await shop.settle(id);
        await desk.command(id, 'pause');
        await shop.call('POST', pathOf(id, '/capture'));
        await shop.pass(id);
      }
    },
    sql: (statement, bulk_id) => shop.world.db.database.query(statement, [bulk_id]),
    captures: async (id) =>
      (await shop.control.journal({ operation_id: id, route: 'payment_intents.capture' })).length,
  };
  return bulk;
}

function shown(answer: Answer, status = 202): BulkOut {
  if (answer.status !== status) throw new Error(`expected ${status}, got ${answer.status}: ${answer.text}`);
  return BulkOut.parse(answer.json());
}
function frozen(answer: Answer): BulkPreviewOut {
  if (answer.status !== 201) throw new Error(`expected 201, got ${answer.status}: ${answer.text}`);
  return BulkPreviewOut.parse(answer.json());
}
const states = ({ rows }: BulkOut) => rows.map(({ operation_id, state }) => `${operation_id} ${state}`);
const eventsOf = async (shop: Shop, id: string, type: string) =>
  (await shop.asSupport('GET', pathOf(id, '/events')))
    .json<{ items: { type: string; actor: { name: string }; data: Record<string, unknown> | null }[] }>()
    .items.filter((event) => event.type === type);

/** Of another process, which wakes no worker and has no patience. */
const anotherDesk = ({ world, worker }: Shop): CommandDesk =>
  new CommandDesk(
    world.store,
    new CommandStore(world.db.database),
    worker,
    { ring: () => undefined },
    { approval_amount: {}, patience_ms: 0 },
  );

let shop: BulkShop;
beforeAll(async () => {
  shop = await aBulkShop();
});
afterAll(() => shop.stop());

describe('the preview', () => {
  test('freezes a list: each row with its effect, what is excluded and why, totals by currency; nothing is done', async () => {
    await shop.held('list-1', 'list-2');
    await shop.order('list-usd', {
      amount: { value: 2_500, currency: 'USD' },
      payment: { capture: 'manual' },
    });
    await shop.settle('list-usd');
    await shop.desk.command('list-usd', 'pause');
    await shop.call('POST', pathOf('list-usd', '/capture'));
    await shop.order('list-fine');
    await shop.settle('list-fine');
    await shop.held('list-given-up');
    await shop.desk.command('list-given-up', 'give_up', {}, 'lead');

    const before = await shop.control.journalSequence();
    const ids = ['list-usd', 'nobody', 'list-2', 'list-fine', 'list-1', 'list-given-up'];
    const preview = frozen(await shop.preview('resume', ids));
    expect(preview).toMatchObject({
      rows: [
        { operation_id: 'list-usd', amount: 2_500, currency: 'USD' },
        { operation_id: 'list-2', amount: 10_000, currency: 'EUR' },
        { operation_id: 'list-1', amount: 10_000, currency: 'EUR' },
      ],
      excluded: [
        { operation_id: 'nobody', why: expect.stringContaining('no such operation') },
        { operation_id: 'list-fine', why: expect.stringContaining('neither') },
        { operation_id: 'list-given-up', why: expect.stringContaining('support_lead') },
      ],
      totals: [
        { currency: 'EUR', amount: 20_000, operations: 2 },
        { currency: 'USD', amount: 2_500, operations: 1 },
      ],
      approval_needed: false,
    });
    expect(preview.rows[0]?.effects.join(' ')).toContain('capture_payment of 25.00 USD is sent');
    const read = await shop.read(preview.bulk_id, '?evidence=true');
    expect(read).toMatchObject({ state: 'previewed', counts: { waiting: 3, done: 0 }, requested_by: null });
    expect(read.rows[0]?.evidence?.observed.payment).toMatchObject({ kind: 'present' });
    expect(await shop.control.journal({ after: before, method: 'POST' })).toEqual([]);
    expect((await shop.get('list-1')).metadata.paused).not.toBeNull();

    const begun = shown(await shop.confirm(preview.bulk_id));
    expect(['running', 'ended']).toContain(begun.state);
    const ended = await shop.ended(preview.bulk_id);
    expect(ended).toMatchObject({
      stopped: null,
      counts: { waiting: 0, done: 3, refused: 0, not_run: 0, failed: 0 },
      requested_by: 'desk',
      reason: 'by desk',
      stop_after_failures: 3,
    });
    expect(ended.rows.map(({ outcome }) => outcome?.payment['captured'])).toEqual([2_500, 10_000, 10_000]);
    expect(await shop.control.ledger('list-1')).toMatchObject({ captured: 10_000, violations: [] });
    expect((await shop.get('list-given-up')).metadata.closed).not.toBeNull();
    const [event] = await eventsOf(shop, 'list-1', 'command_resume');
    expect(event).toMatchObject({
      actor: { name: 'desk' },
      data: { bulk_id: preview.bulk_id, reason: 'by desk' },
    });
  });

  test.each<[string, object, string]>([
    ['a parameter that belongs to one order', { command: 'retry_refund' }, '/command'],
    ['no list', { operation_ids: [] }, '/operation_ids'],
    ['one twice', { operation_ids: ['a', 'b', 'a'] }, '/operation_ids/2'],
    ['too many', { operation_ids: Array.from({ length: 201 }, (_none, n) => `o${n}`) }, '/operation_ids'],
    ['a filter in place of a list', { reason: 'RefundFailed' }, '/reason'],
    ['parameters of another command', { parameters: { verdict: 'escalated' } }, '/parameters/verdict'],
  ])('%s: 400', async (_name, wrong, pointer) => {
    const body = { command: 'retry', operation_ids: ['a'], ...wrong };
    expect(refusal(await shop.asSupport('POST', '/v1/bulk-commands/preview', { body }))).toEqual([
      400,
      'invalid_request',
      pointer,
    ]);
  });

  test('a command that is not for many is told which are', async () => {
    const answer = await shop.preview('reauthorize', ['a']);
    expect(problem(answer).detail).toContain('check_provider, retry, pause, resume, give_up');
  });

  test('a record that cannot be worked with is excluded, and keeps none of the others off the list', async () => {
    await shop.held('whole', 'spoilt');
    await shop.world.db.database.query(
      `UPDATE order_operations SET spec = spec - 'payment' WHERE operation_id = 'spoilt'`,
    );
    const { rows, excluded } = frozen(await shop.preview('resume', ['spoilt', 'whole']));
    expect(rows.map(({ operation_id }) => operation_id)).toEqual(['whole']);
    expect(excluded).toEqual([
      { operation_id: 'spoilt', why: expect.stringContaining('fails over this record') },
    ]);
  });

  test('of an account that is out nothing is read; one that asks for time gets it', async () => {
    await shop.held('away');
    const account = (set: string) =>
      shop.world.db.database.query(`UPDATE provider_accounts SET ${set} WHERE account = 'default'`);
    await account(
      `breaker = 'open', reason = 'outage', message = 'no answer', since = now(), probe_at = now()`,
    );
    const before = await shop.control.journalSequence();
    const out = frozen(await shop.preview('resume', ['away']));
    expect(out.excluded).toEqual([{ operation_id: 'away', why: expect.stringContaining('no answer') }]);
    expect(await shop.control.journal({ after: before })).toEqual([]);
    expect(refusal(await shop.confirm(out.bulk_id))).toEqual([409, 'command_not_available']);
    await account(`breaker = 'closed', reason = NULL, message = NULL, since = NULL, probe_at = NULL,
      throttled_until = now() + interval '600 milliseconds'`);
    const began = performance.now();
    expect(frozen(await shop.preview('resume', ['away'])).rows).toHaveLength(1);
    expect(performance.now() - began).toBeGreaterThan(500);
  });
});

describe('a decision about many', () => {
  test('each row is looked at again: one that changed is refused with what changed, the others are carried out', async () => {
    await shop.held('same-1', 'moved', 'same-2');
    const { bulk_id, rows } = frozen(await shop.preview('resume', ['same-1', 'moved', 'same-2']));
    await shop.control.dashboard('cancel', { operation_id: 'moved' });
    shown(await shop.confirm(bulk_id));
    const ended = await shop.ended(bulk_id);
    expect(states(ended)).toEqual(['same-1 done', 'moved refused', 'same-2 done']);
    expect(ended).toMatchObject({ stopped: null, counts: { failed: 1 } });
    const refused = ended.rows[1];
    expect(refused).toMatchObject({ code: 'operation_changed', outcome: null, failed: true });
    expect(refused?.changes.map(({ what }) => what)).toContain('payment.state');
    expect((await shop.get('moved')).metadata.paused).not.toBeNull();
    expect(await shop.captures('same-2')).toBe(1);
    // What was refused is decided anew, by itself or in another list.
    const preview_id = rows[1]?.preview_id ?? '';
    expect(refusal(await shop.desk.confirm('moved', preview_id))).toEqual([409, 'command_not_available']);
  });

  test('it expires, needs its scope, and a row is no command of its own', async () => {
    await shop.held('scoped');
    const { bulk_id, rows } = frozen(await shop.preview('resume', ['scoped']));
    const row = rows[0]?.preview_id ?? '';
    expect(refusal(await shop.desk.confirm('scoped', row))).toEqual([409, 'command_not_available']);
    expect(refusal(await shop.preview('resume', ['scoped'], 'shop'))).toEqual([403, 'scope_missing']);
    expect(refusal(await shop.confirm(bulk_id, 'shop'))).toEqual([403, 'scope_missing']);
    expect(refusal(await shop.call('GET', `/v1/bulk-commands/${bulk_id}`))).toEqual([403, 'scope_missing']);
    expect(refusal(await shop.preview('give_up', ['scoped']))).toEqual([403, 'scope_missing']);
    const lead = frozen(await shop.preview('give_up', ['scoped'], 'lead'));
    expect(refusal(await shop.confirm(lead.bulk_id, 'desk'))).toEqual([403, 'scope_missing']);
    expect(refusal(await shop.approve(bulk_id, 'desk'))).toEqual([403, 'scope_missing']);
    expect(refusal(await shop.approve(bulk_id))).toEqual([409, 'command_not_available']);
    expect(refusal(await shop.confirm('no-such-bulk'))).toEqual([404, 'not_found']);
    expect(refusal(await shop.asSupport('GET', '/v1/bulk-commands/no-such-bulk'))).toEqual([
      404,
      'not_found',
    ]);
    await shop.sql('UPDATE bulk_commands SET expires_at = now() WHERE bulk_id = $1', bulk_id);
    expect(refusal(await shop.confirm(bulk_id))).toEqual([410, 'preview_expired']);
    expect((await shop.get('scoped')).metadata).toMatchObject({ paused: {}, closed: null });
    expect(await shop.captures('scoped')).toBe(0);
  });

  test('twice, and by several people at once, it is one decision', async () => {
    await shop.held('once-1', 'once-2');
    const { bulk_id } = frozen(await shop.preview('resume', ['once-1', 'once-2']));
    const answers = await Promise.all(
      (['desk', 'colleague', 'lead', 'desk', 'boss'] as const).map((by) => shop.confirm(bulk_id, by)),
    );
    const who = new Set(answers.map((answer) => `${shown(answer).requested_by} ${shown(answer).reason}`));
    expect(who.size).toBe(1);
    const ended = await shop.ended(bulk_id);
    expect(states(ended)).toEqual(['once-1 done', 'once-2 done']);
    const again = shown(await shop.confirm(bulk_id, 'colleague', { stop_after_failures: 1 }));
    expect(again).toEqual(ended);
    for (const id of ['once-1', 'once-2']) {
      expect(await eventsOf(shop, id, 'command_resume')).toHaveLength(1);
      expect(await eventsOf(shop, id, 'command_observed')).toHaveLength(2);
      expect(await shop.captures(id)).toBe(1);
    }
  });

  test('stops after so many failures: the rest is not run, and says so', async () => {
    const ids = ['stuck-1', 'stuck-2', 'stuck-3', 'stuck-4', 'stuck-5'];
    for (const operation_id of ids)
      await shop.control.inject({
        route: 'payment_intents.confirm',
        kind: '503_message',
        times: null,
        match: { operation_id },
      });
    for (const id of ids) {
      await shop.order(id);
      expect((await shop.settle(id)).status.attention?.reason).toBe('RetryBudgetExhausted');
      // Others are taken: it is no trouble of the account.
      await shop.order(`beside ${id}`);
      expect((await shop.settle(`beside ${id}`)).status.phase).toBe('fulfilled');
    }
    const { bulk_id, rows } = frozen(await shop.preview('retry', ids));
    expect(rows).toHaveLength(5);
    const before = await shop.control.journalSequence();
    shown(await shop.confirm(bulk_id, 'desk', { stop_after_failures: 2 }));
    const ended = await shop.ended(bulk_id);
    expect(states(ended)).toEqual([
      'stuck-1 done',
      'stuck-2 done',
      'stuck-3 not_run',
      'stuck-4 not_run',
      'stuck-5 not_run',
    ]);
    expect(ended).toMatchObject({
      stopped: 'failures',
      counts: { waiting: 0, done: 2, refused: 0, not_run: 3, failed: 2 },
    });
    expect(ended.rows[0]?.outcome?.attempts).toMatchObject([{ step: 'confirm_payment', outcome: 'unknown' }]);
    expect(ended.rows[4]?.why).toContain('2 of the others');
    const sent = await shop.control.journal({ after: before, method: 'POST' });
    expect(new Set(sent.map(({ operation_id }) => operation_id))).toEqual(new Set(['stuck-1', 'stuck-2']));
    // What is not run stays so: the end is guarded where a row is carried out.
    const late = anotherDesk(shop);
    const requested_by = { kind: 'key', name: 'desk' } as const;
    const decided = { requested_by, reason: 'late', approval: null, lead: false };
    const row = ended.rows[2];
    expect(await late.runRow('stuck-3', row?.preview_id ?? '', decided)).toEqual({ kind: 'busy' });
    expect(await eventsOf(shop, 'stuck-3', 'command_retry')).toEqual([]);
    await shop.control.clearFaults();
  });

  test('an account that asks for time gets it before a row is begun', async () => {
    await shop.held('patient');
    const { bulk_id } = frozen(await shop.preview('resume', ['patient']));
    const before = await shop.control.journalSequence();
    await shop.world.db.database.query(
      `UPDATE provider_accounts SET throttled_until = now() + interval '700 milliseconds'`,
    );
    const began = performance.now();
    shown(await shop.confirm(bulk_id));
    await new Promise((resolve) => setTimeout(resolve, 300));
    const early = performance.now() - began < 600 ? await shop.control.journal({ after: before }) : [];
    expect(early).toEqual([]);
    expect(states(await shop.ended(bulk_id))).toEqual(['patient done']);
    expect(performance.now() - began).toBeGreaterThan(600);
    expect(await shop.captures('patient')).toBe(1);
  });

  test('a request that nobody carried out within its time is not carried out later', async () => {
    await shop.held('late-1', 'late-2');
    const { bulk_id } = frozen(await shop.preview('resume', ['late-1', 'late-2']));
    await shop.sql(
      `UPDATE bulk_commands SET state = 'running', reason = 'r', requested_by = 'desk', requested_by_lead = false,
         requested_at = now(), stop_after_failures = 3, expires_at = now() WHERE bulk_id = $1`,
      bulk_id,
    );
    shown(await shop.confirm(bulk_id));
    const ended = await shop.ended(bulk_id);
    expect(ended).toMatchObject({ stopped: 'expired', counts: { not_run: 2 } });
    expect(ended.rows[0]?.why).toContain('time was over');
    expect(await shop.captures('late-1')).toBe(0);
  });

  test('what nobody confirmed is forgotten after a day, decisions never', async () => {
    await shop.held('tidy');
    const bulkOf = async (id: string) => frozen(await shop.preview('check_provider', [id])).bulk_id;
    const [old, decided] = [await bulkOf('tidy'), await bulkOf('tidy')];
    shown(await shop.confirm(decided));
    await shop.ended(decided);
    const age = `UPDATE bulk_commands SET expires_at = now() - interval '25 hours' WHERE bulk_id = $1`;
    const ageRows = age.replace('bulk_commands', 'commands');
    for (const id of [old, decided]) await Promise.all([shop.sql(age, id), shop.sql(ageRows, id)]);
    previewed(await shop.desk.preview('tidy', 'check_provider'));
    expect((await shop.read(old)).rows).toHaveLength(1);
    await bulkOf('tidy');
    expect(refusal(await shop.asSupport('GET', `/v1/bulk-commands/${old}`))).toEqual([404, 'not_found']);
    expect((await shop.read(decided)).counts.done).toBe(1);
    expect(await shop.sql('SELECT 1 FROM commands WHERE bulk_id = $1', old)).toEqual([]);
  });
});

describe('more money than one person may move alone, counted over the whole list', () => {
  let guarded: BulkShop;
  beforeAll(async () => {
    guarded = await aBulkShop({ approval_amount: { EUR: 15_000 } });
  });
  afterAll(() => guarded.stop());

  test('waits for a second person, who sees what the first one saw', async () => {
    await guarded.held('big-1', 'big-2');
    const alone = frozen(await guarded.preview('resume', ['big-1'], 'lead'));
    expect(alone.approval_needed).toBe(false);
    const both = frozen(await guarded.preview('resume', ['big-1', 'big-2'], 'lead'));
    expect(both).toMatchObject({ approval_needed: true, totals: [{ amount: 20_000 }] });
    const { bulk_id, rows } = both;
    // Nor is the list a way to the single commands in it.
    for (const { operation_id, preview_id } of rows)
      expect(refusal(await guarded.desk.confirm(operation_id, preview_id))[0]).toBe(409);

    expect(refusal(await guarded.approve(bulk_id))).toEqual([409, 'command_not_available']);
    expect(shown(await guarded.confirm(bulk_id, 'lead'))).toMatchObject({
      state: 'awaiting_approval',
      requested_by: 'lead',
      counts: { waiting: 2 },
    });
    await guarded.bulkRunner().run();
    await guarded.settle('big-1');
    expect(await guarded.captures('big-1')).toBe(0);
    expect((await eventsOf(guarded, 'big-1', 'command_requested'))[0]).toMatchObject({
      actor: { name: 'lead' },
      data: { bulk_id, reason: 'by lead', effects: rows[0]?.effects },
    });
    expect((await guarded.read(bulk_id, '?evidence=true')).rows[0]?.evidence?.recorded.phase).toBe(
      'authorized',
    );

    expect(refusal(await guarded.approve(bulk_id, 'lead'))).toEqual([403, 'second_person_needed']);
    expect(await approvalsOf(guarded)).toMatchObject([
      { about: 'bulk', id: bulk_id, approve: `/v1/bulk-commands/${bulk_id}/approval`, requested_by: 'lead' },
    ]);
    const approvals = await Promise.all([guarded.approve(bulk_id), guarded.approve(bulk_id)]);
    for (const answer of approvals)
      expect(shown(answer)).toMatchObject({ requested_by: 'lead', approved_by: 'boss' });
    expect(await approvalsOf(guarded)).toEqual([]);
    const ended = await guarded.ended(bulk_id);
    expect(states(ended)).toEqual(['big-1 done', 'big-2 done']);
    for (const id of ['big-1', 'big-2']) {
      expect(await guarded.captures(id)).toBe(1);
      const [event] = await eventsOf(guarded, id, 'command_resume');
      expect(event).toMatchObject({ actor: { name: 'boss' }, data: { requested_by: 'lead', bulk_id } });
    }
  });

  test('a request that nobody approves in time is over', async () => {
    await guarded.held('slow-1', 'slow-2');
    const { bulk_id } = frozen(await guarded.preview('resume', ['slow-1', 'slow-2']));
    shown(await guarded.confirm(bulk_id));
    await guarded.sql('UPDATE bulk_commands SET expires_at = now() WHERE bulk_id = $1', bulk_id);
    expect(refusal(await guarded.approve(bulk_id))).toEqual([410, 'preview_expired']);
    expect(refusal(await guarded.confirm(bulk_id))).toEqual([410, 'preview_expired']);
    expect(await guarded.captures('slow-1')).toBe(0);
  });
});

describe('whoever carries it out', () => {
  let bare: BulkShop;
  beforeAll(async () => {
    bare = await aBulkShop({ carries_out: false, looking_ms: 60_000 });
  });
  afterAll(() => bare.stop());

  const ids = ['r-1', 'r-2', 'r-3', 'r-4'];
  const expectEachOnce = async (all: readonly string[]): Promise<void> => {
    for (const id of all) {
      expect(await eventsOf(bare, id, 'command_resume')).toHaveLength(1);
      expect(await bare.captures(id)).toBe(1);
      expect(await bare.control.ledger(id)).toMatchObject({ captured: 10_000, violations: [] });
    }
  };

  test('may die in the middle of a row: another one goes on, and each row is carried out once', async () => {
    await bare.held(...ids);
    const { bulk_id } = frozen(await bare.preview('resume', ids));
    shown(await bare.confirm(bulk_id, 'desk', { stop_after_failures: 1 }));

    // Dies after the second row was carried out, before it is known to it.
    const desk = anotherDesk(bare);
    let revive = (): void => undefined;
    const dead = new Promise<void>((resolve) => (revive = resolve));
    const dying = bare.bulkRunner({
      desk: {
        async runRow(operationId, previewId, decided) {
          const answer = await desk.runRow(operationId, previewId, decided);
          if (operationId === 'r-2') await dead;
          else await bare.settle(operationId);
          return answer;
        },
      },
    });
    const death = dying.run();
    await until(async () => (await bare.read(bulk_id)).counts.done === 2, 'the second row');
    const other = bare.bulkRunner();
    await other.run();
    expect((await bare.read(bulk_id)).counts.waiting).toBe(2);

    await bare.sql('UPDATE bulk_commands SET lease_expires_at = now() WHERE bulk_id = $1', bulk_id);
    await bare.settle('r-2');
    await other.run();
    expect(states(await bare.read(bulk_id))).toEqual(ids.map((id) => `${id} done`));
    await expectEachOnce(ids);

    // Stopped for a while, it was not dead: it finds that others went on.
    const before = await bare.read(bulk_id);
    revive();
    await death;
    expect(await bare.read(bulk_id)).toEqual(before);
    await expectEachOnce(ids);
  });

  test('two at once do no harm, even with the lease of the first taken from it', async () => {
    const many = ['t-1', 't-2', 't-3', 't-4', 't-5', 't-6'];
    await bare.held(...many);
    const { bulk_id } = frozen(await bare.preview('resume', many));
    shown(await bare.confirm(bulk_id));
    const free = setInterval(
      () =>
        void bare.sql(
          'UPDATE bulk_commands SET lease_expires_at = now() WHERE bulk_id = $1 AND lease_expires_at IS NOT NULL',
          bulk_id,
        ),
      20,
    );
    const runners = [bare.bulkRunner(), bare.bulkRunner(), bare.bulkRunner()];
    await until(async () => {
      await Promise.all(runners.map((runner) => runner.run()));
      return (await bare.read(bulk_id)).state === 'ended';
    }, 'the end').finally(() => clearInterval(free));
    expect(states(await bare.read(bulk_id))).toEqual(many.map((id) => `${id} done`));
    await expectEachOnce(many);
  });

  test('a record over which the desk fails is refused, and holds up neither the others nor what comes later', async () => {
    await bare.held('odd', 'even');
    const { bulk_id } = frozen(await bare.preview('resume', ['odd', 'even']));
    shown(await bare.confirm(bulk_id));
    const desk = anotherDesk(bare);
    const runner = bare.bulkRunner({
      desk: {
        runRow: (operationId, previewId, decided) =>
          operationId === 'odd'
            ? Promise.reject(new TypeError('nobody thought of it'))
            : desk.runRow(operationId, previewId, decided),
      },
    });
    const run = runner.run();
    await until(async () => (await bare.read(bulk_id)).counts.done === 1, 'the other row');
    await bare.settle('even');
    await run;
    expect(await bare.read(bulk_id)).toMatchObject({
      state: 'ended',
      rows: [
        { state: 'refused', code: 'internal' },
        { state: 'done', failed: false },
      ],
    });
  });
});

test('what could not be looked at in time is excluded, and says so', async () => {
  const hasty = await aBulkShop({ looking_ms: 0 });
  await hasty.held('hasty');
  const preview = frozen(await hasty.preview('resume', ['hasty']));
  expect(preview).toMatchObject({ rows: [], excluded: [{ why: expect.stringContaining('no time left') }] });
  await hasty.stop();
});
