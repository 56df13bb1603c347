/** For orchestrators and Prometheus: alive, ready, metrics. No key is needed. */
import { Controller, Get, Inject, Res } from '@nestjs/common';
import { ApiOperation, ApiProduces, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Metrics } from '../../telemetry/metrics.js';
import type { Readiness } from '../dependencies.js';
import { Access } from '../http/access.js';
import { Answers } from '../openapi/decorators.js';
import { Liveness, ReadinessOut } from '../schemas/probes.js';
import { METRICS, READINESS } from '../tokens.js';
import { alive, readinessOf, statusOf } from './probes.js';

@ApiTags('probes')
@Controller()
export class ProbesController {
  constructor(
    @Inject(READINESS) private readonly readiness: Readiness,
    @Inject(METRICS) private readonly metrics: Metrics,
  ) {}

  @Get('livez')
  @Access({ scopes: 'public' })
  @ApiOperation({ summary: 'The process itself works; its dependencies do not matter here' })
  @Answers(200, Liveness, 'Alive')
  alive(@Res({ passthrough: true }) reply: FastifyReply): Liveness {
    void reply.header('cache-control', 'no-store');
    return alive();
  }

  @Get('readyz')
  @Access({ scopes: 'public' })
  @ApiOperation({ summary: 'The process can do its work now' })
  @Answers(200, ReadinessOut, 'Ready')
  @Answers(
    503,
    ReadinessOut,
    'Not ready: a dependency is away, the schema does not fit, or the process is stopping',
  )
  async ready(@Res({ passthrough: true }) reply: FastifyReply): Promise<ReadinessOut> {
    const readiness = await readinessOf(this.readiness);
    void reply.status(statusOf(readiness)).header('cache-control', 'no-store');
    return readiness;
  }

  @Get('metrics')
  @Access({ scopes: 'public' })
  @ApiOperation({ summary: 'Prometheus metrics' })
  @ApiProduces('text/plain')
  @ApiResponse({ status: 200, description: 'Text exposition format', schema: { type: 'string' } })
  async scrape(@Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    void reply.type(this.metrics.contentType).header('cache-control', 'no-store');
    return this.metrics.exposition();
  }
}
