/** An operation handed over to another person, as JSON or as Markdown. */
import { Controller, Get, Headers, Inject, Param, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Clock } from '../../clock.js';
import type { Policy } from '../../operation/operation.js';
import { OperationId } from '../../operation/spec.js';
import type { OperationStore } from '../../store/operation-store.js';
import type { SupportDesk } from '../dependencies.js';
import { Access } from '../http/access.js';
import { operationNotFound } from '../http/problem.js';
import { Answers, Problems } from '../openapi/decorators.js';
import { HandoverOut } from '../schemas/handover.js';
import { CLOCK, DESK, POLICY, STORE } from '../tokens.js';
import { toMarkdown } from './handover-markdown.js';
import { toHandover } from './handover.js';

@ApiTags('support')
@Controller('v1/operations/:operation_id')
export class HandoverController {
  constructor(
    @Inject(STORE) private readonly store: OperationStore,
    @Inject(DESK) private readonly desk: SupportDesk,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(POLICY) private readonly policy: Policy,
  ) {}

  @Get('handover')
  @Access({ scopes: ['support'] })
  @ApiOperation({
    summary: 'All that another person needs to go on with it',
    description:
      'From what is recorded; nothing is read anew (see …/plan for that). Markdown by `Accept: text/markdown`. Free of ' +
      'secrets and of customer data but ids.',
  })
  @Answers(200, HandoverOut, 'What is wanted, what was seen, what is uncertain, what is safe next')
  @Problems('not_found')
  async handover(
    @Param('operation_id', { schema: OperationId }) operationId: string,
    @Headers('accept') accept: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<HandoverOut | string> {
    const [record, attempts, events, triage] = await Promise.all([
      this.store.find(operationId),
      this.store.attempts(operationId),
      this.store.events(operationId),
      this.desk.triage.find(operationId),
    ]);
    if (record === null || triage === null) throw operationNotFound();
    const handover = toHandover({ record, attempts, events, triage }, this.clock.now(), this.policy);
    void reply.header('vary', 'accept');
    if (!wantsMarkdown(accept)) return handover;
    void reply.type('text/markdown; charset=utf-8');
    return toMarkdown(handover);
  }
}

/** Named, and not after JSON. */
function wantsMarkdown(accept: string | undefined): boolean {
  const types = (accept ?? '').split(',').map((part) => part.split(';')[0]?.trim().toLowerCase());
  const markdown = types.indexOf('text/markdown');
  const json = types.indexOf('application/json');
  return markdown >= 0 && (json < 0 || markdown < json);
}
