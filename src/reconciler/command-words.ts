/** What the loop would do next, as a person reads it before confirming. */
import { chooseKey } from '../operation/attempt.js';
import { firstOrdinal } from '../operation/decisions.js';
import { formatMoney } from '../operation/money.js';
import type { Journaled } from '../operation/operation.js';
import { REASONS } from '../operation/reason.js';
import type { Decision } from '../operation/step.js';

export function inWords(next: Decision, { operation: { wish }, attempts }: Journaled, now: Date): string {
  switch (next.kind) {
    case 'agreed':
      return 'Then all is as wanted.';
    case 'wait':
      return `Then it waits: ${REASONS[next.reason].meaning}`;
    case 'person':
      return `It still needs a person: ${next.message}`;
    case 'step': {
      const { step } = next;
      const amount =
        'amount' in step && step.amount !== undefined
          ? ` of ${formatMoney(step.amount, wish.spec.amount.currency)}`
          : '';
      const key = chooseKey(attempts, step.name, step.target, now, firstOrdinal(wish, step));
      const again =
        key.kind === 'resend' ? 'again, under the same key, so that it takes effect once' : 'under a new key';
      return `Then ${step.name}${amount} is sent ${again}. ${REASONS[next.reason].meaning}`;
    }
  }
}
