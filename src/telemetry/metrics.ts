/** Every metric, declared once. The names are part of the public contract. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { within } from '../within.js';
import type { Statistics } from './statistics.js';

/** A scrape never waits longer for Postgres; Prometheus itself gives up after 10 s by default. */
const COLLECT_TIMEOUT_MS = 2_000;

/** From one quick card payment (about a second) to a pending bank debit (days). */
const SETTLE_BUCKETS = [0.5, 1, 2, 5, 10, 30, 60, 300, 1_800, 3_600, 21_600, 86_400, 604_800];
/** One pass: a reading is some 100 ms, a confirmation up to the provider timeout. */
const RECONCILE_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60];

export class Metrics {
  readonly registry = new Registry();

  readonly settleSeconds = this.histogram('order_settle_seconds', 'From creation to settled', SETTLE_BUCKETS);
  readonly reconcileSeconds = this.histogram(
    'order_reconcile_seconds',
    'Length of one pass over one order',
    RECONCILE_BUCKETS,
  );
  readonly providerRequests = this.counter(
    'order_provider_requests_total',
    'Requests sent to the payment provider; step includes observe_payment',
    ['account', 'step', 'outcome'],
  );
  readonly effects = this.counter('order_effects_total', 'Recorded tries of effects', ['step', 'outcome']);
  private readonly accountState = this.gauge(
    'order_account_state',
    'State of a provider account: 0 healthy, 1 throttled, 2 breaker open, 3 writes stopped by a person',
    ['account'],
  );
  private readonly stepsOut = this.gauge(
    'order_account_steps_out',
    '1 for a step that fails for all orders of an account that answers',
    ['account', 'step'],
  );
  readonly providerEvents = this.counter(
    'order_provider_events_total',
    'Webhooks: woken, unmatched, ignored, duplicate, or refused for their signature',
    ['account', 'result'],
  );
  readonly collectFailures = this.counter(
    'order_statistics_failures_total',
    'Scrapes for which the operations could not be counted; the gauges over them are absent then',
    [],
  );

  private readonly operations = this.gauge('order_operations', 'Stored operations by phase', ['phase']);
  private readonly attention = this.gauge('order_attention', 'Operations that need a person, by reason', [
    'reason',
  ]);
  private readonly oldestDue = this.gauge(
    'order_oldest_due_seconds',
    'How late the most overdue operation is',
    [],
  );
  private readonly staleProgress = this.gauge(
    'order_stale_progress',
    'Operations that should have moved on by themselves and have not, by phase',
    ['phase'],
  );
  private readonly repeatedFailures = this.gauge(
    'order_repeated_failures',
    'Operations with repeated failures of one step',
    [],
  );
  private readonly moneyAtStake = this.gauge(
    'order_money_at_stake_minor',
    'Money of operations that need a person, in minor units',
    ['currency'],
  );
  private readonly findings = this.gauge('order_findings', 'Open findings of the two-sided sweep, by kind', [
    'kind',
  ]);
  private readonly orphanSweepAge = this.gauge(
    'order_orphan_sweep_age_seconds',
    'Since the recent payments of an account were last compared with the record',
    ['account'],
  );
  private readonly totalDifference = this.gauge(
    'order_provider_total_difference_minor',
    'What the provider holds for our orders minus what is recorded, in minor units, over the lookback window',
    ['account', 'currency'],
  );
  private collecting: Promise<void> | null = null;

  /** `collect` counts the stored operations; without it only what this process did is shown. */
  constructor(private readonly collect?: () => Promise<Statistics>) {
    collectDefaultMetrics({ register: this.registry });
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** The text of a scrape. Never fails because of Postgres: what cannot be counted is left out and counted as such. */
  async exposition(): Promise<string> {
    if (this.collect !== undefined) {
      // Scrapes at the same moment share one count.
      this.collecting ??= this.refresh(this.collect).finally(() => (this.collecting = null));
      await this.collecting;
    }
    return this.registry.metrics();
  }

  private async refresh(collect: () => Promise<Statistics>): Promise<void> {
    const perLabel = [
      this.operations,
      this.attention,
      this.staleProgress,
      this.moneyAtStake,
      this.accountState,
      this.stepsOut,
      this.findings,
      this.orphanSweepAge,
      this.totalDifference,
    ];
    const single = [this.oldestDue, this.repeatedFailures];
    try {
      const statistics = await within(COLLECT_TIMEOUT_MS, collect());
      perLabel.forEach((gauge) => gauge.reset());
      setAll(this.operations, 'phase', statistics.operations);
      setAll(this.attention, 'reason', statistics.attention);
      setAll(this.staleProgress, 'phase', statistics.stale_progress);
      setAll(this.accountState, 'account', statistics.accounts);
      setAll(this.moneyAtStake, 'currency', statistics.money_at_stake);
      setAll(this.findings, 'kind', statistics.findings);
      setAll(this.orphanSweepAge, 'account', statistics.orphan_sweep_age_seconds);
      for (const { account, step } of statistics.steps_out) this.stepsOut.set({ account, step }, 1);
      for (const { account, currency, minor } of statistics.total_differences) {
        this.totalDifference.set({ account, currency }, minor);
      }
      this.oldestDue.set(statistics.oldest_due_seconds);
      this.repeatedFailures.set(statistics.repeated_failures);
    } catch {
      this.collectFailures.inc();
      perLabel.forEach((gauge) => gauge.reset());
      // `remove` rather than `reset`: a zero would read as "nothing is overdue".
      single.forEach((gauge) => gauge.remove());
    }
  }

  private counter(name: string, help: string, labelNames: string[]): Counter {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }
  private gauge(name: string, help: string, labelNames: string[]): Gauge {
    return new Gauge({ name, help, labelNames, registers: [this.registry] });
  }
  private histogram(name: string, help: string, buckets: number[]): Histogram {
    return new Histogram({ name, help, buckets, registers: [this.registry] });
  }
}

function setAll(gauge: Gauge, label: string, values: ReadonlyMap<string, number>): void {
  for (const [value, count] of values) gauge.set({ [label]: value }, count);
}
