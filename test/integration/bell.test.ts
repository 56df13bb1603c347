/** A ring travels through the queue to one worker, with what it says, in Redis and in Postgres. */
import { setTimeout } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { systemClock } from '../../src/clock.js';
import { queueBackend } from '../../src/queue/backend.js';
import { ClockWork, SWEEP } from '../../src/queue/clock-work.js';
import { QueueBell } from '../../src/queue/queue-bell.js';
import { freshDatabase } from '../support/database.js';
import { privateRedis } from '../support/private-servers.js';
import { until } from '../support/product.js';

const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };

test.each(['redis', 'postgres'] as const)(
  'in %s a ring that comes alone is answered once, one of a crowd tells how long it lasts, and neither is taken for the other',
  async (kind) => {
    const db = await freshDatabase();
    const redis = kind === 'redis' ? await privateRedis() : null;
    await redis?.start();
    const backend = queueBackend({ redis: redis?.url, database: db.url });
    await backend.migrate();
    const heard: (number | undefined)[] = [];
    const queue = backend.queue(() => undefined);
    const clockWork = new ClockWork({
      backend,
      queue,
      schedules: {
        [SWEEP]: {
          interval_ms: 600_000,
          // Rings wait in the queue for the first one to end.
          tick: async (lasts_ms) => {
            heard.push(lasts_ms);
            if (heard.length === 1) await setTimeout(300);
          },
        },
      },
      clock: systemClock,
      log: QUIET,
    });
    try {
      // The schedule ticks as soon as it is made.
      await until(() => Promise.resolve(heard.length === 1 || null), 'the first tick');
      const bell = new QueueBell(queue, QUIET);
      bell.ring();
      bell.ring();
      await until(() => Promise.resolve(heard.length === 3 || null), 'both rings');
      expect(heard).toEqual([undefined, undefined, 115]);
    } finally {
      await clockWork.close();
      await queue.close();
      await backend.close();
      await redis?.stop('SIGTERM');
      await redis?.remove();
      await db.drop();
    }
  },
  30_000,
);
