/** One decision about many operations: what was previewed, frozen, and how far it is carried out. */
import { ForwardOnly } from './forward-only.js';

const UP = `
CREATE TABLE bulk_commands (
  bulk_id text PRIMARY KEY DEFAULT gen_random_uuid()::text,
  command text NOT NULL,
  parameters jsonb NOT NULL,
  excluded jsonb NOT NULL,
  approval_needed boolean NOT NULL,
  state text NOT NULL DEFAULT 'previewed',

  previewed_by text NOT NULL,
  previewed_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  reason text,
  stop_after_failures integer CHECK (stop_after_failures > 0),
  requested_by text,
  requested_by_lead boolean,
  requested_at timestamptz,
  approved_by text,
  approved_at timestamptz,
  approval text,

  lease_holder text,
  lease_expires_at timestamptz,
  stopped text,
  ended_at timestamptz,

  CONSTRAINT bulk_commands_state_known CHECK (state IN ('previewed', 'awaiting_approval', 'running', 'ended')),
  CONSTRAINT bulk_commands_stopped_known CHECK (stopped IN ('failures', 'expired')),
  CONSTRAINT bulk_commands_requested CHECK ((state = 'previewed') = (requested_by IS NULL)
    AND (requested_by IS NULL) = (requested_at IS NULL) AND (requested_by IS NULL) = (reason IS NULL)
    AND (requested_by IS NULL) = (requested_by_lead IS NULL) AND (requested_by IS NULL) = (stop_after_failures IS NULL)),
  CONSTRAINT bulk_commands_approved CHECK ((approved_by IS NULL) = (approved_at IS NULL)
    AND (approval IS NULL OR approved_by IS NOT NULL)
    AND (NOT approval_needed OR approved_by IS NOT NULL OR state IN ('previewed', 'awaiting_approval'))),
  CONSTRAINT bulk_commands_approved_by_another CHECK (approved_by <> requested_by),
  CONSTRAINT bulk_commands_leased CHECK ((lease_holder IS NULL) = (lease_expires_at IS NULL)
    AND (lease_holder IS NULL OR state = 'running')),
  CONSTRAINT bulk_commands_ended CHECK ((state = 'ended') = (ended_at IS NOT NULL)
    AND (stopped IS NULL OR ended_at IS NOT NULL))
);
COMMENT ON TABLE bulk_commands IS 'One command for many operations; its rows are in commands, each carried out at most once';
COMMENT ON COLUMN bulk_commands.excluded IS 'Operations that were asked for and are no row of it: [{operation_id, why}]';
COMMENT ON COLUMN bulk_commands.approval_needed IS 'All rows together move more money than one person may move alone';
COMMENT ON COLUMN bulk_commands.expires_at IS 'Of the preview; then of the request; then until when rows may be begun';
COMMENT ON COLUMN bulk_commands.stop_after_failures IS 'So many rows that are refused or fail end it';
COMMENT ON COLUMN bulk_commands.requested_by_lead IS 'Who asked had the scope of a lead';
COMMENT ON COLUMN bulk_commands.approval IS 'What the second person said';
COMMENT ON COLUMN bulk_commands.lease_holder IS 'The process that carries it out; another one goes on when the lease is over';
COMMENT ON COLUMN bulk_commands.stopped IS 'Why it ended before all its rows were begun; null: they were';
CREATE INDEX bulk_commands_running ON bulk_commands (requested_at) WHERE state = 'running';

ALTER TABLE commands
  ADD COLUMN bulk_id text REFERENCES bulk_commands ON DELETE CASCADE,
  ADD COLUMN place integer,
  ADD COLUMN amount bigint,
  ADD COLUMN currency text,
  ADD COLUMN refused jsonb,
  ADD CONSTRAINT commands_row_of_bulk CHECK ((bulk_id IS NULL) = (place IS NULL) AND (bulk_id IS NULL) = (amount IS NULL)
    AND (amount IS NULL) = (currency IS NULL)),
  ADD CONSTRAINT commands_refused CHECK (refused IS NULL OR (bulk_id IS NOT NULL AND state = 'previewed'));
COMMENT ON COLUMN commands.bulk_id IS 'The bulk command that it is a row of; it is carried out as a part of that only';
COMMENT ON COLUMN commands.place IS 'Which row of it, from 1';
COMMENT ON COLUMN commands.amount IS 'Minor units of currency that it may move';
COMMENT ON COLUMN commands.refused IS 'Why the row was not carried out when its turn came';
CREATE INDEX commands_of_bulk ON commands (bulk_id, place) WHERE bulk_id IS NOT NULL;
`;

export class BulkCommands1700000000015 extends ForwardOnly {
  protected readonly sql = UP;
}
