/** The inbox of verified webhooks. Forward only. */
import { ForwardOnly } from './forward-only.js';

const UP = `
CREATE TABLE provider_events (
  account text NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  type text NOT NULL,
  livemode boolean,
  provider_account text,
  object_id text,
  payment_reference text,
  operation_id text COLLATE "C",
  created_at timestamptz,
  received_at timestamptz NOT NULL,
  ignored_because text,
  woke bigint[] NOT NULL,

  CONSTRAINT provider_events_once PRIMARY KEY (account, event_id),
  CONSTRAINT provider_events_ignored_because_known CHECK (ignored_because IN ('other_mode', 'other_account')),
  CONSTRAINT provider_events_ignored_wakes_nothing CHECK (ignored_because IS NULL OR woke = '{}'),
  CONSTRAINT provider_events_texts_bounded CHECK (length(event_id) <= 255 AND length(type) <= 255
    AND length(provider_account) <= 255 AND length(object_id) <= 255 AND length(payment_reference) <= 255
    AND length(operation_id) <= 128)
);
COMMENT ON TABLE provider_events IS 'Inbox of verified webhooks: that something happened, never what; the payload may hold personal data and is not kept';
COMMENT ON COLUMN provider_events.account IS 'Our name of the account whose endpoint it came to';
COMMENT ON COLUMN provider_events.livemode IS 'As the event says; null: it does not say';
COMMENT ON COLUMN provider_events.provider_account IS 'The provider''s id of the account, where the event carries one';
COMMENT ON COLUMN provider_events.object_id IS 'What the event is about: a payment, charge, refund, dispute, or anything else';
COMMENT ON COLUMN provider_events.payment_reference IS 'The payment that the object is or belongs to';
COMMENT ON COLUMN provider_events.operation_id IS 'metadata.operation_id of the object: whoever can write metadata can claim it, so it only wakes';
COMMENT ON COLUMN provider_events.created_at IS 'On the clock of the provider; says nothing about the order of events';
COMMENT ON COLUMN provider_events.ignored_because IS 'It concerns another account or the other mode than this account is pinned to';
COMMENT ON COLUMN provider_events.woke IS 'order_operations.id of those it woke; empty: it concerned none that was known then';

-- For housekeeping and for a look at what came lately.
CREATE INDEX provider_events_received ON provider_events (received_at);

-- A payment that the front end made is recorded as the operation's own only after a first reading; events come before.
CREATE INDEX order_operations_payment_to_adopt ON order_operations (account, (spec->'payment'->>'reference'))
  WHERE spec->'payment'->>'reference' IS NOT NULL;
`;

export class ProviderEvents1700000000002 extends ForwardOnly {
  protected readonly sql = UP;
}
