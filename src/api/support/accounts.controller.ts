/** The provider accounts: how they are, and all writes of one stopped in one call. */
import { Body, Controller, Get, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { Account } from '../../operation/spec.js';
import type { Bell } from '../../reconciler/bell.js';
import type { AccountHealth } from '../../store/account-desk.js';
import type { Logger } from '../../telemetry/logger.js';
import type { SupportDesk } from '../dependencies.js';
import { Access, CallerOf } from '../http/access.js';
import { actorOf, type Caller } from '../http/authentication.js';
import { ProblemError } from '../http/problem.js';
import { Answers, Problems, ProblemsWithBody } from '../openapi/decorators.js';
import { AccountList, AccountOut, AccountSwitch } from '../schemas/accounts.js';
import { ACCOUNTS, BELL, DESK, LOGGER } from '../tokens.js';

@ApiTags('support')
@Controller('v1/accounts')
export class AccountsController {
  constructor(
    @Inject(DESK) private readonly desk: SupportDesk,
    @Inject(ACCOUNTS) private readonly configured: readonly string[],
    @Inject(BELL) private readonly bell: Bell,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Get()
  @Access({ scopes: ['support'] })
  @ApiOperation({
    summary: 'How the provider accounts are',
    description: 'Identity, breaker, throttle, money-out brake, and whether a person stopped their writes.',
  })
  @Answers(200, AccountList, 'All known accounts')
  @Problems()
  async listAccounts(): Promise<AccountList> {
    const accounts = await this.desk.accounts.list();
    return { items: accounts.map((account) => this.shown(account)) };
  }

  @Post(':account/pause')
  @HttpCode(200)
  @Access({ scopes: ['support_lead'] })
  @ApiOperation({
    summary: 'Stop all writes of an account',
    description:
      'From the answer on no process begins a call that changes something for an order of this account; calls under way ' +
      'are counted. Orders, changes and cancellations are still accepted and wait; reading goes on. Asking again changes nothing.',
  })
  @Answers(200, AccountOut, 'Stopped')
  @ProblemsWithBody('not_found')
  async pauseAccount(
    @Param('account') name: string,
    @Body({ schema: AccountSwitch }) { reason }: AccountSwitch,
    @CallerOf() caller: Caller,
  ): Promise<AccountOut> {
    const account = knownName(name);
    if (await this.desk.accounts.pause(account, actorOf(caller), reason)) {
      this.logger.warn({ account, by: caller.name, reason }, 'all writes of the account are stopped');
    }
    return this.answer(account);
  }

  @Post(':account/resume')
  @HttpCode(200)
  @Access({ scopes: ['support_lead'] })
  @ApiOperation({
    summary: 'Let the writes of an account go on',
    description:
      'What waited is looked at again, little by little as after an outage. Asking again changes nothing.',
  })
  @Answers(200, AccountOut, 'Its writes go on')
  @ProblemsWithBody('not_found')
  async resumeAccount(
    @Param('account') name: string,
    @Body({ schema: AccountSwitch }) { reason }: AccountSwitch,
    @CallerOf() caller: Caller,
  ): Promise<AccountOut> {
    const account = knownName(name);
    if (await this.desk.accounts.resume(account, actorOf(caller), reason)) {
      this.logger.warn({ account, by: caller.name, reason }, 'the writes of the account go on');
    }
    this.bell.ring();
    return this.answer(account);
  }

  private async answer(account: string): Promise<AccountOut> {
    const health = await this.desk.accounts.find(account);
    if (health === null) throw accountNotFound();
    return this.shown(health);
  }

  private shown(health: AccountHealth): AccountOut {
    const { breaker, reason, message, since, identity, livemode, pinned_at } = health;
    const limits = this.desk.brake.limitsOf(health.account);
    return {
      account: health.account,
      configured: this.configured.includes(health.account),
      identity: {
        state: identity !== null ? 'verified' : pinned_at === null ? 'not_contacted' : 'unverified',
        provider_account: identity,
        livemode,
        since: pinned_at,
      },
      breaker: { state: breaker, reason, message, since },
      steps_out: health.steps_out.map((out) => ({ ...out })),
      throttled_until: health.throttled_until,
      rate: health.rate === null ? null : Math.round(health.rate * 10) / 10,
      refund_brake: {
        limits: { refunds: limits.refunds, amounts: { ...limits.amounts } },
        used: { refunds: health.refunds, amounts: { ...health.refunded } },
        met_at: health.braked_at,
      },
      paused: health.paused,
      writes_under_way: health.writes_under_way,
      events: health.events.map(({ at, type, actor, reason: why }) => ({ at, type, actor, reason: why })),
    };
  }
}

const accountNotFound = (): ProblemError => new ProblemError('not_found', 'There is no such account.');

function knownName(name: string): string {
  if (!Account.safeParse(name).success) throw accountNotFound();
  return name;
}
