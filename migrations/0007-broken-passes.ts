/** Passes that break off are counted, so that a record that this version cannot work on is seen. Forward only. */
import { ForwardOnly } from './forward-only.js';

const UP = `
ALTER TABLE order_operations ADD COLUMN broken integer NOT NULL DEFAULT 0;
COMMENT ON COLUMN order_operations.broken IS 'Passes in a row that broke off; 0 again by one that came to its end';
`;

export class BrokenPasses1700000000007 extends ForwardOnly {
  protected readonly sql = UP;
}
