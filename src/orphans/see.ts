/** One payment as it is now, beside what is recorded: by the same rules as a page of a list, with its refunds one by one. */
import { compare } from '../findings/compare.js';
import type { Draft, RecordedSide, SeenPayment } from '../findings/finding.js';
import type { PaymentReading, Reading } from '../operation/observation.js';
import { OperationId } from '../operation/spec.js';
import type { PaymentProvider } from '../payment/port.js';
import type { DueLook } from '../store/finding-store.js';
import { FOR_SWEEP, type Sight } from './ports.js';

export interface Seen {
  readonly reading: Reading<PaymentReading>;
  /** All that is to be said of the payment; empty where it was not read. */
  readonly drafts: readonly Draft[];
  /** The operations that could have to do with it. */
  readonly records: readonly RecordedSide[];
}

export async function see(
  due: DueLook,
  account: string,
  provider: PaymentProvider,
  sight: Sight,
): Promise<Seen> {
  const { accounts, findings, observer, exclusive, grace_ms, log } = sight;
  const { reference } = due;
  const observed = await provider.observe({ reference, refunds: true });
  observer.request(account, 'observe_payment', observed.kind);
  const reading = await accounts.read(account, FOR_SWEEP, observed);
  if (reading.kind === 'unknown') {
    const { code } = reading.failure;
    log.warn({ account, payment: reference, code }, 'a suspected payment could not be read');
  }
  const named = reading.kind === 'present' ? reading.value.operation_id : null;
  const records = await findings.matching(
    account,
    [reference],
    named !== null && OperationId.safeParse(named).success ? [named] : [],
  );
  if (reading.kind !== 'present') return { reading, drafts: [], records };
  const seen: SeenPayment = {
    payment: reading.value,
    // Only lists tell when it was created; a payment that no list showed is an old one.
    created_at: due.created_at ?? new Date(0).toISOString(),
    refunded: null,
    terms: due.terms ?? {},
  };
  const rules = { account, exclusive: exclusive.has(account), grace_ms };
  return { reading, drafts: compare([seen], await findings.withCreates(records), rules).drafts, records };
}
