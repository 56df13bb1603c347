/** What support needs around an order: all writes of an account stopped by a person, and who looks after what needs one. */
import { ForwardOnly } from './forward-only.js';

const UP = `
ALTER TABLE provider_accounts ADD COLUMN paused jsonb;
COMMENT ON COLUMN provider_accounts.paused IS 'Who stopped all writes of the account, why and when; null: they go on';

CREATE TABLE account_events (
  account text NOT NULL,
  sequence bigint GENERATED ALWAYS AS IDENTITY,
  at timestamptz NOT NULL,
  type text NOT NULL CHECK (type IN ('paused', 'resumed')),
  actor_kind text NOT NULL CHECK (actor_kind IN ('key', 'person')),
  actor_name text NOT NULL,
  reason text NOT NULL,
  PRIMARY KEY (account, sequence)
);
COMMENT ON TABLE account_events IS 'Append-only: who stopped the writes of an account and let them go on, and why';

-- A statement takes the locks of its tables before it looks at what is committed. So the lock waits for intents that are
-- being recorded, and whichever begin after it see the account as it is left here: none slips through with an older view.
CREATE FUNCTION switch_account(
  of_account text, stops boolean, by_kind text, by_name text, why text, release_rate float8
)
RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  moment CONSTANT timestamptz := clock_timestamp();
BEGIN
  BEGIN
    SET LOCAL lock_timeout = '3s';
    LOCK TABLE operation_attempts, finding_attempts IN SHARE MODE;
  EXCEPTION WHEN lock_not_available THEN
    -- Something else holds a journal for long. The switch is worth more than those few milliseconds.
    NULL;
  END;
  UPDATE provider_accounts SET
    paused = CASE WHEN stops THEN jsonb_build_object('by', by_name, 'reason', why,
      'at', to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) END,
    -- What waited is let go little by little.
    rate = CASE WHEN stops THEN rate ELSE coalesce(rate, release_rate) END,
    rate_since = CASE WHEN stops THEN rate_since ELSE coalesce(rate_since, moment) END,
    tokens = CASE WHEN stops THEN tokens ELSE 0 END,
    tokens_at = CASE WHEN stops THEN tokens_at ELSE moment END
  WHERE account = of_account AND (paused IS NULL) = stops;
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO account_events (account, at, type, actor_kind, actor_name, reason)
  VALUES (of_account, moment, CASE WHEN stops THEN 'paused' ELSE 'resumed' END, by_kind, by_name, why);
  RETURN true;
END $$;
COMMENT ON FUNCTION switch_account IS 'Stops all writes of an account, or lets them go on; false when they are so already';

CREATE TABLE operation_triage (
  operation bigint PRIMARY KEY,
  assignee text,
  snooze_until timestamptz,
  snoozed_as text,
  updated_at timestamptz NOT NULL,
  updated_by text NOT NULL,

  CONSTRAINT operation_triage_snooze_whole CHECK ((snooze_until IS NULL) = (snoozed_as IS NULL))
);
COMMENT ON TABLE operation_triage IS 'Who looks after an operation that needs a person; beside its row, which the reconciler writes';
COMMENT ON COLUMN operation_triage.snoozed_as IS 'What needed a person when it was snoozed; the snooze is over when that is another';
CREATE INDEX operation_triage_assignee ON operation_triage (assignee) WHERE assignee IS NOT NULL;
`;

export class Support1700000000009 extends ForwardOnly {
  protected readonly sql = UP;
}
