/** What a process says about itself, whoever serves it: alive, ready, metrics. */
import type { Metrics } from '../../telemetry/metrics.js';
import { TooLate, within } from '../../within.js';
import type { Readiness } from '../dependencies.js';
import type { Liveness, ReadinessOut } from '../schemas/probes.js';

/** Probes usually give up after a second or a few; a check that hangs is an answer, too. */
const READINESS_TIMEOUT_MS = 2_000;

export interface Probed {
  readonly readiness: Readiness;
  readonly metrics: Metrics;
}

export const alive = (): Liveness => ({ status: 'alive' });

/** Never throws, and says nothing secret. */
export async function readinessOf(readiness: Readiness): Promise<ReadinessOut> {
  try {
    const { ready, checks } = await within(READINESS_TIMEOUT_MS, readiness.check());
    return { status: ready ? 'ready' : 'not_ready', checks: { ...checks } };
  } catch (error) {
    return {
      status: 'not_ready',
      checks: { readiness: error instanceof TooLate ? 'no answer in time' : 'failed' },
    };
  }
}

export const statusOf = ({ status }: ReadinessOut): 200 | 503 => (status === 'ready' ? 200 : 503);
