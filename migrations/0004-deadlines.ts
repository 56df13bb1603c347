/** The moment at which time alone changes what is to be done, so that the nearest is served first when turns are scarce. */
import { ForwardOnly } from './forward-only.js';

const UP = `
ALTER TABLE order_operations ADD COLUMN deadline_at timestamptz;
COMMENT ON COLUMN order_operations.deadline_at IS 'The payment deadline, or the end of an authorization; null when there is none';
CREATE INDEX order_operations_deadline ON order_operations (account, deadline_at)
  WHERE deadline_at IS NOT NULL AND next_attempt_at IS NOT NULL;
`;

export class Deadlines1700000000004 extends ForwardOnly {
  protected readonly sql = UP;
}
