/** Commands of support staff: preview, confirm, and the approval by a second person. */
import { Body, Controller, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Command } from '../../operation/command-rule.js';
import { OperationId, printable } from '../../operation/spec.js';
import type { CommandAnswer, Commands } from '../../reconciler/commands.js';
import type { CommandRecord } from '../../store/command-store.js';
import { Access, CallerOf } from '../http/access.js';
import type { Caller } from '../http/authentication.js';
import { Answers, OptionalBody, ProblemsWithBody } from '../openapi/decorators.js';
import { ApprovalBody, CommandOut, ConfirmBody, PreviewBody, PreviewOut } from '../schemas/commands.js';
import { COMMANDS } from '../tokens.js';
import { personOf, refuse } from './deciding.js';

const PreviewId = printable(64);

@ApiTags('commands')
@Controller('v1/operations/:operation_id/commands')
export class CommandsController {
  constructor(@Inject(COMMANDS) private readonly commands: Commands) {}

  @Post('preview')
  @HttpCode(201)
  @Access({ scopes: ['support'] })
  @ApiOperation({
    summary: 'What a command would do, judged by a fresh reading',
    description: 'Nothing is done. 409 says why the command makes no sense now.',
  })
  @Answers(201, PreviewOut, 'The evidence and what will happen; to be confirmed before it expires')
  @ProblemsWithBody('not_found', 'command_not_available')
  async preview(
    @Param('operation_id', { schema: OperationId }) operationId: string,
    @Body({ schema: PreviewBody }) body: Command,
    @CallerOf() caller: Caller,
  ): Promise<PreviewOut> {
    return toPreviewOut(granted(await this.commands.preview(operationId, body, personOf(caller))));
  }

  @Post()
  @HttpCode(202)
  @Access({ scopes: ['support'] })
  @ApiOperation({
    summary: 'Carry out what was previewed',
    description:
      'The same preview again is the same command. Provider and warehouse are read once more before anything is done.',
  })
  @Answers(202, CommandOut, 'The command, with what was observed since as far as it is known')
  @ProblemsWithBody(
    'not_found',
    'command_not_available',
    'preview_expired',
    'operation_changed',
    'second_person_needed',
  )
  async confirm(
    @Param('operation_id', { schema: OperationId }) operationId: string,
    @Body({ schema: ConfirmBody }) { preview_id, reason }: ConfirmBody,
    @CallerOf() caller: Caller,
  ): Promise<CommandOut> {
    return toCommandOut(
      granted(await this.commands.confirm(operationId, preview_id, reason, personOf(caller))),
    );
  }

  @Post(':preview_id/approval')
  @HttpCode(202)
  @Access({ scopes: ['support_lead'] })
  @ApiOperation({
    summary: 'Approve a command as its second person',
    description:
      'Where a command moves more than one person may. Its evidence is in the timeline (command_requested) and in the answer to the same command sent again.',
  })
  @OptionalBody()
  @Answers(202, CommandOut, 'The command, carried out')
  @ProblemsWithBody(
    'not_found',
    'command_not_available',
    'preview_expired',
    'operation_changed',
    'second_person_needed',
  )
  async approve(
    @Param('operation_id', { schema: OperationId }) operationId: string,
    @Param('preview_id', { schema: PreviewId }) previewId: string,
    @Body({ schema: ApprovalBody }) { reason }: ApprovalBody,
    @CallerOf() caller: Caller,
  ): Promise<CommandOut> {
    return toCommandOut(
      granted(await this.commands.approve(operationId, previewId, reason, personOf(caller))),
    );
  }
}

/** The command, or the problem that the answer stands for. */
const granted = (answer: CommandAnswer): CommandRecord =>
  answer.kind === 'command' ? answer.command : refuse(answer);

const previewOf = ({ preview_id, resource_version, evidence, effects, expires_at }: CommandRecord) => ({
  preview_id,
  resource_version,
  evidence,
  effects: [...effects],
  expires_at,
});

const toPreviewOut = (command: CommandRecord): PreviewOut => previewOf(command) as PreviewOut;

function toCommandOut(command: CommandRecord): CommandOut {
  const { operation_id, parameters, state, reason, requested_by, requested_at } = command;
  const { approved_by, approved_at, outcome } = command;
  return {
    ...toPreviewOut(command),
    operation_id,
    command: command.command,
    parameters: { ...parameters },
    state,
    reason,
    requested_by,
    requested_at,
    approved_by,
    approved_at,
    outcome,
  } as CommandOut;
}
