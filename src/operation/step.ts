/** The closed set of effects, and what nextStep may decide. */
import type { Reason } from './reason.js';
import type { Line } from './spec.js';

/** Amounts in ISO 4217 minor units. `target` identifies the effect together with the name (see attempt.ts). */
export type PaymentStep =
  | {
      readonly name: 'create_payment';
      readonly target: string;
      readonly operation_id: string;
      readonly amount: number;
      readonly currency: string;
      readonly capture: 'automatic' | 'manual';
      readonly payment_method: string | null;
      readonly customer: string | null;
      /** Methods that redirect are possible only with one. */
      readonly return_url: string | null;
    }
  | {
      /** Before the first confirmation only; members that do not change are absent. */
      readonly name: 'update_payment';
      readonly target: string;
      readonly reference: string;
      readonly amount?: number;
      readonly currency: string;
      readonly capture?: 'automatic' | 'manual';
      readonly payment_method?: string;
      readonly customer?: string;
    }
  | {
      readonly name: 'confirm_payment';
      readonly target: string;
      readonly reference: string;
      /** Which of the customer's tries it is, from 1. */
      readonly confirmation: number;
      /** What the payment will ask for, to compare with the answer. */
      readonly amount: number;
      readonly currency: string;
      /** Only when it differs from the one that the payment carries. */
      readonly payment_method: string | null;
      readonly return_url: string | null;
      readonly off_session: boolean;
    }
  | {
      readonly name: 'capture_payment';
      readonly target: string;
      readonly reference: string;
      readonly amount: number;
      readonly currency: string;
      /** The whole authorization: no amount needs to be sent. */
      readonly whole: boolean;
    }
  | { readonly name: 'cancel_payment'; readonly target: string; readonly reference: string }
  | {
      readonly name: 'create_refund';
      readonly target: string;
      readonly reference: string;
      /** Null: the payment names no operation. */
      readonly operation_id: string | null;
      readonly refund_id: string;
      readonly amount: number;
      readonly currency: string;
    };

export type InventoryStep =
  | { readonly name: 'reserve_inventory'; readonly target: string; readonly lines: readonly Line[] }
  | { readonly name: 'commit_inventory'; readonly target: string }
  | { readonly name: 'release_inventory'; readonly target: string };

export type Step = PaymentStep | InventoryStep;

/** What can fail beside a step: one of the two readings that a pass begins with. */
export type Reader = 'observe_payment' | 'observe_inventory';

const OF_INVENTORY: ReadonlySet<Step['name'] | Reader> = new Set<InventoryStep['name'] | Reader>([
  'observe_inventory',
  'reserve_inventory',
  'commit_inventory',
  'release_inventory',
]);
export const isOfInventory = (name: Step['name'] | Reader): boolean => OF_INVENTORY.has(name);
export const isInventoryStep = (step: Step): step is InventoryStep => isOfInventory(step.name);
export const isReading = (name: Step['name'] | Reader): name is Reader =>
  name === 'observe_payment' || name === 'observe_inventory';

/** What is missing, and whether it can be supplied now. */
export type Decision =
  /** Wanted and seen agree. */
  | { readonly kind: 'agreed' }
  /** One effect would bring them closer. */
  | { readonly kind: 'step'; readonly step: Step; readonly reason: Reason }
  /** Somebody or something else moves next: the customer, the provider, time. */
  | { readonly kind: 'wait'; readonly reason: Reason }
  /** Nothing may be done by itself. */
  | { readonly kind: 'person'; readonly reason: Reason; readonly message: string };

export const step = (reason: Reason, effect: Step): Decision => ({ kind: 'step', step: effect, reason });
export const wait = (reason: Reason): Decision => ({ kind: 'wait', reason });
export const person = (reason: Reason, message: string): Decision => ({ kind: 'person', reason, message });
export const AGREED: Decision = { kind: 'agreed' };
