/** The inbox of webhooks: storing an event and waking whom it concerns is one statement. */
import type { Database } from './database.js';

/** What is kept of a verified event. Texts have at most 255 characters and no control characters. */
export interface ProviderEvent {
  /** Our name of the account whose endpoint it came to. */
  readonly account: string;
  readonly event_id: string;
  readonly type: string;
  readonly livemode: boolean | null;
  /** The provider's id of the account, where the event carries one. */
  readonly provider_account: string | null;
  readonly object_id: string | null;
  /** The payment that the object is or belongs to. */
  readonly payment_reference: string | null;
  readonly operation_id: string | null;
  /** RFC 3339, on the provider's clock. */
  readonly created_at: string | null;
}

export type Received =
  /** Those whom it concerns are due now. */
  | { readonly kind: 'woken'; readonly operations: number }
  /** It concerns nobody that is known; whoever comes later begins by reading. */
  | { readonly kind: 'unmatched' }
  /** It is about another account, or the other mode, than this account was at first contact. */
  | { readonly kind: 'ignored'; readonly because: 'other_mode' | 'other_account' }
  /** It was stored before, and woke then whom it concerned. */
  | { readonly kind: 'duplicate' };

/**
 * Either all of it happens or nothing: an event that is stored has woken, and one that could not wake is not stored, so
 * that its redelivery is worked. `now()` is the moment when the statement began, before which nothing was read for it.
 *
 *   concerned  by the payment's id; by the id that the spec asks to adopt, before that is recorded as the operation's
 *              own; by our own metadata, before the provider's answer told us the id
 *   stored     once per account and event id; the loser of two deliveries at once waits here and then changes nothing
 */
const RECEIVE = `
WITH concerned AS (
  SELECT id FROM order_operations WHERE account = $1 AND provider_reference = $7
  UNION SELECT id FROM order_operations WHERE account = $1 AND spec->'payment'->>'reference' = $7
  UNION SELECT id FROM order_operations WHERE account = $1 AND operation_id = $8
), judged AS (
  SELECT (
    SELECT CASE WHEN livemode <> $4::boolean THEN 'other_mode' WHEN identity <> $5::text THEN 'other_account' END
    FROM provider_accounts WHERE account = $1
  ) AS ignored_because
), stored AS (
  INSERT INTO provider_events (account, event_id, type, livemode, provider_account, object_id, payment_reference,
    operation_id, created_at, received_at, ignored_because, woke)
  SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9::timestamptz, now(), ignored_because,
    CASE WHEN ignored_because IS NULL THEN ARRAY(SELECT id FROM concerned ORDER BY id) ELSE '{}' END
  FROM judged
  ON CONFLICT (account, event_id) DO NOTHING
  RETURNING ignored_because, woke
), woken AS (
  UPDATE order_operations SET wake = wake + 1, next_attempt_at = now()
  FROM stored WHERE id = ANY (stored.woke)
)
SELECT ignored_because, cardinality(woke) AS woke FROM stored`;

export class EventInbox {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Resolves when the event is durable. Throws StoreUnavailable; then the provider has to send it again. */
  async receive(event: ProviderEvent): Promise<Received> {
    const [row] = await this.#database.query<{
      ignored_because: 'other_mode' | 'other_account' | null;
      woke: number;
    }>(RECEIVE, [
      event.account,
      event.event_id,
      event.type,
      event.livemode,
      event.provider_account,
      event.object_id,
      event.payment_reference,
      event.operation_id,
      event.created_at,
    ]);
    if (row === undefined) return { kind: 'duplicate' };
    if (row.ignored_because !== null) return { kind: 'ignored', because: row.ignored_because };
    return row.woke === 0 ? { kind: 'unmatched' } : { kind: 'woken', operations: row.woke };
  }
}
