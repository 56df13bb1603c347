/**
 * Deletes what is kept no longer, some rows at a time, oldest first by an index. What somebody else keeps locked is left to
 * a later batch, and two who delete at once do not meet.
 */
import type { Database } from './database.js';
import { OPEN_COMMAND, OPEN_DISPUTE, OPEN_FINDING } from './erasure-store.js';

/** Rows of one table are found and deleted by where they lie: they are locked, so they lie there still. */
const WEBHOOKS = `
DELETE FROM provider_events WHERE ctid = ANY (ARRAY(
  SELECT e.ctid FROM provider_events e
  WHERE e.received_at < now() - make_interval(days => $1) AND NOT EXISTS (
    SELECT 1 FROM order_operations o
    WHERE o.id = ANY (e.woke) AND (o.settled_at IS NULL OR o.attention_reason IS NOT NULL))
  ORDER BY e.received_at LIMIT $2 FOR UPDATE SKIP LOCKED))
RETURNING 1`;

/** A row of a list is a preview until its turn comes, and goes with its list or with the journal of its order. */
const PREVIEWS = `
DELETE FROM commands WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM commands WHERE state = 'previewed' AND bulk_id IS NULL AND expires_at < now() - make_interval(days => $1)
  ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))
RETURNING 1`;

/** Lists that nobody confirmed, with their rows; the others when the journals of all their orders are gone. */
const LISTS = `
DELETE FROM bulk_commands WHERE ctid = ANY (ARRAY(
  SELECT b.ctid FROM bulk_commands b
  WHERE b.state = 'previewed' AND b.expires_at < now() - interval '1 day'
    OR b.state IN ('awaiting_approval', 'ended') AND coalesce(b.ended_at, b.expires_at) < now() - make_interval(days => $1)
      AND NOT EXISTS (SELECT 1 FROM commands c WHERE c.bulk_id = b.bulk_id)
  ORDER BY b.expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))
RETURNING 1`;

const FINDINGS = `
WITH old AS (
  SELECT f.finding_id FROM findings f
  WHERE f.state = 'resolved' AND f.resolved_at < now() - make_interval(days => $1) AND NOT EXISTS (
    SELECT 1 FROM finding_commands c WHERE c.finding_id = f.finding_id
      AND (c.state = 'accepted' OR c.state = 'awaiting_approval' AND c.expires_at > now())
  ) AND NOT EXISTS (
    SELECT 1 FROM order_operations o WHERE o.operation_id = f.operation_id
      AND (o.settled_at IS NULL OR o.attention_reason IS NOT NULL OR o.next_attempt_at IS NOT NULL))
  ORDER BY f.resolved_at LIMIT $2 FOR UPDATE OF f SKIP LOCKED
), journal AS (
  DELETE FROM finding_attempts WHERE finding_id = ANY (ARRAY(SELECT finding_id FROM old))
), decisions AS (
  DELETE FROM finding_commands WHERE finding_id = ANY (ARRAY(SELECT finding_id FROM old))
)
DELETE FROM findings WHERE finding_id = ANY (ARRAY(SELECT finding_id FROM old)) RETURNING 1`;

/**
 * All that stands beside an order, of those that are watched no longer. The row itself stays, and is locked meanwhile: who
 * wakes it waits for some milliseconds, and then finds the journal gone as a whole.
 */
const JOURNALS = `
WITH resting AS (
  SELECT o.id FROM order_operations o
  WHERE o.next_attempt_at IS NULL AND (o.journal_deleted_at IS NULL OR o.journal_deleted_at < o.settled_at)
    AND o.settled_at < now() - make_interval(days => $1)
    AND o.attention_reason IS NULL AND NOT (${OPEN_FINDING} OR ${OPEN_COMMAND} OR ${OPEN_DISPUTE})
  ORDER BY o.settled_at LIMIT $2 FOR UPDATE OF o SKIP LOCKED
), attempts AS (
  DELETE FROM operation_attempts WHERE operation = ANY (ARRAY(SELECT id FROM resting))
), events AS (
  DELETE FROM operation_events
  WHERE operation = ANY (ARRAY(SELECT id FROM resting)) AND type NOT IN ('personal_data_erased', 'journal_deleted')
), commands AS (
  DELETE FROM commands WHERE operation = ANY (ARRAY(SELECT id FROM resting))
), triage AS (
  DELETE FROM operation_triage WHERE operation = ANY (ARRAY(SELECT id FROM resting))
), told AS (
  INSERT INTO operation_events (operation, at, type, actor_kind, actor_name, message, data)
  SELECT id, now(), 'journal_deleted', 'system', 'housekeeping',
    'Journal and timeline up to here were deleted: the order settled more than ' || $1 || ' days ago.',
    jsonb_build_object('days', $1::int) FROM resting
)
UPDATE order_operations o SET journal_deleted_at = now() FROM resting WHERE o.id = resting.id RETURNING 1`;

/** Their sum is the same before and after, whoever reads it when. */
const SUMS = `
WITH lines AS (
  DELETE FROM settled_counts WHERE ctid = ANY (ARRAY(SELECT ctid FROM settled_counts LIMIT $1 FOR UPDATE SKIP LOCKED))
  RETURNING phase, orders
), added AS (
  INSERT INTO settled_counts (phase, orders) SELECT phase, sum(orders) FROM lines GROUP BY phase
)
SELECT 1 FROM lines`;

export class HousekeepingStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  deleteWebhooks(days: number, most: number): Promise<number> {
    return this.#count(WEBHOOKS, days, most);
  }

  deletePreviews(days: number, most: number): Promise<number> {
    return this.#count(PREVIEWS, days, most);
  }

  /** Bulk commands; null: only those that nobody confirmed. */
  deleteLists(days: number | null, most: number): Promise<number> {
    return this.#count(LISTS, days, most);
  }

  /** With what people decided about them, and the journals of what was done. */
  deleteFindings(days: number, most: number): Promise<number> {
    return this.#count(FINDINGS, days, most);
  }

  /** How many orders lost their journal. */
  deleteJournals(days: number, most: number): Promise<number> {
    return this.#count(JOURNALS, days, most);
  }

  /** Adds up lines of what is settled; how many they were. */
  async addUp(most: number): Promise<number> {
    return (await this.#database.query(SUMS, [most])).length;
  }

  async #count(statement: string, days: number | null, most: number): Promise<number> {
    return (await this.#database.query(statement, [days, most])).length;
  }
}
