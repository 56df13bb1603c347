/** Commands of people as the API offers them: preview, confirm, approve. */
import type { Command, CommandName } from '../operation/command-rule.js';
import type { Difference } from '../operation/evidence.js';
import type { CommandRecord } from '../store/command-store.js';

/** The key or person that asks; `lead`: it has the scope of a lead. */
export interface Person {
  readonly name: string;
  readonly lead: boolean;
}

/** Why nothing was done, or the command as it is now. */
export type CommandAnswer =
  | { readonly kind: 'command'; readonly command: CommandRecord }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'not_available'; readonly why: string }
  | { readonly kind: 'needs_lead'; readonly command: CommandName }
  | { readonly kind: 'needs_another_person' }
  | { readonly kind: 'changed'; readonly changes: readonly Difference[] }
  | { readonly kind: 'expired' }
  /** Others change the operation all the time; nothing was done. */
  | { readonly kind: 'busy' };

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
