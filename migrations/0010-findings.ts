/** The two-sided sweep: how far each account's payments are listed, and what did not fit together. Forward only. */
import { ForwardOnly } from './forward-only.js';

const UP = `
CREATE TABLE orphan_sweeps (
  account text PRIMARY KEY,
  recent jsonb,
  lookback jsonb,
  listed_until timestamptz,
  lookback_began_at timestamptz,
  lookback_ended_at timestamptz,
  totals jsonb NOT NULL DEFAULT '{}',
  records_until bigint NOT NULL DEFAULT 0,
  ended_at timestamptz NOT NULL DEFAULT now(),
  due_at timestamptz NOT NULL DEFAULT now(),
  fencing_token bigint NOT NULL DEFAULT 0,
  lease_holder text,
  lease_expires_at timestamptz,

  CONSTRAINT orphan_sweeps_lease_whole CHECK ((lease_holder IS NULL) = (lease_expires_at IS NULL))
);
COMMENT ON TABLE orphan_sweeps IS 'One row an account: which of its payments are listed and compared, page by page';
COMMENT ON COLUMN orphan_sweeps.recent IS 'The round through what was created last: window, cursor, sums; null between rounds';
COMMENT ON COLUMN orphan_sweeps.lookback IS 'The slow round through what may have changed since; null between rounds';
COMMENT ON COLUMN orphan_sweeps.listed_until IS 'Everything that was created before is listed';
COMMENT ON COLUMN orphan_sweeps.totals IS 'Of the last slow round that ended: by currency what the provider holds and what we recorded, in minor units';
COMMENT ON COLUMN orphan_sweeps.records_until IS 'order_operations.id up to which the other side was walked; 0: from the beginning';
COMMENT ON COLUMN orphan_sweeps.ended_at IS 'When a round through the recent payments last ended; at first, when the account became known';
COMMENT ON COLUMN orphan_sweeps.due_at IS 'A tick before then is a repetition';
COMMENT ON COLUMN orphan_sweeps.fencing_token IS '+1 on each claim; a write that names an older one is refused';
COMMENT ON COLUMN orphan_sweeps.lease_expires_at IS 'On the clock of the database';

CREATE TABLE findings (
  finding_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account text NOT NULL,
  kind text NOT NULL,
  reference text NOT NULL,
  operation_id text COLLATE "C",
  state text NOT NULL,
  amount bigint NOT NULL CHECK (amount >= 0),
  currency text NOT NULL,
  message text NOT NULL,
  evidence jsonb NOT NULL,
  suggested text NOT NULL,
  payment_created_at timestamptz,
  payment_terms jsonb,
  suspected_at timestamptz NOT NULL,
  opened_at timestamptz,
  first_seen_at timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL,
  resolved_at timestamptz,
  check_at timestamptz,

  CONSTRAINT findings_once UNIQUE (account, reference, kind),
  CONSTRAINT findings_kind_known CHECK (kind IN ('orphan_payment', 'second_payment', 'payment_missing', 'amounts_differ',
    'money_left', 'stray_unconfirmed')),
  CONSTRAINT findings_state_known CHECK (state IN ('suspected', 'open', 'resolved')),
  CONSTRAINT findings_open_was_opened CHECK (state = 'suspected' OR opened_at IS NOT NULL),
  CONSTRAINT findings_resolved_has_time CHECK ((state = 'resolved') = (resolved_at IS NOT NULL)),
  CONSTRAINT findings_checked_unless_resolved CHECK ((state = 'resolved') = (check_at IS NULL))
);
COMMENT ON TABLE findings IS 'Where the provider and the record do not fit together; shown to people, nothing is done by it';
COMMENT ON COLUMN findings.reference IS 'The payment at the provider';
COMMENT ON COLUMN findings.operation_id IS 'The operation that it names or belongs to; null where there is none';
COMMENT ON COLUMN findings.state IS 'suspected: not shown before another look confirms it';
COMMENT ON COLUMN findings.amount IS 'Minor units at stake';
COMMENT ON COLUMN findings.payment_terms IS 'What its creation must have sent, to tell whether it was ours';
COMMENT ON COLUMN findings.suspected_at IS 'Since when these amounts are suspected: the record has to be read after it';
COMMENT ON COLUMN findings.opened_at IS 'When it last became a finding; null: a suspicion that was never confirmed';
COMMENT ON COLUMN findings.check_at IS 'When the payment is looked at again; null once resolved';
CREATE INDEX findings_to_check ON findings (account, check_at) WHERE check_at IS NOT NULL;
CREATE INDEX findings_open ON findings (kind, finding_id) WHERE state = 'open';

CREATE TABLE finding_attempts (
  attempt_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  finding_id bigint NOT NULL REFERENCES findings (finding_id),
  step text NOT NULL,
  target text NOT NULL,
  ordinal integer NOT NULL CHECK (ordinal >= 1),
  effect_key text NOT NULL,
  parameters json NOT NULL,
  worker text NOT NULL,
  started_at timestamptz NOT NULL,
  completed_at timestamptz,
  outcome text,
  key_spent boolean NOT NULL DEFAULT false,
  failure jsonb,
  request_id text,

  CONSTRAINT finding_attempts_step_known CHECK (step IN ('cancel_payment')),
  CONSTRAINT finding_attempts_outcome_known CHECK (outcome IN ('done', 'pending', 'declined', 'rejected', 'not_sent', 'unknown')),
  CONSTRAINT finding_attempts_completed_once CHECK ((completed_at IS NULL) = (outcome IS NULL))
);
COMMENT ON TABLE finding_attempts IS 'The journal of what the sweep does by itself, which is one thing: it cancels strays that never took money';
COMMENT ON COLUMN finding_attempts.outcome IS 'Null while no answer is recorded';
CREATE INDEX finding_attempts_of_finding ON finding_attempts (finding_id, attempt_id);
`;

export class Findings1700000000010 extends ForwardOnly {
  protected readonly sql = UP;
}
