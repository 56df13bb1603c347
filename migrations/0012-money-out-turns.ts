/** The brake on automatic money-out: whose turn it is, what a refund sent again takes, and no refund without leave. */
import { ForwardOnly } from './forward-only.js';

const UP = `
CREATE TABLE money_waiting (
  effect_key text PRIMARY KEY,
  account text NOT NULL,
  currency text NOT NULL,
  amount bigint NOT NULL,
  since timestamptz NOT NULL,
  asked_at timestamptz NOT NULL,

  CONSTRAINT money_waiting_currency_known CHECK (currency ~ '^[A-Z]{3}$'),
  CONSTRAINT money_waiting_amount_positive CHECK (amount > 0)
);
COMMENT ON TABLE money_waiting IS 'Refunds that the money-out brake holds back, until they are given leave or have not asked for a day';
COMMENT ON COLUMN money_waiting.effect_key IS 'The key that the refund is to be sent with';
COMMENT ON COLUMN money_waiting.amount IS 'Minor units of the currency';
COMMENT ON COLUMN money_waiting.since IS 'When it was first held back: after an hour, room is kept for it before any that waits less long';
COMMENT ON COLUMN money_waiting.asked_at IS 'When it last asked; who waits asks within two hours, others keep no room';
CREATE INDEX money_waiting_of_account ON money_waiting (account, since);

COMMENT ON TABLE money_out IS 'Refunds that may be sent, or were, within the last day; those of the last hour take room';

-- As before, and: what is sent again is what was sent (its key is good for a day, and so is its row); who has waited for
-- an hour is served before those that wait less long. Same parameters and result, so that processes of both versions share it.
CREATE OR REPLACE FUNCTION admit_refund(
  of_account text, key text, in_currency text, refund bigint, most_refunds bigint, most_amount bigint
)
RETURNS TABLE (admitted boolean, met text, wait_ms float8, just_closed boolean)
LANGUAGE plpgsql AS $$
DECLARE
  hour CONSTANT interval := interval '1 hour';
  braked_before timestamptz;
  known record;
  asked bigint;
  waits_since timestamptz;
  used record;
  ahead record;
  room_at timestamptz;
BEGIN
  SELECT a.refunds_braked_at INTO braked_before FROM provider_accounts a WHERE a.account = of_account FOR UPDATE;
  IF NOT FOUND THEN RAISE EXCEPTION 'account % is not known', of_account; END IF;

  SELECT m.amount, m.at > clock_timestamp() - hour AS has_room INTO known FROM money_out m WHERE m.effect_key = key;
  -- Sent once more: it has its room, and keeps it for an hour from now. Not so a larger one, of which none was sent yet.
  IF known.has_room AND refund <= known.amount THEN
    UPDATE money_out SET at = clock_timestamp() WHERE effect_key = key;
    RETURN QUERY SELECT true, NULL::text, 0::float8, false; RETURN;
  END IF;
  asked := greatest(refund, known.amount);

  DELETE FROM money_out m WHERE m.account = of_account AND m.at <= clock_timestamp() - interval '1 day';
  DELETE FROM money_waiting w WHERE w.account = of_account AND w.asked_at <= clock_timestamp() - interval '1 day';

  SELECT count(*) AS refunds, coalesce(sum(m.amount) FILTER (WHERE m.currency = in_currency), 0) AS amount
    INTO used FROM money_out m
    WHERE m.account = of_account AND m.at > clock_timestamp() - hour AND m.effect_key <> key;
  SELECT w.since INTO waits_since FROM money_waiting w WHERE w.effect_key = key;
  waits_since := coalesce(waits_since, clock_timestamp());
  SELECT count(*) AS refunds, coalesce(sum(w.amount) FILTER (WHERE w.currency = in_currency), 0) AS amount
    INTO ahead FROM money_waiting w
    WHERE w.account = of_account AND (w.since, w.effect_key) < (waits_since, key)
      AND w.since <= clock_timestamp() - hour
      -- Paused, disputed, given back otherwise: it does not ask any more.
      AND w.asked_at > clock_timestamp() - interval '150 minutes'
      -- One that never has room waits for a person, and keeps none from others.
      AND (w.currency <> in_currency OR most_amount IS NULL OR w.amount <= most_amount);

  met := CASE
    WHEN used.refunds >= most_refunds THEN 'count'
    WHEN used.amount + asked > most_amount THEN 'amount'
    WHEN used.refunds + ahead.refunds >= most_refunds OR used.amount + ahead.amount + asked > most_amount THEN 'turn'
  END;
  IF met IS NULL THEN
    INSERT INTO money_out (effect_key, account, currency, amount, at)
    VALUES (key, of_account, in_currency, asked, clock_timestamp())
    ON CONFLICT (effect_key) DO UPDATE SET amount = asked, at = clock_timestamp();
    DELETE FROM money_waiting w WHERE w.effect_key = key;
    RETURN QUERY SELECT true, NULL::text, 0::float8, false; RETURN;
  END IF;
  INSERT INTO money_waiting (effect_key, account, currency, amount, since, asked_at)
  VALUES (key, of_account, in_currency, asked, waits_since, clock_timestamp())
  ON CONFLICT (effect_key) DO UPDATE SET amount = asked, asked_at = clock_timestamp();

  -- The moment at which enough has left the hour; none does while the limit is below this one refund.
  SELECT g.at + hour INTO room_at FROM (
    SELECT m.at, count(*) OVER leaving AS refunds,
      coalesce(sum(m.amount) FILTER (WHERE m.currency = in_currency) OVER leaving, 0) AS amount
    FROM money_out m
    WHERE m.account = of_account AND m.at > clock_timestamp() - hour AND m.effect_key <> key
    WINDOW leaving AS (ORDER BY m.at, m.effect_key)
  ) g
  WHERE used.refunds + ahead.refunds - g.refunds < most_refunds
    AND (most_amount IS NULL OR used.amount + ahead.amount - g.amount + asked <= most_amount)
  ORDER BY g.at LIMIT 1;
  UPDATE provider_accounts SET refunds_braked_at = clock_timestamp() WHERE provider_accounts.account = of_account;
  RETURN QUERY SELECT false, met,
    greatest(0, extract(epoch FROM coalesce(room_at, clock_timestamp() + hour) - clock_timestamp()) * 1000)::float8,
    -- Whoever waits asks again within two hours.
    coalesce(braked_before <= clock_timestamp() - 2 * hour, true);
END $$;

-- A worker of a version without the brake, during a deploy, or a mistake of ours: without leave there is no intent, and
-- without an intent nothing is sent. Such a worker fails on that record only, and one that asks takes it over.
CREATE FUNCTION refund_has_leave() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM money_out m WHERE m.effect_key = NEW.effect_key AND m.at > clock_timestamp() - interval '1 hour';
  IF NOT FOUND THEN
    RAISE EXCEPTION 'a refund was to be begun without leave of the money-out brake' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER refund_has_leave BEFORE INSERT ON operation_attempts
  FOR EACH ROW WHEN (NEW.step = 'create_refund') EXECUTE FUNCTION refund_has_leave();
COMMENT ON TRIGGER refund_has_leave ON operation_attempts IS 'No intent of a refund without leave of the money-out brake, whoever records it';
`;

export class MoneyOutTurns1700000000012 extends ForwardOnly {
  protected readonly sql = UP;
}
