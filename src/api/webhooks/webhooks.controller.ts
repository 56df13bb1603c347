/** Webhooks of the provider: verified, stored, answered. They cause a reading and nothing else. */
import { applyDecorators, Controller, HttpCode, Inject, Param, Post, Req } from '@nestjs/common';
import { ApiBody, ApiHeader, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import type { Clock } from '../../clock.js';
import { DEFAULT_ACCOUNT } from '../../operation/spec.js';
import type { Bell } from '../../reconciler/bell.js';
import type { EventInbox, ProviderEvent, Received } from '../../store/event-inbox.js';
import type { Metrics } from '../../telemetry/metrics.js';
import { TooLate, within } from '../../within.js';
import { Access } from '../http/access.js';
import { invalidRequest, ProblemError, unavailable } from '../http/problem.js';
import { Answers, PublicProblems } from '../openapi/decorators.js';
import { WebhookOut } from '../schemas/webhooks.js';
import { ACCOUNTS, BELL, CLOCK, INBOX, METRICS, WEBHOOK_SECRETS } from '../tokens.js';
import { readEvent } from './event.js';
import { signatureProblem } from './signature.js';

/** Storing takes milliseconds. A database that hangs must not collect open requests: the provider sends again. */
const PATIENCE_MS = 5_000;

const Hook = (summary: string): MethodDecorator =>
  applyDecorators(
    Access({ scopes: 'public', raw_body: true }),
    HttpCode(200),
    ApiOperation({
      summary,
      description:
        'Needs no API key: the signature is the credential. 2xx once the event is durable, whatever its type; the ' +
        'provider sends it again otherwise. Whom it concerns is read at the provider; nothing is taken from the event.',
    }),
    ApiHeader({
      name: 'Stripe-Signature',
      required: true,
      description: 'With one v1 for each secret; the time may be 300 s away from ours, in both directions',
      schema: {
        type: 'string',
        example: 't=1767225600,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff5…',
      },
    }),
    ApiBody({
      description: 'The event, byte by byte as it was signed; up to 1 MB',
      schema: { type: 'object', additionalProperties: true, required: ['id', 'type'] },
    }),
    Answers(200, WebhookOut, 'Stored'),
    PublicProblems(
      'signature_invalid',
      'invalid_request',
      'not_found',
      'payload_too_large',
      'webhooks_not_configured',
    ),
  );

@ApiTags('webhooks')
@Controller('v1/webhooks/stripe')
export class WebhooksController {
  constructor(
    @Inject(INBOX) private readonly inbox: EventInbox,
    @Inject(WEBHOOK_SECRETS) private readonly secrets: ReadonlyMap<string, readonly string[]>,
    @Inject(ACCOUNTS) private readonly accounts: readonly string[],
    @Inject(BELL) private readonly bell: Bell,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(METRICS) private readonly metrics: Metrics,
  ) {}

  @Post()
  @Hook('A webhook of Stripe, for the default account')
  receive(@Req() request: FastifyRequest): Promise<WebhookOut> {
    return this.take(DEFAULT_ACCOUNT, request);
  }

  @Post(':account')
  @Hook('A webhook of Stripe, for an account by its name here')
  receiveForAccount(@Param('account') account: string, @Req() request: FastifyRequest): Promise<WebhookOut> {
    return this.take(account, request);
  }

  private async take(account: string, request: FastifyRequest): Promise<WebhookOut> {
    const event = this.verified(account, request);
    const received = await this.store(event);
    this.metrics.providerEvents.inc({ account, result: received.kind });
    if (received.kind === 'woken') this.bell.ring();
    return { received: true, result: received.kind };
  }

  private verified(account: string, { body, headers }: FastifyRequest): ProviderEvent {
    if (!this.accounts.includes(account)) throw new ProblemError('not_found', 'There is no such account.');
    const secrets = this.secrets.get(account) ?? [];
    if (secrets.length === 0) {
      throw new ProblemError(
        'webhooks_not_configured',
        'No webhook secret is configured for this account, so nothing can be verified.',
      );
    }
    const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
    // Never twice in a request that Stripe made; if it is, Node joins them, and the header then names several times.
    const header = headers['stripe-signature']?.toString();
    const problem = signatureProblem({ header, body: bytes }, secrets, this.clock.now());
    if (problem !== null) {
      this.metrics.providerEvents.inc({ account, result: 'refused' });
      throw new ProblemError('signature_invalid', problem);
    }
    const event = readEvent(bytes, account);
    if (event === null) throw invalidRequest([{ pointer: '', detail: 'is not an event with id and type' }]);
    return event;
  }

  private async store(event: ProviderEvent): Promise<Received> {
    try {
      return await within(PATIENCE_MS, this.inbox.receive(event));
    } catch (error) {
      // What is stored after all is found by the redelivery, as a duplicate that has woken.
      if (error instanceof TooLate) throw unavailable('The database does not answer; send it again.');
      throw error;
    }
  }
}
