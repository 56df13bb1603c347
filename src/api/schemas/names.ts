/** Closed sets of words as schemas need them: non-empty lists. */
import { REASONS, type Reason } from '../../operation/reason.js';

export const REASON_NAMES = Object.keys(REASONS) as [Reason, ...Reason[]];
