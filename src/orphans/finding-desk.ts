/**
 * Takes what people decide about findings. A decision is written together with who made it, and a worker carries it out; a
 * dismissal is done by being written, and an adoption is the operation's own command.
 */
import type { FindingCommand } from '../findings/finding.js';
import {
  boundOf,
  dismissedOn,
  evidenceOf,
  possibleNow,
  type FindingLook,
  type FindingOutcome,
  type Possible,
} from '../findings/finding-command.js';
import { inWords } from '../findings/give-back.js';
import type { Clock } from '../clock.js';
import { changesBetween } from '../operation/evidence.js';
import type { Failure } from '../operation/failure.js';
import { formatMoney } from '../operation/money.js';
import { withoutPerson } from '../operation/personal-data.js';
import type { Bell } from '../reconciler/bell.js';
import type { CommandAnswer, Commands, Person } from '../reconciler/commands.js';
import {
  PATIENCE_MS,
  POLL_MS,
  PREVIEW_MS,
  REQUEST_MS,
  MOST_TRIES,
  type DeskOptions,
} from '../reconciler/command-desk.js';
import type { FindingAttemptStore } from '../store/finding-attempt-store.js';
import type { FindingCommandRecord, FindingCommandStore } from '../store/finding-command-store.js';
import type { EventDraft } from '../store/record.js';
import type { FindingAnswer, FindingCommands } from './finding-commands.js';
import { FOR_SWEEP, type Sight } from './ports.js';
import { see, type Seen } from './see.js';

export interface FindingDeskDependencies extends Sight {
  readonly commands: FindingCommandStore;
  readonly attempts: FindingAttemptStore;
  /** Of the operations: one mechanism adopts payments. */
  readonly operations: Commands;
  readonly bell: Bell;
  readonly clock: Clock;
}

type Made = Extract<Possible, { kind: 'possible' }>;

export class FindingDesk implements FindingCommands {
  readonly #deps: FindingDeskDependencies;
  readonly #options: DeskOptions;

  constructor(deps: FindingDeskDependencies, options: DeskOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  async preview(findingId: string, command: FindingCommand, person: Person): Promise<FindingAnswer> {
    const look = await this.#look(findingId);
    if (look === null) return { kind: 'not_found' };
    const made = possibleNow(command, look);
    if (made.kind === 'refused') return { kind: 'not_available', why: made.why };
    const adoption = command === 'adopt_payment' ? await this.#adoption(look, person) : null;
    if (adoption !== null && adoption.kind !== 'command') return adoption;
    const approval = this.#approvalFor(made);
    const preview_id = await this.#deps.commands.preview({
      finding_id: findingId,
      command,
      resource_version: look.finding.resource_version,
      evidence: evidenceOf(look),
      bound: boundOf(look),
      effects: [...made.effects, ...(adoption?.command.effects ?? []), ...approval],
      gives_back: made.gives_back,
      operation_command: adoption?.command.preview_id ?? null,
      approval_needed: approval.length > 0,
      previewed_by: person.name,
      lasts_ms: PREVIEW_MS,
    });
    return this.#found(findingId, preview_id);
  }

  async confirm(
    findingId: string,
    previewId: string,
    reason: string,
    person: Person,
  ): Promise<FindingAnswer> {
    return this.#settle(findingId, previewId, async (command) => {
      // Nobody can approve it any more, and whoever asked for it is not to wait on.
      if (command.state === 'awaiting_approval' && command.expired) return { kind: 'expired' };
      if (command.state !== 'previewed') return this.#observed(command);
      if (command.expired) return { kind: 'expired' };
      return this.#rechecked(command, (look, made) => {
        if (command.operation_command !== null)
          return this.#delegated(command, (operationId, id) =>
            this.#deps.operations.confirm(operationId, id, reason, person),
          );
        if (!command.approval_needed) return this.#carryOut(command, look, made, reason, person);
        const event: EventDraft = {
          type: 'finding_command_requested',
          actor: person,
          message: `${command.command} of ${command.provider_reference} waits for a second person: ${reason}`,
          data: { ...described(command), reason, evidence: command.evidence, effects: command.effects },
        };
        return this.#deps.commands.request(previewId, person.name, reason, REQUEST_MS, event);
      });
    });
  }

  async approve(
    findingId: string,
    previewId: string,
    approval: string | null,
    person: Person,
  ): Promise<FindingAnswer> {
    return this.#settle(findingId, previewId, async (command) => {
      if (!command.approval_needed)
        return { kind: 'not_available', why: 'This command needs no second person.' };
      if (command.state === 'previewed')
        return { kind: 'not_available', why: 'Nobody has asked for this command yet: it is a preview.' };
      if (command.requested_by === person.name) return { kind: 'needs_another_person' };
      if (command.state !== 'awaiting_approval') return this.#observed(command);
      if (command.expired) return { kind: 'expired' };
      return this.#rechecked(command, (look, made) =>
        command.operation_command === null
          ? this.#carryOut(command, look, made, command.reason ?? '', person, approval)
          : this.#delegated(command, (operationId, id) =>
              this.#deps.operations.approve(operationId, id, approval, person),
            ),
      );
    });
  }

  /** Tries until the command is in a state that says what became of it. `null` of `step`: somebody was faster. */
  async #settle(
    findingId: string,
    previewId: string,
    step: (command: FindingCommandRecord) => Promise<FindingAnswer | null>,
  ): Promise<FindingAnswer> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const found = await this.#found(findingId, previewId);
      if (found.kind !== 'command') return found;
      const answer = await step(found.command);
      if (answer !== null) return answer;
    }
    return { kind: 'busy' };
  }

  async #found(findingId: string, previewId: string): Promise<FindingAnswer> {
    const command = isId(findingId) ? await this.#deps.commands.find(findingId, previewId) : null;
    return command === null ? { kind: 'not_found' } : { kind: 'command', command };
  }

  /** Looks again; goes on only when everything that the decision rests on is as it was. */
  async #rechecked(
    command: FindingCommandRecord,
    act: (look: FindingLook, made: Made) => Promise<boolean | FindingAnswer>,
  ): Promise<FindingAnswer | null> {
    const { finding_id, preview_id } = command;
    const look = await this.#look(finding_id);
    if (look === null) return { kind: 'not_found' };
    const changes = changesBetween(command.bound, boundOf(look));
    if (changes.length > 0) {
      // Perhaps it changed because somebody else has just confirmed this very command.
      const now = await this.#deps.commands.find(finding_id, preview_id);
      return now?.state === command.state ? { kind: 'changed', changes } : null;
    }
    const made = possibleNow(command.command, look);
    if (made.kind === 'refused') return { kind: 'not_available', why: made.why };
    const acted = await act(look, made);
    if (acted === false) return null;
    if (acted !== true) return acted;
    const now = await this.#deps.commands.find(finding_id, preview_id);
    return now === null ? { kind: 'not_found' } : this.#observed(now);
  }

  async #carryOut(
    command: FindingCommandRecord,
    look: FindingLook,
    made: Made,
    reason: string,
    person: Person,
    approval: string | null = null,
  ): Promise<boolean> {
    const { finding_id, preview_id, requested_by } = command;
    const at = this.#deps.clock.now().toISOString();
    const done = await this.#deps.commands.carryOut(
      {
        finding_id,
        resource_version: look.finding.resource_version,
        preview_id,
        from: command.state === 'awaiting_approval' ? 'awaiting_approval' : 'previewed',
        by: person.name,
        reason,
        dismissal:
          command.command === 'dismiss'
            ? { facts: dismissedOn(look), at, outcome: dismissal(look, at) }
            : null,
      },
      {
        type: `finding_${command.command}`,
        actor: person,
        message: `${command.command} of ${command.provider_reference}${made.gives_back === null ? '' : ` (${inWords(made.gives_back)})`}: ${reason}`,
        data: {
          ...described(command),
          reason,
          ...(requested_by === null ? {} : { requested_by }),
          ...(approval === null ? {} : { approval }),
        },
      },
    );
    if (done) this.#deps.bell.ring();
    return done;
  }

  /** What the operation's desk answers, with the finding's own command in the place of the operation's. */
  async #delegated(
    { finding_id, preview_id, operation_id, operation_command }: FindingCommandRecord,
    ask: (operationId: string, previewId: string) => Promise<CommandAnswer>,
  ): Promise<true | FindingAnswer> {
    if (operation_id === null || operation_command === null) return { kind: 'not_found' };
    const answer = await ask(operation_id, operation_command);
    if (answer.kind !== 'command') return answer;
    const { state } = answer.command;
    if (state === 'accepted' || state === 'observed') {
      await this.#deps.commands.lookAfter(preview_id);
      this.#deps.bell.ring();
    }
    return this.#found(finding_id, preview_id);
  }

  /** The command with what was observed since, as far as it is known within our patience. */
  async #observed(command: FindingCommandRecord): Promise<FindingAnswer> {
    const { finding_id, preview_id, state, operation_command } = command;
    if (operation_command !== null && state === 'accepted') {
      // The same command of the operation once more tells what became of it.
      const { reason, requested_by } = command;
      const by: Person = { kind: 'key', name: requested_by ?? '', lead: false };
      await this.#delegated(command, (operationId, id) =>
        this.#deps.operations.confirm(operationId, id, reason ?? '', by),
      );
      return this.#found(finding_id, preview_id);
    }
    const end = performance.now() + (this.#options.patience_ms ?? PATIENCE_MS);
    for (;;) {
      const found = await this.#found(finding_id, preview_id);
      const waits = found.kind === 'command' && found.command.state === 'accepted';
      if (!waits || performance.now() >= end) return found;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  async #look(findingId: string): Promise<FindingLook | null> {
    const { findings, accounts, commands, attempts, clock } = this.#deps;
    const found = await findings.find(findingId);
    if (found === null) return null;
    const { finding, look } = found;
    const { account, provider_reference } = finding;
    const provider = accounts.provider(account);
    const refusal = provider === undefined ? NOT_CONFIGURED : await accounts.admit(account, FOR_SWEEP);
    const seen: Seen =
      provider === undefined || refusal !== null
        ? { reading: { kind: 'unknown', failure: refusal ?? NOT_CONFIGURED }, drafts: [], records: [] }
        : await see(look, account, provider, this.#deps);
    return {
      finding,
      reading: seen.reading,
      draft: seen.drafts.find(({ kind }) => kind === finding.kind) ?? null,
      records: seen.records,
      attempts: await attempts.of({ finding_id: findingId }),
      at_work: await commands.isAtWork(account, provider_reference),
      account_paused: await accounts.pauseOf(account),
      at: clock.now().toISOString(),
    };
  }

  #adoption({ finding }: FindingLook, person: Person): Promise<CommandAnswer> {
    const { operation_id, provider_reference: reference } = finding;
    return this.#deps.operations.preview(
      operation_id ?? '',
      { command: 'adopt_payment', parameters: { reference } },
      person,
    );
  }

  /** Empty when one person is enough, or when the operation's own command says so. */
  #approvalFor({ gives_back }: Made): string[] {
    if (gives_back === null) return [];
    const { amount, currency } = gives_back;
    const limit = this.#options.approval_amount[currency];
    return limit === undefined || amount <= limit
      ? []
      : [
          `It moves ${formatMoney(amount, currency)}, more than one person may (${formatMoney(limit, currency)}): a second one with the scope support_lead has to approve it.`,
        ];
  }
}

const NOT_CONFIGURED: Failure = {
  class: 'prerequisite',
  code: 'account_not_configured',
  message: 'This account is not configured.',
};

const isId = (findingId: string): boolean => /^[0-9]{1,18}$/.test(findingId);

const described = ({ preview_id, finding_id, command, provider_reference }: FindingCommandRecord) => ({
  preview_id,
  finding_id,
  command,
  provider_reference,
});

const dismissal = (look: FindingLook, observed_at: string): FindingOutcome => ({
  summary: 'It is dismissed. It is opened again when an amount or a state changes.',
  finding_state: 'dismissed',
  payment: look.reading.kind === 'present' ? { ...withoutPerson(look.reading.value) } : null,
  attempts: [],
  observed_at,
  operation: null,
});
