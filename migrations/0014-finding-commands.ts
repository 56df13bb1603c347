/** Commands of people on findings: what they saw, what they decided, what became of it. */
import { ForwardOnly } from './forward-only.js';

const UP = `
ALTER TABLE findings
  ADD COLUMN resource_version bigint NOT NULL DEFAULT 1,
  ADD COLUMN dismissed jsonb,
  DROP CONSTRAINT findings_state_known,
  ADD CONSTRAINT findings_state_known CHECK (state IN ('suspected', 'open', 'dismissed', 'resolved')),
  ADD CONSTRAINT findings_dismissed_by_somebody CHECK (state <> 'dismissed' OR dismissed IS NOT NULL);
COMMENT ON COLUMN findings.state IS 'suspected: not shown before another look confirms it; dismissed: a person said that nothing is to be done';
COMMENT ON COLUMN findings.resource_version IS '+1 with each change that a reader sees';
COMMENT ON COLUMN findings.dismissed IS 'Who dismissed it, why, when, and the facts that it rests on: when they change it is open again';

CREATE TABLE finding_commands (
  preview_id text PRIMARY KEY DEFAULT gen_random_uuid()::text,
  finding_id bigint NOT NULL REFERENCES findings (finding_id),
  account text NOT NULL,
  reference text NOT NULL,
  command text NOT NULL,
  resource_version bigint NOT NULL,
  evidence jsonb NOT NULL,
  bound jsonb NOT NULL,
  effects jsonb NOT NULL,
  gives_back jsonb,
  approval_needed boolean NOT NULL,
  operation_command text,
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
  due_at timestamptz,
  waits_for text,
  outcome jsonb,

  CONSTRAINT finding_commands_command_known CHECK (command IN ('adopt_payment', 'refund_stray', 'check_provider', 'dismiss')),
  CONSTRAINT finding_commands_gives_back CHECK ((command = 'refund_stray') = (gives_back IS NOT NULL)),
  CONSTRAINT finding_commands_delegated CHECK ((command = 'adopt_payment') = (operation_command IS NOT NULL)
    AND (operation_command IS NULL OR state = 'previewed')),
  CONSTRAINT finding_commands_state_known CHECK (state IN ('previewed', 'awaiting_approval', 'accepted', 'observed')),
  CONSTRAINT finding_commands_requested CHECK ((state = 'previewed') = (requested_by IS NULL)
    AND (requested_by IS NULL) = (requested_at IS NULL) AND (requested_by IS NULL) = (reason IS NULL)),
  CONSTRAINT finding_commands_approved CHECK ((approved_by IS NULL) = (approved_at IS NULL)),
  CONSTRAINT finding_commands_approved_by_another CHECK (approved_by <> requested_by),
  CONSTRAINT finding_commands_carried_out CHECK ((state IN ('accepted', 'observed')) = (carried_out_at IS NOT NULL)
    AND (NOT approval_needed OR carried_out_at IS NULL OR approved_by IS NOT NULL)),
  CONSTRAINT finding_commands_goes_on CHECK (state <> 'accepted' OR due_at IS NOT NULL),
  CONSTRAINT finding_commands_observed CHECK ((state = 'observed') = (outcome IS NOT NULL))
);
COMMENT ON TABLE finding_commands IS 'Previews and decisions of people about findings: a row is a preview until somebody confirms it, and is carried out at most once';
COMMENT ON COLUMN finding_commands.reference IS 'The payment; its findings may change, and money goes back once';
COMMENT ON COLUMN finding_commands.resource_version IS 'The version of the finding that was previewed';
COMMENT ON COLUMN finding_commands.evidence IS 'What the person was shown: observed then, and recorded';
COMMENT ON COLUMN finding_commands.bound IS 'The part of it that must still be so when the command is carried out';
COMMENT ON COLUMN finding_commands.effects IS 'What the person was told will happen';
COMMENT ON COLUMN finding_commands.gives_back IS 'The one effect that was decided on: {step, amount, currency}, minor units';
COMMENT ON COLUMN finding_commands.operation_command IS 'commands.preview_id of the operation that adopts; all that becomes of it is told there';
COMMENT ON COLUMN finding_commands.expires_at IS 'Of the preview; of the request, while it waits for a second person';
COMMENT ON COLUMN finding_commands.due_at IS 'When a worker goes on with it; null: nothing is left to do';
COMMENT ON COLUMN finding_commands.waits_for IS 'Why it could not go on, in words';
COMMENT ON COLUMN finding_commands.outcome IS 'What was observed afterwards';
CREATE INDEX finding_commands_of_finding ON finding_commands (finding_id);
CREATE INDEX finding_commands_due ON finding_commands (account, due_at) WHERE due_at IS NOT NULL;
-- Of two people who decide on two previews at once, one is told of the other.
CREATE UNIQUE INDEX finding_commands_one_refund ON finding_commands (account, reference)
  WHERE command = 'refund_stray' AND state = 'accepted';

ALTER TABLE finding_attempts
  ADD COLUMN command text REFERENCES finding_commands (preview_id),
  DROP CONSTRAINT finding_attempts_step_known,
  ADD CONSTRAINT finding_attempts_step_known CHECK (step = 'cancel_payment' OR (step = 'create_refund' AND command IS NOT NULL));
COMMENT ON TABLE finding_attempts IS 'The journal of what is done to payments beside the orders: strays that never took money are canceled by themselves, anything else a person decided';
COMMENT ON COLUMN finding_attempts.command IS 'The decision that it carries out; null: it was done by itself';
CREATE INDEX finding_attempts_of_command ON finding_attempts (command, attempt_id) WHERE command IS NOT NULL;
CREATE TRIGGER refund_has_leave BEFORE INSERT ON finding_attempts
  FOR EACH ROW WHEN (NEW.step = 'create_refund') EXECUTE FUNCTION refund_has_leave();
COMMENT ON TRIGGER refund_has_leave ON finding_attempts IS 'No intent of a refund without leave of the money-out brake, also where a person decided';
`;

export class FindingCommands1700000000014 extends ForwardOnly {
  protected readonly sql = UP;
}
