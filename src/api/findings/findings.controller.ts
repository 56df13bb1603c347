/** What the two-sided sweep found: money without its operation, and the other way round. */
import { Controller, Get, Inject, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FindingStore, ListedFinding } from '../../store/finding-store.js';
import { Access } from '../http/access.js';
import { invalidRequest } from '../http/problem.js';
import { Answers, Problems } from '../openapi/decorators.js';
import { FindingList, type FindingOut, FindingsQuery } from '../schemas/findings.js';
import { FINDINGS } from '../tokens.js';

@ApiTags('findings')
@Controller('v1/findings')
export class FindingsController {
  constructor(@Inject(FINDINGS) private readonly findings: Pick<FindingStore, 'list'>) {}

  @Get()
  @Access({ scopes: ['support'], query: true })
  @ApiOperation({
    summary: 'List where the provider and the record do not fit together, newest first',
    description:
      'A finding resolves by itself when its reason is gone. Money moves only when a person decides so by a command.',
  })
  @Answers(200, FindingList, 'One page')
  @Problems()
  async listFindings(@Query({ schema: FindingsQuery }) query: FindingsQuery): Promise<FindingList> {
    const page = await this.findings.list(query);
    if (page === null) throw invalidRequest([{ pointer: '?cursor', detail: 'is not a cursor of this list' }]);
    return { items: page.items.map(toFindingOut), next_cursor: page.next_cursor };
  }
}

const toFindingOut = ({ amount, currency, suggested, evidence, ...finding }: ListedFinding): FindingOut => ({
  finding_id: finding.finding_id,
  resource_version: finding.resource_version,
  kind: finding.kind,
  account: finding.account,
  state: finding.state,
  provider_reference: finding.provider_reference,
  operation_id: finding.operation_id,
  amount: { value: amount, currency },
  message: finding.message,
  evidence: {
    provider: evidence.provider === null ? null : { ...evidence.provider },
    recorded: evidence.recorded === null ? null : { ...evidence.recorded },
    ...(evidence.proof === undefined ? {} : { proof: { ...evidence.proof } }),
  },
  suggested_command: suggested,
  first_seen_at: finding.first_seen_at,
  last_seen_at: finding.last_seen_at,
  resolved_at: finding.resolved_at,
  dismissed: dismissedOut(finding.dismissed),
  last_command: finding.last_command === null ? null : { ...finding.last_command },
});

const dismissedOut = (dismissed: ListedFinding['dismissed']): FindingOut['dismissed'] =>
  dismissed === null ? null : { by: dismissed.by, reason: dismissed.reason, at: dismissed.at };
