/** What is handed on to the customer's browser. */
import { z } from 'zod';

export const ClientSecretOut = z
  .strictObject({
    client_secret: z
      .string()
      .describe('For the front end, over TLS; never to be stored, logged or put into a URL'),
  })
  .meta({ id: 'ClientSecret' });
export type ClientSecretOut = z.infer<typeof ClientSecretOut>;
