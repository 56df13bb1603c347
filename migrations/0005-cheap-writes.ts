/**
 * What makes each write of a pass cheaper: see docs/decisions/0014. Rebuilds two primary keys under an exclusive lock, so
 * with large tables all processes are stopped meanwhile.
 */
import { ForwardOnly } from './forward-only.js';

const UP = `
-- A row is rewritten at every moment of a pass. Compressing its documents anew each time costs more than their room,
-- and room on the page lets a write that touches no index stay on it.
ALTER TABLE order_operations SET (toast_tuple_target = 8160, fillfactor = 50);
ALTER TABLE operation_attempts SET (fillfactor = 70);

-- Journal and timeline are inserted by the statement that holds the row which they belong to, and rows are never
-- deleted: checking each of them once more by a query of its own could find nothing. Whoever comes to delete rows has to
-- delete these first.
ALTER TABLE operation_attempts DROP CONSTRAINT operation_attempts_operation_fkey;
ALTER TABLE operation_events DROP CONSTRAINT operation_events_operation_fkey;

-- Both are only ever asked for by the row that they belong to, so one index does for two.
ALTER TABLE operation_attempts DROP CONSTRAINT operation_attempts_pkey, ADD PRIMARY KEY (operation, attempt_id);
DROP INDEX operation_attempts_of_operation;
ALTER TABLE operation_events DROP CONSTRAINT operation_events_pkey, ADD PRIMARY KEY (operation, sequence);
DROP INDEX operation_events_of_operation;

-- Without the phase, a write that changes the phase touches no index.
DROP INDEX order_operations_open;
CREATE INDEX order_operations_open ON order_operations (id) WHERE settled_at IS NULL;
`;

export class CheapWrites1700000000005 extends ForwardOnly {
  protected readonly sql = UP;
}
