/** Commands on findings: preview, confirm, and the approval by a second person, as for operations. */
import { Body, Controller, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { printable } from '../../operation/spec.js';
import type { FindingAnswer, FindingCommands } from '../../orphans/finding-commands.js';
import type { FindingCommandRecord } from '../../store/finding-command-store.js';
import { Access, CallerOf } from '../http/access.js';
import type { Caller } from '../http/authentication.js';
import { ProblemError } from '../http/problem.js';
import { Answers, OptionalBody, ProblemsWithBody } from '../openapi/decorators.js';
import { personOf, refuse } from '../operations/deciding.js';
import { ApprovalBody, ConfirmBody } from '../schemas/commands.js';
import { FindingCommandOut, FindingPreviewBody, FindingPreviewOut } from '../schemas/finding-commands.js';
import { FINDING_COMMANDS } from '../tokens.js';

const Id = printable(64);

@ApiTags('findings')
@Controller('v1/findings/:finding_id/commands')
export class FindingCommandsController {
  constructor(@Inject(FINDING_COMMANDS) private readonly commands: FindingCommands) {}

  @Post('preview')
  @HttpCode(201)
  @Access({ scopes: ['support'] })
  @ApiOperation({
    summary: 'What a command on a finding would do, judged by a fresh reading of its payment',
    description: 'Nothing is done. 409 says why the command makes no sense now.',
  })
  @Answers(201, FindingPreviewOut, 'The evidence and what will happen; to be confirmed before it expires')
  @ProblemsWithBody('not_found', 'command_not_available')
  async previewOfFinding(
    @Param('finding_id', { schema: Id }) findingId: string,
    @Body({ schema: FindingPreviewBody }) { command }: FindingPreviewBody,
    @CallerOf() caller: Caller,
  ): Promise<FindingPreviewOut> {
    return previewOf(granted(await this.commands.preview(findingId, command, personOf(caller))));
  }

  @Post()
  @HttpCode(202)
  @Access({ scopes: ['support'] })
  @ApiOperation({
    summary: 'Carry out what was previewed for a finding',
    description:
      'The same preview again is the same command. The payment is read once more before anything is decided, and again before and after anything is sent.',
  })
  @Answers(202, FindingCommandOut, 'The command, with what was observed since as far as it is known')
  @ProblemsWithBody(
    'not_found',
    'command_not_available',
    'preview_expired',
    'operation_changed',
    'second_person_needed',
  )
  async confirmForFinding(
    @Param('finding_id', { schema: Id }) findingId: string,
    @Body({ schema: ConfirmBody }) { preview_id, reason }: ConfirmBody,
    @CallerOf() caller: Caller,
  ): Promise<FindingCommandOut> {
    const answer = await this.commands.confirm(findingId, preview_id, reason, personOf(caller));
    return toCommandOut(granted(answer));
  }

  @Post(':preview_id/approval')
  @HttpCode(202)
  @Access({ scopes: ['support_lead'] })
  @ApiOperation({
    summary: 'Approve a command on a finding as its second person',
    description:
      'Where a command moves more than one person may. Its evidence is in the answer to the same command sent again.',
  })
  @OptionalBody()
  @Answers(202, FindingCommandOut, 'The command, carried out as soon as it can be')
  @ProblemsWithBody(
    'not_found',
    'command_not_available',
    'preview_expired',
    'operation_changed',
    'second_person_needed',
  )
  async approveForFinding(
    @Param('finding_id', { schema: Id }) findingId: string,
    @Param('preview_id', { schema: Id }) previewId: string,
    @Body({ schema: ApprovalBody }) { reason }: ApprovalBody,
    @CallerOf() caller: Caller,
  ): Promise<FindingCommandOut> {
    const answer = await this.commands.approve(findingId, previewId, reason, personOf(caller));
    return toCommandOut(granted(answer));
  }
}

function granted(answer: FindingAnswer): FindingCommandRecord {
  if (answer.kind === 'not_found')
    throw new ProblemError('not_found', 'There is no such finding, or no such preview of it.');
  return answer.kind === 'command' ? answer.command : refuse(answer);
}

// Evidence is JSON that was stored in this form.
const previewOf = (command: FindingCommandRecord): FindingPreviewOut =>
  ({
    preview_id: command.preview_id,
    resource_version: command.resource_version,
    evidence: command.evidence,
    effects: [...command.effects],
    expires_at: command.expires_at,
  }) as unknown as FindingPreviewOut;

const toCommandOut = (command: FindingCommandRecord): FindingCommandOut =>
  ({
    ...previewOf(command),
    finding_id: command.finding_id,
    command: command.command,
    state: command.state,
    waits_for: command.waits_for,
    reason: command.reason,
    requested_by: command.requested_by,
    requested_at: command.requested_at,
    approved_by: command.approved_by,
    approved_at: command.approved_at,
    outcome: command.outcome ?? outcomeOfOperation(command),
  }) as unknown as FindingCommandOut;

/** An adoption is told by the operation; how its finding stands, the list of findings says. */
function outcomeOfOperation({ operation_outcome, finding_state }: FindingCommandRecord): object | null {
  if (operation_outcome === null) return null;
  return {
    summary: operation_outcome.summary,
    finding_state,
    payment: null,
    attempts: [],
    observed_at: operation_outcome.observed_at,
    operation: operation_outcome,
  };
}
