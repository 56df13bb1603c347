/** Housekeeping over a shop, and orders that settled long ago. */
import { WATCH_DAYS } from '../../src/operation/schedule.js';
import { Eraser } from '../../src/retention/eraser.js';
import { Housekeeping } from '../../src/retention/housekeeping.js';
import type { Retention } from '../../src/retention/rules.js';
import { ErasureStore } from '../../src/store/erasure-store.js';
import { HousekeepingStore } from '../../src/store/housekeeping-store.js';
import type { Shop } from './shop.js';
import { TEST_POLICY } from './world.js';

const DAYS: Retention = { webhooks: 30, findings: 400, journal: 730, personal_data: 365 };
const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };

export function keeping({ world, clock }: Shop, retention: Partial<Retention> = {}): Housekeeping {
  const { database } = world.db;
  return new Housekeeping({
    store: new HousekeepingStore(database),
    eraser: new Eraser(new ErasureStore(database), clock, TEST_POLICY),
    retention: { ...DAYS, ...retention },
    watch_days: WATCH_DAYS,
    log: QUIET,
  });
}

/** As if it had settled so many days ago and were watched no longer, unless changed. */
export async function settledAgo(
  { world }: Shop,
  id: string,
  days: number,
  changes = 'next_attempt_at = NULL',
): Promise<void> {
  const { database } = world.db;
  await database.query(
    `UPDATE order_operations o SET settled_at = now() - make_interval(days => $2), ${changes},
       status = jsonb_set(status, '{settled_at}', to_jsonb(to_char((now() - make_interval(days => $2)) AT TIME ZONE 'UTC',
         'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
     WHERE operation_id = $1`,
    [id, days],
  );
  await database.query(
    `UPDATE operation_attempts SET started_at = started_at - make_interval(days => $2)
     WHERE operation = (SELECT id FROM order_operations WHERE operation_id = $1)`,
    [id, days],
  );
}
