/** The brake on automatic money-out: which refunds each account was given leave to send within the last hour. */
import { ForwardOnly } from './forward-only.js';

const UP = `
CREATE TABLE money_out (
  effect_key text PRIMARY KEY,
  account text NOT NULL,
  currency text NOT NULL,
  amount bigint NOT NULL,
  at timestamptz NOT NULL,

  CONSTRAINT money_out_currency_known CHECK (currency ~ '^[A-Z]{3}$'),
  CONSTRAINT money_out_amount_positive CHECK (amount > 0)
);
COMMENT ON TABLE money_out IS 'Refunds that may be sent, or were, within the last hour; older rows are deleted by the next refund';
COMMENT ON COLUMN money_out.effect_key IS 'The same for each resend, so that a refund counts once';
COMMENT ON COLUMN money_out.amount IS 'Minor units of the currency';
COMMENT ON COLUMN money_out.at IS 'When it was last sent: until an hour later it takes room';
CREATE INDEX money_out_of_account ON money_out (account, at);

ALTER TABLE provider_accounts ADD COLUMN refunds_braked_at timestamptz;
COMMENT ON COLUMN provider_accounts.refunds_braked_at IS 'When a refund last met the money-out brake; null: none ever did';

-- A function, since each of its statements sees what was committed before it began. One statement that waits for the
-- account's row would go on to count the refunds of before its wait, and all that waited together would find room.
CREATE FUNCTION admit_refund(
  of_account text, key text, in_currency text, refund bigint, most_refunds bigint, most_amount bigint
)
RETURNS TABLE (admitted boolean, met text, wait_ms float8, just_closed boolean)
LANGUAGE plpgsql AS $$
DECLARE
  hour CONSTANT interval := interval '1 hour';
  braked_before timestamptz;
  used record;
  room_at timestamptz;
BEGIN
  SELECT a.refunds_braked_at INTO braked_before FROM provider_accounts a WHERE a.account = of_account FOR UPDATE;
  IF NOT FOUND THEN RAISE EXCEPTION 'account % is not known', of_account; END IF;

  -- Sent once more: it has its room, and keeps it for an hour from now.
  UPDATE money_out SET at = clock_timestamp() WHERE effect_key = key AND at > clock_timestamp() - hour;
  IF FOUND THEN RETURN QUERY SELECT true, NULL::text, 0::float8, false; RETURN; END IF;

  DELETE FROM money_out m WHERE m.account = of_account AND m.at <= clock_timestamp() - hour;
  SELECT count(*) AS refunds, coalesce(sum(m.amount) FILTER (WHERE m.currency = in_currency), 0) AS amount
    INTO used FROM money_out m WHERE m.account = of_account;
  met := CASE WHEN used.refunds >= most_refunds THEN 'count' WHEN used.amount + refund > most_amount THEN 'amount' END;
  IF met IS NULL THEN
    INSERT INTO money_out (effect_key, account, currency, amount, at)
    VALUES (key, of_account, in_currency, refund, clock_timestamp());
    RETURN QUERY SELECT true, NULL::text, 0::float8, false; RETURN;
  END IF;

  -- The moment at which enough has left the hour; none does while the limit is below this one refund.
  SELECT g.at + hour INTO room_at FROM (
    SELECT m.at, count(*) OVER leaving AS refunds,
      coalesce(sum(m.amount) FILTER (WHERE m.currency = in_currency) OVER leaving, 0) AS amount
    FROM money_out m WHERE m.account = of_account WINDOW leaving AS (ORDER BY m.at, m.effect_key)
  ) g
  WHERE used.refunds - g.refunds < most_refunds
    AND (most_amount IS NULL OR used.amount - g.amount + refund <= most_amount)
  ORDER BY g.at LIMIT 1;
  UPDATE provider_accounts SET refunds_braked_at = clock_timestamp() WHERE provider_accounts.account = of_account;
  RETURN QUERY SELECT false, met,
    greatest(0, extract(epoch FROM coalesce(room_at, clock_timestamp() + hour) - clock_timestamp()) * 1000)::float8,
    -- Whoever waits asks again within two hours.
    coalesce(braked_before <= clock_timestamp() - 2 * hour, true);
END $$;
COMMENT ON FUNCTION admit_refund IS 'Leave to send a refund, at most so many and so much in any hour of an account; decided one at a time';
`;

export class MoneyOutBrake1700000000006 extends ForwardOnly {
  protected readonly sql = UP;
}
