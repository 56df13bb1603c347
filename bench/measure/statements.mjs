// Which statements a database ran, counted by Postgres itself while `work` runs.

/** `{result, statements}`; `statements` null where Postgres cannot count them. */
export async function countStatements({ admin, countsStatements }, database, work) {
  if (!countsStatements) return { result: await work(), statements: null };
  await trackStatements(admin, 'top');
  try {
    await admin.query('SELECT pg_stat_statements_reset()');
    const result = await work();
    const { rows: statements } = await admin.query(
      `SELECT calls::float8, total_exec_time AS ms, wal_bytes::float8, rows::float8,
         left(regexp_replace(query, '\\s+', ' ', 'g'), 100) AS query
       FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
       WHERE d.datname = $1 ORDER BY total_exec_time DESC`,
      [database],
    );
    return { result, statements };
  } finally {
    await trackStatements(admin, 'none');
  }
}

/** `which`: 'top' or 'none'. Counting has a cost of its own, so it is on for chosen windows only. */
export async function trackStatements(admin, which) {
  await admin.query(`ALTER SYSTEM SET pg_stat_statements.track = '${which}'`);
  await admin.query('SELECT pg_reload_conf()');
  // Each session takes the new setting when it next becomes idle or gets a statement.
  await new Promise((resolve) => setTimeout(resolve, 300));
}
