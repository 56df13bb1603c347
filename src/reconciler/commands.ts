/** Commands of people as the API offers them: preview, confirm, approve. */
import type { Command, CommandName } from '../operation/command-rule.js';
import type { Difference } from '../operation/evidence.js';
import type { CommandRecord } from '../store/command-store.js';
import type { Actor } from '../store/record.js';

/** The key or person that asks; `lead`: it has the scope of a lead. */
export interface Person extends Actor {
  readonly lead: boolean;
}

/** Why nothing was done, or the command as it is now. */
export type CommandAnswer<Record = CommandRecord> =
  | { readonly kind: 'command'; readonly command: Record }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'not_available'; readonly why: string }
  | { readonly kind: 'needs_lead'; readonly command: CommandName }
  | { readonly kind: 'needs_another_person' }
  | { readonly kind: 'changed'; readonly changes: readonly Difference[] }
  | { readonly kind: 'expired' }
  /** Others change the operation all the time; nothing was done. */
  | { readonly kind: 'busy' };
export type Refused = Exclude<CommandAnswer, { readonly kind: 'command' }>;

/** Why nothing was done, by the code of the API's problem and in plain words. */
export interface Refusal {
  readonly problem:
    | 'not_found'
    | 'command_not_available'
    | 'scope_missing'
    | 'second_person_needed'
    | 'operation_changed'
    | 'preview_expired'
    | 'unavailable'
    | 'internal';
  readonly why: string;
  readonly changes?: readonly Difference[];
}

export function refusalOf(answer: Refused): Refusal {
  switch (answer.kind) {
    case 'not_found':
      return { problem: 'not_found', why: 'There is no such operation, or no such preview of it.' };
    case 'not_available':
      return { problem: 'command_not_available', why: answer.why };
    case 'needs_lead':
      return { problem: 'scope_missing', why: `${answer.command} needs the scope support_lead.` };
    case 'needs_another_person':
      return {
        problem: 'second_person_needed',
        why: 'You asked for this command: another person has to approve it.',
      };
    case 'changed': {
      const { changes } = answer;
      const named = changes.map(({ what }) => what).join(', ');
      return {
        problem: 'operation_changed',
        why: `Since the preview changed: ${named}. Preview it again.`,
        changes,
      };
    }
    case 'expired':
      return { problem: 'preview_expired', why: 'What it shows may be outdated. Preview it again.' };
    case 'busy':
      return { problem: 'unavailable', why: 'It is being changed all the time; nothing was done.' };
  }
}

export interface Commands {
  /** Takes a fresh reading; writes nothing but the preview. */
  preview(operationId: string, command: Command, person: Person): Promise<CommandAnswer>;
  /** Looks again, and carries out what was previewed when it still rests on the same. Once, however often it is asked. */
  confirm(operationId: string, previewId: string, reason: string, person: Person): Promise<CommandAnswer>;
  /** By another person than the one who confirmed. */
  approve(
    operationId: string,
    previewId: string,
    reason: string | null,
    person: Person,
  ): Promise<CommandAnswer>;
}
