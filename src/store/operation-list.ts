/** The list of records, page by page, as people and callers ask for it. */
import { Brackets } from 'typeorm';
import { cursorOf } from './cursor.js';
import type { Database } from './database.js';
import { OrderOperationRow } from './entities.js';
import { toRecord } from './mapping.js';
import type { Listed } from './operation-store.js';
import type { ListFilter } from './record.js';
import { ASSIGNED_TO, SNOOZED } from './triage-store.js';

const CURSOR = cursorOf('o');

/** Newest first. Null for a cursor that was not given out by us. */
export async function listIn(database: Database, filter: ListFilter): Promise<Listed | null> {
  const before = filter.cursor === undefined ? null : CURSOR.read(filter.cursor);
  if (filter.cursor !== undefined && before === null) return null;
  const repository = await database.repository(OrderOperationRow);
  const query = repository
    .createQueryBuilder('o')
    .orderBy('o.id', 'DESC')
    .limit(filter.limit + 1);
  if (before !== null) query.andWhere('o.id < :before', { before });
  if (filter.phase !== undefined) query.andWhere('o.phase = :phase', { phase: filter.phase });
  if (filter.order_id !== undefined) query.andWhere('o.order_id = :order', { order: filter.order_id });
  if (filter.account !== undefined) query.andWhere('o.account = :account', { account: filter.account });
  if (filter.attention !== undefined) {
    query.andWhere(`o.attention_reason IS ${filter.attention ? 'NOT ' : ''}NULL`);
  }
  const snoozed = filter.snoozed ?? (filter.attention === true ? 'exclude' : 'include');
  if (snoozed !== 'include') query.andWhere(`${snoozed === 'only' ? '' : 'NOT '}${SNOOZED}`);
  if (filter.assignee !== undefined) query.andWhere(ASSIGNED_TO, { assignee: filter.assignee });
  if (filter.reason !== undefined) {
    const { reason } = filter;
    query.andWhere(
      new Brackets((either) => either.where('o.condition = :reason').orWhere('o.attention_reason = :reason')),
      { reason },
    );
  }
  const rows = await database.guarded(() => query.getMany());
  const page = rows.slice(0, filter.limit);
  const last = page.at(-1);
  return {
    items: page.map(toRecord),
    next_cursor: rows.length > filter.limit && last !== undefined ? CURSOR.write(last.id) : null,
  };
}
