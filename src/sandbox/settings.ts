/** What tests may change about the sandbox at run time, with the defaults of a strict, healthy provider. */
import { z } from 'zod';

const DAY_SECONDS = 86_400;

export const settingsSchema = z.strictObject({
  /** Longest page of any list; tests of paging set 10, live Stripe allows 100. */
  page_size_limit: z.int().min(1).max(100),
  /** Search answers as of this many seconds ago; live it is under a minute, in outages up to an hour. */
  search_lag_s: z.number().min(0),
  /** Minimum charge per currency; live they depend on the settlement currency, so they can be switched off. */
  minimum_amounts: z.boolean(),
  /** Whether the account's dashboard offers methods that redirect, so that confirming may need a return_url. */
  redirect_methods: z.boolean(),
  /** How long an uncaptured card payment is held; 7 days is the usual window. */
  authorization_window_s: z.int().min(1),
  /** Old charges (and some other servers) book the released rest of an authorization as amount_refunded. */
  releases_count_as_refunded: z.boolean(),
  /** Top-level parameters answered with parameter_unknown, to play a stricter or older server. */
  refused_parameters: z.array(z.string()),
  /** Stock of a sku that nobody set. */
  default_stock: z.int().min(0),
  webhooks: z.strictObject({
    enabled: z.boolean(),
    /** How many extra copies of each event are sent. */
    duplicates: z.int().min(0).max(10),
    delay_ms: z.int().min(0),
  }),
});

export type Settings = z.infer<typeof settingsSchema>;

export const settingsPatchSchema = settingsSchema
  .partial()
  .extend({ webhooks: settingsSchema.shape.webhooks.partial().optional() });

export type SettingsPatch = z.infer<typeof settingsPatchSchema>;

export function defaultSettings(): Settings {
  return {
    page_size_limit: 100,
    search_lag_s: 0,
    minimum_amounts: true,
    redirect_methods: true,
    authorization_window_s: 7 * DAY_SECONDS,
    releases_count_as_refunded: false,
    refused_parameters: [],
    default_stock: 1_000_000,
    webhooks: { enabled: true, duplicates: 0, delay_ms: 0 },
  };
}

/** Changes the settings in place: everything that reads them holds the same object. */
export function changeSettings(settings: Settings, patch: SettingsPatch): void {
  const { webhooks, ...rest } = patch;
  Object.assign(settings, rest);
  Object.assign(settings.webhooks, webhooks ?? {});
}
