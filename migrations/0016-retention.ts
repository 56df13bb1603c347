/**
 * What is deleted or erased when its time is over, and the indexes by which it is found. Reads the table of
 * orders three times while nobody writes to it: some twenty seconds for a million.
 */
import { ForwardOnly } from './forward-only.js';

const UP = `
ALTER TABLE order_operations ADD COLUMN erased_at timestamptz, ADD COLUMN journal_deleted_at timestamptz;
COMMENT ON COLUMN order_operations.erased_at IS
  'When personal data was last erased; from then on none is taken in from the provider. Null: it is here';
COMMENT ON COLUMN order_operations.journal_deleted_at IS
  'When attempts, timeline and commands were deleted. The row itself is kept: its key is never charged a second time';

-- A row comes into these when it is watched no longer, and leaves them when its turn has come: nothing that is alive pays
-- for them, and what they hold is what is still to be done. Settled anew after late money, it comes into them again.
CREATE INDEX order_operations_to_erase ON order_operations (settled_at)
  WHERE next_attempt_at IS NULL AND (erased_at IS NULL OR erased_at < settled_at);
CREATE INDEX order_operations_journal_to_delete ON order_operations (settled_at)
  WHERE next_attempt_at IS NULL AND (journal_deleted_at IS NULL OR journal_deleted_at < settled_at);

CREATE INDEX commands_previewed ON commands (expires_at) WHERE state = 'previewed';
CREATE INDEX findings_resolved ON findings (resolved_at) WHERE state = 'resolved';
CREATE INDEX findings_of_operation ON findings (operation_id) WHERE state <> 'resolved';

-- How many orders are settled, without counting them: a scrape of the metrics took as long as there were orders. A line
-- for each that settles or is settled no longer, so that nobody waits for anybody; housekeeping adds them up.
CREATE TABLE settled_counts (
  phase text NOT NULL,
  orders bigint NOT NULL
);
COMMENT ON TABLE settled_counts IS 'Settled orders by phase: the sum over its lines, which are many or few';
CREATE FUNCTION count_settled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO settled_counts (phase, orders)
  SELECT phase, orders
  FROM (VALUES (OLD.settled_at, OLD.phase, -1), (NEW.settled_at, NEW.phase, 1)) AS change(settled_at, phase, orders)
  -- Whatever a status says: a write never fails for what is only counted.
  WHERE settled_at IS NOT NULL AND phase IS NOT NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER order_operations_count_settled AFTER UPDATE ON order_operations FOR EACH ROW
  WHEN ((OLD.settled_at IS NULL) <> (NEW.settled_at IS NULL) OR NEW.settled_at IS NOT NULL AND OLD.phase <> NEW.phase)
  EXECUTE FUNCTION count_settled();
COMMENT ON TRIGGER order_operations_count_settled ON order_operations IS 'Once in the life of most orders';
INSERT INTO settled_counts (phase, orders)
SELECT phase, count(*) FROM order_operations WHERE settled_at IS NOT NULL AND phase IS NOT NULL GROUP BY phase;
`;

export class Retention1700000000016 extends ForwardOnly {
  protected readonly sql = UP;
}
