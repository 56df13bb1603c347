/** What is known of each provider account, shared by all processes: who it is, how it is, how fast it may be used. */
import { ForwardOnly } from './forward-only.js';

const UP = `
CREATE TABLE provider_accounts (
  account text PRIMARY KEY,
  identity text,
  livemode boolean,
  pinned_at timestamptz,

  breaker text NOT NULL DEFAULT 'closed',
  reason text,
  message text,
  since timestamptz,
  failing jsonb NOT NULL DEFAULT '{}',
  probe_at timestamptz,

  throttled_until timestamptz,
  rate double precision CHECK (rate > 0),
  rate_since timestamptz,
  tokens double precision NOT NULL DEFAULT 0 CHECK (tokens >= 0),
  tokens_at timestamptz NOT NULL DEFAULT now(),
  granted integer NOT NULL DEFAULT 0,

  CONSTRAINT provider_accounts_breaker_known CHECK (breaker IN ('closed', 'open')),
  CONSTRAINT provider_accounts_reason_known CHECK (reason IN ('outage', 'refused', 'wrong_account')),
  CONSTRAINT provider_accounts_open_has_reason CHECK ((breaker = 'open') = (reason IS NOT NULL)),
  CONSTRAINT provider_accounts_rate_whole CHECK ((rate IS NULL) = (rate_since IS NULL))
);
COMMENT ON TABLE provider_accounts IS 'One row an account: identity, breaker, throttle; the same for all processes';
COMMENT ON COLUMN provider_accounts.identity IS 'The provider''s id of the account at first contact; another one stops the account';
COMMENT ON COLUMN provider_accounts.livemode IS 'Live or test, at first contact; null where the provider does not tell';
COMMENT ON COLUMN provider_accounts.breaker IS 'open: records are not claimed, but one now and then as a probe';
COMMENT ON COLUMN provider_accounts.failing IS 'Operations that failed lately for reasons of the account, with when; cleared by a success';
COMMENT ON COLUMN provider_accounts.rate IS 'Passes a second at rate_since, growing from there; null: not limited';
COMMENT ON COLUMN provider_accounts.granted IS 'Passes that the last claim was granted';

DROP INDEX order_operations_due;
CREATE INDEX order_operations_due ON order_operations (account, next_attempt_at) WHERE next_attempt_at IS NOT NULL;
`;

export class Accounts1700000000003 extends ForwardOnly {
  protected readonly sql = UP;
}
