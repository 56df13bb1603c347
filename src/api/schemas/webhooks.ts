/** The answer to a webhook; people see it in the provider's list of deliveries. */
import { z } from 'zod';

export const WebhookOut = z
  .strictObject({
    received: z.literal(true),
    result: z
      .enum(['woken', 'unmatched', 'ignored', 'duplicate'])
      .describe(
        'woken: the operation is read now · unmatched: it concerns none · ignored: another account or mode · duplicate: stored before',
      ),
  })
  .meta({ id: 'WebhookAnswer' });
export type WebhookOut = z.infer<typeof WebhookOut>;
