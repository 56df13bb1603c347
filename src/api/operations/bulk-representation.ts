/** A bulk command as the API shows it. */
import { isFailed, totalsOf } from '../../operation/bulk.js';
import type { BulkRecord, BulkRow } from '../../store/bulk-store.js';
import type { BulkOut, BulkPreviewOut, ROW_STATES } from '../schemas/bulk.js';

const frozenOf = ({ bulk_id, rows, excluded, approval_needed, expires_at }: BulkRecord) => ({
  bulk_id,
  excluded: excluded.map((one) => ({ ...one })),
  totals: totalsOf(rows),
  approval_needed,
  expires_at,
});
const previewedOf = ({ operation_id, preview_id, effects, amount, currency }: BulkRow) => ({
  operation_id,
  preview_id,
  effects: [...effects],
  amount,
  currency,
});

export const toBulkPreviewOut = (bulk: BulkRecord): BulkPreviewOut => ({
  ...frozenOf(bulk),
  rows: bulk.rows.map(previewedOf),
});

export function toBulkOut(bulk: BulkRecord): BulkOut {
  const rows = bulk.rows.map((row) => rowOut(bulk, row));
  const count = (state: (typeof ROW_STATES)[number]): number =>
    rows.filter((row) => row.state === state).length;
  return {
    ...frozenOf(bulk),
    command: bulk.command,
    parameters: { ...bulk.parameters },
    state: bulk.state,
    stopped: bulk.stopped,
    rows,
    counts: {
      waiting: count('waiting'),
      done: count('done'),
      refused: count('refused'),
      not_run: count('not_run'),
      failed: rows.filter(({ failed }) => failed).length,
    },
    previewed_by: bulk.previewed_by,
    reason: bulk.reason,
    stop_after_failures: bulk.stop_after_failures,
    requested_by: bulk.requested_by,
    requested_at: bulk.requested_at,
    approved_by: bulk.approved_by,
    approved_at: bulk.approved_at,
    approval: bulk.approval,
    ended_at: bulk.ended_at,
  };
}

type RowOut = BulkOut['rows'][number];

function rowOut(bulk: BulkRecord, row: BulkRow): RowOut {
  const state = stateOf(bulk, row);
  const refused = row.refused !== null;
  return {
    ...previewedOf(row),
    state,
    failed: isFailed(bulk.command, { ...row, refused, carried_out: row.state !== 'previewed' }),
    outcome: row.outcome as RowOut['outcome'],
    code: row.refused?.problem ?? null,
    why: row.refused?.why ?? (state === 'not_run' ? whyNotRun(bulk) : null),
    changes: (row.refused?.changes ?? []).map((change) => ({ ...change })),
    ...(row.evidence === null ? {} : { evidence: row.evidence as NonNullable<RowOut['evidence']> }),
  };
}

function stateOf({ state }: BulkRecord, row: BulkRow): (typeof ROW_STATES)[number] {
  if (row.state !== 'previewed') return 'done';
  if (row.refused !== null) return 'refused';
  return state === 'ended' ? 'not_run' : 'waiting';
}

const whyNotRun = ({ stopped, stop_after_failures }: BulkRecord): string =>
  stopped === 'failures'
    ? `Not begun: ${stop_after_failures ?? 0} of the others were refused or failed.`
    : 'Not begun: its time was over.';
