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
import { TooLate, within } from '../../within.js';

/** Probes usually give up after a second or a few; a check that hangs is an answer, too. */
const READINESS_TIMEOUT_MS = 2_000;

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
    return { status: 'alive' };
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
    const { ready, checks } = await this.check();
    void reply.status(ready ? 200 : 503).header('cache-control', 'no-store');
    return { status: ready ? 'ready' : 'not_ready', checks };
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

  private async check(): Promise<{ ready: boolean; checks: Record<string, string> }> {
    try {
      const { ready, checks } = await within(READINESS_TIMEOUT_MS, this.readiness.check());
      return { ready, checks: { ...checks } };
    } catch (error) {
      return {
        ready: false,
        checks: { readiness: error instanceof TooLate ? 'no answer in time' : 'failed' },
      };
    }
  }
}
