/** The two-sided sweep: money without its operation is found, shown, and not touched. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Outcome } from '../../src/operation/attempt.js';
import { AccountDesk } from '../../src/store/account-desk.js';
import type { PaymentProvider } from '../../src/payment/port.js';
import { collectStatistics } from '../../src/store/statistics.js';
import { aSweptShop, type Swept } from '../support/orphans.js';

let shop: Swept;
beforeEach(async () => {
  shop = await aSweptShop();
});
afterEach(() => shop.stop());

const CARD = 'pm_card_visa';
const PAID = { amount: 10_000, currency: 'eur', payment_method: CARD };

/** Requests that could have changed something at the provider. */
const posts = async (): Promise<number> => (await shop.control.journal({ method: 'POST' })).length;

const stray = async (operation_id: string | null, more: Record<string, unknown> = {}): Promise<string> => {
  const metadata = operation_id === null ? {} : { operation_id };
  return (await shop.control.dashboard('create_stray', { ...PAID, metadata, ...more })).id;
};

async function fulfilled(name: string): Promise<string> {
  await shop.order(name);
  const { status } = await shop.settle(name);
  expect(status.phase).toBe('fulfilled');
  return status.provider_reference ?? '';
}

test('a second payment of an order is shown to people; given back in the dashboard, the order stays paid', async () => {
  const own = await fulfilled('ord-1');
  await shop.sweep();
  expect(await shop.findings()).toEqual([]);

  const second = await stray('ord-1');
  const before = await posts();
  await shop.sweep();
  const [finding, ...others] = await shop.findings('?kind=second_payment&account=default&state=open');
  expect(others).toEqual([]);
  expect(finding).toMatchObject({
    kind: 'second_payment',
    state: 'open',
    provider_reference: second,
    operation_id: 'ord-1',
    amount: { value: 10_000, currency: 'EUR' },
    suggested_command: 'refund_stray',
    dismissed: null,
    last_command: null,
    evidence: {
      provider: { captured: 10_000, refunded: 0, operation_id: 'ord-1' },
      recorded: { provider_reference: own, captured: 10_000, phase: 'fulfilled' },
    },
  });
  // Once more: the same finding, and nothing was sent by any of it.
  await shop.hurryFindings();
  await shop.sweep();
  expect((await shop.findings()).map(({ finding_id }) => finding_id)).toEqual([finding?.finding_id]);
  expect(await posts()).toBe(before);

  await shop.control.dashboard('refund', { payment_intent: second });
  await shop.sweep();
  expect(await shop.findings()).toEqual([]);
  expect(await shop.findings('?state=resolved')).toMatchObject([
    { provider_reference: second, state: 'resolved' },
  ]);
  expect((await shop.settle('ord-1')).status).toMatchObject({
    phase: 'fulfilled',
    payment: { captured: 10_000, refunded: 0 },
    attention: null,
  });
});

test('money without an operation, and whose it may be', async () => {
  const orphan = await stray('nobody’s');
  const held = await stray('nobody’s', { capture_method: 'manual' });
  await stray(null);
  await stray('nobody’s', { payment_method: undefined });
  await shop.sweep();
  expect(
    (await shop.findings()).map((one) => [one.kind, one.provider_reference, one.amount.value]).sort(),
  ).toEqual(
    [
      ['orphan_payment', held, 10_000],
      ['orphan_payment', orphan, 10_000],
    ].sort(),
  );
  // The shop sells elsewhere on this account, unless it says that it does not.
  await shop.sweep(shop.sweeper({ exclusive: new Set(['default']) }));
  expect(await shop.findings('?limit=1')).toMatchObject([
    { operation_id: null, evidence: { recorded: null } },
  ]);
  expect(await shop.findings()).toHaveLength(3);
  // Its order comes late: the payment that the front end made is its own.
  const { status } = await (async () => {
    await shop.adopt('late', orphan, { amount: { value: 10_000, currency: 'EUR' } });
    return shop.settle('late');
  })();
  expect(status.provider_reference).not.toBe('');
  await shop.control.dashboard('cancel', { payment_intent: held });
  await shop.sweep();
  expect((await shop.findings()).some(({ provider_reference }) => provider_reference === held)).toBe(false);
});

test('a young payment waits for its order, and is no finding before', async () => {
  const patient = shop.sweeper({ grace_ms: 3_600_000 });
  const reference = await stray('soon');
  await shop.sweep(patient);
  await shop.hurryFindings();
  await shop.sweep(patient);
  expect(await shop.findings()).toEqual([]);
  expect(await shop.query('SELECT state FROM findings')).toEqual([{ state: 'suspected' }]);
  await shop.control.dashboard('refund', { payment_intent: reference });
  await shop.sweep(patient);
  expect(await shop.query('SELECT state FROM findings')).toEqual([]);
});

test('a finding that comes back after a year is one row, and is looked at as often as a new one', async () => {
  const own = await fulfilled('ord-1');
  const second = await stray('ord-1');
  await shop.sweep();
  const refund = await shop.control.dashboard('refund', { payment_intent: second });
  await shop.hurryFindings();
  await shop.sweep();
  expect(await shop.findings('?state=open')).toEqual([]);
  await shop.query(
    `UPDATE findings SET first_seen_at = first_seen_at - interval '1 year', opened_at = opened_at - interval '1 year',
       suspected_at = suspected_at - interval '1 year', resolved_at = resolved_at - interval '1 year'`,
  );
  await shop.control.dashboard('fail_refund', { refund: refund.id });
  await shop.sweep();
  expect(await shop.findings()).toMatchObject([{ state: 'open', provider_reference: second }]);
  const isSoon = () =>
    shop.query(`SELECT check_at < now() + interval '1 hour' AS soon FROM findings WHERE reference <> $1`, [
      own,
    ]);
  expect(await isSoon()).toEqual([{ soon: true }]);
  // Nor does a look that could not see it put it off by more.
  await shop.control.inject({ route: 'payment_intents.retrieve', kind: '503_html', times: 5 });
  await shop.hurryFindings();
  await shop.sweep();
  expect(await isSoon()).toEqual([{ soon: true }]);
});

describe('the record disagrees', () => {
  test('because its news was lost: it is woken, reads, and nothing was to be found', async () => {
    const own = await fulfilled('ord-1');
    await shop.control.dashboard('refund', { payment_intent: own, amount: 2_500 });
    await shop.sweep();
    expect(await shop.findings()).toEqual([]);
    expect(await shop.query('SELECT kind, state FROM findings')).toEqual([
      { kind: 'amounts_differ', state: 'suspected' },
    ]);
    // It was due by the sweep alone.
    await shop.world.run(shop.worker, 1);
    expect((await shop.get('ord-1')).status.payment.refunded).toBe(2_500);
    await shop.hurryFindings();
    await shop.sweep();
    expect(await shop.query('SELECT kind FROM findings')).toEqual([]);
  });

  test('and does so after it was read: a person should see both sides', async () => {
    const own = await fulfilled('ord-1');
    // What no reading does: the record keeps another sum than the provider.
    const corrupt = () =>
      shop.query(
        `UPDATE order_operations SET facts = jsonb_set(jsonb_set(facts, '{payment,captured}', '9000'),
           '{payment,observed_at}', to_jsonb(to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))`,
      );
    await corrupt();
    await shop.sweep();
    expect(await shop.findings()).toEqual([]);
    await corrupt();
    await shop.hurryFindings();
    await shop.sweep();
    expect(await shop.findings()).toMatchObject([
      {
        kind: 'amounts_differ',
        provider_reference: own,
        amount: { value: 1_000 },
        evidence: { provider: { captured: 10_000 }, recorded: { captured: 9_000 } },
      },
    ]);
    const [sums] = await shop.query<{ totals: unknown }>('SELECT totals FROM orphan_sweeps');
    expect(sums?.totals).toEqual({ EUR: { provider: 10_000, recorded: 9_000 } });
    await shop.settle('ord-1');
    await shop.hurryFindings();
    await shop.sweep();
    expect(await shop.findings('?state=resolved')).toHaveLength(1);
  });

  test('money that came to a cancelled order is found where nobody reads it any more', async () => {
    await fulfilled('ord-1');
    await shop.cancel('ord-1');
    expect((await shop.settle('ord-1')).status.phase).toBe('cancelled');
    await shop.query('UPDATE order_operations SET next_attempt_at = NULL');
    await shop.control.dashboard('fail_refund', { operation_id: 'ord-1' });
    await shop.sweep();
    await shop.world.run(shop.worker, 1);
    expect((await shop.get('ord-1')).status).toMatchObject({
      phase: 'cancelling',
      attention: { reason: 'RefundFailed' },
    });
  });
});

describe('a payment of ours that nobody confirmed', () => {
  /** As a creation leaves it whose answer was lost, and whose effect no reading showed in time. */
  async function lostCreate(name = 'ord-1', more: Record<string, unknown> = {}): Promise<string> {
    await fulfilled(name);
    // The journal's order is that of the tries: the one that was made becomes the lost one, and its answer a second's.
    await shop.query(
      `WITH lost AS (
         UPDATE operation_attempts a SET effect_key = a.effect_key || ' lost', outcome = 'unknown', shown = NULL,
           resolution = 'no_effect_observed'
         FROM order_operations o, operation_attempts former
         WHERE o.operation_id = $1 AND a.operation = o.id AND a.step = 'create_payment' AND former.attempt_id = a.attempt_id
         RETURNING former.*
       )
       INSERT INTO operation_attempts (operation, step, target, ordinal, effect_key, parameters, generation, fencing_token,
         worker, started_at, completed_at, outcome, shown)
       SELECT operation, step, target, 2, effect_key, parameters, generation, fencing_token, worker, started_at,
         completed_at, outcome, shown FROM lost`,
      [name],
    );
    return stray(name, { payment_method: undefined, ...more });
  }
  const attempts = () => shop.query('SELECT step, outcome FROM finding_attempts ORDER BY attempt_id');

  test('is canceled, once, with its journal', async () => {
    const reference = await lostCreate();
    await Promise.all([shop.sweep(), shop.sweep(shop.sweeper())]);
    expect((await shop.intent(reference)).status).toBe('canceled');
    expect(await attempts()).toEqual([{ step: 'cancel_payment', outcome: 'done' }]);
    expect(await shop.findings('?state=resolved')).toMatchObject([{ kind: 'stray_unconfirmed' }]);
    expect((await shop.settle('ord-1')).status.phase).toBe('fulfilled');
  });

  test('is left alone while all writes of its account are stopped', async () => {
    const reference = await lostCreate();
    const desk = new AccountDesk(shop.world.db.database, 1_000);
    const lead = { kind: 'key', name: 'lead' } as const;
    await desk.pause('default', lead, 'a look');
    const before = await posts();
    await shop.sweep();
    expect([await posts(), await attempts()]).toEqual([before, []]);
    await desk.resume('default', lead, 'looked');
    await shop.hurryFindings();
    await shop.sweep();
    expect((await shop.intent(reference)).status).toBe('canceled');
  });

  test('whose cancellation lost its answer is not canceled again under another key', async () => {
    const reference = await lostCreate();
    await shop.control.inject({ route: 'payment_intents.cancel', kind: 'drop_before', times: 2 });
    await shop.sweep();
    expect((await shop.intent(reference)).status).toBe('requires_payment_method');
    expect(await attempts()).toMatchObject([{ outcome: 'unknown' }]);
    await shop.hurryFindings();
    await shop.sweep();
    expect((await shop.intent(reference)).status).toBe('canceled');
    const keys = await shop.query('SELECT DISTINCT effect_key FROM finding_attempts');
    expect([keys.length, (await attempts()).length]).toEqual([1, 2]);
  });

  test('that the customer pays at the moment in which it is canceled is money that a person is told of', async () => {
    const reference = await lostCreate();
    const { accounts: real } = shop.world.worker();
    const provider = real.provider('default');
    if (provider === undefined) throw new Error('the account is configured');
    const apply: PaymentProvider['apply'] = async (call) => {
      await shop.control.dashboard('confirm', { payment_intent: reference, payment_method: CARD });
      return provider.apply(call);
    };
    const racing: Pick<PaymentProvider, 'list' | 'observe' | 'prepare' | 'apply'> = {
      list: (query) => provider.list(query),
      observe: (query) => provider.observe(query),
      prepare: (step) => provider.prepare(step),
      apply,
    };
    const accounts = Object.create(real, {
      provider: { value: () => racing },
      admit: { value: () => Promise.resolve(null) },
      answered: { value: () => Promise.resolve() },
      read: { value: (_account: string, _whom: string, reading: unknown) => Promise.resolve(reading) },
      applied: { value: (_of: unknown, _again: unknown, outcome: unknown) => Promise.resolve(outcome) },
    }) as typeof real;
    await shop.sweep(shop.sweeper({ accounts }));
    expect((await shop.intent(reference)).status).toBe('succeeded');
    await shop.hurryFindings();
    await shop.sweep();
    expect(await shop.findings('?state=open')).toMatchObject([
      { kind: 'second_payment', provider_reference: reference, amount: { value: 10_000 } },
    ]);
    expect(await attempts()).toHaveLength(1);
  });

  test('whose cancellation changes nothing is canceled once a look; the log says what came of it', async () => {
    const reference = await lostCreate();
    const { accounts: real } = shop.world.worker();
    const provider = real.provider('default');
    if (provider === undefined) throw new Error('the account is configured');
    const answers: Outcome[] = [
      { kind: 'done' },
      { kind: 'unknown', failure: { class: 'unknown', code: 'lost', message: 'no answer' } },
    ];
    let sent = 0;
    const apply = () => Promise.resolve(answers[sent++] ?? answers[0]);
    const accounts = {
      provider: () => ({
        list: (query: Parameters<PaymentProvider['list']>[0]) => provider.list(query),
        observe: (query: Parameters<PaymentProvider['observe']>[0]) => provider.observe(query),
        prepare: (step: Parameters<PaymentProvider['prepare']>[0]) => provider.prepare(step),
        apply,
      }),
      admit: () => Promise.resolve(null),
      answered: () => Promise.resolve(),
      read: (_account: string, _whom: string, reading: unknown) => Promise.resolve(reading),
      applied: (_account: string, _whom: string, outcome: unknown) => Promise.resolve(outcome),
    } as unknown as typeof real;
    const said: string[] = [];
    const note = (_data: unknown, message: string): void => {
      if (message.startsWith('a stray')) said.push(message);
    };
    const by = shop.sweeper({ accounts, log: { info: note, warn: note, error: note } });
    await shop.sweep(by);
    expect([sent, said]).toEqual([1, ['a stray payment was canceled']]);
    await shop.hurryFindings();
    await shop.sweep(by);
    expect([sent, said.slice(1)]).toEqual([2, ['a stray payment could not be canceled']]);
    expect(await shop.findings()).toMatchObject([
      { kind: 'stray_unconfirmed', provider_reference: reference },
    ]);
  });

  test('is left alone where it could be somebody’s, or is not ours', async () => {
    const lost = `UPDATE operation_attempts SET`;
    const of = `WHERE effect_key LIKE '% lost' AND operation = (SELECT id FROM order_operations WHERE operation_id = $1)`;
    const cases: readonly [name: string, more: Record<string, unknown>, sql: string | null][] = [
      ['of another amount', { amount: 9_999 }, null],
      ['while its creation is in doubt', {}, `${lost} resolution = NULL, ordinal = 3 ${of}`],
      ['of none of our tries', {}, `DELETE FROM operation_attempts ${of}`],
      [
        'created at another time',
        {},
        `${lost} started_at = started_at - interval '1 day', completed_at = completed_at - interval '1 day' ${of}`,
      ],
      [
        'beside an order without a payment',
        {},
        'UPDATE order_operations SET provider_reference = NULL WHERE operation_id = $1',
      ],
      ['named by another order', {}, null],
    ];
    const references = new Map<string, string>();
    for (const [name, more, sql] of cases) {
      references.set(name, await lostCreate(name, more));
      if (sql !== null) await shop.query(sql, [name]);
    }
    await shop.adopt('the other order', references.get('named by another order') ?? '');
    await shop.sweep();
    await shop.hurryFindings();
    await shop.sweep();
    for (const [name, reference] of references) {
      expect([name, (await shop.intent(reference)).status]).toEqual([name, 'requires_payment_method']);
    }
    expect(await attempts()).toEqual([]);
  });
});

test('an operation whose payment the provider knows neither by its id nor in its list', async () => {
  const own = await fulfilled('ord-1');
  // Who the account is has been asked for, and is not asked again.
  await shop.sweep();
  const rename = async (from: string, to: string): Promise<void> => {
    await shop.query('UPDATE order_operations SET provider_reference = $2 WHERE provider_reference = $1', [
      from,
      to,
    ]);
    await shop.query(
      `UPDATE operation_attempts SET shown = jsonb_set(shown, '{payment,reference}', to_jsonb($2::text))
       WHERE shown->'payment'->>'reference' = $1`,
      [from, to],
    );
  };
  await rename(own, 'pi_gone');
  await shop.pass('ord-1');
  // Whose account it is must be known for an absence to say something.
  await shop.query('UPDATE provider_accounts SET identity = NULL');
  await shop.sweep();
  expect(await shop.findings('?kind=payment_missing')).toEqual([]);
  await shop.query(`UPDATE provider_accounts SET identity = 'acct_known'`);
  await shop.sweep();
  expect(await shop.findings('?kind=payment_missing')).toMatchObject([
    {
      provider_reference: 'pi_gone',
      operation_id: 'ord-1',
      suggested_command: 'check_provider',
      evidence: {
        provider: null,
        proof: { by_id: 'absent', account_identity: 'acct_known', livemode: false },
      },
    },
  ]);
  await shop.hurryFindings();
  await shop.sweep();
  expect(await shop.findings('?kind=payment_missing')).toHaveLength(1);
});

describe('pages', () => {
  test('are all listed; a process that dies in the middle is gone on with where it was', async () => {
    await shop.control.settings({ page_size_limit: 10 });
    for (let i = 0; i < 31; i += 1) await stray('many', i === 0 ? {} : { payment_method: undefined });
    const { accounts: real } = shop.world.worker();
    const provider = real.provider('default');
    if (provider === undefined) throw new Error('the account is configured');
    let left = 2;
    const list: PaymentProvider['list'] = (query) => {
      if ((left -= 1) < 0) throw new Error('killed');
      return provider.list(query);
    };
    const accounts = Object.create(real, {
      provider: { value: () => Object.create(provider, { list: { value: list } }) as PaymentProvider },
      admit: { value: () => Promise.resolve(null) },
      answered: { value: () => Promise.resolve() },
    }) as typeof real;
    await expect(shop.sweep(shop.sweeper({ accounts }))).rejects.toThrow('killed');
    expect(await shop.lists()).toBe(2);
    // What it held is free when its lease is over, not before.
    await shop.sweep();
    expect(await shop.lists()).toBe(0);
    await shop.query(`UPDATE orphan_sweeps SET lease_expires_at = now()`);
    await shop.sweep();
    // Two pages that were left of one round, and the four of the other.
    expect(await shop.lists()).toBe(6);
    expect(await shop.findings()).toMatchObject([{ kind: 'orphan_payment', operation_id: 'many' }]);
    // Nothing is new, and all fits on the pages: one round, no look.
    await shop.control.settings({ page_size_limit: 100 });
    await shop.query(`UPDATE findings SET check_at = now() + interval '1 hour'`);
    const before = await shop.control.journalSequence();
    await shop.sweep();
    const requests = await shop.control.journal({ after: before });
    expect(requests.map(({ route }) => route)).toEqual(['payment_intents.list']);
  });

  test('go on from the beginning where the payment that they stand at is gone', async () => {
    await shop.control.settings({ page_size_limit: 2 });
    for (let i = 0; i < 5; i += 1) await stray('many', i === 0 ? {} : { payment_method: undefined });
    const now = Math.floor(shop.clock.now().getTime() / 1000);
    const round = {
      created_from: new Date((now - 3_600) * 1000).toISOString(),
      created_to: new Date((now + 120) * 1000).toISOString(),
      after: 'pi_deleted',
      payments: 2,
      totals: { EUR: { provider: 99, recorded: 0 } },
    };
    await shop.query(
      `INSERT INTO orphan_sweeps (account, recent, lookback, lookback_began_at) VALUES ('default', $1, $1, now())`,
      [JSON.stringify(round)],
    );
    await shop.sweep();
    expect(await shop.findings()).toMatchObject([{ kind: 'orphan_payment', operation_id: 'many' }]);
    expect(await shop.query('SELECT recent, lookback, totals FROM orphan_sweeps')).toEqual([
      { recent: null, lookback: null, totals: { EUR: { provider: 10_000, recorded: 0 } } },
    ]);
    expect(await shop.query('SELECT breaker FROM provider_accounts')).toEqual([{ breaker: 'closed' }]);
  });

  test('a tick that comes twice, on two processes, is one', async () => {
    await shop.query(`INSERT INTO orphan_sweeps (account) VALUES ('default')`);
    const two = [shop.sweeper({ interval_ms: 600_000 }), shop.sweeper({ interval_ms: 600_000 })];
    await Promise.all(two.map((sweeper) => shop.sweep(sweeper)));
    for (const sweeper of two) await shop.sweep(sweeper);
    expect(await shop.lists()).toBe(2);
  });

  test('wait while the account is throttled or out', async () => {
    await shop.control.inject({ route: 'payment_intents.list', kind: '429', retry_after: 60, times: 1 });
    await stray('lost');
    await shop.sweep();
    expect(await shop.lists()).toBe(1);
    await shop.sweep();
    expect(await shop.lists()).toBe(0);
    await shop.query(
      `UPDATE provider_accounts SET throttled_until = NULL, breaker = 'open', reason = 'outage', since = now(), probe_at = now()`,
    );
    await shop.sweep();
    expect(await shop.lists()).toBe(0);
    await shop.query(
      `UPDATE provider_accounts SET breaker = 'closed', reason = NULL, since = NULL, probe_at = NULL, rate = 1, rate_since = now()`,
    );
    await shop.control.settings({ page_size_limit: 1 });
    for (let i = 0; i < 3; i += 1) await stray('lost', { payment_method: undefined });
    // Metered: one page of each round a tick.
    await shop.sweep();
    expect(await shop.lists()).toBe(2);
  });
});

test('an account that left the configuration ages no more', async () => {
  await shop.query(
    `INSERT INTO orphan_sweeps (account, ended_at, totals)
     VALUES ('gone', now() - interval '1 year', '{"EUR": {"provider": 1, "recorded": 0}}')`,
  );
  await shop.sweep();
  const { database } = shop.world.db;
  const { orphan_sweep_age_seconds, total_differences } = await collectStatistics(database, ['default']);
  expect([...orphan_sweep_age_seconds.keys()]).toEqual(['default']);
  expect(total_differences.filter(({ account }) => account === 'gone')).toEqual([]);
});

test('the list of findings: pages, filters, and who may see it', async () => {
  for (let i = 0; i < 3; i += 1) await stray(`lost-${i}`);
  await shop.sweep();
  const page = (await shop.asSupport('GET', '/v1/findings?limit=2')).json<{
    items: unknown[];
    next_cursor: string;
  }>();
  expect(page.items).toHaveLength(2);
  expect(await shop.findings(`?limit=2&cursor=${page.next_cursor}`)).toHaveLength(1);
  expect(await shop.findings('?account=other')).toEqual([]);
  expect(await shop.findings('?kind=money_left')).toEqual([]);
  expect((await shop.call('GET', '/v1/findings')).status).toBe(403);
  for (const query of ['?cursor=x', '?kind=other', '?limit=0', '?state=suspected']) {
    expect((await shop.asSupport('GET', `/v1/findings${query}`)).status).toBe(400);
  }
});
