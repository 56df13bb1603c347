/** Commands of people: what they saw, what they decided, what became of it. */
import { ForwardOnly } from './forward-only.js';

const UP = `
ALTER TABLE order_operations ADD COLUMN decisions jsonb;
COMMENT ON COLUMN order_operations.decisions IS 'What people decided by commands, as a part of the wish; null while none did';

CREATE TABLE commands (
  preview_id text PRIMARY KEY DEFAULT gen_random_uuid()::text,
  operation bigint NOT NULL,
  command text NOT NULL,
  parameters jsonb NOT NULL,
  resource_version bigint NOT NULL,
  evidence jsonb NOT NULL,
  bound jsonb NOT NULL,
  effects jsonb NOT NULL,
  approval_needed boolean NOT NULL,
  state text NOT NULL DEFAULT 'previewed',

  previewed_by text NOT NULL,
  previewed_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  reason text,
  requested_by text,
  requested_at timestamptz,
  approved_by text,
  approved_at timestamptz,
  carried_out_at timestamptz,
  woke bigint,
  outcome jsonb,

  CONSTRAINT commands_command_known CHECK (command IN ('check_provider', 'retry', 'retry_refund', 'reauthorize',
    'adopt_payment', 'record_outcome', 'release_finalizer', 'pause', 'resume', 'give_up')),
  CONSTRAINT commands_state_known CHECK (state IN ('previewed', 'awaiting_approval', 'accepted', 'observed')),
  CONSTRAINT commands_requested CHECK ((state = 'previewed') = (requested_by IS NULL)
    AND (requested_by IS NULL) = (requested_at IS NULL) AND (requested_by IS NULL) = (reason IS NULL)),
  CONSTRAINT commands_approved CHECK ((approved_by IS NULL) = (approved_at IS NULL)),
  CONSTRAINT commands_approved_by_another CHECK (approved_by <> requested_by),
  CONSTRAINT commands_carried_out CHECK ((state IN ('accepted', 'observed')) = (carried_out_at IS NOT NULL)
    AND (carried_out_at IS NULL) = (woke IS NULL)
    AND (NOT approval_needed OR carried_out_at IS NULL OR approved_by IS NOT NULL)),
  CONSTRAINT commands_observed CHECK ((state = 'observed') = (outcome IS NOT NULL))
);
COMMENT ON TABLE commands IS 'Previews and decisions of people: a row is a preview until somebody confirms it, and is carried out at most once';
COMMENT ON COLUMN commands.operation IS 'The row of order_operations';
COMMENT ON COLUMN commands.resource_version IS 'The version that was previewed';
COMMENT ON COLUMN commands.evidence IS 'What the person was shown: observed then, and recorded';
COMMENT ON COLUMN commands.bound IS 'The part of it that must still be so when the command is carried out';
COMMENT ON COLUMN commands.effects IS 'What the person was told will happen';
COMMENT ON COLUMN commands.approval_needed IS 'It moves more money than one person may move alone';
COMMENT ON COLUMN commands.expires_at IS 'Of the preview; of the request, while it waits for a second person';
COMMENT ON COLUMN commands.woke IS 'The wake of the operation by this command: a pass that was claimed with it has seen the decision';
COMMENT ON COLUMN commands.outcome IS 'What was observed afterwards';
CREATE INDEX commands_of_operation ON commands (operation);
`;

export class Commands1700000000008 extends ForwardOnly {
  protected readonly sql = UP;
}
