/** Each alert fires for its cause: the world is brought into that state, scraped as Prometheus would, and the rules are asked. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { AccountStore } from '../../src/store/account-store.js';
import { RefundBrake } from '../../src/store/refund-brake.js';
import { collectStatistics } from '../../src/store/statistics.js';
import { Metrics } from '../../src/telemetry/metrics.js';
import type { LoopDependencies } from '../../src/reconciler/ports.js';
import { aShop, type Shop } from '../support/shop.js';

/** As for the rules themselves, see unit/alerts. */
const isLeftOut = process.env['ALLOW_NO_PROMTOOL'] !== undefined;

let shop: Shop;
let metrics: Metrics;
beforeAll(async () => {
  shop = await aShop();
  metrics = new Metrics(() => collectStatistics(shop.world.db.database, ['default']));
});
afterAll(() => shop.stop());

const query = (sql: string, parameters: readonly unknown[] = []): Promise<unknown[]> =>
  shop.world.db.database.query(sql, parameters);

/** Another process, which counts what it does. */
function worker(patch: Partial<LoopDependencies> = {}): LoopDependencies {
  return shop.world.worker({
    clock: shop.clock,
    observer: {
      request: () => undefined,
      effect: (step, outcome) => metrics.effects.inc({ step, outcome }),
      pass: () => undefined,
      settled: () => undefined,
    },
    ...patch,
  });
}

type Scrape = ReadonlyMap<string, string>;
async function scrape(): Promise<Scrape> {
  const text = await metrics.exposition();
  return new Map(
    [...text.matchAll(/^(order_[a-z_]+(?:\{[^}]*\})?) ([0-9.e+-]+)$/gm)].map(
      ([, series = '', value = '']) => [series, value],
    ),
  );
}

interface Expected {
  readonly alert: string;
  readonly at: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Before anything is brought about. */
const HEALTHY_AT = '50m';

/** What promtool finds against: these alerts, with these labels, at these times and none before; '' for nothing. A scrape a minute. */
function fires(minutes: readonly Scrape[], expected: readonly Expected[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'order-reconciler-alerts-'));
  try {
    // Their texts are checked beside the rules.
    const rules = readFileSync('ops/alerts.yml', 'utf8').replace(/^ {8}annotations:\n(?: {10}.*\n)+/gm, '');
    writeFileSync(join(folder, 'rules.yml'), rules);
    const names = new Set(minutes.flatMap((one) => [...one.keys()]));
    const series = [...names].map((name) => ({
      series: name,
      values: minutes.map((one) => one.get(name) ?? '_').join(' '),
    }));
    const alert_rule_test = expected.flatMap(({ alert, at, labels }) => [
      { eval_time: HEALTHY_AT, alertname: alert, exp_alerts: [] },
      { eval_time: at, alertname: alert, exp_alerts: [{ exp_labels: labels }] },
    ]);
    const tests = [{ interval: '1m', input_series: series, alert_rule_test }];
    // JSON is YAML.
    writeFileSync(
      join(folder, 'tests.yml'),
      JSON.stringify({ rule_files: ['rules.yml'], evaluation_interval: '1m', tests }),
    );
    const found = spawnSync(process.execPath, ['scripts/promtool.mjs'], { encoding: 'utf8' });
    if (found.status !== 0) return found.stderr;
    const { status, stdout, stderr } = spawnSync(
      found.stdout.trim(),
      ['test', 'rules', join(folder, 'tests.yml')],
      { encoding: 'utf8' },
    );
    return status === 0 ? '' : stdout + stderr;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

(isLeftOut ? test.skip : test)(
  'every alert',
  async () => {
    const healthy = await scrape();

    // A refund beyond the brake.
    const by = worker({ brake: new RefundBrake(shop.world.db.database, { refunds: 0, amounts: {} }) });
    await shop.order('braked');
    await shop.settle('braked');
    await shop.cancel('braked');
    await shop.world.hurry('braked');
    await shop.world.run(by);

    // Answers that say nothing, first of some orders and then of many more.
    await shop.control.inject({ route: 'payment_intents.confirm', kind: '500_no_effect', times: null });
    const unknown = async (name: string, orders: number): Promise<void> => {
      for (let order = 0; order < orders; order += 1) await shop.order(`${name}-${order}`);
      // Each begins without knowing what the others found.
      for (let process = 0; process < orders; process += 8) await shop.world.run(worker(), 8);
    };
    await unknown('first', 2);
    const begun = await scrape();
    await unknown('more', 24);

    // Others need a person too; some fail again and again; some do not move; nobody claims.
    await query(
      `UPDATE order_operations SET status = jsonb_set(status, '{attention}',
         '{"reason": "ProviderRejected", "message": "x", "since": "2026-01-01T00:00:00Z"}') WHERE operation_id LIKE 'more-1%' AND settled_at IS NULL`,
    );
    await query(
      `UPDATE order_operations SET facts = jsonb_set(facts, '{budget}', '{"used": 4}'), updated_at = now() - interval '1 hour',
         next_attempt_at = now() - interval '20 minutes', lease_expires_at = NULL, lease_holder = NULL
       WHERE operation_id LIKE 'more-%' AND attention_reason IS NULL AND settled_at IS NULL`,
    );
    // The step is out by itself; then the account as well.
    await new AccountStore(shop.world.db.database).stop('default', 'refused', 'the key was revoked');
    // Money that nobody accounts for, in sum and by itself; and a sweep that has not run since.
    await query(
      `INSERT INTO findings (account, kind, reference, state, amount, currency, message, evidence, suggested, suspected_at, opened_at,
         first_seen_at, last_seen_at, check_at)
       SELECT 'default', 'orphan_payment', 'pi_stray', 'open', 1, 'EUR', 'x', '{}', 'dismiss', now(), now(), now(), now(), now()`,
    );
    await query(
      `INSERT INTO orphan_sweeps (account, ended_at, totals, due_at) VALUES ('default', now() - interval '2 hours',
         '{"EUR": {"provider": 10000, "recorded": 0}}', now())`,
    );
    const ill = await scrape();

    const page = { severity: 'page' };
    const ticket = { severity: 'ticket' };
    const minutes = [
      ...Array<Scrape>(60).fill(healthy),
      begun,
      ...Array<Scrape>(14 * 60).fill(ill),
      // Postgres is away: the gauges over orders are absent.
      ...Array<Scrape>(30).fill(new Map([...ill].filter(([name]) => name.startsWith('order_effects')))),
    ];
    expect(
      fires(minutes, [
        { alert: 'OutcomesUnknown', at: '70m', labels: page },
        { alert: 'AttentionGrows', at: '80m', labels: ticket },
        { alert: 'OrdersDueLate', at: '90m', labels: page },
        { alert: 'OrdersNotMoving', at: '90m', labels: ticket },
        { alert: 'OrdersFailRepeatedly', at: '90m', labels: ticket },
        { alert: 'AccountStopped', at: '90m', labels: { ...page, account: 'default' } },
        {
          alert: 'AccountStepOut',
          at: '90m',
          labels: { ...page, account: 'default', step: 'confirm_payment' },
        },
        { alert: 'RefundBrakeReached', at: '90m', labels: page },
        { alert: 'SweepNotRun', at: '90m', labels: { ...ticket, account: 'default' } },
        { alert: 'MoneyUnaccountedFor', at: '90m', labels: { ...ticket, kind: 'orphan_payment' } },
        { alert: 'TotalsDiffer', at: '880m', labels: { ...ticket, account: 'default', currency: 'EUR' } },
        { alert: 'OrdersNotCounted', at: '925m', labels: page },
      ]),
    ).toBe('');
  },
  120_000,
);
