/** Kinds of call that an account does not take now, although it answers. */
import { ForwardOnly } from './forward-only.js';

const UP = `
CREATE TABLE account_steps (
  account text NOT NULL,
  step text NOT NULL,
  failing jsonb NOT NULL DEFAULT '{}',
  out_since timestamptz,
  reason text,
  message text,
  failed_at timestamptz NOT NULL,

  PRIMARY KEY (account, step),
  CONSTRAINT account_steps_reason_known CHECK (reason IN ('outage', 'refused')),
  CONSTRAINT account_steps_out_has_reason CHECK ((out_since IS NULL) = (reason IS NULL))
);
COMMENT ON TABLE account_steps IS 'Calls of one kind that failed at an account that answers; a row is deleted by the first that succeeds';
COMMENT ON COLUMN account_steps.failing IS 'Operations for which it failed, with when; no more are noted once it is out';
COMMENT ON COLUMN account_steps.out_since IS 'Since when its failures are the account''s and no order''s; null: they are not';
COMMENT ON COLUMN account_steps.failed_at IS 'The last failure: one of long ago says nothing about now';
`;

export class AccountSteps1700000000017 extends ForwardOnly {
  protected readonly sql = UP;
}
