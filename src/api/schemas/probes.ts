/** Answers of the probes. */
import { z } from 'zod';

export const Liveness = z.strictObject({ status: z.literal('alive') }).meta({ id: 'Liveness' });
export type Liveness = z.infer<typeof Liveness>;

export const ReadinessOut = z
  .strictObject({
    status: z.enum(['ready', 'not_ready']),
    checks: z.record(z.string(), z.string()).describe('One word for each dependency'),
  })
  .meta({ id: 'Readiness' });
export type ReadinessOut = z.infer<typeof ReadinessOut>;
