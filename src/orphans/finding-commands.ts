/** Commands of people on findings as the API offers them: preview, confirm, approve; the answers are those of operations. */
import type { FindingCommand } from '../findings/finding.js';
import type { CommandAnswer, Person } from '../reconciler/commands.js';
import type { FindingCommandRecord } from '../store/finding-command-store.js';

export type FindingAnswer = CommandAnswer<FindingCommandRecord>;

export interface FindingCommands {
  /** Takes a fresh reading of the one payment; writes nothing but the preview. */
  preview(findingId: string, command: FindingCommand, person: Person): Promise<FindingAnswer>;
  /** Looks again, and decides what was previewed when it still rests on the same. Once, however often it is asked. */
  confirm(findingId: string, previewId: string, reason: string, person: Person): Promise<FindingAnswer>;
  /** By another person than the one who confirmed. */
  approve(
    findingId: string,
    previewId: string,
    reason: string | null,
    person: Person,
  ): Promise<FindingAnswer>;
}
