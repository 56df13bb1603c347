/** The operations that could have to do with a payment, and what each of them may still do with it. Pure. */
import { readable, type Operation } from '../operation/operation.js';
import type { RecordedSide } from './finding.js';

export class Sides {
  readonly #own = new Map<string, RecordedSide>();
  readonly #adopting = new Map<string, RecordedSide[]>();
  readonly #named = new Map<string, RecordedSide>();
  readonly #elsewhere = new Map<string, RecordedSide>();

  constructor(records: readonly RecordedSide[], account: string) {
    for (const record of records) {
      const operation = readable(record.operation);
      const side = { ...record, operation };
      this.#named.set(operation.operation_id, side);
      if (operation.account !== account) {
        // The account had another name, or has two: the provider's ids are its own.
        if (operation.provider_reference !== null) this.#elsewhere.set(operation.provider_reference, side);
        continue;
      }
      if (operation.provider_reference !== null) this.#own.set(operation.provider_reference, side);
      const { reference } = operation.wish.spec.payment;
      if (reference !== null) this.#adopting.set(reference, [...(this.#adopting.get(reference) ?? []), side]);
    }
  }

  owner = (reference: string): RecordedSide | null => this.#own.get(reference) ?? null;
  /** Whose payment it is under another name of the account. */
  ownerElsewhere = (reference: string): RecordedSide | null => this.#elsewhere.get(reference) ?? null;
  adopting = (reference: string): readonly RecordedSide[] => this.#adopting.get(reference) ?? [];
  named = (operationId: string): RecordedSide | null => this.#named.get(operationId) ?? null;
}

export const isClosed = ({ status }: Operation): boolean =>
  status.phase === 'cancelled' || status.phase === 'rejected';

/** The order is wanted and nothing of its own pays for it. */
export const couldAdopt = ({ wish, facts }: Operation): boolean =>
  wish.cancellation === null && ['none', 'failed', 'canceled'].includes(facts.payment.state);

/**
 * Why money may not be given back beside the orders: the payment is an order's own, or may still become one's. Null: no
 * order lays hand on it.
 */
export function whoseItMayBe(
  payment: { readonly reference: string; readonly operation_id: string | null },
  records: readonly RecordedSide[],
  account: string,
): string | null {
  const sides = new Sides(records, account);
  const own = sides.owner(payment.reference);
  if (own !== null)
    return `It is the payment of the operation "${own.operation.operation_id}": its own refunds and its cancellation give its money back.`;
  const elsewhere = sides.ownerElsewhere(payment.reference)?.operation;
  if (elsewhere !== undefined)
    return `It is the payment of the operation "${elsewhere.operation_id}", which belongs to the account "${elsewhere.account}".`;
  const adopting = sides.adopting(payment.reference).find(({ operation }) => !isClosed(operation));
  if (adopting !== undefined)
    return `The operation "${adopting.operation.operation_id}" is to adopt it: cancel that one, and it gives the money back.`;
  const named = payment.operation_id === null ? null : sides.named(payment.operation_id);
  if (named === null || named.operation.account !== account || !mayStillTake(named.operation)) return null;
  return `The operation "${named.operation.operation_id}" has no living payment and may still take this one: let it adopt the payment, or cancel that operation first.`;
}

/** Nothing is recorded that it took instead: a creation may be in doubt, or a person may let it adopt. */
const mayStillTake = (operation: Operation): boolean =>
  !isClosed(operation) &&
  (operation.provider_reference === null ||
    (operation.wish.cancellation === null && operation.facts.payment.state === 'canceled'));
