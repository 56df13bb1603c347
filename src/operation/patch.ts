/** What a merge patch of the spec does to the wish: which member may change when. Pure. */
import {
  capturable,
  givenUp,
  refused,
  requestCancellation,
  requestRefund,
  sameSpec,
  UNCHANGED,
  type Asking,
  type Change,
  type Refused,
} from './change.js';
import { mergePatch, sameJson } from './json.js';
import type { PaymentState } from './observation.js';
import type { Operation, Wish } from './operation.js';
import { inputProblems, type InputProblem } from './pointer.js';
import { Spec } from './spec.js';
import { specProblems } from './spec-rules.js';

/** Applies an RFC 7396 patch to the stored spec; the result is judged as a whole. Pointers lead into the patch. */
export function patchSpec(operation: Operation, patch: unknown, asking: Asking): Change {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) {
    return invalid([{ pointer: '', detail: 'must be an object' }]);
  }
  const before = operation.wish.spec;
  const parsed = Spec.safeParse(mergePatch(before, patch));
  if (!parsed.success) return invalid(inputProblems(parsed.error.issues));
  const after = withGoalOfCapture(before, parsed.data);
  if (sameSpec(before, after)) return UNCHANGED;
  const problems = specProblems(after);
  if (problems.length > 0) return invalid(problems);
  return (
    immutable(operation, after, asking) ??
    captureRefused(operation, after, asking) ??
    (after.desired === 'cancelled'
      ? requestCancellation(operation, null, asking)
      : appended(operation, after))
  );
}

/** Asking for a capture is asking for more than the authorization, by whichever route: see requestCapture. */
function withGoalOfCapture(before: Spec, after: Spec): Spec {
  const asked = before.payment.capture_amount === null && after.payment.capture_amount !== null;
  return asked && after.desired === 'authorized' ? { ...after, desired: 'fulfilled' } : after;
}

const invalid = (problems: readonly InputProblem[]): Refused =>
  refused('invalid_request', 'The spec would not be valid after this patch.', problems);

/** Every member of a spec, so that a new one cannot be forgotten here. */
type Leaf =
  | Exclude<keyof Spec, 'payment' | 'amount'>
  | `payment.${keyof Spec['payment']}`
  | `amount.${keyof Spec['amount']}`;

/** Null: may change now. Otherwise why it may not. */
type Rule = (operation: Operation, after: Spec) => string | null;

const free: Rule = () => null;
const fixed: Rule = () => 'cannot change';

/** The money is taken, or may be at any moment, on the terms that were sent. */
function moneyMayBeTaken(operation: Operation): boolean {
  const { payment, unresolved } = operation.facts;
  if (payment.captured > 0 || payment.state === 'unknown' || unresolved?.step === 'capture_payment')
    return true;
  // A confirmation takes the money by itself only where the payment was made so.
  const confirming = payment.state === 'processing' || unresolved?.step === 'confirm_payment';
  return confirming && payment.capture !== 'manual';
}
const untilMoneyIsTaken: Rule = (operation) =>
  moneyMayBeTaken(operation) ? 'cannot change once the money is, or may have been, captured' : null;

function paymentMayExist({ provider_reference, wish, facts }: Operation): boolean {
  return (
    provider_reference !== null ||
    wish.spec.payment.reference !== null ||
    facts.payment.state !== 'none' ||
    facts.unresolved?.step === 'create_payment'
  );
}

/** Providers give a payment to a customer once, and before it is paid. */
const untilItIsSomebodys: Rule = (operation) => {
  if (!paymentMayExist(operation)) return null;
  const { wish, facts } = operation;
  const { customer, reference } = wish.spec.payment;
  if (reference !== null) return 'cannot change: the front end made this payment for whom it is';
  if (customer !== null || (facts.payment.customer ?? null) !== null)
    return 'cannot change once the payment has a customer';
  return UNPAID.has(facts.payment.state) && facts.unresolved?.step !== 'confirm_payment'
    ? null
    : 'cannot change once the payment is, or may be, confirmed';
};
const UNPAID: ReadonlySet<PaymentState> = new Set(['none', 'created', 'failed', 'awaiting_customer']);

const untilStockIsCommitted: Rule = ({ facts: { inventory, unresolved } }, after) => {
  if (
    inventory.state === 'committed' ||
    inventory.state === 'released' ||
    unresolved?.step === 'commit_inventory'
  ) {
    return 'cannot change once the stock is, or may be, committed';
  }
  // A reservation cannot be for nothing, and giving it up is final: the order could never have lines again.
  return inventory.requested && after.lines.length === 0
    ? 'cannot be emptied once stock was asked for; cancel the order instead'
    : null;
};

const appendOnly: Rule = ({ wish }, after) =>
  sameJson(after.refunds.slice(0, wish.spec.refunds.length), wish.spec.refunds)
    ? null
    : 'can only be appended to: refunds that were asked for stay as they are';

const RULES: Readonly<Record<Leaf, Rule>> = {
  // Taking a payment back to "authorized only" is possible as long as nothing can have been captured.
  desired: (operation, after) =>
    after.desired === 'authorized' ? untilMoneyIsTaken(operation, after) : null,
  order_id: fixed,
  'amount.value': untilMoneyIsTaken,
  'amount.currency': (operation) =>
    paymentMayExist(operation) ? 'cannot change once a payment exists' : null,
  'payment.provider': fixed,
  'payment.capture': untilMoneyIsTaken,
  'payment.payment_method': free,
  'payment.customer': untilItIsSomebodys,
  'payment.reference': fixed,
  // Has rules of its own, see captureRefused.
  'payment.capture_amount': free,
  'payment.return_url': free,
  'payment.off_session': fixed,
  lines: untilStockIsCommitted,
  refunds: appendOnly,
  payment_deadline: free,
};

const valueAt = (spec: Spec, leaf: Leaf): unknown =>
  leaf.split('.').reduce<unknown>((value, member) => (value as Record<string, unknown>)[member], spec);

const pointerTo = (leaf: Leaf): string => `/${leaf.replace('.', '/')}`;

function immutable(operation: Operation, after: Spec, asking: Asking): Refused | null {
  const before = operation.wish.spec;
  const changed = (Object.keys(RULES) as Leaf[]).filter(
    (leaf) => !sameJson(valueAt(before, leaf), valueAt(after, leaf)),
  );
  const cancels = after.desired === 'cancelled' && before.desired !== 'cancelled';
  const gone = givenUp(operation, asking);
  const problems = changed.flatMap((leaf): InputProblem[] => {
    if (cancels)
      return leaf === 'desired'
        ? []
        : [{ pointer: pointerTo(leaf), detail: 'cannot change together with cancelling' }];
    const why = gone ?? RULES[leaf](operation, after);
    return why === null ? [] : [{ pointer: pointerTo(leaf), detail: why }];
  });
  return problems.length === 0
    ? null
    : refused('spec_member_immutable', gone ?? 'The spec cannot be changed like this now.', problems);
}

/** A capture that was asked for may be under way: it is neither withdrawn nor changed. */
function captureRefused(operation: Operation, after: Spec, asking: Asking): Refused | null {
  const before = operation.wish.spec.payment.capture_amount;
  const wanted = after.payment.capture_amount;
  if (wanted === before) return null;
  const pointer = '/payment/capture_amount';
  const refuse = (detail: string): Refused => refused('amount_not_capturable', detail, [{ pointer, detail }]);
  if (before !== null || wanted === null) return refuse('A capture that was asked for cannot be changed.');
  const limit = capturable(operation, after, asking);
  if (typeof limit === 'string') return refuse(limit);
  return wanted > limit ? refuse(`${wanted} is asked for, ${limit} can be captured (minor units).`) : null;
}

/** Takes the patch over: everything but the new refunds at once, then each of these under the rules of refunds. */
function appended(operation: Operation, after: Spec): Change {
  const { wish } = operation;
  let next: Wish = { ...wish, spec: { ...after, refunds: wish.spec.refunds } };
  for (const [index, request] of after.refunds.entries()) {
    if (index < wish.spec.refunds.length) continue;
    const change = requestRefund({ ...operation, wish: next }, request);
    const pointer = `/refunds/${index}`;
    if (change.kind === 'refused') return { ...change, pointers: [{ pointer, detail: change.detail }] };
    if (change.kind === 'unchanged') return invalid([{ pointer, detail: 'repeats a refund of the list' }]);
    next = change.wish;
  }
  const members = (Object.keys(RULES) as Leaf[]).filter(
    (leaf) => !sameJson(valueAt(wish.spec, leaf), valueAt(next.spec, leaf)),
  );
  return {
    kind: 'changed',
    wish: next,
    spec_changed: true,
    event: { type: 'spec_changed', message: `Changed: ${members.join(', ')}.`, data: { members } },
  };
}
