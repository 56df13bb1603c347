/** The record, its journal and its timeline. Forward only. */
import { ForwardOnly } from './forward-only.js';

const UP = `
CREATE TABLE order_operations (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  operation_id text COLLATE "C" NOT NULL,
  account text NOT NULL,
  labels jsonb NOT NULL,
  requested_by text NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,

  generation integer NOT NULL DEFAULT 1 CHECK (generation >= 1),
  resource_version bigint NOT NULL DEFAULT 1 CHECK (resource_version >= 1),
  spec jsonb NOT NULL,
  first_spec jsonb NOT NULL,
  cancellation jsonb,
  paused jsonb,
  confirmation integer NOT NULL CHECK (confirmation >= 1),
  payment_number integer NOT NULL CHECK (payment_number >= 1),

  provider_reference text,
  facts jsonb NOT NULL,
  status jsonb NOT NULL,
  task text,
  settled_at timestamptz,

  fencing_token bigint NOT NULL DEFAULT 0,
  lease_holder text,
  lease_expires_at timestamptz,
  wake bigint NOT NULL DEFAULT 0,
  claimed_wake bigint NOT NULL DEFAULT 0,
  next_attempt_at timestamptz,

  order_id text COLLATE "C" GENERATED ALWAYS AS (spec->>'order_id') STORED,
  provider text GENERATED ALWAYS AS (spec->'payment'->>'provider') STORED,
  amount bigint GENERATED ALWAYS AS ((spec->'amount'->>'value')::bigint) STORED,
  currency text GENERATED ALWAYS AS (spec->'amount'->>'currency') STORED,
  phase text GENERATED ALWAYS AS (status->>'phase') STORED,
  condition text GENERATED ALWAYS AS (status->>'condition') STORED,
  attention_reason text GENERATED ALWAYS AS (status->'attention'->>'reason') STORED,

  CONSTRAINT order_operations_operation_id UNIQUE (operation_id),
  CONSTRAINT order_operations_order_id UNIQUE (account, order_id),
  CONSTRAINT order_operations_provider_reference UNIQUE (account, provider_reference),
  CONSTRAINT order_operations_order_id_given CHECK (order_id IS NOT NULL),
  CONSTRAINT order_operations_amount_positive CHECK (amount > 0),
  CONSTRAINT order_operations_phase_known CHECK (phase IN ('accepted', 'payment_pending', 'awaiting_customer',
    'payment_failed', 'payment_unknown', 'authorized', 'fulfilling', 'fulfilled', 'cancelling', 'cancelled', 'rejected')),
  CONSTRAINT order_operations_cancellation_wanted CHECK ((spec->>'desired' = 'cancelled') = (cancellation IS NOT NULL)),
  CONSTRAINT order_operations_lease_whole CHECK ((lease_holder IS NULL) = (lease_expires_at IS NULL))
);
COMMENT ON TABLE order_operations IS 'One row an order: what is wanted (spec), what was seen (facts), what follows (status)';
COMMENT ON COLUMN order_operations.operation_id IS 'The caller''s stable key, compared byte by byte';
COMMENT ON COLUMN order_operations.generation IS '+1 on each change of the spec';
COMMENT ON COLUMN order_operations.resource_version IS '+1 on each write of what a reader sees; the ETag';
COMMENT ON COLUMN order_operations.first_spec IS 'The spec as first created, which repeated creates are compared with';
COMMENT ON COLUMN order_operations.cancellation IS 'Who asked for cancellation, when and why; never withdrawn';
COMMENT ON COLUMN order_operations.confirmation IS 'Which confirmation is wanted: +1 each time the customer tries again';
COMMENT ON COLUMN order_operations.payment_number IS 'Which payment is wanted: +1 each time a person asks for a new one';
COMMENT ON COLUMN order_operations.provider_reference IS 'The payment at the provider, stored before money can move';
COMMENT ON COLUMN order_operations.facts IS 'What was last seen; written by the holder of the lease only';
COMMENT ON COLUMN order_operations.status IS 'Derived from wish and facts by one pure function wherever either is written';
COMMENT ON COLUMN order_operations.task IS 'The step in progress';
COMMENT ON COLUMN order_operations.fencing_token IS '+1 on each claim; a write that names an older one is refused';
COMMENT ON COLUMN order_operations.lease_expires_at IS 'On the clock of the database';
COMMENT ON COLUMN order_operations.wake IS '+1 by whoever wants another look';
COMMENT ON COLUMN order_operations.claimed_wake IS 'wake as it was at the last claim; a release that finds it moved makes the row due at once';
COMMENT ON COLUMN order_operations.next_attempt_at IS 'When it is looked at next; null when it is watched no longer';

-- The cost of a claim grows with what is due, not with what is stored.
CREATE INDEX order_operations_due ON order_operations (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX order_operations_open ON order_operations (phase, id) WHERE settled_at IS NULL;
CREATE INDEX order_operations_attention ON order_operations (attention_reason, id) WHERE attention_reason IS NOT NULL;

CREATE TABLE operation_attempts (
  attempt_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  operation bigint NOT NULL REFERENCES order_operations (id),
  step text NOT NULL,
  target text NOT NULL,
  ordinal integer NOT NULL CHECK (ordinal >= 1),
  effect_key text NOT NULL,
  parameters json NOT NULL,
  generation integer NOT NULL,
  fencing_token bigint NOT NULL,
  worker text NOT NULL,
  started_at timestamptz NOT NULL,
  completed_at timestamptz,
  outcome text,
  key_spent boolean NOT NULL DEFAULT false,
  failure jsonb,
  shown jsonb,
  request_id text,
  resolution text,

  CONSTRAINT operation_attempts_outcome_known CHECK (outcome IN ('done', 'pending', 'declined', 'rejected', 'not_sent', 'unknown')),
  CONSTRAINT operation_attempts_completed_once CHECK ((completed_at IS NULL) = (outcome IS NULL)),
  CONSTRAINT operation_attempts_resolution_known CHECK (resolution IN ('effect_observed', 'no_effect_observed', 'overtaken'))
);
COMMENT ON TABLE operation_attempts IS 'The journal of effects: a row is inserted by the statement that records the intent, before the call';
COMMENT ON COLUMN operation_attempts.parameters IS 'Exactly what is sent; json and not jsonb, since a key is always resent with the same bytes';
COMMENT ON COLUMN operation_attempts.outcome IS 'Null while no answer is recorded; written once, by whoever sent it';
COMMENT ON COLUMN operation_attempts.key_spent IS 'The provider would only replay this answer to the same key';
COMMENT ON COLUMN operation_attempts.resolution IS 'What a later reading showed of a try whose answer was lost';
CREATE INDEX operation_attempts_of_operation ON operation_attempts (operation, attempt_id);

CREATE TABLE operation_events (
  sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  operation bigint NOT NULL REFERENCES order_operations (id),
  at timestamptz NOT NULL,
  type text NOT NULL,
  actor_kind text NOT NULL CHECK (actor_kind IN ('key', 'person', 'provider', 'system')),
  actor_name text NOT NULL,
  message text NOT NULL,
  data jsonb
);
COMMENT ON TABLE operation_events IS 'Append-only timeline of an operation: what happened, and who did it';
CREATE INDEX operation_events_of_operation ON operation_events (operation, sequence);
`;

export class Operations1700000000001 extends ForwardOnly {
  protected readonly sql = UP;
}
