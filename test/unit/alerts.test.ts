/** The alert rules: Prometheus takes them, each fires for its cause, and what they ask for is exported. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Metrics } from '../../src/telemetry/metrics.js';

const RULES = 'ops/alerts.yml';
const rules = readFileSync(RULES, 'utf8');
const named = (pattern: RegExp): string[] => [...rules.matchAll(pattern)].map(([, name = '']) => name);
const alerts = named(/^\s*- alert: (\S+)$/gm);
const runbooks = named(/^\s*runbook: (\S+)$/gm);

/** As for Redis: what cannot be checked is a failure unless it is accepted by name. */
const isLeftOut = process.env['ALLOW_NO_PROMTOOL'] !== undefined;

(isLeftOut ? describe.skip : describe)('with promtool', () => {
  let promtool = '';
  beforeAll(() => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/promtool.mjs'], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`${stderr.trim()}, or leave it out by ALLOW_NO_PROMTOOL=1`);
    promtool = stdout.trim();
  }, 180_000);

  test.each([
    ['the rules parse', ['check', 'rules', RULES]],
    ['each alert fires for its cause', ['test', 'rules', 'ops/alerts.test.yml']],
  ])('%s', (_name, args) => {
    const { status, stdout, stderr } = spawnSync(promtool, args, { encoding: 'utf8' });
    expect({ status, said: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, said: '' });
  });
});

test('every alert is made to fire by a test, and has a page that says what is safe to do', () => {
  const tests = readFileSync('ops/alerts.test.yml', 'utf8');
  const fired = [...tests.matchAll(/alertname: (\w+)\n\s+exp_alerts:\n/g)].map(([, name]) => name);
  expect([...fired].sort()).toEqual([...alerts].sort());
  expect(runbooks).toHaveLength(alerts.length);
  alerts.forEach((alert, at) => {
    const page = runbooks[at] ?? '';
    expect({ page, exists: existsSync(page) }).toEqual({ page, exists: true });
    expect(readFileSync(page, 'utf8')).toContain(`\`${alert}\``);
  });
});

test('every metric of the rules is exported, with the labels that they ask for', async () => {
  const metrics = new Metrics(() =>
    Promise.resolve({
      operations: new Map([['cancelling', 1]]),
      attention: new Map([['RefundBrake', 1]]),
      oldest_due_seconds: 1,
      stale_progress: new Map([['cancelling', 1]]),
      accounts: new Map([['default', 2]]),
      steps_out: [{ account: 'default', step: 'create_refund' }],
      repeated_failures: 1,
      money_at_stake: new Map([['EUR', 1]]),
      findings: new Map([['orphan_payment', 1]]),
      orphan_sweep_age_seconds: new Map([['default', 1]]),
      total_differences: [{ account: 'default', currency: 'EUR', minor: 1 }],
    }),
  );
  metrics.effects.inc({ step: 'create_refund', outcome: 'unknown' });
  const text = await metrics.exposition();
  const asked = new Set(named(/\b(order_[a-z_]+)/g));
  expect(asked.size).toBeGreaterThan(5);
  for (const name of asked) expect(text).toMatch(new RegExp(`^${name}(\\{.*\\})? [0-9]`, 'm'));
  for (const [, name = '', label = ''] of rules.matchAll(/\b(order_[a-z_]+)\{(\w+)=/g))
    expect(text).toMatch(new RegExp(`^${name}\\{.*${label}="`, 'm'));
  for (const [, label = '', name = ''] of rules.matchAll(/by \((\w+)\) \((order_[a-z_]+)/g))
    expect(text).toMatch(new RegExp(`^${name}\\{.*${label}="`, 'm'));
});
