/** The terms of a payment: those that are wanted, and whether it was made on others. */
import type { Operation, PaymentFacts, Wish } from './operation.js';
import type { Spec } from './spec.js';

/** `automatic` at the provider saves a call; it is right only when the whole is wanted at once. */
export const captureMode = (spec: Spec): 'automatic' | 'manual' =>
  spec.payment.capture === 'automatic' && spec.desired === 'fulfilled' ? 'automatic' : 'manual';

export const amountDiffers = ({ amount }: PaymentFacts, spec: Spec): boolean =>
  amount !== null && amount !== spec.amount.value;

/** Taking where holding is wanted must not be; holding costs a call of ours, which only a confirmation of ours is worth. */
export function captureDiffers({ capture, answered_confirmation }: PaymentFacts, wish: Wish): boolean {
  if (capture === null || capture === captureMode(wish.spec)) return false;
  return (
    capture === 'automatic' ||
    (wish.spec.payment.reference === null && wish.confirmation > answered_confirmation)
  );
}

/** Once a payment is somebody's the provider keeps it so, and the front end says whose its payments are. */
export const customerIsMissing = ({ customer }: PaymentFacts, { payment }: Spec): boolean =>
  customer === null && payment.customer !== null && payment.reference === null;

/** The payment was made on other terms than are wanted now. */
export const isOutdated = (payment: PaymentFacts, wish: Wish): boolean =>
  amountDiffers(payment, wish.spec) || captureDiffers(payment, wish) || customerIsMissing(payment, wish.spec);

/** Of the update to what is wanted now. */
export const updateTarget = (reference: string, { generation }: Operation): string =>
  `${reference}/${generation}`;

export const confirmationOf = (target: string): number => Number(target.split('/').at(-1));

/** What is to be captured in the end, in minor units. */
export const wantedCapture = (operation: Operation): number =>
  Math.min(operation.wish.spec.payment.capture_amount ?? Infinity, operation.wish.spec.amount.value);
