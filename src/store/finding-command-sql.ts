/** How commands on findings read: what the operation carries out is told by the operation's own command. */

/** A command of a finding `k`, with that of the operation `c` where it delegates. */
export const FINDING_COMMANDS = `finding_commands k LEFT JOIN commands c ON c.preview_id = k.operation_command`;

/** One row a command, whoever carries it out. */
export const DECISION = `coalesce(c.state, k.state) AS state, coalesce(c.approval_needed, k.approval_needed) AS approval_needed,
  coalesce(c.expires_at, k.expires_at) AS expires_at, coalesce(c.expires_at, k.expires_at) <= now() AS expired,
  coalesce(c.reason, k.reason) AS reason, coalesce(c.requested_by, k.requested_by) AS requested_by,
  coalesce(c.requested_at, k.requested_at) AS requested_at, coalesce(c.approved_by, k.approved_by) AS approved_by,
  coalesce(c.approved_at, k.approved_at) AS approved_at, coalesce(c.carried_out_at, k.carried_out_at) AS carried_out_at`;

export const LAST_COMMAND = `k.preview_id, k.command, coalesce(c.state, k.state) AS state, coalesce(c.reason, k.reason) AS reason,
  coalesce(c.requested_by, k.requested_by) AS requested_by, coalesce(c.requested_at, k.requested_at) AS requested_at,
  coalesce(c.approved_by, k.approved_by) AS approved_by, k.waits_for, coalesce(c.outcome, k.outcome)->>'summary' AS outcome`;

/** A person decided to give the payment of the account back, and that has not ended. */
export const refundAtWork = (account: string, reference: string): string =>
  `SELECT 1 FROM finding_commands WHERE account = ${account} AND reference = ${reference} AND command = 'refund_stray' AND state = 'accepted'`;
export const REFUND_AT_WORK = refundAtWork('$1', '$2');
