/** One look at the payment, for the customer: nothing of it is recorded, so the secret stays where it belongs. */
import { absorbObservation } from '../operation/absorb.js';
import { NO_PAYMENT, whyCustomerCannotAct } from '../operation/customer.js';
import type { PaymentReading, Reading } from '../operation/observation.js';
import type { Operation } from '../operation/operation.js';
import type { CustomerAccess } from '../payment/port.js';
import type { OperationStore } from '../store/operation-store.js';
import type { ClientSecret, ClientSecrets } from './client-secret.js';
import type { LoopDependencies } from './ports.js';

type Eyes = Pick<LoopDependencies, 'accounts' | 'clock' | 'observer' | 'policy'>;

export class ClientSecretReader implements ClientSecrets {
  readonly #store: OperationStore;
  readonly #eyes: Eyes;

  constructor(store: OperationStore, eyes: Eyes) {
    this.#store = store;
    this.#eyes = eyes;
  }

  async read(operationId: string): Promise<ClientSecret | null> {
    const record = await this.#store.find(operationId);
    if (record === null) return null;
    if (record.provider_reference === null) return { kind: 'not_available', why: NO_PAYMENT };
    const access = await this.#look(record, record.provider_reference);
    if (access === null) return { kind: 'unreadable' };
    const { payment, client_secret } = access;
    // The customer may have acted since the last pass, so it is judged by what was read now.
    const now = this.#eyes.clock.now();
    const why = whyCustomerCannotAct(asSeen(record, payment, now), now, this.#eyes.policy);
    if (why !== null) return { kind: 'not_available', why };
    return client_secret === null
      ? { kind: 'not_available', why: 'The provider shows no client secret for this payment.' }
      : { kind: 'shown', client_secret };
  }

  /** Null: it could not be seen. A reading of ours tells about the account like any other. */
  async #look(operation: Operation, reference: string): Promise<CustomerAccess | null> {
    const { accounts, observer } = this.#eyes;
    const { account, operation_id } = operation;
    const provider = accounts.provider(account);
    if (provider === undefined || (await accounts.admit(account, operation_id)) !== null) return null;
    const access = await provider.clientSecret(reference);
    observer.request(account, 'observe_payment', access.kind);
    await accounts.read(account, operation_id, withoutSecret(access));
    return access.kind === 'present' ? access.value : null;
  }
}

const withoutSecret = (access: Reading<CustomerAccess>): Reading<PaymentReading> =>
  access.kind === 'present' ? { kind: 'present', value: access.value.payment } : access;

function asSeen(operation: Operation, payment: PaymentReading, now: Date): Operation {
  const observation = {
    payment: { kind: 'present', value: payment },
    inventory: { kind: 'absent' },
    at: now.toISOString(),
  } as const;
  return { ...operation, facts: absorbObservation(operation, observation).facts };
}
