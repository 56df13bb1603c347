/** What a caller does about each problem; total. */
import type { ProblemCode } from './problem.js';

export const PROBLEM_GUIDANCE: Readonly<Record<ProblemCode, string>> = {
  invalid_request: 'Correct what `errors` points to. Nothing was stored.',
  signature_invalid:
    'Check the webhook secret of this endpoint; nothing was stored, and the provider sends it again.',
  unauthorized: 'Send a valid key.',
  scope_missing: 'Use a key with the scope that is named.',
  not_found: 'Check the id: it is compared character by character.',
  method_not_allowed: 'Use one of the methods in `Allow`.',
  request_timeout: 'Send it again; nothing was stored.',
  operation_conflict:
    'Read the operation that is named. The order has one already, or the key was used for another spec: never create a second one for the same purchase.',
  refund_conflict: 'Another refund has this id. Read status.refunds; use a new id only for a further refund.',
  payment_alive: 'Wait until the payment that lives has ended; a second one could be paid as well.',
  command_not_available: '`detail` says why. Read the operation, or the finding, and decide again.',
  second_person_needed: 'Let a second person with the scope support_lead approve it.',
  preview_expired: 'Preview again: what you saw may be old.',
  operation_changed:
    '`changes` says what is not as it was in the preview. Preview again, and decide on that.',
  version_mismatch: 'Read the operation and decide again on what it is now.',
  payload_too_large: 'Send less.',
  uri_too_long: 'Send a shorter address.',
  unsupported_media_type: 'Send JSON in UTF-8, uncompressed.',
  amount_not_refundable: '`detail` says how much can be refunded. No call was made to the provider.',
  amount_not_capturable: '`detail` says how much can be captured.',
  spec_member_immutable: 'What `errors` points to cannot change any more.',
  precondition_required: 'Send If-Match with the ETag that you read, or *.',
  headers_too_large: 'Send fewer headers.',
  internal: 'Send it again: every request is idempotent. It is logged under request_id.',
  unavailable: 'Send it again after Retry-After. It may have been stored, and is then not stored twice.',
  webhooks_not_configured: 'Configure the webhook secret of the account; the provider sends it again.',
};
