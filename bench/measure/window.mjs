// What was used between two moments, for each order that was settled in between.
import { cpuMs, cpuMsOfFamily, machineMs, residentMb } from './process-usage.mjs';

/** A reading of everything that only counts up. */
export async function readMeters(arena, run) {
  const [database, redis, world] = await Promise.all([
    readPostgres(arena.services.postgres),
    readRedis(arena.services.redis),
    arena.world.counts(),
  ]);
  const { user, system } = process.cpuUsage();
  return {
    at: performance.now(),
    cpu: {
      api: cpuMs(run.api.pid),
      worker: run.worker === null ? 0 : cpuMs(run.worker.pid),
      postgres: cpuMsOfFamily(arena.services.postgres.pid),
      redis: cpuMs(arena.services.redis.pid),
    },
    bench: (user + system) / 1000 + cpuMs(arena.world.pid),
    machine: machineMs(),
    ...database,
    redis_commands: redis,
    requests: world.requests,
  };
}

/** `idle`: two earlier readings with nothing to do between them, whose rates are taken off. */
export function perOrder(from, to, orders, idle) {
  const seconds = (to.at - from.at) / 1000;
  const rate = (name) =>
    idle === undefined ? 0 : (idle.to[name] - idle.from[name]) / ((idle.to.at - idle.from.at) / 1000);
  const each = (name) => (to[name] - from[name] - rate(name) * seconds) / orders;
  const cpu = Object.fromEntries(
    Object.keys(to.cpu).map((name) => [name, (to.cpu[name] - from.cpu[name]) / orders]),
  );
  const ours = Object.values(cpu).reduce((sum, ms) => sum + ms, 0);
  return {
    cpu_ms: { ...cpu, all: ours },
    write_transactions: each('transactions'),
    wal_bytes: each('wal'),
    redis_commands: each('redis_commands'),
    requests: each('requests'),
    // Cores that others used meanwhile: with more than a few hundredths the figures say little.
    foreign_cores: Math.max(
      0,
      (to.machine - from.machine - ours * orders - (to.bench - from.bench)) / seconds / 1000,
    ),
  };
}

export const memoryOf = (run) => ({ api: residentMb(run.api.pid), worker: residentMb(run.worker.pid) });

/** A transaction takes an id when it writes, so ids count the writing ones, and at once. */
async function readPostgres({ admin }) {
  const { rows } = await admin.query(
    `SELECT pg_snapshot_xmax(pg_current_snapshot())::text::float8 AS transactions,
       pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS wal`,
  );
  return rows[0];
}

async function readRedis({ admin }) {
  const statistics = await admin.info('commandstats');
  const calls = [...statistics.matchAll(/cmdstat_([^:]+):calls=(\d+)/g)];
  return calls
    .filter(([, name]) => name !== 'info' && name !== 'ping')
    .reduce((sum, [, , count]) => sum + Number(count), 0);
}
