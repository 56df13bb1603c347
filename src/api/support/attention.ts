/** The counts of the attention queue from its groups; pure. */
import { REASON_NAMES } from '../schemas/names.js';
import type { AttentionOut } from '../schemas/triage.js';
import { AGE_BANDS, type AttentionGroup, type AwaitedApproval } from '../../store/triage-store.js';

type Groups = readonly AttentionGroup[];

export function toAttentionOut(groups: Groups, at: string): Omit<AttentionOut, 'approvals'> {
  const open = groups.filter(({ snoozed }) => !snoozed);
  const known = open.filter(({ reason }) => (REASON_NAMES as readonly string[]).includes(reason));
  return {
    as_of: at,
    total: count(open),
    snoozed: count(groups) - count(open),
    unassigned: count(open.filter(({ assignee }) => assignee === null)),
    money_at_stake: money(open),
    by_reason: split(known, ({ reason }) => reason).map(([reason, some]) => ({
      reason: reason as AttentionOut['by_reason'][number]['reason'],
      count: count(some),
      oldest: oldest(some),
      money_at_stake: money(some),
    })),
    by_account: split(open, ({ account }) => account).map(([account, some]) => ({
      account,
      count: count(some),
      oldest: oldest(some),
      money_at_stake: money(some),
    })),
    by_age: AGE_BANDS.map((age) => {
      const some = open.filter((group) => group.age === age);
      return { age, count: count(some), money_at_stake: money(some) };
    }),
    by_assignee: split(
      open.filter(({ assignee }) => assignee !== null),
      ({ assignee }) => assignee ?? '',
    ).map(([assignee, some]) => ({ assignee, count: count(some), oldest: oldest(some) })),
  };
}

const APPROVE: { readonly [About in AwaitedApproval['about']]: (id: string, preview: string) => string } = {
  operation: (id, preview) => `/v1/operations/${encodeURIComponent(id)}/commands/${preview}/approval`,
  bulk: (id) => `/v1/bulk-commands/${id}/approval`,
  finding: (id, preview) => `/v1/findings/${id}/commands/${preview}/approval`,
};

export const toApproval = ({
  preview_id,
  ...waiting
}: AwaitedApproval): AttentionOut['approvals'][number] => ({
  ...waiting,
  approve: APPROVE[waiting.about](waiting.id, preview_id),
});

const count = (groups: Groups): number => groups.reduce((sum, group) => sum + group.count, 0);

const money = (groups: Groups): Record<string, number> =>
  groups.reduce<Record<string, number>>(
    (sums, { currency, amount }) => ({ ...sums, [currency]: (sums[currency] ?? 0) + amount }),
    {},
  );

const oldest = (groups: Groups): string =>
  groups.map((group) => group.oldest).reduce((first, other) => (other < first ? other : first));

/** The largest first. */
const split = (groups: Groups, keyOf: (group: AttentionGroup) => string): [string, Groups][] =>
  [...new Set(groups.map(keyOf))]
    .map((key): [string, Groups] => [key, groups.filter((group) => keyOf(group) === key)])
    .sort(([a, some], [b, others]) => count(others) - count(some) || (a < b ? -1 : 1));
