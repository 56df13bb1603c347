/** The wiring of the API, on one screen. */
import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import type { ApiDependencies } from './dependencies.js';
import { FindingCommandsController } from './findings/finding-commands.controller.js';
import { FindingsController } from './findings/findings.controller.js';
import { ActionsController } from './operations/actions.controller.js';
import { BulkController } from './operations/bulk.controller.js';
import { CommandsController } from './operations/commands.controller.js';
import { CustomerController } from './operations/customer.controller.js';
import { JournalController } from './operations/journal.controller.js';
import { OperationsController } from './operations/operations.controller.js';
import { Waiters } from './operations/waiters.js';
import { Writes } from './operations/writes.js';
import { ProbesController } from './probes/probes.controller.js';
import { AccountsController } from './support/accounts.controller.js';
import { ErasureController } from './support/erasure.controller.js';
import { HandoverController } from './support/handover.controller.js';
import { TriageController } from './support/triage.controller.js';
import { WebhooksController } from './webhooks/webhooks.controller.js';
import {
  ACCOUNTS,
  AMOUNT_PROBLEM,
  BELL,
  BULK,
  CLIENT_SECRETS,
  CLOCK,
  COMMANDS,
  FINDING_COMMANDS,
  FINDINGS,
  DESK,
  ERASER,
  INBOX,
  LOGGER,
  METRICS,
  PLANNER,
  POLICY,
  READINESS,
  STORE,
  WEBHOOK_SECRETS,
} from './tokens.js';

const value = (provide: symbol, useValue: unknown): Provider => ({ provide, useValue });

const providersOf = (dependencies: ApiDependencies): Provider[] => [
  value(READINESS, dependencies.readiness),
  value(METRICS, dependencies.metrics),
  value(LOGGER, dependencies.logger),
  value(STORE, dependencies.store),
  value(FINDINGS, dependencies.findings),
  value(BELL, dependencies.bell),
  value(PLANNER, dependencies.planner),
  value(COMMANDS, dependencies.commands),
  value(BULK, dependencies.bulk),
  value(FINDING_COMMANDS, dependencies.findingCommands),
  value(CLIENT_SECRETS, dependencies.clientSecrets),
  value(CLOCK, dependencies.clock),
  value(POLICY, dependencies.policy),
  value(ACCOUNTS, dependencies.accounts),
  value(AMOUNT_PROBLEM, dependencies.amountProblem),
  value(DESK, dependencies.desk),
  value(ERASER, dependencies.eraser),
  value(INBOX, dependencies.inbox),
  value(WEBHOOK_SECRETS, dependencies.webhookSecrets),
  Writes,
  Waiters,
];

@Module({})
export class ApiModule {
  static with(dependencies: ApiDependencies): DynamicModule {
    return {
      module: ApiModule,
      controllers: [
        ProbesController,
        OperationsController,
        ActionsController,
        CustomerController,
        JournalController,
        FindingsController,
        FindingCommandsController,
        CommandsController,
        BulkController,
        AccountsController,
        TriageController,
        HandoverController,
        ErasureController,
        WebhooksController,
      ],
      providers: providersOf(dependencies),
    };
  }
}
