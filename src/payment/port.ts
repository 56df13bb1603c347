/** The payment port: what the loop needs of a provider. Adapters never throw; every answer has a meaning. */
import type { Outcome, Parameters } from '../operation/attempt.js';
import type { PaymentReading, Reading } from '../operation/observation.js';
import type { PaymentStep } from '../operation/step.js';

/** One effect, ready to be sent: `parameters` are what `prepare` returned when its intent was first recorded. */
export interface PaymentCall {
  readonly step: PaymentStep['name'];
  /** The provider's id of the payment acted on; null for create_payment only. */
  readonly reference: string | null;
  readonly key: string;
  readonly parameters: Parameters;
}

export interface AccountIdentity {
  readonly identity: string | null;
  readonly livemode: boolean | null;
}

/** Whoever holds the secret can act on the payment: it is handed on to the customer's browser and kept nowhere. */
export interface CustomerAccess {
  readonly payment: PaymentReading;
  /** Null: this server shows none. */
  readonly client_secret: string | null;
}

/** A payment as a list shows it. Amounts in minor units. */
export interface ListedPayment {
  /** Its refunds are not listed one by one; disputes are not looked at. */
  readonly payment: PaymentReading;
  /** RFC 3339, on the provider's clock. */
  readonly created_at: string;
  /** Sum of the refunds that have not failed; null where the list does not tell. */
  readonly refunded: number | null;
  /**
   * What a creation that made it must have sent, in the words of `prepare`: every member stands in the parameters of such
   * an attempt. Another payment that happens to look the same has the same terms.
   */
  readonly terms: Parameters;
}

export interface PaymentPage {
  /** Newest first. */
  readonly payments: readonly ListedPayment[];
  /** Payments that this version cannot read, by id. */
  readonly unreadable: readonly string[];
  /** Id of the last payment of the page; null on an empty page. */
  readonly last: string | null;
  readonly has_more: boolean;
}

export interface PaymentProvider {
  /**
   * The exact wire parameters of a step, as JSON. Pure: same step, same result. They are stored before the first
   * send and sent again unchanged under the same key, also by a later version of this code.
   */
  prepare(step: PaymentStep): Parameters;

  /**
   * Reads the payment by its id, immediately consistent. Refunds are listed (all pages) when the payment shows any
   * or `refunds` asks for it. Never throws: what is not understood is `unknown`. `absent` only when the provider says
   * so for this id; whether that is believed is not decided here.
   */
  observe(query: { readonly reference: string; readonly refunds: boolean }): Promise<Reading<PaymentReading>>;

  /** The payment as it is at this moment (without refunds and charges), and its secret. Otherwise as `observe`. */
  clientSecret(reference: string): Promise<Reading<CustomerAccess>>;

  /**
   * Whose account the key opens, and whether it is live. `absent`: the provider does not tell (a restricted key, a peer
   * without that route), so the account stays unverified. Never throws.
   */
  identify(): Promise<Reading<AccountIdentity>>;

  /**
   * Looks for the payment that a create may have made although its answer was lost, through the provider's list of
   * what was created in a window of time (RFC 3339, both ends included). `present` only when it carries the operation,
   * amount and currency of `parameters`; `absent` only when the whole window was read. Never throws.
   */
  find(query: {
    readonly parameters: Parameters;
    readonly refunds: boolean;
    readonly created_from: string;
    readonly created_to: string;
  }): Promise<Reading<PaymentReading>>;

  /**
   * One page (at most 100) of what was created in a window of time (RFC 3339, both ends included), newest first, behind
   * the payment `after`; whoever made it. One request. `absent`: the provider has no such list, or does not know `after`
   * (any more). Never throws.
   */
  list(query: {
    readonly created_from: string;
    readonly created_to: string;
    readonly after: string | null;
  }): Promise<Reading<PaymentPage>>;

  /**
   * Sends one effect under its idempotency key and says what is known afterwards. Never throws. At most one request
   * is caused, but for the client library's own resend on a reset connection (same key).
   */
  apply(call: PaymentCall): Promise<Outcome>;
}
