/** What happened, what was sent, and what would be done now. */
import { Controller, Get, Inject, Param } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Reading } from '../../operation/observation.js';
import { OperationId } from '../../operation/spec.js';
import type { Plan, Planner } from '../../reconciler/plan.js';
import type { OperationStore } from '../../store/operation-store.js';
import { Access } from '../http/access.js';
import { operationNotFound } from '../http/problem.js';
import { Answers, Problems } from '../openapi/decorators.js';
import { AttemptList, EventList, PlanOut } from '../schemas/journal.js';
import { PLANNER, STORE } from '../tokens.js';

@ApiTags('operations')
@Controller('v1/operations/:operation_id')
export class JournalController {
  constructor(
    @Inject(STORE) private readonly store: OperationStore,
    @Inject(PLANNER) private readonly planner: Planner,
  ) {}

  @Get('events')
  @Access({ scopes: ['checkout', 'support'] })
  @ApiOperation({ summary: 'The timeline: who did what, and what was seen' })
  @Answers(200, EventList, 'Ordered by sequence')
  @Problems('not_found')
  async events(@Param('operation_id', { schema: OperationId }) operationId: string): Promise<EventList> {
    const [record, events] = await Promise.all([
      this.store.find(operationId),
      this.store.events(operationId),
    ]);
    if (record === null) throw operationNotFound();
    return {
      items: events.map(({ sequence, at, type, actor, message, data }) => ({
        sequence,
        at,
        type,
        actor,
        message,
        data: data === undefined ? null : { ...data },
      })),
    };
  }

  @Get('attempts')
  @Access({ scopes: ['checkout', 'support'] })
  @ApiOperation({ summary: 'The journal of effects: what was sent, under which key, and what was answered' })
  @Answers(200, AttemptList, 'Ordered by sequence')
  @Problems('not_found')
  async attempts(@Param('operation_id', { schema: OperationId }) operationId: string): Promise<AttemptList> {
    const [record, attempts] = await Promise.all([
      this.store.find(operationId),
      this.store.attempts(operationId),
    ]);
    if (record === null) throw operationNotFound();
    return {
      items: attempts.map((attempt) => ({
        sequence: attempt.sequence,
        attempt_id: attempt.attempt_id,
        step: attempt.step,
        target: attempt.target,
        ordinal: attempt.ordinal,
        effect_key: attempt.effect_key,
        parameters: { ...attempt.parameters },
        generation: attempt.generation,
        fencing_token: attempt.fencing_token,
        started_at: attempt.started_at,
        completed_at: attempt.completed_at,
        outcome: attempt.outcome,
        failure: attempt.failure,
        request_id: attempt.request_id,
        resolution: attempt.resolution,
      })),
    };
  }

  @Get('plan')
  @Access({ scopes: ['support'] })
  @ApiOperation({
    summary: 'What would be done now',
    description: 'Reads the provider and the warehouse and decides as the loop would; nothing is done.',
  })
  @Answers(200, PlanOut, 'A fresh reading, the differences and the decision')
  @Problems('not_found')
  async plan(@Param('operation_id', { schema: OperationId }) operationId: string): Promise<PlanOut> {
    const plan = await this.planner.plan(operationId);
    if (plan === null) throw operationNotFound();
    return toPlanOut(plan);
  }
}

function toPlanOut({ record, observation, decision, differences }: Plan): PlanOut {
  return {
    operation_id: record.operation_id,
    resource_version: record.resource_version,
    observed: {
      at: observation.at,
      payment: evidence(observation.payment),
      inventory: evidence(observation.inventory),
    },
    differences: [...differences],
    decision,
  };
}

function evidence(reading: Reading<object>): PlanOut['observed']['payment'] {
  return reading.kind === 'present' ? { kind: 'present', value: { ...reading.value } } : reading;
}
