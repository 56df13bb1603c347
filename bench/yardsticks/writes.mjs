// How a yardstick stores that a step is done: `write({seq, step, payment})` resolves after the commit.

const ASSIGN = `step = o.step + 1, payment = coalesce(u.payment, o.payment),
  fulfilled_at = CASE WHEN o.step = 3 THEN clock_timestamp() END`;

/** One conditional update and one commit for each step of each order. */
export function singleWrites(pool) {
  const text = `UPDATE orders o SET ${ASSIGN} FROM (VALUES ($1::bigint, $2::integer, $3::text)) AS u (seq, step, payment)
    WHERE o.seq = u.seq AND o.step = u.step`;
  return async function write({ seq, step, payment }) {
    const { rowCount } = await pool.query({ name: 'write', text, values: [seq, step, payment] });
    if (rowCount !== 1) throw new Error(`order ${seq} is not at step ${step}`);
  };
}

/** One statement and one commit for all that wait at that moment; what comes meanwhile waits for the next one. */
export function batchedWrites(pool) {
  const text = `UPDATE orders o SET ${ASSIGN} FROM unnest($1::bigint[], $2::integer[], $3::text[]) AS u (seq, step, payment)
    WHERE o.seq = u.seq AND o.step = u.step`;
  let waiting = [];
  let isWriting = false;

  async function flush() {
    isWriting = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      const columns = ['seq', 'step', 'payment'].map((name) => batch.map(({ entry }) => entry[name]));
      try {
        const { rowCount } = await pool.query({ name: 'write', text, values: columns });
        if (rowCount !== batch.length)
          throw new Error(`${batch.length - rowCount} orders were not as expected`);
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    isWriting = false;
  }
  return (entry) =>
    new Promise((resolve, reject) => {
      waiting.push({ entry, resolve, reject });
      // After the present turn of the event loop, in which more steps may end.
      if (!isWriting) {
        isWriting = true;
        setImmediate(flush);
      }
    });
}
