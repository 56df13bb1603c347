/** Who decided about a bulk command (its rows are carried out later): a key, or a person. What waits for a second person. */
import { ForwardOnly } from './forward-only.js';

const UP = `
ALTER TABLE bulk_commands
  ADD COLUMN requested_kind text NOT NULL DEFAULT 'key' CHECK (requested_kind IN ('key', 'person')),
  ADD COLUMN approved_kind text NOT NULL DEFAULT 'key' CHECK (approved_kind IN ('key', 'person'));

CREATE INDEX commands_awaiting_approval ON commands (expires_at) WHERE state = 'awaiting_approval';
`;

export class Deciding1700000000018 extends ForwardOnly {
  protected readonly sql = UP;
}
