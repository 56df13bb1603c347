/** Closed sets of words as schemas need them: non-empty lists. */
import { REASONS, type Reason } from '../../operation/reason.js';

export const REASON_NAMES = Object.keys(REASONS) as [Reason, ...Reason[]];

/** What a person can ask for. There is no "edit state" and no "new key". */
export const COMMAND_NAMES = [
  'check_provider',
  'retry',
  'retry_refund',
  'reauthorize',
  'adopt_payment',
  'record_outcome',
  'release_finalizer',
  'pause',
  'resume',
  'give_up',
] as const;
