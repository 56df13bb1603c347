/** The secret by which the customer's browser acts on a payment: read when it is asked for, kept nowhere. */

export type ClientSecret =
  | { readonly kind: 'shown'; readonly client_secret: string }
  /** There is no payment that the customer could act on; `why` is for people. */
  | { readonly kind: 'not_available'; readonly why: string }
  /** The provider gave no usable answer; it may later. */
  | { readonly kind: 'unreadable' };

export interface ClientSecrets {
  /** Null for an operation that does not exist. Reads the provider; writes nothing, and never throws what it read. */
  read(operationId: string): Promise<ClientSecret | null>;
}
