/** Requests with a rule of their own: cancel, refund, capture, pay again. All are stored, then carried out. */
import { Body, Controller, Headers, Inject, Param, Post, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import {
  requestCancellation,
  requestCapture,
  requestRefund,
  tryPaymentAgain,
} from '../../operation/change.js';
import type { Policy } from '../../operation/operation.js';
import { OperationId, type RefundRequest } from '../../operation/spec.js';
import { Access, CallerOf } from '../http/access.js';
import type { Caller } from '../http/authentication.js';
import { parseIfMatch } from '../http/if-match.js';
import { Answers, IfMatchHeader, OptionalBody, ProblemsWithBody } from '../openapi/decorators.js';
import { OperationOut } from '../schemas/operation.js';
import { CancelBody, CaptureBody, PaymentBody, RefundBody } from '../schemas/requests.js';
import { POLICY } from '../tokens.js';
import { answerWith } from './answer.js';
import { Writes, type Decide } from './writes.js';

@ApiTags('operations')
@Controller('v1/operations/:operation_id')
export class ActionsController {
  constructor(
    @Inject(POLICY) private readonly policy: Policy,
    @Inject(Writes) private readonly writes: Writes,
  ) {}

  @Post('cancel')
  @Access({ scopes: ['checkout'] })
  @ApiOperation({
    summary: 'Cancel: give back all money and stock',
    description:
      'May be sent again at any time. Accepted is not done: status.cancellation.completed_at tells.',
  })
  @IfMatchHeader(false)
  @OptionalBody()
  @Answers(202, OperationOut, 'Accepted and being carried out', ['ETag'])
  @Answers(200, OperationOut, 'Cancelled: no money is kept and no stock is held', ['ETag'])
  @ProblemsWithBody('not_found', 'version_mismatch')
  async cancel(
    @Param('operation_id', { schema: OperationId }) operationId: string,
    @Headers('if-match') ifMatch: string | undefined,
    @Body({ schema: CancelBody }) body: CancelBody,
    @CallerOf() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OperationOut> {
    const record = await this.writes.change(
      operationId,
      caller,
      (operation, asking) => requestCancellation(operation, body.reason, asking),
      { ifMatch: parseIfMatch(ifMatch) },
    );
    return answerWith(reply, record.status.phase === 'cancelled' ? 200 : 202, record, this.policy);
  }

  @Post('refunds')
  @Access({ scopes: ['checkout'] })
  @ApiOperation({
    summary: 'Refund a part or all of what was captured',
    description: 'Idempotent by refund_id.',
  })
  @IfMatchHeader(false)
  @Answers(202, OperationOut, 'Accepted; status.refunds tells what became of it', ['ETag'])
  @ProblemsWithBody('not_found', 'version_mismatch', 'refund_conflict', 'amount_not_refundable')
  async refund(
    @Param('operation_id', { schema: OperationId }) operationId: string,
    @Headers('if-match') ifMatch: string | undefined,
    @Body({ schema: RefundBody }) body: RefundRequest,
    @CallerOf() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OperationOut> {
    return this.accept(operationId, caller, (operation) => requestRefund(operation, body), ifMatch, reply);
  }

  @Post('capture')
  @Access({ scopes: ['checkout'] })
  @ApiOperation({
    summary: 'Capture an authorized payment (capture: manual)',
    description: 'A payment is captured once. The order wants to be fulfilled from then on.',
  })
  @IfMatchHeader(false)
  @OptionalBody()
  @Answers(202, OperationOut, 'Accepted', ['ETag'])
  @ProblemsWithBody('not_found', 'version_mismatch', 'amount_not_capturable')
  async capture(
    @Param('operation_id', { schema: OperationId }) operationId: string,
    @Headers('if-match') ifMatch: string | undefined,
    @Body({ schema: CaptureBody }) body: CaptureBody,
    @CallerOf() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OperationOut> {
    const decide: Decide = (operation, asking) => requestCapture(operation, body.amount, asking);
    return this.accept(operationId, caller, decide, ifMatch, reply);
  }

  @Post('payment')
  @Access({ scopes: ['checkout'] })
  @ApiOperation({
    summary: 'The customer tries to pay again, with the same method or another',
    description: 'After payment_failed or while awaiting_customer; refused while a payment lives.',
  })
  @IfMatchHeader(false)
  @OptionalBody()
  @Answers(202, OperationOut, 'Accepted', ['ETag'])
  @ProblemsWithBody('not_found', 'version_mismatch', 'payment_alive', 'command_not_available')
  async payAgain(
    @Param('operation_id', { schema: OperationId }) operationId: string,
    @Headers('if-match') ifMatch: string | undefined,
    @Body({ schema: PaymentBody }) body: PaymentBody,
    @CallerOf() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OperationOut> {
    const decide: Decide = (operation, asking) => tryPaymentAgain(operation, body.payment_method, asking);
    return this.accept(operationId, caller, decide, ifMatch, reply);
  }

  private async accept(
    operationId: string,
    caller: Caller,
    decide: Decide,
    ifMatch: string | undefined,
    reply: FastifyReply,
  ): Promise<OperationOut> {
    const record = await this.writes.change(operationId, caller, decide, {
      ifMatch: parseIfMatch(ifMatch),
      amountPointer: '/amount',
    });
    return answerWith(reply, 202, record, this.policy);
  }
}
