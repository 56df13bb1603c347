/** Reading and writing what is erased: an order with its journal, its timeline and its commands. */
import { ERASED } from '../operation/personal-data.js';
import type { Database } from './database.js';
import type { OrderOperationRow } from './entities.js';
import type { Actor } from './record.js';

/** What keeps a settled order from being erased for now. */
export interface Obstacles {
  readonly held: boolean;
  readonly dispute: boolean;
  readonly finding: boolean;
  readonly command: boolean;
  readonly call: boolean;
}

interface AttemptDocuments {
  readonly attempt_id: string;
  readonly parameters: unknown;
  readonly failure: unknown;
  readonly shown: unknown;
}
interface EventDocuments {
  readonly sequence: string;
  readonly type: string;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>> | null;
}
interface CommandDocuments {
  readonly preview_id: string;
  readonly parameters: unknown;
  readonly evidence: unknown;
  readonly bound: unknown;
  readonly effects: unknown;
  readonly reason: string | null;
  readonly refused: unknown;
  readonly outcome: unknown;
}

export interface Erasable {
  readonly row: OrderOperationRow;
  readonly obstacles: Obstacles;
  readonly attempts: readonly AttemptDocuments[];
  readonly events: readonly EventDocuments[];
  readonly commands: readonly CommandDocuments[];
}

type RowDocuments = Pick<
  OrderOperationRow,
  'labels' | 'spec' | 'first_spec' | 'cancellation' | 'paused' | 'decisions' | 'facts' | 'status'
>;

/** What is written in the place of what was read; of journal, timeline and commands only what differs. */
export interface ErasedDocuments extends RowDocuments, Pick<Erasable, 'attempts' | 'events' | 'commands'> {
  readonly row: string;
  readonly resource_version: string;
  /** A line that came since is not erased yet. */
  readonly last_event: string;
}

/**
 * For statements with an operation as `o`. A command that was carried out has come through within a day. Counted, since for
 * EXISTS the planner may read all commands to find those of some orders.
 */
export const OPEN_FINDING = `EXISTS (SELECT 1 FROM findings f WHERE f.operation_id = o.operation_id AND f.state IN ('suspected', 'open'))
    OR EXISTS (SELECT 1 FROM findings f WHERE f.account = o.account AND f.reference = o.provider_reference AND f.state IN ('suspected', 'open'))`;
export const OPEN_COMMAND = `(SELECT count(*) FROM commands c WHERE c.operation = o.id AND CASE c.state
    WHEN 'accepted' THEN c.carried_out_at > now() - interval '1 day'
    WHEN 'observed' THEN false ELSE c.expires_at > now() AND c.refused IS NULL END) > 0`;
/** Its evidence is asked for until the bank has decided. */
export const OPEN_DISPUTE = `CASE WHEN o.facts->'payment' ? 'disputes'
    THEN o.facts->'payment'->'disputes' @> '[{"state":"open"}]' OR o.facts->'payment'->'disputes' @> '[{"state":"inquiry"}]'
    ELSE coalesce((o.facts->'payment'->>'disputed')::boolean, false) END`;
/** Keys live for less than a day; what is sent again is sent with the bytes that are stored. */
const OBSTACLES: Readonly<Record<keyof Obstacles, string>> = {
  held: `o.task IS NOT NULL OR coalesce(o.lease_expires_at > now(), false)`,
  dispute: OPEN_DISPUTE,
  finding: OPEN_FINDING,
  command: OPEN_COMMAND,
  call: `(SELECT count(*) FROM operation_attempts a WHERE a.operation = o.id AND a.started_at > now() - interval '1 day') > 0`,
};

const FIND = `
SELECT o.*, json_build_object(${Object.entries(OBSTACLES)
  .map(([name, is]) => `'${name}', ${is}`)
  .join(', ')}) AS obstacles,
  (SELECT coalesce(json_agg(json_build_object('attempt_id', a.attempt_id::text, 'parameters', a.parameters,
     'failure', a.failure, 'shown', a.shown) ORDER BY a.attempt_id), '[]')
   FROM operation_attempts a WHERE a.operation = o.id) AS attempts,
  (SELECT coalesce(json_agg(json_build_object('sequence', e.sequence::text, 'type', e.type, 'message', e.message,
     'data', e.data) ORDER BY e.sequence), '[]')
   FROM operation_events e WHERE e.operation = o.id) AS events,
  (SELECT coalesce(json_agg(json_build_object('preview_id', c.preview_id, 'parameters', c.parameters, 'evidence', c.evidence,
     'bound', c.bound, 'effects', c.effects, 'reason', c.reason, 'refused', c.refused, 'outcome', c.outcome)), '[]')
   FROM commands c WHERE c.operation = o.id) AS commands
FROM order_operations o`;

const ONE = `${FIND} WHERE o.operation_id = $1`;

/**
 * Those that are watched no longer, since the longest first. One that is not erased for now stays at the head of the index;
 * it is passed over by $3, the last that was looked at.
 */
const DUE = `
${FIND} WHERE o.id IN (
  SELECT id FROM order_operations
  WHERE next_attempt_at IS NULL AND (erased_at IS NULL OR erased_at < settled_at)
    AND settled_at < now() - make_interval(days => $1) AND ($3::timestamptz IS NULL OR settled_at > $3)
  ORDER BY settled_at LIMIT $2)
ORDER BY o.settled_at`;

/**
 * All of an order or nothing of it: only as it was read, and only while nothing keeps it. A worker that was given up with it
 * loses its claim, so that it cannot bring back what it had read before.
 */
const ERASE = `
WITH input AS (
  SELECT * FROM json_to_recordset($1::json) AS i("row" bigint, resource_version bigint, last_event bigint, labels jsonb,
    spec jsonb, first_spec jsonb, cancellation jsonb, paused jsonb, decisions jsonb, facts jsonb, status jsonb,
    attempts json, events json, commands json)
), held AS (
  SELECT o.id FROM order_operations o JOIN input i ON i."row" = o.id
  WHERE o.resource_version = i.resource_version AND o.settled_at IS NOT NULL AND o.attention_reason IS NULL
    AND NOT (${Object.values(OBSTACLES).join(' OR ')})
    AND NOT EXISTS (SELECT 1 FROM operation_events e WHERE e.operation = o.id AND e.sequence > i.last_event)
  ORDER BY o.id FOR UPDATE OF o SKIP LOCKED
), gone AS (
  UPDATE order_operations o SET labels = i.labels, spec = i.spec, first_spec = i.first_spec, cancellation = i.cancellation,
    paused = i.paused, decisions = i.decisions, facts = i.facts, status = i.status,
    erased_at = now(), updated_at = now(), resource_version = o.resource_version + 1,
    fencing_token = o.fencing_token + 1, lease_holder = NULL, lease_expires_at = NULL
  FROM held JOIN input i ON i."row" = held.id WHERE o.id = held.id
  RETURNING o.id, o.operation_id, o.account, o.provider_reference
), attempts AS (
  UPDATE operation_attempts a SET parameters = x.parameters, failure = x.failure, shown = x.shown
  FROM gone JOIN input i ON i."row" = gone.id,
    json_to_recordset(i.attempts) AS x(attempt_id bigint, parameters json, failure jsonb, shown jsonb)
  WHERE a.operation = gone.id AND a.attempt_id = x.attempt_id
), events AS (
  UPDATE operation_events e SET message = x.message, data = x.data
  FROM gone JOIN input i ON i."row" = gone.id, json_to_recordset(i.events) AS x(sequence bigint, message text, data jsonb)
  WHERE e.operation = gone.id AND e.sequence = x.sequence
), commands AS (
  UPDATE commands c SET parameters = x.parameters, evidence = x.evidence, bound = x.bound, effects = x.effects,
    reason = x.reason, refused = x.refused, outcome = x.outcome
  FROM gone JOIN input i ON i."row" = gone.id, json_to_recordset(i.commands) AS x(preview_id text, parameters jsonb,
    evidence jsonb, bound jsonb, effects jsonb, reason text, refused jsonb, outcome jsonb)
  WHERE c.operation = gone.id AND c.preview_id = x.preview_id
), found AS (
  SELECT f.finding_id FROM findings f JOIN gone ON f.operation_id = gone.operation_id
  UNION SELECT f.finding_id FROM findings f JOIN gone ON f.account = gone.account AND f.reference = gone.provider_reference
), dismissed AS (
  UPDATE findings f SET dismissed = jsonb_set(f.dismissed, '{reason}', '"${ERASED}"') FROM found
  WHERE f.finding_id = found.finding_id AND f.dismissed IS NOT NULL
), decided AS (
  UPDATE finding_commands c SET reason = '${ERASED}' FROM found WHERE c.finding_id = found.finding_id AND c.reason IS NOT NULL
), told AS (
  INSERT INTO operation_events (operation, at, type, actor_kind, actor_name, message, data)
  SELECT id, now(), 'personal_data_erased', $2, $3, 'Personal data was erased.', jsonb_build_object('because', $4::text) FROM gone
)
SELECT operation_id FROM gone`;

type FoundRow = OrderOperationRow & Omit<Erasable, 'row'>;

const toErasable = ({ obstacles, attempts, events, commands, ...row }: FoundRow): Erasable => ({
  row,
  obstacles,
  attempts,
  events,
  commands,
});

export class ErasureStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async find(operationId: string): Promise<Erasable | null> {
    const [row] = await this.#database.query<FoundRow>(ONE, [operationId]);
    return row === undefined ? null : toErasable(row);
  }

  /** Settled more than `days` ago and watched no longer, at most `most`; `after`: settled later than that, RFC 3339. */
  async due(days: number, most: number, after: string | null): Promise<Erasable[]> {
    return (await this.#database.query<FoundRow>(DUE, [days, most, after])).map(toErasable);
  }

  /** The operation_ids of those that were erased; the others are no longer as they were read. */
  async erase(documents: readonly ErasedDocuments[], actor: Actor, because: string): Promise<string[]> {
    const rows = await this.#database.query<{ operation_id: string }>(ERASE, [
      JSON.stringify(documents),
      actor.kind,
      actor.name,
      because,
    ]);
    return rows.map(({ operation_id }) => operation_id);
  }
}
