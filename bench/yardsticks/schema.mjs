// One row an order, and what an engine without records of its own would need at least.
export const SCHEMA = `
CREATE TABLE orders (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL UNIQUE,
  body jsonb NOT NULL,
  step integer NOT NULL DEFAULT 0,
  payment text,
  fulfilled_at timestamptz
);
CREATE INDEX orders_open ON orders (seq) WHERE fulfilled_at IS NULL;`;

export const CHANNEL = 'orders';

export const INSERT = {
  name: 'insert',
  text: 'INSERT INTO orders (id, body) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING',
};

/** `$1`: those in work already. */
export const OPEN = {
  name: 'open',
  text: `SELECT seq, id, body, step, payment FROM orders
    WHERE fulfilled_at IS NULL AND NOT seq = ANY ($1::bigint[]) ORDER BY seq LIMIT $2`,
};
