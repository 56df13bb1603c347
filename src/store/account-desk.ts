/** Provider accounts as people see and stop them. */
import type { StepName } from '../operation/attempt.js';
import type { Pause } from '../operation/operation.js';
import { RELEASE_RATE, STEP_WINDOW_MS, type StopReason } from './account-store.js';
import type { Database } from './database.js';
import type { Actor } from './record.js';

/** Who stopped an account or let it go on. */
export interface AccountEvent {
  readonly at: string;
  readonly type: 'paused' | 'resumed';
  readonly actor: Actor;
  readonly reason: string;
}

/** A kind of call that fails for all orders of an account. */
export interface StepOut {
  readonly step: StepName;
  readonly reason: 'outage' | 'refused';
  readonly message: string;
  readonly since: string;
}

/** Times are RFC 3339 UTC. */
export interface AccountHealth {
  readonly account: string;
  readonly identity: string | null;
  readonly livemode: boolean | null;
  /** When it was first in contact; null: it never was. */
  readonly pinned_at: string | null;
  readonly breaker: 'closed' | 'open';
  readonly reason: StopReason | null;
  readonly message: string | null;
  readonly since: string | null;
  /** Calls that the account does not take although it answers. */
  readonly steps_out: readonly StepOut[];
  /** Null when that time is over. */
  readonly throttled_until: string | null;
  /** Passes a second that are begun now; null: as many as there is work. */
  readonly rate: number | null;
  readonly paused: Pause | null;
  /** Calls that were begun and are not answered; after a pause those that may still take effect. */
  readonly writes_under_way: number;
  /** Within the last hour, with what was given leave and is not sent yet. */
  readonly refunds: number;
  /** The same in minor units by currency. */
  readonly refunded: Readonly<Record<string, number>>;
  /** When a refund last met the brake. */
  readonly braked_at: string | null;
  /** The latest, newest first. */
  readonly events: readonly AccountEvent[];
}

const EVENTS_SHOWN = 10;

/** A record that is worked on stays due as it was claimed, so the index of what is due finds it. */
const HEALTH = `
SELECT a.account, identity, livemode, pinned_at, breaker, reason, message, since, paused, refunds_braked_at AS braked_at,
  CASE WHEN throttled_until > now() THEN throttled_until END AS throttled_until,
  CASE WHEN rate IS NOT NULL THEN
    least($1::float8, rate * power(2, least(30, extract(epoch FROM now() - rate_since) / 10))) END AS rate,
  (SELECT count(*)::int FROM order_operations o WHERE o.account = a.account AND o.next_attempt_at <= now()
     AND o.lease_expires_at > now() AND o.task IS NOT NULL)
  + (SELECT count(*)::int FROM orphan_sweeps s JOIN finding_attempts f ON f.worker = s.lease_holder
     WHERE s.account = a.account AND s.lease_expires_at > now() AND f.completed_at IS NULL) AS writes_under_way,
  (SELECT coalesce(json_agg(json_build_object('step', step, 'reason', s.reason, 'message', s.message, 'since', out_since)
     ORDER BY out_since), '[]') FROM account_steps s
   WHERE s.account = a.account AND out_since IS NOT NULL AND failed_at > now() - make_interval(secs => $4::float8 / 1000)
  ) AS steps_out,
  (SELECT count(*)::int FROM money_out m WHERE m.account = a.account AND m.at > now() - interval '1 hour') AS refunds,
  (SELECT coalesce(json_object_agg(currency, total), '{}') FROM (
     SELECT currency, sum(amount) AS total FROM money_out m
     WHERE m.account = a.account AND m.at > now() - interval '1 hour' GROUP BY currency) m) AS refunded,
  (SELECT coalesce(json_agg(e ORDER BY e.sequence DESC), '[]') FROM (
     SELECT * FROM account_events e WHERE e.account = a.account ORDER BY sequence DESC LIMIT $2) e) AS events
FROM provider_accounts a WHERE $3::text IS NULL OR a.account = $3 ORDER BY a.account`;

const SWITCH = 'SELECT switch_account($1, $2, $3, $4, $5, $6) AS switched';

/** In one order with those who write records, and few at a time, so that nobody waits long for a row. */
const WAKE_NEXT = `
WITH waiting AS (
  SELECT id FROM order_operations
  WHERE settled_at IS NULL AND id > $2 AND account = $1 AND facts ? 'account_paused'
  ORDER BY id LIMIT $3 FOR UPDATE
), woken AS (
  UPDATE order_operations o SET wake = wake + 1, next_attempt_at = now() FROM waiting WHERE o.id = waiting.id
)
SELECT count(*)::int AS woken, max(id) AS last FROM waiting`;
const WOKEN_AT_ONCE = 500;

interface HealthRow extends Omit<
  AccountHealth,
  'pinned_at' | 'since' | 'throttled_until' | 'braked_at' | 'events'
> {
  readonly pinned_at: Date | null;
  readonly since: Date | null;
  readonly throttled_until: Date | null;
  readonly braked_at: Date | null;
  readonly events: readonly {
    readonly at: string;
    readonly type: AccountEvent['type'];
    readonly actor_kind: Actor['kind'];
    readonly actor_name: string;
    readonly reason: string;
  }[];
}

export class AccountDesk {
  readonly #database: Database;
  readonly #ceiling: number;

  /** `ceiling`: passes a second that a limited account grows back to. */
  constructor(database: Database, ceiling: number) {
    this.#database = database;
    this.#ceiling = ceiling;
  }

  list(): Promise<AccountHealth[]> {
    return this.#health(null);
  }

  /** Null for an account that is not known. */
  async find(account: string): Promise<AccountHealth | null> {
    const [health] = await this.#health(account);
    return health ?? null;
  }

  /**
   * Stops all writes of the account: no intent is recorded any more, by any process. Calls whose intent was recorded
   * before are under way. False when it is stopped already; who stopped it first stays.
   */
  pause(account: string, actor: Actor, reason: string): Promise<boolean> {
    return this.#switch(account, true, actor, reason);
  }

  /**
   * Lets the writes go on and makes due what waited for them, metered as after an outage. A crash in between leaves
   * the rest to its regular look; asking again makes it due.
   */
  async resume(account: string, actor: Actor, reason: string): Promise<boolean> {
    const switched = await this.#switch(account, false, actor, reason);
    for (let after: string | null = '0'; after !== null;) {
      const [row]: { woken: number; last: string | null }[] = await this.#database.query(WAKE_NEXT, [
        account,
        after,
        WOKEN_AT_ONCE,
      ]);
      after = row?.woken === WOKEN_AT_ONCE ? row.last : null;
    }
    return switched;
  }

  async #switch(account: string, stops: boolean, actor: Actor, reason: string): Promise<boolean> {
    const [row] = await this.#database.query<{ switched: boolean }>(SWITCH, [
      account,
      stops,
      actor.kind,
      actor.name,
      reason,
      RELEASE_RATE,
    ]);
    return row?.switched ?? false;
  }

  async #health(account: string | null): Promise<AccountHealth[]> {
    const rows = await this.#database.query<HealthRow>(HEALTH, [
      this.#ceiling,
      EVENTS_SHOWN,
      account,
      STEP_WINDOW_MS,
    ]);
    return rows.map((row) => ({
      ...row,
      pinned_at: iso(row.pinned_at),
      since: iso(row.since),
      throttled_until: iso(row.throttled_until),
      braked_at: iso(row.braked_at),
      steps_out: row.steps_out.map((out) => ({ ...out, since: new Date(out.since).toISOString() })),
      events: row.events.map(({ at, type, actor_kind, actor_name, reason }) => ({
        at: new Date(at).toISOString(),
        type,
        actor: { kind: actor_kind, name: actor_name },
        reason,
      })),
    }));
  }
}

const iso = (time: Date | null): string | null => time?.toISOString() ?? null;
