/** Erasing personal data on demand. */
import { Body, Controller, HttpCode, Inject, Param, Post, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Policy } from '../../operation/operation.js';
import { OperationId } from '../../operation/spec.js';
import type { Eraser } from '../../retention/eraser.js';
import type { OperationStore } from '../../store/operation-store.js';
import { Access, CallerOf } from '../http/access.js';
import { actorOf, type Caller } from '../http/authentication.js';
import { operationNotFound, ProblemError } from '../http/problem.js';
import { Answers, ProblemsWithBody } from '../openapi/decorators.js';
import { answerWith } from '../operations/answer.js';
import { ErasureBody } from '../schemas/erasure.js';
import { OperationOut } from '../schemas/operation.js';
import { ERASER, POLICY, STORE } from '../tokens.js';

@ApiTags('support')
@Controller('v1/operations/:operation_id/erasure')
export class ErasureController {
  constructor(
    @Inject(ERASER) private readonly eraser: Pick<Eraser, 'erase'>,
    @Inject(STORE) private readonly store: OperationStore,
    @Inject(POLICY) private readonly policy: Policy,
  ) {}

  @Post()
  @HttpCode(200)
  @Access({ scopes: ['support_lead'] })
  @ApiOperation({
    summary: 'Erase the personal data of a settled operation',
    description:
      'Customer, payment method, labels, notes and reasons go; amounts, ids, keys and times stay, and so does the watch over its ' +
      'money. It cannot be undone. Refused while the operation is not settled, or something of it is open.',
  })
  @Answers(200, OperationOut, 'Erased', ['ETag'])
  @ProblemsWithBody('not_found', 'command_not_available')
  async erase(
    @Param('operation_id', { schema: OperationId }) operationId: string,
    @Body({ schema: ErasureBody }) { reason }: ErasureBody,
    @CallerOf() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OperationOut> {
    const erased = await this.eraser.erase(operationId, reason, actorOf(caller));
    if (erased.kind === 'not_yet') throw new ProblemError('command_not_available', erased.why);
    const record = erased.kind === 'erased' ? await this.store.find(operationId) : null;
    if (record === null) throw operationNotFound();
    return answerWith(reply, 200, record, this.policy);
  }
}
