/** The attention queue: what needs a person, and who looks after it. */
import { Body, Controller, Get, Inject, Param, Put } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Clock } from '../../clock.js';
import { OperationId } from '../../operation/spec.js';
import type { Triage } from '../../store/triage-store.js';
import type { SupportDesk } from '../dependencies.js';
import { Access, CallerOf } from '../http/access.js';
import { actorOf, type Caller } from '../http/authentication.js';
import { invalidRequest, operationNotFound } from '../http/problem.js';
import { Answers, Problems, ProblemsWithBody } from '../openapi/decorators.js';
import { AttentionOut, TriageBody, TriageOut } from '../schemas/triage.js';
import { CLOCK, DESK } from '../tokens.js';
import { toApproval, toAttentionOut } from './attention.js';

/** What is hidden for longer is forgotten. */
const LONGEST_SNOOZE_DAYS = 90;

@ApiTags('support')
@Controller('v1')
export class TriageController {
  constructor(
    @Inject(DESK) private readonly desk: SupportDesk,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get('attention')
  @Access({ scopes: ['support'] })
  @ApiOperation({
    summary: 'How many operations need a person, and why; what waits for a second person',
    description: 'The operations themselves: GET /v1/operations?attention=true&reason=…',
  })
  @Answers(
    200,
    AttentionOut,
    'Counts by reason, account, age and assignee, the money at stake, and what is to be approved',
  )
  @Problems()
  async attention(): Promise<AttentionOut> {
    const { triage } = this.desk;
    const [groups, approvals] = await Promise.all([triage.count(), triage.approvals()]);
    return {
      ...toAttentionOut(groups, this.clock.now().toISOString()),
      approvals: approvals.map(toApproval),
    };
  }

  @Get('operations/:operation_id/triage')
  @Access({ scopes: ['support'] })
  @ApiOperation({ summary: 'Who looks after an operation, and the notes about it' })
  @Answers(200, TriageOut, 'As it is now')
  @Problems('not_found')
  async readTriage(@Param('operation_id', { schema: OperationId }) operationId: string): Promise<TriageOut> {
    return this.answer(operationId);
  }

  @Put('operations/:operation_id/triage')
  @Access({ scopes: ['support'] })
  @ApiOperation({
    summary: 'Assign, snooze, take a note',
    description:
      'Members that are left out stay as they are. It is kept beside the operation: neither its ETag nor the work on it ' +
      'is touched. A snooze is over at its time, or as soon as the operation needs a person for something else.',
  })
  @Answers(200, TriageOut, 'Stored')
  @ProblemsWithBody('not_found')
  async triage(
    @Param('operation_id', { schema: OperationId }) operationId: string,
    @Body({ schema: TriageBody }) body: TriageBody,
    @CallerOf() caller: Caller,
  ): Promise<TriageOut> {
    this.checkSnooze(body.snooze_until);
    if (
      Object.keys(body).length > 0 &&
      !(await this.desk.triage.change(operationId, body, actorOf(caller)))
    ) {
      throw operationNotFound();
    }
    return this.answer(operationId);
  }

  private checkSnooze(until: string | null | undefined): void {
    if (until == null) return;
    const days = (Date.parse(until) - this.clock.now().getTime()) / 86_400_000;
    if (days > 0 && days <= LONGEST_SNOOZE_DAYS) return;
    const detail = `must be a moment within the next ${LONGEST_SNOOZE_DAYS} days`;
    throw invalidRequest([{ pointer: '/snooze_until', detail }]);
  }

  private async answer(operationId: string): Promise<TriageOut> {
    const triage = await this.desk.triage.find(operationId);
    if (triage === null) throw operationNotFound();
    return toTriageOut(operationId, triage);
  }
}

export const toTriageOut = (operationId: string, { notes, ...triage }: Triage): TriageOut => ({
  operation_id: operationId,
  ...triage,
  notes: notes.map(({ at, actor, message }) => ({ at, actor, note: message })),
});
