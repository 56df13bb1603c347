/**
 * The effects of the loop, each with an order that makes it the first step of its pass: then every point around it can
 * be brought about by itself. In the middle of a pass the record of one step and the intent of the next are one write.
 */
import type { StepName } from '../../src/operation/attempt.js';
import { CHECKOUT_KEY, type Client } from './product.js';
import type { LedgerEntry, SandboxControl } from './sandbox-control.js';

export interface Stage {
  /** Where the API listens. */
  readonly url: string;
  readonly client: Client;
  readonly control: SandboxControl;
}

export interface StepCase {
  readonly step: StepName;
  /** The sandbox's name for the request. */
  readonly route: string;
  /** Brings an order to where `trigger` makes the step the next one. */
  prepare(stage: Stage, id: string): Promise<void>;
  trigger(stage: Stage, id: string): Promise<unknown>;
  /** Whether the ledger shows the effect. */
  readonly effective: (ledger: LedgerEntry) => boolean;
  /** The step that the same pass takes afterwards; null: the order rests. */
  readonly next: { readonly step: StepName; readonly route: string } | null;
  /** How it must come out, wherever a worker was lost. */
  readonly end: { readonly phase: string; readonly ledger: Readonly<Record<string, unknown>> };
}

const PRICE = 12_900;
const ONCE = { creates: 1, confirms: 1, captures: 0, refunds: 0, voids: 0 };
const SOLD = { reserved: 1, committed: 1, released: 0 };
const GIVEN_BACK = { state: 'released', committed: 0, released: 1 };

/** Waits for a phase in which nothing moves by itself. */
export async function rests(
  { client }: Stage,
  id: string,
  phase: string,
  spec: Record<string, unknown>,
): Promise<void> {
  await accepted(() => client.create(id, spec));
  const { body } = await client.get(id, '?wait=30');
  if (body.status.phase !== phase) throw new Error(`${id} is ${body.status.phase}, not ${phase}`);
}

/** Asks again after a 503, as every caller may. */
export async function accepted(ask: () => Promise<{ status: number; body: unknown }>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const { status, body } = await ask();
    if (status < 300) return;
    if (status !== 503 || tries === 5) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  }
}

export const post = ({ client }: Stage, id: string, action: string, body?: unknown): Promise<void> =>
  accepted(() => client.call('POST', `/v1/operations/${id}/${action}`, body));

/** Changes the spec, whatever version it has. */
export async function patch({ url }: Stage, id: string, change: Record<string, unknown>): Promise<void> {
  const response = await fetch(`${url}/v1/operations/${id}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${CHECKOUT_KEY}`, 'content-type': 'application/json', 'if-match': '*' },
    body: JSON.stringify(change),
  });
  if (!response.ok) throw new Error(`the patch was answered ${response.status}: ${await response.text()}`);
}

export const MANUAL = { payment: { capture: 'manual' } };
export const DECLINED = { payment: { payment_method: 'pm_card_chargeDeclined' } };
const nothing = (): Promise<void> => Promise.resolve();

export const STEP_CASES: readonly StepCase[] = [
  {
    step: 'reserve_inventory',
    route: 'reservations.put',
    prepare: nothing,
    trigger: ({ client }, id) => accepted(() => client.create(id)),
    effective: ({ stock }) => stock.reserved > 0,
    next: { step: 'create_payment', route: 'payment_intents.create' },
    end: { phase: 'fulfilled', ledger: { captured: PRICE, refunded: 0, effects: ONCE, stock: SOLD } },
  },
  {
    step: 'create_payment',
    route: 'payment_intents.create',
    prepare: nothing,
    trigger: ({ client }, id) => accepted(() => client.create(id, { lines: [] })),
    effective: ({ intents }) => intents.length > 0,
    next: { step: 'confirm_payment', route: 'payment_intents.confirm' },
    end: { phase: 'fulfilled', ledger: { captured: PRICE, refunded: 0, effects: ONCE } },
  },
  {
    step: 'update_payment',
    route: 'payment_intents.update',
    prepare: (stage, id) => rests(stage, id, 'payment_failed', DECLINED),
    trigger: (stage, id) => patch(stage, id, { amount: { value: 9_900 } }),
    effective: ({ intents }) => intents[0]?.amount === 9_900,
    next: null,
    end: {
      phase: 'payment_failed',
      ledger: { captured: 0, effects: ONCE, stock: { state: 'reserved', reserved: 1 } },
    },
  },
  {
    step: 'confirm_payment',
    route: 'payment_intents.confirm',
    prepare: (stage, id) => rests(stage, id, 'payment_failed', DECLINED),
    trigger: (stage, id) => post(stage, id, 'payment', { payment_method: 'pm_card_visa' }),
    effective: ({ captured }) => captured > 0,
    next: { step: 'commit_inventory', route: 'reservations.commit' },
    end: {
      phase: 'fulfilled',
      ledger: { captured: PRICE, refunded: 0, effects: { ...ONCE, confirms: 2 }, stock: SOLD },
    },
  },
  {
    step: 'capture_payment',
    route: 'payment_intents.capture',
    prepare: (stage, id) => rests(stage, id, 'authorized', MANUAL),
    trigger: (stage, id) => post(stage, id, 'capture'),
    effective: ({ captured }) => captured > 0,
    next: { step: 'commit_inventory', route: 'reservations.commit' },
    end: {
      phase: 'fulfilled',
      ledger: { captured: PRICE, refunded: 0, effects: { ...ONCE, captures: 1 }, stock: SOLD },
    },
  },
  {
    step: 'commit_inventory',
    route: 'reservations.commit',
    async prepare(stage, id) {
      await rests(stage, id, 'authorized', MANUAL);
      await stage.control.dashboard('capture', { operation_id: id });
    },
    trigger: (stage, id) => post(stage, id, 'capture'),
    effective: ({ stock }) => stock.committed > 0,
    next: null,
    end: { phase: 'fulfilled', ledger: { captured: PRICE, refunded: 0, effects: ONCE, stock: SOLD } },
  },
  {
    step: 'create_refund',
    route: 'refunds.create',
    prepare: (stage, id) => rests(stage, id, 'fulfilled', {}),
    // A part is the sharp case: the provider would take two of them.
    trigger: (stage, id) => post(stage, id, 'refunds', { refund_id: 'r1', amount: 2_500 }),
    effective: ({ refunded }) => refunded > 0,
    next: null,
    end: {
      phase: 'fulfilled',
      ledger: { captured: PRICE, refunded: 2_500, effects: { ...ONCE, refunds: 1 }, stock: SOLD },
    },
  },
  {
    step: 'cancel_payment',
    route: 'payment_intents.cancel',
    prepare: (stage, id) => rests(stage, id, 'authorized', MANUAL),
    trigger: (stage, id) => post(stage, id, 'cancel'),
    effective: ({ effects }) => effects.voids > 0,
    next: { step: 'release_inventory', route: 'reservations.delete' },
    end: { phase: 'cancelled', ledger: { captured: 0, effects: { ...ONCE, voids: 1 }, stock: GIVEN_BACK } },
  },
  {
    step: 'release_inventory',
    route: 'reservations.delete',
    async prepare(stage, id) {
      await rests(stage, id, 'authorized', MANUAL);
      await stage.control.dashboard('cancel', { operation_id: id });
    },
    trigger: (stage, id) => post(stage, id, 'cancel'),
    effective: ({ stock }) => stock.released > 0,
    next: null,
    end: { phase: 'cancelled', ledger: { captured: 0, effects: ONCE, stock: GIVEN_BACK } },
  },
];
