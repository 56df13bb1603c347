/** Creating, reading, listing and changing operations. */
import { Body, Controller, Get, Headers, Inject, Param, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Policy } from '../../operation/operation.js';
import { patchSpec } from '../../operation/patch.js';
import { OperationId } from '../../operation/spec.js';
import type { OperationStore } from '../../store/operation-store.js';
import { Access, CallerOf } from '../http/access.js';
import type { Caller } from '../http/authentication.js';
import { parseIfMatch } from '../http/if-match.js';
import { invalidRequest, operationNotFound, ProblemError } from '../http/problem.js';
import { Answers, IfMatchHeader, Problems, ProblemsWithBody } from '../openapi/decorators.js';
import { OperationList, OperationOut } from '../schemas/operation.js';
import { CreateBody, ListQuery, PatchBody, ReadQuery } from '../schemas/requests.js';
import { POLICY, STORE } from '../tokens.js';
import { answerWith, locationOf } from './answer.js';
import { toOperationOut } from './representation.js';
import { isAtRest } from './rest.js';
import { Waiters } from './waiters.js';
import { Writes } from './writes.js';

@ApiTags('operations')
@Controller('v1/operations')
export class OperationsController {
  constructor(
    @Inject(STORE) private readonly store: OperationStore,
    @Inject(POLICY) private readonly policy: Policy,
    @Inject(Writes) private readonly writes: Writes,
    @Inject(Waiters) private readonly waiters: Waiters,
  ) {}

  @Post()
  @Access({ scopes: ['checkout'] })
  @ApiOperation({
    summary: 'Store what is wanted of an order',
    description:
      'Idempotent by operation_id: the same request again is answered with the operation as it is now.',
  })
  @Answers(201, OperationOut, 'Stored', ['Location', 'ETag'])
  @Answers(200, OperationOut, 'The same spec was stored before', ['Location', 'ETag'])
  @ProblemsWithBody('operation_conflict')
  async create(
    @Body({ schema: CreateBody }) body: CreateBody,
    @CallerOf() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OperationOut> {
    const { record, created } = await this.writes.create(body, caller);
    void reply.header('location', locationOf(record.operation_id));
    return answerWith(reply, created ? 201 : 200, record, this.policy);
  }

  @Get()
  @Access({ scopes: ['checkout', 'support'], query: true })
  @ApiOperation({ summary: 'List operations, newest first' })
  @Answers(200, OperationList, 'One page')
  @Problems()
  async list(@Query({ schema: ListQuery }) query: ListQuery): Promise<OperationList> {
    const page = await this.store.list(query);
    if (page === null) throw invalidRequest([{ pointer: '?cursor', detail: 'is not a cursor of this list' }]);
    return {
      items: page.items.map((record) => toOperationOut(record, this.policy)),
      next_cursor: page.next_cursor,
    };
  }

  @Get(':operation_id')
  @Access({ scopes: ['checkout', 'support'], query: true })
  @ApiOperation({ summary: 'Read one operation' })
  @Answers(200, OperationOut, 'As it is stored now', ['ETag'])
  @Problems('not_found')
  async read(
    @Param('operation_id', { schema: OperationId }) operationId: string,
    @Query({ schema: ReadQuery }) query: ReadQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OperationOut> {
    const record = await this.store.find(operationId);
    if (record === null) throw operationNotFound();
    const waits = query.wait !== undefined && query.wait > 0 && !isAtRest(record);
    const settled = waits ? await this.waiters.wait(operationId, query.wait ?? 0, gone(reply)) : record;
    return answerWith(reply, 200, settled ?? (await this.store.find(operationId)) ?? record, this.policy);
  }

  @Patch(':operation_id')
  @Access({ scopes: ['checkout'] })
  @ApiOperation({
    summary: 'Change the spec by a JSON merge patch',
    description:
      'The body is the patch of the spec itself. What may change depends on what has happened already.',
  })
  @ApiBody({ schema: { $ref: '#/components/schemas/SpecPatch' } })
  @IfMatchHeader(true)
  @Answers(200, OperationOut, 'Stored', ['ETag'])
  @ProblemsWithBody(
    'not_found',
    'version_mismatch',
    'spec_member_immutable',
    'amount_not_refundable',
    'amount_not_capturable',
    'precondition_required',
  )
  async patch(
    @Param('operation_id', { schema: OperationId }) operationId: string,
    @Headers('if-match') header: string | undefined,
    @Body({ schema: PatchBody }) patch: unknown,
    @CallerOf() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OperationOut> {
    const ifMatch = parseIfMatch(header);
    if (ifMatch === undefined) {
      throw new ProblemError(
        'precondition_required',
        'Send If-Match with the ETag of the version that you read, or *.',
      );
    }
    const record = await this.writes.change(
      operationId,
      caller,
      (operation, asking) => patchSpec(operation, patch, asking),
      { ifMatch },
    );
    return answerWith(reply, 200, record, this.policy);
  }
}

/** Aborts when the client has gone away (or has been answered, when nobody listens any more). */
function gone(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once('close', () => controller.abort());
  return controller.signal;
}
