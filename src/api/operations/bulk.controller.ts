/** One command for many operations: preview, confirm, approve, and how far it is. */
import { Body, Controller, Get, HttpCode, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Command } from '../../operation/command-rule.js';
import type { BulkAnswer, BulkCommands } from '../../reconciler/bulk-desk.js';
import type { BulkRecord } from '../../store/bulk-store.js';
import { Access, CallerOf } from '../http/access.js';
import type { Caller } from '../http/authentication.js';
import { Answers, OptionalBody, Problems, ProblemsWithBody } from '../openapi/decorators.js';
import {
  BulkConfirmBody,
  BulkId,
  BulkOut,
  BulkPreviewBody,
  BulkPreviewOut,
  BulkQuery,
} from '../schemas/bulk.js';
import { ApprovalBody } from '../schemas/commands.js';
import { BULK } from '../tokens.js';
import { toBulkOut, toBulkPreviewOut } from './bulk-representation.js';
import { personOf, refuse } from './deciding.js';

@ApiTags('commands')
@Controller('v1/bulk-commands')
export class BulkController {
  constructor(@Inject(BULK) private readonly bulk: BulkCommands) {}

  @Post('preview')
  @HttpCode(201)
  @Access({ scopes: ['support'] })
  @ApiOperation({
    summary: 'What a command would do to each of many operations, judged by fresh readings',
    description:
      'Nothing is done. The list is frozen: what is excluded, and why, is told. Some ten operations are read a second; ' +
      'after half a minute what was not read yet is excluded.',
  })
  @Answers(201, BulkPreviewOut, 'Each row with its own effects, to be confirmed as a whole before it expires')
  @ProblemsWithBody()
  async previewBulk(
    @Body({ schema: BulkPreviewBody })
    { operation_ids, ...command }: Command & { readonly operation_ids: readonly string[] },
    @CallerOf() caller: Caller,
  ): Promise<BulkPreviewOut> {
    return toBulkPreviewOut(granted(await this.bulk.preview(command, operation_ids, personOf(caller))));
  }

  @Post()
  @HttpCode(202)
  @Access({ scopes: ['support'] })
  @ApiOperation({
    summary: 'Carry out all rows of what was previewed',
    description:
      'The same bulk_id again is the same decision, and shows how far it is. Each row is looked at again when its turn ' +
      'comes, and refused when anything that matters has changed.',
  })
  @Answers(202, BulkOut, 'It is carried out from now on, or waits for a second person')
  @ProblemsWithBody('not_found', 'command_not_available', 'preview_expired')
  async confirmBulk(
    @Body({ schema: BulkConfirmBody }) { bulk_id, reason, stop_after_failures }: BulkConfirmBody,
    @CallerOf() caller: Caller,
  ): Promise<BulkOut> {
    return toBulkOut(
      granted(await this.bulk.confirm(bulk_id, reason, stop_after_failures, personOf(caller))),
    );
  }

  @Get(':bulk_id')
  @Access({ scopes: ['support'], query: true })
  @ApiOperation({ summary: 'How far a bulk command is' })
  @Answers(200, BulkOut, 'All rows')
  @Problems('not_found')
  async getBulk(
    @Param('bulk_id', { schema: BulkId }) bulkId: string,
    @Query({ schema: BulkQuery }) { evidence }: BulkQuery,
  ): Promise<BulkOut> {
    return toBulkOut(granted(await this.bulk.find(bulkId, evidence)));
  }

  @Post(':bulk_id/approval')
  @HttpCode(202)
  @Access({ scopes: ['support_lead'] })
  @ApiOperation({
    summary: 'Approve a bulk command as its second person',
    description:
      'Where all rows together move more than one person may. `GET …?evidence=true` shows what the first person saw.',
  })
  @OptionalBody()
  @Answers(202, BulkOut, 'It is carried out from now on')
  @ProblemsWithBody('not_found', 'command_not_available', 'preview_expired', 'second_person_needed')
  async approveBulk(
    @Param('bulk_id', { schema: BulkId }) bulkId: string,
    @Body({ schema: ApprovalBody }) { reason }: ApprovalBody,
    @CallerOf() caller: Caller,
  ): Promise<BulkOut> {
    return toBulkOut(granted(await this.bulk.approve(bulkId, reason, personOf(caller))));
  }
}

const granted = (answer: BulkAnswer): BulkRecord => (answer.kind === 'bulk' ? answer.bulk : refuse(answer));
