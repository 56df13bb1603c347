import { describe, expect, test } from '@jest/globals';
import { createLogger } from '../../src/telemetry/logger.js';
import { Metrics } from '../../src/telemetry/metrics.js';
import type { Statistics } from '../../src/telemetry/statistics.js';

const STATISTICS: Statistics = {
  operations: new Map([['accepted', 3]]),
  attention: new Map([['RefundFailed', 1]]),
  oldest_due_seconds: 4.5,
  stale_progress: new Map([['cancelling', 2]]),
  accounts: new Map([['default', 2]]),
  steps_out: [],
  repeated_failures: 7,
  money_at_stake: new Map([['EUR', 12_900]]),
  findings: new Map([['orphan_payment', 2]]),
  orphan_sweep_age_seconds: new Map([['default', 61]]),
  total_differences: [{ account: 'default', currency: 'EUR', minor: -500 }],
};

describe('metrics', () => {
  test('every name of the contract is there', async () => {
    const metrics = new Metrics(() => Promise.resolve(STATISTICS));
    const text = await metrics.exposition();
    for (const name of [
      'order_operations',
      'order_attention',
      'order_oldest_due_seconds',
      'order_stale_progress',
      'order_settle_seconds',
      'order_reconcile_seconds',
      'order_repeated_failures',
      'order_provider_requests_total',
      'order_effects_total',
      'order_account_state',
      'order_money_at_stake_minor',
    ]) {
      expect(text).toMatch(new RegExp(`^# TYPE ${name} `, 'm'));
    }
    expect(text).toContain('order_operations{phase="accepted"} 3');
    expect(text).toContain('order_attention{reason="RefundFailed"} 1');
    expect(text).toContain('order_oldest_due_seconds 4.5');
    expect(text).toContain('order_stale_progress{phase="cancelling"} 2');
    expect(text).toContain('order_repeated_failures 7');
    expect(text).toContain('order_money_at_stake_minor{currency="EUR"} 12900');
    expect(text).toContain('order_findings{kind="orphan_payment"} 2');
    expect(text).toContain('order_orphan_sweep_age_seconds{account="default"} 61');
    expect(text).toContain('order_provider_total_difference_minor{account="default",currency="EUR"} -500');
    expect(text).toContain('process_cpu_seconds_total');
  });

  test('what is gone from the database is gone from the next scrape', async () => {
    let operations = new Map([['accepted', 3]]);
    const metrics = new Metrics(() => Promise.resolve({ ...STATISTICS, operations }));
    await metrics.exposition();
    operations = new Map([['fulfilled', 3]]);
    const text = await metrics.exposition();
    expect(text).toContain('order_operations{phase="fulfilled"} 3');
    expect(text).not.toContain('order_operations{phase="accepted"}');
  });

  test.each([
    ['fails', () => Promise.reject(new Error('away'))],
    [
      'throws',
      () => {
        throw new Error('away');
      },
    ],
    ['hangs', () => new Promise<never>(() => undefined)],
  ] as [string, () => Promise<Statistics>][])(
    'a count that %s leaves the rest, and no stale numbers',
    async (_name, fail) => {
      let collect: () => Promise<Statistics> = () => Promise.resolve(STATISTICS);
      const metrics = new Metrics(() => collect());
      await metrics.exposition();
      collect = fail;
      const text = await metrics.exposition();
      expect(text).toContain('process_cpu_seconds_total');
      expect(text).toContain('order_statistics_failures_total 1');
      expect(text).not.toMatch(/^order_operations\{/m);
      expect(text).not.toMatch(/^order_oldest_due_seconds /m);
      expect(text).not.toMatch(/^order_repeated_failures /m);
    },
  );

  test('scrapes at the same moment share one count', async () => {
    let counted = 0;
    const metrics = new Metrics(() => {
      counted += 1;
      return new Promise((resolve) => setTimeout(() => resolve(STATISTICS), 50));
    });
    await Promise.all([metrics.exposition(), metrics.exposition(), metrics.exposition()]);
    expect(counted).toBe(1);
  });
});

describe('logs', () => {
  function logged(write: (logger: ReturnType<typeof createLogger>) => void): string {
    const lines: string[] = [];
    write(createLogger('debug', { write: (line) => lines.push(line) }));
    return lines.join('');
  }

  test('are one JSON object a line, with the ids that were given', () => {
    const text = logged((logger) => logger.info({ operation_id: 'a"b', request_id: 'r' }, 'stored'));
    expect(JSON.parse(text)).toMatchObject({
      level: 'info',
      operation_id: 'a"b',
      request_id: 'r',
      message: 'stored',
    });
    expect(text.endsWith('\n')).toBe(true);
  });

  test.each([
    ['a header', { headers: { authorization: 'Bearer hunter2' } }],
    ['a request with a header', { request: { headers: { authorization: 'Basic hunter2' } } }],
    ['a secret', { secret: 'hunter2' }],
    ['a client secret', { payment: { client_secret: 'hunter2' } }],
    ['API keys', { api_keys: 'shop:checkout:hunter2' }],
    ['a provider key in a text', { note: 'failed with sk_live_hunter2' }],
    ['a webhook secret in a text', { note: 'failed with whsec_hunter2' }],
    ['a client secret in a text', { note: 'pi_123_secret_hunter2' }],
    ['a password in an address', { note: 'connect postgres://app:hunter2@db:5432/x' }],
    [
      'an error with its request',
      { err: Object.assign(new Error('no'), { raw: { headers: { k: 'hunter2' } } }) },
    ],
    ['an error whose cause names it', { err: new Error('no', { cause: new Error('Bearer hunter2') }) }],
  ])('%s is not written', (_name, data) => {
    const text = logged((logger) => logger.error(data, 'something'));
    expect(text).not.toContain('hunter2');
    expect(JSON.parse(text)).toMatchObject({ message: 'something' });
  });

  test('an error is named with its code and its cause', () => {
    const error = Object.assign(new Error('outer', { cause: new Error('inner') }), { code: 'ECONNRESET' });
    const line = JSON.parse(logged((logger) => logger.error({ err: error }, 'x'))) as Record<string, unknown>;
    expect(line['err']).toMatchObject({ message: 'outer', code: 'ECONNRESET', cause: { message: 'inner' } });
  });
});
