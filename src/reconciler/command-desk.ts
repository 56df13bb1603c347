/**
 * Carries out what people decide. A command is a wish: it is written together with the record of who decided it, and the
 * loop does the rest with its own steps and keys. A crash leaves a preview, or a command that is carried out.
 */
import { withTask, openPayment } from '../operation/absorb-journal.js';
import type { Moved } from '../operation/bulk.js';
import { type Asking, type Command } from '../operation/command-rule.js';
import { amountMoved, carryOut, needsLead, type Commanded } from '../operation/command.js';
import { boundOf, changesBetween, evidenceOf, outcomeOf } from '../operation/evidence.js';
import { formatMoney } from '../operation/money.js';
import { nextStatus } from '../operation/next-status.js';
import type { Operation } from '../operation/operation.js';
import { nextStep } from '../operation/next-step.js';
import type { Adopts, CommandRecord, CommandStore, NewPreview } from '../store/command-store.js';
import type { OperationStore } from '../store/operation-store.js';
import type { Actor, EventDraft, JournalAttempt } from '../store/record.js';
import type { Bell } from './bell.js';
import { inWords } from './command-words.js';
import type { CommandAnswer, Commands, Person, Refused } from './commands.js';
import { SYSTEM, transitions } from './events.js';
import { adoptionOf, lookAt, type Eyes, type Looked } from './look.js';

/** Long enough to read the evidence, too short to come back to it after lunch. */
export const PREVIEW_MS = 10 * 60_000;
/** The second person has to be found first. */
export const REQUEST_MS = 60 * 60_000;
/** Each time somebody else wrote to the operation, and yet nothing that matters changed. */
export const MOST_TRIES = 10;
/** What became of it is usually seen within one pass; whoever asks again later is told then. */
export const PATIENCE_MS = 3_000;
export const POLL_MS = 50;

export interface DeskOptions {
  /** Minor units by currency that one person may move alone; a currency that is not named has no limit. */
  readonly approval_amount: Readonly<Record<string, number>>;
  /** How long an answer waits for what a pass observes; see PATIENCE_MS. */
  readonly patience_ms?: number;
}

/** The second person, and what they said. */
export interface Approval {
  readonly by: Actor;
  readonly words: string | null;
}

/** What people decided about all rows of a bulk command. */
export interface BulkDecision {
  readonly requested_by: Actor;
  readonly reason: string;
  readonly approval: Approval | null;
  /** One of them has the scope of a lead. */
  readonly lead: boolean;
}

/** `amount`: minor units of `currency` that it may move. */
export type Draft = Omit<NewPreview, 'approval_needed' | 'lasts_ms'> & Moved;

type Accepted = Extract<Commanded, { kind: 'accepted' }> & { readonly adopts?: Adopts };
type Refusable = Accepted | Extract<Commanded, { kind: 'refused' }>;

export class CommandDesk implements Commands {
  readonly #operations: OperationStore;
  readonly #commands: CommandStore;
  readonly #eyes: Eyes;
  readonly #bell: Bell;
  readonly #options: DeskOptions;

  constructor(
    operations: OperationStore,
    commands: CommandStore,
    eyes: Eyes,
    bell: Bell,
    options: DeskOptions,
  ) {
    this.#operations = operations;
    this.#commands = commands;
    this.#eyes = eyes;
    this.#bell = bell;
    this.#options = options;
  }

  async preview(operationId: string, command: Command, person: Person): Promise<CommandAnswer> {
    const drafted = await this.draft(operationId, command, person);
    if (drafted.kind !== 'draft') return drafted;
    const { amount, currency, ...draft } = drafted.draft;
    const approval = this.#approvalFor(amount, currency);
    const stored = await this.#commands.preview({
      ...draft,
      effects: [...draft.effects, ...approval],
      approval_needed: approval.length > 0,
      lasts_ms: PREVIEW_MS,
    });
    return { kind: 'command', command: stored };
  }

  /** A preview that is not stored yet, with what it may move. */
  async draft(
    operationId: string,
    command: Command,
    person: Person,
  ): Promise<{ readonly kind: 'draft'; readonly draft: Draft } | Refused> {
    if (needsLead(command.command) && !person.lead) return { kind: 'needs_lead', command: command.command };
    const looked = await this.#look(operationId);
    if (looked === null) return { kind: 'not_found' };
    if (needsLead(command.command, looked.seen.operation) && !person.lead)
      return { kind: 'needs_lead', command: command.command };
    const asking = this.#asking(person.name, '', looked);
    const made = await this.#made(looked, command, asking);
    if (made.kind === 'refused') return { kind: 'not_available', why: made.why };
    return {
      kind: 'draft',
      draft: {
        operation_id: operationId,
        command: command.command,
        parameters: command.parameters,
        resource_version: looked.recorded.resource_version,
        evidence: evidenceOf(looked),
        bound: boundOf(looked),
        effects: [...made.effects, ...this.#consequence(command, made, looked)],
        previewed_by: person.name,
        amount: amountMoved(command, looked.seen.operation, made.operation, asking),
        currency: made.operation.wish.spec.amount.currency,
      },
    };
  }

  async confirm(
    operationId: string,
    previewId: string,
    reason: string,
    person: Person,
  ): Promise<CommandAnswer> {
    return this.#settle(operationId, previewId, person, async (command) => {
      // Nobody can approve it any more, and whoever asked for it is not to wait on.
      if (command.state === 'awaiting_approval' && command.expired) return { kind: 'expired' };
      if (command.state !== 'previewed') return this.#observed(command);
      if (command.bulk_id !== null)
        return {
          kind: 'not_available',
          why: 'It is a row of a bulk command, which is confirmed as a whole.',
        };
      if (command.expired) return { kind: 'expired' };
      return this.#rechecked(command, person, person.name, reason, async (looked, made, asking) => {
        if (!command.approval_needed) return this.#carryOut(command, looked, made, asking, person);
        const event: EventDraft = {
          type: 'command_requested',
          actor: person,
          message: `${command.command} waits for a second person: ${reason}`,
          data: { ...described(command), reason, evidence: command.evidence, effects: command.effects },
        };
        return this.#commands.request(command, person.name, reason, REQUEST_MS, event);
      });
    });
  }

  async approve(
    operationId: string,
    previewId: string,
    approval: string | null,
    person: Person,
  ): Promise<CommandAnswer> {
    return this.#settle(operationId, previewId, person, async (command) => {
      if (!command.approval_needed)
        return { kind: 'not_available', why: 'This command needs no second person.' };
      if (command.state === 'previewed')
        return { kind: 'not_available', why: 'Nobody has asked for this command yet: it is a preview.' };
      if (command.requested_by === person.name) return { kind: 'needs_another_person' };
      if (command.state !== 'awaiting_approval') return this.#observed(command);
      if (command.expired) return { kind: 'expired' };
      const { requested_by, reason } = command;
      return this.#rechecked(command, person, requested_by ?? '', reason ?? '', (looked, made, asking) =>
        this.#carryOut(command, looked, made, asking, person, { by: person, words: approval }),
      );
    });
  }

  /** A row of a bulk command that is being carried out; asked again, it tells what became of it. */
  async runRow(operationId: string, previewId: string, decided: BulkDecision): Promise<CommandAnswer> {
    const { requested_by, reason, approval } = decided;
    const person = { ...requested_by, lead: decided.lead };
    return this.#settle(operationId, previewId, person, async (command) => {
      if (command.state !== 'previewed') return this.#observed(command);
      if (command.expired) return { kind: 'expired' };
      return this.#rechecked(command, person, person.name, reason, (looked, made, asking) =>
        this.#carryOut(command, looked, made, asking, person, approval),
      );
    });
  }

  /** Tries until the command is in a state that says what became of it. `null` of `step`: somebody was faster. */
  async #settle(
    operationId: string,
    previewId: string,
    person: Person,
    step: (command: CommandRecord) => Promise<CommandAnswer | null>,
  ): Promise<CommandAnswer> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const command = await this.#commands.find(operationId, previewId);
      if (command === null) return { kind: 'not_found' };
      if (needsLead(command.command) && !person.lead) return { kind: 'needs_lead', command: command.command };
      const answer = await step(command);
      if (answer !== null) return answer;
    }
    return { kind: 'busy' };
  }

  /** Looks again; goes on only when everything that the decision rests on is as it was. */
  async #rechecked(
    command: CommandRecord,
    person: Person,
    by: string,
    reason: string,
    act: (looked: Looked, made: Accepted, asking: Asking) => Promise<boolean>,
  ): Promise<CommandAnswer | null> {
    const looked = await this.#look(command.operation_id);
    if (looked === null) return { kind: 'not_found' };
    const changes = changesBetween(command.bound, boundOf(looked));
    if (changes.length > 0) {
      // Perhaps it changed because somebody else has just confirmed this very command.
      const now = await this.#commands.find(command.operation_id, command.preview_id);
      return now?.state === command.state ? { kind: 'changed', changes } : null;
    }
    if (needsLead(command.command, looked.seen.operation) && !person.lead)
      return { kind: 'needs_lead', command: command.command };
    const asking = this.#asking(by, reason, looked);
    const made = await this.#made(looked, commandOf(command), asking);
    if (made.kind === 'refused') return { kind: 'not_available', why: made.why };
    if (!(await act(looked, made, asking))) return null;
    const now = await this.#commands.find(command.operation_id, command.preview_id);
    return now === null ? { kind: 'not_found' } : this.#observed(now, looked);
  }

  async #carryOut(
    command: CommandRecord,
    { recorded, seen }: Looked,
    made: Accepted,
    asking: Asking,
    person: Person,
    approval: Approval | null = null,
  ): Promise<boolean> {
    const { wish, generation } = made.operation;
    const known = withTask(recorded, recorded.task, asking.now);
    const { provider_reference, facts } = made.another_payment ? made.operation : known;
    const after: Operation = { ...known, wish, generation, provider_reference, facts };
    const status = nextStatus(after, asking.now, this.#eyes.policy);
    const changes = wish !== seen.operation.wish;
    const done = await this.#commands.carryOut(
      {
        preview_id: command.preview_id,
        from: command.state === 'awaiting_approval' ? 'awaiting_approval' : 'previewed',
        requested_by: asking.by,
        approved_by: approval?.by.name ?? null,
        reason: asking.reason,
        changes,
        adopts: made.adopts ?? null,
      },
      {
        operation_id: command.operation_id,
        resource_version: recorded.resource_version,
        wish,
        status,
        spec_changed: made.spec_changed,
        ...(made.another_payment ? { another_payment: facts } : {}),
        transitions: transitions(recorded.status, status),
        event: {
          type: `command_${command.command}`,
          actor: approval?.by ?? person,
          message: `${command.command}: ${asking.reason}`,
          data: {
            ...described(command),
            reason: asking.reason,
            ...(approval === null ? {} : { requested_by: asking.by }),
            ...(approval === null || approval.words === null ? {} : { approval: approval.words }),
            ...(made.another_payment ? { former_payment: recorded.provider_reference } : {}),
          },
        },
      },
    );
    if (done) this.#bell.ring();
    return done;
  }

  /** The command with what was observed since, as far as it is known within our patience. */
  async #observed(command: CommandRecord, looked?: Looked): Promise<CommandAnswer> {
    if (command.state !== 'accepted') return { kind: 'command', command };
    const outcome =
      command.command === 'check_provider' && looked !== undefined
        ? this.#seen(looked)
        : await this.#outcomeOfPass(command);
    if (outcome !== null) {
      await this.#commands.observed(command.preview_id, outcome, {
        type: 'command_observed',
        actor: SYSTEM,
        message: `${command.command}: ${outcome.summary}`,
        data: { ...described(command), outcome },
      });
    }
    const now = await this.#commands.find(command.operation_id, command.preview_id);
    return { kind: 'command', command: now ?? command };
  }

  #seen({ seen, observation }: Looked) {
    const { now, policy } = { now: this.#eyes.clock.now(), policy: this.#eyes.policy };
    const status = nextStatus(seen.operation, now, policy);
    return outcomeOf({ ...seen.operation, status }, [], observation.at);
  }

  /** Null: no pass has looked yet. */
  async #outcomeOfPass(command: CommandRecord) {
    const end = performance.now() + (this.#options.patience_ms ?? PATIENCE_MS);
    while (!(await this.#commands.looked(command.preview_id))) {
      if (performance.now() >= end) return null;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    const [operation, attempts] = await Promise.all([
      this.#operations.find(command.operation_id),
      this.#operations.attempts(command.operation_id),
    ]);
    if (operation === null) return null;
    const since = Date.parse(command.carried_out_at ?? '');
    const sent = attempts.filter(({ started_at }) => Date.parse(started_at) >= since);
    return outcomeOf(operation, sent, this.#eyes.clock.now().toISOString());
  }

  async #look(operationId: string): Promise<Looked | null> {
    const recorded = await this.#operations.find(operationId);
    if (recorded === null) return null;
    return lookAt(recorded, await this.#operations.attempts(operationId), this.#eyes);
  }

  #asking(by: string, reason: string, looked: Looked): Asking {
    const { clock, policy } = this.#eyes;
    return { by, reason, now: clock.now(), policy, seen: looked.sides };
  }

  /** What the command makes of the record as it was just read. */
  async #made(looked: Looked, command: Command, asking: Asking): Promise<Refusable> {
    const made = carryOut(looked.seen, command, asking);
    if (made.kind === 'refused' || !made.another_payment) return made;
    const { recorded, journal } = looked;
    const open = openPayment(recorded.wish, journal);
    if (open !== undefined)
      return {
        kind: 'refused',
        why: `It is not recorded yet what became of ${open.step}; the next look does that (check_provider).`,
      };
    if (command.command !== 'adopt_payment') return made;
    const { reference } = command.parameters;
    const owner = await this.#commands.ownerOf(recorded.account, reference);
    if (owner !== null && owner !== recorded.operation_id)
      return { kind: 'refused', why: `The payment serves the operation "${owner}" already.` };
    const { findings, given_back } = await this.#commands.foundOf(recorded.account, reference);
    if (given_back)
      return { kind: 'refused', why: 'A person decided to give this payment back, and that has not ended.' };
    const attempts = looked.seen.attempts as readonly JournalAttempt[];
    const adoption = await adoptionOf({ ...recorded, ...made.operation }, attempts, this.#eyes);
    if ('why' in adoption) return { kind: 'refused', why: adoption.why };
    return { ...made, effects: [...made.effects, ...adoption.effects], adopts: { reference, findings } };
  }

  /** What the loop would do next, in words. */
  #consequence(command: Command, made: Accepted, looked: Looked): string[] {
    if (command.command === 'check_provider' || command.command === 'adopt_payment') return [];
    const now = this.#eyes.clock.now();
    const next = nextStep(made.operation, looked.sides, now, this.#eyes.policy);
    return [inWords(next, { operation: made.operation, attempts: looked.seen.attempts }, now)];
  }

  /** Empty when one person is enough. */
  #approvalFor(amount: number, currency: string): string[] {
    const limit = this.#options.approval_amount[currency];
    if (limit === undefined || amount <= limit) return [];
    const moved = formatMoney(amount, currency);
    return [
      `It moves ${moved}, more than one person may (${formatMoney(limit, currency)}): a second one with the scope support_lead has to approve it.`,
    ];
  }
}

/** The table of the store has one row a name, with the parameters of that name. */
const commandOf = ({ command, parameters }: CommandRecord): Command => ({ command, parameters }) as Command;

const described = ({ preview_id, command, parameters, bulk_id }: CommandRecord) => ({
  preview_id,
  command,
  parameters,
  ...(bulk_id === null ? {} : { bulk_id }),
});
