/** The queue as it lies in its store, looked at from outside; both backends alike. */
import { createPostgresBackend, Queue, withBackend } from 'bullmq';
import { Database } from '../../src/store/database.js';
import { asRedis } from './private-servers.js';

export type Backend = 'redis' | 'postgres';

export interface Schedule {
  readonly id: string;
  readonly every: number;
  /** Ticks that it has made so far. */
  readonly ticks: number;
}

export interface QueueView {
  /** Of the sweep, or of whatever is named; all are made by the same code. */
  schedules(name?: string): Promise<Schedule[]>;
  /** Jobs that wait for their time: the next tick of the sweep. */
  delayed(): Promise<number>;
  /** Keys in Redis; rows in Postgres, without the stream of events, which is bounded by itself and one key in Redis. */
  size(): Promise<number>;
  /** Leaves something in the store that is there until the store is lost. */
  mark(): Promise<void>;
  marked(): Promise<boolean>;
  /** FLUSHALL, or its like in Postgres. */
  lose(): Promise<void>;
  close(): Promise<void>;
}

const QUEUE = 'order-reconciler';
/** All but the queue's record of its own migrations. */
const TABLES = [
  'meta',
  'job',
  'job_log',
  'job_dependency',
  'metrics',
  'rate_limit',
  'dedup',
  'dedup_next',
  'scheduler',
];

type View = Pick<Queue, 'getJobSchedulers' | 'getDelayed' | 'waitUntilReady' | 'close'>;

function open(backend: Backend, url: string): View {
  const { Queue: InPostgres } = withBackend(createPostgresBackend);
  const queue =
    backend === 'redis'
      ? new Queue(QUEUE, { connection: { url } })
      : new InPostgres(QUEUE, { connection: { connectionString: url } });
  queue.on('error', () => undefined); // A call that fails rejects.
  return queue;
}

/** Connects when it is asked, and anew after a failure, which the library keeps: the product brings the store up. */
export function queueView(backend: Backend, url: string): QueueView {
  let opened: View | null = null;
  const queue = async (): Promise<View> => {
    if (opened !== null) return opened;
    const fresh = open(backend, url);
    try {
      await fresh.waitUntilReady();
      return (opened = fresh);
    } catch (error) {
      await fresh.close();
      throw error;
    }
  };
  const store = backend === 'redis' ? inRedis(url) : inPostgres(url);
  return {
    async schedules(name = 'sweep') {
      const found = await (await queue()).getJobSchedulers();
      return found
        .filter(({ key }) => key === name)
        .map(({ key, every, iterationCount }) => ({
          id: key,
          every: Number(every),
          ticks: iterationCount ?? 0,
        }));
    },
    delayed: async () => (await (await queue()).getDelayed()).filter((job) => job.name === 'sweep').length,
    ...store,
    async close() {
      await opened?.close();
      await store.close();
    },
  };
}

type Store = Pick<QueueView, 'size' | 'mark' | 'marked' | 'lose' | 'close'>;

const inRedis = (url: string): Store => ({
  size: () => asRedis(url, (redis) => redis.dbsize()),
  mark: () => asRedis(url, (redis) => redis.set('mark', '1')).then(() => undefined),
  marked: () => asRedis(url, (redis) => redis.exists('mark')).then((found) => found > 0),
  lose: () => asRedis(url, (redis) => redis.flushall()).then(() => undefined),
  close: () => Promise.resolve(),
});

function inPostgres(url: string): Store {
  const database = new Database({ url, pool_size: 1 });
  return {
    async size() {
      const counts = TABLES.map((table) => `(SELECT count(*) FROM bullmq.${table})`);
      const [row] = await database.query<{ n: number }>(`SELECT (${counts.join(' + ')})::int AS n`);
      return row?.n ?? 0;
    },
    mark: () =>
      database
        .query(`INSERT INTO bullmq.meta (queue, field, value) VALUES ('mark', 'mark', '1')`)
        .then(() => undefined),
    marked: async () => (await database.query(`SELECT 1 FROM bullmq.meta WHERE queue = 'mark'`)).length > 0,
    lose: () =>
      database
        .query(`TRUNCATE ${[...TABLES, 'event'].map((table) => `bullmq.${table}`).join(', ')} CASCADE`)
        .then(() => undefined),
    close: () => database.close(),
  };
}
