/** What the front end needs while the customer acts. */
import { Controller, Get, Inject, Param } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { OperationId } from '../../operation/spec.js';
import type { ClientSecrets } from '../../reconciler/client-secret.js';
import { Access } from '../http/access.js';
import { operationNotFound, ProblemError, unavailable } from '../http/problem.js';
import { Answers, Problems } from '../openapi/decorators.js';
import { ClientSecretOut } from '../schemas/customer.js';
import { CLIENT_SECRETS } from '../tokens.js';

@ApiTags('operations')
@Controller('v1/operations/:operation_id')
export class CustomerController {
  constructor(@Inject(CLIENT_SECRETS) private readonly secrets: ClientSecrets) {}

  /** No cache may keep the answer: every route under /v1 says no-store, see the server. */
  @Get('client_secret')
  @Access({ scopes: ['checkout'] })
  @ApiOperation({
    summary: 'The secret by which the front end lets the customer act on the payment',
    description:
      'Read from the provider at this moment and kept nowhere. 409 while there is no payment, or none that the customer could act on.',
  })
  @Answers(200, ClientSecretOut, 'For the front end only')
  @Problems('not_found', 'command_not_available')
  async clientSecret(
    @Param('operation_id', { schema: OperationId }) operationId: string,
  ): Promise<ClientSecretOut> {
    const answer = await this.secrets.read(operationId);
    switch (answer?.kind) {
      case undefined:
        throw operationNotFound();
      case 'shown':
        return { client_secret: answer.client_secret };
      case 'not_available':
        throw new ProblemError('command_not_available', answer.why);
      case 'unreadable':
        throw unavailable('The payment cannot be read at the provider now.');
    }
  }
}
