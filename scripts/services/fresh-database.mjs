// A database for one start of the demonstration. The sandbox keeps its books in memory, so every start begins another
// world, in which the orders of an earlier one would look as if their payments had vanished.
// The driver is the project's own, so this file is used after it has been installed.

// Enough to look up, with psql, what an earlier start did.
const KEPT = 3;

/** Creates it on the server of `url` and returns its address; the oldest ones of earlier starts are dropped. */
export async function freshDatabase(url, run) {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(
      "SELECT datname FROM pg_database WHERE datname LIKE 'start\\_%' ORDER BY datname",
    );
    for (const { datname } of rows.slice(0, -(KEPT - 1)))
      await client.query(`DROP DATABASE "${datname}" WITH (FORCE)`);
    await client.query(`CREATE DATABASE "start_${run}"`);
  } finally {
    await client.end();
  }
  const fresh = new URL(url);
  fresh.pathname = `/start_${run}`;
  return fresh.href;
}
