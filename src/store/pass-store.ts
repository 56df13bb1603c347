/**
 * The loop's side of the record: claim, record, wake. Every statement works on many rows at once and names what it
 * expects of each; rows that do not match are left alone, and the caller is told.
 */
import { PROBE_INTERVAL_MS } from './account-store.js';
import { Coalescer } from './coalescer.js';
import { isAway, violatedConstraint, type Database } from './database.js';
import type { OperationAttemptRow, OrderOperationRow } from './entities.js';
import { toAttempt, toRecord } from './mapping.js';
import type { EventDraft, JournalAttempt, OperationRecord } from './record.js';
import type { Outcome, Parameters, Resolution, StepName } from '../operation/attempt.js';
import type { Facts, Status } from '../operation/operation.js';

/** A record under our lease, with its journal. */
export interface Claim {
  readonly row: string;
  readonly fencing_token: number;
  readonly record: OperationRecord;
  readonly attempts: readonly JournalAttempt[];
}

export interface Claimed {
  readonly claims: Claim[];
  /** Limited accounts for which nothing waits any more. */
  readonly drained: string[];
  /** Accounts that are out, of which a record was claimed to see whether they are back. */
  readonly probed: string[];
  /** On the clock of the database, by which leases run and tries are dated; null when no account is known. */
  readonly now: Date | null;
  /** Some account is out, limited or throttled: what it holds back may be claimable soon. */
  readonly held: boolean;
}

export interface Intent {
  readonly step: StepName;
  readonly target: string;
  readonly ordinal: number;
  readonly effect_key: string;
  readonly parameters: Parameters;
}

/** Everything that one moment of a pass has to say, in one write. */
export interface Entry {
  readonly row: string;
  readonly worker: string;
  readonly fencing_token: number;
  /** As last known to this pass; an intent is recorded only when nobody wrote since. */
  readonly resource_version: number;
  /** The generation that `status` was derived for; with another one, or a newer wish, only the facts are written. */
  readonly generation: number;
  readonly facts: Facts;
  readonly status: Status;
  readonly provider_reference: string | null;
  /** False for a look that found nothing new: no reader sees a difference. */
  readonly changed: boolean;
  /** The answer to the attempt that was open; kept even when the lease was lost. */
  readonly completed: { readonly attempt_id: string; readonly outcome: Outcome } | null;
  /** What was observed of attempts whose answer is lost. */
  readonly resolved: readonly { readonly attempt_id: string; readonly resolution: Resolution }[];
  readonly events: readonly EventDraft[];
  /** What `status` changes; told only where that status is written. */
  readonly transitions: readonly EventDraft[];
  /** Either the next effect, with a lease renewed for so long, or the end of the pass. */
  readonly next:
    | { readonly kind: 'intent'; readonly intent: Intent; readonly lease_ms: number }
    /** `look_in_ms` null: watched no longer. A wake that came meanwhile makes it due at once. */
    | { readonly kind: 'release'; readonly look_in_ms: number | null };
}

export interface Recorded {
  /** The lease is still ours and the facts are written. */
  readonly held: boolean;
  /** Somebody asked for another look since the claim. */
  readonly woken: boolean;
  readonly resource_version: number;
  /** Set when the intent was recorded: the effect may be sent. */
  readonly attempt: JournalAttempt | null;
}

/** Nearer than this, a record goes before those that only wait longer. */
const NEAR_DEADLINE_MS = 60 * 60 * 1000;

/**
 * Takes up to `$1` due records that nobody holds; a lease that ran out is nobody's. Of each account no more than it may
 * bear now, so one that is out or slow neither fills the batch nor holds up another:
 *
 *   probes   an account whose breaker is open: one record now and then
 *   metered  one that was throttled or came back: what its rate has saved up, at most a quarter of a second's worth;
 *            turns are scarce then, so half of them go to records near their deadline, the nearest first
 *   free     all others
 */
const CLAIM = {
  name: 'claim',
  text: `
WITH probes AS (
  UPDATE provider_accounts SET probe_at = now() + make_interval(secs => $4::float8 / 1000), granted = 1
  WHERE breaker = 'open' AND probe_at <= now()
  RETURNING account, granted
), metered AS (
  UPDATE provider_accounts a
  SET granted = least($1, floor(m.saved)), tokens = m.saved - least($1, floor(m.saved)), tokens_at = greatest(b.tokens_at, now())
  FROM (SELECT * FROM provider_accounts WHERE rate IS NOT NULL ORDER BY account FOR UPDATE) b, LATERAL (
    SELECT least($5::float8, b.rate * power(2, least(30, extract(epoch FROM now() - b.rate_since) / 10))) AS rate
  ) r, LATERAL (
    SELECT least(greatest(1, r.rate / 4), b.tokens + r.rate * greatest(0, extract(epoch FROM now() - b.tokens_at))) AS saved
  ) m
  WHERE a.account = b.account AND a.breaker = 'closed' AND a.rate IS NOT NULL
    AND (a.throttled_until IS NULL OR a.throttled_until <= now())
  RETURNING a.account, a.granted
), permits AS (
  SELECT account, granted, 'probe' AS kind FROM probes
  UNION ALL SELECT account, granted, 'metered' FROM metered
  UNION ALL SELECT account, $1, 'free' FROM provider_accounts
    WHERE breaker = 'closed' AND rate IS NULL AND (throttled_until IS NULL OR throttled_until <= now())
), urgent AS (
  SELECT d.id, permits.account FROM permits, LATERAL (
    SELECT o.id FROM order_operations o
    WHERE o.account = permits.account AND o.deadline_at <= now() + make_interval(secs => $6::float8 / 1000)
      AND o.next_attempt_at <= now() AND (o.lease_expires_at IS NULL OR o.lease_expires_at <= now())
    ORDER BY o.deadline_at
    -- Half of the turns: what has no deadline (money to give back) goes on, too.
    LIMIT ceil(permits.granted / 2.0)
    FOR UPDATE SKIP LOCKED
  ) d
  WHERE permits.kind = 'metered'
), waiting AS (
  SELECT d.id, d.next_attempt_at, permits.account FROM permits, LATERAL (
    SELECT o.id, o.next_attempt_at FROM order_operations o
    WHERE o.account = permits.account AND o.next_attempt_at <= now()
      AND (o.lease_expires_at IS NULL OR o.lease_expires_at <= now()) AND o.id <> ALL (ARRAY(SELECT id FROM urgent))
    ORDER BY o.next_attempt_at
    LIMIT permits.granted - (SELECT count(*) FROM urgent WHERE urgent.account = permits.account)
    FOR UPDATE SKIP LOCKED
  ) d
), due AS (
  SELECT id, account, '-infinity' AS turn FROM urgent UNION ALL SELECT id, account, next_attempt_at FROM waiting
), claimed AS (
  UPDATE order_operations o
  SET lease_holder = $2, lease_expires_at = now() + make_interval(secs => $3::float8 / 1000),
      fencing_token = fencing_token + 1, claimed_wake = wake
  FROM (SELECT id FROM due ORDER BY turn LIMIT $1) d WHERE o.id = d.id
  RETURNING o.*
)
SELECT provider_accounts.account, permits.kind = 'probe' AS probed,
  permits.kind = 'metered' AND (SELECT count(*) FROM due WHERE due.account = provider_accounts.account) < permits.granted AS drained,
  breaker = 'open' OR rate IS NOT NULL OR coalesce(throttled_until > now(), false) AS held, now() AS now,
  coalesce(json_agg(claimed ORDER BY claimed.next_attempt_at) FILTER (WHERE claimed.id IS NOT NULL), '[]') AS claims
FROM provider_accounts LEFT JOIN permits USING (account) LEFT JOIN claimed USING (account)
GROUP BY provider_accounts.account, permits.kind, permits.granted`,
};

/**
 * The journals of claimed records. A statement of its own: a claim sees each row as its last writer left it, but other
 * tables as they were when the claim began, which can be a moment earlier.
 */
const JOURNALS = 'SELECT * FROM operation_attempts WHERE operation = ANY ($1::bigint[]) ORDER BY attempt_id';

/**
 * One write for one moment of a pass. A crash before it leaves the former moment, a crash after it the new one:
 * the answer, what it means, and the intent of the next effect are never apart.
 *
 *   completed  the answer to an open attempt; whoever sent it may say it, also without the lease
 *   written    facts: only under the same fencing token; status: only for the same wish. That is the same generation,
 *              and no write by somebody who woke the record (the customer tries again): their status is the newer one
 *   opened     the intent: only when moreover nobody wrote since and the lease has time left
 */
const RECORD = {
  name: 'record',
  text: `
WITH input AS (
  -- Nothing is left out. The limits tell the planner that entries are few, so that it looks rows up, also where it was
  -- asked when the tables were small.
  SELECT * FROM (SELECT * FROM json_to_recordset($1::json) AS i(
    "row" bigint, worker text, fencing_token bigint, resource_version bigint, generation integer,
    facts jsonb, status jsonb, provider_reference text, changed boolean,
    attempt_id bigint, outcome text, key_spent boolean, failure jsonb, shown jsonb, request_id text,
    resolved json, events json, transitions json, intent json, lease_ms float8, look_in_ms float8) LIMIT $2) given LIMIT $2
), completed AS (
  UPDATE operation_attempts a
  SET completed_at = clock_timestamp(), outcome = i.outcome, key_spent = i.key_spent, failure = i.failure,
      shown = i.shown, request_id = i.request_id
  FROM input i
  WHERE a.attempt_id = i.attempt_id AND a.operation = i."row" AND a.completed_at IS NULL
), written AS (
  UPDATE order_operations o SET
    facts = i.facts,
    provider_reference = coalesce(i.provider_reference, o.provider_reference),
    status = CASE WHEN o.generation = i.generation AND (o.resource_version = i.resource_version OR o.wake = o.claimed_wake)
      THEN i.status ELSE o.status END,
    settled_at = CASE WHEN o.generation = i.generation AND (o.resource_version = i.resource_version OR o.wake = o.claimed_wake)
      THEN (i.status->>'settled_at')::timestamptz ELSE o.settled_at END,
    deadline_at = CASE
      -- Asked of nobody while the record is held, and a write that touches no index is a cheaper one.
      WHEN i.intent IS NOT NULL THEN o.deadline_at
      WHEN o.generation = i.generation AND (o.resource_version = i.resource_version OR o.wake = o.claimed_wake)
      THEN (i.status->>'deadline_at')::timestamptz ELSE o.deadline_at END,
    resource_version = o.resource_version + CASE WHEN i.changed OR i.intent IS NOT NULL THEN 1 ELSE 0 END,
    updated_at = CASE WHEN i.changed OR i.intent IS NOT NULL THEN clock_timestamp() ELSE o.updated_at END,
    task = CASE WHEN o.resource_version = i.resource_version THEN i.intent->>'step' END,
    lease_holder = CASE WHEN i.intent IS NOT NULL THEN o.lease_holder END,
    lease_expires_at = CASE
      WHEN i.intent IS NULL THEN NULL
      WHEN o.resource_version = i.resource_version AND o.lease_expires_at > clock_timestamp()
        THEN clock_timestamp() + make_interval(secs => i.lease_ms / 1000)
      ELSE o.lease_expires_at END,
    next_attempt_at = CASE
      WHEN i.intent IS NOT NULL THEN o.next_attempt_at
      WHEN o.wake <> o.claimed_wake OR o.generation <> i.generation THEN now()
      ELSE now() + make_interval(secs => i.look_in_ms / 1000) END
  FROM input i
  WHERE o.id = i."row" AND o.fencing_token = i.fencing_token AND o.lease_holder = i.worker
  RETURNING o.id, o.resource_version, o.wake <> o.claimed_wake AS woken,
    o.generation = i.generation AND (o.wake = o.claimed_wake OR i.resource_version =
      o.resource_version - CASE WHEN i.changed OR i.intent IS NOT NULL THEN 1 ELSE 0 END) AS derived,
    i.intent IS NOT NULL AND o.resource_version = i.resource_version + 1 AND o.lease_expires_at > clock_timestamp() AS may_send
), opened AS (
  INSERT INTO operation_attempts (operation, step, target, ordinal, effect_key, parameters, generation, fencing_token,
    worker, started_at)
  SELECT i."row", i.intent->>'step', i.intent->>'target', (i.intent->>'ordinal')::integer, i.intent->>'effect_key',
    i.intent->'parameters', i.generation, i.fencing_token, i.worker, clock_timestamp()
  FROM input i JOIN written w ON w.id = i."row" AND w.may_send
  RETURNING *
), resolved AS (
  UPDATE operation_attempts a SET resolution = r.resolution
  FROM input i JOIN written w ON w.id = i."row",
    LATERAL json_to_recordset(i.resolved) AS r(attempt_id bigint, resolution text)
  WHERE a.operation = i."row" AND a.attempt_id = r.attempt_id
), told AS (
  INSERT INTO operation_events (operation, at, type, actor_kind, actor_name, message, data)
  SELECT i."row", clock_timestamp(), e.type, e.actor->>'kind', e.actor->>'name', e.message, e.data
  FROM input i JOIN written w ON w.id = i."row",
    LATERAL (VALUES (1, i.events), (2, CASE WHEN w.derived THEN i.transitions ELSE '[]' END)) part(part, events),
    LATERAL ROWS FROM (json_to_recordset(part.events) AS (type text, actor json, message text, data jsonb))
      WITH ORDINALITY AS e(type, actor, message, data, place)
  ORDER BY i."row", part.part, e.place
)
SELECT w.id AS "row", w.resource_version, w.woken, to_json(opened.*) AS attempt
FROM written w LEFT JOIN opened ON opened.operation = w.id`,
};

/** The payment becomes the row's own, unless it is another's; a crash after it leaves a payment with one owner. */
const ADOPT = `
UPDATE order_operations o SET provider_reference = $3
WHERE o.id = $1 AND o.fencing_token = $2 AND o.provider_reference IS NULL AND NOT EXISTS (
  SELECT 1 FROM order_operations other WHERE other.account = o.account AND other.provider_reference = $3)`;
const OWNER = `
SELECT other.operation_id FROM order_operations o
JOIN order_operations other ON other.account = o.account AND other.provider_reference = $2 AND other.id <> o.id
WHERE o.id = $1`;

/** The open try of an intent that was recorded under this lease although its answer did not come back. */
const BEGUN = `
SELECT i."row", o.wake <> o.claimed_wake AS woken, to_json(a.*) AS attempt
FROM json_to_recordset($1::json) AS i(
    "row" bigint, worker text, fencing_token bigint, effect_key text, attempt_id bigint)
  JOIN order_operations o ON o.id = i."row" AND o.fencing_token = i.fencing_token AND o.lease_holder = i.worker
  JOIN operation_attempts a ON a.operation = o.id AND a.fencing_token = i.fencing_token
    AND a.effect_key = i.effect_key AND a.completed_at IS NULL AND a.attempt_id IS DISTINCT FROM i.attempt_id`;

const WAKE = `
UPDATE order_operations SET wake = wake + 1, next_attempt_at = now() WHERE id = ANY ($1::bigint[])`;

const READ_TRIES = 5;
const READ_PAUSE_MS = 200;

/** Entries in one statement: some hundred kilobytes at most. */
const MOST_ENTRIES = 64;

/** Of a process that is known to be gone; what it may have left is found by reading, as after any lease. */
const FREE_LEASES = `
UPDATE order_operations SET lease_expires_at = now()
WHERE account IN (SELECT account FROM provider_accounts) AND next_attempt_at <= now()
  AND lease_expires_at > now() AND starts_with(lease_holder, $1)
RETURNING id`;

export class PassStore {
  readonly #database: Database;
  readonly #entries: Coalescer<Entry, Recorded>;

  constructor(database: Database) {
    this.#database = database;
    this.#entries = new Coalescer({
      run: (entries) => this.recordAll(entries),
      keyOf: ({ row }) => row,
      isFailureOfAll: isAway,
      most: MOST_ENTRIES,
    });
  }

  /**
   * Records that are due, oldest first, each leased to `worker` for `leaseMs` of the database's clock. `ceiling`: passes
   * a second that a limited account grows back to.
   */
  async claim(limit: number, worker: string, leaseMs: number, ceiling: number): Promise<Claimed> {
    const accounts = await this.#database.query<{
      account: string;
      drained: boolean | null;
      probed: boolean | null;
      held: boolean;
      now: Date;
      claims: (OrderOperationRow & { fencing_token: number })[];
    }>(CLAIM, [limit, worker, leaseMs, PROBE_INTERVAL_MS, ceiling, NEAR_DEADLINE_MS]);
    const rows = accounts.flatMap(({ claims }) => claims);
    const journals = await this.#journals(rows.map(({ id }) => id.toString()));
    return {
      drained: accounts.filter(({ drained }) => drained === true).map(({ account }) => account),
      held: accounts.some(({ held }) => held),
      now: accounts[0]?.now ?? null,
      probed: accounts.filter(({ probed }) => probed === true).map(({ account }) => account),
      claims: rows.map((row) => ({
        row: row.id.toString(),
        fencing_token: row.fencing_token,
        record: toRecord(row),
        attempts: journals.get(row.id.toString()) ?? [],
      })),
    };
  }

  /** The records are leased already: without their journals they would wait for the end of their leases. */
  async #persistently<Row>(statement: string, parameters: readonly unknown[]): Promise<Row[]> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#database.query<Row>(statement, parameters);
      } catch (error) {
        if (tries === READ_TRIES) throw error;
        await new Promise((resolve) => setTimeout(resolve, READ_PAUSE_MS * tries));
      }
    }
  }

  async #journals(rows: readonly string[]): Promise<Map<string, JournalAttempt[]>> {
    const journals = new Map<string, JournalAttempt[]>(rows.map((row) => [row, []]));
    if (rows.length === 0) return journals;
    for (const attempt of await this.#persistently<OperationAttemptRow>(JOURNALS, [rows])) {
      journals.get(String(attempt.operation))?.push(toAttempt(attempt));
    }
    return journals;
  }

  /** Writes an entry, together with those of other passes that wait at the same moment. */
  record(entry: Entry): Promise<Recorded> {
    return this.#entries.add(entry);
  }

  /** Writes the entries (at most one a row) in one statement and one commit. The results stand in their order. */
  async recordAll(entries: readonly Entry[]): Promise<Recorded[]> {
    const rows = await this.#database.query<{
      row: string;
      resource_version: string;
      woken: boolean;
      attempt: OperationAttemptRow | null;
    }>(RECORD, [storable(inOrder(entries).map(toInput)), entries.length]);
    const written = new Map(rows.map((row) => [row.row, row]));
    return entries.map((entry) => {
      const row = written.get(entry.row);
      return {
        held: row !== undefined,
        woken: row?.woken ?? false,
        resource_version: row === undefined ? entry.resource_version : Number(row.resource_version),
        attempt: row?.attempt == null ? null : toAttempt(row.attempt),
      };
    });
  }

  /**
   * The same entry after a try whose result is not known, by itself. When that one was committed, its intent stands, and
   * the timeline is not told a second time what it was told already.
   */
  async recordAgain(entry: Entry): Promise<Recorded> {
    const { row, worker, fencing_token, completed, next } = entry;
    if (next.kind === 'intent') {
      const { effect_key } = next.intent;
      const [begun] = await this.#database.query<{ woken: boolean; attempt: OperationAttemptRow }>(BEGUN, [
        JSON.stringify([
          { row, worker, fencing_token, effect_key, attempt_id: completed?.attempt_id ?? null },
        ]),
      ]);
      if (begun !== undefined) {
        const { woken, attempt } = begun;
        const resource_version = entry.resource_version + 1;
        return { held: true, woken, resource_version, attempt: toAttempt(attempt) };
      }
    }
    const [recorded] = await this.recordAll([entry]);
    if (recorded === undefined) throw new Error('the store returned no result for an entry');
    return recorded;
  }

  /** Records an adopted payment as the row's own. Null, or the key of the operation that has it already. */
  async adopt(row: string, fencingToken: number, reference: string): Promise<string | null> {
    try {
      await this.#database.query(ADOPT, [row, fencingToken, reference]);
    } catch (error) {
      // Another row took it at the same moment.
      if (violatedConstraint(error) !== 'order_operations_provider_reference') throw error;
    }
    const [owner] = await this.#database.query<{ operation_id: string }>(OWNER, [row, reference]);
    return owner?.operation_id ?? null;
  }

  /** Ends the leases of workers whose name begins so, and returns how many there were. */
  async freeLeasesOf(prefix: string): Promise<number> {
    return (await this.#database.query(FREE_LEASES, [prefix])).length;
  }

  /** Asks for another look at records, whoever holds them. */
  async wake(rows: readonly string[]): Promise<void> {
    await this.#database.query(WAKE, [rows]);
  }
}

/** In JSON: what no jsonb can hold, a NUL or half of a pair of surrogates. An answer may hold anything. */
const UNSTORABLE = /\\u(?:0000|d[89a-f][0-9a-f]{2})/i;

/** As JSON that Postgres takes: an answer with such a character is kept with a mark in its place, not lost. */
function storable(value: unknown): string {
  const json = JSON.stringify(value);
  return UNSTORABLE.test(json) ? JSON.stringify(marked(value)) : json;
}

function marked(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('\0', '\uFFFD').replaceAll(/\p{Cs}/gu, '\uFFFD');
  if (Array.isArray(value)) return value.map(marked);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [marked(name), marked(member)]));
}

/** In the order of their ids: two batches that lock the same rows do not wait for each other. */
const inOrder = (entries: readonly Entry[]): Entry[] =>
  entries.toSorted((a, b) => (BigInt(a.row) < BigInt(b.row) ? -1 : 1));

/** An entry in the shape of RECORD's input. Members are named one by one, so that the order of keys is ours. */
function toInput(entry: Entry): Record<string, unknown> {
  const outcome = entry.completed?.outcome;
  return {
    row: entry.row,
    worker: entry.worker,
    fencing_token: entry.fencing_token,
    resource_version: entry.resource_version,
    generation: entry.generation,
    facts: entry.facts,
    status: entry.status,
    provider_reference: entry.provider_reference,
    changed: entry.changed,
    attempt_id: entry.completed?.attempt_id ?? null,
    outcome: outcome?.kind ?? null,
    key_spent: outcome?.key_spent ?? false,
    failure: outcome !== undefined && 'failure' in outcome ? outcome.failure : null,
    shown: outcome?.shown ?? null,
    request_id:
      outcome?.request_id ??
      (outcome !== undefined && 'failure' in outcome ? outcome.failure.request_id : null) ??
      null,
    resolved: entry.resolved,
    events: entry.events,
    transitions: entry.transitions,
    intent: entry.next.kind === 'intent' ? entry.next.intent : null,
    lease_ms: entry.next.kind === 'intent' ? entry.next.lease_ms : null,
    look_in_ms: entry.next.kind === 'release' ? entry.next.look_in_ms : null,
  };
}
