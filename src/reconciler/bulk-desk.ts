/** Bulk commands: a list is looked at and frozen, confirmed or approved as a whole, and then carried out row by row. */
import { MOST_AT_ONCE, totalsOf } from '../operation/bulk.js';
import { needsLead } from '../operation/command.js';
import type { Command } from '../operation/command-rule.js';
import type { BulkRecord, BulkStore, Excluded } from '../store/bulk-store.js';
import { isAway } from '../store/database.js';
import { PREVIEW_MS, REQUEST_MS, type CommandDesk, type DeskOptions, type Draft } from './command-desk.js';
import { refusalOf, type Person, type Refused } from './commands.js';
import type { Log } from './log.js';

/** A proxy in between usually gives up after 60 s; the last readings begun may take as long as a provider that hangs. */
const LOOKING_MS = 30_000;
/** Each time somebody else decided in the same moment. */
const MOST_TRIES = 3;

export type BulkAnswer = { readonly kind: 'bulk'; readonly bulk: BulkRecord } | Refused;

export interface BulkCommands {
  /** Takes a fresh reading of each; writes nothing but the preview. `operationIds` are different ones. */
  preview(command: Command, operationIds: readonly string[], person: Person): Promise<BulkAnswer>;
  /** Once, however often it is asked; it is carried out after the answer. */
  confirm(bulkId: string, reason: string, stopAfterFailures: number, person: Person): Promise<BulkAnswer>;
  /** By another person than the one who confirmed. */
  approve(bulkId: string, reason: string | null, person: Person): Promise<BulkAnswer>;
  find(bulkId: string, evidence: boolean): Promise<BulkAnswer>;
}

export interface BulkDeskOptions extends Pick<DeskOptions, 'approval_amount'> {
  /** Told when there is something to carry out. */
  readonly begin: () => void;
  readonly log: Log;
  /** How long a preview goes on looking; see LOOKING_MS. */
  readonly looking_ms?: number;
}

export class BulkDesk implements BulkCommands {
  readonly #store: BulkStore;
  readonly #desk: Pick<CommandDesk, 'draft'>;
  readonly #options: BulkDeskOptions;

  constructor(store: BulkStore, desk: Pick<CommandDesk, 'draft'>, options: BulkDeskOptions) {
    this.#store = store;
    this.#desk = desk;
    this.#options = options;
  }

  async preview(command: Command, operationIds: readonly string[], person: Person): Promise<BulkAnswer> {
    if (needsLead(command.command) && !person.lead) return { kind: 'needs_lead', command: command.command };
    const end = performance.now() + (this.#options.looking_ms ?? LOOKING_MS);
    const looked = await eachOf(operationIds, MOST_AT_ONCE, (id) => this.#row(id, command, person, end));
    const rows = looked.filter((row): row is Draft => !('why' in row));
    const bulkId = await this.#store.preview({
      command: command.command,
      parameters: command.parameters,
      rows,
      excluded: looked.filter((row): row is Excluded => 'why' in row),
      approval_needed: totalsOf(rows).some(({ currency, amount }) => amount > this.#limit(currency)),
      previewed_by: person.name,
      lasts_ms: PREVIEW_MS,
    });
    return this.find(bulkId, false);
  }

  async confirm(
    bulkId: string,
    reason: string,
    stopAfterFailures: number,
    person: Person,
  ): Promise<BulkAnswer> {
    return this.#settle(bulkId, person, async (bulk) => {
      if (bulk.state === 'awaiting_approval' && bulk.expired) return { kind: 'expired' };
      if (bulk.state !== 'previewed') return { kind: 'bulk', bulk };
      if (bulk.expired) return { kind: 'expired' };
      if (bulk.rows.length === 0)
        return { kind: 'not_available', why: 'Nothing is left to do: every operation is excluded.' };
      const request = { reason, by: person, lead: person.lead, stop_after_failures: stopAfterFailures };
      return (await this.#store.request(bulkId, request, REQUEST_MS)) ? 'written' : 'again';
    });
  }

  async approve(bulkId: string, reason: string | null, person: Person): Promise<BulkAnswer> {
    return this.#settle(bulkId, person, async (bulk) => {
      if (!bulk.approval_needed)
        return { kind: 'not_available', why: 'This bulk command needs no second person.' };
      if (bulk.state === 'previewed')
        return { kind: 'not_available', why: 'Nobody has asked for it yet: it is a preview.' };
      if (bulk.requested_by === person.name) return { kind: 'needs_another_person' };
      if (bulk.state !== 'awaiting_approval') return { kind: 'bulk', bulk };
      if (bulk.expired) return { kind: 'expired' };
      return (await this.#store.approve(bulkId, person, reason, REQUEST_MS)) ? 'written' : 'again';
    });
  }

  async find(bulkId: string, evidence: boolean): Promise<BulkAnswer> {
    const bulk = await this.#store.find(bulkId, evidence);
    return bulk === null ? { kind: 'not_found' } : { kind: 'bulk', bulk };
  }

  /** `again`: somebody was faster. */
  async #settle(
    bulkId: string,
    person: Person,
    step: (bulk: BulkRecord) => Promise<BulkAnswer | 'written' | 'again'>,
  ): Promise<BulkAnswer> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const bulk = await this.#store.find(bulkId);
      if (bulk === null) return { kind: 'not_found' };
      if (needsLead(bulk.command) && !person.lead) return { kind: 'needs_lead', command: bulk.command };
      const answer = await step(bulk);
      if (answer === 'again') continue;
      const now = answer === 'written' ? await this.find(bulkId, false) : answer;
      // Also of one that was confirmed before: whoever was about to carry it out may be gone.
      if (now.kind === 'bulk' && now.bulk.state === 'running') this.#options.begin();
      return now;
    }
    return { kind: 'busy' };
  }

  /** `until`: on the clock of `performance`. */
  async #row(id: string, command: Command, person: Person, until: number): Promise<Draft | Excluded> {
    const excluded = (why: string): Excluded => ({ operation_id: id, why });
    const left = until - performance.now();
    const leave = left <= 0 ? null : await this.#store.leaveOf(id);
    if (leave?.out != null)
      return excluded(`The account ${leave.account} is out, and its orders wait for it: ${leave.out}`);
    const wait = leave?.wait_ms ?? 0;
    if (left <= wait)
      return excluded('There was no time left to look at it. Preview it in another bulk command.');
    if (wait > 0) {
      await new Promise((resolve) => setTimeout(resolve, wait));
      return this.#row(id, command, person, until);
    }
    try {
      const drafted = await this.#desk.draft(id, command, person);
      if (drafted.kind === 'draft') return drafted.draft;
      return excluded(drafted.kind === 'not_found' ? 'There is no such operation.' : refusalOf(drafted).why);
    } catch (error) {
      if (isAway(error)) throw error;
      // One record that cannot be worked with must not keep the others off the list.
      this.#options.log.error(
        { err: error, operation_id: id },
        'a row of a bulk command could not be previewed',
      );
      return excluded('It could not be looked at: the service fails over this record, and the log says why.');
    }
  }

  #limit = (currency: string): number => this.#options.approval_amount[currency] ?? Infinity;
}

/** `work` for each, so many at once; the results in the order of the items. */
async function eachOf<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const left = items.entries();
  const lane = async (): Promise<void> => {
    for (const [at, item] of left) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return results;
}
