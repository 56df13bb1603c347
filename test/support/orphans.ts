/** A shop with the two-sided sweep: tests tell it when to sweep, and time does not keep it waiting. */
import { OrphanSweep } from '../../src/orphans/orphan-sweep.js';
import type { OrphanDependencies } from '../../src/orphans/ports.js';
import { FindingList, type FindingOut } from '../../src/api/schemas/findings.js';
import { FindingAttemptStore } from '../../src/store/finding-attempt-store.js';
import { FindingCommandStore } from '../../src/store/finding-command-store.js';
import { FindingStore } from '../../src/store/finding-store.js';
import { MissingWalkStore } from '../../src/store/missing-walk-store.js';
import { OrphanSweepStore } from '../../src/store/orphan-sweep-store.js';
import { aShop, type Shop } from './shop.js';

const DAY = 86_400_000;

export interface Swept extends Shop {
  /** A worker's sweep; each call is another process. */
  sweeper(patch?: Partial<OrphanDependencies>): OrphanSweep;
  /** One tick after which all findings are as the provider is, however young; every payment is looked at that is due. */
  sweep(by?: OrphanSweep): Promise<void>;
  /** Everything that waits for its time is due. */
  hurryFindings(): Promise<void>;
  findings(query?: string): Promise<FindingOut[]>;
  /** Lists that were asked for since the last call. */
  lists(): Promise<number>;
  query<Row>(sql: string, parameters?: unknown[]): Promise<Row[]>;
}

/** No grace, no pause between rounds; the slow rounds go back a day. */
export async function aSweptShop(desk: Parameters<typeof aShop>[0] = {}): Promise<Swept> {
  const shop = await aShop(desk);
  const { database } = shop.world.db;
  const query = <Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> =>
    database.query<Row>(sql, parameters);
  const sweeper = (patch: Partial<OrphanDependencies> = {}): OrphanSweep => {
    const { accounts, brake, clock, lease_ms, log, provider_timeout_ms, worker } = shop.world.worker();
    return new OrphanSweep({
      sweeps: new OrphanSweepStore(database),
      findings: new FindingStore(database),
      missing: new MissingWalkStore(database),
      attempts: new FindingAttemptStore(database),
      commands: new FindingCommandStore(database),
      brake,
      provider_timeout_ms,
      clock,
      accounts,
      names: ['default'],
      exclusive: desk.exclusive ?? new Set(),
      pacing: { lookback_ms: DAY, lookback_interval_ms: DAY, overlap_ms: DAY },
      grace_ms: 0,
      interval_ms: 0,
      worker,
      lease_ms,
      log,
      observer: { request: () => undefined, effect: () => undefined },
      ...patch,
    });
  };
  const first = sweeper();
  let listed = 0;
  return {
    ...shop,
    sweeper,
    query,
    sweep: (by = first) => by.sweep(),
    async hurryFindings() {
      await query(`UPDATE findings SET check_at = now() WHERE check_at IS NOT NULL`);
    },
    async findings(filter = '') {
      const answer = await shop.asSupport('GET', `/v1/findings${filter}`);
      if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`);
      return FindingList.parse(answer.json()).items;
    },
    async lists() {
      const all = (await shop.control.journal({ route: 'payment_intents.list' })).length;
      const since = all - listed;
      listed = all;
      return since;
    },
  };
}
