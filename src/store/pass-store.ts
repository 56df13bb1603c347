/**
 * The loop's side of the record: claim, record, wake. Every statement works on many rows at once and names what it
 * expects of each; rows that do not match are left alone, and the caller is told.
 */
import { persistently } from '../persistently.js';
import { PROBE_INTERVAL_MS } from './account-store.js';
import { CLAIM, JOURNALS, NEAR_DEADLINE_MS, type Claimed, type Shares } from './claim.js';
import { Coalescer } from './coalescer.js';
import { isAway, violatedConstraint, type Database, type Patience } from './database.js';
import type { OperationAttemptRow, OrderOperationRow } from './entities.js';
import { refundAtWork } from './finding-command-sql.js';
import { batchOf, BEGUN, opened, RECORD, type Entry, type Recorded } from './entry.js';
import { toAttempt, toRecord } from './mapping.js';
import type { JournalAttempt } from './record.js';
import type { Pause, Status } from '../operation/operation.js';

export type { Claim, Claimed } from './claim.js';
export type { Entry, Intent, Recorded } from './entry.js';

/** given_back: a person decided so, and that had not ended; also when the lease is lost, and with it all that a pass may do. */
export type Adopted =
  { readonly kind: 'own' | 'given_back' } | { readonly kind: 'taken'; readonly other: string };

/** A pass that came to no end. */
export interface BrokenPass {
  readonly row: string;
  readonly worker: string;
  readonly fencing_token: number;
  readonly look_in_ms: number;
  readonly attention: Status['attention'];
}

/**
 * The payment becomes the row's own, unless it is another's, or a person decided to give it back and that has not ended: the
 * call may be under way. Nothing is sent for a decision that comes later, since its intent names the row as a bar while the
 * order is open. A crash after it leaves a payment with one owner.
 */
const ADOPT = `
UPDATE order_operations o SET provider_reference = $3
WHERE o.id = $1 AND o.fencing_token = $2 AND o.provider_reference IS NULL AND NOT EXISTS (
  SELECT 1 FROM order_operations other WHERE other.account = o.account AND other.provider_reference = $3)
AND NOT EXISTS (${refundAtWork('o.account', '$3')})`;
const IS_OWN = `
SELECT 1 FROM order_operations WHERE id = $1 AND provider_reference = $2`;
const OWNER = `
SELECT other.operation_id FROM order_operations o
JOIN order_operations other ON other.account = o.account AND other.provider_reference = $2 AND other.id <> o.id
WHERE o.id = $1`;

const WAKE = `
UPDATE order_operations SET wake = wake + 1, next_attempt_at = now() WHERE id = ANY ($1::bigint[])`;

/** Entries in one statement: some hundred kilobytes at most. */
const MOST_ENTRIES = 128;

/** Of a process that is known to be gone; what it may have left is found by reading, as after any lease. */
const FREE_LEASES = `
UPDATE order_operations SET lease_expires_at = now()
WHERE id IN (
  SELECT id FROM order_operations
  WHERE account IN (SELECT account FROM provider_accounts) AND next_attempt_at <= now()
    AND lease_expires_at > now() AND starts_with(lease_holder, $1)
  FOR UPDATE SKIP LOCKED)
RETURNING id`;

/**
 * Made by Postgres alone: it holds for a record that this version cannot read, too. What the broken pass learnt is in
 * the journal as far as it was written, and the next one reads.
 */
const BREAK_OFF = `
WITH held AS (
  SELECT id, $5::jsonb IS NOT NULL AND status#>>'{attention,reason}' IS DISTINCT FROM $5::jsonb->>'reason' AS tells
  FROM order_operations WHERE id = $1 AND lease_holder = $2 AND fencing_token = $3 FOR UPDATE
), broken AS (
  UPDATE order_operations o SET
    broken = broken + 1, lease_holder = NULL, lease_expires_at = NULL,
    next_attempt_at = CASE WHEN wake <> wake_at_claim THEN now() ELSE now() + make_interval(secs => $4::float8 / 1000) END,
    status = CASE WHEN tells
      THEN status || jsonb_build_object('attention', $5::jsonb, 'condition', $5::jsonb->'reason') ELSE status END,
    resource_version = resource_version + tells::int,
    updated_at = CASE WHEN tells THEN clock_timestamp() ELSE updated_at END
  FROM held WHERE o.id = held.id
  RETURNING o.id, tells
), told AS (
  INSERT INTO operation_events (operation, at, type, actor_kind, actor_name, message, data)
  SELECT id, clock_timestamp(), 'attention_needed', 'system', 'reconciler', $5::jsonb->>'message',
    jsonb_build_object('reason', $5::jsonb->'reason')
  FROM broken WHERE tells
)
SELECT id FROM broken`;

export class PassStore {
  readonly #database: Database;
  readonly #entries: Coalescer<Entry, Recorded>;

  constructor(database: Database) {
    this.#database = database;
    this.#entries = new Coalescer({
      run: (entries, alone) => this.recordAll(entries, alone ? 'patient' : 'hurried'),
      keyOf: ({ row }) => row,
      isFailureOfAll: isAway,
      most: MOST_ENTRIES,
      gather_ms: 1,
    });
  }

  /**
   * Records that are due, oldest first, each leased to `worker` for `leaseMs` of the database's clock. `ceiling`: passes
   * a second that a limited account grows back to.
   */
  async claim(
    limit: number,
    worker: string,
    leaseMs: number,
    ceiling: number,
    shares: Shares = { most: limit, left: new Map() },
  ): Promise<Claimed> {
    const accounts = await this.#database.query<{
      account: string;
      drained: boolean | null;
      probed: boolean | null;
      held: boolean;
      now: Date;
      paused: Pause | null;
      claims: (OrderOperationRow & {
        fencing_token: number;
        broken: number;
        may_have_journal: boolean | null;
      })[];
    }>(
      CLAIM,
      [
        limit,
        worker,
        leaseMs,
        PROBE_INTERVAL_MS,
        ceiling,
        NEAR_DEADLINE_MS,
        shares.most,
        [...shares.left.keys()],
        [...shares.left.values()],
      ],
      'hurried',
    );
    const rows = accounts.flatMap(({ claims, paused }) => claims.map((row) => ({ row, paused })));
    const tried = rows.filter(({ row }) => row.may_have_journal === true);
    const journals = await this.#journals(tried.map(({ row }) => row.id.toString()));
    return {
      drained: accounts.filter(({ drained }) => drained === true).map(({ account }) => account),
      held: accounts.some(({ held }) => held),
      now: accounts[0]?.now ?? null,
      probed: accounts.filter(({ probed }) => probed === true).map(({ account }) => account),
      claims: rows.map(({ row, paused }) => ({
        row: row.id.toString(),
        fencing_token: row.fencing_token,
        broken: row.broken,
        record: toRecord(row),
        attempts: journals.get(row.id.toString()) ?? [],
        ...(paused === null ? {} : { account_paused: paused }),
      })),
    };
  }

  async #journals(rows: readonly string[]): Promise<Map<string, JournalAttempt[]>> {
    const journals = new Map<string, JournalAttempt[]>(rows.map((row) => [row, []]));
    if (rows.length === 0) return journals;
    // The records are leased already: without their journals they would wait for the end of their leases.
    const attempts = await persistently(() => this.#database.query<OperationAttemptRow>(JOURNALS, [rows]));
    for (const attempt of attempts) {
      journals.get(String(attempt.operation))?.push(toAttempt(attempt));
    }
    return journals;
  }

  /** Writes an entry, together with those of other passes that wait at the same moment. */
  record(entry: Entry): Promise<Recorded> {
    return this.#entries.add(entry);
  }

  /** Writes the entries (at most one a row) in one statement and one commit. The results stand in their order. */
  async recordAll(entries: readonly Entry[], patience: Patience = 'patient'): Promise<Recorded[]> {
    const rows = await this.#database.query<{
      row: string;
      resource_version: string;
      woken: boolean;
      attempt_id: string | null;
      started_at: Date | null;
    }>(RECORD, batchOf(entries), patience);
    const written = new Map(rows.map((row) => [row.row, row]));
    return entries.map((entry) => {
      const row = written.get(entry.row);
      return {
        held: row !== undefined,
        woken: row?.woken ?? false,
        resource_version: row === undefined ? entry.resource_version : Number(row.resource_version),
        attempt:
          row?.attempt_id == null || row.started_at === null
            ? null
            : opened(entry, row.attempt_id, row.started_at),
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

  /** Records an adopted payment as the row's own. */
  async adopt(row: string, fencingToken: number, reference: string): Promise<Adopted> {
    try {
      await this.#database.query(ADOPT, [row, fencingToken, reference]);
    } catch (error) {
      // Another row took it at the same moment.
      if (!isTakenPayment(error)) throw error;
    }
    const other = await this.ownerOf(row, reference);
    if (other !== null) return { kind: 'taken', other };
    const own = await this.#database.query(IS_OWN, [row, reference]);
    return { kind: own.length > 0 ? 'own' : 'given_back' };
  }

  /** The key of the other operation of the row's account that has this payment recorded as its own, or null. */
  async ownerOf(row: string, reference: string): Promise<string | null> {
    const [owner] = await this.#database.query<{ operation_id: string }>(OWNER, [row, reference]);
    return owner?.operation_id ?? null;
  }

  /**
   * Ends a pass that broke off, without what it knew: the record is free and due after `look_in_ms`, at once when it was
   * woken meanwhile. `attention`: what a person is told, once, in a status that otherwise stays. False: the lease was lost.
   */
  async breakOff(broken: BrokenPass): Promise<boolean> {
    const { row, worker, fencing_token, look_in_ms, attention } = broken;
    const told = attention === null ? null : JSON.stringify(attention);
    return (
      (await this.#database.query(BREAK_OFF, [row, worker, fencing_token, look_in_ms, told])).length === 1
    );
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

/** Another row of the account has this payment recorded as its own. */
export const isTakenPayment = (error: unknown): boolean =>
  violatedConstraint(error) === 'order_operations_provider_reference';
