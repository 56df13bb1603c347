/** A comparison in which one payment, or its record, that cannot be judged keeps none of the others from being compared. Pure. */
import { compare, type Comparison, type Rules } from './compare.js';
import type { RecordedSide, SeenPayment } from './finding.js';
import { added } from './rounds.js';

export interface EachCompared extends Comparison {
  /** What nothing can be said of, with what went wrong; neither suspected nor cleared. */
  readonly unjudged: readonly { readonly reference: string; readonly error: string }[];
}

export function compareEach(
  payments: readonly SeenPayment[],
  records: readonly RecordedSide[],
  rules: Rules,
): EachCompared {
  try {
    return { ...compare(payments, records, rules), unjudged: [] };
  } catch (error) {
    const [seen] = payments;
    if (seen !== undefined && payments.length === 1) {
      const unjudged = [
        { reference: seen.payment.reference, error: error instanceof Error ? error.name : typeof error },
      ];
      return { drafts: [], totals: {}, unjudged };
    }
    return payments
      .map((one) =>
        compareEach(
          [one],
          records.filter((record) => concerns(record, one)),
          rules,
        ),
      )
      .reduce((sum, one) => ({
        drafts: [...sum.drafts, ...one.drafts],
        totals: added(sum.totals, one.totals),
        unjudged: [...sum.unjudged, ...one.unjudged],
      }));
  }
}

/** By what a record is found for a payment; of a record that may be anything. */
const concerns = ({ operation }: RecordedSide, { payment }: SeenPayment): boolean => {
  const spec = operation.wish.spec as Partial<typeof operation.wish.spec> | null;
  return (
    operation.provider_reference === payment.reference ||
    spec?.payment?.reference === payment.reference ||
    operation.operation_id === payment.operation_id
  );
};
