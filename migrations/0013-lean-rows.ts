/** What each rewriting of a row need not carry: see docs/decisions/0022. Processes of former versions are stopped before. */
import { ForwardOnly } from './forward-only.js';

const UP = `
-- Workers of former versions, which would take what is left out for something else, fail on this name instead.
ALTER TABLE order_operations RENAME COLUMN claimed_wake TO wake_at_claim;
ALTER TABLE order_operations ALTER COLUMN first_spec DROP NOT NULL;
COMMENT ON COLUMN order_operations.first_spec IS
  'The spec as first created, which repeated creates are compared with; null while it is the spec';
COMMENT ON COLUMN order_operations.facts IS
  'What was last seen; written by the holder of the lease only. Members that are as for most orders are left out';
COMMENT ON COLUMN order_operations.status IS
  'Derived from wish and facts by one pure function wherever either is written; usual members are left out';
`;

export class LeanRows1700000000013 extends ForwardOnly {
  protected readonly sql = UP;
}
