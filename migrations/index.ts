/** All migrations, in their order. */
import { Operations1700000000001 } from './0001-operations.js';
import { ProviderEvents1700000000002 } from './0002-provider-events.js';
import { Accounts1700000000003 } from './0003-accounts.js';
import { Deadlines1700000000004 } from './0004-deadlines.js';
import { CheapWrites1700000000005 } from './0005-cheap-writes.js';
import { MoneyOutBrake1700000000006 } from './0006-money-out-brake.js';
import { BrokenPasses1700000000007 } from './0007-broken-passes.js';
import { Commands1700000000008 } from './0008-commands.js';
import { Support1700000000009 } from './0009-support.js';
import { Findings1700000000010 } from './0010-findings.js';
import { MoneyOutTurns1700000000012 } from './0012-money-out-turns.js';
import { LeanRows1700000000013 } from './0013-lean-rows.js';
import { FindingCommands1700000000014 } from './0014-finding-commands.js';
import { BulkCommands1700000000015 } from './0015-bulk-commands.js';
import { Retention1700000000016 } from './0016-retention.js';
import { AccountSteps1700000000017 } from './0017-account-steps.js';
import { Deciding1700000000018 } from './0018-deciding.js';

export const MIGRATIONS = [
  Operations1700000000001,
  ProviderEvents1700000000002,
  Accounts1700000000003,
  Deadlines1700000000004,
  CheapWrites1700000000005,
  MoneyOutBrake1700000000006,
  BrokenPasses1700000000007,
  Commands1700000000008,
  Support1700000000009,
  Findings1700000000010,
  MoneyOutTurns1700000000012,
  LeanRows1700000000013,
  FindingCommands1700000000014,
  BulkCommands1700000000015,
  Retention1700000000016,
  AccountSteps1700000000017,
  Deciding1700000000018,
] as const;
