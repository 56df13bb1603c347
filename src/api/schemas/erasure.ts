/** Erasing the personal data of one order. */
import { z } from 'zod';
import { ERASURE_GROUNDS } from '../../retention/eraser.js';

export const ErasureBody = z
  .strictObject({
    reason: z
      .enum(ERASURE_GROUNDS)
      .describe('A word and no text: what tells of an erasure holds nothing personal itself'),
  })
  .meta({ id: 'Erasure', examples: [{ reason: 'consent_withdrawn' }] });
export type ErasureBody = z.infer<typeof ErasureBody>;
