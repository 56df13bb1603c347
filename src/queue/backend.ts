/** Where BullMQ keeps its queue: Redis, or without REDIS_URL the Postgres that is there anyway. */
import { createPostgresBackend, Queue, Worker, withBackend, type Job } from 'bullmq';
import { Redis } from 'ioredis';

/** Both kinds of queue behave alike for what is used of them here. */
export interface QueueBackend {
  readonly kind: 'redis' | 'postgres';
  queue(onError: (error: Error) => void): BellQueue;
  worker(work: (job: Job) => Promise<void>, onError: (error: Error) => void): BellWorker;
  /** Creates what the queue needs where it is kept; several at once are safe. */
  migrate(): Promise<void>;
  /** Resolves when the queue answers. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export type BellQueue = Pick<Queue, 'add' | 'upsertJobScheduler' | 'getJobScheduler' | 'close'>;
export type BellWorker = Pick<Worker, 'close'>;

const QUEUE = 'order-reconciler';

/** Finished bells and ticks say nothing; a few failed ones are kept for a look. */
const JOB_OPTIONS = { removeOnComplete: true, removeOnFail: 100 };

/** One at a time: a job only claims, and a claim takes all that this process has room for. */
const WORKER_OPTIONS = { concurrency: 1, removeOnComplete: { count: 0 }, removeOnFail: { count: 100 } };

export const queueBackend = (urls: { redis: string | undefined; database: string }): QueueBackend =>
  urls.redis === undefined ? postgresBackend(urls.database) : redisBackend(urls.redis);

function redisBackend(url: string): QueueBackend {
  const connections: Redis[] = [];
  const connect = (options: { blocking: boolean }, onError: (error: Error) => void): Redis => {
    const connection = new Redis(url, {
      // Workers wait without end by design; everything else gives up after one try, since it is only a bell.
      maxRetriesPerRequest: options.blocking ? null : 1,
      connectTimeout: 2_000,
      // A connection that went silent (a pulled cable, a stopped server) is given up and made anew.
      socketTimeout: options.blocking ? 30_000 : 5_000,
      retryStrategy: (times) => Math.min(100 * times, 2_000),
    });
    connection.on('error', onError);
    connections.push(connection);
    return connection;
  };
  let pinger: Redis | undefined;
  return {
    kind: 'redis',
    queue(onError) {
      const queue = new Queue(QUEUE, {
        connection: connect({ blocking: false }, onError),
        defaultJobOptions: JOB_OPTIONS,
        skipWaitingForReady: true,
      });
      queue.on('error', onError);
      return queue;
    },
    worker(work, onError) {
      const worker = new Worker(QUEUE, work, {
        connection: connect({ blocking: true }, onError),
        ...WORKER_OPTIONS,
      });
      worker.on('error', onError);
      return worker;
    },
    migrate: () => Promise.resolve(),
    async ping() {
      pinger ??= connect({ blocking: false }, () => undefined);
      await pinger.ping();
    },
    close() {
      for (const connection of connections) connection.disconnect();
      return Promise.resolve();
    },
  };
}

function postgresBackend(connectionString: string): QueueBackend {
  const classes = withBackend(createPostgresBackend);
  const connection = { connectionString, connectionTimeoutMillis: 2_000 };
  return {
    kind: 'postgres',
    queue: (onError) =>
      openedAnew(() => {
        const queue = new classes.Queue(QUEUE, { connection, defaultJobOptions: JOB_OPTIONS });
        queue.on('error', onError);
        return queue;
      }),
    worker(work, onError) {
      const worker = new classes.Worker(QUEUE, work, { connection, ...WORKER_OPTIONS });
      worker.on('error', onError);
      return worker;
    },
    async migrate() {
      const queue = new classes.Queue(QUEUE, { connection: { connectionString, migrate: true } });
      queue.on('error', () => undefined);
      try {
        await queue.waitUntilReady();
      } finally {
        await queue.close();
      }
    },
    // It is the database, whose readiness is checked already.
    ping: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

type Opened = BellQueue & { waitUntilReady(): Promise<unknown> };

/**
 * The library keeps the failure of its first connection for good, and a process begins before Postgres is there or the
 * queue's schema is made: a queue that did not become ready is thrown away, and the next call opens another.
 */
function openedAnew(open: () => Opened): BellQueue {
  let current: Promise<Opened> | null = null;
  let closed = false;
  const ready = (): Promise<Opened> =>
    (current ??= (async () => {
      if (closed) throw new Error('the queue is closed');
      const queue = open();
      try {
        await queue.waitUntilReady();
        return queue;
      } catch (error) {
        current = null;
        await queue.close().catch(() => undefined);
        throw error;
      }
    })());
  return {
    add: async (...job) => (await ready()).add(...job),
    upsertJobScheduler: async (...schedule) => (await ready()).upsertJobScheduler(...schedule),
    getJobScheduler: async (...id) => (await ready()).getJobScheduler(...id),
    async close() {
      closed = true;
      const queue = await current?.catch(() => null);
      await queue?.close();
    },
  };
}
