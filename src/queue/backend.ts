/** Where BullMQ keeps its queue: Redis, or without REDIS_URL the Postgres that is there anyway. */
import { setTimeout } from 'node:timers/promises';
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
    worker: (work, onError) =>
      runOnceReady(() => {
        const worker = new classes.Worker(QUEUE, work, { connection, ...WORKER_OPTIONS, autorun: false });
        worker.on('error', onError);
        return worker;
      }, onError),
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

/** What the library opens; it keeps the failure of its first connection for good. */
interface Openable {
  waitUntilReady(): Promise<unknown>;
  close(): Promise<void>;
}

/** A process begins before Postgres is there or the queue's schema is made: what did not become ready is thrown away. */
async function ready<Opened extends Openable>(open: () => Opened): Promise<Opened> {
  const opened = open();
  try {
    await opened.waitUntilReady();
    return opened;
  } catch (error) {
    await opened.close().catch(() => undefined);
    throw error;
  }
}

/** A queue whose next call opens another one where the last did not become ready. */
function openedAnew(open: () => BellQueue & Openable): BellQueue {
  let current: Promise<BellQueue> | null = null;
  let closed = false;
  const queue = async (): Promise<BellQueue> => {
    if (closed) throw new Error('the queue is closed');
    current ??= ready(open).catch((error: unknown) => {
      current = null;
      throw error;
    });
    return current;
  };
  return {
    add: async (...job) => (await queue()).add(...job),
    upsertJobScheduler: async (...schedule) => (await queue()).upsertJobScheduler(...schedule),
    getJobScheduler: async (...id) => (await queue()).getJobScheduler(...id),
    async close() {
      closed = true;
      const opened = await current?.catch(() => null);
      await opened?.close();
    },
  };
}

/** Ticks come from elsewhere meanwhile; this is how long the first one through the queue may be late. */
const OPEN_AGAIN_MS = 1_000;

/** One that runs before it is ready asks again without a pause, and the process does nothing else any more. */
function runOnceReady(
  open: () => Openable & Pick<Worker, 'run'>,
  onError: (error: Error) => void,
): BellWorker {
  const closing = new AbortController();
  const running = (async () => {
    while (!closing.signal.aborted) {
      try {
        const worker = await ready(open);
        worker.run().catch(onError);
        return worker;
      } catch (error) {
        onError(error as Error);
        await setTimeout(OPEN_AGAIN_MS, undefined, closing).catch(() => undefined);
      }
    }
    return null;
  })();
  return {
    async close() {
      closing.abort();
      await (await running)?.close();
    },
  };
}
